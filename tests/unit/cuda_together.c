/* Tasks that the back end gets at once do what each does by itself. They are S2, Variation and volume fractions of all
 * directions and two fields, whose gradients share memory. S2 has the same bits, and so has a second time. One slot of
 * memory per slice, or three; odd extents, levels, periodic or not; slices in one part or two. The emulator counts
 * launches: as many as plans expect, and one for each gradient that shares memory with others. */
#include <dlfcn.h>

#include "kernels/slices/gpu_cost.h"
#include "tests/unit/cuda_slices.h"

enum { FIELDS = 2, KINDS = 3, PARTS = 2, CALLS = FIELDS * KINDS * MF_SIDES * PARTS };

static struct side side;

struct trial {
    size_t n[3], lag, levels, calls;
    int periodic, power, gradient;
    double smooth;
    size_t fields, parts; /* parts: of slices normal to y and x, as with a batch */
    int kinds;            /* 2: S2 and Variation */
    size_t first;
};

static const struct trial trials[] = {
    {{24, 24, 24}, 4, 2, 3, 1, 2, 1, 0.1, 2, 1, 3, 0}, {{23, 20, 26}, 4, 2, 1, 1, 2, 1, 0, 2, 1, 3, 0},
    {{20, 20, 20}, 8, 1, 1, 0, 1, 1, 0.1, 2, 1, 3, 0}, {{16, 16, 16}, 2, 3, 3, 0, 2, 1, 0, 2, 1, 3, 0},
    {{16, 16, 18}, 2, 2, 2, 1, 1, 1, 0.1, 2, 1, 3, 0}, {{17, 17, 17}, 4, 2, 3, 1, 2, 0, 0, 2, 1, 3, 0},
    {{20, 18, 16}, 4, 2, 1, 1, 2, 1, 0.1, 2, 2, 3, 0},
};

/* One field, cubes, a slot for every slice: launches are counted. */
static const struct trial counted[] = {
    {{16, 16, 16}, 4, 2, 3, 1, 2, 1, 0.1, 1, 1, 2, 0}, {{17, 17, 17}, 2, 2, 3, 1, 2, 1, 0, 1, 1, 2, 0},
    {{16, 16, 16}, 4, 1, 3, 0, 2, 1, 0.1, 1, 1, 2, 0}, {{32, 32, 32}, 1, 5, 3, 1, 2, 1, 0.1, 1, 1, 2, 0},
    {{16, 16, 16}, 4, 2, 5, 1, 2, 1, 0.1, 1, 2, 2, 0}, {{16, 16, 16}, 2, 3, 5, 0, 1, 1, 0.1, 1, 2, 2, 1},
};

/* Results of all calls. */
struct answer {
    size_t voxels, calls;
    long launches;
    int kind[CALLS];
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
                                               .first = t->first,
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

/* Launches so far on the emulator; 0 on a GPU. */
static long launches(void)
{
    void *emulator = dlopen("libemu_cudart.so", RTLD_NOW | RTLD_NOLOAD);
    const long *calls = emulator ? dlsym(emulator, "mf_emu_calls") : NULL;

    return calls ? *calls : 0;
}

/* Part @p i of @p parts. */
static struct mf_view cut(struct mf_view v, size_t i, size_t parts)
{
    const size_t each = v.count / parts / 2 * 2;

    return slices_part(v, i * each, i + 1 < parts ? each : v.count - i * each);
}

static struct answer ask(const struct trial *t, int at_once)
{
    const struct mf_slices *slices = side.be->slices;
    const struct mf_slice_ops *const ops[KINDS] = {slices->vari, slices->corr, slices->frac};
    static const double weight[5] = {1.0, 0.7, 1.6, 0.9, 1.1};
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
        for (size_t i = 0; i < (d ? t->parts : 1); ++i)
            for (int k = 0; k < t->kinds; ++k)
                for (size_t f = 0; f < t->fields; ++f, ++n) {
                    const size_t parts = d ? t->parts : 1, entries = k == 1 ? (2 * t->lag - 1) * (2 * t->lag - 1) : 1;
                    const struct mf_view v = cut(view_of(t, d, x + f * a.voxels), i, parts);

                    a.kind[n] = k;
                    a.slices[n] = v.count;
                    a.numbers[n] = v.count * t->levels * entries;
                    a.sum[n] = sums_new(&side, v.count);
                    a.values[n] = mf_arena_zeros(side.host, a.numbers[n], sizeof(float), "test");
                    tally[n] = tally_new(&side, ops[k], entries);
                    call[n] = (struct mf_slice_call){ops[k],
                                                     plan[d][k],
                                                     {.x = v,
                                                      .g = cut(view_of(t, d, g + f * a.voxels), i, parts),
                                                      .target = target[k],
                                                      .weight = weight,
                                                      .power = t->power,
                                                      .scale = scale,
                                                      .sum = a.sum[n],
                                                      .values = a.values[n],
                                                      .tally = tally[n]}};
                    if (!t->gradient) call[n].task.g.base = NULL;
                }
    a.calls = n;
    a.launches = -launches();
    if (at_once) slices->all(side.q, call, n);
    for (size_t i = 0; !at_once && i < n; ++i) call[i].ops->eval(call[i].plan, &call[i].task);
    a.launches += launches();
    for (size_t i = 0; i < n; ++i) {
        const size_t size = a.numbers[i] / a.slices[i], entries = size / t->levels;

        tally_check(&side, entries, tally[i], a.slices[i], size, a.values[i] + t->first * entries);
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
    for (size_t i = 0; i < a->calls; ++i) {
        mf_arena_give(side.host, a->sum[i]);
        mf_arena_give(side.host, a->values[i]);
    }
    free(a->g);
}

/* @p expected: launches of all; 0: not known. */
static void check_trial(const struct trial *t, double expected)
{
    struct answer each = ask(t, 0), all = ask(t, 1), again = ask(t, 1);
    const int before = failures;

    for (size_t i = 0; i < all.calls; ++i) {
        const int exact = all.kind[i] == 1;

        CHECK_NEAR(away_sums(all.slices[i], all.sum[i], each.sum[i]), 0, exact ? 0 : 1e-6);
        CHECK_NEAR(away(all.numbers[i], all.values[i], each.values[i]), 0, exact ? 0 : 1e-6);
        CHECK(memcmp(all.sum[i], again.sum[i], all.slices[i] * sizeof(double)) == 0);
        CHECK(memcmp(all.values[i], again.values[i], all.numbers[i] * sizeof(float)) == 0);
    }
    CHECK(memcmp(all.g, again.g, FIELDS * all.voxels * sizeof(float)) == 0);
    for (size_t i = 0; i < FIELDS * all.voxels; ++i) all.g[i] -= 0.25f, each.g[i] -= 0.25f;
    CHECK_NEAR(away(FIELDS * all.voxels, all.g, each.g), 0, 2e-6);
    if (launches() > 0) CHECK(all.launches < each.launches);
    if (launches() > 0 && expected > 0) CHECK_NEAR((double)all.launches, expected, 0);
    if (failures != before) fprintf(stderr, "  %zu %zu %zu\n", t->n[0], t->n[1], t->n[2]);
    free_answer(&each);
    free_answer(&all);
    free_answer(&again);
}

static double expected_of(const struct trial *t)
{
    const struct mf_gpu_rates rates = {1e12, 1e13, 90};
    const size_t n = t->n[0];
    const struct mf_slice_desc desc = {.nu = n,
                                       .nv = n,
                                       .lag = t->lag,
                                       .levels = t->levels,
                                       .count_max = 32,
                                       .calls = t->calls,
                                       .periodic = t->periodic,
                                       .first = t->first};

    return mf_gpu_launches(&desc, (double)n, (double)(1 + 2 * t->parts), &rates);
}

/* Variation has a target, S2 beside it none. */
static void check_values(void)
{
    enum { N = 16 };
    static const double weight = 1;
    const struct mf_slice_desc desc = {.nu = N, .nv = N, .lag = 4, .levels = 1, .count_max = N, .periodic = 1};
    const struct mf_slice_ops *const ops[2] = {side.be->slices->vari, side.be->slices->corr};
    const float aim = 0.1f;
    float *field = slices_field(N * N * N, 1), *x = up(&side, N * N * N, field), *target = up(&side, 1, &aim);
    double *sum[2] = {sums_new(&side, N), sums_new(&side, N)};
    struct mf_slice_call call[2];

    for (int k = 0; k < 2; ++k) {
        call[k] = (struct mf_slice_call){.ops = ops[k], .task = {.x = {x, N, N, N, N * N, N, 1}, .power = 2}};
        CHECK(mf_slices_plan(ops[k], side.q, &desc, &call[k].plan) == MF_OK);
    }
    call[0].task.target = target;
    call[0].task.weight = &weight;
    for (int k = 0; k < 2; ++k) {
        call[0].task.sum = sum[k];
        if (k == 0)
            ops[0]->eval(call[0].plan, &call[0].task);
        else
            side.be->slices->all(side.q, call, 2);
        side.be->sync(side.q);
    }
    CHECK(memcmp(sum[0], sum[1], N * sizeof **sum) == 0);
    for (int k = 0; k < 2; ++k) {
        ops[k]->free(call[k].plan);
        mf_arena_give(side.host, sum[k]);
    }
    mf_arena_give(side.device, x);
    mf_arena_give(side.device, target);
    free(field);
}

int main(void)
{
    side = side_open("cuda");
    for (size_t i = 0; i < sizeof trials / sizeof *trials; i += 1 + SANITIZED) check_trial(&trials[i], 0);
    for (size_t i = 0; i < sizeof counted / sizeof *counted; ++i) check_trial(&counted[i], expected_of(&counted[i]));
    check_values();
    side_close(&side);
    return failures != 0;
}
