/* See packed.cuh. */
#include "kernels/cuda/slices/packed.cuh"

#include <stdlib.h>

#include "kernels/cuda/pass.cuh"

struct mf_slice_plan {
    struct mf_queue *queue;
    struct mf_slice_desc desc;
    const struct mf_packed_family *family;
    struct mf_packed_areas areas;
    float *pixels;  /* [fields][x, g][levels][chunk][nu][nv] */
    double *value;  /* [chunk][levels][entries] D, then slopes */
    double *part;   /* [chunk][parts] */
    float *scratch; /* a job's */
    void *table;    /* the family's */
};

namespace
{

/* -- from any layout to packed slices, and back -- */

struct gather_body {
    struct mf_view x, to;
    __device__ void operator()(size_t s, size_t u, size_t v) const
    {
        to.base[mf_at(to, s, u, v)] = x.base[mf_at(x, s, u, v)];
    }
};

struct scatter_body {
    struct mf_view g, from;
    __device__ void operator()(size_t s, size_t u, size_t v) const
    {
        g.base[mf_at(g, s, u, v)] += from.base[mf_at(from, s, u, v)];
    }
};

/* Slices that lie side by side: block (32 slices, 32 columns, row), transposed in shared memory. BACK: x += packed. */
template <bool BACK> __global__ void transpose_tiles(struct mf_view x, struct mf_view packed)
{
    enum { SIDE = int(MF_TILE_FAST), PITCH = SIDE + 1 };
    MF_SHARED(float, tile); /* [column][PITCH] of slices */
    const size_t s0 = blockIdx.x * size_t(SIDE), v0 = blockIdx.y * size_t(SIDE);

    for (size_t u = blockIdx.z; u < x.nu; u += gridDim.z) {
        for (unsigned k = threadIdx.y; k < SIDE; k += blockDim.y) {
            const size_t s = s0 + (BACK ? k : threadIdx.x), v = v0 + (BACK ? threadIdx.x : k);
            const struct mf_view &from = BACK ? packed : x;

            if (s < x.count && v < x.nv) tile[(v - v0) * PITCH + (s - s0)] = from.base[mf_at(from, s, u, v)];
        }
        __syncthreads();
        for (unsigned k = threadIdx.y; k < SIDE; k += blockDim.y) {
            const size_t s = s0 + (BACK ? threadIdx.x : k), v = v0 + (BACK ? k : threadIdx.x);

            if (s >= x.count || v >= x.nv) continue;
            if (BACK)
                x.base[mf_at(x, s, u, v)] += tile[(v - v0) * PITCH + (s - s0)];
            else
                packed.base[mf_at(packed, s, u, v)] = tile[(v - v0) * PITCH + (s - s0)];
        }
        __syncthreads();
    }
}

template <bool BACK> void transpose(struct mf_queue *q, const struct mf_view &x, const struct mf_view &packed)
{
    const size_t side = MF_TILE_FAST;

    MF_RUN(transpose_tiles<BACK>,
           dim3(unsigned((x.count + side - 1) / side), unsigned((x.nv + side - 1) / side), mf_grid(x.nu, 1)),
           dim3(unsigned(side), unsigned(MF_TILE_MID)), sizeof(float) * side * (side + 1), q, x, packed);
}

/* -- comparison -- */

struct comparison {
    struct mf_slice_task task;
    double weight[MF_PYRAMID_MAX];
    size_t first, levels, entries, parts;
    double *value, *part;
};

/* Block (part, slice): the losses of some entries, whose slopes take the place of their values. */
__global__ void compare_part(struct comparison c)
{
    MF_SHARED(double, shared);
    const size_t s = blockIdx.y, n = c.levels * c.entries, from = blockIdx.x * size_t(MF_PACKED_PART);
    const size_t to = n - from < MF_PACKED_PART ? n : from + MF_PACKED_PART;
    const double scale = c.task.scale ? c.task.scale[s] : 1.0;
    double sum = 0.0;

    for (size_t i = from + threadIdx.x; i < to; i += blockDim.x) {
        const size_t l = i / c.entries;
        double *value = c.value + s * n + i;

        if (l < c.first) continue;
        const double d = *value, w = c.weight[l], e = w * (d - double(c.task.target[i]));

        sum += mf_compare_loss(c.task.power, e);
        *value = scale * w * mf_compare_slope(c.task.power, e);
        if (c.task.values) c.task.values[s * n + i] = float(d);
    }
    sum = mf_block_sum(sum, shared);
    if (threadIdx.x == 0) c.part[s * c.parts + blockIdx.x] = sum;
}

struct finish_body {
    const double *part;
    size_t parts;
    double *sum;
    __device__ void operator()(size_t s) const
    {
        double all = part[s * parts];

        for (size_t p = 1; p < parts; ++p) all += part[s * parts + p];
        sum[s] = all;
    }
};

struct total_body {
    const double *value;
    size_t count, stride, from;
    double most, *total;
    __device__ void operator()(size_t k) const
    {
        const size_t i = from + k;
        double sum = 0.0;

        for (size_t s = 0; s < count; ++s) sum += mf_compare_grain(value[s * stride + i] / most);
        total[i] += most * sum;
    }
};

/* -- plans -- */

int take(struct mf_slice_plan *p)
{
    const struct mf_packed_areas *a = &p->areas;
    struct mf_arena *arena = p->queue->arena;

    p->pixels = static_cast<float *>(mf_arena_take(arena, a->pixels, "slice rows"));
    p->value = static_cast<double *>(mf_arena_take(arena, a->value, "slice values"));
    p->part = static_cast<double *>(mf_arena_take(arena, a->part, "slice values"));
    p->scratch = static_cast<float *>(mf_arena_take(arena, a->scratch, "slice rows"));
    p->table = mf_arena_take(arena, a->table, "slice rows");
    return p->pixels && p->value && p->part && p->scratch && p->table ? MF_OK : MF_MEMORY;
}

int fill(struct mf_slice_plan *p)
{
    void *table;
    int rc;

    if (!p->family->fill) return MF_OK;
    table = malloc(p->areas.table);
    if (!table) return mf_fail(MF_MEMORY, "no memory for a plan of %s", p->family->memory->kind->what);
    rc = p->family->fill(&p->desc, table);
    if (rc == MF_OK) mf_backend_cuda.put(p->queue, p->table, table, p->areas.table);
    free(table);
    return rc;
}

/* -- a chunk of slices -- */

struct mf_view level_view(const struct mf_slice_plan *p, size_t array, size_t l, size_t count)
{
    const size_t nu = p->desc.nu >> l, nv = p->desc.nv >> l;

    return {p->pixels + array * p->areas.numbers + p->areas.from[l], count, nu, nv, nu * nv, nv, 1};
}

struct mf_packed_job job_of(struct mf_slice_plan *p, size_t l, size_t count)
{
    struct mf_packed_job j = {};
    const size_t fields = p->areas.fields;

    j.q = p->queue;
    j.desc = &p->desc;
    j.at.nu = int(p->desc.nu >> l);
    j.at.nv = int(p->desc.nv >> l);
    j.at.x = level_view(p, 0, l, count).base;
    j.at.g = level_view(p, 1, l, count).base;
    j.at.y = fields > 1 ? level_view(p, 2, l, count).base : nullptr;
    j.at.h = fields > 1 ? level_view(p, 3, l, count).base : nullptr;
    j.at.z = fields > 2 ? level_view(p, 4, l, count).base : nullptr;
    j.at.k = fields > 2 ? level_view(p, 5, l, count).base : nullptr;
    j.level = l;
    j.count = count;
    j.pixels = size_t(j.at.nu) * size_t(j.at.nv);
    j.entries = p->areas.entries;
    j.value = p->value + l * j.entries;
    j.stride = p->desc.levels * j.entries;
    j.scratch = p->scratch;
    j.table = p->table;
    return j;
}

/* Slices [from, from + count) of a view. */
struct mf_view part_of(const struct mf_view &x, size_t from, size_t count)
{
    struct mf_view v = x;

    if (v.base) v.base += from * x.ss;
    v.count = count;
    return v;
}

/* The same slices of the fields that are looked at together. */
struct fields {
    struct mf_view at[MF_PACKED_FIELDS];
};

/* Among those of a caller, all phases. */
struct fields fields_among(const struct mf_slice_plan *p, const struct mf_view *all)
{
    struct fields f = {};
    size_t field[MF_VGG_COLOURS];

    for (size_t k = 0, n = mf_vgg_colours(p->desc.phases, field); k < n; ++k) f.at[k] = all[field[k]];
    return f;
}

/* Slices [from, from + count). */
struct fields fields_part(const struct fields &x, size_t from, size_t count)
{
    return {{part_of(x.at[0], from, count), part_of(x.at[1], from, count), part_of(x.at[2], from, count)}};
}

/* All levels of the slices, and D of those that take part. */
void values(struct mf_slice_plan *p, const struct fields &x)
{
    const size_t count = x.at[0].count;

    for (size_t f = 0; f < p->areas.fields; ++f) {
        mf_packed_gather(p->queue, x.at[f], level_view(p, 2 * f, 0, count));
        for (size_t l = 1; l < p->desc.levels; ++l)
            mf_coarsen(p->queue, level_view(p, 2 * f, l - 1, count), level_view(p, 2 * f, l, count));
    }
    for (size_t l = p->desc.first; l < p->desc.levels; ++l) {
        const struct mf_packed_job job = job_of(p, l, count);

        p->family->value(&job);
    }
}

size_t chunk_of(const struct mf_slice_plan *p, size_t left) { return left < p->areas.chunk ? left : p->areas.chunk; }

void compare(struct mf_slice_plan *p, const struct mf_slice_task &t)
{
    const struct mf_packed_areas *a = &p->areas;
    struct comparison c = {};

    c.task = t;
    for (size_t l = 0; l < p->desc.levels; ++l) c.weight[l] = t.weight[l];
    c.first = p->desc.first;
    c.levels = p->desc.levels;
    c.entries = a->entries;
    c.parts = a->parts;
    c.value = p->value;
    c.part = p->part;
    MF_RUN(compare_part, dim3(unsigned(a->parts), unsigned(t.x.count)), MF_CUDA_THREADS,
           sizeof(double[MF_CUDA_THREADS]), p->queue, c);
    if (t.sum) mf_each(p->queue, t.x.count, finish_body{p->part, a->parts, t.sum});
}

/* From the coarsest level down; each begins with what the one before has for it. */
void gradients(struct mf_slice_plan *p, const struct fields &g)
{
    const size_t count = g.at[0].count, fields = p->areas.fields;

    for (size_t l = p->desc.levels; l-- > 0;) {
        const struct mf_packed_job job = job_of(p, l, count);

        for (size_t f = 0; f < fields; ++f)
            mf_pyramid_pass(p->queue, l + 1 < p->desc.levels ? level_view(p, 2 * f + 1, l + 1, count) : mf_view{},
                            level_view(p, 2 * f + 1, l, count), 0);
        if (l >= p->desc.first) p->family->gradient(&job);
    }
    for (size_t f = 0; f < fields; ++f) mf_packed_scatter(p->queue, g.at[f], level_view(p, 2 * f + 1, 0, count));
}

/* Targets of a chunk of slices. */
struct mf_slice_task task_of(const struct mf_slice_plan *p, const struct mf_slice_task *task, size_t from, size_t count)
{
    struct mf_slice_task t = *task;

    t.x.count = count;
    if (t.scale) t.scale += from;
    if (t.sum) t.sum += from;
    if (t.values) t.values += from * p->desc.levels * p->areas.entries;
    return t;
}

void total_of(struct mf_slice_plan *p, const struct fields &x, double *total)
{
    const size_t n = p->desc.levels * p->areas.entries, first = p->desc.first * p->areas.entries;

    MF_ASSERT(x.at[0].count <= p->desc.count_max);
    for (size_t from = 0, count; from < x.at[0].count; from += count) {
        count = chunk_of(p, x.at[0].count - from);
        values(p, fields_part(x, from, count));
        mf_each(p->queue, n - first, total_body{p->value, count, n, first, p->family->most, total});
    }
}

} // namespace

void mf_packed_gather(struct mf_queue *q, const struct mf_view &x, const struct mf_view &packed)
{
    if (mf_side_by_side(&x))
        transpose<false>(q, x, packed);
    else
        mf_pixels(q, packed, gather_body{x, packed});
}

void mf_packed_scatter(struct mf_queue *q, const struct mf_view &g, const struct mf_view &packed)
{
    if (mf_side_by_side(&g))
        transpose<true>(q, g, packed);
    else
        mf_pixels(q, packed, scatter_body{g, packed});
}

int mf_packed_plan(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
                   struct mf_slice_plan **plan)
{
    const struct mf_packed_family *family = static_cast<const struct mf_packed_family *>(ops->family);
    struct mf_slice_plan *p;
    int rc;

    MF_TRY(mf_slices_check(desc));
    p = static_cast<struct mf_slice_plan *>(calloc(1, sizeof *p));
    if (!p) return mf_fail(MF_MEMORY, "no memory for a plan of %s", family->memory->kind->what);
    rc = family->open ? family->open(queue, desc) : MF_OK;
    if (rc != MF_OK) {
        free(p);
        return rc;
    }
    p->queue = queue;
    p->desc = *desc;
    p->family = family;
    mf_areas_packed(desc, family->memory, &p->areas);
    rc = take(p);
    if (rc == MF_OK) rc = fill(p);
    if (rc == MF_OK)
        *plan = p;
    else
        mf_packed_free(p);
    return rc;
}

void mf_packed_free(struct mf_slice_plan *plan)
{
    struct mf_arena *arena;

    if (!plan) return;
    arena = plan->queue->arena;
    mf_arena_give(arena, plan->table);
    mf_arena_give(arena, plan->scratch);
    mf_arena_give(arena, plan->part);
    mf_arena_give(arena, plan->value);
    mf_arena_give(arena, plan->pixels);
    if (plan->family->close) plan->family->close(plan->queue, &plan->desc);
    free(plan);
}

void mf_packed_eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    const bool all = plan->family->memory->fields == MF_PACKED_ALL;
    const struct fields x = all ? fields_among(plan, task->fields) : fields{{task->x, task->y, {}}};
    const bool slopes = task->g.base != nullptr;
    const struct fields g = all && slopes ? fields_among(plan, task->slopes) : fields{{task->g, task->h, {}}};
    const size_t slices = task->x.count;

    MF_ASSERT(slices <= plan->desc.count_max && (!slopes || plan->family->gradient));
    MF_SPOIL(task->sum, task->sum ? slices * sizeof *task->sum : 0);
    for (size_t from = 0, count; from < slices; from += count) {
        count = chunk_of(plan, slices - from);
        values(plan, fields_part(x, from, count));
        compare(plan, task_of(plan, task, from, count));
        if (slopes) gradients(plan, fields_part(g, from, count));
    }
}

void mf_packed_total_pairs(struct mf_slice_plan *plan, const struct mf_view *x, const struct mf_view *y, double *total)
{
    MF_ASSERT(x->count == y->count);
    total_of(plan, {{*x, *y, {}}}, total);
}

void mf_packed_total(struct mf_slice_plan *plan, const struct mf_view *x, double *total)
{
    total_of(plan, {{*x, {}, {}}}, total);
}

void mf_packed_join(struct mf_slice_plan *plan, const struct mf_view *fields, double *total)
{
    total_of(plan, fields_among(plan, fields), total);
}
