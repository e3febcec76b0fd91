/* Windows of engine `lines` of S2. One block does a slice: it adds C of the chunks, transforms it for |dv| < L alone,
 * compares, and transforms the slopes to H. */
#include "kernels/cuda/slices/corr_lines.cuh"

namespace
{

constexpr int THREADS = 256, TILE = 4; /* as in kernels/slices/areas.c */

/* The shared memory of windows(): window_of() of kernels/slices/areas.c. */
struct window {
    double *shared; /* [THREADS] */
    float2 *c;      /* [lag][bins | 1] */
    float2 *turn;   /* [n] exp(-2 pi i k / n) */
    float2 *part;   /* [parts][groups][TILE][lag]: A = sum of Re C cos, B = - sum of Im C sin */
    float2 *edge;   /* [lag][lag]: slopes at dv and -dv, their sum and difference */
    int groups, parts, pitch;
};

__device__ struct window window_of(const struct mf_lines_level &w, double *shared)
{
    struct window m;

    m.groups = (w.j.lag + TILE - 1) / TILE;
    m.parts = THREADS / (w.j.lag * m.groups);
    m.pitch = w.bins | 1;
    m.shared = shared;
    m.c = reinterpret_cast<float2 *>(shared + THREADS);
    m.turn = m.c + w.j.lag * m.pitch;
    m.part = m.turn + mf_line_pad(w.line.n);
    m.edge = m.part + TILE * THREADS;
    return m;
}

/* C of all chunks, times 2 for the frequencies that are not stored. */
__device__ void gather(const struct mf_lines_level &w, const struct window &m, unsigned s, int depth)
{
    const float2 *from = w.sums + size_t(s) * unsigned(w.chunks) * unsigned(depth * w.bins);

    for (int i = int(threadIdx.x); i < w.line.n; i += THREADS) m.turn[mf_line_pad(i)] = w.line.twiddle[i];
    for (int i = int(threadIdx.x); i < w.j.lag * w.bins; i += THREADS) {
        const int k = i % w.bins;
        const float times = k == 0 || 2 * k == w.line.n ? 1.0f : 2.0f;
        float2 sum = from[i];

        for (int chunk = 1; chunk < w.chunks; ++chunk) sum = mf_plus(sum, from[chunk * depth * w.bins + i]);
        m.c[i / w.bins * m.pitch + k] = mf_scaled(times, sum);
    }
    __syncthreads();
}

/* A thread has one dv, TILE du and a part of the frequencies. */
__device__ void transform_back(const struct mf_lines_level &w, const struct window &m)
{
    const int lag = w.j.lag, tid = int(threadIdx.x), dv = tid % lag, group = tid / lag % m.groups;
    const int part = tid / (lag * m.groups), end = (part + 1) * w.bins / m.parts;
    float2 sum[TILE] = {};

    if (part < m.parts) {
        int k = part * w.bins / m.parts, at = k * dv % w.line.n;

        for (; k < end; ++k) {
            const float2 turn = m.turn[mf_line_pad(at)];

            MF_UNROLL
            for (int i = 0; i < TILE; ++i) {
                const int du = group * TILE + i < lag ? group * TILE + i : lag - 1;
                const float2 c = m.c[du * m.pitch + k];

                sum[i].x = fmaf(c.x, turn.x, sum[i].x);
                sum[i].y = fmaf(c.y, turn.y, sum[i].y);
            }
            at += dv;
            if (at >= w.line.n) at -= w.line.n;
        }
        MF_UNROLL
        for (int i = 0; i < TILE; ++i) m.part[((part * m.groups + group) * TILE + i) * lag + dv] = sum[i];
    }
    __syncthreads();
}

/* What the middle adds to D. */
__device__ double offset_of(const struct mf_lines_level &w, const struct window &m, unsigned s)
{
    const double middle = double(mf_lines_middle(w.j)), pixels = double(w.j.nu) * double(w.j.nv);
    const float2 *from = (mf_lines_continued(w) ? w.back : w.spectrum) + size_t(s) * unsigned(w.j.nu * w.bins);
    double sum = 0.0;

    if (middle == 0.0) return 0.0;
    for (int u = int(threadIdx.x); u < w.j.nu; u += THREADS) sum += double(from[u * w.bins].x);
    return middle * (2.0 * mf_block_sum(sum, m.shared) / pixels + middle);
}

/* Entries (du, dv), (du, -dv) and their opposites; adds to the loss, and leaves what goes back. */
__device__ void entry(const struct mf_lines_level &w, const struct window &m, unsigned s, int du, int dv, double offset,
                      double scale, double *loss)
{
    const struct mf_corr_job &j = w.j;
    const double norm = mf_lag_norm(j.periodic, size_t(j.nu), size_t(j.nv), size_t(du), size_t(dv));
    const double each = norm / double(w.line.n);
    double plus, minus;
    float2 sum = make_float2(0.0f, 0.0f);

    for (int q = 0; q < m.parts; ++q) sum = mf_plus(sum, m.part[(q * m.groups * TILE + du) * j.lag + dv]);
    plus = mf_corr_compare(j, s, du, dv, offset + each * double(sum.x + sum.y), loss);
    plus += du || dv ? mf_corr_compare(j, s, -du, -dv, offset + each * double(sum.x + sum.y), loss) : plus;
    minus = plus;
    if (du && dv) {
        minus = mf_corr_compare(j, s, du, -dv, offset + each * double(sum.x - sum.y), loss);
        minus += mf_corr_compare(j, s, -du, dv, offset + each * double(sum.x - sum.y), loss);
    }
    m.edge[du * j.lag + dv] =
        dv ? make_float2(float(scale * each * (plus + minus)), float(scale * each * (minus - plus)))
           : make_float2(float(scale * each * plus), 0.0f);
}

/* The same of pairs, values only. */
__device__ void entry_of_pair(const struct mf_lines_level &w, const struct window &m, unsigned s, int du, int dv,
                              int swap)
{
    const struct mf_corr_job &j = w.j;
    const double norm = mf_lag_norm(j.periodic, size_t(j.nu), size_t(j.nv), size_t(du), size_t(dv));
    const double each = norm / double(w.line.n);
    float2 sum = make_float2(0.0f, 0.0f);
    double loss = 0.0;

    for (int q = 0; q < m.parts; ++q) sum = mf_plus(sum, m.part[(q * m.groups * TILE + du) * j.lag + dv]);
    (void)mf_corr_compare(j, s, swap ? -du : du, swap ? -dv : dv, each * double(sum.x + sum.y), &loss);
    (void)mf_corr_compare(j, s, swap ? -du : du, swap ? dv : -dv, each * double(sum.x - sum.y), &loss);
}

/* H from the slopes: a thread has a frequency and TILE du. */
__device__ void leave(const struct mf_lines_level &w, const struct window &m, unsigned s, int depth)
{
    const int lag = w.j.lag;
    float2 *to = w.sums + size_t(s) * unsigned(w.chunks) * unsigned(depth * w.bins);

    for (int i = int(threadIdx.x); i < m.groups * w.bins; i += THREADS) {
        const int k = i % w.bins, du = i / w.bins * TILE;
        float2 sum[TILE] = {};
        int at = 0;

        for (int dv = 0; dv < lag; ++dv) {
            const float2 turn = m.turn[mf_line_pad(at)];

            MF_UNROLL
            for (int u = 0; u < TILE; ++u) {
                const float2 edge = m.edge[(du + u < lag ? du + u : lag - 1) * lag + dv];

                sum[u].x = fmaf(edge.x, turn.x, sum[u].x);
                sum[u].y = fmaf(edge.y, turn.y, sum[u].y);
            }
            at += k;
            if (at >= w.line.n) at -= w.line.n;
        }
        MF_UNROLL
        for (int u = 0; u < TILE; ++u)
            if (du + u < lag) to[(du + u) * w.bins + k] = sum[u];
    }
}

/* Block s: slice s, from C to its loss and H. */
__global__ void __launch_bounds__(THREADS) windows(const __grid_constant__ struct mf_lines_table t, int depth, int swap)
{
    MF_SHARED(double, shared);
    unsigned s;
    const struct mf_lines_level &w = mf_lines_own(t, &s);
    const struct window m = window_of(w, shared);
    const double scale = mf_corr_scale(w.j, s);
    double loss = 0.0;

    gather(w, m, s, depth);
    transform_back(w, m);
    const double offset = offset_of(w, m, s);

    for (int i = int(threadIdx.x); i < w.j.lag * w.j.lag; i += THREADS) {
        if (w.j.y.base)
            entry_of_pair(w, m, s, i / w.j.lag, i % w.j.lag, swap);
        else
            entry(w, m, s, i / w.j.lag, i % w.j.lag, offset, scale, &loss);
    }
    if (!w.j.target) return;
    loss = mf_block_sum(loss, shared);
    if (threadIdx.x == 0) w.j.loss[s] = loss;
    if (w.j.g.base) leave(w, m, s, depth);
}

} // namespace

void mf_lines_windows_open(struct mf_queue *q)
{
    const int limit = int(mf_cuda_of(q)->limits.shared);

    MF_CUDA(cudaFuncSetAttribute(windows, cudaFuncAttributeMaxDynamicSharedMemorySize, limit));
}

void mf_lines_windows(struct mf_queue *q, struct mf_lines_table *t, size_t shared, int depth, int swap)
{
    const unsigned blocks = mf_lines_number(t, [](const struct mf_lines_level &w) { return unsigned(w.j.x.count); });

    MF_RUN(windows, blocks, THREADS, shared, q, *t, depth, swap);
}
