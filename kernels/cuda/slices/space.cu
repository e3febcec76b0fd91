/* Two-point correlation in space: see kernels/slices/space.h. It uses sums over voxels instead of transforms. Its
 * "spectra" are the planes themselves. S_d(u, v) is the sum over voxels of x_k(y, x) x_(k+d)(y + u, x + v). Its lags
 * are in the order of the window. A block computes a row of the window of a pair of planes. It takes a run of
 * neighbouring lags at a time, which share loaded data. Results of planes are rounded so that their sum is exact in any
 * order. */
#include <stdlib.h>

#include "kernels/cuda/pass.cuh"
#include "kernels/cuda/slices/slice.cuh"
#include "kernels/form/lag.h"

struct mf_space_plan {
    struct mf_queue *queue;
    struct mf_space_desc desc;
    struct mf_space_areas areas;
    size_t plane;
    double *part;  /* [BATCH][entries] */
    double *sum;   /* [entries] */
    float *weight; /* [entries] */
};

namespace
{

constexpr int RUN = MF_SPACE_RUN, EACH = 4; /* EACH: voxels of a thread, so that a weight is read once for them */
constexpr unsigned THREADS = 128, WIDE = 32, HIGH = THREADS / WIDE;

/* -- plans -- */

void space_free(struct mf_space_plan *p)
{
    if (!p) return;
    mf_arena_give(p->queue->arena, p->weight);
    mf_arena_give(p->queue->arena, p->sum);
    mf_arena_give(p->queue->arena, p->part);
    free(p);
}

int space_plan(struct mf_queue *queue, const struct mf_space_desc *desc, struct mf_space_plan **plan)
{
    struct mf_space_plan *p = static_cast<struct mf_space_plan *>(calloc(1, sizeof *p));

    if (!p) return mf_fail(MF_MEMORY, "S2_3D: no memory for a plan");
    p->queue = queue;
    p->desc = *desc;
    p->plane = mf_space_plane(desc);
    mf_areas_space(desc, &p->areas);
    p->part = static_cast<double *>(mf_arena_take(queue->arena, p->areas.part, "S2_3D work"));
    p->sum = static_cast<double *>(mf_arena_take(queue->arena, p->areas.sum, "S2_3D work"));
    p->weight = static_cast<float *>(mf_arena_take(queue->arena, p->areas.weight, "S2_3D work"));
    if (!p->part || !p->sum || !p->weight) {
        space_free(p);
        return MF_MEMORY;
    }
    *plan = p;
    return MF_OK;
}

/* -- planes -- */

struct copy_body {
    const float *x;
    float *to;
    size_t plane, voxels;
    __device__ void operator()(size_t i) const
    {
        const size_t k = i / plane, at = i % plane;

        to[i] = at < voxels ? x[k * voxels + at] : 0.0f;
    }
};

void transform(struct mf_space_plan *p, size_t planes, const float *x, float *spectra)
{
    mf_each(p->queue, planes * p->plane, copy_body{x, spectra, p->plane, p->desc.ny * p->desc.nx});
}

/* -- products -- */

struct field {
    int nz, ny, nx, lag, periodic;
    size_t plane;
    const float *x, *y; /* of pairs: the first and the second */
};

struct field field_of(const struct mf_space_plan *p, const float *x, const float *y)
{
    const struct mf_space_desc *d = &p->desc;

    return {int(d->nz), int(d->ny), int(d->nx), int(d->lag), d->periodic, p->plane, x, y};
}

/* Wraps row or column i of n; false: outside of a field that is not periodic. */
__device__ bool inside(const struct field &w, int *i, int n)
{
    if (*i >= 0 && *i < n) return true;
    *i += *i < 0 ? n : -n;
    return w.periodic;
}

/* Block (row u and run of lags v, distance d, plane): part [plane][entries]. */
__global__ void __launch_bounds__(THREADS) pairs(struct field w, size_t first, double magic, double *part)
{
    MF_SHARED(double, shared);
    const int side = 2 * w.lag - 1, runs = (side + RUN - 1) / RUN, row = int(blockIdx.x) / runs;
    const int du = row - w.lag + 1, from = int(blockIdx.x) % runs * RUN, dv = from - w.lag + 1;
    const size_t plane = first + blockIdx.z;
    const float *a = w.x + plane * w.plane, *b = w.y + (plane + blockIdx.y) * w.plane;
    const int wide = int(WIDE), high = int(HIGH), x0 = int(threadIdx.x) % wide, y0 = int(threadIdx.x) / wide;
    double sum[RUN] = {};

    for (int y = y0; y < w.ny; y += high) {
        float line[RUN] = {};
        int other = y + du;

        if (!inside(w, &other, w.ny)) continue;
        for (int x = x0; x < w.nx; x += wide) {
            const float own = a[size_t(y) * size_t(w.nx) + size_t(x)];

            MF_UNROLL
            for (int i = 0; i < RUN; ++i) {
                int at = x + dv + i;

                if (from + i < side && inside(w, &at, w.nx))
                    line[i] += own * b[size_t(other) * size_t(w.nx) + size_t(at)];
            }
        }
        MF_UNROLL
        for (int i = 0; i < RUN; ++i) sum[i] += double(line[i]);
    }
    for (int i = 0; i < RUN && from + i < side; ++i) {
        const double all = mf_block_sum(sum[i], shared);
        const size_t entry = (size_t(blockIdx.y) * size_t(side) + size_t(row)) * size_t(side) + size_t(from + i);

        if (threadIdx.x == 0)
            part[blockIdx.z * size_t(w.lag) * size_t(side) * size_t(side) + entry] = (all + magic) - magic;
    }
}

struct add_body {
    const double *part;
    size_t planes, entries;
    int begin;
    double *sum;
    __device__ void operator()(size_t i) const
    {
        double all = begin ? 0.0 : sum[i];

        for (size_t k = 0; k < planes; ++k) all += part[k * entries + i];
        sum[i] = all;
    }
};

/* The caller adds whole planes of sums, so the window of a distance is at the begin of its plane. */
struct lay_body {
    const double *sum;
    size_t plane, window;
    double *sums;
    __device__ void operator()(size_t i) const
    {
        const size_t d = i / plane, at = i % plane;

        sums[i] = at < window ? sum[d * window + at] : 0.0;
    }
};

void products(struct mf_space_plan *p, size_t planes, const float *one, const float *other, double *sums)
{
    const struct mf_space_desc *d = &p->desc;
    const struct field w = field_of(p, one, other);
    const double magic = mf_space_magic(double(d->nz) * double(d->ny) * double(d->nx));
    const size_t side = 2 * d->lag - 1, runs = (side + MF_SPACE_RUN - 1) / MF_SPACE_RUN;

    MF_SPOIL(sums, d->lag * p->plane * sizeof *sums);
    for (size_t first = 0; first < planes; first += MF_SPACE_BATCH) {
        const size_t left = planes - first, n = left < MF_SPACE_BATCH ? left : size_t(MF_SPACE_BATCH);

        MF_RUN(pairs, dim3(unsigned(side * runs), unsigned(d->lag), unsigned(n)), THREADS, sizeof(double) * THREADS,
               p->queue, w, first, magic, p->part);
        mf_each(p->queue, p->areas.entries, add_body{p->part, n, p->areas.entries, first == 0, p->sum});
    }
    mf_each(p->queue, d->lag * p->plane, lay_body{p->sum, p->plane, side * side, sums});
}

/* One over the number of pairs at an entry of the window, whose first plane is of lag @p from. */
__device__ double norm_of(const struct field &w, size_t entry, int from)
{
    const int side = 2 * w.lag - 1, d = from + int(entry / size_t(side * side)), i = int(entry % size_t(side * side));
    const int u = i / side - w.lag + 1, v = i % side - w.lag + 1;
    const double planes = double(w.periodic ? w.nz : w.nz - (d < 0 ? -d : d));

    return mf_lag_norm(w.periodic, size_t(w.ny), size_t(w.nx), size_t(u < 0 ? -u : u), size_t(v < 0 ? -v : v)) / planes;
}

struct window_body {
    struct field w;
    size_t each;
    const double *sums;
    double *window;
    __device__ void operator()(size_t i) const { window[i] = sums[i / each * w.plane + i % each] * norm_of(w, i, 0); }
};

void window(struct mf_space_plan *p, const double *sums, double *values)
{
    const size_t side = 2 * p->desc.lag - 1;

    MF_SPOIL(values, p->areas.entries * sizeof *values);
    mf_each(p->queue, p->areas.entries, window_body{field_of(p, nullptr, nullptr), side * side, sums, values});
}

/* -- gradient -- */

/* The factor of the sum of products at a lag; twice if its mirror image is not an entry. */
struct weight_body {
    struct field w;
    size_t each;
    const double *slope;
    float *weight;
    __device__ void operator()(size_t i) const
    {
        weight[i] = float((i < each ? 1.0 : 2.0) * slope[i] * norm_of(w, i, 0));
    }
};

/* The same of two fields, whose windows have all lags. */
struct weigh_body {
    struct field w;
    const double *slope;
    float *weight;
    __device__ void operator()(size_t i) const { weight[i] = float(slope[i] * norm_of(w, i, 1 - w.lag)); }
};

/* Block (voxels, plane): g += sum over lags of weight (x_(k+d)(p + r) + x_(k-d)(p - r)), BOTH; else, from lag -L+1 on,
 * of weight x_(k+d)(p + r). w.x: plane 0 of g's. */
template <bool BOTH> __global__ void __launch_bounds__(THREADS) gather(struct field w, const float *weight, float *g)
{
    const size_t voxels = size_t(w.ny) * size_t(w.nx), first = blockIdx.x * size_t(THREADS * EACH) + threadIdx.x;
    const float *own = w.x + blockIdx.y * w.plane;
    int y[EACH], x[EACH];
    float sum[EACH] = {};

    MF_UNROLL
    for (int i = 0; i < EACH; ++i) {
        const size_t at = first + size_t(i) * THREADS;

        y[i] = at < voxels ? int(at / size_t(w.nx)) : 0;
        x[i] = at < voxels ? int(at % size_t(w.nx)) : 0;
    }
    for (int d = BOTH ? 0 : 1 - w.lag; d < w.lag; ++d) {
        const float *up = own + d * ptrdiff_t(w.plane), *down = own - d * ptrdiff_t(w.plane);

        for (int du = 1 - w.lag; du < w.lag; ++du)
            for (int dv = 1 - w.lag; dv < w.lag; ++dv) {
                const float each = __ldg(weight++);

                MF_UNROLL
                for (int i = 0; i < EACH; ++i) {
                    int yu = y[i] + du, xu = x[i] + dv, yd = y[i] - du, xd = x[i] - dv;
                    float both = 0.0f;

                    if (inside(w, &yu, w.ny) && inside(w, &xu, w.nx))
                        both += up[size_t(yu) * size_t(w.nx) + size_t(xu)];
                    if (BOTH && inside(w, &yd, w.ny) && inside(w, &xd, w.nx))
                        both += down[size_t(yd) * size_t(w.nx) + size_t(xd)];
                    sum[i] += each * both;
                }
            }
    }
    MF_UNROLL
    for (int i = 0; i < EACH; ++i) {
        const size_t at = first + size_t(i) * THREADS;

        if (at < voxels) g[blockIdx.y * voxels + at] += sum[i];
    }
}

template <bool BOTH> void gather_all(struct mf_space_plan *p, const struct field &w, size_t planes, float *g)
{
    const size_t voxels = p->desc.ny * p->desc.nx, each = size_t(THREADS) * EACH;
    const unsigned blocks = unsigned((voxels + each - 1) / each);

    for (size_t k = 0; k < planes; k += MF_GRID_MOST) {
        const size_t n = planes - k < MF_GRID_MOST ? planes - k : MF_GRID_MOST;
        struct field part = w;

        part.x += k * p->plane;
        MF_RUN(gather<BOTH>, dim3(blocks, unsigned(n)), THREADS, 0, p->queue, part, p->weight, g + k * voxels);
    }
}

void adjoint(struct mf_space_plan *p, size_t planes, const double *slope, float *spectra, float *g)
{
    const size_t side = 2 * p->desc.lag - 1;
    const float *own = spectra + (p->desc.lag - 1) * p->plane;
    const struct field w = field_of(p, own, own);

    mf_each(p->queue, p->areas.entries, weight_body{w, side * side, slope, p->weight});
    gather_all<true>(p, w, planes, g);
}

void across(struct mf_space_plan *p, size_t planes, const double *slope, const float *spectra, float *g)
{
    const size_t side = 2 * p->desc.lag - 1;
    const float *own = spectra + (p->desc.lag - 1) * p->plane;
    const struct field w = field_of(p, own, own);

    mf_each(p->queue, side * side * side, weigh_body{w, slope, p->weight});
    gather_all<false>(p, w, planes, g);
}

} // namespace

const struct mf_space_ops mf_space_cuda = {
    .plane = mf_space_plane,
    .plan = space_plan,
    .free = space_free,
    .transform = transform,
    .products = products,
    .window = window,
    .adjoint = adjoint,
    .across = across,
};
