/* The list of all operations of networks. The numbers of operations, their declarations and the table of a back end are
 * generated from it.
 * Rule: a new operation is a line here, a struct mf_op in kernels/net/, its calls in every back end, its oracle and its
 * cases in tests/unit/net_oracle_*.c. */
#ifndef MF_KERNELS_NET_OPS_H
#define MF_KERNELS_NET_OPS_H

#include "kernels/op.h"

/* Columns by hand, so that a new line leaves the others as they are. */
/* clang-format off */
#define MF_OP_LIST(X) MF_OP_TENSOR_LIST(X) MF_OP_EXPERT_LIST(X) MF_OP_TEXT_LIST(X) MF_OP_FLAT_LIST(X)
#define MF_OP_TENSOR_LIST(X) \
    X(LINEAR, linear)              /* y = x w' + b, then an activation: x [rows][k] w [m][k] b [m] */ \
    X(CONV2D, conv2d)              /* as linear, in windows: x [n][height][width][c] w [o][c][kh][kw] b [o] */ \
    X(CONV_DEPTHWISE, conv_depthwise) /* each channel by itself: x as conv2d w [c][1][kh][kw] b [c] */ \
    X(RELU, relu) \
    X(SILU, silu) \
    X(GELU, gelu)                  /* x Phi(x), with the error function */ \
    X(GELU_TANH, gelu_tanh)        /* x / (1 + exp(-2 sqrt(2 / pi) (x + 0.044715 x^3))), an approximation of gelu */ \
    X(ADD, add)                    /* a + b; b of fewer axes is repeated */ \
    X(MUL, mul)                    /* a b, number by number; b of fewer axes is repeated */ \
    X(LAYER_NORM, layer_norm) \
    X(RMS_NORM, rms_norm)          /* x / sqrt(mean of x^2) g */ \
    X(ROPE, rope)                  /* halves of heads turn by position times frequency */ \
    X(GATED, gated)                /* silu of the first half of the columns, times the second */ \
    X(SOFTMAX, softmax)            /* over the last axis */ \
    X(GROUP_NORM, group_norm)      /* then modulate, or none, and an activation, computed again in backward */ \
    X(MODULATE, modulate)          /* x (1 + s) + t, with s and t of each sample and channel */ \
    X(POOL, pool)                  /* means of 2 x 2 pixels */ \
    X(WRAP, wrap)                  /* images of periodic structures with attr.pad more pixels on each side */ \
    X(MEAN, mean)                  /* of all pixels */ \
    X(UPSAMPLE, upsample)          /* each pixel becomes 2 x 2 equal ones */ \
    X(ATTENTION, attention)        /* softmax(q k' / sqrt(d)) v; q, k, v are columns of one tensor, or of two */ \
    X(MATMUL, matmul)              /* a b: [..][m][k] [..][k][n] */ \
    X(CONCAT, concat)              /* along attr.axis */ \
    X(SLICE, slice)                /* [first, first + count) of attr.axis */ \
    X(TRANSPOSE, transpose)        /* attr.axis and attr.other change places */ \
    X(SOFTMAX_LOSS, softmax_loss)  /* cross-entropy: logits [rows][classes], labels [rows] i32, -1: ignored */ \
    X(SQUARED_LOSS, squared_loss)  /* mean of (a - b)^2, times a weight of the row or not */ \
    X(LOGISTIC_LOSS, logistic_loss) /* cross-entropy of yes and no: logits, targets of 0 or 1, NaN: ignored */ \
    X(MATCH_LOSS, match_loss)      /* made samples move by (made - real) / mean of |x - real| */ \
    X(DROPOUT, dropout) \
    X(BLEND, blend)                /* a x + b z, with one a and one b for each sample */ \
    X(NORMAL, normal)              /* normal numbers of each sample */ \
    X(QUANTISE, quantise)          /* bytes of made samples: phases, or grey values */

/* Of a mixture of experts (kernels/net/route.c). Each takes the types that it gets. */
#define MF_OP_EXPERT_LIST(X) \
    X(ROUTE, route)                /* the experts of each row, and their weights */ \
    X(ROUTE_LOAD, route_load)      /* rows of each expert, and how undecided the router is */ \
    X(PERMUTE, permute)            /* rows, sorted by expert */ \
    X(GROUPED_LINEAR, grouped_linear) /* linear, with the weights of its expert for each group of rows */ \
    X(COMBINE, combine)            /* rows in their old order: weighted sums of what their experts gave */

/* Language models have these (kernels/net/text.c). Each takes the types that it gets. */
#define MF_OP_TEXT_LIST(X) \
    X(GATHER, gather)              /* rows of a table, by number */ \
    X(KEEP, keep)                  /* rows go to their places in a cache */ \
    X(ATTENTION_KEPT, attention_kept) /* of rows of several requests, over the pages of a cache */ \
    X(STEADY_LINEAR, steady_linear) /* linear, forward alone: a row has the same bits in any call */ \
    X(PICK, pick)                  /* a token of each row of logits: the largest, or a random one */

/* Their arrays are flat, and each has the types that its operation takes. */
#define MF_OP_FLAT_LIST(X) \
    X(CAST, cast)                  /* to attr.type */ \
    X(FILL, fill)                  /* attr.number everywhere: 1, the gradient of a loss; 0, a gap between gradients */ \
    X(ACCUMULATE, accumulate)      /* a += b */ \
    X(SQUARE_SUM, square_sum)      /* squared norm of an array; not finite if one number is not */ \
    X(AVERAGE, average)            /* moving average of parameters */ \
    X(ADAMW, adamw)                /* parameters, gradients, two moments */ \
    X(ADAM, adam)                  /* the same, with the decay as a part of the gradients */ \
    X(SGD, sgd)                    /* parameters, gradients, velocity or none */

/* Exchanges of an array among ranks, and copies between memories, are operations, too. The walk executes them. */
enum mf_op_id {
#define MF_OP_NUMBER(NAME, name) MF_OP_##NAME,
    MF_OP_LIST(MF_OP_NUMBER)
#undef MF_OP_NUMBER
    MF_OP_START,  /* begins attr.exchange of in[0]; until its end nobody touches the array */
    MF_OP_FINISH, /* its end */
    MF_OP_COPY,   /* begins a copy of in[0] to out[0], of which one is in host memory; until its end the source does not
                     change, and nobody reads the other */
    MF_OP_COPIED, /* its end: attr.waits waits; in[0] and in[1] are the two. in[1] is left out where only the source is
                     wanted again */
    MF_OP_TRADE,  /* rows by expert go to the ranks of their experts */
    MF_OP_TRADE_BACK, /* and what these make of them comes back */
    MF_OP_COUNT
};
/* clang-format on */

/** Does a back end execute it, and not the walk? */
static inline int mf_op_is_kernel(enum mf_op_id op) { return op < MF_OP_START; }

/** Does it begin or end an exchange of an array? */
static inline int mf_op_is_exchange(enum mf_op_id op) { return op == MF_OP_START || op == MF_OP_FINISH; }

/** Do rows of a mixture of experts travel? */
static inline int mf_op_is_trade(enum mf_op_id op) { return op == MF_OP_TRADE || op == MF_OP_TRADE_BACK; }

/** [MF_OP_COUNT] */
extern const struct mf_op *const mf_ops[];

/** The operations of a back end. NULL: it lacks this one. */
struct mf_op_table {
    const struct mf_op_calls *calls[MF_OP_COUNT];
};

#endif
