/* Strips of slices, cut anywhere, give the sums and gradients of whole slices. (Tests kernels_corr and kernels_vari
 * hold those to plain loops.) Cases are both normals, odd extents, levels, periodic or not, every vector width this
 * machine has. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/slices/strips.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/unit/dirty.h"

enum { LEVELS = 4, PARTS = 4 };

static const float BEFORE = 1.0f / 1024; /* what the gradients come on top of */

struct strip_case {
    size_t n[3]; /* nz, ny, nx */
    int normal;  /* 1 y, 2 x */
    size_t lag, levels;
    int periodic, power, s2, variation, threads;
    double smooth;
    size_t cut[PARTS + 1], parts; /* planes where strips begin, and the end */
};

static size_t slices_of(const struct strip_case *k) { return k->n[k->normal]; }
static size_t columns_of(const struct strip_case *k) { return k->normal == 1 ? k->n[2] : k->n[1]; }

/* A volume on one level: planes of slices side by side (normal x) or one after the other (normal y). */
struct stack {
    float *x;
    size_t plane, ss, sv;
};

static struct stack stack_of(const struct strip_case *k, size_t level, float *x)
{
    const size_t s = slices_of(k), v = columns_of(k) >> level;

    return (struct stack){x, s * v, k->normal == 1 ? v : 1, k->normal == 1 ? 1 : s};
}

static float *pooled(const struct strip_case *k, size_t level, float *from)
{
    const struct stack fine = stack_of(k, level - 1, from), coarse = stack_of(k, level, NULL);
    const size_t nu = k->n[0] >> level, nv = columns_of(k) >> level;
    float *to = malloc(nu * coarse.plane * sizeof *to);

    for (size_t u = 0; u < nu; ++u)
        for (size_t s = 0; s < slices_of(k); ++s)
            for (size_t v = 0; v < nv; ++v) {
                const float *a = from + 2 * u * fine.plane + s * fine.ss + 2 * v * fine.sv, *b = a + fine.plane;

                to[u * coarse.plane + s * coarse.ss + v * coarse.sv] =
                    0.25f * ((a[0] + a[fine.sv]) + (b[0] + b[fine.sv]));
            }
    return to;
}

struct numbers {
    float *target[2], *g;
    double weight[2][LEVELS], *scale, *sum[2];
};

static struct numbers numbers_of(const struct strip_case *k)
{
    const size_t side = 2 * k->lag - 1, each = side * side, n = slices_of(k);
    struct numbers r = {{calloc(LEVELS * each, sizeof(float)), calloc(LEVELS, sizeof(float))}, NULL, {{0}}, NULL, {0}};

    for (size_t l = 0; l < LEVELS; ++l) {
        for (size_t i = 0; i < each; ++i) {
            const size_t j = i < each - 1 - i ? i : each - 1 - i;

            r.target[0][l * each + i] = (float)(0.2 + 0.1 * mf_random_uniform(5, 1, l * each + j));
        }
        r.target[1][l] = 0.3f + 0.05f * (float)l;
        r.weight[0][l] = 1 - 0.2 * (double)l;
        r.weight[1][l] = 0.5 + 0.3 * (double)l;
    }
    r.scale = calloc(n, sizeof *r.scale);
    for (size_t s = 0; s < n; ++s) r.scale[s] = 0.5 + 0.1 * (double)(s % 7);
    for (int t = 0; t < 2; ++t) r.sum[t] = calloc(n, sizeof(double));
    r.g = malloc(k->n[0] * k->n[1] * k->n[2] * sizeof *r.g);
    for (size_t i = 0; i < k->n[0] * k->n[1] * k->n[2]; ++i) r.g[i] = BEFORE;
    return r;
}

static void numbers_free(struct numbers *r)
{
    for (int t = 0; t < 2; ++t) {
        free(r->target[t]);
        free(r->sum[t]);
    }
    free(r->scale);
    free(r->g);
}

static void by_slices(const struct strip_case *k, struct mf_queue *q, float *x, struct numbers *r)
{
    const struct mf_slice_ops *ops[2] = {k->s2 ? mf_backend_cpu.slices->corr : NULL,
                                         k->variation ? mf_backend_cpu.slices->vari : NULL};
    const struct stack at = stack_of(k, 0, x);
    const struct mf_slice_desc desc = {.nu = k->n[0],
                                       .nv = columns_of(k),
                                       .lag = k->lag,
                                       .levels = k->levels,
                                       .count_max = slices_of(k),
                                       .periodic = k->periodic,
                                       .smooth = k->smooth};

    for (int t = 0; t < 2; ++t) {
        struct mf_slice_plan *plan;

        if (!ops[t]) continue;
        CHECK(mf_slices_plan(ops[t], q, &desc, &plan) == MF_OK);
        ops[t]->eval(plan, &(struct mf_slice_task){.x = {x, slices_of(k), desc.nu, desc.nv, at.ss, at.plane, at.sv},
                                                   .g = {r->g, slices_of(k), desc.nu, desc.nv, at.ss, at.plane, at.sv},
                                                   .target = r->target[t],
                                                   .weight = r->weight[t],
                                                   .power = k->power,
                                                   .scale = r->scale,
                                                   .sum = r->sum[t]});
        ops[t]->free(plan);
    }
}

/* Pointers to the rows of part @p i and those beside them. */
static const float **rows_of(const struct strip_case *k, size_t i, size_t level, const struct stack *at)
{
    const ptrdiff_t reach = (ptrdiff_t)mf_strip_reach(k->lag), nu = (ptrdiff_t)(k->n[0] >> level);
    const ptrdiff_t first = (ptrdiff_t)(k->cut[i] >> level), count = (ptrdiff_t)(k->cut[i + 1] >> level) - first;
    const float **row = calloc((size_t)(count + 2 * reach), sizeof *row);

    for (ptrdiff_t u = -reach; u < count + reach; ++u) {
        const ptrdiff_t z = first + u;

        if (k->periodic || (z >= 0 && z < nu)) row[u + reach] = at->x + (size_t)((z % nu + nu) % nu) * at->plane;
    }
    return row;
}

static void by_strips(const struct strip_case *k, const struct mf_strip_text *text, struct mf_queue *q,
                      struct stack *level, struct numbers *r)
{
    const size_t n = mf_strip_sums(slices_of(k), k->levels, k->lag);
    struct mf_strip_ops ops = mf_strip_cpu;
    float *all = calloc(n, sizeof *all), *part = malloc(n * sizeof *part);
    struct mf_strip_task task = {.target = {r->target[0], r->target[1]},
                                 .weight = {r->weight[0], r->weight[1]},
                                 .power = k->power,
                                 .scale = r->scale,
                                 .sum = {r->sum[0], r->sum[1]}};

    ops.text = text;
    for (int back = 0; back < 2; ++back)
        for (size_t i = 0; i < k->parts; ++i) {
            const struct mf_strip_desc desc = {slices_of(k), k->n[0],     columns_of(k), k->cut[i + 1] - k->cut[i],
                                               k->lag,       k->levels,   k->periodic,   k->smooth,
                                               k->s2,        k->variation};
            struct mf_strip_rows rows[LEVELS];
            struct mf_strip_plan *plan;

            for (size_t l = 0; l < k->levels; ++l)
                rows[l] = (struct mf_strip_rows){rows_of(k, i, l, &level[l]), level[l].ss, level[l].sv};
            CHECK(ops.plan(&ops, q, &desc, &plan) == MF_OK);
            if (back && i == 0) ops.compare(plan, &task, all);
            memset(part, 0, n * sizeof *part);
            if (back)
                ops.gradient(plan, rows, all, r->g + k->cut[i] * level[0].plane, level[0].plane);
            else
                ops.values(plan, rows, r->target[0], part);
            for (size_t j = 0; !back && j < n; ++j) all[j] += part[j];
            ops.free(plan);
            for (size_t l = 0; l < k->levels; ++l) free((void *)(uintptr_t)rows[l].row);
        }
    free(all);
    free(part);
}

/* Root of the mean square of a - b over that of a without what was there before. */
static double apart(size_t n, const float *a, const float *b)
{
    double off = 0, all = 0;

    for (size_t i = 0; i < n; ++i) {
        off += ((double)a[i] - (double)b[i]) * ((double)a[i] - (double)b[i]);
        all += ((double)a[i] - (double)BEFORE) * ((double)a[i] - (double)BEFORE);
    }
    return sqrt(off / all);
}

static void check_case(const struct strip_case *k, const struct mf_strip_text *text)
{
    const size_t n = k->n[0] * k->n[1] * k->n[2];
    struct stack level[LEVELS];
    struct numbers whole = numbers_of(k), strips = numbers_of(k);
    struct mf_arena *arena;
    struct mf_queue *q;
    float *x = malloc(n * sizeof *x);

    for (size_t i = 0; i < n; ++i) x[i] = (float)mf_random_uniform(9, 2, i);
    CHECK(mf_arena_open(&arena, &dirty, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&q, 0, k->threads, 0, arena, arena) == MF_OK);
    level[0] = stack_of(k, 0, x);
    for (size_t l = 1; l < k->levels; ++l) level[l] = stack_of(k, l, pooled(k, l, level[l - 1].x));
    by_slices(k, q, x, &whole);
    by_strips(k, text, q, level, &strips);
    for (size_t s = 0; s < slices_of(k); ++s)
        for (int t = 0; t < 2; ++t)
            CHECK(fabs(whole.sum[t][s] - strips.sum[t][s]) <= 1e-5 * fabs(whole.sum[t][s]) + 1e-12);
    /* Correlations of noise are near these targets. The rest of them is less sure where no middle is taken off. */
    CHECK(apart(n, whole.g, strips.g) < (k->power == 2 && !k->periodic ? 3e-6 : 1e-6));
    mf_backend_cpu.queue_close(q);
    CHECK(mf_arena_live(arena) == 0);
    mf_arena_close(arena);
    for (size_t l = 0; l < k->levels; ++l) free(level[l].x);
    numbers_free(&whole);
    numbers_free(&strips);
}

static void check_text(const struct mf_strip_text *text)
{
    static const struct strip_case shapes[] = {
        {.n = {48, 40, 36}, .lag = 8, .levels = 2, .cut = {0, 20, 48}, .parts = 2},
        {.n = {31, 33, 19}, .lag = 5, .levels = 1, .cut = {0, 2, 3, 31}, .parts = 3},
        {.n = {64, 64, 68}, .lag = 8, .levels = 3, .cut = {0, 4, 8, 40, 64}, .parts = 4},
        {.n = {64, 56, 64}, .lag = 7, .levels = 3, .cut = {0, 64}, .parts = 1},
        {.n = {200, 30, 24}, .lag = 3, .levels = 2, .cut = {0, 150, 200}, .parts = 2}, /* several blocks */
        {.n = {12, 11, 13}, .lag = 1, .levels = 1, .cut = {0, 4, 12}, .parts = 2},
        {.n = {42, 38, 46}, .lag = 16, .levels = 1, .cut = {0, 10, 22, 42}, .parts = 3},
        {.n = {36, 50, 34}, .lag = 2, .levels = 2, .cut = {0, 16, 36}, .parts = 2},
    };

    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; ++i)
        for (int normal = 1; normal < 3; ++normal)
            for (int mode = 0; mode < 8; ++mode) {
                struct strip_case k = shapes[i];

                k.normal = normal;
                k.periodic = !(mode & 1);
                k.power = mode & 2 ? 1 : 2;
                k.smooth = mode & 4 ? 0.1 : 0;
                k.s2 = mode != 3;
                k.variation = mode != 2;
                k.threads = 1 + (int)i % 3;
                if (k.n[0] % ((size_t)1 << (k.levels - 1))) continue;
                check_case(&k, text);
            }
}

int main(void)
{
    check_text(NULL);
    check_text(&mf_strip_text_4);
#ifdef __x86_64__
    if (mf_corr_lanes() != &mf_corr_lanes4) check_text(&mf_strip_text_8);
#endif
    return failures != 0;
}
