/* Engine `lanes` of S2: plans and deals out the work of lanes_text.c. */
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/lanes.h"
#include "src/base/err.h"

struct state {
    struct mf_lanes_level *level; /* [levels] */
    struct mf_line *line;         /* [2 levels] along u, along v */
    float *norms, *targets;       /* of all levels; level[l].norm, .target point into them */
    size_t windows;               /* floats of each */
    float *memory;                /* all threads' areas */
    size_t planes, each;          /* floats: a pair's planes; an area */
    size_t spectrum, window, longest;
    size_t pairs; /* most pairs of a batch */
};

static const struct mf_lanes_text *text_of(const struct mf_slice_plan *plan) { return plan->engine->text; }

static const size_t own[] = {16, 8, 5, 4, 3, 2}; /* radices with a butterfly */

/* Radices of n: those with a butterfly, larger ones first, then odd primes by the general rule. */
static void radices(struct mf_line *line, size_t n)
{
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i)
        while (n % own[i] == 0 && !(own[i] == 16 && (n == 32 || n == 64))) {
            line->radix[line->passes++] = own[i];
            n /= own[i];
        }
    for (size_t r = 7; n > 1; r += 2)
        while (n % r == 0) {
            line->radix[line->passes++] = r;
            n /= r;
        }
}

static int has_butterfly(size_t r)
{
    for (size_t i = 0; i < sizeof own / sizeof *own; ++i)
        if (own[i] == r) return 1;
    return 0;
}

static void root(float *to, size_t k, size_t n)
{
    const double angle = 2 * M_PI * (double)(k % n) / (double)n;

    to[0] = (float)cos(angle);
    to[1] = (float)-sin(angle);
}

static int line_open(struct mf_line *line, size_t n)
{
    size_t m = n;

    line->n = n;
    radices(line, n);
    for (size_t i = 0; i < line->passes; ++i) {
        const size_t r = line->radix[i], all = m;

        m /= r;
        line->twiddle[i] = malloc(m * (r - 1) * 2 * sizeof(float));
        if (!has_butterfly(r)) line->roots[i] = malloc(2 * r * sizeof(float));
        if (!line->twiddle[i] || (!has_butterfly(r) && !line->roots[i]))
            return mf_fail(MF_MEMORY, "S2: no memory for a table of %zu roots of unity", n);
        for (size_t p = 0; p < m; ++p)
            for (size_t k = 1; k < r; ++k) root(line->twiddle[i] + 2 * (p * (r - 1) + k - 1), p * k, all);
        for (size_t j = 0; j < r && line->roots[i]; ++j) root(line->roots[i] + 2 * j, j, r);
    }
    return MF_OK;
}

static void line_close(struct mf_line *line)
{
    for (size_t i = 0; i < line->passes; ++i) {
        free(line->twiddle[i]);
        free(line->roots[i]);
    }
}

/* Smallest extent >= n of which transforms are cheap. */
static size_t good(size_t n)
{
    for (size_t m = n + n % 2;; m += 2) {
        size_t r = m;

        while (r % 2 == 0) r /= 2;
        while (r % 3 == 0) r /= 3;
        while (r % 5 == 0) r /= 5;
        if (r == 1) return m;
    }
}

static size_t blocks(size_t n, size_t w) { return (n + w - 1) / w; }

static size_t most(size_t a, size_t b) { return a > b ? a : b; }

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
    st->spectrum = most(st->spectrum, l->spectrum * 2 * w);
    st->window = most(st->window, l->wb * l->mu * 2 * w);
    st->longest = most(st->longest, most(l->mu, l->xs) * 2 * w);
    st->windows += (2 * l->lag - 1) * l->wb * w;
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

static int memory(struct mf_slice_plan *plan)
{
    struct state *st = plan->state;

    st->pairs = (plan->desc.count_max + 1) / 2;
    if (st->pairs > MF_LANES_PAIRS) st->pairs = MF_LANES_PAIRS;
    st->each = st->pairs * st->planes + st->spectrum + st->window + 5 * st->longest;
    st->norms = mf_arena_take(plan->arena, 2 * st->windows * sizeof(float), "S2 work");
    if (!st->norms) return MF_MEMORY;
    st->targets = st->norms + st->windows;
    memset(st->targets, 0, st->windows * sizeof(float));
    norms(plan, st->norms);
    st->memory = mf_arena_take(plan->arena, (size_t)plan->threads * st->each * sizeof(float), "S2 work");
    if (!st->memory) return MF_MEMORY;
    memset(st->memory, 0, (size_t)plan->threads * st->each * sizeof(float));
    return MF_OK;
}

static int lanes_open(struct mf_slice_plan *plan)
{
    struct state *st = calloc(1, sizeof *st);

    if (!st) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    plan->state = st;
    st->level = calloc(plan->desc.levels, sizeof *st->level);
    st->line = calloc(2 * plan->desc.levels, sizeof *st->line);
    if (!st->level || !st->line) return mf_fail(MF_MEMORY, "S2: no memory for a plan");
    for (size_t l = 0; l < plan->desc.levels; ++l) {
        MF_TRY(line_open(&st->line[2 * l], plan->level[l].mu));
        MF_TRY(line_open(&st->line[2 * l + 1], plan->level[l].mv));
        shape(plan, l);
    }
    return memory(plan);
}

static void lanes_close(struct mf_slice_plan *plan)
{
    struct state *st = plan->state;

    if (!st) return;
    for (size_t l = 0; st->line && l < 2 * plan->desc.levels; ++l) line_close(&st->line[l]);
    mf_arena_give(plan->arena, st->memory);
    mf_arena_give(plan->arena, st->norms);
    free(st->level);
    free(st->line);
    free(st);
}

static struct mf_lanes_area area(const struct state *st, int thread)
{
    float *at = st->memory + (size_t)thread * st->each;
    struct mf_lanes_area a = {.plane = at};

    a.spectrum = at + st->pairs * st->planes;
    a.window = a.spectrum + st->spectrum;
    for (size_t i = 0; i < 5; ++i) a.line[i] = a.window + st->window + i * st->longest;
    return a;
}

/* The half dv >= 0 of the target in rows of whole vectors. */
static void set_target(const struct mf_slice_plan *plan, const float *target)
{
    const struct state *st = plan->state;
    const size_t side = 2 * plan->desc.lag - 1, w = text_of(plan)->width;
    float *to = st->targets;

    for (size_t l = 0; l < plan->desc.levels; ++l, target += plan->entries)
        for (size_t u = 0; u < side; ++u, to += st->level[l].wb * w)
            memcpy(to, target + u * side + side / 2, plan->desc.lag * sizeof *to);
}

/* Pairs of a batch: where slices lie side by side in memory several are read together. */
static size_t batch_pairs(const struct mf_slice_plan *plan, const struct mf_view *x, size_t pairs)
{
    const struct state *st = plan->state;
    const size_t fair = blocks(pairs, (size_t)plan->threads);

    if (x->ss != 1 || x->sv == 1) return 1;
    for (size_t n = MF_LANES_PAIRS; n > 1; n /= 2)
        if (n <= st->pairs && n <= fair) return n;
    return 1;
}

static void deal(struct mf_slice_plan *plan, const struct mf_lanes_job *job, size_t each)
{
    const size_t n = blocks(job->pairs, each);

#pragma omp parallel num_threads(plan->threads) if (plan->threads > 1 && n > 1)
    {
        const struct mf_lanes_area a = area(plan->state, omp_get_thread_num());

#pragma omp for schedule(static)
        for (size_t i = 0; i < n; ++i) {
            struct mf_lanes_job mine = *job;

            mine.first = i * each;
            mine.pairs = job->pairs - mine.first < each ? job->pairs - mine.first : each;
            text_of(plan)->batch(&mine, &a);
        }
    }
}

static void lanes_eval(struct mf_slice_plan *plan, const struct mf_slice_task *task)
{
    const struct state *st = plan->state;
    const struct mf_lanes_job job = {.levels = plan->desc.levels,
                                     .level = st->level,
                                     .task = task,
                                     .entries = plan->entries,
                                     .pairs = (task->x.count + 1) / 2};

    if (task->target) set_target(plan, task->target);
    deal(plan, &job, batch_pairs(plan, &task->x, job.pairs));
}

static void lanes_cross(struct mf_slice_plan *plan, const struct mf_view *a, const struct mf_view *b, float *values)
{
    const struct state *st = plan->state;
    const struct mf_slice_task task = {.x = *a, .values = values};
    const struct mf_lanes_job job = {.levels = plan->desc.levels,
                                     .level = st->level,
                                     .task = &task,
                                     .other = b,
                                     .entries = plan->entries,
                                     .pairs = a->count};

    deal(plan, &job, 1);
}

#define ENGINE(w)                                                                                       \
    {                                                                                                   \
        .name = "lanes" #w, .good = good, .open = lanes_open, .close = lanes_close, .eval = lanes_eval, \
        .cross = lanes_cross, .text = &mf_lanes_text_##w                                                \
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
