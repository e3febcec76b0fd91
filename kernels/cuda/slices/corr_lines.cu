/* S2 by lines: transforms along v, products of rows along u (corr_rows.cu). Nothing is transposed, slices of any
 * layout are read where they are, and u may have any extent.
 *
 *   C_d(k) = sum over u of conj(X_u(k)) X_{u+d}(k),  0 <= d < L          (X_u: transform of row u)
 *   D(d, .) = inverse transform of C_d,  D(-d, -v) = D(d, v)
 *   gradient of row u = inverse transform of the sum over |d| < L of H_d X_{u+d},  H_-d = conj(H_d) */
#include <math.h>
#include <stdlib.h>

#include "kernels/cuda/slices/lines.cuh"

namespace
{

constexpr int THREADS = MF_CORR_THREADS, WARPS = THREADS / MF_CUDA_WARP;
constexpr int AHEAD = 4; /* pixels of a thread that are on their way at once */

/* -- transforms -- */

/* Row u of slice s, and the next one. */
struct pair {
    unsigned s, u;
};

/* Where slices are side by side, a block has a pair of each of 2^shift slices. Else it has 2^shift pairs one after the
 * other.
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

/* Calls body(pair, its number p, v, step) for pairs with columns of this thread: v, v + step and so on. Neighbouring
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
    const int ends = continued ? w.lag - 1 : 0;

    if (v < w.nv) return v;
    if (v < w.nv + ends) return v - w.nv;
    return v < w.line.n - ends || v >= w.line.n ? -1 : v - w.line.n + w.nv;
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

/* Slices that are transformed to `spectrum`, or to `back`. */
__host__ __device__ const struct mf_corr_slices &source_of(const struct mf_corr_level &w, int second)
{
    return second && w.y.base ? w.y : w.x;
}

/* Sums of the jumps out of every pair of rows z, behind which the block has room for them. */
__device__ void sum_jumps(const struct mf_corr_level &w, unsigned block, const float2 *z)
{
    const struct mf_jumps &jumps = w.variation.jumps;
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
            w.variation.sums[(size_t(at.s) * mf_corr_pairs(w) + at.u / 2) * 2 + i % 2] = (long long)sum[i];
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
    if (w.variation.wanted && !second) sum_jumps(w, number, z);
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

/* The rows of a pair and their neighbours, for the gradient of Variation. It has slopes of jumps in, less those of
 * jumps out.
 */
struct neighbours {
    const struct mf_jumps &j;
    const float *above, *row, *next, *below; /* next: row itself where the pair has no second one */
    size_t sv;
    float2 slopes;
    float times;

    __device__ float2 operator()(unsigned v) const
    {
        const size_t at = v * sv, before = j.before(v, j.nv) * sv, after = j.after(v, j.nv) * sv;
        const float x = row[at], y = next[at], under = below[at];
        const float between = j.slope((next == row ? under : y) - x), u = slopes.x * j.times(v);

        return make_float2(u * (j.slope(x - above[at]) - between) +
                               slopes.y * times * (j.slope(x - row[before]) - j.slope(row[after] - x)),
                           u * (between - j.slope(under - y)) +
                               slopes.y * (j.slope(y - next[before]) - j.slope(next[after] - y)));
    }
};

__device__ struct neighbours neighbours_of(const struct mf_corr_level &w, const struct pair &at)
{
    const struct mf_jumps &j = w.variation.jumps;
    const unsigned last = at.u + 1 < j.nu ? at.u + 1 : at.u;

    return {j,
            w.x.at(at.s, j.before(at.u, j.nu), 0),
            w.x.at(at.s, at.u, 0),
            w.x.at(at.s, last, 0),
            w.x.at(at.s, j.after(last, j.nu), 0),
            w.x.sv,
            w.variation.wanted ? w.variation.slopes[at.s] : make_float2(0.0f, 0.0f),
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

            if (w.variation.wanted) own = mf_plus(own, x(v));
            float *one = to + size_t(v) * g.sv, *two = next + size_t(v) * g.sv;

            *one = (w.add ? *one : 0.0f) + own.x + part;
            if (next) *two = (w.add ? *two : 0.0f) + own.y + part;
        }
    });
}

/* -- launches -- */

/* Only levels with @p own() take part. */
void run_forward(struct mf_queue *q, struct mf_corr_table *t, int second, int late,
                 bool (*own)(const struct mf_corr_level &))
{
    const unsigned blocks = mf_corr_number(
        t, [&](const struct mf_corr_level &w) { return own(w) ? blocks_of(w, source_of(w, second)) : 0; });

    if (blocks) MF_RUN(forward, blocks, THREADS, mf_corr_most(*t, &mf_corr_level::shared), q, *t, second, late);
}

bool all(const struct mf_corr_level &) { return true; }

/* Cross-correlations: x is the earlier field, then y. */
void run_pairs(struct mf_queue *q, struct mf_corr_table *t, int depth, int groups)
{
    for (int swap = 0; swap < 2; ++swap) {
        for (int i = 0; i < t->count; ++i) {
            struct mf_corr_level *w = &t->level[i];

            w->early = swap ? w->back : w->spectrum;
            w->late = swap ? w->spectrum : w->back;
        }
        run_forward(q, t, 0, swap, all);
        run_forward(q, t, 1, !swap, all);
        mf_corr_correlate(q, t, depth, groups);
        mf_corr_windows(q, t, swap);
    }
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
    const double circle = 2.0 * 3.14159265358979323846;
    const int limit = int(mf_cuda_of(q)->shared), n = area->mv;
    float2 *twiddle = static_cast<float2 *>(malloc(area->tables));
    int *place = reinterpret_cast<int *>(twiddle + n);

    if (!twiddle) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    line->n = n;
    (void)mf_line_radices(n, line->radix, &line->stages);
    for (int i = 0; i < n; ++i) {
        twiddle[i] = make_float2(float(cos(circle * i / n)), float(-sin(circle * i / n)));
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
    if (t->level[0].y.base) {
        run_pairs(q, t, depth, groups);
        return;
    }
    run_forward(q, t, 0, 1, all);
    run_forward(q, t, 1, 0, mf_corr_continued);
    mf_corr_correlate(q, t, depth, groups);
    mf_corr_windows(q, t, 0);
    if (!t->level[0].g.base) return;
    mf_corr_adjoint(q, t, depth, groups);
    run_inverse(q, t);
}
