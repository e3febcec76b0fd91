/* Engine `lanes` of S2: plans and distributes the work of lanes_text.c. */
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/slices/lanes.h"
#include "src/base/bounds.h"
#include "src/base/cut.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

enum {
    TOGETHER = 256 * 256, /* pixels from which threads share a pair */
    LINES = 5             /* of a thread: see struct mf_lanes_area */
};

struct state {
    struct mf_lanes_level *level; /* [levels] */
    struct mf_line *line;         /* [2 levels] along u, along v */
    float *norms, *targets;       /* of all levels; level[l].norm, .target point into them */
    size_t windows;               /* floats of each */
    float *memory;                /* areas, then all threads' lines; what is read of it was written before */
    size_t areas;                 /* as many as there may be batches at a time */
    size_t planes, each;          /* floats: a pair's planes; an area */
    size_t spectrum, window, sums, energy, longest;
    size_t pairs; /* most pairs of a batch */
};

static const struct mf_lanes_text *text_of(const struct mf_slice_plan *plan) { return plan->engine->text; }

static size_t blocks(size_t n, size_t w) { return (n + w - 1) / w; }

/* Shape of a level in cells. Distances between blocks are odd, so that they do not fall into the same cache sets. */
static void shape(struct mf_slice_plan *plan, size_t i)
{
    struct state *st = plan->state;
    const struct mf_corr_level *from = &plan->level[i];
    const size_t w = text_of(plan)->width;
    struct mf_lanes_level *l = &st->level[i];

    *l = (struct mf_lanes_level){.nu = from->nu, .nv = from->nv, .mu = from->mu, .mv = from->mv, .lag = plan->desc.lag};
    l->vb = blocks(l->nv, w);
    l->zs = l->mu | 1;
    l->slots = (l->mu + 1) / 2;
    l->blocks = blocks(l->slots, w);
    l->xs = blocks(l->mv, w) * w | 1;
    l->wb = blocks(l->lag, w);
    l->plane = l->vb * l->zs;
    l->spectrum = 2 * l->blocks * l->xs;
    l->along_u = &st->line[2 * i];
    l->along_v = &st->line[2 * i + 1];
    st->planes += l->plane * 2 * w;
    st->windows += (2 * l->lag - 1) * l->wb * w;
    if (i < plan->desc.first) return;
    l->energy = st->energy / w;
    st->energy += l->spectrum * w;
    st->spectrum = mf_max(st->spectrum, l->spectrum * 2 * w);
    st->window = mf_max(st->window, l->wb * l->mu * 2 * w);
    st->longest = mf_max(st->longest, mf_max(l->mu, l->xs) * 2 * w);
}

/* norm [2L-1][wb w] of every level: 1 / (pairs mu mv 4), 0 beyond the lags. */
static void norms(struct mf_slice_plan *plan, float *at)
{
    struct state *st = plan->state;
    const size_t lag = plan->desc.lag, w = text_of(plan)->width;

    for (size_t i = 0; i < plan->desc.levels; ++i) {
        struct mf_lanes_level *l = &st->level[i];

        l->norm = at;
        l->target = at + (st->targets - st->norms);
        for (size_t u = 0; u < 2 * lag - 1; ++u)
            for (size_t v = 0; v < l->wb * w; ++v, ++at) {
                const size_t du = u + 1 < lag ? lag - 1 - u : u + 1 - lag;
                const double fft = 0.25 / ((double)l->mu * (double)l->mv);

                *at = v < lag ? (float)(fft * mf_corr_norm(&plan->desc, &plan->level[i], du, v)) : 0;
            }
    }
}

/* Pairs of a batch where slices lie side by side in memory: several are read together. */
static size_t side_by_side(const struct mf_slice_plan *plan, size_t pairs, size_t most_pairs)
{
    const size_t fair = blocks(pairs, (size_t)plan->threads);

    for (size_t n = MF_LANES_PAIRS; n > 1; n /= 2)
        if (n <= most_pairs && n <= fair) return n;
    return 1;
}

/* The areas are not cleared: pages that no batch reaches stay untouched. */
static int memory(struct mf_slice_plan *plan)
{
    const size_t pairs = (plan->desc.count_max + 1) / 2, threads = (size_t)plan->threads;
    struct state *st = plan->state;

    st->areas = pairs < threads ? mf_max(pairs, 1) : threads;
    st->pairs = side_by_side(plan, pairs, MF_LANES_PAIRS);
    st->sums = blocks(4 * st->level[0].wb, 16) * 16;
    st->each = st->pairs * st->planes + st->spectrum + st->window + st->energy + st->sums;
    st->norms = mf_arena_take(plan->arena, 2 * st->windows * sizeof(float), "S2 work");
    if (!st->norms) return MF_MEMORY;
    st->targets = st->norms + st->windows;
    memset(st->targets, 0, st->windows * sizeof(float));
    norms(plan, st->norms);
    st->memory =
        mf_arena_take(plan->arena, (st->areas * st->each + threads * LINES * st->longest) * sizeof(float), "S2 work");
    return st->memory ? MF_OK : MF_MEMORY;
}

static int lanes_open(struct mf_slice_plan *plan)
{
    const size_t w = text_of(plan)->width, wide = blocks(plan->desc.lag, w) * w;
    struct state *st = calloc(1, sizeof *st);

    if (!st) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    plan->state = st;
    st->level = calloc(plan->desc.levels, sizeof *st->level);
    st->line = calloc(2 * plan->desc.levels, sizeof *st->line);
    if (!st->level || !st->line) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    for (size_t l = 0; l < plan->desc.levels; ++l) {
        shape(plan, l);
        if (l < plan->desc.first) continue;
        MF_TRY(mf_line_open(&st->line[2 * l], plan->level[l].mu, wide, w == 16));
        MF_TRY(mf_line_open(&st->line[2 * l + 1], plan->level[l].mv, wide, w == 16));
    }
    return memory(plan);
}

static void lanes_close(struct mf_slice_plan *plan)
{
    struct state *st = plan->state;

    if (!st) return;
    for (size_t l = 0; st->line && l < 2 * plan->desc.levels; ++l) mf_line_close(&st->line[l]);
    mf_arena_give(plan->arena, st->memory);
    mf_arena_give(plan->arena, st->norms);
    free(st->level);
    free(st->line);
    free(st);
}

/* Area i with the lines of a thread. */
static struct mf_lanes_area area(const struct state *st, size_t i, int thread)
{
    float *at = st->memory + i * st->each, *lines = st->memory + st->areas * st->each;
    struct mf_lanes_area a = {.plane = at};

    a.spectrum = at + st->pairs * st->planes;
    a.window = a.spectrum + st->spectrum;
    a.energy = a.window + st->window;
    a.sums = (double *)(void *)(a.energy + st->energy);
    for (size_t k = 0; k < LINES; ++k) a.line[k] = lines + ((size_t)thread * LINES + k) * st->longest;
    return a;
}

/* The half dv >= 0 of the target in rows of whole vectors, less its middle. */
static void set_target(const struct mf_slice_plan *plan, const float *target)
{
    const struct state *st = plan->state;
    const size_t side = 2 * plan->desc.lag - 1, w = text_of(plan)->width;
    float *to = st->targets;

    for (size_t l = 0; l < plan->desc.levels; ++l, target += plan->entries) {
        const double middle = mf_lag_middle(plan->desc.periodic, side, target);

        st->level[l].middle = middle;
        for (size_t u = 0; u < side; ++u, to += st->level[l].wb * w)
            for (size_t v = 0; v < plan->desc.lag; ++v)
                to[v] = (float)((double)target[u * side + side / 2 + v] - middle);
    }
}

static size_t batch_pairs(const struct mf_slice_plan *plan, const struct mf_view *x, size_t pairs)
{
    const struct state *st = plan->state;

    return x->ss != 1 || x->sv == 1 ? 1 : side_by_side(plan, pairs, st->pairs);
}

/* Batches of `each` pairs to threads, of which no more than have an area take part. */
static void deal(struct mf_slice_plan *plan, const struct mf_lanes_job *job, size_t each)
{
    const struct state *st = plan->state;
    const size_t n = blocks(job->pairs, each);
    int stopped = 0;

#pragma omp parallel num_threads(plan->threads) if (plan->threads > 1 && n > 1)
    {
        const size_t thread = (size_t)omp_get_thread_num(), team = (size_t)omp_get_num_threads();
        const size_t parts = team < st->areas ? team : st->areas;
        const struct mf_span share = thread < parts ? mf_cut(n, parts, thread) : (struct mf_span){0, 0};
        const struct mf_lanes_area a = area(st, thread < parts ? thread : 0, (int)thread);

        for (size_t i = share.first; i < share.first + share.count; ++i) {
            struct mf_lanes_job mine = *job;

            if (mf_cpu_breaks("S2", &stopped)) break;
            mine.first = i * each;
            mine.pairs = job->pairs - mine.first < each ? job->pairs - mine.first : each;
            if (job->total) mine.total += i * job->levels * job->entries;
            text_of(plan)->batch(&mine, &a);
        }
    }
}

/* All threads on one batch after the other. */
static void deal_lines(struct mf_slice_plan *plan, const struct mf_lanes_job *job, size_t each)
{
#pragma omp parallel num_threads(plan->threads)
    {
        const struct mf_lanes_area a = area(plan->state, 0, omp_get_thread_num());
        struct mf_lanes_job mine = *job;

        mine.part = (size_t)omp_get_thread_num();
        mine.parts = (size_t)omp_get_num_threads();
        for (; mine.first < job->pairs; mine.first += each) {
            mf_pulse_tell("S2");
            mine.pairs = job->pairs - mine.first < each ? job->pairs - mine.first : each;
            text_of(plan)->batch(&mine, &a);
            if (job->total) mine.total += job->levels * job->entries;
        }
    }
}

/* Few large pairs are worked on together. The bits are the same. */
static void work(struct mf_slice_plan *plan, const struct mf_lanes_job *job, size_t each)
{
    const size_t threads = (size_t)plan->threads;

    if (threads > 1 && job->pairs < threads && plan->level->mu * plan->level->mv >= TOGETHER)
        deal_lines(plan, job, job->total ? each : 1);
    else
        deal(plan, job, each);
}

static void lanes_eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    const struct state *st = plan->state;
    const struct mf_lanes_job job = {.levels = plan->desc.levels,
                                     .from = plan->desc.first,
                                     .level = st->level,
                                     .task = task,
                                     .entries = plan->entries,
                                     .parts = 1,
                                     .pairs = (task->x.count + 1) / 2};

    if (task->target) set_target(plan, task->target);
    work(plan, &job, batch_pairs(plan, &task->x, job.pairs));
}

static void lanes_total(struct mf_slice_plan *plan, const struct mf_view *x, size_t each, float *values)
{
    const struct state *st = plan->state;
    const struct mf_slice_task task = {.x = *x};
    struct mf_lanes_job job = {.levels = plan->desc.levels,
                               .from = plan->desc.first,
                               .level = st->level,
                               .task = &task,
                               .entries = plan->entries,
                               .parts = 1,
                               .total = values,
                               .pairs = (x->count + 1) / 2};

    job.together = batch_pairs(plan, x, job.pairs);
    work(plan, &job, each / 2);
}

static void lanes_cross(struct mf_slice_plan *plan, const struct mf_view *a, const struct mf_view *b, float *values)
{
    const struct state *st = plan->state;
    const struct mf_slice_task task = {.x = *a, .values = values};
    const struct mf_lanes_job job = {.levels = plan->desc.levels,
                                     .from = plan->desc.first,
                                     .level = st->level,
                                     .task = &task,
                                     .other = b,
                                     .entries = plan->entries,
                                     .parts = 1,
                                     .pairs = a->count};

    work(plan, &job, 1);
}

#define ENGINE(w)                                                                                               \
    {                                                                                                           \
        .name = "lanes" #w, .open = lanes_open, .close = lanes_close, .eval = lanes_eval, .total = lanes_total, \
        .cross = lanes_cross, .text = &mf_lanes_text_##w                                                        \
    }

const struct mf_corr_engine mf_corr_lanes4 = ENGINE(4);
#ifdef __x86_64__
const struct mf_corr_engine mf_corr_lanes8 = ENGINE(8), mf_corr_lanes16 = ENGINE(16);
#endif

const struct mf_corr_engine *mf_corr_lanes(void)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl") &&
        __builtin_cpu_supports("avx512bw"))
        return &mf_corr_lanes16;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) return &mf_corr_lanes8;
#endif
    return &mf_corr_lanes4;
}
