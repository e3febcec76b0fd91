/* The contract of an operation of networks. It has facts that hold on every back end (struct mf_op), and functions of a
 * back end (struct mf_op_calls). One call gets a struct mf_call.
 *
 * Rule of types: arithmetic is f32. Activations, and the copies of weights that products read, may have 16 bits (bf16,
 * f16). An operation widens what it reads, and rounds what it writes to the nearest. Its data inputs have one type, and
 * out[0] has that type. Weights of language models may have 8 or 16 bits where activations are f32. Arrays saved for
 * backward are f32, but a fused activation's input has the type of out[0]. The gradient of an activation has its type.
 * That of weights (shared) is f32, also where the operation read a copy of 16 bits. Weights of 8 bits are whole
 * numbers, and each of their rows has a scale (f32).
 *
 * Rule: an operation sees the tensors of its call and nothing else. It allocates nothing: work memory and handles of
 * libraries are made when a list is planned (src/net/pass.h). */
#ifndef MF_KERNELS_OP_H
#define MF_KERNELS_OP_H

#include <stddef.h>

#include "kernels/exchange.h"
#include "src/base/type.h"

enum { MF_DIMS = 5, MF_INS = 5, MF_OUTS = 2, MF_HEADS = 8 };

/** Type and extents of a tensor; contiguous, the last axis fastest. n = 0: there is no tensor. */
struct mf_shape {
    enum mf_type type;
    int n;
    size_t d[MF_DIMS];
};

/** Constants of a node: each name has one meaning. Names of different operations share memory. */
struct mf_attr {
    int act;         /* enum mf_act: an activation that a fused node computes as well */
    unsigned stream; /* dropout, route, normal: number of the node, part of its random stream */
    union {
        double probability; /* dropout: of a zero */
        double number;      /* fill */
        double smoothing;   /* losses: of labels */
        double deviation;   /* route: of the noise */
        double capacity;    /* permute: factor, 0: none */
    };
    int head; /* losses: its rows are number MF_NUMBER_ROWS + head, below MF_HEADS */
    union {
        double temperature; /* route: divides the logits */
        double factor;      /* optimisers: of the learning rate, 0: 1 */
    };
    union {
        int scaled; /* fill: times the scale of the loss */
        int plain;  /* optimisers: there is no weight decay */
    };
    int wide;        /* gather: rows are f32, whatever the type of the table */
    int type;        /* cast: enum mf_type of the output */
    int stride, pad; /* convolution; wrap: pad */
    union {
        int groups;      /* group norm: of channels */
        int kv_heads;    /* attention, attention_kept: heads of keys and values, 0: as many as heads */
        int row_groups;  /* grouped_linear */
        int own_experts; /* trade: experts of this rank */
    };
    int heads;       /* attention, rope, attention_kept */
    int causal;      /* attention: the last query sees all keys, each one before it one less */
    int exchange;    /* start, finish: enum mf_exchange_kind */
    int group;       /* start, finish, trade, trade_back: number of the group of ranks that exchange */
    int ways;        /* trade: ranks that share the experts */
    int waits;       /* copied: enum mf_waits */
    int axis, other; /* concat, slice: axis; transpose: both, which change places */
    union {
        size_t first;        /* slice: [first, first + count) of the axis */
        size_t sample_rows;  /* route: rows of a sample, 0: one */
        size_t first_expert; /* trade: this rank has [first_expert, first_expert + own_experts) */
        size_t window;       /* attention_kept: a row sees so many positions at most, 0: all */
    };
    union {
        size_t count;   /* slice */
        size_t choices; /* route: of a row */
        size_t experts; /* permute */
        size_t numbers; /* normal: of a sample, 0: those of its input */
        size_t levels;  /* quantise: 0: phases, 256: grey values */
        size_t room;    /* trade: there is space for so many rows. trade_back: so many rows come back */
    };
    unsigned transposed; /* matmul: bit i: in[i] holds transposes */
    int steady;          /* grouped_linear: a row has the same bits whatever other rows there are; forward alone */
    double momentum;     /* optimisers: how much of the first moment, or of the velocity, is kept; average: of the
                            average */
    double second;       /* adam, adamw: how much of the second moment is kept */
    double epsilon;      /* adam, adamw: added to the root of the second moment; layer_norm, rms_norm: to the variance,
                            0: 1e-5 */
};

/** Who waits for the end of a copy. */
enum mf_waits {
    MF_WAITS_HOST,  /* the host, and with it all */
    MF_WAITS_DEVICE /* the work of the device that comes behind */
};

enum mf_act { MF_ACT_NONE, MF_ACT_RELU, MF_ACT_SILU, MF_ACT_GELU, MF_ACT_GELU_TANH };

/** Numbers that change from step to step. Nodes read them in the walk. */
enum mf_step_number {
    MF_NUMBER_LEARNING_RATE,
    MF_NUMBER_STEP,    /* of the optimiser, from 1 */
    MF_NUMBER_SEED,    /* of dropout */
    MF_NUMBER_SAMPLE,  /* number of the first sample of this list among all samples of the run */
    MF_NUMBER_SAMPLES, /* of this batch; those behind them are blank */
    MF_NUMBER_ROWS,    /* rows that count in the mean of the loss of head 0, over all micro-batches and ranks. Those of
                          further heads follow */
    MF_NUMBER_ROWS_LAST = MF_NUMBER_ROWS + MF_HEADS - 1,
    MF_NUMBER_SCALE,      /* factor of the gradients in the optimiser: clipping */
    MF_NUMBER_DECAY,      /* weight decay of the optimiser */
    MF_NUMBER_LOSS_SCALE, /* factor of all gradients, so that none is too small for 16 bits */
    MF_NUMBERS
};

struct mf_tensor {
    void *at; /* device memory; NULL: the call has no such tensor */
    struct mf_shape shape;
};

/** One call. Forward: reads in, writes out. Backward: reads in, out and dout, writes din. out[1] is what forward saves
 * for backward. */
struct mf_call {
    const struct mf_attr *attr;
    struct mf_tensor in[MF_INS], out[MF_OUTS], din[MF_INS], dout;
    unsigned add; /* bit i: din[i] is added to, else written */
    int own;      /* backward may write over dout: nobody reads it later */
    void *work, *plan;
    const double *number; /* [MF_NUMBERS] queue->numbers, or the caller's where that is NULL */
};

/** Facts of an operation on every back end. A mask has bit i for in[i]. */
struct mf_op {
    const char *name;
    /** Shapes of the outputs from those of the inputs. Refuses with MF_USAGE. */
    int (*shape)(const struct mf_attr *attr, const struct mf_shape in[], struct mf_shape out[]);
    /** Which inputs and outputs backward reads to compute the @p wanted gradients. NULL: none of them. */
    void (*reads)(const struct mf_attr *attr, unsigned wanted, unsigned *in, unsigned *out);
    /** Floating-point operations of forward. */
    double (*operations)(const struct mf_attr *attr, const struct mf_shape in[], const struct mf_shape *out);
    /** How many times as many backward has for the @p wanted gradients. NULL: once for each of the first two. */
    double (*back)(const struct mf_shape in[], unsigned wanted);
    unsigned shared;    /* inputs that all samples read: weights, whose gradients are f32 */
    unsigned f32;       /* inputs that stay f32 where others have 16 bits */
    unsigned constant;  /* inputs that have no gradient: what the caller fills, as the noise level of a sample */
    unsigned passes;    /* inputs whose gradient is dout itself: no node, no copy */
    unsigned over;      /* forward: inputs whose memory out[0] may take */
    unsigned back_over; /* backward: gradients that may take the memory of dout */
    unsigned adds;      /* gradients of activations that backward can add to; gradients of parameters it always can */
    unsigned modifies;  /* inputs that forward changes (optimiser, exchange) */
    int leaves;         /* it leaves rows of what it writes as they were */
    int cheap;          /* forward costs little: it may be computed a second time instead of being kept */
    int consumes;       /* backward needs the memory of dout, or work memory of that size */
};

/** Work of a back end for an operation. Calls are enqueued; they never refuse. */
struct mf_queue;
struct mf_op_calls {
    /**
     * Makes the handles of a call, whose tensors have shapes and no memory. Returns the bytes of work memory that it
     * needs. With @p back it is a call of backward. Depends on queue->threads. NULL: no handles, no work memory.
     * Refuses with MF_MEMORY, MF_DEVICE.
     */
    int (*plan)(struct mf_queue *queue, const struct mf_call *call, int back, void **plan, size_t *work);
    void (*release)(void *plan);
    void (*forward)(struct mf_queue *queue, const struct mf_call *call);
    void (*backward)(struct mf_queue *queue, const struct mf_call *call);
};

/** Numbers of a tensor. */
static inline size_t mf_shape_count(const struct mf_shape *shape)
{
    size_t count = shape->n > 0;

    for (int i = 0; i < shape->n; ++i) count *= shape->d[i];
    return count;
}

static inline size_t mf_shape_bytes(const struct mf_shape *shape)
{
    return mf_shape_count(shape) * mf_type_bytes(shape->type);
}

/** Rounds up to whole cache lines of 64 bytes, at which arrays that share a memory begin. */
static inline size_t mf_whole_lines(size_t bytes) { return (bytes + 63) / 64 * 64; }

/** Extent of the last axis: columns of a matrix. */
static inline size_t mf_shape_last(const struct mf_shape *shape) { return shape->d[shape->n - 1]; }

/** Numbers along all other axes: rows of a matrix. */
static inline size_t mf_shape_rows(const struct mf_shape *shape)
{
    return mf_shape_count(shape) / mf_shape_last(shape);
}

#endif
