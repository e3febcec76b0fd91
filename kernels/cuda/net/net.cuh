/* Shared by the operations of networks on cuda: the list of those that it has, vector loads, passes over numbers.
 * Rule: the order of a sum depends on shapes alone, so results have the same bits in every run. */
#ifndef MF_KERNELS_CUDA_NET_NET_CUH
#define MF_KERNELS_CUDA_NET_NET_CUH

#include "kernels/cuda/pass.cuh"

/** The operations that this back end has. */
#define MF_CUDA_OP_LIST(X)        \
    X(LINEAR, linear)             \
    X(CONV2D, conv2d)             \
    X(RELU, relu)                 \
    X(SILU, silu)                 \
    X(GELU, gelu)                 \
    X(GELU_TANH, gelu_tanh)       \
    X(ADD, add)                   \
    X(MUL, mul)                   \
    X(LAYER_NORM, layer_norm)     \
    X(SOFTMAX, softmax)           \
    X(GROUP_NORM, group_norm)     \
    X(POOL, pool)                 \
    X(MEAN, mean)                 \
    X(ATTENTION, attention)       \
    X(MATMUL, matmul)             \
    X(CONCAT, concat)             \
    X(SLICE, slice)               \
    X(TRANSPOSE, transpose)       \
    X(SOFTMAX_LOSS, softmax_loss) \
    X(SQUARED_LOSS, squared_loss) \
    X(DROPOUT, dropout)           \
    X(FILL, fill)                 \
    X(ACCUMULATE, accumulate)     \
    X(SQUARE_SUM, square_sum)     \
    X(ADAMW, adamw)               \
    X(ADAM, adam)                 \
    X(SGD, sgd)

#define MF_CUDA_OP(NAME, name) extern const struct mf_op_calls mf_op_##name##_cuda;
MF_CUDA_OP_LIST(MF_CUDA_OP)
#undef MF_CUDA_OP

/** Its calls need neither handles nor work memory. */
#define MF_CUDA_CALLS(name, forward, backward) \
    const struct mf_op_calls mf_op_##name##_cuda = {nullptr, nullptr, forward, backward};

static inline float *mf_floats(const struct mf_tensor &tensor) { return static_cast<float *>(tensor.at); }

/** Does memory begin where four floats may be loaded at once? NULL does. */
static inline bool mf_aligned(const void *at) { return reinterpret_cast<uintptr_t>(at) % sizeof(float4) == 0; }

/** Calls @p work with the truth of @p yes as a type. */
template <bool YES> struct mf_truth {
    static constexpr bool IS = YES;
};
template <class Work> void mf_choose(bool yes, const Work &work)
{
    if (yes)
        work(mf_truth<true>());
    else
        work(mf_truth<false>());
}

/** Calls @p work with the numbers of a load, 4 or 1, as a type. */
template <int W> struct mf_width {
    static constexpr int OF = W;
};
template <class Work> void mf_by_width(bool aligned, const Work &work)
{
    if (aligned)
        work(mf_width<4>());
    else
        work(mf_width<1>());
}

/** W numbers, 4 or 1; four begin at a multiple of 16 bytes. */
template <int W> __device__ inline void mf_load(const float *from, float *v)
{
    if constexpr (W == 4) {
        const float4 four = *reinterpret_cast<const float4 *>(from);

        v[0] = four.x;
        v[1] = four.y;
        v[2] = four.z;
        v[3] = four.w;
    } else {
        v[0] = *from;
    }
}

template <int W> __device__ inline void mf_store(const float *v, float *to)
{
    if constexpr (W == 4)
        *reinterpret_cast<float4 *>(to) = make_float4(v[0], v[1], v[2], v[3]);
    else
        *to = v[0];
}

/** to = value, or to += value. */
template <class Add> __device__ inline void mf_put(float value, float *to) { *to = Add::IS ? *to + value : value; }

/** The same for W numbers. */
template <int W, class Add> __device__ inline void mf_give(const float *v, float *to)
{
    float sum[W];

    if constexpr (Add::IS) mf_load<W>(to, sum);
    for (int w = 0; w < W; ++w) sum[w] = Add::IS ? sum[w] + v[w] : v[w];
    mf_store<W>(sum, to);
}

template <int W, class Add> __device__ inline void mf_move(const float *from, float *to)
{
    float v[W];

    mf_load<W>(from, v);
    mf_give<W, Add>(v, to);
}

/* -- numbers of several arrays -- */

/** An operand. It begins again after so many numbers; 0: it is as long as the others. */
struct mf_operand {
    float *at;
    size_t period = 0;
};

/*
 * A body works on the numbers of one place, in place or not:
 *   enum { ARRAYS, READS, WRITES }     how many operands; bit j: operand j is read, is written
 *   void operator()(float *v) const    v [ARRAYS]
 */
template <class Body> struct mf_places {
    Body body;
    size_t n;
    struct mf_operand operand[Body::ARRAYS];
};

template <int W, class Body> __device__ inline void mf_place(const mf_places<Body> &all, size_t i)
{
    float v[W][Body::ARRAYS], one[W];
    float *at[Body::ARRAYS];

    MF_UNROLL
    for (int j = 0; j < Body::ARRAYS; ++j) {
        const struct mf_operand &o = all.operand[j];

        if (!((Body::READS | Body::WRITES) >> j & 1)) continue;
        at[j] = o.at + (o.period == 0 || i < o.period ? i : i % o.period);
        if (!(Body::READS >> j & 1)) continue;
        mf_load<W>(at[j], one);
        for (int k = 0; k < W; ++k) v[k][j] = one[k];
    }
    MF_UNROLL
    for (int k = 0; k < W; ++k) all.body(v[k]);
    MF_UNROLL
    for (int j = 0; j < Body::ARRAYS; ++j) {
        if (!(Body::WRITES >> j & 1)) continue;
        for (int k = 0; k < W; ++k) one[k] = v[k][j];
        mf_store<W>(one, at[j]);
    }
}

template <int W, class Body> __global__ void __launch_bounds__(MF_CUDA_THREADS) mf_places_kernel(mf_places<Body> all)
{
    const size_t step = size_t(gridDim.x) * blockDim.x * W;

    for (size_t i = (size_t(blockIdx.x) * blockDim.x + threadIdx.x) * W; i < all.n; i += step) {
        if (i + W <= all.n)
            mf_place<W>(all, i);
        else
            for (size_t k = i; k < all.n; ++k) mf_place<1>(all, k);
    }
}

/** Calls @p body for every place i < n of its operands. */
template <class Body>
void mf_places_run(struct mf_queue *q, size_t n, const Body &body, const struct mf_operand (&operand)[Body::ARRAYS])
{
    mf_places<Body> all = {body, n, {}};
    bool four = true;

    if (n == 0) return;
    for (int j = 0; j < Body::ARRAYS; ++j) {
        all.operand[j] = operand[j];
        four = four && mf_aligned(operand[j].at) && operand[j].period % 4 == 0;
    }
    mf_by_width(four, [&](auto width) {
        constexpr int W = decltype(width)::OF;
        const size_t each = size_t(W) * MF_CUDA_THREADS, blocks = (n + each - 1) / each, most = size_t(1) << 20;

        MF_RUN((mf_places_kernel<W, Body>), unsigned(blocks < most ? blocks : most), MF_CUDA_THREADS, 0, q, all);
    });
}

#endif
