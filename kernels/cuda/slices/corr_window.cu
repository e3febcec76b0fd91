/* Windows of S2. A block does some rows du of the window of a slice. It adds C of the chunks, transforms the sum for
 * |dv| < L alone, and compares. Then it transforms the slopes to H. It holds a part of the frequencies at a time. */
#include "kernels/cuda/slices/lines.cuh"
#include "kernels/form/lag.h"

namespace
{

constexpr int THREADS = MF_CORR_THREADS, TILE = MF_CORR_TILE, ROWS = MF_CORR_ROWS, PART = MF_CORR_PART;

/* The rows of a block, and its shared memory: window_of() of kernels/slices/areas.c. */
struct window {
    unsigned s;     /* slice */
    int du, rows;   /* du .. du + rows - 1 */
    int groups;     /* of TILE rows */
    int parts;      /* frequencies are summed in so many parts */
    double *shared; /* [THREADS] */
    float2 *c;      /* [ROWS][PART | 1] */
    float2 *sum; /* [parts][groups][TILE][lag]: A = sum of Re C cos, B = - sum of Im C sin; then [ROWS][lag]: slopes at
                    dv and -dv, their sum and difference */
    const float2 *twiddle; /* [n] exp(-2 pi i k / n): here, or that of the plan */
    int pad;

    __device__ float2 twiddle_at(int i) const { return twiddle[i + (i >> pad)]; }
};

__device__ struct window window_of(const struct mf_corr_level &w, unsigned block, double *shared)
{
    struct window m;

    m.s = block % unsigned(w.x.count);
    m.du = int(block / unsigned(w.x.count)) * ROWS;
    m.rows = w.lag - m.du < ROWS ? w.lag - m.du : ROWS;
    m.groups = (m.rows + TILE - 1) / TILE;
    m.parts = THREADS / (w.lag * m.groups);
    if (m.parts == 0) m.parts = 1;
    m.shared = shared;
    m.c = reinterpret_cast<float2 *>(shared + THREADS);
    m.sum = m.c + ROWS * (PART | 1);
    m.twiddle = w.line.twiddle;
    m.pad = 31;
    return m;
}

/* Short tables of twiddles are read from shared memory. */
__device__ void hold_twiddles(const struct mf_corr_level &w, struct window *m)
{
    float2 *own = m->sum + (TILE * THREADS > ROWS * w.lag ? TILE * THREADS : ROWS * w.lag);

    if (w.line.n > MF_CORR_TWIDDLES) return;
    for (int i = int(threadIdx.x); i < w.line.n; i += THREADS) own[mf_line_pad(i)] = w.line.twiddle[i];
    m->twiddle = own;
    m->pad = 4; /* mf_line_pad() */
}

/* Row 0 of this block in the sums of a slice. */
__device__ float2 *sums_of(const struct mf_corr_level &w, const struct window &m)
{
    return w.sums + (size_t(m.s) * unsigned(w.chunks) * unsigned(w.depth) + unsigned(m.du)) * unsigned(w.bins);
}

/* C of all chunks for frequencies k .. end - 1, times 2 for those that are not stored. */
__device__ void gather(const struct mf_corr_level &w, const struct window &m, int first, int end)
{
    const float2 *from = sums_of(w, m);
    const int bins = end - first;

    __syncthreads();
    for (int i = int(threadIdx.x); i < m.rows * bins; i += THREADS) {
        const int k = first + i % bins, at = i / bins * w.bins + k;
        const float times = k == 0 || 2 * k == w.line.n ? 1.0f : 2.0f;
        float2 sum = from[at];

        for (int chunk = 1; chunk < w.chunks; ++chunk) sum = mf_plus(sum, from[chunk * w.depth * w.bins + at]);
        m.c[i / bins * (PART | 1) + i % bins] = mf_scaled(times, sum);
    }
    __syncthreads();
}

/* Adds frequencies first .. end - 1 of the part `part` of those in shared memory. */
__device__ void add_back(const struct mf_corr_level &w, const struct window &m, int first, int end, int dv, int group,
                         int part, float2 *sum)
{
    const int bins = end - first, to = (part + 1) * bins / m.parts;
    int k = part * bins / m.parts, at = int((first + k) * (long long)dv % w.line.n);

    for (; k < to; ++k) {
        const float2 twiddle = m.twiddle_at(at);

        MF_UNROLL
        for (int i = 0; i < TILE; ++i) {
            const int row = group * TILE + i < m.rows ? group * TILE + i : m.rows - 1;
            const float2 c = m.c[row * (PART | 1) + k];

            sum[i].x = fmaf(c.x, twiddle.x, sum[i].x);
            sum[i].y = fmaf(c.y, twiddle.y, sum[i].y);
        }
        at += dv;
        if (at >= w.line.n) at -= w.line.n;
    }
}

/* A thread has one dv, TILE du and a part of the frequencies; then the next ones. */
__device__ void transform_back(const struct mf_corr_level &w, const struct window &m)
{
    const int items = m.parts * m.groups * w.lag;

    for (int at = 0; at < items; at += THREADS) {
        const int item = at + int(threadIdx.x), dv = item % w.lag, group = item / w.lag % m.groups;
        const int part = item / (w.lag * m.groups);
        float2 sum[TILE] = {};

        for (int first = 0; first < w.bins; first += PART) {
            const int end = w.bins - first < PART ? w.bins : first + PART;

            gather(w, m, first, end);
            if (item < items) add_back(w, m, first, end, dv, group, part, sum);
        }
        MF_UNROLL
        for (int i = 0; i < TILE; ++i)
            if (item < items) m.sum[((part * m.groups + group) * TILE + i) * w.lag + dv] = sum[i];
    }
    __syncthreads();
}

/* Part of D that is due to the middle. */
__device__ double offset_of(const struct mf_corr_level &w, const struct window &m)
{
    const double middle = double(mf_corr_middle(w)), pixels = double(w.nu) * double(w.nv);
    const float2 *from = w.early + size_t(m.s) * unsigned(w.nu * w.bins);
    double sum = 0.0;

    if (middle == 0.0) return 0.0;
    for (int u = int(threadIdx.x); u < w.nu; u += THREADS) sum += double(from[u * w.bins].x);
    return middle * (2.0 * mf_block_sum(sum, m.shared) / pixels + middle);
}

/* Compares entry i of slice s, whose value is @p d. Writes it, counts it, adds to the loss, returns dA/dD. */
__device__ double compare(const struct mf_corr_comparison &with, unsigned s, size_t i, double d, double *loss)
{
    if (with.values) with.values[s * with.stride + i] = float(d);
    if (with.tally) mf_tally_add(with.tally + i, d);
    if (!with.target) return 0.0;
    const double e = with.weight * (d - double(with.target[i]));

    *loss += mf_compare_loss(with.power, e);
    return with.weight * mf_compare_slope(with.power, e);
}

/* The same of entry (du, dv). */
__device__ double compare(const struct mf_corr_level &w, unsigned s, int du, int dv, double d, double *loss)
{
    return compare(w.comparison, s, size_t(du + w.lag - 1) * size_t(2 * w.lag - 1) + size_t(dv + w.lag - 1), d, loss);
}

/* A thread reads it once: it is in the memory of the host. */
__device__ double scale_of(const struct mf_corr_comparison &c, unsigned s) { return c.scale ? c.scale[s] : 1.0; }

/* Variation of slice s. */
__device__ void compare_jumps(const struct mf_corr_level &w, unsigned s, double *shared)
{
    const struct mf_corr_variation &b = w.variation;
    const long long *from = b.sums + size_t(s) * mf_corr_pairs(w) * 2;
    double u = 0.0, v = 0.0, loss = 0.0;

    for (unsigned i = threadIdx.x; i < mf_corr_pairs(w); i += THREADS) {
        u += double(from[2 * i]);
        v += double(from[2 * i + 1]);
    }
    u = mf_block_sum(u, shared);
    v = mf_block_sum(v, shared);
    if (threadIdx.x) return;
    const double d = (b.jumps.cu * u + b.jumps.cv * v) / double(MF_CORR_GRAIN);

    b.slopes[s] = mf_jumps_by(b.jumps, scale_of(b.comparison, s) * compare(b.comparison, s, 0, d, &loss));
    b.comparison.loss[s] = loss;
}

/* Row and column of an entry: what a sum is multiplied by, and the sum. */
__device__ double sum_of(const struct mf_corr_level &w, const struct window &m, int row, int dv, float2 *sum)
{
    *sum = make_float2(0.0f, 0.0f);
    for (int part = 0; part < m.parts; ++part) *sum = mf_plus(*sum, m.sum[(part * m.groups * TILE + row) * w.lag + dv]);
    return mf_lag_norm(w.periodic, size_t(w.nu), size_t(w.nv), size_t(m.du + row), size_t(dv)) / double(w.line.n);
}

/* Entries (du, dv), (du, -dv) and their opposites; adds to the loss, and leaves what goes back. */
__device__ void entry(const struct mf_corr_level &w, const struct window &m, int row, int dv, double offset,
                      double scale, double *loss)
{
    const int du = m.du + row;
    float2 sum;
    const double each = sum_of(w, m, row, dv, &sum);
    double plus = compare(w, m.s, du, dv, offset + each * double(sum.x + sum.y), loss), minus;

    plus += du || dv ? compare(w, m.s, -du, -dv, offset + each * double(sum.x + sum.y), loss) : plus;
    minus = plus;
    if (du && dv) {
        minus = compare(w, m.s, du, -dv, offset + each * double(sum.x - sum.y), loss);
        minus += compare(w, m.s, -du, dv, offset + each * double(sum.x - sum.y), loss);
    }
    m.sum[row * w.lag + dv] =
        dv ? make_float2(float(scale * each * (plus + minus)), float(scale * each * (minus - plus)))
           : make_float2(float(scale * each * plus), 0.0f);
}

/* The same of pairs, values only. */
__device__ void entry_of_pair(const struct mf_corr_level &w, const struct window &m, int row, int dv, int swap)
{
    const int du = m.du + row;
    float2 sum;
    const double each = sum_of(w, m, row, dv, &sum);
    double loss = 0.0;

    (void)compare(w, m.s, swap ? -du : du, swap ? -dv : dv, each * double(sum.x + sum.y), &loss);
    (void)compare(w, m.s, swap ? -du : du, swap ? dv : -dv, each * double(sum.x - sum.y), &loss);
}

/* H from the slopes: a thread has a frequency and TILE du. */
__device__ void leave(const struct mf_corr_level &w, const struct window &m)
{
    float2 *to = sums_of(w, m);

    for (int i = int(threadIdx.x); i < m.groups * w.bins; i += THREADS) {
        const int k = i % w.bins, first = i / w.bins * TILE;
        float2 sum[TILE] = {};
        int at = 0;

        for (int dv = 0; dv < w.lag; ++dv) {
            const float2 twiddle = m.twiddle_at(at);

            MF_UNROLL
            for (int u = 0; u < TILE; ++u) {
                const float2 edge = m.sum[(first + u < m.rows ? first + u : m.rows - 1) * w.lag + dv];

                sum[u].x = fmaf(edge.x, twiddle.x, sum[u].x);
                sum[u].y = fmaf(edge.y, twiddle.y, sum[u].y);
            }
            at += k;
            if (at >= w.line.n) at -= w.line.n;
        }
        MF_UNROLL
        for (int u = 0; u < TILE; ++u)
            if (first + u < m.rows) to[(first + u) * w.bins + k] = sum[u];
    }
}

/* Block (slice, rows of the window), from C to the loss and H. */
__global__ void __launch_bounds__(THREADS) windows(const __grid_constant__ struct mf_corr_table t, int swap)
{
    MF_SHARED(double, shared);
    unsigned number;
    const struct mf_corr_level &w = mf_corr_own(t, &number);
    struct window m = window_of(w, number, shared);
    const double scale = scale_of(w.comparison, m.s);
    double loss = 0.0;

    hold_twiddles(w, &m);
    transform_back(w, m);
    const double offset = offset_of(w, m);

    for (int i = int(threadIdx.x); i < m.rows * w.lag; i += THREADS) {
        if (w.y.base)
            entry_of_pair(w, m, i / w.lag, i % w.lag, swap);
        else
            entry(w, m, i / w.lag, i % w.lag, offset, scale, &loss);
    }
    if (!w.comparison.target) return;
    loss = mf_block_sum(loss, shared);
    if (threadIdx.x == 0) w.comparison.loss[size_t(m.du / ROWS) * w.slots + m.s] = loss;
    if (w.variation.wanted && m.du == 0) compare_jumps(w, m.s, shared);
    if (w.g.base) leave(w, m);
}

} // namespace

void mf_corr_windows_open(struct mf_queue *q)
{
    MF_CUDA(cudaFuncSetAttribute(windows, cudaFuncAttributeMaxDynamicSharedMemorySize, int(mf_cuda_of(q)->shared)));
}

void mf_corr_windows(struct mf_queue *q, struct mf_corr_table *t, int swap)
{
    const unsigned blocks = mf_corr_number(
        t, [](const struct mf_corr_level &w) { return unsigned(w.x.count) * unsigned(w.comparison.blocks); });

    MF_RUN(windows, blocks, THREADS, mf_corr_most(*t, &mf_corr_level::window), q, *t, swap);
}
