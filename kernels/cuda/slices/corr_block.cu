/* Engine `block` of S2: all work on a unit happens in the shared memory of one block. */
#include <math.h>
#include <stdlib.h>

#include "kernels/cuda/slices/lines.cuh"

namespace
{

/* -- the kernel -- */

struct work {
    struct mf_corr_job job;
    struct mf_line u, v;
    size_t first;     /* unit of block 0 */
    float2 *spectrum; /* [blocks][mu][mv] */
};

/* The first n rows; the rows of the window; all columns. */
__device__ struct mf_lines first_rows(int n, int pitch) { return {n, n, 0, pitch, 1}; }
__device__ struct mf_lines window_rows(const struct mf_corr_job &j, int pitch)
{
    return {2 * j.lag - 1, j.lag, j.mu - (2 * j.lag - 1), pitch, 1};
}
__device__ struct mf_lines columns(const struct mf_corr_job &j, int pitch) { return {j.mv, j.mv, 0, 1, pitch}; }

__device__ void load(const struct mf_corr_job &j, size_t unit, int pitch, float2 *z)
{
    for (int i = int(threadIdx.x); i < j.mu * j.mv; i += int(blockDim.x)) {
        const int u = i / j.mv, v = i % j.mv;

        z[u * pitch + v] = u < j.nu && v < j.nv ? mf_corr_load(j, unit, size_t(u), size_t(v)) : make_float2(0.0f, 0.0f);
    }
    __syncthreads();
}

/* Calls body(z at k, z at -k, numbers of both) once for each such couple. */
template <class Body> __device__ void couples(const struct work &w, int pitch, float2 *z, const Body &body)
{
    const int mv = w.job.mv;

    for (int i = int(threadIdx.x); i < w.job.mu * mv; i += int(blockDim.x)) {
        const int u = i / mv, v = i % mv, nu = w.u.negative[u], nv = w.v.negative[v], k = nu * mv + nv;

        if (i <= k) body(z + u * pitch + v, z + nu * pitch + nv, i, k);
    }
    __syncthreads();
}

/* The window's entries take part in the loss and become what goes back; all else becomes 0. */
__device__ void window(const struct mf_corr_job &j, size_t unit, int pitch, float2 *z, double *shared)
{
    double loss[2] = {0.0, 0.0};

    for (int i = int(threadIdx.x); i < j.mu * j.mv; i += int(blockDim.x)) {
        const int u = i / j.mv, v = i % j.mv;
        float2 *at = z + u * pitch + v;
        int du, dv;

        if (mf_corr_lag(u, j.mu, j.lag, &du) && mf_corr_lag(v, j.mv, j.lag, &dv))
            *at = mf_corr_entry(j, unit, du, dv, *at, loss);
        else
            *at = make_float2(0.0f, 0.0f);
    }
    for (size_t k = 0; k < 2; ++k) {
        const double sum = mf_block_sum(loss[k], shared);

        if (threadIdx.x == 0 && j.target && 2 * unit + k < j.x.count) j.loss[2 * unit + k] = sum;
    }
    __syncthreads();
}

__device__ void store(const struct mf_corr_job &j, size_t unit, int pitch, const float2 *z)
{
    for (int i = int(threadIdx.x); i < j.nu * j.nv; i += int(blockDim.x)) {
        const int u = i / j.nv, v = i % j.nv;
        const float2 g = z[u * pitch + v];

        mf_corr_store(j, 2 * unit, size_t(u), size_t(v), g.x);
        if (2 * unit + 1 < j.x.count) mf_corr_store(j, 2 * unit + 1, size_t(u), size_t(v), g.y);
    }
}

/* Block b: unit first + b, from its pixels to its loss and gradient. */
__global__ void __launch_bounds__(512) whole_unit(struct work w)
{
    MF_SHARED(float2, z);
    const struct mf_corr_job &j = w.job;
    const int pitch = mf_corr_pitch(j.mv);
    const size_t unit = w.first + blockIdx.x;
    float2 *spectrum = w.spectrum + size_t(blockIdx.x) * size_t(j.mu) * size_t(j.mv);
    double *shared = reinterpret_cast<double *>(z + size_t(j.mu) * size_t(pitch));

    load(j, unit, pitch, z);
    mf_transform<false>(w.v, first_rows(j.nu, pitch), z);
    mf_transform<false>(w.u, columns(j, pitch), z);
    couples(w, pitch, z, [&](float2 *p, float2 *q, int i, int k) {
        const float2 a = *p, b = *q;

        if (j.g.base) {
            spectrum[i] = a;
            spectrum[k] = b;
        }
        *p = j.y.base ? mf_corr_cross(a, b) : mf_corr_power(a, b);
        *q = j.y.base ? make_float2(p->x, p == q ? p->y : -p->y) : *p;
    });
    mf_transform<true>(w.u, columns(j, pitch), z);
    mf_transform<true>(w.v, window_rows(j, pitch), z);
    window(j, unit, pitch, z, shared);
    if (!j.g.base || !j.target) return;
    mf_transform<false>(w.v, window_rows(j, pitch), z);
    mf_transform<false>(w.u, columns(j, pitch), z);
    couples(w, pitch, z, [&](float2 *p, float2 *q, int i, int k) {
        float2 a = *p, b = *q;

        mf_corr_gradient(spectrum[i], spectrum[k], &a, &b);
        *p = a;
        *q = p == q ? a : b;
    });
    mf_transform<true>(w.u, columns(j, pitch), z);
    mf_transform<true>(w.v, first_rows(j.nu, pitch), z);
    store(j, unit, pitch, z);
}

/* -- plans -- */

unsigned threads_of(const struct mf_corr_area *area)
{
    unsigned threads = 64;

    while (threads < 512 && int(threads) * 16 < area->mu * area->mv) threads *= 2;
    return threads;
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

/* The radices of n, and what the host says of its tables. */
void set_up(struct mf_line *line, int n, float2 *twiddle, int *negative)
{
    const double turn = 2.0 * 3.14159265358979323846;

    *line = {};
    line->n = n;
    (void)mf_line_radices(n, line->radix, &line->stages);
    for (int i = 0; i < line->n; ++i) {
        const double at = turn * double(i) / double(line->n);

        twiddle[i] = make_float2(float(cos(at)), float(-sin(at)));
        for (int k = 0; k < line->n; ++k)
            if ((frequency(line, i) + frequency(line, k)) % line->n == 0) negative[i] = k;
    }
}

} // namespace

int mf_corr_block_open(struct mf_queue *q, const struct mf_corr_area *area, struct mf_corr_level *level)
{
    const size_t n = size_t(area->mu) + size_t(area->mv);
    float2 *twiddle = static_cast<float2 *>(malloc(area->tables));
    int *negative = reinterpret_cast<int *>(twiddle + n);

    if (!twiddle) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    set_up(&level->u, area->mu, twiddle, negative);
    set_up(&level->v, area->mv, twiddle + area->mu, negative + area->mu);
    level->tables = mf_arena_take(q->arena, area->tables, "S2 work");
    if (level->tables) mf_backend_cuda.put(q, level->tables, twiddle, area->tables);
    free(twiddle);
    if (!level->tables) return MF_MEMORY;
    level->u.twiddle = static_cast<const float2 *>(level->tables);
    level->v.twiddle = level->u.twiddle + area->mu;
    level->u.negative = reinterpret_cast<const int *>(level->u.twiddle + n);
    level->v.negative = level->u.negative + area->mu;
    MF_CUDA(cudaFuncSetAttribute(whole_unit, cudaFuncAttributeMaxDynamicSharedMemorySize,
                                 int(mf_cuda_of(q)->limits.shared)));
    return MF_OK;
}

void mf_corr_block_close(struct mf_queue *q, struct mf_corr_level *level) { mf_arena_give(q->arena, level->tables); }

void mf_corr_block_run(struct mf_slice_plan *plan, size_t l, const struct mf_corr_job &job)
{
    const struct mf_corr_level *level = &plan->level[l];
    const struct mf_corr_area *area = &plan->areas.level[l];

    for (size_t first = 0; first < job.units; first += area->batch) {
        const size_t n = job.units - first < area->batch ? job.units - first : area->batch;
        const struct work w = {job, level->u, level->v, first, plan->spectrum};

        MF_RUN(whole_unit, unsigned(n), threads_of(area), area->shared, plan->queue, w);
    }
}
