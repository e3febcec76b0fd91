/* Passes: each rewrites a list. They run in this order: cast, fuse, stage, cores, stream, grad, rerun, recompute, fold,
 * partition, spill, layout, clear, accumulate, send, reduce, fetch, norm, optimise, gather, bring, plan, live. Pass
 * replace comes before them.
 *
 * Rule: nothing inserts or removes nodes after mf_pass_plan(). A node that a pass inserts gets the segment of the node
 * it belongs to. */
#ifndef MF_NET_PASS_H
#define MF_NET_PASS_H

#include "src/net/list.h"

struct mf_queue;
struct mf_partners;

enum mf_recompute {
    MF_RECOMPUTE_NONE,
    MF_RECOMPUTE_CHEAP, /* norms, activations, dropout, products number by number, moves */
    MF_RECOMPUTE_BLOCKS /* everything within a segment but what leaves it */
};

/** Puts keep value + put other in the place of @p value. The nodes behind its maker then read that. The shape of
 * @p other is that of value; keep and put [n] have a number for each sample. There must be no view of value. For
 * forward lists, before all other passes. Returns the new value, called @p name. */
int mf_pass_replace(struct mf_list *list, int value, int other, int keep, int put, const char *name);

/** Gives the activations of a forward list a type of 16 bits (MF_F32: none), with casts around losses and inputs and
 * of the weights that products read. Parameters and their gradients stay f32. Only those in @p narrow (bits of sets),
 * which nothing trains, have 16 bits in memory, where all nodes read them so. Lists that share them have one type. */
void mf_pass_cast(struct mf_list *list, enum mf_type type, unsigned narrow);

/** Leaves this rank its nodes of a forward list which several ranks walk together. Node i belongs to stage @p stage [i]
 * of @p stages; this rank is in stage @p own. A message carries a value to each other stage that reads it. The message
 * starts behind the node that makes the value. With @p hands_on it passes all stages in between. Two stages are a link,
 * a group of two ranks (mf_link_group()). @p link [stages][stages] gets 1 where messages pass. Inputs and parameters
 * are on every rank that reads them. All ranks pass the same list. It is for lists without other exchanges between
 * stages, behind pass fuse, or of a training behind fold. *border is the number of a node, and becomes that of the
 * first one here from there on; NULL: none. */
void mf_pass_stage(struct mf_list *list, const int *stage, int own, size_t stages, int hands_on, unsigned char *link,
                   size_t *border);

/** Lets nodes compute on the cores: of list k those with @p cores [k][node]. Their values are in host memory then.
 * Nodes between such nodes become 1, too. A value that the other side reads is copied behind its maker. Refuses with
 * MF_USAGE a parameter that both sides read, and a value that both write. For all forward lists of a net, which
 * exchange nothing; behind pass fuse. */
int mf_pass_cores(struct mf_net *net, unsigned char *const *cores);

/** Joins an operation in @p scope and the activation behind it where nobody else reads what is between. A group norm
 * takes modulate as well; its sums then round in another order. With
 * MF_RECOMPUTE_CHEAP activations that could be computed again stay nodes of their own. Returns how many were joined. */
size_t mf_pass_fuse(struct mf_list *list, enum mf_recompute how, enum mf_scope scope);

/** Appends backward: the gradients of the sum of @p loss [n] (values of one number) by the parameters whose set is a
 * bit of @p sets. */
void mf_pass_grad(struct mf_list *list, size_t n, const int loss[], unsigned sets);

/** Lets backward compute the activations of regions again, round by round (region.h). With MF_RECOMPUTE_BLOCKS none are
 * kept; else those of the last round are. */
void mf_pass_rerun(struct mf_list *list, enum mf_recompute how);

/** Lets backward read second copies of activations, computed shortly before. @p copies: also of weights in a type of 16
 * bits, where the weights come again for backward (stage 3). */
void mf_pass_recompute(struct mf_list *list, enum mf_recompute how, int copies);

/** Turns sums of gradients into additions by the node that computes the second summand. Returns how many. */
size_t mf_pass_fold(struct mf_list *list);

/** [values] of roots: is it the same on all ranks of a group? These have the same inputs, and all of the weights or a
 * part of each. The list has backward, and the nodes of all stages. The caller frees the answer. */
unsigned char *mf_list_alike(const struct mf_list *list, int group);

/** Lets activations that ranks have @p alike wait in pieces for backward, a piece on each of @p among. A piece is
 * copied behind the node that makes the activation. The gather ends before the first use in backward, and begins at
 * that of the one before. Padding makes pieces equal. An activation stays whole if another stage sends it. So does
 * one that is much smaller than the largest, or of which a rank would have no number. *seed is the first node of
 * backward, and stays so. Returns how many are cut. */
size_t mf_pass_partition(struct mf_list *list, size_t *seed, const unsigned char *alike,
                         const struct mf_partners *among);

/** Lets activations of at least @p bytes bytes (0: none) that backward reads much later wait in host memory. A copy out
 * begins behind the last use in forward, and ends when the next one has begun. A copy in ends before the first use in
 * backward, and begins one copy ahead. At the end of the list the host waits for all, since it may write there. Returns
 * how many there are. */
size_t mf_pass_spill(struct mf_list *list, size_t bytes);

/** The flat arrays of the trained parameters. A bucket is one array for each role, in the order in which backward
 * finishes gradients. */
struct mf_layout {
    /* the caller sets: */
    int stage;            /* of ZeRO. 0: every rank has everything; 1: moments are cut; 2: summed gradients, too; 3:
                             parameters, too */
    int offload;          /* the optimiser, its moments and all exchanges are in host memory */
    size_t pieces, piece; /* ranks that share the work of the optimiser, and the number of this one; stage 0: 1, 0 */
    int group;            /* number of the ranks that exchange the buckets */
    size_t copies;        /* ranks that have the same piece. From pieces to copies all may differ from one call of
                             mf_pass_layout() to the next */
    /* mf_pass_layout() sets: */
    size_t buckets;
    struct mf_bucket {
        int parameters, gradients;         /* values [numbers] f32; stage 3: parameters do not last */
        int master, total;                 /* what is optimised, and summed over ranks: the same, or with offload their
                                              copies in host memory; in stage 3 there is none of parameters */
        int own_parameters, own_gradients; /* the piece that this rank's optimiser works on [numbers / pieces] */
        int first, second;                 /* the optimiser's two moments [numbers / pieces] */
        int average;                       /* of own_parameters, over the last steps [numbers / pieces] */
        int summed; /* the piece of gradients that an exchange sums; from stage 2 on own_gradients keep it */
        int group;
        size_t pieces, piece, copies;
        ptrdiff_t written; /* the last node of backward that writes the gradients */
    } * bucket;
    size_t numbers; /* of all buckets, with padding */
};

/** Makes the parameters in @p sets that have a gradient views of further buckets of about @p bytes, for all lists of
 * the net.
 * In stage 3 a bucket has the parameters of a segment, or of several small ones. Tensors begin at 64 bytes; the padding
 * is zeros where gradients last between lists. mf_layout_free() frees. */
void mf_pass_layout(const struct mf_list *list, unsigned sets, size_t bytes, struct mf_layout *layout);
void mf_layout_free(struct mf_layout *layout);

/** Inserts zeros for the padding of gradients that do not last: in a list with its own optimiser, and from
 * stage 2 on. */
void mf_pass_clear(struct mf_list *list, const struct mf_layout *layout);

/** With offload: copies every bucket's gradients to the host as soon as backward has written them. The copy ends when
 * that of the next bucket has begun. */
void mf_pass_send(struct mf_list *list, const struct mf_layout *layout);

/** Starts the sum of every bucket's gradients over ranks as soon as backward has written them. From stage 2 on it
 * ends one bucket later; then the own piece is added to the sums of earlier micro-batches. @p first: there are none. */
void mf_pass_reduce(struct mf_list *list, const struct mf_layout *layout, int first);

/** Appends the ends of these sums; nothing from stage 2 on. */
void mf_pass_reduced(struct mf_list *list, const struct mf_layout *layout);

/** Stage 3: gathers every bucket of parameters before forward reads it, and again before backward does. The gather
 * starts one bucket ahead. Behind the last reader the memory is free. Nothing in other stages. With offload it starts
 * two buckets ahead, in host memory, and a copy to the device begins one ahead. */
void mf_pass_fetch(struct mf_list *list, const struct mf_layout *layout);

/** Weights that nothing trains come to the device while a list is walked. Bucket k has those with @p number [values] k
 * (-1: it stays on the device). These have memory of their own. With layout->offload a bucket is in host memory, and
 * pieces are 1. Else the ranks of layout->group cut it. A copy or a gather brings it. That starts where the
 * bucket before is first read. So two are on the device at a time. For all forward lists of a net,
 * behind pass cores. Sets stage 3, and buckets with parameters and own_parameters alone; mf_layout_free() frees. */
void mf_pass_stream(struct mf_net *net, size_t buckets, const int *number, struct mf_layout *layout);

/** Bytes of all weights that come while such a list is walked. A gather counts this rank's own piece, too. */
double mf_list_brought(const struct mf_list *list);

/** Appends the squared norm of the own gradients of every bucket. @p norm [buckets]: its values, f64. */
void mf_pass_norm(struct mf_list *list, const struct mf_layout *layout, int *norm);

/** Appends an optimiser (MF_OP_ADAMW, ...) of the own piece of every bucket. @p attr: its constants; NULL: 0.9, 0.999,
 * 1e-8. sgd without momentum has no moments. */
void mf_pass_optimise(struct mf_list *list, const struct mf_layout *layout, enum mf_op_id op,
                      const struct mf_attr *attr);

/** Moving averages of parameters, which take memory in a net that has them. The first appends copies, by which averages
 * begin. The second appends average += (1 - keep) (parameters - average), to a list with an optimiser. The third
 * appends copies, by which parameters and averages change places. */
void mf_pass_average_begin(struct mf_list *list, const struct mf_layout *layout);
void mf_pass_average(struct mf_list *list, const struct mf_layout *layout, double keep);
void mf_pass_average_swap(struct mf_list *list, const struct mf_layout *layout);

/** Appends the all-gather of the own pieces of parameters; nothing in stages 0 and 3. */
void mf_pass_gather(struct mf_list *list, const struct mf_layout *layout);

/** With offload: copies every bucket's parameters to the device as soon as they are ready; appends the ends. */
void mf_pass_bring(struct mf_list *list, const struct mf_layout *layout);

/** All gradients of parameters are added to what is there: an inner micro-batch. */
void mf_pass_accumulate(struct mf_list *list);

/** Makes the back end's handles, and values for work memory. Refuses as mf_op_calls.plan(); MF_DEVICE: the back end
 * lacks an operation. mf_list_release() releases the handles. */
int mf_pass_plan(struct mf_list *list, struct mf_queue *queue);
void mf_list_release(struct mf_list *list, struct mf_queue *queue);

/** Places all values of all lists: net->lasting and net->room are the exact bytes of a run. */
void mf_pass_live(struct mf_net *net);

/** The bytes that live while each node works, to @p bytes [nodes], behind mf_pass_live(). Lasting memory is left out.
 */
void mf_list_alive(const struct mf_list *list, size_t *bytes);

#endif
