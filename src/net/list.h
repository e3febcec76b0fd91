/* A model is a list of named nodes over the tensors of a net. Passes rewrite the list (src/net/pass.h); a walk executes
 * it (src/net/walk.h).
 *
 * Rule: mf_node_operands() is the only place that knows what a node reads and writes. The lives of tensors, the checks
 * and the printed list follow from it. Nothing here communicates; all functions are local. */
#ifndef MF_NET_LIST_H
#define MF_NET_LIST_H

#include <stdio.h>

#include "kernels/net/ops.h"

enum mf_role {
    MF_ROLE_INPUT,     /* the caller fills it before a walk */
    MF_ROLE_PARAMETER, /* trained, or at least loaded */
    MF_ROLE_GRADIENT,  /* of a parameter */
    MF_ROLE_OPTIMISER, /* moments */
    MF_ROLE_ACTIVATION,
    MF_ROLE_WORK /* work memory of one node */
};

/** Where a tensor is. On a back end whose memory is the host's both are one. */
enum mf_place { MF_PLACE_DEVICE, MF_PLACE_HOST, MF_PLACES };

/** What a parameter holds before training: uniform in [-spread, spread], normal with this deviation, or this number. */
enum mf_start { MF_START_UNIFORM, MF_START_NORMAL, MF_START_NUMBER };

/** The part of an array that this rank has: [first, first + count) of `of` along an axis. of 0: it has the whole. count
 * 0: other ranks have it, and it has no memory here. */
struct mf_shard {
    int axis;
    size_t first, count, of;
    int group; /* number of the group of ranks that have the whole together */
};

/** Parameters of a net by who changes them. */
enum {
    MF_SET_TRAINED,
    MF_SET_SPLIT,   /* as these, of layers that ranks cut: this rank has a part of each */
    MF_SET_EXPERTS, /* as these, but ranks may share them (experts.h) */
    MF_SET_BALANCE, /* balance biases of experts, which the host changes */
    MF_SET_FROZEN,  /* nobody */
    MF_SET_BORROWED /* nobody: copies of another network's weights, which no file of this one has */
};

/** What a parameter is beside a tensor. */
struct mf_weight {
    int value;
    int set; /* MF_SET_TRAINED, ... */
    enum mf_start start;
    double spread;
    int gradient;  /* its value; -1: none yet */
    int by_expert; /* its rows are those of the experts, in their order */
    double factor; /* of the learning rate; 0: 1 */
    int plain;     /* it has no weight decay */
    int elsewhere; /* another stage of a pipeline has it, and it has no memory here */
    struct mf_shard shard;
};

/** A tensor of a net. Lists refer to it by its number. */
struct mf_value {
    char *name;
    struct mf_shape shape;
    enum mf_role role;
    enum mf_place place;
    int base;                 /* it is a view of this value's memory; -1: it has memory of its own */
    size_t shift;             /* then: bytes from the beginning of base */
    int stop;                 /* a view that passes no gradient on */
    int flat;                 /* an array of a layout, of which parameters are views, or a piece of one */
    int group;                /* of an array that ranks exchange: number of their group */
    int summed;               /* a view whose gradient is summed over the ranks of its group */
    struct mf_weight *weight; /* of a parameter of a model, or of its copy in another type; NULL: it is neither, or a
                                 view of one */
    int kept;                 /* somebody reads it after the walk: a loss, an activation that is saved */
    int lasting;              /* mf_pass_live(): it keeps its content between walks */
    size_t at;                /* then: where it stands in the lasting memory of its place [bytes] */
};

/** A node of a region that stands a second time, in backward (pass rerun). */
enum mf_rerun {
    MF_RERUN_ROUNDS = 1, /* it is executed in all rounds but that whose activations are still there */
    MF_RERUN_ALWAYS
};

struct mf_node {
    char *name;
    enum mf_op_id op;
    struct mf_attr attr;
    int back;                                              /* of backward */
    int segment;                                           /* number of its block in the list; 0: none */
    int stage;                                             /* of a pipeline that is trained: where it belongs */
    int again;                                             /* its outputs are computed a second time in backward */
    int region;                                            /* number of its region (region.h); 0: none */
    int rerun;                                             /* enum mf_rerun; 0: it is none of these */
    int own;                                               /* backward may write over dout */
    int in[MF_INS], out[MF_OUTS], din[MF_INS], dout, work; /* values; -1: none */
    unsigned add;                                          /* bit i: din[i] is added to */
    void *plan;                                            /* handles of the back end */
};

struct mf_list {
    char *name;
    struct mf_net *net;
    size_t nodes, room_for;
    struct mf_node *node;
    int segments, regions;   /* so many have been numbered, from 1 */
    size_t room[MF_PLACES];  /* mf_pass_live(): memory of what does not last [bytes] */
    size_t floor[MF_PLACES]; /* the most that lives at one time */
    size_t *at;              /* then: [values] where they stand in that memory */
};

/** The tensors of a run and the lists over them, which share one memory. */
struct mf_net {
    size_t values, room_for;
    struct mf_value *value;
    size_t places, *named; /* [places] a table of values by their names: the number + 1, or 0 */
    size_t lists, room_for_lists;
    struct mf_list **list;
    size_t lasting[MF_PLACES], room[MF_PLACES]; /* mf_pass_live(): bytes of what lasts; of the largest list's room */
};

/** A part of a model, by the names of its nodes. */
enum mf_scope {
    MF_SCOPE_ALL,
    MF_SCOPE_EXPERTS, /* of its mixtures: experts, and the ways of rows to them and back */
    MF_SCOPE_GATE     /* of its mixtures: routers */
};

enum mf_access { MF_READS = 1, MF_WRITES = 2 };

struct mf_operand {
    int value;
    unsigned access; /* enum mf_access; both: it is changed */
};

enum { MF_OPERANDS = 2 * MF_INS + MF_OUTS + 2 };

struct mf_net *mf_net_new(void);
void mf_net_free(struct mf_net *net);

/** Is the node in this part of its model? */
int mf_node_in(const struct mf_node *node, enum mf_scope scope);

/** A new list, empty; the net frees it. */
struct mf_list *mf_list_new(struct mf_net *net, const char *name);

/** A value with memory of its own, in device memory. @p format: printf, its name. */
int mf_value_new(struct mf_net *net, enum mf_role role, struct mf_shape shape, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

/** A view of @p base from byte @p shift on. Its name ends in @p suffix. */
int mf_value_view(struct mf_net *net, int base, size_t shift, struct mf_shape shape, const char *suffix);

/** Puts @p n values side by side in a new array, so that one copy moves all of them. They have memory of their own
 * before, in one place. The array has the role of the first. Returns the array; -1: @p n is 0. */
int mf_values_join(struct mf_net *net, const char *name, size_t n, const int *value);

/** The value that owns the memory of @p value, and, if @p shift is not NULL, the byte in it. */
int mf_value_root(const struct mf_net *net, int value, size_t *shift);

/** The first value with this name; -1: there is none. */
int mf_value_find(const struct mf_net *net, const char *name);

/** A parameter, whole, that is trained and has no gradient yet. */
int mf_weight_new(struct mf_net *net, struct mf_shape shape, enum mf_start start, double spread, const char *name);

/** The gradient of a parameter; -1: it has none, or the value is no parameter. */
static inline int mf_value_gradient(const struct mf_value *value)
{
    return value->weight && value->role == MF_ROLE_PARAMETER ? value->weight->gradient : -1;
}

/** Is it a parameter of one of these sets (bits)? */
static inline int mf_value_in(const struct mf_value *value, unsigned sets)
{
    return value->role == MF_ROLE_PARAMETER && value->weight && sets >> value->weight->set & 1;
}

/** Do other ranks have it? */
static inline int mf_value_is_away(const struct mf_value *value)
{
    return value->weight &&
           (value->weight->elsewhere || (value->weight->shard.of > 0 && value->weight->shard.count == 0));
}

/** Is it a parameter that a model names? Arrays of a layout, views of parameters and what is borrowed are not. */
static inline int mf_value_is_weight(const struct mf_value *value)
{
    return value->role == MF_ROLE_PARAMETER && value->weight && !value->flat && value->weight->set != MF_SET_BORROWED;
}

/** Where the numbers of a part stand in the whole: number i is number i / chunk * stride + from + i % chunk. */
struct mf_runs {
    size_t chunk, stride, from; /* chunk 0: the part is the whole */
};

/** Finds them for a parameter, whose extents here are @p shape. */
struct mf_runs mf_shard_runs(const struct mf_shard *shard, const struct mf_shape *shape);

/** The place in the whole of number @p i of a part. */
static inline size_t mf_runs_place(const struct mf_runs *runs, size_t i)
{
    return runs->chunk ? i / runs->chunk * runs->stride + runs->from + i % runs->chunk : i;
}

/** How many numbers of a part stand in front of number @p i of the whole. */
size_t mf_runs_before(const struct mf_runs *runs, size_t i);

/** The extents of the whole parameter, of which this rank may have a part. */
struct mf_shape mf_value_whole(const struct mf_value *value);

/** Appends the sum of an array over the ranks of its group, in place. */
void mf_list_sum(struct mf_list *list, int array, int segment);

/** Appends the gather of an array whose own piece this rank has. */
void mf_list_gather(struct mf_list *list, int array, int segment);

/** Inserts an empty node before node @p at (nodes: behind the last). Valid until the next insertion. */
struct mf_node *mf_list_insert(struct mf_list *list, size_t at, enum mf_op_id op, const char *name);

/** Removes the nodes for which @p dead is true. */
void mf_list_compact(struct mf_list *list, const unsigned char *dead);

/**
 * Adds a node behind the last, with new values for its outputs. @p out: the first of them.
 * Refuses with MF_USAGE, naming the node, where the shapes do not fit.
 */
int mf_list_apply(struct mf_list *list, enum mf_op_id op, const struct mf_attr *attr, const char *name, size_t n,
                  const int in[], int *out);

/** Everything that the node touches, and how. Returns how many (at most MF_OPERANDS). */
size_t mf_node_operands(const struct mf_node *node, struct mf_operand operand[MF_OPERANDS]);

/** Where it works, in host memory on the cores. A copy is between both. */
enum mf_place mf_node_place(const struct mf_net *net, const struct mf_node *node);

/** Does a node of the list touch the memory of @p value? */
int mf_list_uses(const struct mf_list *list, int value);

/** The call of a node: shapes, no memory. */
void mf_node_call(const struct mf_net *net, const struct mf_node *node, struct mf_call *call);

/** Floating-point operations of a node. */
double mf_node_operations(const struct mf_net *net, const struct mf_node *node);

/** Of a node trade or trade_back: do rows come back to the ranks that have sent them? */
static inline int mf_node_comes_back(const struct mf_node *node)
{
    return (node->op == MF_OP_TRADE) == (node->back != 0);
}

/** Bytes that the nodes of a list read and write in device memory, work memory aside. */
double mf_list_traffic(const struct mf_list *list);

/** Bytes of this rank's rows that a node trade or trade_back moves; 0: it is another node, or stands for rounds that
 * may not come. */
size_t mf_node_traded(const struct mf_net *net, const struct mf_node *node);

/** Bytes of the largest array that ranks of a group exchange, or of all that a trade sends and gets. */
size_t mf_list_largest(const struct mf_list *list, int group);

/** One line for each node: '<' reads, '>' writes, '+' changes. @p places: with places in memory, after mf_pass_live().
 */
void mf_list_print(const struct mf_list *list, FILE *file, int places);

#endif
