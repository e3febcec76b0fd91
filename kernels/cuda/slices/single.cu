/* See single.cuh. */
#include "kernels/cuda/slices/single.cuh"

#include <stdlib.h>

namespace
{

struct weights {
    double level[MF_PYRAMID_MAX];
};

/* The value of a level, by the threads of a warp. Lane i adds every 32nd band from i on, and lanes are added by a tree.
 * Lane 0 gets it. */
__device__ double value_of(const struct mf_single &p, size_t l, size_t s)
{
    const double *part = mf_single_part(p, l, s);
    double sum = 0.0;

    for (unsigned b = threadIdx.x % MF_CUDA_WARP; b < p.filled[l]; b += MF_CUDA_WARP) sum += part[b];
    return mf_single_tree(sum);
}

__device__ size_t own_warp() { return (blockIdx.x * size_t(blockDim.x) + threadIdx.x) / MF_CUDA_WARP; }

/* Warp s: slice s. */
__global__ void compare(struct mf_single p, struct mf_slice_task t, struct weights w)
{
    const size_t s = own_warp();
    const bool writes = threadIdx.x % MF_CUDA_WARP == 0;
    double sum = 0.0;

    if (s >= t.x.count) return;
    const double scale = t.scale ? t.scale[s] : 1.0;

    for (size_t l = 0; l < p.desc.levels; ++l) {
        double slope = 0.0;

        if (l >= p.desc.first) {
            const double d = value_of(p, l, s), e = w.level[l] * (d - double(t.target[l]));

            sum += mf_compare_loss(t.power, e);
            slope = scale * w.level[l] * mf_compare_slope(t.power, e);
            if (t.values && writes) t.values[s * p.desc.levels + l] = float(d);
            if (t.tally && writes && l == p.desc.first) mf_tally_add(t.tally, d);
        }
        if (writes) p.slope[l * p.desc.count_max + s] = slope;
    }
    if (t.sum && writes) t.sum[s] = sum;
}

/* Block l: level first + l; a warp adds every 8th slice. The grains make the sum exact, so one order is as good as any.
 */
__global__ void add(struct mf_single p, size_t count, double *total)
{
    const size_t l = p.desc.first + blockIdx.x;
    MF_SHARED(double, shared);
    double sum = 0.0;

    for (size_t s = threadIdx.x / MF_CUDA_WARP; s < count; s += blockDim.x / MF_CUDA_WARP)
        sum += mf_compare_grain(value_of(p, l, s));
    sum = mf_block_sum(threadIdx.x % MF_CUDA_WARP ? 0.0 : sum, shared);
    if (threadIdx.x == 0) total[l] += sum;
}

} // namespace

int mf_single_open(struct mf_single *p, struct mf_queue *q, const struct mf_slice_desc *desc, int pooled)
{
    struct mf_single_areas areas;

    mf_areas_single(desc, pooled, &areas);
    *p = {};
    p->desc = *desc;
    p->desc.count_max = areas.slices;
    p->bands = areas.bands;
    p->part = static_cast<double *>(mf_arena_take(q->arena, areas.part, "slice values"));
    p->slope = static_cast<double *>(mf_arena_take(q->arena, areas.slope, "slice values"));
    return p->part && p->slope ? MF_OK : MF_MEMORY;
}

void mf_single_close(struct mf_single *p, struct mf_queue *q)
{
    mf_arena_give(q->arena, p->slope);
    mf_arena_give(q->arena, p->part);
}

void mf_single_compare(const struct mf_single *p, struct mf_queue *q, const struct mf_slice_task *task)
{
    struct weights w = {};

    if (!task->x.count) return;
    for (size_t l = 0; l < p->desc.levels; ++l) w.level[l] = task->weight[l];
    MF_SPOIL(task->sum, task->sum ? task->x.count * sizeof *task->sum : 0);
    MF_RUN(compare, unsigned((task->x.count + 7) / 8), 8 * MF_CUDA_WARP, 0, q, *p, *task, w);
}

void mf_single_total(const struct mf_single *p, struct mf_queue *q, size_t count, double *total)
{
    if (!count) return;
    MF_RUN(add, unsigned(p->desc.levels - p->desc.first), MF_CUDA_THREADS, sizeof(double[MF_CUDA_THREADS]), q, *p,
           count, total);
}

const struct mf_slice_desc *mf_single_desc(const struct mf_slice_plan *plan) { return &plan->single.desc; }

void mf_single_free(struct mf_slice_plan *plan)
{
    if (!plan) return;
    mf_pyramid_close(&plan->pyramid, plan->queue);
    mf_single_close(&plan->single, plan->queue);
    free(plan);
}

int mf_single_plan(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc, int pooled,
                   struct mf_slice_plan **plan)
{
    struct mf_slice_plan *p;
    int rc;

    MF_TRY(mf_slices_check(desc));
    p = static_cast<struct mf_slice_plan *>(calloc(1, sizeof *p));
    if (!p) return mf_fail(MF_MEMORY, "no memory for a plan of %s", ops->kind->what);
    p->queue = queue;
    rc = mf_single_open(&p->single, queue, desc, pooled);
    if (rc == MF_OK && pooled) rc = mf_pyramid_open(&p->pyramid, queue, desc, p->single.desc.count_max);
    if (rc == MF_OK)
        *plan = p;
    else
        mf_single_free(p);
    return rc;
}
