/* Builds the forward list of a model by calls that read like the model.
 *
 * Rule: after the first refusal every call returns -1 and does nothing, so that models need no checks. The caller asks
 * mf_build_end(). Names of parameters are those of PyTorch's state dict. */
#ifndef MF_NET_BUILD_H
#define MF_NET_BUILD_H

#include "src/net/list.h"

/** Ranks that have the weights of layers together, each a part of every layer. */
struct mf_partners {
    int group; /* its number */
    size_t ranks, rank;
};

struct mf_build {
    struct mf_list *list;
    const struct mf_partners *split; /* ranks that share the layers that are cut; NULL: none do */
    int set;                         /* of the next parameters */
    const char *freeze;  /* parts of the model whose parameters are not trained (mf_name_in()); NULL: none */
    const char *network; /* of the next nodes and parameters, one of several; NULL: they have no name */
    const char *block;   /* of the next nodes and parameters; NULL: none */
    long number;         /* of that block; below 0: it has none */
    int segment;         /* of the next nodes; 0: none */
    int region;          /* of the next nodes (region.h); 0: none */
    unsigned dropouts;   /* nodes of dropout so far: streams of random numbers */
    int rc;
};

/** Does the name belong to one of @p parts, divided by commas? "stages.1" has stages.1.conv1.weight, and not
 * stages.10.conv1.weight. NULL: there are no parts. */
int mf_name_in(const char *name, const char *parts);

/** MF_OK, or the code of the first refusal. */
int mf_build_end(const struct mf_build *build);

/** Refuses a model (MF_USAGE): -1. */
int mf_build_refuse(struct mf_build *build, const char *sentence);

/** Refuses samples that are volumes, for @p what, which reads images; @p other reads volumes. 0: they are images. */
int mf_build_volume(struct mf_build *build, struct mf_shape sample, const char *what, const char *other);

/** The shape of a value; after a refusal that of one number, so that models go on. */
struct mf_shape mf_build_shape(const struct mf_build *build, int value);

/** What follows is in block @p number of @p name: its names begin with NAME.NUMBER and a dot. A number below 0: with
 * NAME and a dot. NULL: in no block. A block is a segment. */
void mf_build_block(struct mf_build *build, const char *name, long number);

/** What follows is a new segment, which passes recompute and gather as a whole; @p is_new 0: it is in none. */
void mf_build_segment(struct mf_build *build, int is_new);

/** A value that the caller fills. */
int mf_build_input(struct mf_build *build, const char *name, struct mf_shape shape);

/** The parameter of this name; two calls with one name share it. Refuses with MF_USAGE where the shapes differ.
 * @p start, @p spread: what it holds before training. */
int mf_build_parameter(struct mf_build *build, const char *name, struct mf_shape shape, enum mf_start start,
                       double spread);

/** The parameters of the last node start with 0. */
void mf_build_zero(struct mf_build *build);

/** A parameter of this name that is a part of @p stack, from byte @p shift on, or @p away: of another rank's. It starts
 * as @p stack does. */
int mf_build_part(struct mf_build *build, const char *name, int stack, size_t shift, struct mf_shape shape, int away);

/** A name with that of the block, as nodes and parameters have it: "layers.3.qkv". The caller frees it. */
char *mf_build_name(const struct mf_build *build, const char *name);

/** Any operation on @p n inputs (at most MF_INS). */
int mf_build_node(struct mf_build *build, enum mf_op_id op, struct mf_attr attr, const char *name, size_t n,
                  const int in[]);

/** x [..][k] -> [..][columns], with NAME.weight [columns][k] and NAME.bias. */
int mf_build_linear(struct mf_build *build, const char *name, int x, size_t columns);

/** @p n linear layers of x [..][k] as one: -> [..][n columns], one behind the other. They have PART.weight [columns][k]
 * and PART.bias, parts of the arrays NAME.weight and NAME.bias, which no file has. */
int mf_build_linear_parts(struct mf_build *build, const char *name, size_t n, const char *const part[], int x,
                          size_t columns);

/** Rows of NAME.weight [n][width] by the @p numbers [rows] i32 -> [rows][width]. Other numbers give rows of zeros. */
int mf_build_embedding(struct mf_build *build, const char *name, int numbers, size_t n, size_t width);

/** Turns @p heads heads of x [..][heads d] by @p positions [rows] i32 times @p frequencies [d / 2] f32: MF_OP_ROPE. */
int mf_build_rope(struct mf_build *build, const char *name, int x, int positions, int frequencies, int heads);

/** Writes @p rows to their @p places in @p cache: MF_OP_KEEP. */
void mf_build_keep(struct mf_build *build, const char *name, int rows, int cache, int places);

/** Rows of requests over what mf_build_keep() stored. @p in: queries, keys, values, pages, rows as
 * MF_OP_ATTENTION_KEPT has them. */
int mf_build_attention_kept(struct mf_build *build, const char *name, const int in[5], struct mf_attr attr);

/** MF_OP_STEADY_LINEAR. @p in: x, weights, a bias or -1, scales of weights of 8 bits or -1. A row has the same bits in
 * any call. */
int mf_build_steady_linear(struct mf_build *build, const char *name, const int in[4]);

/** A token of each row of logits: MF_OP_PICK. @p in: logits, wishes, numbers, tokens that were kept, pages. */
int mf_build_pick(struct mf_build *build, const char *name, const int in[5]);

/** A pair of linear layers whose @p hidden columns are cut over the ranks of build->split. All ranks have x and y
 * whole. The first layer has @p parts such columns, one behind the other (query, key and value). It gives this rank's
 * part of each: x [..][k] -> [..][parts][part of hidden]. Backward sums the gradient of x over the ranks. The second
 * takes a part: [..][part of hidden] -> y [..][columns], summed over the ranks. Between them is anything that treats
 * columns, or heads, alike. Parameters have the names and the start of mf_build_linear(), which is what both are where
 * nobody shares. Source: M. Shoeybi et al., "Megatron-LM", arXiv:1909.08053, 2019, section 3. */
int mf_build_linear_first(struct mf_build *build, const char *name, int x, size_t parts, size_t hidden);
int mf_build_linear_first_parts(struct mf_build *build, const char *name, size_t n, const char *const part[], int x,
                                size_t hidden); /* these columns have names: mf_build_linear_parts() */
int mf_build_linear_second(struct mf_build *build, const char *name, int x, size_t hidden, size_t columns);

/** Ranks that share layers; 1: none do. */
static inline size_t mf_build_sharers(const struct mf_build *build) { return build->split ? build->split->ranks : 1; }

/** x [n][height][width][c] -> [n][..][..][channels], in windows of @p k x @p k, with NAME.weight [channels][c][k][k]
 * and NAME.bias. */
int mf_build_conv(struct mf_build *build, const char *name, int x, size_t channels, size_t k, int stride, int pad);

/** The same, of images that are periodic: what is beyond a side is what is at the other one. */
int mf_build_conv_periodic(struct mf_build *build, const char *name, int x, size_t channels, size_t k, int stride,
                           int pad);

/** A window of @p k x @p k for each channel: MF_OP_CONV_DEPTHWISE with NAME.weight [c][1][k][k] and NAME.bias. */
int mf_build_conv_depthwise(struct mf_build *build, const char *name, int x, size_t k, int pad);

/** With NAME.weight and NAME.bias of the last axis. */
int mf_build_layer_norm(struct mf_build *build, const char *name, int x);

/** The same with another @p epsilon, which is added to the variance; 0: that of PyTorch. */
int mf_build_layer_norm_by(struct mf_build *build, const char *name, int x, double epsilon);

/** x / sqrt(mean of x^2 + @p epsilon) over the last axis, times NAME.weight. */
int mf_build_rms_norm(struct mf_build *build, const char *name, int x, double epsilon);

/** x [n][..][c] in groups of channels, with NAME.weight and NAME.bias [c]. Where MF_OP_MODULATE (mf_build_two()) and an
 * activation come directly behind, all three become one node: what modulates comes before. */
int mf_build_group_norm(struct mf_build *build, const char *name, int x, int groups);

/** An operation of one input (activations, gated, softmax, pool, mean), or of two (add, mul, losses). */
int mf_build_one(struct mf_build *build, enum mf_op_id op, const char *name, int x);
int mf_build_two(struct mf_build *build, enum mf_op_id op, const char *name, int a, int b);

/** @p x: the columns q, k, v; or q alone, and @p kv has k and v. @p kv, @p mask: -1: none. */
int mf_build_attention(struct mf_build *build, const char *name, int x, int kv, int mask, struct mf_attr attr);

/** The mean of (a - b)^2; @p weight: of each row, -1: none. */
int mf_build_squared_loss(struct mf_build *build, const char *name, int a, int b, int weight);

/** Moves @p x by what the denoisers of real and of made samples give of it. The gradient goes to x alone, also where
 * the others follow from it. */
int mf_build_match_loss(struct mf_build *build, const char *name, int x, int real, int made);

/** a x + b z, with one a and one b [n] for each sample. Neither has a gradient. @p z, @p b: -1: none. */
int mf_build_blend(struct mf_build *build, const char *name, int x, int z, int a, int b);

/** Normal numbers, [n][..] of the shape @p sample without its first extent, for the n samples of @p like. They are
 * drawn by number MF_NUMBER_SAMPLE, so a sample has the same ones in every batch; nodes of other streams have others.
 */
int mf_build_normal(struct mf_build *build, const char *name, int like, struct mf_shape sample, unsigned stream);

/** [..][m][k] [..][k][n]. @p transposed: bit 0: a holds transposes; bit 1: b. */
int mf_build_matmul(struct mf_build *build, const char *name, int a, int b, unsigned transposed);

/** The @p n inputs, at most MF_INS, one behind the other along an axis; and a part of an axis. */
int mf_build_concat(struct mf_build *build, const char *name, size_t n, const int in[], int axis);
int mf_build_slice(struct mf_build *build, const char *name, int x, int axis, size_t first, size_t count);

/** Two axes change places. */
int mf_build_transpose(struct mf_build *build, const char *name, int x, int axis, int other);

/** x itself where @p rate is 0. */
int mf_build_dropout(struct mf_build *build, const char *name, int x, double rate);

/** The same numbers in another shape. Refuses with MF_USAGE where the counts differ. */
int mf_build_reshape(struct mf_build *build, int x, struct mf_shape shape);

/** The same value, through which no gradient passes. */
int mf_build_stop(struct mf_build *build, int x);

#endif
