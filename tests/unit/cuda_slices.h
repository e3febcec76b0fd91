/* Slices of a volume evaluated on cpu and cuda, for the descriptors of slices. */
#ifndef MF_TESTS_CUDA_SLICES_H
#define MF_TESTS_CUDA_SLICES_H

#include "kernels/form/compare.h"
#include "kernels/slices/slices.h"
#include "tests/unit/cuda_case.h"

struct slices_case {
    size_t n[3]; /* nz, ny, nx */
    int normal;  /* 0 z, 1 y, 2 x */
    int power;
    struct mf_slice_desc desc; /* without nu, nv, count_max */
};

/* All that one side says; gradients (h: of the second field of pairs) lie like the volume. */
struct slices_answer {
    size_t count, entries; /* numbers of a slice */
    float *g, *h, *values;
    double *sum, *total, *cross;
};

static inline struct mf_view slices_view(const struct slices_case *k, float *base)
{
    const size_t nz = k->n[0], ny = k->n[1], nx = k->n[2];

    if (k->normal == 0) return (struct mf_view){base, nz, ny, nx, ny * nx, nx, 1};
    if (k->normal == 1) return (struct mf_view){base, ny, nz, nx, nx, ny * nx, 1};
    return (struct mf_view){base, nx, nz, ny, 1, ny * nx, nx};
}

/* Part of the slices: [from, from + count). */
static inline struct mf_view slices_part(struct mf_view v, size_t from, size_t count)
{
    v.base += from * v.ss;
    v.count = count;
    return v;
}

/* Numbers of the field in steps, so that some neighbours are equal. */
static inline float *slices_field(size_t n, uint32_t stream)
{
    float *x = random_floats(n, stream, -0.2, 1.2);

    for (size_t i = 0; i < n; ++i) x[i] = x[i] < 0 ? 0.0f : x[i] > 1 ? 1.0f : x[i];
    for (size_t i = 0; i < n; i += 3) x[i] = roundf(4.0f * x[i]) / 4.0f;
    return x;
}

/* Even in the lag, on both sides of the values of a random field. It is so far away that the difference is no
 * rounding. */
static inline float *slices_target(size_t levels, size_t entries)
{
    float *t = malloc(levels * entries * sizeof *t);

    for (size_t l = 0; l < levels; ++l)
        for (size_t i = 0; i < entries; ++i) {
            const size_t j = i < entries / 2 ? i : entries - 1 - i;

            t[l * entries + i] = j % 7 == 3 ? 0.9f : (float)(0.05 * mf_random_uniform(9, (uint32_t)l, j));
        }
    return t;
}

static inline const struct mf_slice_ops *slices_ops(const struct side *s, const char *what)
{
    const struct mf_backend *be = s->be;
    const struct mf_slice_ops *const all[] = {
        be->slices->corr,         be->slices->vari,        be->slices->frac,       be->slices->lineal,
        be->slices->lineal_exact, be->slices->lineal_soft, be->slices->line_soft,  be->slices->two_point,
        be->slices->gram,         be->slices->gram_axes,   be->slices->gram_cross, be->slices->structure_tensor,
        be->slices->cross};

    for (size_t i = 0; i < sizeof all / sizeof *all; ++i)
        if (all[i] && strcmp(all[i]->kind->name, what) == 0) return all[i];
    fprintf(stderr, "%s has no kernels for %s\n", be->name, what);
    exit(1);
}

/* Nothing counted yet; NULL for descriptors that do not count. */
static inline int64_t *tally_new(struct side *s, const struct mf_slice_ops *ops, size_t entries)
{
    void *none = calloc(entries, sizeof(int64_t)), *tally = NULL;

    if (ops == s->be->slices->corr || ops == s->be->slices->vari) {
        tally = mf_arena_take(s->device, entries * sizeof(int64_t), "test");
        s->be->put(s->q, tally, none, entries * sizeof(int64_t));
    }
    free(none);
    return tally;
}

/* It holds the sums of values [count][size] from the first entry on, once. */
static inline void tally_check(struct side *s, size_t entries, int64_t *tally, size_t count, size_t size,
                               const float *values)
{
    double *sum = sums_new(s, entries), *again = sums_new(s, entries);
    size_t wrong = 0;

    if (tally) s->be->slices->drain(s->q, entries, tally, sum);
    if (tally) s->be->slices->drain(s->q, entries, tally, again);
    s->be->sync(s->q);
    for (size_t i = 0; tally && i < entries; ++i) {
        double wanted = 0;

        for (size_t k = 0; k < count; ++k) wanted += mf_compare_grain((double)values[k * size + i]);
        wrong += sum[i] != wanted || again[i] != 0;
    }
    CHECK(wrong == 0);
    mf_arena_give(s->host, again);
    mf_arena_give(s->host, sum);
    mf_arena_give(s->device, tally);
}

/* Evaluates slices [from, from + count). The gradient comes on top of quarters, and is so large that these do not hide
 * its digits. */
static inline struct slices_answer slices_ask(struct side *s, const char *what, const struct slices_case *k,
                                              size_t from, size_t count)
{
    static const double weights[4] = {1.0, 0.7, 1.6, 0.9};
    const struct mf_slice_ops *ops = slices_ops(s, what);
    const size_t n = k->n[0] * k->n[1] * k->n[2];
    float *field = slices_field(n, 1), *other = slices_field(n, 2), *quarters = malloc(n * sizeof *quarters);
    struct slices_answer a = {.count = count};
    struct mf_slice_desc desc = k->desc;
    struct mf_slice_plan *plan = NULL;
    float *x = up(s, n, field), *y = up(s, n, other), *target, *g, *h;
    const struct mf_view view = slices_view(k, x), part = slices_part(view, from, count);
    double weight[4], *scale = sums_new(s, count + 1);
    int64_t *tally;
    const struct mf_view none = {.base = NULL};
    const int has_gradient = strcmp(ops->kind->name, "lineal_exact") != 0;

    for (size_t i = 0; i < n; ++i) quarters[i] = 0.25f;
    g = up(s, n, quarters);
    h = up(s, n, quarters);
    desc.nu = view.nu;
    desc.nv = view.nv;
    desc.count_max = view.count;
    tally = tally_new(s, ops, ops->kind->entries(&desc));
    a.entries = ops->kind->entries(&desc) * desc.levels;
    free(field);
    field = slices_target(desc.levels, ops->kind->entries(&desc));
    target = up(s, a.entries, field);
    a.values = mf_arena_zeros(s->host, a.entries * (count + 1), sizeof(float), "test");
    a.sum = sums_new(s, count + 1);
    a.total = sums_new(s, a.entries);
    a.cross = sums_new(s, a.entries);
    for (size_t i = 0; i < count; ++i) scale[i] = 5000 + 1000 * (double)(from + i);
    memcpy(weight, weights, sizeof weight);
    if (mf_slices_plan(ops, s->q, &desc, &plan) != MF_OK) {
        fprintf(stderr, "%s\n", mf_err_text());
        exit(1);
    }
    ops->eval(plan, &(struct mf_slice_task){.x = part,
                                            .g = has_gradient ? slices_part(slices_view(k, g), from, count) : none,
                                            .y = slices_part(slices_view(k, y), from, count),
                                            .h = has_gradient ? slices_part(slices_view(k, h), from, count) : none,
                                            .target = target,
                                            .weight = weight,
                                            .power = k->power,
                                            .scale = scale,
                                            .sum = a.sum,
                                            .values = a.values,
                                            .tally = tally});
    memset(weight, 0, sizeof weight); /* it was read at the call */
    if (ops->total) ops->total(plan, &part, a.total);
    if (ops->cross) {
        const struct mf_view second = slices_part(slices_view(k, y), from, count);

        ops->cross(plan, &part, &second, a.cross);
    }
    s->be->sync(s->q);
    tally_check(s, a.entries / desc.levels, tally, count, a.entries, a.values + desc.first * (a.entries / desc.levels));
    ops->free(plan);
    a.g = down(s, n, g);
    a.h = down(s, n, h);
    mf_arena_give(s->device, x);
    mf_arena_give(s->device, y);
    mf_arena_give(s->device, target);
    mf_arena_give(s->host, scale);
    free(field);
    free(other);
    free(quarters);
    return a;
}

static inline void slices_free(struct side *s, struct slices_answer *a)
{
    mf_arena_give(s->host, a->values);
    mf_arena_give(s->host, a->sum);
    mf_arena_give(s->host, a->total);
    mf_arena_give(s->host, a->cross);
    free(a->g);
    free(a->h);
}

/* Both sides agree to @p tolerance. */
static inline void slices_check(struct side side[SIDES], const char *what, const struct slices_case *k,
                                double tolerance)
{
    const struct mf_view v = slices_view(k, NULL);
    struct slices_answer a = slices_ask(&side[0], what, k, 0, v.count), b = slices_ask(&side[1], what, k, 0, v.count);
    const size_t n = k->n[0] * k->n[1] * k->n[2];
    const int before = failures;

    CHECK_NEAR(away_sums(v.count, b.sum, a.sum), 0, tolerance);
    CHECK_NEAR(away(v.count * a.entries, b.values, a.values), 0, tolerance);
    CHECK_NEAR(away_sums(a.entries, b.total, a.total), 0, tolerance);
    CHECK_NEAR(away_sums(a.entries, b.cross, a.cross), 0, tolerance);
    for (size_t i = 0; i < n; ++i) a.g[i] -= 0.25f, b.g[i] -= 0.25f, a.h[i] -= 0.25f, b.h[i] -= 0.25f;
    CHECK_NEAR(away(n, b.g, a.g), 0, tolerance);
    CHECK_NEAR(away(n, b.h, a.h), 0, tolerance);
    if (failures != before)
        fprintf(stderr,
                "  in %s: %zu %zu %zu, normal %d, power %d, lag %zu, levels %zu from %zu, periodic %d, seam %d, smooth "
                "%g\n",
                what, k->n[0], k->n[1], k->n[2], k->normal, k->power, k->desc.lag, k->desc.levels, k->desc.first,
                k->desc.periodic, k->desc.seam, k->desc.smooth);
    slices_free(&side[0], &a);
    slices_free(&side[1], &b);
}

/* A pair of slices has the same bits alone and among others; an empty batch is no work. */
static inline void slices_same_bits(struct side *s, const char *what, const struct slices_case *k)
{
    const struct mf_view v = slices_view(k, NULL);
    struct slices_answer all = slices_ask(s, what, k, 0, v.count), none = slices_ask(s, what, k, 0, 0);

    for (size_t i = 0; i < none.entries; ++i) CHECK(none.total[i] == 0);
    for (size_t from = 0, n; from < v.count; from += n) {
        struct slices_answer some;

        n = from % 4 + 2 < v.count - from ? from % 4 + 2 : v.count - from;
        some = slices_ask(s, what, k, from, n);
        CHECK(memcmp(all.sum + from, some.sum, n * sizeof *all.sum) == 0);
        CHECK(memcmp(all.values + from * all.entries, some.values, n * all.entries * sizeof *all.values) == 0);
        for (size_t i = 0; i < n * v.nu * v.nv; ++i) {
            const size_t at = (from + i / (v.nu * v.nv)) * v.ss + i / v.nv % v.nu * v.su + i % v.nv * v.sv;

            if (all.g[at] == some.g[at] && all.h[at] == some.h[at]) continue;
            CHECK(!"same bits");
            break;
        }
        slices_free(s, &some);
    }
    slices_free(s, &all);
    slices_free(s, &none);
}

#endif
