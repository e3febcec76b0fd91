/* See kernels/meanfield.h. */
#include "kernels/cuda/pass.cuh"

#include "kernels/form/box.h"
#include "kernels/form/meanfield.h"
#include "kernels/labels.h"
#include "kernels/meanfield.h"

namespace
{

struct inner_body {
    enum { SUMS = 3, MAXIMA = 1 };
    const float *x, *g;
    double *out;
    __device__ void operator()(size_t i, double *value) const
    {
        const float at = x[i], slope = g[i];

        if (mf_inside(at)) {
            value[0] += double(slope);
            value[1] += 1.0;
        }
        value[2] += double(mf_grey(at));
        value[3] = double(fabsf(slope)) > value[3] ? double(fabsf(slope)) : value[3];
    }
    __device__ void store(size_t plane, int v, double sum) const { out[plane * MF_INNER_VALUES + size_t(v)] = sum; }
};

void inner(struct mf_queue *q, struct mf_extent e, const float *x, const float *g, double *out)
{
    MF_SPOIL(out, e.planes * MF_INNER_VALUES * sizeof *out);
    mf_pass_run(q, e.planes, e.plane, inner_body{x, g, out});
}

/* -- lines -- */

struct field {
    size_t planes, ny, nx;
    const float *x, *g;
    const uint8_t *fixed;
    float level, scale;
};

/* A block has a line along x; lines along y and z get their integers by atomic additions, in any order. */
__global__ void __launch_bounds__(MF_CUDA_THREADS) add_lines(struct field f, struct mf_lines to)
{
    MF_SHARED(int, total); /* number, sum */
    const size_t line = blockIdx.x, z = line / f.ny, y = line % f.ny;

    if (threadIdx.x < 2) total[threadIdx.x] = 0;
    __syncthreads();
    for (size_t x = threadIdx.x; x < f.nx; x += blockDim.x) {
        const size_t i = line * f.nx + x;
        const float g = f.g[i];

        if ((f.fixed && f.fixed[i] != MF_LABEL_OPEN) || !mf_may_move(f.x[i], g, f.level)) continue;
        const int part = int(rintf(g * f.scale));

        atomicAdd(&total[0], 1);
        atomicAdd(&total[1], part);
        atomicAdd(&to.count_y[z * f.nx + x], 1);
        atomicAdd(&to.sum_y[z * f.nx + x], part);
        atomicAdd(&to.count_z[y * f.nx + x], 1);
    }
    __syncthreads();
    if (threadIdx.x == 0) {
        to.count_x[line] = total[0];
        to.sum_x[line] = total[1];
    }
}

void clear(struct mf_queue *q, size_t n, int32_t *table)
{
    MF_CUDA(cudaMemsetAsync(table, 0, n * sizeof *table, mf_cuda_of(q)->stream));
}

void lines(struct mf_queue *q, const size_t n[3], const float *x, const float *g, const uint8_t *fixed, float level,
           float scale, const struct mf_lines *to)
{
    const struct field f = {n[0], n[1], n[2], x, g, fixed, level, scale};
    const size_t warps = (n[2] + 31) / 32 * 32, most = MF_CUDA_THREADS, threads = warps < most ? warps : most;

    MF_ASSERT(n[1] <= MF_LINE_MOST && n[2] <= MF_LINE_MOST);
    clear(q, n[0] * n[2], to->count_y);
    clear(q, n[0] * n[2], to->sum_y);
    clear(q, n[1] * n[2], to->count_z);
    if (n[0] > 0) MF_RUN(add_lines, unsigned(n[0] * n[1]), unsigned(threads), 2 * sizeof(int), q, f, *to);
}

/* -- the step -- */

struct move_body {
    size_t planes, ny, nx;
    float momentum, rate;
    const float *off, *x, *g;
    const uint8_t *fixed;
    float *v;
    __device__ void operator()(size_t i) const
    {
        const size_t line = i / nx;
        const float level = off[line / ny] + off[planes + line % ny];

        v[i] = fixed && fixed[i] != MF_LABEL_OPEN
                   ? mf_stay(x[i])
                   : x[i] + momentum * v[i] - rate * (g[i] - level - off[planes + ny + i % nx]);
    }
};

void move(struct mf_queue *q, const size_t n[3], float momentum, float rate, const float *off, const float *x,
          const float *g, const uint8_t *fixed, float *v)
{
    mf_each(q, n[0] * n[1] * n[2], move_body{n[0], n[1], n[2], momentum, rate, off, x, g, fixed, v});
}

struct shifted_body {
    enum { SUMS = 2, MAXIMA = 0 };
    float shift;
    const float *v;
    double *out;
    __device__ void operator()(size_t i, double *value) const
    {
        const float x = mf_clip(v[i] - shift);

        value[0] += double(x);
        value[1] += mf_inside(x) ? 1.0 : 0.0;
    }
    __device__ void store(size_t plane, int k, double sum) const { out[2 * plane + size_t(k)] = sum; }
};

void shifted(struct mf_queue *q, struct mf_extent e, float shift, const float *v, double *out)
{
    MF_SPOIL(out, 2 * e.planes * sizeof *out);
    mf_pass_run(q, e.planes, e.plane, shifted_body{shift, v, out});
}

struct settle_body {
    enum { SUMS = 1, MAXIMA = 0 };
    float shift, *x, *v;
    double *out;
    __device__ void operator()(size_t i, double *value) const
    {
        const float to = mf_clip(v[i] - shift);

        v[i] = to - x[i];
        x[i] = to;
        value[0] += double(mf_grey(to));
    }
    __device__ void store(size_t plane, int, double sum) const { out[plane] = sum; }
};

void settle(struct mf_queue *q, struct mf_extent e, float shift, float *x, float *v, double *out)
{
    MF_SPOIL(out, e.planes * sizeof *out);
    mf_pass_run(q, e.planes, e.plane, settle_body{shift, x, v, out});
}

} // namespace

const struct mf_meanfield_ops mf_meanfield_cuda = {
    .inner = inner, .lines = lines, .move = move, .shifted = shifted, .settle = settle};
