/* The distance of patches of slices from those of an example, in both directions. Formulas are in
 * kernels/cpu/slices/patch.c, the search is in patch_search.cu. The contributions of the example's patches are summed
 * as integers. So the result does not depend on the order of threads. */
#include "kernels/cuda/slices/patch.cuh"

#include <stdlib.h>

#include "kernels/cuda/pass.cuh"

struct mf_slice_plan {
    struct mf_queue *queue;
    struct mf_slice_desc desc;
    struct mf_patch_areas areas;
    struct mf_patch_weight weight;
    float *images, *axes, *points; /* of the example */
    float *pixels;                 /* [arrays][levels][chunk][nu][nv] */
    float *work;                   /* coordinates of the slices' patches, and their norms */
    int *near;                     /* [chunk][patches], [chunk][others] */
    unsigned long long *sums;      /* [chunk][1 + 2 phases][pixels] */
    double *part, *slope;          /* [chunk][bands]; [chunk][levels] */
};

namespace
{

constexpr int SIDE = MF_PATCH_SIDE, PIXELS = MF_PATCH_PIXELS;
constexpr double GRAIN = 1099511627776.0; /* 2^40: what a sum in whole numbers counts in */
constexpr unsigned THREADS = 128;

/* -- plans -- */

void plan_free(struct mf_slice_plan *p)
{
    if (!p) return;
    void *const taken[] = {p->slope, p->part, p->sums, p->near, p->work, p->pixels, p->points, p->axes, p->images};

    for (void *memory : taken) mf_arena_give(p->queue->arena, memory);
    free(p);
}

int take(struct mf_slice_plan *p)
{
    const struct mf_patch_areas *a = &p->areas;
    struct mf_arena *arena = p->queue->arena;

    p->images = static_cast<float *>(mf_arena_take(arena, a->images, "example"));
    p->axes = static_cast<float *>(mf_arena_take(arena, a->axes, "example"));
    p->points = static_cast<float *>(mf_arena_take(arena, a->points, "example"));
    p->pixels = static_cast<float *>(mf_arena_take(arena, a->pixels, "patches"));
    p->work = static_cast<float *>(mf_arena_take(arena, a->work, "patch search"));
    p->near = static_cast<int *>(mf_arena_take(arena, a->near, "patch search"));
    p->sums = static_cast<unsigned long long *>(mf_arena_take(arena, a->sums, "patch search"));
    p->part = static_cast<double *>(mf_arena_take(arena, a->part, "patches"));
    p->slope = static_cast<double *>(mf_arena_take(arena, a->slope, "patches"));
    return p->images && p->axes && p->points && p->pixels && p->work && p->near && p->sums && p->part && p->slope
               ? MF_OK
               : MF_MEMORY;
}

struct mf_patch_set example_of(const struct mf_slice_plan *p, size_t l)
{
    const struct mf_patch_area *a = &p->areas.level[l];
    const struct mf_patch_image *e = &a->is.example;

    return {p->images + a->image,
            e->nu * e->nv,
            int(p->areas.phases),
            int(e->nu),
            int(e->nv),
            int(e->pu),
            int(e->pv),
            a->others,
            p->points + a->points,
            p->points + a->points + MF_PATCH_PARTS * a->others};
}

/* Means of 2 x 2 pixels, in place. */
void pool(size_t nu, size_t nv, float *x)
{
    for (size_t u = 0; u < nu / 2; ++u)
        for (size_t v = 0; v < nv / 2; ++v) {
            const float *at = x + 2 * u * nv + 2 * v;

            x[u * (nv / 2) + v] = 0.25f * ((at[0] + at[1]) + (at[nv] + at[nv + 1]));
        }
}

/* Axes of the example's patches on a level, whose pixels are there, and its patches along them. */
int prepare_level(struct mf_slice_plan *p, size_t l, const float *pixels, size_t apart)
{
    const struct mf_patch_area *a = &p->areas.level[l];
    struct mf_patch_image image = a->is.example;
    const size_t count = image.nu * image.nv, numbers = (image.phases * MF_PATCH_PIXELS + 1) * MF_PATCH_PARTS;
    double *room = static_cast<double *>(malloc(mf_patch_axes_room(image.phases) * sizeof(double)));
    float *axes = static_cast<float *>(malloc(numbers * sizeof(float)));

    image.x = static_cast<float *>(malloc(mf_patch_image_floats(&image) * sizeof(float)));
    if (room && axes && image.x) {
        mf_patch_image_fill(&image, pixels, apart);
        mf_patch_axes(&image, room, axes);
        mf_backend_cuda.put(p->queue, p->axes + a->axes, axes, numbers * sizeof(float));
        for (size_t f = 0; f < image.phases; ++f)
            mf_backend_cuda.put(p->queue, p->images + a->image + f * count, pixels + f * apart, count * sizeof(float));
        mf_patch_project_set(p->queue, example_of(p, l), 1, p->axes + a->axes, p->weight);
    }
    const int rc =
        room && axes && image.x ? MF_OK : mf_fail(MF_MEMORY, "no memory for a plan of %s", mf_kind_patch.what);

    free(image.x);
    free(axes);
    free(room);
    return rc;
}

int prepare(struct mf_slice_plan *p)
{
    const struct mf_slice_example *e = &p->desc.example;
    const size_t phases = p->areas.phases, apart = e->nu * e->nv;
    float *pixels = static_cast<float *>(malloc(phases * apart * sizeof(float)));
    int rc = pixels ? MF_OK : mf_fail(MF_MEMORY, "no memory for a plan of %s", mf_kind_patch.what);

    if (pixels) memcpy(pixels, e->x, phases * apart * sizeof(float));
    for (size_t l = 0; rc == MF_OK && l < p->desc.levels; ++l) {
        if (p->areas.level[l].is.on) rc = prepare_level(p, l, pixels, apart);
        for (size_t f = 0; f < phases; ++f) pool(e->nu >> l, e->nv >> l, pixels + f * apart);
    }
    free(pixels);
    return rc;
}

int plan_make(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
              struct mf_slice_plan **plan)
{
    struct mf_slice_plan *p;
    int rc;

    MF_TRY(mf_slices_check(desc));
    MF_ASSERT(desc->example.x && mf_patch_phases(desc) <= MF_SIMPLEX_MAX);
    p = static_cast<struct mf_slice_plan *>(calloc(1, sizeof *p));
    if (!p) return mf_fail(MF_MEMORY, "no memory for a plan of %s", ops->kind->what);
    p->queue = queue;
    p->desc = *desc;
    mf_areas_patch(desc, &p->areas);
    mf_patch_weights(p->weight.at);
    rc = take(p);
    if (rc == MF_OK) rc = prepare(p);
    if (rc == MF_OK)
        *plan = p;
    else
        plan_free(p);
    return rc;
}

/* -- slices -- */

struct mf_view level_view(const struct mf_slice_plan *p, size_t array, size_t l, size_t count)
{
    const size_t nu = p->desc.nu >> l, nv = p->desc.nv >> l;

    return {p->pixels + array * p->areas.numbers + p->areas.level[l].from, count, nu, nv, nu * nv, nv, 1};
}

/* All levels of slices [from, from + count) of a field. */
void gather(const struct mf_slice_plan *p, const struct mf_view &x, size_t from, size_t count, size_t array)
{
    struct mf_view part = x;

    part.base += from * x.ss;
    part.count = count;
    mf_packed_gather(p->queue, part, level_view(p, array, 0, count));
    for (size_t l = 1; l < p->desc.levels; ++l)
        mf_coarsen(p->queue, level_view(p, array, l - 1, count), level_view(p, array, l, count));
}

/* -- matching -- */

/* Arguments that settle the pulls of a level of a chunk. */
struct pulling {
    struct mf_patch_set slice, example;
    struct mf_patch_weight weight;
    const int *row, *column; /* [count][patches], [count][others] */
    unsigned long long *sums;
    float *pull;
    size_t size, pixels, rests; /* floats of a pull; pixels of the slice; sums of rests */
    double *part;               /* [count][phases][rests] */
};

__device__ size_t pixel(const struct mf_patch_set &set, int patch, int k)
{
    int u = patch / set.pv + k / SIDE, v = patch % set.pv + k % SIDE;

    u -= u >= set.nu ? set.nu : 0;
    v -= v >= set.nv ? set.nv : 0;
    return size_t(u) * size_t(set.nv) + size_t(v);
}

__device__ void add_grains(unsigned long long *to, double x)
{
    atomicAdd(to, static_cast<unsigned long long>(static_cast<long long>(nearbyint(x * GRAIN))));
}

/* Block (pixels of patches of the example, slice): they pull the slice's patches that are nearest to them. */
__global__ void __launch_bounds__(THREADS) push(struct pulling w)
{
    const size_t i = blockIdx.x * size_t(THREADS) + threadIdx.x, slice = blockIdx.y,
                 all = 2 * size_t(w.slice.phases) + 1;

    if (i >= w.example.count * PIXELS) return;
    const int q = int(i / PIXELS), k = int(i % PIXELS);
    const int p = w.column[slice * w.example.count + size_t(q)];
    unsigned long long *to = w.sums + slice * all * w.pixels + pixel(w.slice, p, k);
    const double weight = double(w.weight.at[k]);

    add_grains(to, weight);
    for (int f = 0; f < w.slice.phases; ++f) {
        const double x = double(w.example.x[size_t(f) * w.example.phase + pixel(w.example, q, k)]);

        add_grains(to + size_t(1 + 2 * f) * w.pixels, weight * x);
        add_grains(to + size_t(2 + 2 * f) * w.pixels, weight * x * x);
    }
}

/* Weight, mean and square of what pulls a pixel in phase f. */
struct pulled {
    double weight, one, two;
};

/* The slice's patches that have the pixel, each with what its neighbour has there, and what has been pushed. */
__device__ struct pulled pull_pixel(const struct pulling &w, size_t slice, size_t i, int f)
{
    const int u = int(i / size_t(w.slice.nv)), v = int(i % size_t(w.slice.nv));
    const float *x = w.example.x + size_t(f) * w.example.phase;
    const unsigned long long *pushed = w.sums + slice * (2 * size_t(w.slice.phases) + 1) * w.pixels + i;
    const double share = 1.0 / (double(w.example.count) * GRAIN);
    struct pulled sum = {0.0, 0.0, 0.0};

    for (int k = 0; k < PIXELS; ++k) {
        int pu = u - k / SIDE, pv = v - k % SIDE;

        pu += pu < 0 ? w.slice.nu : 0;
        pv += pv < 0 ? w.slice.nv : 0;
        if (pu >= w.slice.pu || pv >= w.slice.pv) continue;
        const int q = w.row[slice * w.slice.count + size_t(pu) * size_t(w.slice.pv) + size_t(pv)];
        const double at = double(x[pixel(w.example, q, k)]), weight = double(w.weight.at[k]);

        sum.weight += weight;
        sum.one += weight * at;
        sum.two += weight * at * at;
    }
    const double each = 1.0 / double(w.slice.count);

    return {each * sum.weight + share * double(pushed[0]),
            each * sum.one + share * double(pushed[size_t(1 + 2 * f) * w.pixels]),
            each * sum.two + share * double(pushed[size_t(2 + 2 * f) * w.pixels])};
}

/* Block (pixels, slice): sums of weights, of weighted neighbours and of their squares to A, M and parts of C. */
__global__ void __launch_bounds__(MF_PATCH_REST) settle(struct pulling w)
{
    MF_SHARED(double, shared);
    const size_t i = blockIdx.x * size_t(MF_PATCH_REST) + threadIdx.x, slice = blockIdx.y;
    float *pull = w.pull + slice * w.size;

    for (int f = 0; f < w.slice.phases; ++f) {
        double rest = 0.0;

        if (i < w.pixels) {
            const struct pulled sum = pull_pixel(w, slice, i, f);
            const double mean = sum.weight > 0.0 ? sum.one / sum.weight : 0.0;

            pull[i] = float(sum.weight);
            pull[size_t(1 + f) * w.pixels + i] = float(mean);
            rest = sum.two - sum.one * mean;
        }
        rest = mf_block_sum(rest, shared);
        if (threadIdx.x == 0) w.part[(slice * size_t(w.slice.phases) + size_t(f)) * w.rests + blockIdx.x] = rest;
    }
}

struct rest_body {
    struct pulling w;
    __device__ void operator()(size_t n) const
    {
        const size_t phases = size_t(w.slice.phases), slice = n / phases, f = n % phases;
        double rest = 0.0;

        for (size_t b = 0; b < w.rests; ++b) rest += w.part[n * w.rests + b];
        w.pull[slice * w.size + (1 + phases) * w.pixels + f] = float(rest > 0.0 ? rest : 0.0);
    }
};

/* Slices of a chunk, whose pixels are there, on one level. */
void match_level(struct mf_slice_plan *p, size_t l, size_t count, float *pull)
{
    const struct mf_patch_area *a = &p->areas.level[l];
    const struct mf_patch_image *image = &a->is.slice;
    const unsigned threads = THREADS, slices = unsigned(count);
    int *row = p->near, *column = row + count * a->patches;
    struct pulling w = {};

    w.slice = {level_view(p, 0, l, count).base,
               p->areas.numbers,
               int(p->areas.phases),
               int(image->nu),
               int(image->nv),
               int(image->pu),
               int(image->pv),
               a->patches,
               p->work,
               p->work + count * MF_PATCH_PARTS * a->patches};
    w.example = example_of(p, l);
    w.weight = p->weight;
    w.row = row;
    w.column = column;
    w.sums = p->sums;
    w.pull = pull + a->is.pull;
    w.size = p->areas.pull;
    w.pixels = a->is.pixels;
    w.rests = (w.pixels + MF_PATCH_REST - 1) / MF_PATCH_REST;
    w.part = p->part;
    mf_patch_project_set(p->queue, w.slice, count, p->axes + a->axes, p->weight);
    mf_patch_nearest_set(p->queue, w.slice, 0, w.example, 1, count, row);
    mf_patch_nearest_set(p->queue, w.example, 1, w.slice, 0, count, column);
    MF_CUDA(cudaMemsetAsync(p->sums, 0, count * (1 + 2 * p->areas.phases) * w.pixels * sizeof *p->sums,
                            mf_cuda_of(p->queue)->stream));
    MF_RUN(push, dim3(unsigned((a->others * PIXELS + threads - 1) / threads), slices), threads, 0, p->queue, w);
    MF_RUN(settle, dim3(unsigned(w.rests), slices), MF_PATCH_REST, sizeof(double) * MF_PATCH_REST, p->queue, w);
    mf_each(p->queue, count * p->areas.phases, rest_body{w});
}

void match(struct mf_slice_plan *p, const struct mf_view *x, float *pull)
{
    if (p->areas.pull == 0) return;
    for (size_t from = 0; from < x->count; from += p->areas.chunk) {
        const size_t left = x->count - from, count = left < p->areas.chunk ? left : p->areas.chunk;

        for (size_t f = 0; f < p->areas.phases; ++f) gather(p, x[f], from, count, f);
        for (size_t l = 0; l < p->desc.levels; ++l)
            if (p->areas.level[l].is.on) match_level(p, l, count, pull + from * p->areas.pull);
    }
}

/* -- values and gradients -- */

/* A chunk that is compared. */
struct comparison {
    struct mf_slice_task task; /* of the chunk's slices */
    double weight[MF_PYRAMID_MAX];
    size_t pull[MF_PYRAMID_MAX], pixels[MF_PYRAMID_MAX], filled[MF_PYRAMID_MAX]; /* filled: sums; 0: takes no part */
    size_t levels, first, phases, size, wide;                                    /* wide: most sums of a level */
    double *part, *slope; /* [count][levels][wide]; [count][levels] scale d|w D|^p/dE */
};

__device__ const float *strength_of(const struct comparison &c, size_t slice, size_t l)
{
    return c.task.pull + slice * c.size + c.pull[l];
}

/* Block (band, slice): A (x - M)^2 of a level. */
__global__ void __launch_bounds__(MF_CUDA_THREADS) mismatch(struct comparison c, size_t l, const float *x)
{
    MF_SHARED(double, shared);
    const size_t n = c.pixels[l], slice = blockIdx.y, from = blockIdx.x * size_t(MF_PATCH_BAND);
    const size_t to = n - from < MF_PATCH_BAND ? n : from + MF_PATCH_BAND;
    const float *strength = strength_of(c, slice, l), *mean = strength + (1 + c.task.phase) * n;
    double sum = 0.0;

    for (size_t i = from + threadIdx.x; i < to; i += blockDim.x) {
        const float d = x[slice * n + i] - mean[i];

        sum += double(strength[i] * d * d);
    }
    sum = mf_block_sum(sum, shared);
    if (threadIdx.x == 0) c.part[(slice * c.levels + l) * c.wide + blockIdx.x] = sum;
}

struct compare_body {
    struct comparison c;
    __device__ void operator()(size_t s) const
    {
        const double scale = c.task.scale ? c.task.scale[s] : 1.0;
        double sum = 0.0;

        for (size_t l = 0; l < c.levels; ++l) {
            const double w = c.weight[l];
            double e = c.filled[l] ? double(strength_of(c, s, l)[(1 + c.phases) * c.pixels[l] + c.task.phase]) : 0.0;

            for (size_t b = 0; b < c.filled[l]; ++b) e += c.part[(s * c.levels + l) * c.wide + b];
            const double d = sqrt(e);

            sum += mf_compare_loss(c.task.power, w * d);
            if (c.task.values && l >= c.first) c.task.values[s * c.levels + l] = float(d);
            c.slope[s * c.levels + l] = scale * (c.task.power == 2 ? w * w : d > 0.0 ? w / (2.0 * d) : 0.0);
        }
        if (c.task.sum) c.task.sum[s] = sum;
    }
};

/* Array g is dE/dx with the part of the coarser level. Array second is half its slope, which counts at level 0 for a
 * flip. */
struct gradient_body {
    struct comparison c;
    size_t l;
    struct mf_view x, g, second, coarse, coarse_second;
    __device__ void operator()(size_t s, size_t u, size_t v) const
    {
        const size_t i = u * x.nv + v, at = mf_at(x, s, u, v);
        float own = mf_from_coarse(coarse, s, u, v), half = 0.0f;

        if (second.base) half = 0.25f * mf_from_coarse(coarse_second, s, u, v);
        if (c.filled[l]) {
            const float *strength = strength_of(c, s, l), *mean = strength + (1 + c.task.phase) * c.pixels[l];
            const double slope = c.slope[s * c.levels + l];

            own += float(2.0 * slope) * strength[i] * (x.base[at] - mean[i]);
            half += float(slope) * strength[i];
        }
        if (second.base) second.base[at] = half;
        if (second.base && l == 0) own += half * (1.0f - 2.0f * x.base[at]);
        g.base[at] = own;
    }
};

struct comparison comparison_of(const struct mf_slice_plan *p, const struct mf_slice_task *task, size_t from,
                                size_t count)
{
    struct comparison c = {};

    c.task = *task;
    c.task.x.count = count;
    c.task.pull += from * p->areas.pull;
    if (c.task.scale) c.task.scale += from;
    if (c.task.sum) c.task.sum += from;
    if (c.task.values) c.task.values += from * p->desc.levels;
    for (size_t l = 0; l < p->desc.levels; ++l) {
        const struct mf_patch_level *is = &p->areas.level[l].is;

        c.weight[l] = task->weight[l];
        c.pull[l] = is->pull;
        c.pixels[l] = is->pixels;
        c.filled[l] = is->on ? (is->pixels + MF_PATCH_BAND - 1) / MF_PATCH_BAND : 0;
        if (c.filled[l] > c.wide) c.wide = c.filled[l];
    }
    c.levels = p->desc.levels;
    c.first = p->desc.first;
    c.phases = p->areas.phases;
    c.size = p->areas.pull;
    c.part = p->part;
    c.slope = p->slope;
    return c;
}

void gradients(const struct mf_slice_plan *p, const struct comparison &c, const struct mf_view &g, size_t count)
{
    for (size_t l = p->desc.levels; l-- > 0;) {
        const bool last = l + 1 == p->desc.levels;
        const struct mf_view to = level_view(p, 1, l, count), none = {};

        mf_pixels(p->queue, to,
                  gradient_body{c, l, level_view(p, 0, l, count), to, p->desc.flip ? level_view(p, 2, l, count) : none,
                                last ? none : level_view(p, 1, l + 1, count),
                                last || !p->desc.flip ? none : level_view(p, 2, l + 1, count)});
    }
    mf_packed_scatter(p->queue, g, level_view(p, 1, 0, count));
}

void eval(struct mf_slice_plan *p, const struct mf_slice_task *task)
{
    MF_ASSERT(task->x.count <= p->desc.count_max);
    MF_SPOIL(task->sum, task->sum ? task->x.count * sizeof *task->sum : 0);
    for (size_t from = 0; from < task->x.count; from += p->areas.chunk) {
        const size_t left = task->x.count - from, count = left < p->areas.chunk ? left : p->areas.chunk;
        const struct comparison c = comparison_of(p, task, from, count);
        struct mf_view g = task->g;

        gather(p, task->x, from, count, 0);
        for (size_t l = 0; l < p->desc.levels; ++l)
            if (c.filled[l])
                MF_RUN(mismatch, dim3(unsigned(c.filled[l]), unsigned(count)), MF_CUDA_THREADS,
                       sizeof(double[MF_CUDA_THREADS]), p->queue, c, l, level_view(p, 0, l, count).base);
        mf_each(p->queue, count, compare_body{c});
        if (!g.base) continue;
        g.base += from * g.ss;
        g.count = count;
        gradients(p, c, g, count);
    }
}

} // namespace

const struct mf_slice_ops mf_patch_cuda = {
    .kind = &mf_kind_patch,
    .family = nullptr,
    .shares = 0,
    .plan = plan_make,
    .free = plan_free,
    .eval = eval,
    .total = nullptr,
    .cross = nullptr,
    .join = nullptr,
    .pull = mf_patch_pull,
    .match = match,
    .memory = nullptr,
    .cost = nullptr,
};
