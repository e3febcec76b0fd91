/* Engine `lines` of S2: transforms along v, products of rows along u in registers. Nothing is transposed, slices of any
 * layout are read where they are, and u may have any extent.
 *
 *   C_d(k) = sum over u of conj(X_u(k)) X_{u+d}(k),  0 <= d < L          (X_u: transform of row u)
 *   D(d, .) = inverse transform of C_d,  D(-d, -v) = D(d, v)
 *   gradient of row u = inverse transform of the sum over |d| < L of H_d X_{u+d},  H_-d = conj(H_d)
 *
 * Rule: the arithmetic of a slice depends on its extents alone. */
#include <math.h>
#include <stdlib.h>

#include "kernels/cuda/slices/corr_lines.cuh"

namespace
{

constexpr int THREADS = 256, WARPS = THREADS / MF_CUDA_WARP, LANES = 128;

__host__ __device__ unsigned pairs_of(const struct mf_lines_level &w) { return unsigned(w.j.nu + 1) / 2; }

/* -- transforms -- */

/* Row u of slice s, and the next one. */
struct pair {
    unsigned s, u;
};

/* Where slices are side by side, a block has a pair of each of 2^shift slices; else 2^shift pairs one after the other.
 */
__host__ __device__ unsigned groups_of(const struct mf_lines_level &w, const struct mf_view &x)
{
    return (unsigned(x.count) + (1u << w.shift) - 1) >> w.shift;
}

unsigned blocks_of(const struct mf_lines_level &w, const struct mf_view &x)
{
    if (mf_side_by_side(&x)) return pairs_of(w) * groups_of(w, x);
    return (pairs_of(w) * unsigned(x.count) + (1u << w.shift) - 1) >> w.shift;
}

/* Pair p of a block. Its slice may be beyond the last one. */
__device__ struct pair pair_of(const struct mf_lines_level &w, const struct mf_view &x, unsigned block, unsigned p)
{
    if (mf_side_by_side(&x)) {
        const unsigned groups = groups_of(w, x);

        return {(block % groups << w.shift) + p, 2 * (block / groups)};
    }
    const unsigned q = (block << w.shift) + p;

    return {q / pairs_of(w), 2 * (q % pairs_of(w))};
}

/* Calls body(pair, its number p, i) for all pairs and i < n; neighbouring threads have neighbouring i. */
template <class Body>
__device__ void along(const struct mf_lines_level &w, const struct mf_view &x, unsigned block, int n, const Body &body)
{
    for (unsigned p = threadIdx.x / MF_CUDA_WARP; p < 1u << w.shift; p += WARPS) {
        const struct pair at = pair_of(w, x, block, p);

        if (at.s < x.count)
            for (int i = int(threadIdx.x % MF_CUDA_WARP); i < n; i += MF_CUDA_WARP) body(at, p, i);
    }
    __syncthreads();
}

/* The same; neighbouring threads have neighbouring slices where those are side by side. */
template <class Body>
__device__ void pixels(const struct mf_lines_level &w, const struct mf_view &x, unsigned block, int n, const Body &body)
{
    if (!mf_side_by_side(&x)) {
        along(w, x, block, n, body);
        return;
    }
    const struct pair first = pair_of(w, x, block, 0);

    for (unsigned i = threadIdx.x; i < unsigned(n) << w.shift; i += THREADS) {
        const unsigned p = i & ((1u << w.shift) - 1);

        if (first.s + p < x.count) body(pair{first.s + p, first.u}, p, int(i >> w.shift));
    }
    __syncthreads();
}

/* The pixel at place v of a line; -1: there is none. */
__device__ int pixel_of(const struct mf_lines_level &w, bool continued, int v)
{
    const int beside = continued ? w.j.lag - 1 : 0;

    if (v < w.j.nv) return v;
    if (v < w.j.nv + beside) return v - w.j.nv;
    return v < w.line.n - beside ? -1 : v - w.line.n + w.j.nv;
}

__device__ void load(const struct mf_lines_level &w, const struct mf_view &x, unsigned block, bool continued, float2 *z)
{
    const float middle = mf_lines_middle(w.j);

    pixels(w, x, block, w.line.n, [&](const struct pair &at, unsigned p, int v) {
        const int from = pixel_of(w, continued, v);
        float2 to = make_float2(0.0f, 0.0f);

        if (from >= 0) {
            const float *a = x.base + mf_at(x, at.s, at.u, size_t(from));

            to.x = *a - middle;
            if (int(at.u) + 1 < w.j.nu) to.y = a[x.su] - middle;
        }
        z[int(p) * w.pitch + mf_line_pad(v)] = to;
    });
}

/* Where frequencies k and -k of pair p are. */
__device__ void couple(const struct mf_lines_level &w, unsigned p, int k, int *plus, int *minus)
{
    *plus = int(p) * w.pitch + mf_line_pad(__ldg(w.line.place + k));
    *minus = int(p) * w.pitch + mf_line_pad(__ldg(w.line.place + (k ? w.line.n - k : 0)));
}

/* What is transformed to `spectrum`, or to `back`. */
__host__ __device__ const struct mf_view &source_of(const struct mf_lines_level &w, int second)
{
    return second && w.j.y.base ? w.j.y : w.j.x;
}

/* X of the rows of x, or of y; @p late: rows are the later ones in products. */
__global__ void __launch_bounds__(THREADS, 5)
    forward(const __grid_constant__ struct mf_lines_table t, int second, int late)
{
    MF_SHARED(float2, z);
    unsigned number;
    const struct mf_lines_level &w = mf_lines_own(t, &number);
    const struct mf_view &x = source_of(w, second);
    float2 *spectrum = second ? w.back : w.spectrum;

    load(w, x, number, late && mf_lines_continued(w), z);
    mf_transform<false>(w.line, w.shift, w.pitch, z);
    along(w, x, number, w.bins, [&](const struct pair &at, unsigned p, int k) {
        float2 *to = spectrum + (size_t(at.s) * unsigned(w.j.nu) + at.u) * unsigned(w.bins) + k;
        int plus, minus;

        couple(w, p, k, &plus, &minus);
        const float2 a = z[plus], b = z[minus];

        to[0] = make_float2(0.5f * (a.x + b.x), 0.5f * (a.y - b.y));
        if (int(at.u) + 1 < w.j.nu) to[w.bins] = make_float2(0.5f * (a.y + b.y), 0.5f * (b.x - a.x));
    });
}

/* The gradient from its transform. */
__global__ void __launch_bounds__(THREADS, 5) inverse(const __grid_constant__ struct mf_lines_table t)
{
    MF_SHARED(float2, z);
    unsigned number;
    const struct mf_lines_level &w = mf_lines_own(t, &number);
    const struct mf_view &g = w.j.g;

    along(w, g, number, w.bins, [&](const struct pair &at, unsigned p, int k) {
        const float2 *from = w.back + (size_t(at.s) * unsigned(w.j.nu) + at.u) * unsigned(w.bins) + k;
        const float2 a = from[0], b = int(at.u) + 1 < w.j.nu ? from[w.bins] : make_float2(0.0f, 0.0f);
        int plus, minus;

        couple(w, p, k, &plus, &minus);
        if (plus != minus) z[minus] = make_float2(a.x + b.y, b.x - a.y);
        z[plus] = make_float2(a.x - b.y, a.y + b.x);
    });
    mf_transform<true>(w.line, w.shift, w.pitch, z);
    pixels(w, g, number, w.j.nv, [&](const struct pair &at, unsigned p, int v) {
        const float2 own = z[int(p) * w.pitch + mf_line_pad(v)];

        mf_corr_store(w.j, at.s, at.u, size_t(v), own.x);
        if (int(at.u) + 1 < w.j.nu) mf_corr_store(w.j, at.s, at.u + 1, size_t(v), own.y);
    });
}

/* -- products of rows -- */

/* A thread's slice, chunk and frequency. */
struct lane {
    unsigned s, chunk, k;
    bool is;
};

unsigned lanes_of(const struct mf_lines_level &w)
{
    return (unsigned(w.j.x.count) * unsigned(w.bins) + LANES - 1) / LANES;
}

__device__ struct lane lane_of(const struct mf_lines_level &w, unsigned block)
{
    const unsigned all = unsigned(w.j.x.count) * unsigned(w.bins), each = (all + LANES - 1) / LANES;
    const unsigned q = block % each * LANES + threadIdx.x;

    return {q / unsigned(w.bins), block / each, q % unsigned(w.bins), q < all};
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

__device__ struct rows rows_of(const struct mf_lines_level &w, const float2 *spectrum, const struct lane &at)
{
    return {spectrum + size_t(at.s) * unsigned(w.j.nu) * unsigned(w.bins) + at.k, w.j.nu, w.bins, w.j.periodic};
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

/* C of a chunk, a thread for every slice and frequency. The last rows stay in registers; those outside of the chunk
 * count as 0. PAIRS: the earlier row is x's, the later y's, or reversed with @p swap. */
template <int DEPTH, bool PAIRS>
__global__ void __launch_bounds__(LANES, DEPTH > 16 ? 2
                                         : PAIRS    ? 3
                                                    : 4)
    correlate(const __grid_constant__ struct mf_lines_table t, int swap)
{
    constexpr int N = STEP<DEPTH>;
    unsigned block;
    const struct mf_lines_level &w = mf_lines_own(t, &block);
    const struct lane at = lane_of(w, block);
    const struct rows early = rows_of(w, swap ? w.back : w.spectrum, at);
    const struct rows late = PAIRS ? rows_of(w, swap ? w.spectrum : w.back, at) : early;
    const int first = int(at.chunk) * w.chunk, to = first + w.chunk < w.j.nu ? first + w.chunk : w.j.nu;
    const int end = to + w.j.lag - 1;
    float2 kept[DEPTH - 1 + N] = {}, next[N], sum[DEPTH] = {};

    if (!at.is) return;
    read<N>(late, first, next);
    MF_NO_UNROLL
    for (int u = first; u < end; u += N) {
        float2 now[N], *own = kept + DEPTH - 1;

        MF_UNROLL
        for (int i = 0; i < N; ++i) now[i] = own[i] = next[i];
        read<N>(late, u + N, next);
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
    float2 *out = w.sums + (size_t(at.s) * unsigned(w.chunks) + at.chunk) * unsigned(DEPTH * w.bins) + at.k;

    MF_UNROLL
    for (int d = 0; d < DEPTH; ++d) out[size_t(d) * unsigned(w.bins)] = sum[d];
}

/* Sums of H X for a chunk of rows, threads as above. */
template <int DEPTH>
__global__ void __launch_bounds__(LANES, DEPTH > 16 ? 2 : 4) adjoint(const __grid_constant__ struct mf_lines_table t)
{
    constexpr int N = OUT<DEPTH>, SIDE = DEPTH - 1;
    unsigned block;
    const struct mf_lines_level &w = mf_lines_own(t, &block);
    const struct lane at = lane_of(w, block);
    const struct rows x = rows_of(w, w.spectrum, at);
    const float2 *own = w.sums + size_t(at.s) * unsigned(w.chunks) * unsigned(DEPTH * w.bins) + at.k;
    const int first = int(at.chunk) * w.chunk, to = first + w.chunk < w.j.nu ? first + w.chunk : w.j.nu;
    float2 *out = w.back + (x.first - w.spectrum), h[DEPTH], kept[2 * SIDE + N];
    float middle = 0.0f;

    if (!at.is) return;
    MF_UNROLL
    for (int d = 0; d < DEPTH; ++d) {
        h[d] = d < w.j.lag ? own[size_t(d) * unsigned(w.bins)] : make_float2(0.0f, 0.0f);
        middle += d ? 2.0f * h[d].x : h[d].x;
    }
    middle *= at.k ? 0.0f : mf_lines_middle(w.j) * float(w.line.n);
    read<2 * SIDE>(x, first - SIDE, kept);
    MF_NO_UNROLL
    for (int u = first; u < to; u += N) {
        float2 sum[N];

        read<N>(x, u + SIDE, kept + 2 * SIDE);
        MF_UNROLL
        for (int i = 0; i < N; ++i) sum[i] = make_float2(middle, 0.0f);
        MF_UNROLL
        for (int d = -SIDE; d <= SIDE; ++d) {
            const float2 by = d < 0 ? make_float2(h[-d].x, -h[-d].y) : h[d];

            MF_UNROLL
            for (int i = 0; i < N; ++i) add_product(by, kept[SIDE + d + i], &sum[i]);
        }
        MF_UNROLL
        for (int i = 0; i < N; ++i)
            if (u + i < to) out[unsigned(u + i) * unsigned(w.bins)] = sum[i];
        MF_UNROLL
        for (int i = 0; i < 2 * SIDE; ++i) kept[i] = kept[i + N];
    }
}

/* -- launches -- */

struct mf_lines_level level_of(const struct mf_slice_plan *plan, size_t l, const struct mf_corr_job &job)
{
    const struct mf_corr_area *at = &plan->areas.level[l];
    const size_t numbers = plan->areas.slices * size_t(at->nu) * size_t(at->bins);
    struct mf_lines_level w = {};

    w.j = job;
    w.line = plan->level[l].line;
    w.shift = at->shift;
    w.bins = at->bins;
    w.pitch = mf_line_pitch(at->mv);
    w.chunk = at->chunk;
    w.chunks = at->chunks;
    w.spectrum = plan->lines + at->from;
    w.back = w.spectrum + numbers;
    w.sums = w.back + numbers;
    return w;
}

size_t most_shared(const struct mf_slice_plan *plan, size_t mf_corr_area::*bytes)
{
    size_t most = 0;

    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l)
        if (plan->areas.level[l].lines && plan->areas.level[l].*bytes > most) most = plan->areas.level[l].*bytes;
    return most;
}

unsigned products_of(const struct mf_lines_level &w) { return lanes_of(w) * unsigned(w.chunks); }

/* Only levels with @p own() take part. */
template <class Own>
void run_forward(struct mf_slice_plan *plan, struct mf_lines_table *t, int second, int late, const Own &own)
{
    const unsigned blocks = mf_lines_number(
        t, [&](const struct mf_lines_level &w) { return own(w) ? blocks_of(w, source_of(w, second)) : 0; });

    if (blocks)
        MF_RUN(forward, blocks, THREADS, most_shared(plan, &mf_corr_area::shared), plan->queue, *t, second, late);
}

template <int DEPTH, bool PAIRS, class Own>
void run_correlate(struct mf_slice_plan *plan, struct mf_lines_table *t, int swap, const Own &own)
{
    const unsigned blocks =
        mf_lines_number(t, [&](const struct mf_lines_level &w) { return own(w) ? products_of(w) : 0; });

    if (blocks) MF_RUN((correlate<DEPTH, PAIRS>), blocks, LANES, 0, plan->queue, *t, swap);
}

void run_windows(struct mf_slice_plan *plan, struct mf_lines_table *t, int depth, int swap)
{
    mf_lines_windows(plan->queue, t, most_shared(plan, &mf_corr_area::window), depth, swap);
}

/* Cross-correlations: x is the earlier field, then y. */
template <int DEPTH> void run_pairs(struct mf_slice_plan *plan, struct mf_lines_table *t)
{
    const auto all = [](const struct mf_lines_level &) { return true; };

    for (int swap = 0; swap < 2; ++swap) {
        run_forward(plan, t, 0, swap, all);
        run_forward(plan, t, 1, !swap, all);
        run_correlate<DEPTH, true>(plan, t, swap, all);
        run_windows(plan, t, DEPTH, swap);
    }
}

template <int DEPTH> void run_table(struct mf_slice_plan *plan, struct mf_lines_table *t)
{
    const auto plain = [](const struct mf_lines_level &w) { return !mf_lines_continued(w); };

    if (t->level[0].j.y.base) {
        run_pairs<DEPTH>(plan, t);
        return;
    }
    run_forward(plan, t, 0, 1, [](const struct mf_lines_level &) { return true; });
    run_forward(plan, t, 1, 0, mf_lines_continued);
    run_correlate<DEPTH, false>(plan, t, 0, plain);
    run_correlate<DEPTH, true>(plan, t, 1, mf_lines_continued);
    run_windows(plan, t, DEPTH, 0);
    if (!t->level[0].j.g.base || !t->level[0].j.target) return;
    const unsigned blocks = mf_lines_number(t, products_of);

    MF_RUN(adjoint<DEPTH>, blocks, LANES, 0, plan->queue, *t);
}

void run_all(struct mf_slice_plan *plan, struct mf_lines_table *t)
{
    if (t->count == 0) return;
    switch (plan->areas.depth) {
    case 8: run_table<8>(plan, t); break;
    case 16: run_table<16>(plan, t); break;
    default: run_table<32>(plan, t); break;
    }
    t->count = 0;
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

int mf_corr_lines_open(struct mf_queue *q, const struct mf_corr_area *area, struct mf_corr_level *level)
{
    const double turn = 2.0 * 3.14159265358979323846;
    const int limit = int(mf_cuda_of(q)->limits.shared), n = area->mv;
    float2 *twiddle = static_cast<float2 *>(malloc(area->tables));
    int *place = reinterpret_cast<int *>(twiddle + n);

    if (!twiddle) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    level->line.n = n;
    (void)mf_line_radices(n, level->line.radix, &level->line.stages);
    for (int i = 0; i < n; ++i) {
        twiddle[i] = make_float2(float(cos(turn * i / n)), float(-sin(turn * i / n)));
        place[frequency(&level->line, i)] = i;
    }
    level->tables = mf_arena_take(q->arena, area->tables, "S2 work");
    if (level->tables) mf_backend_cuda.put(q, level->tables, twiddle, area->tables);
    free(twiddle);
    if (!level->tables) return MF_MEMORY;
    level->line.twiddle = static_cast<const float2 *>(level->tables);
    level->line.place = reinterpret_cast<const int *>(level->line.twiddle + n);
    MF_CUDA(cudaFuncSetAttribute(forward, cudaFuncAttributeMaxDynamicSharedMemorySize, limit));
    MF_CUDA(cudaFuncSetAttribute(inverse, cudaFuncAttributeMaxDynamicSharedMemorySize, limit));
    mf_lines_windows_open(q);
    return MF_OK;
}

void mf_corr_lines_close(struct mf_queue *q, struct mf_corr_level *level) { mf_arena_give(q->arena, level->tables); }

void mf_corr_lines_compare(struct mf_slice_plan *plan, const struct mf_corr_job *job)
{
    struct mf_lines_table t = {};

    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l) {
        if (!plan->areas.level[l].lines) continue;
        t.level[t.count++] = level_of(plan, l, job[l]);
        if (t.count == MF_LINES_TABLE) run_all(plan, &t);
    }
    run_all(plan, &t);
}

void mf_corr_lines_gradient(struct mf_slice_plan *plan, size_t l, const struct mf_corr_job &job)
{
    struct mf_lines_table t = {};

    t.level[0] = level_of(plan, l, job);
    t.count = 1;
    const unsigned blocks = mf_lines_number(&t, [](const struct mf_lines_level &w) { return blocks_of(w, w.j.g); });

    MF_RUN(inverse, blocks, THREADS, plan->areas.level[l].shared, plan->queue, t);
}
