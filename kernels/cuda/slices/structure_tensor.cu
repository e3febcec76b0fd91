/* Structure tensor of slices (form/structure_tensor.h): maps of smoothed components and of their coherence, which are
 * correlated (lags.cuh). Periodic: as many cells as pixels. Else: cells between pixels, and pairs inside; a Gaussian
 * that an edge cuts off is divided by its remaining weight. The gradient goes through the same steps in reverse; each
 * step gathers. */
#include "kernels/cuda/pass.cuh"
#include "kernels/cuda/slices/lags.cuh"
#include "kernels/form/structure_tensor.h"

namespace
{

constexpr int MAPS = MF_STRUCTURE_TENSOR_MAPS, SMOOTHED = MF_STRUCTURE_TENSOR_C, REACH = MF_STRUCTURE_TENSOR_REACH;

struct lags {
    int m, count;
    __device__ void operator()(int i, int *du, int *dv) const { mf_structure_tensor_lag(m, i, du, dv); }
};

/* A level of a chunk; an array has [count][cells] numbers. */
struct work {
    int nu, nv, cu, cv, periodic; /* pixels and cells */
    size_t count, pixels, cells;
    float tap[MF_STRUCTURE_TENSOR_TAPS];
    const float *x;
    float *g;
    float *map;  /* [MAPS] arrays */
    float *back; /* [MAPS] what they count */
    float *room; /* [SMOOTHED] */
};

struct work work_of(const struct mf_packed_job *job)
{
    struct work w = {};

    w.periodic = job->desc->periodic;
    w.nu = job->at.nu;
    w.nv = job->at.nv;
    w.cu = w.nu - !w.periodic;
    w.cv = w.nv - !w.periodic;
    w.count = job->count;
    w.pixels = job->pixels;
    w.cells = size_t(w.cu) * size_t(w.cv);
    mf_structure_tensor_gaussian(w.tap);
    w.x = job->at.x;
    w.g = job->at.g;
    w.map = job->scratch;
    w.back = w.map + size_t(MAPS) * w.count * w.cells;
    w.room = w.back + size_t(MAPS) * w.count * w.cells;
    return w;
}

/* Slice, row and column of a number of an array. */
struct cell {
    size_t slice;
    int u, v;
};

__device__ struct cell cell_of(size_t i, size_t each, int wide)
{
    return {i / each, int(i % each / size_t(wide)), int(i % each % size_t(wide))};
}

/* gx and gy of a cell. */
__device__ float2 slope(const struct work &w, const struct cell &c)
{
    const size_t wide = size_t(w.nv), u = size_t(c.u), v = size_t(c.v);
    const float *x0 = w.x + c.slice * w.pixels + u * wide, *x1 = c.u + 1 < w.nu ? x0 + wide : x0 - u * wide;
    const size_t next = c.v + 1 < w.nv ? v + 1 : 0;

    return make_float2(0.5f * ((x0[next] - x0[v]) + (x1[next] - x1[v])),
                       0.5f * ((x1[v] - x0[v]) + (x1[next] - x0[next])));
}

struct products_body {
    struct work w;
    __device__ void operator()(size_t i) const
    {
        const size_t all = w.count * w.cells;
        const float2 s = slope(w, cell_of(i, w.cells, w.cv));

        w.map[MF_STRUCTURE_TENSOR_P * all + i] = mf_structure_tensor_p(s.x, s.y);
        w.map[MF_STRUCTURE_TENSOR_Q * all + i] = mf_structure_tensor_q(s.x, s.y);
        w.map[MF_STRUCTURE_TENSOR_E * all + i] = mf_structure_tensor_e(s.x, s.y);
    }
};

/* Weight of the Gaussian that is left at a cell. */
__device__ float left(const struct work &w, int u, int v)
{
    return w.periodic ? 1.0f : mf_structure_tensor_inside(w.tap, w.cu, u) * mf_structure_tensor_inside(w.tap, w.cv, v);
}

/* One axis of the smoothing of all maps, or (back) of its transpose. Down the rows from `from` to room, then along them
 * back to `from`. */
struct smooth_body {
    struct work w;
    float *from;
    int along, back;
    __device__ void operator()(size_t i) const
    {
        const size_t all = w.count * w.cells, array = i / all;
        const struct cell c = cell_of(i % all, w.cells, w.cv);
        const float *in = (along ? w.room : from) + array * all + c.slice * w.cells;
        const int n = along ? w.cv : w.cu, own = along ? c.v : c.u;
        float sum = 0.0f;

        for (int k = -REACH; k <= REACH; ++k) {
            int at = own + k;

            if (!w.periodic && (at < 0 || at >= n)) continue;
            while (at < 0) at += n;
            while (at >= n) at -= n;
            const int u = along ? c.u : at, v = along ? at : c.v;
            float x = in[size_t(u) * size_t(w.cv) + size_t(v)];

            if (back && !along) x /= left(w, u, v);
            sum += w.tap[k + REACH] * x;
        }
        if (along && !back) sum /= left(w, c.u, c.v);
        (along ? from : w.room)[i] = sum;
    }
};

void smooth(struct mf_queue *q, const struct work &w, float *maps, int back)
{
    const size_t n = size_t(SMOOTHED) * w.count * w.cells;

    mf_each(q, n, smooth_body{w, maps, 0, back});
    mf_each(q, n, smooth_body{w, maps, 1, back});
}

struct coherence_body {
    struct work w;
    __device__ void operator()(size_t i) const
    {
        const size_t all = w.count * w.cells;

        w.map[MF_STRUCTURE_TENSOR_C * all + i] =
            mf_structure_tensor_size(w.map[MF_STRUCTURE_TENSOR_P * all + i], w.map[MF_STRUCTURE_TENSOR_Q * all + i]) -
            MF_STRUCTURE_TENSOR_ROUND;
    }
};

void make_maps(struct mf_queue *q, const struct work &w)
{
    mf_each(q, w.count * w.cells, products_body{w});
    smooth(q, w, w.map, 0);
    mf_each(q, w.count * w.cells, coherence_body{w});
}

mf_lags<lags> lags_of(const struct mf_packed_job *job, const struct work &w)
{
    const int m = int((job->desc->lag - 1) / 2), count = int(mf_structure_tensor_lags(job->desc->lag));

    return {{m, count}, w.cu, w.cv, w.periodic, w.count, w.map, w.map, job->value, job->stride};
}

void value(const struct mf_packed_job *job)
{
    const struct work w = work_of(job);

    make_maps(job->q, w);
    mf_lags_values(job->q, lags_of(job, w), MAPS);
}

/* -- gradient -- */

struct coherence_back_body {
    struct work w;
    __device__ void operator()(size_t i) const
    {
        const size_t all = w.count * w.cells;
        const float p = w.map[MF_STRUCTURE_TENSOR_P * all + i], q = w.map[MF_STRUCTURE_TENSOR_Q * all + i];
        const float each = w.back[MF_STRUCTURE_TENSOR_C * all + i] / mf_structure_tensor_size(p, q);

        w.back[MF_STRUCTURE_TENSOR_P * all + i] += each * p;
        w.back[MF_STRUCTURE_TENSOR_Q * all + i] += each * q;
    }
};

/* Half of what gx and gy of a cell count; nothing where there is no such cell. */
__device__ float2 half_back(const struct work &w, struct cell c)
{
    const size_t all = w.count * w.cells;

    if (w.periodic) {
        c.u += c.u < 0 ? w.cu : 0;
        c.v += c.v < 0 ? w.cv : 0;
    }
    if (c.u < 0 || c.u >= w.cu || c.v < 0 || c.v >= w.cv) return make_float2(0.0f, 0.0f);
    const size_t i = c.slice * w.cells + size_t(c.u) * size_t(w.cv) + size_t(c.v);
    const float2 s = slope(w, c);
    const float p = w.back[MF_STRUCTURE_TENSOR_P * all + i], q = w.back[MF_STRUCTURE_TENSOR_Q * all + i],
                e = w.back[MF_STRUCTURE_TENSOR_E * all + i];

    return make_float2(0.5f * mf_structure_tensor_gx_back(s.x, s.y, p, q, e),
                       0.5f * mf_structure_tensor_gy_back(s.x, s.y, p, q, e));
}

/* A pixel is a corner of four cells. */
struct pixels_back_body {
    struct work w;
    __device__ void operator()(size_t i) const
    {
        const struct cell c = cell_of(i, w.pixels, w.nv);
        const float2 here = half_back(w, c), left_of = half_back(w, {c.slice, c.u, c.v - 1});
        const float2 above = half_back(w, {c.slice, c.u - 1, c.v}), both = half_back(w, {c.slice, c.u - 1, c.v - 1});

        w.g[i] += (left_of.x - left_of.y) + (above.y - above.x) + (both.x + both.y) - (here.x + here.y);
    }
};

void gradient(const struct mf_packed_job *job)
{
    const struct work w = work_of(job);
    const size_t bytes = size_t(MAPS) * w.count * w.cells * sizeof(float);

    make_maps(job->q, w);
    MF_CUDA(cudaMemsetAsync(w.back, 0, bytes, mf_cuda_of(job->q)->stream));
    mf_lags_gradient<true, true>(job->q, lags_of(job, w), MAPS, w.back);
    mf_each(job->q, w.count * w.cells, coherence_back_body{w});
    smooth(job->q, w, w.back, 1);
    mf_each(job->q, w.count * w.pixels, pixels_back_body{w});
}

} // namespace

static constexpr struct mf_packed_family edges = {&mf_packed_structure_tensor, nullptr, value, gradient};

MF_PACKED_OPS(mf_structure_tensor_cuda, mf_kind_structure_tensor, mf_packed_total, nullptr, nullptr, edges);
