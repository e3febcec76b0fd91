/* Gram matrices of VGG-19 are the same on cpu and cuda: values, losses, gradients, totals. Cases are one field and
 * phases for colours, every unit, odd extents, levels, periodic or not. A slice has the same bits alone and among
 * others, and the weights are on the device once. */
#include "tests/unit/cuda_slices.h"

enum { PHASES = 4 };

static struct side side[SIDES];
static struct mf_vgg *vgg;

struct vgg_case {
    struct slices_case slices;
    enum mf_unit unit;
    int all; /* phases for colours */
};

struct vgg_answer {
    float *g[PHASES], *values;
    double *sum, *total;
};

/* Weights that leave activations at about one, some of them below zero. */
static void network_fill(void)
{
    float *weight = malloc((size_t)512 * 512 * MF_VGG_TAPS * sizeof *weight), bias[512];
    uint64_t state = 7;

    for (size_t l = 0; l < MF_VGG_LAYERS; ++l) {
        const size_t in = mf_vgg_layers[l].in, out = mf_vgg_layers[l].out, n = in * out * MF_VGG_TAPS;
        const double scale = sqrt(6.0 / (MF_VGG_TAPS * (double)in)) / (l == 0 ? 128 : 1);

        for (size_t i = 0; i < n + out; ++i) {
            state = state * 6364136223846793005u + 1442695040888963407u;
            const double random = (double)(state >> 11) * 0x1p-52 - 1; /* -1 .. 1 */

            if (i < n)
                weight[i] = (float)(scale * random);
            else
                bias[i - n] = (float)(0.3 * random);
        }
        mf_vgg_put(vgg, l, weight, bias);
    }
    for (size_t c = 0; c < MF_VGG_COLOURS; ++c) vgg->mean[c] = 120.0f - 7.0f * (float)c;
    free(weight);
}

static const struct mf_slice_ops *ops_of(const struct side *s, const struct vgg_case *k)
{
    return k->all ? s->be->slices->vgg_all : s->be->slices->vgg;
}

static struct mf_slice_desc desc_of(const struct vgg_case *k, const struct mf_view *v)
{
    struct mf_slice_desc desc = k->slices.desc;

    desc.nu = v->nu;
    desc.nv = v->nv;
    desc.count_max = v->count;
    desc.vgg = vgg;
    return desc;
}

/* Targets on both sides of the network's values. They are so far away that signs are no rounding where they alone
 * count. */
static float *target_of(int power, size_t n)
{
    float *t = malloc(n * sizeof *t);

    for (size_t i = 0; i < n; ++i) t[i] = power == 1 ? (i % 3 ? 500.0f : -500.0f) : (float)(i % 11) * 0.25f;
    return t;
}

/* The slices [from, from + count) of the case, their gradients on top of quarters. */
static struct vgg_answer ask(struct side *s, const struct vgg_case *k, size_t from, size_t count)
{
    const size_t n = k->slices.n[0] * k->slices.n[1] * k->slices.n[2], phases = k->all ? k->slices.desc.phases : 1;
    const size_t entries = k->slices.desc.levels * MF_VGG_ENTRIES;
    const double weight[2] = {1.0, 0.7};
    struct mf_view x[PHASES], g[PHASES];
    float *memory[2 * PHASES], *quarters = malloc(n * sizeof *quarters), *aim = target_of(k->slices.power, entries);
    float *target = up(s, entries, aim);
    double *scale = sums_new(s, count);
    struct vgg_answer a = {.values = mf_arena_zeros(s->host, count * entries, sizeof(float), "test"),
                           .sum = sums_new(s, count),
                           .total = sums_new(s, entries)};
    struct mf_slice_desc desc;
    struct mf_slice_plan *plan;

    for (size_t i = 0; i < n; ++i) quarters[i] = 0.25f;
    for (size_t p = 0; p < phases; ++p) {
        float *field = slices_field(n, 1 + (uint32_t)p);

        memory[2 * p] = up(s, n, field);
        memory[2 * p + 1] = up(s, n, quarters);
        x[p] = slices_part(slices_view(&k->slices, memory[2 * p]), from, count);
        g[p] = slices_part(slices_view(&k->slices, memory[2 * p + 1]), from, count);
        free(field);
    }
    for (size_t i = 0; i < count; ++i) scale[i] = 1 + 0.1 * (double)(from + i);
    desc = desc_of(k, &x[0]);
    if (mf_slices_plan(ops_of(s, k), s->q, &desc, &plan) != MF_OK) {
        fprintf(stderr, "%s\n", mf_err_text());
        exit(1);
    }
    ops_of(s, k)->eval(plan, &(struct mf_slice_task){.x = x[0],
                                                     .g = g[0],
                                                     .target = target,
                                                     .weight = weight,
                                                     .power = k->slices.power,
                                                     .scale = scale,
                                                     .sum = a.sum,
                                                     .values = a.values,
                                                     .fields = x,
                                                     .slopes = g});
    if (k->all)
        ops_of(s, k)->join(plan, x, a.total);
    else
        ops_of(s, k)->total(plan, x, a.total);
    s->be->sync(s->q);
    ops_of(s, k)->free(plan);
    for (size_t p = 0; p < phases; ++p) {
        mf_arena_give(s->device, memory[2 * p]);
        a.g[p] = down(s, n, memory[2 * p + 1]);
    }
    mf_arena_give(s->device, target);
    mf_arena_give(s->host, scale);
    free(quarters);
    free(aim);
    return a;
}

static void answer_free(struct side *s, struct vgg_answer *a)
{
    mf_arena_give(s->host, a->values);
    mf_arena_give(s->host, a->sum);
    mf_arena_give(s->host, a->total);
    for (size_t p = 0; p < PHASES; ++p) free(a->g[p]);
}

static void check_case(const struct vgg_case *k)
{
    const size_t n = k->slices.n[0] * k->slices.n[1] * k->slices.n[2];
    const size_t count = slices_view(&k->slices, NULL).count, entries = k->slices.desc.levels * MF_VGG_ENTRIES;
    const size_t first = k->slices.desc.first * MF_VGG_ENTRIES;
    struct vgg_answer a, b;
    const int before = failures;

    vgg->unit = k->unit;
    a = ask(&side[0], k, 0, count);
    b = ask(&side[1], k, 0, count);
    CHECK_NEAR(away_sums(count, b.sum, a.sum), 0, 1e-5);
    for (size_t s = 0; s < count; ++s)
        CHECK_NEAR(away(entries - first, b.values + s * entries + first, a.values + s * entries + first), 0, 1e-5);
    CHECK_NEAR(away_sums(entries, b.total, a.total), 0, 1e-5);
    for (size_t p = 0; p < PHASES && a.g[p]; ++p) {
        double norm = 0;

        for (size_t i = 0; i < n; ++i) {
            a.g[p][i] -= 0.25f, b.g[p][i] -= 0.25f;
            norm += (double)a.g[p][i] * (double)a.g[p][i];
        }
        CHECK_NEAR(away(n, b.g[p], a.g[p]), 0, 1e-5);
        CHECK((norm > 0) ==
              (!k->all || k->slices.desc.phases == MF_VGG_COLOURS || p > 0)); /* else the first is not seen */
    }
    if (failures != before)
        fprintf(stderr, "  in %zu %zu %zu, normal %d, unit %s, levels %zu from %zu, periodic %d, all %d\n",
                k->slices.n[0], k->slices.n[1], k->slices.n[2], k->slices.normal, mf_unit_name(k->unit),
                k->slices.desc.levels, k->slices.desc.first, k->slices.desc.periodic, k->all);
    answer_free(&side[0], &a);
    answer_free(&side[1], &b);
}

/* Slice 1 of the case by itself. */
static void check_same_bits(const struct vgg_case *k)
{
    const size_t entries = k->slices.desc.levels * MF_VGG_ENTRIES;
    struct vgg_answer all = ask(&side[1], k, 0, slices_view(&k->slices, NULL).count), one = ask(&side[1], k, 1, 1);
    const struct mf_view v = slices_view(&k->slices, NULL);

    CHECK(all.sum[1] == one.sum[0]);
    CHECK(memcmp(all.values + entries, one.values, entries * sizeof *one.values) == 0);
    for (size_t u = 0; u < v.nu; ++u)
        for (size_t w = 0; w < v.nv; ++w) {
            const size_t at = v.ss + u * v.su + w * v.sv;

            CHECK(all.g[0][at] == one.g[0][at]);
        }
    answer_free(&side[1], &all);
    answer_free(&side[1], &one);
}

/* Two plans count the weights once in either memory, and nothing is left of them. */
static void check_bytes(void)
{
    const struct side *s = &side[1];
    const struct mf_slice_desc desc = {.nu = 16, .nv = 16, .levels = 1, .count_max = 1, .vgg = vgg, .phases = 3};
    const size_t device = mf_arena_live(s->device), host = mf_arena_live(s->host), bytes = mf_vgg_bytes();
    struct mf_slice_plan *one, *all;
    size_t first, both;

    CHECK(mf_slices_plan(s->be->slices->vgg, s->q, &desc, &one) == MF_OK);
    first = mf_arena_live(s->device) - device;
    CHECK(mf_slices_plan(s->be->slices->vgg_all, s->q, &desc, &all) == MF_OK);
    both = mf_arena_live(s->device) - device;
    CHECK(first > bytes && both > first && both < 2 * bytes);
    CHECK(mf_arena_live(s->host) - host == bytes);
    s->be->slices->vgg->free(one);
    CHECK(mf_arena_live(s->device) - device > bytes);
    s->be->slices->vgg_all->free(all);
    CHECK(mf_arena_live(s->device) == device && mf_arena_live(s->host) == host);
}

int main(void)
{
    static const struct vgg_case cases[] = {
        {{{2, 17, 19}, 0, 2, {.levels = 1, .periodic = 1, .phases = 1}}, MF_UNIT_RELU, 0},
        {{{2, 16, 18}, 0, 1, {.levels = 1, .periodic = 1, .phases = 3}}, MF_UNIT_ELU, 1},
        {{{1, 33, 35}, 0, 2, {.levels = 2, .phases = 1}}, MF_UNIT_GELU, 0},
        {{{17, 16, 2}, 2, 2, {.levels = 1, .phases = 4}}, MF_UNIT_LEAKY_RELU, 1},
        {{{1, 32, 33}, 0, 2, {.levels = 2, .first = 1, .periodic = 1, .phases = 2}}, MF_UNIT_SILU, 1}};
    const char *order = getenv("MF_EMU_ORDER");
    const size_t some = SANITIZED || (order && strcmp(order, "forward") != 0) ? 2 : sizeof cases / sizeof *cases;

    CHECK(mf_vgg_new(MF_UNIT_RELU, 0, &vgg) == MF_OK);
    network_fill();
    side[0] = side_open("cpu");
    side[1] = side_open("cuda");
    for (size_t c = 0; c < some; ++c) check_case(&cases[c]);
    if (some > 2) check_same_bits(&cases[0]);
    check_bytes();
    for (int s = 0; s < SIDES; ++s) side_close(&side[s]);
    mf_vgg_free(vgg);
    return failures != 0;
}
