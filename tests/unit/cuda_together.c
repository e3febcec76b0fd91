/* Tasks that the back end gets at once do what each does by itself: S2, Variation and volume fractions of all
 * directions and two fields, whose gradients share memory. S2 has the same bits, and so has a second time. One slot of
 * memory per slice, or three; odd extents, levels, periodic or not. */
#include "tests/unit/cuda_slices.h"

enum { FIELDS = 2, KINDS = 3, CALLS = FIELDS * KINDS * MF_SIDES };

static struct side side;

struct trial {
    size_t n[3], lag, levels, calls;
    int periodic, power, gradient;
    double smooth;
};

static const struct trial trials[] = {{{24, 24, 24}, 4, 2, 3, 1, 2, 1, 0.1}, {{23, 20, 26}, 4, 2, 1, 1, 2, 1, 0},
                                      {{20, 20, 20}, 8, 1, 1, 0, 1, 1, 0.1}, {{32, 32, 32}, 4, 3, 3, 0, 2, 1, 0},
                                      {{16, 16, 18}, 2, 2, 2, 1, 1, 1, 0.1}, {{17, 17, 17}, 4, 2, 3, 1, 2, 0, 0}};

/* What all calls leave. */
struct answer {
    size_t voxels;
    float *g;             /* [FIELDS][voxels] */
    double *sum[CALLS];   /* [slices] */
    float *values[CALLS]; /* [slices][levels][entries] */
    size_t slices[CALLS], numbers[CALLS];
};

static struct mf_view view_of(const struct trial *t, int normal, float *base)
{
    const struct slices_case k = {{t->n[0], t->n[1], t->n[2]}, normal, 0, {0}};

    return slices_view(&k, base);
}

/* Plans of the three directions; those of equal slices are one. */
static void make_plans(const struct trial *t, const struct mf_slice_ops *const ops[KINDS],
                       struct mf_slice_plan *plan[MF_SIDES][KINDS])
{
    for (int d = 0; d < MF_SIDES; ++d)
        for (int k = 0; k < KINDS; ++k) {
            const struct mf_view v = view_of(t, d, NULL), before = view_of(t, d ? d - 1 : 0, NULL);
            const struct mf_slice_desc desc = {.nu = v.nu,
                                               .nv = v.nv,
                                               .lag = t->lag,
                                               .levels = t->levels,
                                               .count_max = 32,
                                               .calls = t->calls,
                                               .periodic = t->periodic,
                                               .smooth = t->smooth};

            if (d > 0 && v.nu == before.nu && v.nv == before.nv)
                plan[d][k] = plan[d - 1][k];
            else
                CHECK(mf_slices_plan(ops[k], side.q, &desc, &plan[d][k]) == MF_OK);
        }
}

static void free_plans(const struct mf_slice_ops *const ops[KINDS], struct mf_slice_plan *plan[MF_SIDES][KINDS])
{
    side.be->sync(side.q);
    for (int d = 0; d < MF_SIDES; ++d)
        for (int k = 0; k < KINDS; ++k)
            if (d == 0 || plan[d][k] != plan[d - 1][k]) ops[k]->free(plan[d][k]);
}

static struct answer ask(const struct trial *t, int at_once)
{
    const struct mf_slices *slices = side.be->slices;
    const struct mf_slice_ops *const ops[KINDS] = {slices->vari, slices->corr, slices->frac};
    static const double weight[3] = {1.0, 0.7, 1.6};
    struct answer a = {.voxels = t->n[0] * t->n[1] * t->n[2]};
    float *field = slices_field(FIELDS * a.voxels, 1), *x = up(&side, FIELDS * a.voxels, field), *g, *target[KINDS];
    double *scale = sums_new(&side, 32);
    struct mf_slice_plan *plan[MF_SIDES][KINDS];
    struct mf_slice_call call[CALLS];
    int64_t *tally[CALLS];
    size_t n = 0;

    for (size_t i = 0; i < FIELDS * a.voxels; ++i) field[i] = 0.25f;
    g = up(&side, FIELDS * a.voxels, field);
    for (size_t i = 0; i < 32; ++i) scale[i] = 5000 + 1000 * (double)i;
    make_plans(t, ops, plan);
    for (int k = 0; k < KINDS; ++k) {
        const size_t entries = k == 1 ? (2 * t->lag - 1) * (2 * t->lag - 1) : 1;
        float *own = slices_target(t->levels, entries);

        target[k] = up(&side, t->levels * entries, own);
        free(own);
    }
    for (int d = 0; d < MF_SIDES; ++d)
        for (int k = 0; k < KINDS; ++k)
            for (size_t f = 0; f < FIELDS; ++f, ++n) {
                const struct mf_view v = view_of(t, d, x + f * a.voxels);

                a.slices[n] = v.count;
                a.numbers[n] = v.count * t->levels * (k == 1 ? (2 * t->lag - 1) * (2 * t->lag - 1) : 1);
                a.sum[n] = sums_new(&side, v.count);
                a.values[n] = mf_arena_zeros(side.host, a.numbers[n], sizeof(float), "test");
                tally[n] = tally_new(&side, ops[k], a.numbers[n] / v.count / t->levels);
                call[n] = (struct mf_slice_call){ops[k],
                                                 plan[d][k],
                                                 {.x = v,
                                                  .g = view_of(t, d, t->gradient ? g + f * a.voxels : NULL),
                                                  .target = target[k],
                                                  .weight = weight,
                                                  .power = t->power,
                                                  .scale = scale,
                                                  .sum = a.sum[n],
                                                  .values = a.values[n],
                                                  .tally = tally[n]}};
            }
    if (at_once) slices->all(side.q, call, n);
    for (size_t i = 0; !at_once && i < n; ++i) call[i].ops->eval(call[i].plan, &call[i].task);
    for (size_t i = 0; i < n; ++i) {
        const size_t size = a.numbers[i] / a.slices[i];

        tally_check(&side, size / t->levels, tally[i], a.slices[i], size, a.values[i]);
    }
    free_plans(ops, plan);
    a.g = down(&side, FIELDS * a.voxels, g);
    for (int k = 0; k < KINDS; ++k) mf_arena_give(side.device, target[k]);
    mf_arena_give(side.device, x);
    mf_arena_give(side.host, scale);
    free(field);
    return a;
}

static void free_answer(struct answer *a)
{
    for (size_t i = 0; i < CALLS; ++i) {
        mf_arena_give(side.host, a->sum[i]);
        mf_arena_give(side.host, a->values[i]);
    }
    free(a->g);
}

static void check_trial(const struct trial *t)
{
    struct answer each = ask(t, 0), all = ask(t, 1), again = ask(t, 1);
    const int before = failures;

    for (size_t i = 0; i < CALLS; ++i) {
        const int exact = i / FIELDS % KINDS == 1;

        CHECK_NEAR(away_sums(all.slices[i], all.sum[i], each.sum[i]), 0, exact ? 0 : 1e-6);
        CHECK_NEAR(away(all.numbers[i], all.values[i], each.values[i]), 0, exact ? 0 : 1e-6);
        CHECK(memcmp(all.sum[i], again.sum[i], all.slices[i] * sizeof(double)) == 0);
        CHECK(memcmp(all.values[i], again.values[i], all.numbers[i] * sizeof(float)) == 0);
    }
    CHECK(memcmp(all.g, again.g, FIELDS * all.voxels * sizeof(float)) == 0);
    for (size_t i = 0; i < FIELDS * all.voxels; ++i) all.g[i] -= 0.25f, each.g[i] -= 0.25f;
    CHECK_NEAR(away(FIELDS * all.voxels, all.g, each.g), 0, 2e-6);
    if (failures != before) fprintf(stderr, "  %zu %zu %zu\n", t->n[0], t->n[1], t->n[2]);
    free_answer(&each);
    free_answer(&all);
    free_answer(&again);
}

int main(void)
{
    side = side_open("cuda");
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i += 1 + SANITIZED) check_trial(&trials[i]);
    side_close(&side);
    return failures != 0;
}
