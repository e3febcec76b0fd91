/* S2 of slices: the table, plans, and what a launch works on. Tasks that are asked for together share launches, with
 * Variation of the same slices. The kernels are in corr_*.cu. */
#include <stdlib.h>

#include "kernels/cuda/pass.cuh"
#include "kernels/cuda/slices/corr.cuh"

namespace
{

void *take(struct mf_slice_plan *plan, size_t bytes) { return mf_arena_take(plan->queue->arena, bytes, "S2 work"); }

int memory(struct mf_slice_plan *plan)
{
    const struct mf_corr_areas *a = &plan->areas;

    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l)
        MF_TRY(mf_corr_lines_open(plan->queue, &a->level[l], &plan->line[l], &plan->tables[l]));
    plan->loss = static_cast<double *>(take(plan, a->loss));
    plan->values = static_cast<float *>(take(plan, a->values));
    plan->lines = static_cast<float2 *>(take(plan, a->lines));
    plan->jumps = static_cast<long long *>(take(plan, a->jumps));
    plan->slopes = static_cast<float2 *>(take(plan, a->slope));
    if (!plan->loss || !plan->values || !plan->lines || !plan->jumps || !plan->slopes) return MF_MEMORY;
    MF_TRY(mf_pyramid_open(&plan->pyramid, plan->queue, &plan->desc, a->slices));
    plan->second = plan->pyramid;
    plan->second.x = plan->pyramid.g;
    plan->second.g = plan->pyramid.x;
    return MF_OK;
}

void corr_free(struct mf_slice_plan *plan)
{
    struct mf_arena *arena;

    if (!plan) return;
    arena = plan->queue->arena;
    mf_backend_cuda.sync(plan->queue);
    mf_pyramid_close(&plan->pyramid, plan->queue);
    for (size_t l = 0; l < plan->desc.levels; ++l) mf_arena_give(arena, plan->tables[l]);
    mf_arena_give(arena, plan->slopes);
    mf_arena_give(arena, plan->jumps);
    mf_arena_give(arena, plan->lines);
    mf_arena_give(arena, plan->values);
    mf_arena_give(arena, plan->loss);
    free(plan);
}

int corr_plan(const struct mf_slice_ops *, struct mf_queue *queue, const struct mf_slice_desc *desc,
              struct mf_slice_plan **out)
{
    struct mf_slice_plan *plan = static_cast<struct mf_slice_plan *>(calloc(1, sizeof *plan));
    int rc;

    if (!plan) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    plan->queue = queue;
    plan->desc = *desc;
    rc = mf_areas_corr(desc, mf_cuda_of(queue)->shared, &plan->areas);
    if (rc == MF_OK) rc = memory(plan);
    if (rc == MF_OK)
        *out = plan;
    else
        corr_free(plan);
    return rc;
}

/* -- what launches work on -- */

/* Slices of a task, on their way through a plan. */
struct batch {
    struct mf_slice_plan *plan;
    struct mf_slice_task task;
    const struct mf_view *y;               /* the second field of a cross-correlation */
    const struct mf_slice_call *variation; /* Variation of the same slices; NULL: none */
    size_t done, most, slot;               /* slices that are done; at a time; the first one's slot */
    int order;                             /* gradients that share memory are added by launches in this order */
};

void check(const struct mf_slice_plan *plan, const struct mf_view *x)
{
    MF_ASSERT(x->nu == plan->desc.nu && x->nv == plan->desc.nv && x->count <= plan->desc.count_max);
    MF_ASSERT(x->ss == 1 || x->sv == 1 || x->su == 1);
}

/* Targets of the entries of level l. */
struct mf_corr_comparison comparison_of(const struct batch &b, const struct mf_slice_task &t, size_t l, size_t entries)
{
    const size_t stride = b.plan->desc.levels * entries;
    struct mf_corr_comparison a = {};

    a.target = t.target ? t.target + l * entries : nullptr;
    a.weight = t.target ? t.weight[l] : 0.0;
    a.scale = t.scale ? t.scale + b.done : nullptr;
    a.power = t.power;
    a.values = t.values ? t.values + b.done * stride + l * entries : nullptr;
    a.tally = l == b.plan->desc.first ? t.tally : nullptr;
    a.stride = stride;
    a.sum = t.sum && l == b.plan->desc.first ? t.sum + b.done : nullptr;
    return a;
}

struct mf_corr_variation variation_of(const struct batch &b, size_t l, const struct mf_view &x)
{
    const struct mf_slice_plan *p = b.plan;
    const size_t at = l * p->areas.slices + b.slot;
    struct mf_corr_variation v = {};

    if (!b.variation) return v;
    v.wanted = 1;
    v.jumps = mf_jumps_of(mf_single_desc(b.variation->plan), x);
    v.comparison = comparison_of(b, b.variation->task, l, 1);
    v.comparison.blocks = 1;
    v.comparison.loss = reinterpret_cast<double *>(p->slopes + p->desc.levels * p->areas.slices) + at;
    v.sums = p->jumps + p->areas.level[l].jumps + b.slot * ((x.nu + 1) / 2 * 2);
    v.slopes = p->slopes + at;
    return v;
}

/* Where level l of these slots is in the memory of the plan. */
void place(const struct batch &b, size_t l, struct mf_corr_level *w)
{
    const struct mf_slice_plan *p = b.plan;
    const struct mf_corr_area *at = &p->areas.level[l];
    const size_t rows = size_t(at->nu) * size_t(at->bins), numbers = p->areas.slices * rows;

    w->slots = p->areas.slices;
    w->line = p->line[l];
    w->shared = unsigned(at->shared);
    w->window = unsigned(at->window);
    w->shift = at->shift;
    w->bins = at->bins;
    w->pitch = mf_line_pitch(at->mv);
    w->chunk = at->chunk;
    w->chunks = at->chunks;
    w->depth = p->areas.depth * p->areas.groups;
    w->spectrum = p->lines + at->from + b.slot * rows;
    w->back = w->spectrum + numbers;
    w->sums = p->lines + at->from + 2 * numbers + b.slot * size_t(at->chunks) * size_t(w->depth) * size_t(at->bins);
    w->early = mf_corr_continued(*w) ? w->back : w->spectrum;
    w->late = w->spectrum;
    w->comparison.blocks = p->areas.blocks;
    w->comparison.loss = p->loss + l * p->areas.blocks * p->areas.slices + b.slot;
}

struct mf_corr_slices slices_of(const struct mf_view &v)
{
    MF_ASSERT(v.ss <= UINT32_MAX && v.su <= UINT32_MAX && v.sv <= UINT32_MAX);
    return {v.base, unsigned(v.count), unsigned(v.nu), unsigned(v.nv), unsigned(v.ss), unsigned(v.su), unsigned(v.sv)};
}

struct mf_corr_level level_of(const struct batch &b, size_t l)
{
    const struct mf_slice_plan *p = b.plan;
    const struct mf_view x = mf_view_part(&b.task.x, b.done, b.most), g = mf_view_part(&b.task.g, b.done, b.most);
    struct mf_corr_level w = {};

    w.x = slices_of(mf_pyramid_view(&p->pyramid, &x, l, b.slot));
    if (b.y) {
        const struct mf_view y = mf_view_part(b.y, b.done, b.most);

        w.y = slices_of(mf_pyramid_view(&p->second, &y, l, b.slot));
    }
    w.g = slices_of(mf_pyramid_gradient(&p->pyramid, &g, l, b.slot));
    w.add = l == 0;
    w.finest = l == p->desc.first;
    w.coarser = int(p->desc.levels - 1 - l);
    w.order = b.order;
    w.nu = int(w.x.nu);
    w.nv = int(w.x.nv);
    w.lag = int(p->desc.lag);
    w.periodic = p->desc.periodic;
    w.comparison = comparison_of(b, b.task, l, p->areas.entries);
    w.variation = variation_of(b, l, mf_pyramid_view(&p->pyramid, &x, l, b.slot));
    place(b, l, &w);
    return w;
}

/* -- rounds: the next slices of several batches -- */

/* How many batches have this plan. */
size_t same(const struct batch *batch, size_t n, const struct mf_slice_plan *plan)
{
    size_t k = 0;

    for (size_t i = 0; i < n; ++i) k += batch[i].plan == plan;
    return k;
}

/* How many of the batches share launches: those that fit into a table, with two slots each, and are alike. */
size_t fitting(const struct batch *batch, size_t n)
{
    const struct mf_corr_areas *one = &batch->plan->areas;
    size_t levels = 0, k = 0;

    for (; k < n; ++k) {
        const struct mf_slice_plan *p = batch[k].plan;

        levels += p->desc.levels - p->desc.first;
        if (k > 0 &&
            (levels > size_t(MF_CORR_TABLE) || p->areas.depth != one->depth || p->areas.groups != one->groups ||
             !batch[k].task.g.base != !batch->task.g.base || 2 * same(batch, k + 1, p) > p->areas.slices))
            break;
    }
    return k;
}

/* Batches with one plan share its slots. */
void share_slots(struct batch *batch, size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        batch[i].most = batch[i].plan->areas.slices / same(batch, n, batch[i].plan) / 2 * 2;
        batch[i].slot = same(batch, i, batch[i].plan) * batch[i].most;
    }
}

/* Pooled levels of the next slices of all batches. */
void fill(struct mf_queue *q, const struct batch *batch, size_t n)
{
    for (size_t from = 0, more = 1; more; from += MF_POOL_LEVELS) {
        struct mf_pool job[MF_POOLS] = {};
        int jobs = 0;

        more = 0;
        for (size_t i = 0; i < n; ++i)
            for (int second = 0; second < (batch[i].y ? 2 : 1); ++second) {
                const struct mf_slice_plan *p = batch[i].plan;
                const struct mf_view x =
                    mf_view_part(second ? batch[i].y : &batch[i].task.x, batch[i].done, batch[i].most);

                if (from + 1 >= p->desc.levels || !x.count) continue;
                job[jobs++] = mf_pyramid_pool(second ? &p->second : &p->pyramid, &x, from, batch[i].slot);
                more = 1;
            }
        mf_pool_run(q, job, jobs);
    }
}

/* Levels that take no part pass the gradient on. */
void pass(struct mf_queue *q, const struct batch &b)
{
    const struct mf_pyramid *p = &b.plan->pyramid;
    const struct mf_view g = mf_view_part(&b.task.g, b.done, b.most);

    for (size_t l = b.plan->desc.first; g.base && l-- > 0;)
        mf_pyramid_pass(q, mf_pyramid_gradient(p, &g, l + 1, b.slot), mf_pyramid_gradient(p, &g, l, b.slot), l == 0);
}

/* Thread s of a finest level: the sum of the losses of slice s at all levels. */
__global__ void finish(const __grid_constant__ struct mf_corr_table t)
{
    unsigned block;
    const struct mf_corr_level *w = &mf_corr_own(t, &block);
    const unsigned s = block * blockDim.x + threadIdx.x;
    double sum = 0.0, variation = 0.0;

    if (s >= w->x.count) return;
    for (int l = 0; l <= w->coarser; ++l) {
        for (size_t i = 0; i < w->comparison.blocks; ++i) sum += w[l].comparison.loss[i * w->slots + s];
        if (w->variation.wanted) variation += w[l].variation.comparison.loss[s];
    }
    if (w->comparison.sum) w->comparison.sum[s] = sum;
    if (w->variation.comparison.sum) w->variation.comparison.sum[s] = variation;
}

void run_finish(struct mf_queue *q, struct mf_corr_table *t)
{
    const unsigned each = MF_CUDA_THREADS, blocks = mf_corr_number(t, [&](const struct mf_corr_level &w) {
                                               return w.finest && (w.comparison.sum || w.variation.comparison.sum)
                                                          ? (unsigned(w.x.count) + each - 1) / each
                                                          : 0;
                                           });

    if (blocks) MF_RUN(finish, blocks, each, 0, q, *t);
}

/* The next slices of all batches; 0: none are left. */
int run_next(struct mf_queue *q, struct batch *batch, size_t n)
{
    const struct mf_corr_areas *areas = &batch->plan->areas;
    struct mf_corr_table t = {};

    for (size_t i = 0; i < n; ++i)
        for (size_t l = batch[i].plan->desc.first;
             batch[i].done < batch[i].task.x.count && l < batch[i].plan->desc.levels; ++l)
            t.level[t.count++] = level_of(batch[i], l);
    if (!t.count) return 0;
    fill(q, batch, n);
    mf_corr_run(q, &t, areas->depth, areas->groups);
    run_finish(q, &t);
    for (size_t i = 0; i < n; ++i) {
        pass(q, batch[i]);
        batch[i].done += mf_view_part(&batch[i].task.x, batch[i].done, batch[i].most).count;
    }
    return 1;
}

void run(struct mf_queue *q, struct batch *batch, size_t n)
{
    for (size_t k; n > 0; batch += k, n -= k) {
        k = fitting(batch, n);
        share_slots(batch, k);
        while (run_next(q, batch, k)) continue;
    }
}

struct batch batch_of(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    struct batch b = {};

    check(plan, &task->x);
    MF_ASSERT(task->power == 1 || task->power == 2);
    if (task->g.base) {
        check(plan, &task->g);
        MF_ASSERT(task->g.count == task->x.count);
    }
    b.plan = plan;
    b.task = *task;
    MF_SPOIL(task->sum, task->sum ? task->x.count * sizeof *task->sum : 0);
    return b;
}

void corr_eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    struct batch b = batch_of(plan, task);

    run(plan->queue, &b, 1);
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

void add(struct mf_slice_plan *plan, const struct mf_view *x, const struct mf_view *y, double *total)
{
    const size_t size = plan->desc.levels * plan->areas.entries, from = plan->desc.first * plan->areas.entries;

    for (size_t at = 0; at < x->count; at += plan->areas.chunk) {
        struct mf_slice_task task = {};
        const struct mf_view second = y ? mf_view_part(y, at, plan->areas.chunk) : mf_view{};

        task.x = mf_view_part(x, at, plan->areas.chunk);
        task.power = 2;
        task.values = plan->values;
        struct batch b = batch_of(plan, &task);

        if (y) b.y = &second;
        run(plan->queue, &b, 1);
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
    .kind = &mf_kind_corr,
    .family = nullptr,
    .shares = 0,
    .plan = corr_plan,
    .free = corr_free,
    .eval = corr_eval,
    .total = corr_total,
    .cross = corr_cross,
    .join = nullptr,
    .pull = nullptr,
    .match = nullptr,
    .memory = nullptr,
    .cost = nullptr,
};

/* -- several tasks -- */

namespace
{

bool same_view(const struct mf_view &a, const struct mf_view &b)
{
    return a.base == b.base && a.count == b.count && a.ss == b.ss && a.su == b.su && a.sv == b.sv;
}

/* Does this call of Variation go with that of S2? */
bool goes_along(const struct mf_slice_call &vari, const struct mf_slice_call &corr)
{
    if (vari.ops != &mf_vari_cuda || corr.ops != &mf_corr_cuda) return false;
    const struct mf_slice_desc *a = mf_single_desc(vari.plan), *b = &corr.plan->desc;

    return a->levels == b->levels && a->first == b->first && a->periodic == b->periodic && vari.task.target &&
           corr.task.target && same_view(vari.task.x, corr.task.x) && same_view(vari.task.g, corr.task.g);
}

/* The number after the last pixel of a view. */
const float *end_of(const struct mf_view &v)
{
    return v.base + (v.count - 1) * v.ss + (v.nu - 1) * v.su + (v.nv - 1) * v.sv + 1;
}

/* May they share memory? Views whose pixels lie between each other's count as well. */
bool overlap(const struct mf_view &a, const struct mf_view &b)
{
    return a.base && b.base && a.count && b.count && a.base < end_of(b) && b.base < end_of(a);
}

/* Gradients that share memory are added in the order of their batches. */
int order_of(const struct batch *batch, size_t k)
{
    int order = 0;

    for (size_t i = 0; i < k; ++i)
        if (overlap(batch[i].task.g, batch[k].task.g) && batch[i].order >= order) order = batch[i].order + 1;
    return order;
}

/* A call's batch, with Variation of the same slices if it is among the calls. */
struct batch with_variation(const struct mf_slice_call *call, size_t calls, size_t k)
{
    struct batch b = batch_of(call[k].plan, &call[k].task);

    for (size_t v = 0; v < calls && !b.variation; ++v)
        if (goes_along(call[v], call[k])) b.variation = &call[v];
    if (b.variation) MF_SPOIL(b.variation->task.sum, b.variation->task.sum ? b.task.x.count * sizeof(double) : 0);
    return b;
}

constexpr size_t MOST = 3 * MF_CORR_TABLE; /* calls of S2 at a time */

bool is_taken(const struct batch *batch, size_t n, const struct mf_slice_call *call)
{
    for (size_t i = 0; i < n; ++i)
        if (batch[i].variation == call) return true;
    return call->ops == &mf_corr_cuda;
}

} // namespace

void mf_slices_all(struct mf_queue *q, const struct mf_slice_call *call, size_t calls)
{
    struct batch batch[MOST];
    size_t n = 0;

    if (calls > MOST) {
        mf_slices_all(q, call, MOST);
        mf_slices_all(q, call + MOST, calls - MOST);
        return;
    }
    for (size_t k = 0; k < calls; ++k) {
        if (call[k].ops != &mf_corr_cuda) continue;
        batch[n] = with_variation(call, calls, k);
        batch[n].order = order_of(batch, n);
        ++n;
    }
    for (size_t k = 0; k < calls; ++k)
        if (!is_taken(batch, n, &call[k])) call[k].ops->eval(call[k].plan, &call[k].task);
    run(q, batch, n);
}
