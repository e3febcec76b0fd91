/* attention on cuda. See kernels/net/attention.c. A block has some queries of a head, or some keys of a group.
 * It takes the others by tiles, so no array of rows x keys exists (Dao, "FlashAttention-2", 2023). Backward computes
 * the gradients of queries, and of keys and values, in two kernels. Every sum has one order, and nothing is added by
 * atomics. Every warp has 16 rows, whose numbers and statistics no other warp needs. */
#include "kernels/net/attention.h"
#include "kernels/net/gpu_work.h"

#include "kernels/cuda/net/rows.cuh"
#include "kernels/cuda/net/tile.cuh"
#include "kernels/form/softmax.h"

namespace
{

constexpr unsigned WIDEST = 256; /* columns of a head */

/* A call. dq and dkv: with q_step and k_step, as q and kv. */
template <class T> struct problem {
    struct mf_attention a;
    const T *q, *kv, *dy;
    const unsigned char *seen; /* [sample][key] or NULL */
    float *saved, *sums;       /* [sample][head][row] logarithms of sums; sums of y dy */
    T *y, *dq, *dkv;
    bool wide, add_q, add_kv; /* wide: 16 bytes may be loaded at once */
};

/* Blocks for heads of up to D columns, which stand in shared memory with zeros behind them. A block has ROWS rows of
 * its own, and OTHER rows of a tile. */
template <class T, unsigned D> struct shape {
    static constexpr unsigned BYTES = D * unsigned(sizeof(T)), PAD = 16 / unsigned(sizeof(T));
    static constexpr unsigned WARPS = BYTES <= 256 ? 4 : BYTES <= 512 ? 2 : 1, ROWS = 16 * WARPS;
    static constexpr unsigned OTHER = BYTES <= 128 ? 64 : BYTES <= 512 ? 32 : 16;
    static constexpr unsigned STEP = D + PAD, P_STEP = OTHER + PAD; /* no two rows begin in the same bank */
    static constexpr int D8 = int(D / 8), O8 = int(OTHER / 8);
    static constexpr unsigned HALF = D < 128 ? D : 128; /* columns of the gradients of keys that a block has */
    static constexpr size_t FORWARD = (ROWS * STEP + 2 * OTHER * STEP + ROWS * P_STEP) * sizeof(T);
    static constexpr size_t BACK = FORWARD + ROWS * STEP * sizeof(T);
};

/* Part of one block. */
struct part {
    size_t sample;
    unsigned head, first; /* head or group; first row */
};

__device__ part part_of(unsigned tiles, size_t heads)
{
    const unsigned i = blockIdx.x / tiles; /* the last rows, which see most keys, begin first */

    return {i / heads, unsigned(i % heads), tiles - 1 - blockIdx.x % tiles};
}

__device__ unsigned warp_row() { return threadIdx.x / MF_CUDA_WARP * 16; }
__device__ unsigned least(size_t a, size_t b) { return unsigned(a < b ? a : b); }

/* -- operands -- */

/* Rows [first, first + rows) of [0, end) to shared memory, with zeros behind them and behind column d. */
template <class T, unsigned D>
__device__ void take(T *to, unsigned rows, const T *from, size_t step, size_t first, size_t end, const problem<T> &s)
{
    constexpr unsigned W = shape<T, D>::PAD, ACROSS = D / W;
    const unsigned d = unsigned(s.a.d);

    from += first * step;
    if (s.wide) {
        for (unsigned i = threadIdx.x; i < rows * ACROSS; i += blockDim.x) {
            const unsigned row = i / ACROSS, column = i % ACROSS * W;
            float4 some = make_float4(0, 0, 0, 0);

            if (first + row < end && column < d) some = *reinterpret_cast<const float4 *>(from + row * step + column);
            *reinterpret_cast<float4 *>(to + row * shape<T, D>::STEP + column) = some;
        }
        return;
    }
    for (unsigned i = threadIdx.x; i < rows * D; i += blockDim.x) {
        const unsigned row = i / D, column = i % D;

        to[row * shape<T, D>::STEP + column] =
            first + row < end && column < d ? from[row * step + column] : mf_round<T>(0);
    }
}

template <class T> __device__ const T *queries(const problem<T> &s, const T *q, const part &p)
{
    return q + p.sample * s.a.rows * s.a.q_step + p.head * s.a.d;
}

template <class T> __device__ size_t y_at(const problem<T> &s, const part &p)
{
    return (p.sample * s.a.rows * s.a.heads + p.head) * s.a.d;
}

template <class T> __device__ size_t key_at(const problem<T> &s, const part &p, size_t group, size_t first)
{
    return p.sample * s.a.keys * s.a.k_step + first + group * s.a.d;
}

template <class T> __device__ size_t group_of(const problem<T> &s, const part &p)
{
    return p.head / (s.a.heads / s.a.groups);
}

/* The warp's rows of c, from row @p first on, to an array of @p end rows. */
template <class T, int N>
__device__ void give(const float (&c)[N][4], T *to, size_t step, size_t first, size_t end, unsigned d, bool wide,
                     bool add)
{
    struct alignas(2 * sizeof(T)) pair {
        T at[2];
    };

    MF_UNROLL
    for (int n = 0; n < N; ++n)
        for (int j = 0; j < 4; j += 2) {
            const size_t row = first + warp_row() + mf_tile_row(j);
            const unsigned column = mf_tile_column(n, 0);
            T *at = to + row * step + column;
            pair both = {};

            if (row >= end || column >= d) continue;
            const unsigned count = column + 1 < d ? 2 : 1;

            for (unsigned i = 0; i < count; ++i)
                both.at[i] = mf_round<T>(c[n][j + int(i)] + (add ? mf_wide(at[i]) : 0.0f));
            if (wide)
                *reinterpret_cast<pair *>(at) = both;
            else
                for (unsigned i = 0; i < count; ++i) at[i] = both.at[i];
        }
}

/* The warp's numbers to its rows in shared memory, as an operand of the next product. */
template <class T, int N> __device__ void lay(const float (&c)[N][4], T *to, unsigned step)
{
    __syncwarp();
    MF_UNROLL
    for (int n = 0; n < N; ++n)
        for (int j = 0; j < 4; ++j) to[mf_tile_row(j) * step + mf_tile_column(n, j)] = mf_round<T>(c[n][j]);
    __syncwarp();
}

/* Does query @p row see @p key? */
template <class T> __device__ bool sees(const problem<T> &s, size_t sample, size_t row, size_t key)
{
    return row < s.a.rows && key < mf_attention_sees(&s.a, row) && (!s.seen || s.seen[sample * s.a.keys + key]);
}

/* Is this so for all of [row, row + rows) and [key, key + keys)? */
template <class T> __device__ bool sees_all(const problem<T> &s, size_t row, size_t rows, size_t key, size_t keys)
{
    return !s.seen && row + rows <= s.a.rows && key + keys <= mf_attention_sees(&s.a, row);
}

/* Keys that some query of [first, first + rows) sees. */
template <class T> __device__ size_t keys_of(const problem<T> &s, size_t first, unsigned rows)
{
    return mf_attention_sees(&s.a, least(first + rows, s.a.rows) - 1);
}

/* -- forward -- */

__device__ float quad_sum(float v)
{
    v += __shfl_xor_sync(0xffffffffu, v, 1);
    return v + __shfl_xor_sync(0xffffffffu, v, 2);
}

__device__ float quad_max(float v)
{
    v = fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 1));
    return fmaxf(v, __shfl_xor_sync(0xffffffffu, v, 2));
}

/* Softmax of a row that comes by tiles: the largest score, the sum of exponentials of the differences to it. A lane
 * has two rows; its four neighbours have the same ones. */
template <int N, int M> struct running {
    float most[2], sum[2];

    /* Scores become probabilities, not yet divided by their sum; what was added up of values becomes so, too. */
    __device__ void join(float (&x)[N][4], float (&y)[M][4], float scale)
    {
        MF_UNROLL
        for (int h = 0; h < 2; ++h) {
            float top = most[h], now = 0;

            MF_UNROLL
            for (int n = 0; n < N; ++n) top = fmaxf(top, fmaxf(x[n][2 * h], x[n][2 * h + 1]));
            top = quad_max(top);
            const float less = most[h] == top ? 1.0f : mf_softmax_again(most[h] - top, scale, 0);

            MF_UNROLL
            for (int n = 0; n < N; ++n)
                for (int j = 2 * h; j < 2 * h + 2; ++j) {
                    x[n][j] = x[n][j] == -INFINITY ? 0.0f : mf_softmax_again(x[n][j] - top, scale, 0);
                    now += x[n][j];
                }
            sum[h] = sum[h] * less + now;
            most[h] = top;
            MF_UNROLL
            for (int m = 0; m < M; ++m) {
                y[m][2 * h] *= less;
                y[m][2 * h + 1] *= less;
            }
        }
    }
};

template <class T, unsigned D>
__global__ void __launch_bounds__(shape<T, D>::WARPS *MF_CUDA_WARP) forward_kernel(problem<T> s, unsigned tiles)
{
    using S = shape<T, D>;
    MF_SHARED(T, q);
    T *k = q + S::ROWS * S::STEP, *v = k + S::OTHER * S::STEP, *p = v + S::OTHER * S::STEP + warp_row() * S::P_STEP;
    const part own = part_of(tiles, s.a.heads);
    const size_t first = size_t(own.first) * S::ROWS, end = keys_of(s, first, S::ROWS);
    const T *keys = s.kv + key_at(s, own, group_of(s, own), s.a.k_first);
    const T *values = s.kv + key_at(s, own, group_of(s, own), s.a.v_first);
    running<S::O8, S::D8> row = {{-INFINITY, -INFINITY}, {0, 0}};
    float y[S::D8][4] = {};

    take<T, D>(q, S::ROWS, queries(s, s.q, own), s.a.q_step, first, s.a.rows, s);
    for (size_t key = 0; key < end; key += S::OTHER) {
        const bool all = sees_all(s, first, S::ROWS, key, S::OTHER);
        float x[S::O8][4] = {};

        __syncthreads();
        take<T, D>(k, S::OTHER, keys, s.a.k_step, key, s.a.keys, s);
        take<T, D>(v, S::OTHER, values, s.a.k_step, key, s.a.keys, s);
        __syncthreads();
        mf_tile_product<true>(x, mf_matrix<T>{q + warp_row() * S::STEP, S::STEP}, mf_matrix<T>{k, S::STEP}, D);
        MF_UNROLL
        for (int n = 0; n < S::O8; ++n)
            for (int j = 0; j < 4; ++j)
                if (!all && !sees(s, own.sample, first + warp_row() + mf_tile_row(j), key + mf_tile_column(n, j)))
                    x[n][j] = -INFINITY;
        row.join(x, y, s.a.scale);
        lay(x, p, S::P_STEP);
        mf_tile_product<false>(y, mf_matrix<T>{p, S::P_STEP}, mf_matrix<T>{v, S::STEP}, S::OTHER);
    }
    MF_UNROLL
    for (int h = 0; h < 2; ++h) {
        const float sum = quad_sum(row.sum[h]), each = sum == 0.0f ? 0.0f : 1.0f / sum;
        const size_t i = first + warp_row() + mf_tile_row(2 * h);

        MF_UNROLL
        for (int n = 0; n < S::D8; ++n)
            for (int j = 2 * h; j < 2 * h + 2; ++j) y[n][j] *= each;
        if (threadIdx.x % 4 == 0 && i < s.a.rows)
            s.saved[(own.sample * s.a.heads + own.head) * s.a.rows + i] =
                sum == 0.0f ? 0.0f : s.a.scale * row.most[h] + logf(sum);
    }
    give(y, s.y + y_at(s, own), s.a.heads * s.a.d, first, s.a.rows, unsigned(s.a.d), s.wide, false);
}

/* -- backward -- */

/* Row r of [sample][row][head]. */
template <class T> struct sums_body {
    problem<T> s;
    __device__ void operator()(size_t r, unsigned lane) const
    {
        const size_t head = r % s.a.heads, row = r / s.a.heads % s.a.rows, sample = r / s.a.heads / s.a.rows;
        float sum = 0;

        for (size_t i = lane; i < s.a.d; i += MF_CUDA_WARP)
            sum += mf_wide(s.y[r * s.a.d + i]) * mf_wide(s.dy[r * s.a.d + i]);
        sum = mf_warp_sum(sum);
        if (lane == 0) s.sums[(sample * s.a.heads + head) * s.a.rows + row] = sum;
    }
};

/* Gradients of queries. */
template <class T, unsigned D>
__global__ void __launch_bounds__(shape<T, D>::WARPS *MF_CUDA_WARP) queries_kernel(problem<T> s, unsigned tiles)
{
    using S = shape<T, D>;
    MF_SHARED(T, q);
    T *dy = q + S::ROWS * S::STEP, *k = dy + S::ROWS * S::STEP, *v = k + S::OTHER * S::STEP;
    T *p = v + S::OTHER * S::STEP + warp_row() * S::P_STEP;
    const part own = part_of(tiles, s.a.heads);
    const size_t first = size_t(own.first) * S::ROWS, end = keys_of(s, first, S::ROWS);
    const T *keys = s.kv + key_at(s, own, group_of(s, own), s.a.k_first);
    const T *values = s.kv + key_at(s, own, group_of(s, own), s.a.v_first);
    float l[2] = {}, sum[2] = {}, dq[S::D8][4] = {};

    for (int h = 0; h < 2; ++h) {
        const size_t i = first + warp_row() + mf_tile_row(2 * h);
        const size_t at = (own.sample * s.a.heads + own.head) * s.a.rows + i;

        if (i >= s.a.rows) continue;
        l[h] = s.saved[at];
        sum[h] = s.sums[at];
    }
    take<T, D>(q, S::ROWS, queries(s, s.q, own), s.a.q_step, first, s.a.rows, s);
    take<T, D>(dy, S::ROWS, s.dy + y_at(s, own), s.a.heads * s.a.d, first, s.a.rows, s);
    for (size_t key = 0; key < end; key += S::OTHER) {
        const bool all = sees_all(s, first, S::ROWS, key, S::OTHER);
        float x[S::O8][4] = {}, dp[S::O8][4] = {};

        __syncthreads();
        take<T, D>(k, S::OTHER, keys, s.a.k_step, key, s.a.keys, s);
        take<T, D>(v, S::OTHER, values, s.a.k_step, key, s.a.keys, s);
        __syncthreads();
        mf_tile_product<true>(x, mf_matrix<T>{q + warp_row() * S::STEP, S::STEP}, mf_matrix<T>{k, S::STEP}, D);
        mf_tile_product<true>(dp, mf_matrix<T>{dy + warp_row() * S::STEP, S::STEP}, mf_matrix<T>{v, S::STEP}, D);
        MF_UNROLL
        for (int n = 0; n < S::O8; ++n)
            for (int j = 0; j < 4; ++j) {
                const bool seen =
                    all || sees(s, own.sample, first + warp_row() + mf_tile_row(j), key + mf_tile_column(n, j));
                const float again = seen ? mf_softmax_again(x[n][j], s.a.scale, l[j / 2]) : 0.0f;

                x[n][j] = mf_softmax_slope(again, dp[n][j], sum[j / 2], s.a.scale);
            }
        lay(x, p, S::P_STEP);
        mf_tile_product<false>(dq, mf_matrix<T>{p, S::P_STEP}, mf_matrix<T>{k, S::STEP}, S::OTHER);
    }
    give(dq, s.dq + (queries(s, s.q, own) - s.q), s.a.q_step, first, s.a.rows, unsigned(s.a.d), s.wide, s.add_q);
}

/* Gradients of a group's keys and values: HALF columns of them, from blockIdx.y HALF on. Scores stand transposed, a row
 * for each key. */
template <class T, unsigned D>
__global__ void __launch_bounds__(shape<T, D>::WARPS *MF_CUDA_WARP) keys_kernel(problem<T> s, unsigned tiles)
{
    using S = shape<T, D>;
    constexpr int H8 = int(S::HALF / 8);
    MF_SHARED(T, k);
    T *v = k + S::ROWS * S::STEP, *q = v + S::ROWS * S::STEP, *dy = q + S::OTHER * S::STEP;
    T *p = dy + S::OTHER * S::STEP + warp_row() * S::P_STEP;
    const unsigned column = blockIdx.y * S::HALF, heads = unsigned(s.a.heads / s.a.groups);
    const part own = part_of(tiles, s.a.groups);
    const size_t first = size_t(own.first) * S::ROWS;
    const size_t key_place = key_at(s, own, own.head, s.a.k_first), apart = s.a.v_first - s.a.k_first;
    const size_t unseen = s.a.causal && first + s.a.rows > s.a.keys ? first + s.a.rows - s.a.keys : 0;
    float dk[H8][4] = {}, dv[H8][4] = {};

    take<T, D>(k, S::ROWS, s.kv + key_place, s.a.k_step, first, s.a.keys, s);
    take<T, D>(v, S::ROWS, s.kv + key_place + apart, s.a.k_step, first, s.a.keys, s);
    for (unsigned head = own.head * heads; head < (own.head + 1) * heads; ++head)
        for (size_t row = unseen / S::OTHER * S::OTHER; row < s.a.rows; row += S::OTHER) {
            const part of = {own.sample, head, 0};
            const bool all = sees_all(s, row, S::OTHER, first, S::ROWS);
            const float *l = s.saved + (of.sample * s.a.heads + head) * s.a.rows;
            const float *sum = s.sums + (of.sample * s.a.heads + head) * s.a.rows;
            float x[S::O8][4] = {}, dp[S::O8][4] = {};

            __syncthreads();
            take<T, D>(q, S::OTHER, queries(s, s.q, of), s.a.q_step, row, s.a.rows, s);
            take<T, D>(dy, S::OTHER, s.dy + y_at(s, of), s.a.heads * s.a.d, row, s.a.rows, s);
            __syncthreads();
            mf_tile_product<true>(x, mf_matrix<T>{k + warp_row() * S::STEP, S::STEP}, mf_matrix<T>{q, S::STEP}, D);
            mf_tile_product<true>(dp, mf_matrix<T>{v + warp_row() * S::STEP, S::STEP}, mf_matrix<T>{dy, S::STEP}, D);
            MF_UNROLL
            for (int n = 0; n < S::O8; ++n)
                for (int j = 0; j < 4; ++j) {
                    const size_t r = row + mf_tile_column(n, j), key = first + warp_row() + mf_tile_row(j);

                    if (all || (key < s.a.keys && sees(s, of.sample, r, key))) {
                        x[n][j] = mf_softmax_again(x[n][j], s.a.scale, l[r]);
                        dp[n][j] = mf_softmax_slope(x[n][j], dp[n][j], sum[r], s.a.scale);
                    } else {
                        x[n][j] = dp[n][j] = 0;
                    }
                }
            lay(x, p, S::P_STEP);
            mf_tile_product<false>(dv, mf_matrix<T>{p, S::P_STEP}, mf_matrix<T>{dy + column, S::STEP}, S::OTHER);
            lay(dp, p, S::P_STEP);
            mf_tile_product<false>(dk, mf_matrix<T>{p, S::P_STEP}, mf_matrix<T>{q + column, S::STEP}, S::OTHER);
        }
    if (s.a.d <= column) return;
    T *to = s.dkv + key_place + column;
    const unsigned d = unsigned(s.a.d) - column;

    give(dk, to, s.a.k_step, first, s.a.keys, d, s.wide, s.add_kv);
    give(dv, to + apart, s.a.k_step, first, s.a.keys, d, s.wide, s.add_kv);
}

/* -- calls -- */

template <unsigned D> struct columns {
    static constexpr unsigned OF = D;
};

/* Calls work(T(), columns<D>()) for the type of the call's arrays and the smallest D that holds a head. */
template <class Work> void by_head(const struct mf_call *call, const struct mf_attention &a, const Work &work)
{
    mf_by_type(call->in[0].shape.type, [&](auto number) {
        if (a.d <= 32)
            work(number, columns<32>());
        else if (a.d <= 64)
            work(number, columns<64>());
        else if (a.d <= 128)
            work(number, columns<128>());
        else
            work(number, columns<WIDEST>());
    });
}

struct mf_attention attention_of(const struct mf_call *call)
{
    return mf_attention_of(call->attr, &call->in[0].shape, &call->in[1].shape);
}

template <class T> problem<T> problem_of(const struct mf_call *call)
{
    const bool apart = call->in[1].at != nullptr;
    problem<T> s = {};
    bool wide = true;

    s.a = attention_of(call);
    s.q = mf_numbers<T>(call->in[0]);
    s.kv = mf_numbers<T>(call->in[apart]);
    s.seen = mf_numbers<unsigned char>(call->in[2]);
    s.y = mf_numbers<T>(call->out[0]);
    s.saved = mf_numbers<float>(call->out[1]);
    s.sums = static_cast<float *>(call->work);
    s.dy = mf_numbers<T>(call->dout);
    s.dq = mf_numbers<T>(call->din[0]);
    s.dkv = mf_numbers<T>(call->din[apart]);
    s.add_q = call->add & 1;
    s.add_kv = call->add >> apart & 1;
    for (const void *array : {(const void *)s.q, (const void *)s.kv, (const void *)s.y, (const void *)s.dy,
                              (const void *)s.dq, (const void *)s.dkv})
        wide = wide && mf_aligned(array);
    s.wide = wide && s.a.d * sizeof(T) % sizeof(float4) == 0;
    return s;
}

unsigned tiles_of(size_t rows, unsigned each) { return unsigned((rows + each - 1) / each); }

template <class Kernel> void allow(Kernel *kernel, size_t shared)
{
    MF_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
}

/* Refuses wider heads. */
int plan(struct mf_queue *, const struct mf_call *call, int back, void **made, size_t *work)
{
    const struct mf_attention a = attention_of(call);

    *made = nullptr;
    *work = mf_gpu_attention_work(call, back);
    if (a.d > WIDEST)
        return mf_fail(MF_DEVICE,
                       "attention of the cuda back end has heads of at most %u columns, not %zu; try: "
                       "more heads, or --device cpu",
                       WIDEST, a.d);
    by_head(call, a, [&](auto number, auto head) {
        using T = decltype(number);
        constexpr unsigned D = decltype(head)::OF;

        allow(forward_kernel<T, D>, shape<T, D>::FORWARD);
        allow(queries_kernel<T, D>, shape<T, D>::BACK);
        allow(keys_kernel<T, D>, shape<T, D>::BACK);
    });
    return MF_OK;
}

void forward(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_attention a = attention_of(call);

    by_head(call, a, [&](auto number, auto head) {
        using T = decltype(number);
        constexpr unsigned D = decltype(head)::OF;
        using S = shape<T, D>;
        const unsigned tiles = tiles_of(a.rows, S::ROWS);

        MF_RUN((forward_kernel<T, D>), unsigned(a.samples * a.heads * tiles), S::WARPS * MF_CUDA_WARP, S::FORWARD, q,
               problem_of<T>(call), tiles);
    });
}

void backward(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_attention a = attention_of(call);

    by_head(call, a, [&](auto number, auto head) {
        using T = decltype(number);
        constexpr unsigned D = decltype(head)::OF;
        using S = shape<T, D>;
        const problem<T> s = problem_of<T>(call);
        const unsigned rows = tiles_of(a.rows, S::ROWS), keys = tiles_of(a.keys, S::ROWS);

        mf_rows_run(q, a.samples * a.rows * a.heads, sums_body<T>{s});
        if (s.dq)
            MF_RUN((queries_kernel<T, D>), unsigned(a.samples * a.heads * rows), S::WARPS * MF_CUDA_WARP, S::BACK, q, s,
                   rows);
        if (s.dkv)
            MF_RUN((keys_kernel<T, D>), dim3(unsigned(a.samples * a.groups * keys), D / S::HALF),
                   S::WARPS * MF_CUDA_WARP, S::BACK, q, s, keys);
    });
}

} // namespace

const struct mf_op_calls mf_op_attention_cuda = {plan, nullptr, forward, backward};
