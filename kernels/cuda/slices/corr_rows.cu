/* Products of rows of S2, in registers. They are sums of the spectra of two rows, and of the slopes with them
 * (corr_lines.cu). A thread sums up to 32 lags in registers. Further lags are groups. Other threads multiply them, and
 * the same thread adds them to the gradient one group after the other. */
#include "kernels/cuda/slices/lines.cuh"

namespace
{

constexpr int LANES = 128;

/* A thread's slice, chunk, group of lags, and frequency. */
struct lane {
    unsigned s, chunk, group, k;
    bool inside;
};

unsigned lanes_of(const struct mf_corr_level &w)
{
    return (unsigned(w.x.count) * unsigned(w.bins) + LANES - 1) / LANES;
}

__device__ struct lane lane_of(const struct mf_corr_level &w, unsigned block)
{
    const unsigned all = unsigned(w.x.count) * unsigned(w.bins), each = (all + LANES - 1) / LANES;
    const unsigned q = block % each * LANES + threadIdx.x, part = block / each;

    return {q / unsigned(w.bins), part % unsigned(w.chunks), part / unsigned(w.chunks), q % unsigned(w.bins), q < all};
}

/* The rows of a slice at one frequency: row u, periodically or 0 outside of the slice; inside(): without a test. */
struct rows {
    const float2 *first;
    int nu, bins, periodic;

    __device__ float2 inside(int u) const { return first[unsigned(u) * unsigned(bins)]; }
    __device__ float2 at(int u) const
    {
        if (periodic) u += u < 0 ? nu : u >= nu ? -nu : 0;
        return u >= 0 && u < nu ? inside(u) : make_float2(0.0f, 0.0f);
    }
};

__device__ struct rows rows_of(const struct mf_corr_level &w, const float2 *spectrum, const struct lane &at)
{
    return {spectrum + size_t(at.s) * unsigned(w.nu) * unsigned(w.bins) + at.k, w.nu, w.bins, w.periodic};
}

/* [chunk][lag][bins]: the sums of its slice and frequency. */
__device__ float2 *sums_of(const struct mf_corr_level &w, const struct lane &at)
{
    return w.sums + size_t(at.s) * unsigned(w.chunks) * unsigned(w.depth * w.bins) + at.k;
}

/* N rows from u on. */
template <int N> __device__ inline void read(const struct rows &rows, int u, float2 *to)
{
    if (u >= 0 && u + N <= rows.nu) {
        MF_UNROLL
        for (int i = 0; i < N; ++i) to[i] = rows.inside(u + i);
        return;
    }
    MF_UNROLL
    for (int i = 0; i < N; ++i) to[i] = rows.at(u + i);
}

/* sum += conj(a) b, sum += a b: chains of multiply-adds. */
__device__ inline void add_conj(float2 a, float2 b, float2 *sum)
{
    sum->x = fmaf(a.x, b.x, sum->x);
    sum->y = fmaf(a.x, b.y, sum->y);
    sum->x = fmaf(a.y, b.y, sum->x);
    sum->y = fmaf(-a.y, b.x, sum->y);
}
__device__ inline void add_product(float2 a, float2 b, float2 *sum)
{
    sum->x = fmaf(a.x, b.x, sum->x);
    sum->y = fmaf(a.x, b.y, sum->y);
    sum->x = fmaf(-a.y, b.y, sum->x);
    sum->y = fmaf(a.y, b.x, sum->y);
}

/* Lags in registers: DEPTH. The rows of a loop's step are so many that its code stays in the instruction cache. */
template <int DEPTH> constexpr int STEP = 128 / DEPTH < 8 ? 128 / DEPTH : 8;
template <int DEPTH> constexpr int OUT = 64 / DEPTH < 8 ? 64 / DEPTH : 8;

/* C of a chunk and a group, a thread for every slice and frequency. The last rows stay in registers; those outside of
 * the chunk count as 0. PAIRS: the earlier row is another one than the later, DEPTH times the group before it. */
template <int DEPTH, bool PAIRS>
__global__ void __launch_bounds__(LANES, DEPTH > 16 ? 2
                                         : PAIRS    ? 3
                                                    : 4) correlate(const __grid_constant__ struct mf_corr_table t)
{
    constexpr int N = STEP<DEPTH>;
    unsigned block;
    const struct mf_corr_level &w = mf_corr_own(t, &block);
    const struct lane at = lane_of(w, block);
    const struct rows early = rows_of(w, w.early, at), late = PAIRS ? rows_of(w, w.late, at) : early;
    const int first = int(at.chunk) * w.chunk, to = first + w.chunk < w.nu ? first + w.chunk : w.nu;
    const int apart = PAIRS ? int(at.group) * DEPTH : 0, lags = w.lag - apart < DEPTH ? w.lag - apart : DEPTH;
    float2 kept[DEPTH - 1 + N] = {}, next[N], sum[DEPTH] = {};

    if (!at.inside) return;
    read<N>(late, first + apart, next);
    MF_NO_UNROLL
    for (int u = first; u < to + lags - 1; u += N) {
        float2 now[N], *own = kept + DEPTH - 1;

        MF_UNROLL
        for (int i = 0; i < N; ++i) now[i] = own[i] = next[i];
        read<N>(late, u + N + apart, next);
        if (PAIRS) read<N>(early, u, own);
        if (u + N > to) {
            MF_UNROLL
            for (int i = 0; i < N; ++i)
                if (u + i >= to) own[i] = make_float2(0.0f, 0.0f);
        }
        MF_UNROLL
        for (int i = 0; i < N; ++i) {
            MF_UNROLL
            for (int d = 0; d < DEPTH; ++d) add_conj(own[i - d], now[i], &sum[d]);
        }
        MF_UNROLL
        for (int i = 0; i < DEPTH - 1; ++i) kept[i] = kept[i + N];
    }
    float2 *out = sums_of(w, at) + size_t(at.chunk) * unsigned(w.depth * w.bins) + unsigned(apart * w.bins);

    MF_UNROLL
    for (int d = 0; d < DEPTH; ++d) out[size_t(d) * unsigned(w.bins)] = sum[d];
}

/* out of rows first .. to - 1, plus what is there with ADD: sums of tap[e] times row u + from + e. */
template <int TAPS, int N, bool ADD>
__device__ inline void add_taps(const struct rows &x, int first, int to, int from, const float2 *tap, float2 start,
                                float2 *out)
{
    float2 kept[TAPS - 1 + N];

    read<TAPS - 1>(x, first + from, kept);
    MF_NO_UNROLL
    for (int u = first; u < to; u += N) {
        float2 sum[N];

        read<N>(x, u + from + TAPS - 1, kept + TAPS - 1);
        MF_UNROLL
        for (int i = 0; i < N; ++i) sum[i] = ADD && u + i < to ? out[unsigned(u + i) * unsigned(x.bins)] : start;
        MF_UNROLL
        for (int e = 0; e < TAPS; ++e) {
            MF_UNROLL
            for (int i = 0; i < N; ++i) add_product(tap[e], kept[e + i], &sum[i]);
        }
        MF_UNROLL
        for (int i = 0; i < N; ++i)
            if (u + i < to) out[unsigned(u + i) * unsigned(x.bins)] = sum[i];
        MF_UNROLL
        for (int i = 0; i < TAPS - 1; ++i) kept[i] = kept[i + N];
    }
}

/* Part of the sums of H X that is due to the middle of the pixels. */
__device__ float2 start_of(const struct mf_corr_level &w, const struct lane &at, const float2 *h)
{
    float sum = 0.0f;

    if (at.k == 0)
        for (int d = 0; d < w.lag; ++d) sum += (d ? 2.0f : 1.0f) * h[unsigned(d) * unsigned(w.bins)].x;
    return make_float2(sum * mf_corr_middle(w) * float(w.line.n), 0.0f);
}

/* H_d, or its conjugate; 0 from L on. */
__device__ inline float2 slope_of(const struct mf_corr_level &w, const float2 *h, int d, float sign)
{
    const float2 own = d < w.lag ? h[unsigned(d) * unsigned(w.bins)] : make_float2(0.0f, 0.0f);

    return make_float2(own.x, sign * own.y);
}

/* Sums of H X for a chunk of rows, threads as above. */
template <int DEPTH>
__global__ void __launch_bounds__(LANES, DEPTH > 16 ? 2 : 4) adjoint(const __grid_constant__ struct mf_corr_table t)
{
    constexpr int SIDE = DEPTH - 1;
    unsigned block;
    const struct mf_corr_level &w = mf_corr_own(t, &block);
    const struct lane at = lane_of(w, block);
    const struct rows x = rows_of(w, w.spectrum, at);
    const float2 *own = sums_of(w, at);
    const int first = int(at.chunk) * w.chunk, to = first + w.chunk < w.nu ? first + w.chunk : w.nu;
    float2 *out = w.back + (x.first - w.spectrum), h[2 * SIDE + 1];

    if (!at.inside) return;
    MF_UNROLL
    for (int d = 0; d < DEPTH; ++d) {
        h[SIDE + d] = slope_of(w, own, d, 1.0f);
        h[SIDE - d] = make_float2(h[SIDE + d].x, d ? -h[SIDE + d].y : h[SIDE].y);
    }
    add_taps<2 * SIDE + 1, OUT<DEPTH>, false>(x, first, to, -SIDE, h, start_of(w, at, own), out);
}

/* The same of several groups of lags: the later rows of a group, then the earlier ones. */
template <int DEPTH>
__global__ void __launch_bounds__(LANES, 2) adjoint_groups(const __grid_constant__ struct mf_corr_table t)
{
    unsigned block;
    const struct mf_corr_level &w = mf_corr_own(t, &block);
    const struct lane at = lane_of(w, block);
    const struct rows x = rows_of(w, w.spectrum, at);
    const float2 *own = sums_of(w, at);
    const int first = int(at.chunk) * w.chunk, to = first + w.chunk < w.nu ? first + w.chunk : w.nu;
    float2 *out = w.back + (x.first - w.spectrum);

    if (!at.inside) return;
    const float2 start = start_of(w, at, own);

    for (int u = first; u < to; ++u) out[unsigned(u) * unsigned(w.bins)] = start;
    MF_NO_UNROLL
    for (int d = 0; d < w.lag; d += DEPTH) {
        float2 h[DEPTH];

        MF_UNROLL
        for (int e = 0; e < DEPTH; ++e) h[e] = slope_of(w, own, d + e, 1.0f);
        add_taps<DEPTH, OUT<DEPTH>, true>(x, first, to, d, h, start, out);
        MF_UNROLL
        for (int e = 0; e < DEPTH; ++e) h[e] = slope_of(w, own, d + DEPTH - 1 - e, -1.0f);
        if (d == 0) h[DEPTH - 1] = make_float2(0.0f, 0.0f);
        add_taps<DEPTH, OUT<DEPTH>, true>(x, first, to, 1 - d - DEPTH, h, start, out);
    }
}

/* -- launches -- */

unsigned chunks_of(const struct mf_corr_level &w) { return lanes_of(w) * unsigned(w.chunks); }

template <int DEPTH, bool PAIRS, class Own>
void run_correlate(struct mf_queue *q, struct mf_corr_table *t, const Own &own)
{
    const unsigned blocks = mf_corr_number(
        t, [&](const struct mf_corr_level &w) { return own(w) ? chunks_of(w) * unsigned(w.depth / DEPTH) : 0; });

    if (blocks) MF_RUN((correlate<DEPTH, PAIRS>), blocks, LANES, 0, q, *t);
}

template <int DEPTH> void run_correlates(struct mf_queue *q, struct mf_corr_table *t, int groups)
{
    const auto plain = [&](const struct mf_corr_level &w) { return groups == 1 && w.early == w.late; };

    run_correlate<DEPTH, false>(q, t, plain);
    run_correlate<DEPTH, true>(q, t, [&](const struct mf_corr_level &w) { return !plain(w); });
}

template <int DEPTH> void run_adjoint(struct mf_queue *q, struct mf_corr_table *t)
{
    MF_RUN(adjoint<DEPTH>, mf_corr_number(t, chunks_of), LANES, 0, q, *t);
}

} // namespace

void mf_corr_correlate(struct mf_queue *q, struct mf_corr_table *t, int depth, int groups)
{
    switch (depth) {
    case 8: run_correlates<8>(q, t, groups); break;
    case 16: run_correlates<16>(q, t, groups); break;
    default: run_correlates<MF_CORR_DEPTH>(q, t, groups); break;
    }
}

void mf_corr_adjoint(struct mf_queue *q, struct mf_corr_table *t, int depth, int groups)
{
    if (groups > 1) {
        MF_RUN(adjoint_groups<MF_CORR_DEPTH>, mf_corr_number(t, chunks_of), LANES, 0, q, *t);
        return;
    }
    switch (depth) {
    case 8: run_adjoint<8>(q, t); break;
    case 16: run_adjoint<16>(q, t); break;
    default: run_adjoint<MF_CORR_DEPTH>(q, t); break;
    }
}
