/* S2 of slices: the table, plans, levels, and the sums made of single slices. The transforms are in corr_*.cu. */
#include <stdlib.h>

#include "kernels/cuda/corr.cuh"
#include "kernels/cuda/pass.cuh"

namespace
{

constexpr size_t CHUNK_BYTES = size_t(1) << 24;    /* about what total() holds of values */
constexpr size_t SPECTRUM_BYTES = size_t(1) << 26; /* about what waits of units in shared memory */

size_t entries(const struct mf_slice_desc *desc) { return (2 * desc->lag - 1) * (2 * desc->lag - 1); }

/* Smallest even number >= n with no prime factor above 5. */
int good(int n)
{
    for (int m = n + n % 2;; m += 2) {
        int r = m;

        while (r % 2 == 0) r /= 2;
        while (r % 3 == 0) r /= 3;
        while (r % 5 == 0) r /= 5;
        if (r == 1) return m;
    }
}

/* Extents of every level; refuses those on which a lag would meet itself. */
int extents(struct mf_slice_plan *plan)
{
    const struct mf_slice_desc *d = &plan->desc;

    for (size_t l = 0; l < d->levels; ++l) {
        struct mf_corr_level *at = &plan->level[l];
        const size_t nu = d->nu >> l, nv = d->nv >> l, least = d->periodic ? 2 * d->lag - 1 : d->lag;

        if (nu < least || nv < least)
            return mf_fail(MF_USAGE, "S2: lag %zu is too long for level %zu of a slice of %zu x %zu pixels", d->lag, l,
                           d->nu, d->nv);
        if (l >= d->first && (nu > 1 << 14 || nv > 1 << 14))
            return mf_fail(MF_USAGE, "S2: a slice of %zu x %zu pixels is too large for the cuda back end (16384)", nu,
                           nv);
        at->nu = at->mu = int(nu);
        at->nv = at->mv = int(nv);
        if (d->periodic) continue;
        at->mu = good(at->nu + int(d->lag) - 1);
        at->mv = good(at->nv + int(d->lag) - 1);
    }
    return MF_OK;
}

/* Units at a time: what the memory beside the engine holds. A batch of cuFFT is the same whatever is asked of the plan,
 * where bits may not depend on how slices were dealt out. */
size_t batch_of(const struct mf_slice_plan *plan, const struct mf_corr_level *level)
{
    const size_t bytes = size_t(level->mu) * size_t(level->mv) * sizeof(float2), most = plan->desc.count_max;
    const size_t room = level->block ? SPECTRUM_BYTES / bytes : mf_cuda_of(plan->queue)->cache / (2 * bytes);
    const size_t batch = room ? room : 1;

    return batch < most || (!level->block && plan->queue->deterministic) ? batch : most ? most : 1;
}

/* Engines of the levels that take part, and how much memory they share. */
int engines(struct mf_slice_plan *plan, size_t *spectra, size_t *windows, size_t *work)
{
    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l) {
        struct mf_corr_level *at = &plan->level[l];

        at->block = mf_corr_block_fits(plan->queue, at);
        at->batch = batch_of(plan, at);
        const size_t numbers = at->batch * size_t(at->mu) * size_t(at->mv);

        if (numbers > plan->numbers) plan->numbers = numbers;
        if (at->block) {
            MF_TRY(mf_corr_block_open(plan->queue, at));
            if (!*spectra) *spectra = 1;
        } else {
            MF_TRY(mf_corr_cufft_open(plan->queue, at, work));
            *spectra = 2;
            if (at->batch > *windows) *windows = at->batch;
        }
    }
    return MF_OK;
}

void *take(struct mf_slice_plan *plan, size_t bytes) { return mf_arena_take(plan->queue->arena, bytes, "S2 work"); }

int memory(struct mf_slice_plan *plan)
{
    const size_t count = plan->desc.count_max, each = plan->entries * plan->desc.levels * sizeof(float);
    size_t spectra = 0, windows = 0, work = 0, bytes;

    plan->chunk = CHUNK_BYTES / each / 2 * 2;
    if (plan->chunk > count) plan->chunk = count + count % 2;
    if (plan->chunk < 2) plan->chunk = 2;
    MF_TRY(engines(plan, &spectra, &windows, &work));
    bytes = spectra * plan->numbers * sizeof(float2);
    plan->scale = static_cast<double *>(take(plan, count * sizeof(double)));
    plan->loss = static_cast<double *>(take(plan, plan->desc.levels * count * sizeof(double)));
    plan->values = static_cast<float *>(take(plan, plan->chunk * each));
    plan->spectrum = static_cast<float2 *>(take(plan, bytes));
    plan->window = static_cast<float2 *>(take(plan, windows * plan->entries * sizeof(float2)));
    plan->work = take(plan, work);
    if (!plan->scale || !plan->loss || !plan->values || !plan->spectrum || !plan->window || !plan->work)
        return MF_MEMORY;
    MF_CUDA(cudaMemsetAsync(plan->spectrum, 0, bytes, mf_cuda_of(plan->queue)->stream));
    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l)
        if (!plan->level[l].block) mf_corr_cufft_work(plan, &plan->level[l]);
    return mf_pyramid_open(&plan->pyramid, plan->queue, &plan->desc, 2);
}

void corr_free(struct mf_slice_plan *plan)
{
    struct mf_arena *arena;

    if (!plan) return;
    arena = plan->queue->arena;
    mf_backend_cuda.sync(plan->queue);
    mf_pyramid_close(&plan->pyramid, plan->queue);
    for (size_t l = 0; l < plan->desc.levels; ++l) {
        mf_corr_cufft_close(&plan->level[l]);
        mf_corr_block_close(plan->queue, &plan->level[l]);
    }
    mf_arena_give(arena, plan->work);
    mf_arena_give(arena, plan->window);
    mf_arena_give(arena, plan->spectrum);
    mf_arena_give(arena, plan->values);
    mf_arena_give(arena, plan->loss);
    mf_arena_give(arena, plan->scale);
    free(plan);
}

int corr_plan(struct mf_queue *queue, const struct mf_slice_desc *desc, struct mf_slice_plan **out)
{
    struct mf_slice_plan *plan = static_cast<struct mf_slice_plan *>(calloc(1, sizeof *plan));
    int rc;

    MF_ASSERT(desc->lag > 0 && desc->first < desc->levels && desc->levels <= MF_PYRAMID_MAX);
    if (!plan) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    plan->queue = queue;
    plan->desc = *desc;
    plan->entries = entries(desc);
    rc = extents(plan);
    if (rc == MF_OK) rc = memory(plan);
    if (rc == MF_OK)
        *out = plan;
    else
        corr_free(plan);
    return rc;
}

/* -- evaluation -- */

struct finish_body {
    const double *loss; /* [levels][count_max] */
    size_t first, levels, count_max;
    double *sum;
    __device__ void operator()(size_t s) const
    {
        double all = 0.0;

        for (size_t l = first; l < levels; ++l) all += loss[l * count_max + s];
        sum[s] = all;
    }
};

void check(const struct mf_slice_plan *plan, const struct mf_view *x)
{
    MF_ASSERT(x->nu == plan->desc.nu && x->nv == plan->desc.nv && x->count <= plan->desc.count_max);
    MF_ASSERT(x->ss == 1 || x->sv == 1 || x->su == 1);
}

struct mf_corr_job job_of(struct mf_slice_plan *plan, const struct mf_slice_task *t, const struct mf_view *y, size_t l)
{
    const struct mf_corr_level *at = &plan->level[l];
    struct mf_corr_job j = {};

    j.x = mf_pyramid_view(&plan->pyramid, &t->x, l, 0);
    if (y) j.y = mf_pyramid_view(&plan->pyramid, y, l, 1);
    if (t->g.base) j.g = mf_pyramid_gradient(&plan->pyramid, &t->g, l);
    if (t->g.base && l + 1 < plan->desc.levels) j.coarse = mf_pyramid_gradient(&plan->pyramid, &t->g, l + 1);
    j.add = l == 0;
    j.nu = at->nu;
    j.nv = at->nv;
    j.mu = at->mu;
    j.mv = at->mv;
    j.lag = int(plan->desc.lag);
    j.periodic = plan->desc.periodic;
    j.target = t->target ? t->target + l * plan->entries : nullptr;
    j.weight = t->target ? t->weight[l] : 0.0;
    j.scale = t->scale ? plan->scale : nullptr;
    j.power = t->power;
    j.loss = plan->loss + l * plan->desc.count_max;
    j.values = t->values ? t->values + l * plan->entries : nullptr;
    j.stride = plan->desc.levels * plan->entries;
    j.units = y ? t->x.count : (t->x.count + 1) / 2;
    return j;
}

/* From the coarsest level down: each gradient takes what the one before has for it. */
void run(struct mf_slice_plan *plan, const struct mf_slice_task *t, const struct mf_view *y)
{
    if (!t->x.count) return;
    mf_pyramid_pool(&plan->pyramid, plan->queue, &t->x, 0);
    if (y) mf_pyramid_pool(&plan->pyramid, plan->queue, y, 1);
    for (size_t l = plan->desc.levels; l-- > plan->desc.first;) {
        const struct mf_corr_job job = job_of(plan, t, y, l);

        (plan->level[l].block ? mf_corr_block_run : mf_corr_cufft_run)(plan, l, job);
    }
    for (size_t l = plan->desc.first; t->g.base && l-- > 0;)
        mf_pyramid_pass(plan->queue, mf_pyramid_gradient(&plan->pyramid, &t->g, l + 1),
                        mf_pyramid_gradient(&plan->pyramid, &t->g, l), l == 0);
}

void corr_eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    const size_t count = task->x.count;

    check(plan, &task->x);
    MF_ASSERT(task->power == 1 || task->power == 2);
    if (task->g.base) {
        check(plan, &task->g);
        MF_ASSERT(task->g.count == count);
    }
    if (!count) return;
    MF_SPOIL(task->sum, task->sum ? count * sizeof *task->sum : 0);
    if (task->scale)
        MF_CUDA(cudaMemcpyAsync(plan->scale, task->scale, count * sizeof(double), cudaMemcpyHostToDevice,
                                mf_cuda_of(plan->queue)->stream));
    run(plan, task, nullptr);
    if (task->sum)
        mf_each(plan->queue, count,
                finish_body{plan->loss, plan->desc.first, plan->desc.levels, plan->desc.count_max, task->sum});
}

/* -- totals -- */

struct total_body {
    const float *values; /* [count][size] */
    size_t count, from, size;
    double *total;
    __device__ void operator()(size_t k) const
    {
        const size_t i = from + k;
        double sum = 0.0;

        for (size_t s = 0; s < count; ++s) sum += double(values[s * size + i]);
        total[i] += sum;
    }
};

/* Slices [at, at + n) of a view, n at most `most`. */
struct mf_view part(const struct mf_view *x, size_t at, size_t most)
{
    struct mf_view v = *x;

    v.base += at * x->ss;
    v.count = x->count - at < most ? x->count - at : most;
    return v;
}

void add(struct mf_slice_plan *plan, const struct mf_view *x, const struct mf_view *y, double *total)
{
    const size_t size = plan->desc.levels * plan->entries, from = plan->desc.first * plan->entries;

    for (size_t at = 0; at < x->count; at += plan->chunk) {
        struct mf_slice_task task = {};
        struct mf_view second = y ? part(y, at, plan->chunk) : mf_view{};

        task.x = part(x, at, plan->chunk);
        task.power = 2;
        task.values = plan->values;
        run(plan, &task, y ? &second : nullptr);
        mf_each(plan->queue, size - from, total_body{plan->values, task.x.count, from, size, total});
    }
}

void corr_total(struct mf_slice_plan *plan, const struct mf_view *x, double *total)
{
    check(plan, x);
    add(plan, x, nullptr, total);
}

void corr_cross(struct mf_slice_plan *plan, const struct mf_view *a, const struct mf_view *b, double *total)
{
    check(plan, a);
    check(plan, b);
    MF_ASSERT(a->count == b->count);
    add(plan, a, b, total);
}

} // namespace

const struct mf_slice_ops mf_corr_cuda = {
    .name = "S2",
    .entries = entries,
    .plan = corr_plan,
    .free = corr_free,
    .eval = corr_eval,
    .total = corr_total,
    .cross = corr_cross,
};
