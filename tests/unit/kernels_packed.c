/* Families that take a slice at a time. A slice's bits depend on nothing but its pixels (not on its batch, the threads,
 * the direction it is read in). Leaving out levels is giving them no weight. */
#include <stdlib.h>
#include <string.h>

#include "kernels/slices/slices.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/unit/dirty.h"

enum { VOXELS = 200 * 210 };

static size_t lag = 2;
static const size_t small[3] = {9, 14, 21}, image[3] = {1, 200, 210};

struct result {
    size_t slices;
    float g[VOXELS], *values;
    double *sum, *total;
};

static struct mf_view view_of(const size_t n[3], int normal, float *base)
{
    if (normal == 0) return (struct mf_view){base, n[0], n[1], n[2], n[1] * n[2], n[2], 1};
    if (normal == 1) return (struct mf_view){base, n[1], n[0], n[2], n[2], n[1] * n[2], 1};
    return (struct mf_view){base, n[2], n[0], n[1], 1, n[1] * n[2], n[2]};
}

struct work {
    const struct mf_slice_ops *ops;
    const size_t *n;
    int normal, periodic, threads;
    size_t each, first, silent; /* slices at a time; levels left out, and levels of weight 0 */
};

static void evaluate(const struct work *w, struct mf_queue *q, const struct mf_slice_desc *desc, float *x,
                     struct result *r)
{
    const size_t n = desc->levels * w->ops->kind->entries(desc);
    float *target = calloc(n, sizeof *target);
    double weight[2] = {w->silent > 0 ? 0 : 1, 0.7};
    struct mf_view vx = view_of(w->n, w->normal, x), vg = view_of(w->n, w->normal, r->g), vy = vx, vh = vg;
    const size_t slices = vx.count, ss = vx.ss, second = slices * vx.nu * vx.nv; /* field, behind the first */
    const struct mf_view none = {.base = NULL};
    struct mf_slice_plan *plan = NULL;

    for (size_t i = 0; i < n; ++i) target[i] = 0.1f;
    CHECK(mf_slices_plan(w->ops, q, desc, &plan) == MF_OK);
    for (size_t at = 0; at < slices; at += w->each) {
        vx.count = vg.count = slices - at < w->each ? slices - at : w->each;
        vx.base = x + at * ss;
        vg.base = r->g + at * ss;
        vy.count = vh.count = vx.count;
        vy.base = vx.base + second;
        vh.base = vg.base + second;
        w->ops->eval(plan, &(struct mf_slice_task){.x = vx,
                                                   .g = vg,
                                                   .target = target,
                                                   .weight = weight,
                                                   .power = 2,
                                                   .sum = r->sum + at,
                                                   .values = r->values + at * n,
                                                   .y = w->ops->cross ? vy : none,
                                                   .h = w->ops->cross ? vh : none});
        if (w->ops->total)
            w->ops->total(plan, &vx, r->total);
        else
            w->ops->cross(plan, &vx, &vy, r->total);
    }
    w->ops->free(plan);
    free(target);
}

static struct result *run(const struct work *w, float *x)
{
    struct mf_view v = view_of(w->n, w->normal, x);
    const struct mf_slice_desc desc = {.nu = v.nu,
                                       .nv = v.nv,
                                       .lag = lag,
                                       .levels = 2,
                                       .count_max = v.count,
                                       .periodic = w->periodic,
                                       .threshold = 0.75,
                                       .steepness = 10,
                                       .first = w->first};
    const size_t n = 2 * w->ops->kind->entries(&desc);
    struct result *r = calloc(1, sizeof *r);
    struct mf_arena *arena;
    struct mf_queue *q;

    if (!r) abort();
    r->slices = v.count;
    r->values = calloc(n * v.count, sizeof *r->values);
    r->sum = calloc(v.count, sizeof *r->sum);
    r->total = calloc(n, sizeof *r->total);
    CHECK(mf_arena_open(&arena, &dirty, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&q, 0, w->threads, 1, arena, arena) == MF_OK);
    evaluate(w, q, &desc, x, r);
    mf_backend_cpu.queue_close(q);
    CHECK(mf_arena_live(arena) == 0);
    mf_arena_close(arena);
    return r;
}

static void result_free(struct result *r)
{
    free(r->values);
    free(r->sum);
    free(r->total);
    free(r);
}

static void same(const struct work *a, const struct work *b, float *x)
{
    const size_t entries = a->ops->kind->entries(&(struct mf_slice_desc){.lag = lag, .levels = 2});
    struct result *p = run(a, x), *q = run(b, x);

    for (size_t i = 0; i < VOXELS; ++i) CHECK(isfinite(p->g[i]) && p->g[i] == q->g[i]);
    CHECK(memcmp(p->sum, q->sum, p->slices * sizeof *p->sum) == 0);
    CHECK(memcmp(p->total + b->first * entries, q->total + b->first * entries,
                 (2 - b->first) * entries * sizeof *p->total) == 0);
    for (size_t i = 0; i < p->slices && b->first == 0; ++i)
        CHECK(memcmp(p->values + 2 * i * entries, q->values + 2 * i * entries, 2 * entries * sizeof *p->values) == 0);
    CHECK(p->sum[0] > 0);
    result_free(p);
    result_free(q);
}

/* The slices normal to z read as those normal to x of a turned volume. */
static void directions_agree(const struct mf_slice_ops *ops, float *x)
{
    enum { N = 9 };
    static float cube[N * N * N], turned[N * N * N];
    struct mf_view v;
    struct mf_slice_desc desc = {.nu = N, .nv = N, .lag = lag, .levels = 2, .count_max = N, .periodic = 1};
    double *total[2];
    struct mf_arena *arena;
    struct mf_queue *q;
    struct mf_slice_plan *plan = NULL;
    const size_t n = 2 * ops->kind->entries(&desc);

    desc.threshold = 0.75;
    desc.steepness = 10;
    for (size_t s = 0; s < N; ++s)
        for (size_t i = 0; i < N * N; ++i) turned[i * N + s] = cube[s * N * N + i] = x[s * N * N + i];
    CHECK(mf_arena_open(&arena, &dirty, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&q, 0, 2, 1, arena, arena) == MF_OK);
    CHECK(mf_slices_plan(ops, q, &desc, &plan) == MF_OK);
    for (int k = 0; k < 2; ++k) {
        total[k] = calloc(n, sizeof *total[k]);
        v = k ? (struct mf_view){turned, N, N, N, 1, N * N, N} : (struct mf_view){cube, N, N, N, N * N, N, 1};
        ops->total(plan, &v, total[k]);
    }
    CHECK(memcmp(total[0], total[1], n * sizeof *total[0]) == 0);
    free(total[0]);
    free(total[1]);
    ops->free(plan);
    mf_backend_cpu.queue_close(q);
    mf_arena_close(arena);
}

/* Products of 200 channels and more, on more threads than there are parts of a gradient, too. */
static void whole_numbers(float *x)
{
    static const size_t plate[3] = {1, 40, 44};
    const struct mf_slice_ops *const families[] = {mf_backend_cpu.slices->gram, mf_backend_cpu.slices->gram_cross};
    const size_t lags[] = {16, 11};

    for (size_t f = 0; f < 2; ++f)
        for (int threads = 3; threads <= 9; threads += 6) {
            const struct work alone = {families[f], plate, 0, 1, 1, 1, 0, 0};
            struct work shared = alone;

            lag = lags[f];
            shared.threads = threads;
            same(&alone, &shared, x);
        }
}

/* Families of one field that need no network. */
#define OF_CPU(ID, family, where, work, weight, compat, traits, ...) \
    (traits) & (MF_OF_VGG | MF_OF_PAIRS) ? NULL : mf_backend_cpu.slices->family,

int main(void)
{
    const struct mf_slice_ops *const families[] = {MF_LIST_PHASE(OF_CPU)};
    const struct mf_slice_ops *const counted[] = {MF_LIST_COUNTED(OF_CPU)};
    static float x[VOXELS];

    for (size_t i = 0; i < VOXELS; ++i) x[i] = (float)mf_random_uniform(3, 1, i);
    for (size_t f = 0; f < sizeof families / sizeof *families; ++f)
        for (int mode = 0; families[f] && mode < 6; ++mode) {
            const struct work all = {families[f], small, mode / 2, mode % 2, 1, VOXELS, 0, 0};
            struct work alone = all, many = all, coarse = all, mute = all;

            alone.each = 1;
            many.threads = 5;
            same(&all, &alone, x);
            same(&all, &many, x);
            coarse.first = mute.silent = 1;
            same(&mute, &coarse, x);
        }
    for (size_t f = 0; f < sizeof families / sizeof *families; ++f) {
        const struct work alone = {families[f], image, 0, 1, 1, 1, 0, 0};
        struct work shared = alone;

        if (!families[f]) continue;
        shared.threads = 3; /* of the family, on one large slice */
        same(&alone, &shared, x);
        directions_agree(families[f], x);
    }
    for (size_t f = 0; f < sizeof counted / sizeof *counted; ++f)
        if (counted[f]) directions_agree(counted[f], x);
    whole_numbers(x);
    lag = 8; /* soft pairs through a few fields */
    for (int periodic = 0; periodic < 2; ++periodic) {
        const struct work alone = {mf_backend_cpu.slices->two_point, image, 0, periodic, 1, 1, 0, 0};
        struct work shared = alone;

        shared.threads = 3;
        same(&alone, &shared, x);
    }
    return failures != 0;
}
