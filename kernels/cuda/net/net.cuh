/* Shared by the operations of networks on cuda: the list of those that it has, vector loads, passes over numbers.
 * Rule: the order of a sum depends on shapes alone, so results have the same bits in every run. */
#ifndef MF_KERNELS_CUDA_NET_NET_CUH
#define MF_KERNELS_CUDA_NET_NET_CUH

#include <initializer_list>
#include <utility>

#include "kernels/cuda/net/half.cuh"
#include "kernels/cuda/pass.cuh"

/** The operations that this back end has. */
#define MF_CUDA_OP_LIST(X)            \
    X(LINEAR, linear)                 \
    X(CONV2D, conv2d)                 \
    X(CONV_DEPTHWISE, conv_depthwise) \
    X(RELU, relu)                     \
    X(SILU, silu)                     \
    X(GELU, gelu)                     \
    X(GELU_TANH, gelu_tanh)           \
    X(ADD, add)                       \
    X(MUL, mul)                       \
    X(LAYER_NORM, layer_norm)         \
    X(RMS_NORM, rms_norm)             \
    X(ROPE, rope)                     \
    X(GATED, gated)                   \
    X(SOFTMAX, softmax)               \
    X(GROUP_NORM, group_norm)         \
    X(MODULATE, modulate)             \
    X(POOL, pool)                     \
    X(WRAP, wrap)                     \
    X(MEAN, mean)                     \
    X(UPSAMPLE, upsample)             \
    X(ATTENTION, attention)           \
    X(MATMUL, matmul)                 \
    X(CONCAT, concat)                 \
    X(SLICE, slice)                   \
    X(TRANSPOSE, transpose)           \
    X(SOFTMAX_LOSS, softmax_loss)     \
    X(SQUARED_LOSS, squared_loss)     \
    X(LOGISTIC_LOSS, logistic_loss)   \
    X(MATCH_LOSS, match_loss)         \
    X(DROPOUT, dropout)               \
    X(BLEND, blend)                   \
    X(NORMAL, normal)                 \
    X(QUANTISE, quantise)             \
    X(ROUTE, route)                   \
    X(ROUTE_LOAD, route_load)         \
    X(PERMUTE, permute)               \
    X(GROUPED_LINEAR, grouped_linear) \
    X(COMBINE, combine)               \
    X(GATHER, gather)                 \
    X(KEEP, keep)                     \
    X(ATTENTION_KEPT, attention_kept) \
    X(PICK, pick)                     \
    X(STEADY_LINEAR, steady_linear)   \
    X(CAST, cast)                     \
    X(FILL, fill)                     \
    X(ACCUMULATE, accumulate)         \
    X(SQUARE_SUM, square_sum)         \
    X(AVERAGE, average)               \
    X(ADAMW, adamw)                   \
    X(ADAM, adam)                     \
    X(SGD, sgd)

#define MF_CUDA_OP(NAME, name) extern const struct mf_op_calls mf_op_##name##_cuda;
MF_CUDA_OP_LIST(MF_CUDA_OP)
#undef MF_CUDA_OP

/** Its calls need neither handles nor work memory. */
#define MF_CUDA_CALLS(name, forward, backward) \
    const struct mf_op_calls mf_op_##name##_cuda = {nullptr, nullptr, forward, backward};

/** The numbers of a tensor. */
template <class T> T *mf_numbers(const struct mf_tensor &tensor) { return static_cast<T *>(tensor.at); }
static inline float *mf_floats(const struct mf_tensor &tensor) { return static_cast<float *>(tensor.at); }

/** Does memory begin where 16 bytes may be loaded at once? NULL does. */
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

/** Calls @p work with the numbers of a load as a type. Loads have 16 bytes of T where rows of @p n numbers and the
 * arrays allow it, else 1. */
template <int W> struct mf_width {
    static constexpr int OF = W;
};
template <class T, class Work> void mf_by_width(size_t n, std::initializer_list<const void *> arrays, const Work &work)
{
    constexpr int W = int(sizeof(float4) / sizeof(T));
    bool wide = n % W == 0;

    for (const void *array : arrays) wide = wide && mf_aligned(array);
    if (wide)
        work(mf_width<W>());
    else
        work(mf_width<1>());
}

/** W numbers; several begin at a multiple of their bytes, at most of 16. */
template <int W, class T> struct alignas(W * sizeof(T) < 16 ? W * sizeof(T) : 16) mf_pack {
    T at[W];
};

template <int W, class T> __device__ inline void mf_load(const T *from, float *v)
{
    const auto pack = *reinterpret_cast<const mf_pack<W, T> *>(from);

    MF_UNROLL
    for (int w = 0; w < W; ++w) v[w] = mf_wide(pack.at[w]);
}

template <int W, class T> __device__ inline void mf_store(const float *v, T *to)
{
    mf_pack<W, T> pack;

    MF_UNROLL
    for (int w = 0; w < W; ++w) pack.at[w] = mf_round<T>(v[w]);
    *reinterpret_cast<mf_pack<W, T> *>(to) = pack;
}

/** to = v, or to += v, W numbers. */
template <int W, class Add, class T> __device__ inline void mf_give(const float *v, T *to)
{
    float sum[W];

    if constexpr (Add::IS) mf_load<W>(to, sum);
    for (int w = 0; w < W; ++w) sum[w] = Add::IS ? sum[w] + v[w] : v[w];
    mf_store<W>(sum, to);
}

template <int W, class Add, class T> __device__ inline void mf_move(const T *from, T *to)
{
    float v[W];

    mf_load<W>(from, v);
    mf_give<W, Add>(v, to);
}

/** The same for a number of a place's. */
template <class Add> __device__ inline void mf_put(float value, float *to) { *to = Add::IS ? *to + value : value; }

/* -- what follows from the numbers of a step, which a graph reads anew -- */

template <class Made, class Make>
__global__ void mf_once_kernel(struct mf_attr attr, const double *number, Make make, Made *made)
{
    *made = make(attr, number);
}

/** Lets one thread make(attr, number), for the next kernel. Returns where it stands. */
template <class Made, class Make> const Made *mf_once(struct mf_queue *q, const struct mf_call *call, const Make &make)
{
    Made *made = reinterpret_cast<Made *>(mf_cuda_of(q)->part);

    MF_RUN((mf_once_kernel<Made, Make>), 1, 1, 0, q, *call->attr, call->number, make, made);
    return made;
}

/* -- numbers of several arrays -- */

/** An operand. It begins again after so many numbers; 0: it is as long as the others. */
struct mf_operand {
    void *at;
    size_t period = 0;
};

/*
 * A body works on the numbers of one place, in place or not:
 *   enum { ARRAYS, READS, WRITES }     how many operands; bit j: operand j is read, is written
 *   enum { F32 }                       or none; bit j: operand j is f32 where others have 16 bits
 *   void operator()(float *v) const    v [ARRAYS]
 */
template <class Body> struct mf_places {
    Body body;
    size_t n;
    struct mf_operand operand[Body::ARRAYS];
};

template <class Body> constexpr unsigned mf_places_f32 = 0;
template <class Body>
requires requires { Body::F32; }
constexpr unsigned mf_places_f32<Body> = Body::F32;

/* The numbers of an operand in the W places from i on, every STEP-th of v. */
template <int W, int STEP, class T>
__device__ inline void mf_operand_move(const struct mf_operand &o, size_t i, float *v, bool out)
{
    T *at = static_cast<T *>(o.at) + (o.period == 0 || i < o.period ? i : i % o.period);
    float one[W];

    if (!out) mf_load<W>(at, one);
    MF_UNROLL
    for (int k = 0; k < W; ++k) (out ? one[k] : v[k * STEP]) = out ? v[k * STEP] : one[k];
    if (out) mf_store<W>(one, at);
}

template <int W, class T, class Body, int... J>
__device__ inline void mf_place(const mf_places<Body> &all, size_t i, std::integer_sequence<int, J...>)
{
    float v[W * Body::ARRAYS];
    const auto move = [&]<int K>(std::integral_constant<int, K>, unsigned mask, bool out) {
        using N = std::conditional_t<(mf_places_f32<Body> >> K & 1) != 0, float, T>;

        if (mask >> K & 1) mf_operand_move<W, Body::ARRAYS, N>(all.operand[K], i, v + K, out);
    };

    (move(std::integral_constant<int, J>(), Body::READS, false), ...);
    MF_UNROLL
    for (int k = 0; k < W; ++k) all.body(v + k * Body::ARRAYS);
    (move(std::integral_constant<int, J>(), Body::WRITES, true), ...);
}

template <int W, class T, class Body>
__global__ void __launch_bounds__(MF_CUDA_THREADS) mf_places_kernel(mf_places<Body> all)
{
    constexpr auto OPERANDS = std::make_integer_sequence<int, Body::ARRAYS>();
    const size_t step = size_t(gridDim.x) * blockDim.x * W;

    for (size_t i = (size_t(blockIdx.x) * blockDim.x + threadIdx.x) * W; i < all.n; i += step) {
        if (i + W <= all.n)
            mf_place<W, T>(all, i, OPERANDS);
        else
            for (size_t k = i; k < all.n; ++k) mf_place<1, T>(all, k, OPERANDS);
    }
}

/** Calls @p body for every place i < n of its operands. T: their numbers. */
template <class T = float, class Body>
void mf_places_run(struct mf_queue *q, size_t n, const Body &body, const struct mf_operand (&operand)[Body::ARRAYS])
{
    mf_places<Body> all = {body, n, {}};
    size_t rows = 0; /* periods: none, or the only one */
    bool aligned = true;

    if (n == 0) return;
    for (int j = 0; j < Body::ARRAYS; ++j) {
        all.operand[j] = operand[j];
        aligned = aligned && mf_aligned(operand[j].at);
        rows = operand[j].period ? operand[j].period : rows;
    }
    mf_by_width<T>(aligned ? rows : 1, {}, [&](auto width) {
        constexpr int W = decltype(width)::OF;
        const size_t each = size_t(W) * MF_CUDA_THREADS, blocks = (n + each - 1) / each, most = size_t(1) << 20;

        MF_RUN((mf_places_kernel<W, T, Body>), unsigned(blocks < most ? blocks : most), MF_CUDA_THREADS, 0, q, all);
    });
}

#endif
