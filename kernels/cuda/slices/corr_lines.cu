/* S2 by lines: transforms along v, products of rows along u in registers. Nothing is transposed, slices of any
 * layout are read where they are, and u may have any extent.
 *
 *   C_d(k) = sum over u of conj(X_u(k)) X_{u+d}(k),  0 <= d < L          (X_u: transform of row u)
 *   D(d, .) = inverse transform of C_d,  D(-d, -v) = D(d, v)
 *   gradient of row u = inverse transform of the sum over |d| < L of H_d X_{u+d},  H_-d = conj(H_d)
 *
 * A thread sums up to 32 lags in registers. Further lags are groups: other threads multiply them, and the same thread
 * adds them to the gradient one group after the other. */
#include <math.h>
#include <stdlib.h>

#include "kernels/cuda/slices/lines.cuh"

namespace
{

constexpr int THREADS = MF_CORR_THREADS, WARPS = THREADS / MF_CUDA_WARP, LANES = 128;
constexpr int AHEAD = 4; /* pixels of a thread that are on their way at once */

/* -- transforms -- */

/* Row u of slice s, and the next one. */
struct pair {
    unsigned s, u;
};

/* Where slices are side by side, a block has a pair of each of 2^shift slices; else 2^shift pairs one after the other.
 */
__host__ __device__ unsigned groups_of(const struct mf_corr_level &w, const struct mf_corr_slices &x)
{
    return (unsigned(x.count) + (1u << w.shift) - 1) >> w.shift;
}

unsigned blocks_of(const struct mf_corr_level &w, const struct mf_corr_slices &x)
{
    if (x.side_by_side()) return mf_corr_pairs(w) * groups_of(w, x);
    return (mf_corr_pairs(w) * unsigned(x.count) + (1u << w.shift) - 1) >> w.shift;
}

/* Pair p of a block. Its slice may be beyond the last one. */
__device__ struct pair pair_of(const struct mf_corr_level &w, const struct mf_corr_slices &x, unsigned block,
                               unsigned p)
{
    if (x.side_by_side()) {
        const unsigned groups = groups_of(w, x);

        return {(block % groups << w.shift) + p, 2 * (block / groups)};
    }
    const unsigned q = (block << w.shift) + p;

    return {q / mf_corr_pairs(w), 2 * (q % mf_corr_pairs(w))};
}

/* Calls body(pair, its number p, v, step) for pairs whose columns v, v + step and so on are this thread's. Neighbouring
 * threads have neighbouring columns; with @p lanes neighbouring pairs. */
template <class Body>
__device__ void columns(const struct mf_corr_level &w, const struct mf_corr_slices &x, unsigned block, bool lanes,
                        const Body &body)
{
    const unsigned count = 1u << w.shift, first = lanes ? threadIdx.x & (count - 1) : threadIdx.x / MF_CUDA_WARP;
    const int v = int(lanes ? threadIdx.x >> w.shift : threadIdx.x % MF_CUDA_WARP);
    const int step = lanes ? THREADS >> w.shift : MF_CUDA_WARP;

    for (unsigned p = first; p < count; p += lanes ? count : WARPS) {
        const struct pair at = pair_of(w, x, block, p);

        if (at.s < x.count) body(at, p, v, step);
    }
    __syncthreads();
}

/* The pixel at place v of a line; -1: there is none, as behind the line. */
__device__ int pixel_of(const struct mf_corr_level &w, bool continued, int v)
{
    const int beside = continued ? w.lag - 1 : 0;

    if (v < w.nv) return v;
    if (v < w.nv + beside) return v - w.nv;
    return v < w.line.n - beside || v >= w.line.n ? -1 : v - w.line.n + w.nv;
}

__device__ void load(const struct mf_corr_level &w, const struct mf_corr_slices &x, unsigned block, bool continued,
                     float2 *z)
{
    const float middle = mf_corr_middle(w);
    const size_t sv = x.sv;

    columns(w, x, block, x.side_by_side(), [&](const struct pair &at, unsigned p, int first, int step) {
        const float *row = x.at(at.s, at.u, 0), *next = row + (int(at.u) + 1 < w.nu ? x.su : 0);
        float2 *to = z + int(p) * w.pitch;

        MF_NO_UNROLL
        for (int v = first; v < w.line.n; v += AHEAD * step) {
            float2 own[AHEAD];

            MF_UNROLL
            for (int i = 0; i < AHEAD; ++i) {
                const int from = pixel_of(w, continued, v + i * step);

                own[i] = from < 0 ? make_float2(middle, middle)
                                  : make_float2(row[unsigned(from) * sv], next[unsigned(from) * sv]);
            }
            MF_UNROLL
            for (int i = 0; i < AHEAD; ++i)
                if (v + i * step < w.line.n)
                    to[mf_line_pad(v + i * step)] =
                        make_float2(own[i].x - middle, next == row ? 0.0f : own[i].y - middle);
        }
    });
}

/* Where frequencies k and -k of pair p are. */
__device__ void couple(const struct mf_corr_level &w, unsigned p, int k, int *plus, int *minus)
{
    *plus = int(p) * w.pitch + mf_line_pad(__ldg(w.line.place + k));
    *minus = int(p) * w.pitch + mf_line_pad(__ldg(w.line.place + (k ? w.line.n - k : 0)));
}

/* What is transformed to `spectrum`, or to `back`. */
__host__ __device__ const struct mf_corr_slices &source_of(const struct mf_corr_level &w, int second)
{
    return second && w.y.base ? w.y : w.x;
}

/* Sums of the jumps out of every pair of rows z, behind which the block has room for them. */
__device__ void sum_jumps(const struct mf_corr_level &w, unsigned block, const float2 *z)
{
    const struct mf_jumps &jumps = w.beside.jumps;
    const unsigned kinds = 2u << w.shift, nu = jumps.nu, nv = jumps.nv;
    const float middle = mf_corr_middle(w);
    unsigned long long *sum = (unsigned long long *)(z + (w.pitch << w.shift));

    for (unsigned i = threadIdx.x; i < kinds; i += THREADS) sum[i] = 0;
    __syncthreads();
    columns(w, w.x, block, w.x.side_by_side(), [&](const struct pair &at, unsigned p, int first, int step) {
        const unsigned single = at.u + 1 == nu;
        const float2 *row = z + int(p) * w.pitch;
        const float *next = w.x.at(at.s, jumps.after(single ? at.u : at.u + 1, nu), 0);
        long long u = 0, v = 0;

        for (unsigned i = unsigned(first); i < nv; i += unsigned(step)) {
            const float2 x = row[mf_line_pad(int(i))], right = row[mf_line_pad(int(jumps.after(i, nv)))];
            const float below = next[size_t(i) * w.x.sv] - middle;
            const float down = jumps.size((single ? below : x.y) - x.x) + (single ? 0.0f : jumps.size(below - x.y));

            u += llrintf(MF_CORR_GRAIN * jumps.times(i) * down);
            v += llrintf(MF_CORR_GRAIN * (jumps.times(at.u) * jumps.size(right.x - x.x) + jumps.size(right.y - x.y)));
        }
        atomicAdd(sum + 2 * p, (unsigned long long)u);
        atomicAdd(sum + 2 * p + 1, (unsigned long long)v);
    });
    for (unsigned i = threadIdx.x; i < kinds; i += THREADS) {
        const struct pair at = pair_of(w, w.x, block, i / 2);

        if (at.s < w.x.count)
            w.beside.sums[(size_t(at.s) * mf_corr_pairs(w) + at.u / 2) * 2 + i % 2] = (long long)sum[i];
    }
}

/* X of the rows of x, or of y; @p late: rows are the later ones in products. */
__global__ void __launch_bounds__(THREADS, 5)
    forward(const __grid_constant__ struct mf_corr_table t, int second, int late)
{
    MF_SHARED(float2, z);
    unsigned number;
    const struct mf_corr_level &w = mf_corr_own(t, &number);
    const struct mf_corr_slices &x = source_of(w, second);
    float2 *spectrum = second ? w.back : w.spectrum;

    load(w, x, number, late && mf_corr_continued(w), z);
    if (w.beside.is && !second) sum_jumps(w, number, z);
    mf_transform<false>(w.line, w.shift, w.pitch, z);
    columns(w, x, number, false, [&](const struct pair &at, unsigned p, int first, int step) {
        float2 *to = spectrum + (size_t(at.s) * unsigned(w.nu) + at.u) * unsigned(w.bins);
        float2 *next = int(at.u) + 1 < w.nu ? to + w.bins : nullptr;

        for (int k = first; k < w.bins; k += step) {
            int plus, minus;

            couple(w, p, k, &plus, &minus);
            const float2 a = z[plus], b = z[minus];

            to[k] = make_float2(0.5f * (a.x + b.x), 0.5f * (a.y - b.y));
            if (next) next[k] = make_float2(0.5f * (a.y + b.y), 0.5f * (b.x - a.x));
        }
    });
}

/* The rows of a pair and their neighbours, for the gradient of Variation: slopes of jumps in, less those of jumps out.
 */
struct neighbours {
    const struct mf_jumps &j;
    const float *above, *row, *next, *below; /* next: row itself where the pair has no second one */
    size_t sv;
    float2 by;
    float times;

    __device__ float2 operator()(unsigned v) const
    {
        const size_t at = v * sv, before = j.before(v, j.nv) * sv, after = j.after(v, j.nv) * sv;
        const float x = row[at], y = next[at], under = below[at];
        const float between = j.slope((next == row ? under : y) - x), u = by.x * j.times(v);

        return make_float2(u * (j.slope(x - above[at]) - between) +
                               by.y * times * (j.slope(x - row[before]) - j.slope(row[after] - x)),
                           u * (between - j.slope(under - y)) +
                               by.y * (j.slope(y - next[before]) - j.slope(next[after] - y)));
    }
};

__device__ struct neighbours neighbours_of(const struct mf_corr_level &w, const struct pair &at)
{
    const struct mf_jumps &j = w.beside.jumps;
    const unsigned last = at.u + 1 < j.nu ? at.u + 1 : at.u;

    return {j,
            w.x.at(at.s, j.before(at.u, j.nu), 0),
            w.x.at(at.s, at.u, 0),
            w.x.at(at.s, last, 0),
            w.x.at(at.s, j.after(last, j.nu), 0),
            w.x.sv,
            w.beside.is ? w.beside.by[at.s] : make_float2(0.0f, 0.0f),
            j.times(at.u)};
}

/* The gradient from its transform. */
__global__ void __launch_bounds__(THREADS, 4) inverse(const __grid_constant__ struct mf_corr_table t)
{
    MF_SHARED(float2, z);
    unsigned number;
    const struct mf_corr_level &w = mf_corr_own(t, &number);
    const struct mf_corr_slices &g = w.g;

    columns(w, g, number, false, [&](const struct pair &at, unsigned p, int first, int step) {
        const float2 *from = w.back + (size_t(at.s) * unsigned(w.nu) + at.u) * unsigned(w.bins);
        const float2 *next = int(at.u) + 1 < w.nu ? from + w.bins : nullptr;

        MF_UNROLL_FOUR
        for (int k = first; k < w.bins; k += step) {
            const float2 a = from[k], b = next ? next[k] : make_float2(0.0f, 0.0f);
            int plus, minus;

            couple(w, p, k, &plus, &minus);
            if (plus != minus) z[minus] = make_float2(a.x + b.y, b.x - a.y);
            z[plus] = make_float2(a.x - b.y, a.y + b.x);
        }
    });
    mf_transform<true>(w.line, w.shift, w.pitch, z);
    columns(w, g, number, g.side_by_side(), [&](const struct pair &at, unsigned p, int first, int step) {
        const struct mf_corr_slices &coarse = (&w)[1].g; /* of the next level, which stands behind this one */
        const unsigned coarser = w.coarser && at.u / 2 < coarse.nu ? coarse.nv : 0;
        const float *row = coarser ? coarse.at(at.s, at.u / 2, 0) : nullptr;
        const struct neighbours x = neighbours_of(w, at);
        float *to = g.at(at.s, at.u, 0), *next = int(at.u) + 1 < w.nu ? to + g.su : nullptr;

        for (unsigned v = unsigned(first); v < unsigned(w.nv); v += unsigned(step)) {
            float2 own = z[int(p) * w.pitch + mf_line_pad(int(v))];
            const float part = v / 2 < coarser ? 0.25f * row[size_t(v / 2) * coarse.sv] : 0.0f;

            if (w.beside.is) own = mf_plus(own, x(v));
            float *one = to + size_t(v) * g.sv, *two = next + size_t(v) * g.sv;

            *one = (w.add ? *one : 0.0f) + own.x + part;
            if (next) *two = (w.add ? *two : 0.0f) + own.y + part;
        }
    });
}

/* -- products of rows -- */

/* A thread's slice, chunk, group of lags, and frequency. */
struct lane {
    unsigned s, chunk, group, k;
    bool is;
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

/* Lags in registers: DEPTH; rows of a step of a loop: so many that its code stays in the instruction cache. */
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

    if (!at.is) return;
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

/* What the middle of the pixels adds to sums of H X. */
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

    if (!at.is) return;
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

    if (!at.is) return;
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

/* Only levels with @p own() take part. */
template <class Own> void run_forward(struct mf_queue *q, struct mf_corr_table *t, int second, int late, const Own &own)
{
    const unsigned blocks = mf_corr_number(
        t, [&](const struct mf_corr_level &w) { return own(w) ? blocks_of(w, source_of(w, second)) : 0; });

    if (blocks) MF_RUN(forward, blocks, THREADS, mf_corr_most(*t, &mf_corr_level::shared), q, *t, second, late);
}

unsigned chunks_of(const struct mf_corr_level &w) { return lanes_of(w) * unsigned(w.chunks); }

template <int DEPTH, bool PAIRS, class Own>
void run_correlate(struct mf_queue *q, struct mf_corr_table *t, const Own &own)
{
    const unsigned blocks = mf_corr_number(
        t, [&](const struct mf_corr_level &w) { return own(w) ? chunks_of(w) * unsigned(w.depth / DEPTH) : 0; });

    if (blocks) MF_RUN((correlate<DEPTH, PAIRS>), blocks, LANES, 0, q, *t);
}

bool all(const struct mf_corr_level &) { return true; }

/* Cross-correlations: x is the earlier field, then y. */
template <int DEPTH> void run_pairs(struct mf_queue *q, struct mf_corr_table *t)
{
    for (int swap = 0; swap < 2; ++swap) {
        for (int i = 0; i < t->count; ++i) {
            struct mf_corr_level *w = &t->level[i];

            w->early = swap ? w->back : w->spectrum;
            w->late = swap ? w->spectrum : w->back;
        }
        run_forward(q, t, 0, swap, all);
        run_forward(q, t, 1, !swap, all);
        run_correlate<DEPTH, true>(q, t, all);
        mf_corr_windows(q, t, swap);
    }
}

template <int DEPTH> void run_adjoint(struct mf_queue *q, struct mf_corr_table *t, int groups)
{
    const unsigned blocks = mf_corr_number(t, chunks_of);

    if (groups > 1)
        MF_RUN(adjoint_groups<MF_CORR_DEPTH>, blocks, LANES, 0, q, *t);
    else
        MF_RUN(adjoint<DEPTH>, blocks, LANES, 0, q, *t);
}

/* Gradients of the levels that @p own() names. */
template <class Own> void inverse_of(struct mf_queue *q, struct mf_corr_table *t, const Own &own)
{
    const unsigned blocks =
        mf_corr_number(t, [&](const struct mf_corr_level &w) { return own(w) ? blocks_of(w, w.g) : 0; });

    if (blocks) MF_RUN(inverse, blocks, THREADS, mf_corr_most(*t, &mf_corr_level::shared), q, *t);
}

/* From the coarsest levels to the finest ones; of these, those together that have no memory in common. */
void run_inverse(struct mf_queue *q, struct mf_corr_table *t)
{
    int coarser = 0, last = 0;

    for (int i = 0; i < t->count; ++i) {
        coarser = t->level[i].coarser > coarser ? t->level[i].coarser : coarser;
        last = t->level[i].order > last ? t->level[i].order : last;
    }
    for (int c = 0; c < coarser; ++c)
        inverse_of(q, t, [&](const struct mf_corr_level &w) { return !w.finest && w.coarser == c; });
    for (int order = 0; order <= last; ++order)
        inverse_of(q, t, [&](const struct mf_corr_level &w) { return w.finest && w.order == order; });
}

template <int DEPTH> void run(struct mf_queue *q, struct mf_corr_table *t, int groups)
{
    const auto plain = [&](const struct mf_corr_level &w) { return groups == 1 && w.early == w.late; };

    if (t->level[0].y.base) {
        run_pairs<DEPTH>(q, t);
        return;
    }
    run_forward(q, t, 0, 1, all);
    run_forward(q, t, 1, 0, mf_corr_continued);
    run_correlate<DEPTH, false>(q, t, plain);
    run_correlate<DEPTH, true>(q, t, [&](const struct mf_corr_level &w) { return !plain(w); });
    mf_corr_windows(q, t, 0);
    if (!t->level[0].g.base) return;
    run_adjoint<DEPTH>(q, t, groups);
    run_inverse(q, t);
}

/* The frequency at position i: its digits, the first radix lowest. */
int frequency(const struct mf_line *line, int i)
{
    int sub = line->n, weight = 1, f = 0;

    for (int s = 0; s < line->stages; ++s) {
        sub /= line->radix[s];
        f += i / sub * weight;
        i %= sub;
        weight *= line->radix[s];
    }
    return f;
}

} // namespace

int mf_corr_lines_open(struct mf_queue *q, const struct mf_corr_area *area, struct mf_line *line, void **tables)
{
    const double turn = 2.0 * 3.14159265358979323846;
    const int limit = int(mf_cuda_of(q)->shared), n = area->mv;
    float2 *twiddle = static_cast<float2 *>(malloc(area->tables));
    int *place = reinterpret_cast<int *>(twiddle + n);

    if (!twiddle) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    line->n = n;
    (void)mf_line_radices(n, line->radix, &line->stages);
    for (int i = 0; i < n; ++i) {
        twiddle[i] = make_float2(float(cos(turn * i / n)), float(-sin(turn * i / n)));
        place[frequency(line, i)] = i;
    }
    *tables = mf_arena_take(q->arena, area->tables, "S2 work");
    if (*tables) mf_backend_cuda.put(q, *tables, twiddle, area->tables);
    free(twiddle);
    if (!*tables) return MF_MEMORY;
    line->twiddle = static_cast<const float2 *>(*tables);
    line->place = reinterpret_cast<const int *>(line->twiddle + n);
    MF_CUDA(cudaFuncSetAttribute(forward, cudaFuncAttributeMaxDynamicSharedMemorySize, limit));
    MF_CUDA(cudaFuncSetAttribute(inverse, cudaFuncAttributeMaxDynamicSharedMemorySize, limit));
    mf_corr_windows_open(q);
    return MF_OK;
}

void mf_corr_run(struct mf_queue *q, struct mf_corr_table *t, int depth, int groups)
{
    switch (depth) {
    case 8: run<8>(q, t, groups); break;
    case 16: run<16>(q, t, groups); break;
    default: run<MF_CORR_DEPTH>(q, t, groups); break;
    }
}
