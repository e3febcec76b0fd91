/* Patches are the same on cpu and cuda. So are the neighbours that are found (the first of equals), and the pull on the
 * pixels. Losses and gradients agree with and without flips. Cases are every direction, odd extents, levels, periodic
 * or not, one field or several, any batch. */
#include "kernels/slices/patch.h"
#include "tests/unit/cuda_slices.h"

enum { PHASES = 2 };

static struct side side[SIDES];

struct patch_case {
    struct slices_case slices;
    size_t mu, mv; /* of the example */
    int tiled;     /* the same few patches again and again */
};

struct patch_answer {
    size_t pulls;
    float *pull, *g[PHASES], *values[PHASES];
    double *sum[PHASES];
};

/* Numbers, or the same tile of 6 x 5 again and again. */
static float *image_of(const struct patch_case *k, size_t nu, size_t nv, uint32_t stream)
{
    float *x = random_floats(nu * nv, stream, 0, 1);

    for (size_t i = 0; k->tiled && i < nu * nv; ++i)
        x[i] = (float)mf_random_uniform(5, stream, i / nv % 6 * 5 + i % nv % 5);
    return x;
}

static struct mf_slice_desc desc_of(const struct patch_case *k, const struct mf_view *v, const float *example)
{
    struct mf_slice_desc desc = k->slices.desc;

    desc.nu = v->nu;
    desc.nv = v->nv;
    desc.count_max = v->count;
    desc.example = (struct mf_slice_example){example, k->mu, k->mv, k->tiled};
    return desc;
}

static float *example_of(const struct patch_case *k)
{
    const size_t n = k->mu * k->mv;
    float *x = malloc(PHASES * n * sizeof *x);

    for (uint32_t p = 0; p < PHASES; ++p) {
        float *one = image_of(k, k->mu, k->mv, 3 + (k->tiled ? 0 : p));

        memcpy(x + p * n, one, n * sizeof *x);
        free(one);
    }
    return x;
}

static void ask_phase(struct side *s, const struct patch_case *k, struct mf_slice_plan *plan, const struct mf_view *x,
                      const float *pull, size_t p, struct patch_answer *a)
{
    const size_t n = k->slices.n[0] * k->slices.n[1] * k->slices.n[2], levels = k->slices.desc.levels;
    const double weight[2] = {1.0, 0.6};
    float *zeros = calloc(n, sizeof *zeros), *g = up(s, n, zeros), *target = up(s, levels, zeros);
    double *scale = sums_new(s, x->count);

    for (size_t i = 0; i < x->count; ++i) scale[i] = 1 + 0.1 * (double)i;
    a->sum[p] = sums_new(s, x->count);
    a->values[p] = mf_arena_zeros(s->host, x->count * levels, sizeof(float), "test");
    s->be->slices->patch->eval(plan, &(struct mf_slice_task){.x = *x,
                                                             .g = slices_view(&k->slices, g),
                                                             .target = target,
                                                             .weight = weight,
                                                             .power = k->slices.power,
                                                             .scale = scale,
                                                             .sum = a->sum[p],
                                                             .values = a->values[p],
                                                             .phase = p,
                                                             .pull = pull});
    s->be->sync(s->q);
    a->g[p] = down(s, n, g);
    mf_arena_give(s->device, target);
    mf_arena_give(s->host, scale);
    free(zeros);
}

static struct patch_answer ask(struct side *s, const struct patch_case *k)
{
    const size_t *dims = k->slices.n, n = dims[0] * dims[1] * dims[2], phases = k->slices.desc.phases;
    float *example = example_of(k), *x[PHASES] = {NULL}, *zeros, *pull;
    struct mf_view view[PHASES];
    struct mf_slice_desc desc;
    struct mf_slice_plan *plan;
    struct patch_answer a = {0};

    for (uint32_t p = 0; p < phases; ++p) {
        float *field = image_of(k, dims[0] * dims[1], dims[2], 8 + p);

        x[p] = up(s, n, field);
        view[p] = slices_view(&k->slices, x[p]);
        free(field);
    }
    desc = desc_of(k, &view[0], example);
    a.pulls = s->be->slices->patch->pull(&desc) * view[0].count;
    zeros = calloc(a.pulls + 1, sizeof *zeros);
    pull = up(s, a.pulls + 1, zeros);
    CHECK(mf_slices_plan(s->be->slices->patch, s->q, &desc, &plan) == MF_OK);
    s->be->slices->patch->match(plan, view, pull);
    for (size_t p = 0; p < phases; ++p) ask_phase(s, k, plan, &view[p], pull, p, &a);
    s->be->slices->patch->free(plan);
    a.pull = down(s, a.pulls + 1, pull);
    for (size_t p = 0; p < phases; ++p) mf_arena_give(s->device, x[p]);
    free(zeros);
    free(example);
    return a;
}

static void answer_free(struct side *s, struct patch_answer *a, size_t phases)
{
    for (size_t p = 0; p < phases; ++p) {
        mf_arena_give(s->host, a->sum[p]);
        mf_arena_give(s->host, a->values[p]);
        free(a->g[p]);
    }
    free(a->pull);
}

static void check_case(const struct patch_case *k)
{
    const size_t n = k->slices.n[0] * k->slices.n[1] * k->slices.n[2], phases = k->slices.desc.phases;
    const struct mf_view v = slices_view(&k->slices, NULL);
    struct patch_answer a = ask(&side[0], k), b = ask(&side[1], k);
    const int before = failures;

    CHECK(a.pulls > 0 && a.pulls == b.pulls);
    CHECK_NEAR(away(a.pulls, b.pull, a.pull), 0, 1e-5);
    for (size_t p = 0; p < phases; ++p) {
        CHECK_NEAR(away_sums(v.count, b.sum[p], a.sum[p]), 0, 1e-5);
        CHECK_NEAR(away(v.count * k->slices.desc.levels, b.values[p], a.values[p]), 0, 1e-5);
        CHECK_NEAR(away(n, b.g[p], a.g[p]), 0, 1e-5);
    }
    if (failures != before)
        fprintf(
            stderr,
            "  in %zu %zu %zu, normal %d, power %d, levels %zu from %zu, periodic %d, flip %d, phases %zu, tiled %d\n",
            k->slices.n[0], k->slices.n[1], k->slices.n[2], k->slices.normal, k->slices.power, k->slices.desc.levels,
            k->slices.desc.first, k->slices.desc.periodic, k->slices.desc.flip, phases, k->tiled);
    answer_free(&side[0], &a, phases);
    answer_free(&side[1], &b, phases);
}

int main(void)
{
    const char *order = getenv("MF_EMU_ORDER");
    const int some = SANITIZED || (order && strcmp(order, "forward") != 0);

    side[0] = side_open("cpu");
    side[1] = side_open("cuda");
    for (int run = 0; run < 8; ++run) {
        struct patch_case k = {
            {{11, 12, 14}, run % 3, 1 + run % 2, {.levels = 1, .periodic = run % 2, .phases = 1}}, 15, 13, 0};

        if (some && run % 3) continue;
        k.slices.desc.flip = run & 4;
        if (run == 3 || run == 6) k.slices.desc.phases = 2;
        if (run > 5) {
            const size_t large[3] = {1, 21, 23};

            memcpy(k.slices.n, large, sizeof large);
            k.slices.normal = 0;
            k.slices.desc.levels = 2;
            k.mu = 24, k.mv = 19;
            k.slices.desc.first = run == 7;
        }
        check_case(&k);
    }
    check_case(&(struct patch_case){{{2, 18, 20}, 0, 2, {.levels = 1, .periodic = 1, .phases = 1}}, 24, 15, 1});
    for (int s = 0; s < SIDES; ++s) side_close(&side[s]);
    return failures != 0;
}
