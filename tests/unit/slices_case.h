/* A volume, its slices along one normal, and a descriptor of one entry on them, for kernels_vari and kernels_frac. */
#ifndef MF_TESTS_SLICES_CASE_H
#define MF_TESTS_SLICES_CASE_H

#include <stdlib.h>
#include <string.h>

#include "kernels/slices/slices.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/oracle/vari.h"
#include "tests/unit/dirty.h"

struct slices_case {
    size_t n[3]; /* nz, ny, nx */
    int normal;  /* 0 z, 1 y, 2 x */
    size_t levels;
    int periodic, seam, power, threads;
    double smooth;
    size_t first, silent; /* levels left out, and levels of weight 0 */
};

static struct mf_view view_of(const struct slices_case *k, float *base)
{
    const size_t nz = k->n[0], ny = k->n[1], nx = k->n[2];

    if (k->normal == 0) return (struct mf_view){base, nz, ny, nx, ny * nx, nx, 1};
    if (k->normal == 1) return (struct mf_view){base, ny, nz, nx, nx, ny * nx, 1};
    return (struct mf_view){base, nx, nz, ny, 1, ny * nx, nx};
}

static struct mf_slice_desc desc_of(const struct slices_case *k, const struct mf_view *x)
{
    return (struct mf_slice_desc){.nu = x->nu,
                                  .nv = x->nv,
                                  .levels = k->levels,
                                  .count_max = x->count,
                                  .periodic = k->periodic,
                                  .seam = k->seam,
                                  .smooth = k->smooth,
                                  .first = k->first};
}

struct slices_result {
    float *g, *values;
    double *sum, total[8];
};

static void result_free(struct slices_result *r)
{
    free(r->g);
    free(r->values);
    free(r->sum);
}

static const float slices_target[8] = {0.31f, 0.22f, 0.41f, 0.35f};
static const double slices_weight[8] = {1.0, 0.7, 2.0, 1.3};

/* One random field for all, of sixteenths: pooling is exact, and some neighbours are equal, so that |d| meets 0. */
static float *random_field(size_t n)
{
    float *x = malloc(n * sizeof *x);

    for (size_t i = 0; i < n; ++i) x[i] = (float)((int)(32 * mf_random_uniform(3, 1, i)) - 8) / 16.0f;
    for (size_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? 0 : x[i] > 1 ? 1 : x[i];
    return x;
}

/* Evaluates slices [from, from + count) with their gradients; the gradient comes on top of ones. */
static struct slices_result run_case(const struct slices_case *k, const struct mf_slice_ops *ops, float *x, size_t from,
                                     size_t count)
{
    const size_t n = k->n[0] * k->n[1] * k->n[2];
    struct slices_result r = {malloc(n * sizeof(float)), NULL, NULL, {0}};
    struct mf_view vx = view_of(k, x), vg = view_of(k, r.g);
    struct mf_slice_desc desc = desc_of(k, &vx);
    double *scale = malloc(vx.count * sizeof *scale), weight[8];
    struct mf_slice_plan *plan;
    struct mf_arena *arena;
    struct mf_queue *q;

    for (size_t i = 0; i < n; ++i) r.g[i] = 1;
    for (size_t s = 0; s < vx.count; ++s) scale[s] = 0.5 + 0.1 * (double)s;
    for (size_t l = 0; l < 8; ++l) weight[l] = l < k->silent ? 0 : slices_weight[l];
    r.values = calloc(vx.count * k->levels, sizeof *r.values);
    r.sum = calloc(vx.count, sizeof *r.sum);
    CHECK(mf_arena_open(&arena, &dirty, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&q, 0, k->threads, 1, arena, arena) == MF_OK);
    CHECK(mf_slices_plan(ops, q, &desc, &plan) == MF_OK);
    vx.base += from * vx.ss;
    vg.base += from * vg.ss;
    vx.count = vg.count = count;
    ops->eval(plan, &(struct mf_slice_task){.x = vx,
                                            .g = vg,
                                            .target = slices_target,
                                            .weight = weight,
                                            .power = k->power,
                                            .scale = scale + from,
                                            .sum = r.sum + from,
                                            .values = r.values + from * k->levels});
    ops->total(plan, &vx, r.total);
    ops->free(plan);
    mf_backend_cpu.queue_close(q);
    CHECK(mf_arena_live(arena) == 0);
    mf_arena_close(arena);
    free(scale);
    return r;
}

/* The loss of slice s in double, with its values. */
static double oracle_loss(const struct slices_case *k, int fraction, const struct oracle_vari *o, const double *x,
                          double *values)
{
    double loss = 0;

    for (size_t l = 0; l < k->levels; ++l) {
        const double d = oracle_vari(o, fraction, l, x), e = slices_weight[l] * (d - (double)slices_target[l]);

        if (values) values[l] = d;
        loss += k->power == 1 ? fabs(e) : e * e;
    }
    return loss;
}

/* Central difference; at a kink of |d| that is the mean of both sides, as sign(0) = 0 asks. */
static double oracle_slope(const struct slices_case *k, int fraction, const struct oracle_vari *o, double *x, size_t i)
{
    const double h = 1e-5, x0 = x[i];
    double up, down;

    x[i] = x0 + h;
    up = oracle_loss(k, fraction, o, x, NULL);
    x[i] = x0 - h;
    down = oracle_loss(k, fraction, o, x, NULL);
    x[i] = x0;
    return (up - down) / (2 * h);
}

static void check_case(const struct slices_case *k, const struct mf_slice_ops *ops, int fraction)
{
    float *field = random_field(k->n[0] * k->n[1] * k->n[2]);
    struct mf_view v = view_of(k, field);
    struct slices_result r = run_case(k, ops, field, 0, v.count);
    struct oracle_vari o = {v.nu, v.nv, k->periodic, k->seam, k->smooth};
    double *x = malloc(v.nu * v.nv * sizeof *x), value[8], total[8] = {0};

    for (size_t s = 0; s < v.count; ++s) {
        for (size_t i = 0; i < v.nu * v.nv; ++i) x[i] = (double)field[s * v.ss + i / v.nv * v.su + i % v.nv * v.sv];
        CHECK_NEAR(r.sum[s], oracle_loss(k, fraction, &o, x, value), 2e-6);
        for (size_t l = 0; l < k->levels; ++l) CHECK_NEAR(r.values[s * k->levels + l], value[l], 5e-7);
        for (size_t l = 0; l < k->levels; ++l) total[l] += value[l];
        for (size_t i = s % 5; i < v.nu * v.nv; i += 1 + v.nu * v.nv / 15) {
            const double g = (double)r.g[s * v.ss + i / v.nv * v.su + i % v.nv * v.sv] - 1;

            CHECK_NEAR(g, (0.5 + 0.1 * (double)s) * oracle_slope(k, fraction, &o, x, i), 2e-6);
        }
    }
    for (size_t l = 0; l < k->levels; ++l) CHECK_NEAR(r.total[l], total[l], 1e-6 * (double)v.count);
    result_free(&r);
    free(x);
    free(field);
}

/* Leaving out levels is giving them no weight. */
static void check_first(const struct slices_case *k, const struct mf_slice_ops *ops)
{
    const size_t n = k->n[0] * k->n[1] * k->n[2];
    float *field = random_field(n);
    struct mf_view v = view_of(k, field);
    struct slices_case out = *k, mute = *k;

    for (size_t first = 1; first < k->levels; ++first) {
        struct slices_result some, all;

        out.first = mute.silent = first;
        some = run_case(&out, ops, field, 0, v.count);
        all = run_case(&mute, ops, field, 0, v.count);
        for (size_t i = 0; i < n; ++i) CHECK(some.g[i] == all.g[i]);
        CHECK(memcmp(some.sum, all.sum, v.count * sizeof *some.sum) == 0);
        for (size_t s = 0; s < v.count; ++s)
            for (size_t l = first; l < k->levels; ++l)
                CHECK(some.values[s * k->levels + l] == all.values[s * k->levels + l]);
        for (size_t l = 0; l < k->levels; ++l) CHECK(some.total[l] == (l < first ? 0 : all.total[l]));
        result_free(&some);
        result_free(&all);
    }
    free(field);
}

/* Work areas are for the slices that are there, not for every thread. */
static void check_areas(const struct mf_slice_ops *ops, size_t slices)
{
    struct mf_slice_desc desc = {.nu = 256, .nv = 256, .levels = 3, .count_max = 1, .periodic = 1};
    struct mf_slice_plan *plan;
    struct mf_arena *arena;
    struct mf_queue *q;

    CHECK(mf_arena_open(&arena, mf_backend_cpu.mem, 0) == MF_OK);
    CHECK(mf_backend_cpu.queue_open(&q, 0, 16, 1, arena, arena) == MF_OK);
    CHECK(mf_slices_plan(ops, q, &desc, &plan) == MF_OK);
    CHECK(mf_arena_peak(arena) < slices * 256 * 256 * sizeof(float));
    ops->free(plan);
    mf_backend_cpu.queue_close(q);
    mf_arena_close(arena);
}

/* No slices are no work. */
static void check_none(const struct slices_case *k, const struct mf_slice_ops *ops)
{
    float *field = random_field(k->n[0] * k->n[1] * k->n[2]);
    struct slices_result r = run_case(k, ops, field, 0, 0);

    for (size_t l = 0; l < 8; ++l) CHECK(r.total[l] == 0);
    result_free(&r);
    free(field);
}

/* A slice is bitwise the same alone, in a batch, and on any number of threads. */
static void check_same_bits(const struct slices_case *k, const struct mf_slice_ops *ops)
{
    float *field = random_field(k->n[0] * k->n[1] * k->n[2]);
    struct mf_view v = view_of(k, field);
    struct slices_case many = *k;
    struct slices_result all = run_case(k, ops, field, 0, v.count), again;
    size_t count;

    for (many.threads = 3; many.threads < 70; many.threads *= 4) { /* at last more threads than slices */
        again = run_case(&many, ops, field, 0, v.count);
        CHECK(memcmp(all.g, again.g, k->n[0] * k->n[1] * k->n[2] * sizeof(float)) == 0);
        CHECK(memcmp(all.sum, again.sum, v.count * sizeof(double)) == 0);
        CHECK(memcmp(all.total, again.total, sizeof all.total) == 0);
        result_free(&again);
    }
    for (size_t s = 0; s < v.count; s += count) {
        count = s % 3 + 1 < v.count - s ? s % 3 + 1 : v.count - s;
        again = run_case(k, ops, field, s, count);
        CHECK(memcmp(all.sum + s, again.sum + s, count * sizeof(double)) == 0);
        CHECK(memcmp(all.values + s * k->levels, again.values + s * k->levels, count * k->levels * sizeof(float)) == 0);
        for (size_t i = 0; i < v.nu * v.nv; ++i) {
            const size_t at = s * v.ss + i / v.nv * v.su + i % v.nv * v.sv;

            CHECK(all.g[at] == again.g[at]);
        }
        result_free(&again);
    }
    result_free(&all);
    free(field);
}

#endif
