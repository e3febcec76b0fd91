/* See kernels/field.h. */
#include "kernels/cuda/pass.cuh"

#include <float.h>

#include "kernels/cuda/voxel.cuh"

namespace
{

/* -- numbers without planes -- */

struct fill_body {
    float value, *x;
    __device__ void operator()(size_t i) const { x[i] = value; }
};

struct axpy_body {
    float a;
    const float *x;
    float *y;
    __device__ void operator()(size_t i) const { y[i] += a * x[i]; }
};

struct scale_body {
    float a, *x;
    __device__ void operator()(size_t i) const { x[i] *= a; }
};

struct clamp_body {
    float lo, hi, *x;
    __device__ void operator()(size_t i) const { x[i] = mf_clamp(x[i], lo, hi); }
};

void fill(struct mf_queue *q, size_t n, float value, float *x) { mf_each(q, n, fill_body{value, x}); }

void copy(struct mf_queue *q, size_t n, const float *x, float *y)
{
    MF_CUDA(cudaMemcpyAsync(y, x, n * sizeof *x, cudaMemcpyDeviceToDevice, mf_cuda_of(q)->stream));
}

void axpy(struct mf_queue *q, size_t n, float a, const float *x, float *y) { mf_each(q, n, axpy_body{a, x, y}); }

void scale(struct mf_queue *q, size_t n, float a, float *x) { mf_each(q, n, scale_body{a, x}); }

void clamp(struct mf_queue *q, size_t n, float lo, float hi, float *x) { mf_each(q, n, clamp_body{lo, hi, x}); }

/* Voxels that are no numbers; counts below 2^53 are exact in double. */
struct broken_body {
    enum { SUMS = 1, MAXIMA = 0 };
    const float *x;
    double *out;
    __device__ void operator()(size_t i, double *value) const { value[0] += fabsf(x[i]) <= FLT_MAX ? 0.0 : 1.0; }
    __device__ void store(size_t, int, double sum) const { *out = sum; }
};

size_t broken(struct mf_queue *q, size_t n, const float *x)
{
    struct mf_cuda_queue *own = mf_cuda_of(q);

    *own->word = 0.0;
    mf_pass_run(q, 1, n, broken_body{x, own->word});
    MF_CUDA(cudaStreamSynchronize(own->stream));
    return size_t(*own->word);
}

/* -- sums per plane -- */

struct dot_body {
    enum { SUMS = 1, MAXIMA = 0 };
    size_t phases, stride;
    const float *x, *y;
    double *out;
    __device__ void operator()(size_t i, double *value) const
    {
        for (size_t p = 0; p < phases; ++p, i += stride) value[0] += double(x[i]) * double(y[i]);
    }
    __device__ void store(size_t plane, int, double sum) const { out[plane] = sum; }
};

void dot(struct mf_queue *q, struct mf_extent e, const float *x, const float *y, double *out)
{
    MF_SPOIL(out, e.planes * sizeof *out);
    mf_pass_run(q, e.planes, e.plane, dot_body{e.phases, e.planes * e.plane, x, y, out});
}

struct sum_body {
    enum { SUMS = 1, MAXIMA = 0 };
    const float *x;
    double *out;
    __device__ void operator()(size_t i, double *value) const { value[0] += double(x[i]); }
    __device__ void store(size_t plane, int, double sum) const { out[plane] = sum; }
};

/* The phases lie one behind the other, and so do their sums. */
void sum(struct mf_queue *q, struct mf_extent e, const float *x, double *out)
{
    MF_SPOIL(out, e.phases * e.planes * sizeof *out);
    mf_pass_run(q, e.phases * e.planes, e.plane, sum_body{x, out});
}

struct between_body {
    enum { SUMS = 1, MAXIMA = 0 };
    size_t phases, stride;
    float lo, hi;
    const float *x;
    double *out;
    __device__ void operator()(size_t i, double *value) const
    {
        bool is = false;

        for (size_t p = 0; p < phases; ++p, i += stride) is |= x[i] > lo && x[i] < hi;
        value[0] += is ? 1.0 : 0.0;
    }
    __device__ void store(size_t plane, int, double sum) const { out[plane] = sum; }
};

void between(struct mf_queue *q, struct mf_extent e, float lo, float hi, const float *x, double *out)
{
    MF_SPOIL(out, e.planes * sizeof *out);
    mf_pass_run(q, e.planes, e.plane, between_body{e.phases, e.planes * e.plane, lo, hi, x, out});
}

/* One phase: g += lambda (1 - 2 x) + shift, and the sums of x (1 - x) and x. */
struct guide_body {
    enum { SUMS = 2, MAXIMA = 0 };
    float lambda, shift;
    const float *x;
    float *g;
    double *grey, *mean;
    int later; /* grey has the phases before */
    __device__ void operator()(size_t i, double *value) const
    {
        const float v = x[i];

        g[i] += lambda * mf_grey_slope(v) + shift;
        value[0] += double(mf_grey(v));
        value[1] += double(v);
    }
    __device__ void store(size_t plane, int v, double sum) const
    {
        if (v == 0 && grey) grey[plane] = later ? grey[plane] + sum : sum;
        if (v == 1 && mean) mean[plane] = sum;
    }
};

void guide(struct mf_queue *q, struct mf_extent e, float lambda, const float *shift, const float *x, float *g,
           double *grey, double *mean)
{
    const size_t stride = e.planes * e.plane;

    MF_SPOIL(grey, e.planes * sizeof *grey);
    MF_SPOIL(mean, e.phases * e.planes * sizeof *mean);
    for (size_t p = 0; p < e.phases; ++p)
        mf_pass_run(q, e.planes, e.plane,
                    guide_body{lambda, shift[p], x + p * stride, g + p * stride, grey,
                               mean ? mean + p * e.planes : nullptr, p > 0});
}

/* -- projection -- */

template <class Phases> struct project_body {
    size_t phases, stride;
    float *x;
    __device__ void operator()(size_t i) const
    {
        float v[Phases::ROOM];
        const int n = Phases::count(phases);

        mf_voxel_load(n, stride, x + i, v);
        mf_voxel_project(n, v);
        mf_voxel_store(n, stride, v, x + i);
    }
};

void project(struct mf_queue *q, struct mf_extent e, float *x)
{
    const size_t stride = e.planes * e.plane;

    mf_by_phases(e.phases, [&](auto phases) {
        mf_each(q, stride, project_body<decltype(phases)>{e.phases, stride, x});
    });
}

} // namespace

const struct mf_field_ops mf_field_cuda = {
    .fill = fill,
    .copy = copy,
    .axpy = axpy,
    .scale = scale,
    .clamp = clamp,
    .dot = dot,
    .sum = sum,
    .guide = guide,
    .between = between,
    .broken = broken,
    .project = project,
};
