/* S2 of slices equals plain loops in double: values, losses, gradients. Extents are odd or even, slices periodic or
 * not, of every direction, with levels. Lags have every depth, and several groups; some lines are longer than a block's
 * twiddles. A second evaluation has the same bits. A slice that does not fit into a block is refused. */
#include "kernels/slices/areas.h"
#include "tests/oracle/corr.h"
#include "tests/unit/cuda_slices.h"

enum { COUNT = 2 };

static struct side side;

static const struct {
    size_t nu, nv, lag, levels;
} sizes[] = {{16, 16, 4, 2},  {32, 40, 4, 3},  {33, 27, 8, 1},  {37, 40, 4, 2},  {64, 64, 16, 2}, {45, 50, 8, 2},
             {64, 48, 16, 1}, {21, 64, 10, 1}, {64, 64, 4, 3},  {64, 72, 32, 1}, {22, 33, 8, 1},  {31, 37, 4, 2},
             {64, 67, 32, 1}, {70, 72, 33, 1}, {80, 83, 40, 1}, {9, 4099, 3, 1}, {5, 5000, 2, 1}};

static struct slices_case case_of(size_t i, int normal)
{
    const size_t nu = sizes[i].nu, nv = sizes[i].nv;
    struct slices_case k = {{COUNT, nu, nv}, normal, 2, {.lag = sizes[i].lag, .levels = sizes[i].levels}};

    if (normal == 1) k.n[0] = nu, k.n[1] = COUNT, k.n[2] = nv;
    if (normal == 2) k.n[0] = nu, k.n[1] = nv, k.n[2] = COUNT;
    return k;
}

/* Loss of a level of slice x; its values, and its gradient on top of g. */
static double level_loss(const struct slices_case *k, const struct mf_view *v, size_t l, const float *target,
                         const double *x, double scale, double *values, double *g)
{
    static const double weights[4] = {1.0, 0.7, 1.6, 0.9}; /* as in slices_ask() */
    const struct oracle_corr o = {v->nu >> l, v->nv >> l, k->desc.lag, k->desc.periodic};
    const size_t entries = mf_entries_window(&k->desc), pixels = o.nu * o.nv;
    double *p = malloc(pixels * sizeof *p), *h = malloc(pixels * sizeof *h), *slope = malloc(entries * sizeof *slope);
    double loss = 0;

    oracle_pool(v->nu, v->nv, l, x, p);
    oracle_corr(&o, p, p, values);
    for (size_t i = 0; i < entries; ++i) {
        const double e = weights[l] * (values[i] - (double)target[i]);

        loss += e * e;
        slope[i] = scale * weights[l] * 2 * e;
    }
    oracle_corr_adjoint(&o, p, slope, h);
    oracle_pool_adjoint(v->nu, v->nv, l, h, g);
    free(p);
    free(h);
    free(slope);
    return loss;
}

/* Slice s, by the oracle. */
static void check_slice(const struct slices_case *k, size_t s, const float *field, const struct slices_answer *a)
{
    const struct mf_view v = slices_view(k, NULL);
    const size_t pixels = v.nu * v.nv, entries = mf_entries_window(&k->desc);
    double *x = malloc(pixels * sizeof *x), *g = calloc(pixels, sizeof *g),
           *values = malloc(a->entries * sizeof *values);
    float *own = malloc(pixels * sizeof *own), *right = malloc(pixels * sizeof *right),
          *d = malloc(a->entries * sizeof *d);
    float *target = slices_target(k->desc.levels, entries);
    double loss = 0;

    for (size_t i = 0; i < pixels; ++i) {
        const size_t at = s * v.ss + i / v.nv * v.su + i % v.nv * v.sv;

        x[i] = (double)field[at];
        own[i] = a->g[at] - 0.25f;
    }
    for (size_t l = 0; l < k->desc.levels; ++l)
        loss += level_loss(k, &v, l, target + l * entries, x, 5000 + 1000 * (double)s, values + l * entries, g);
    for (size_t i = 0; i < pixels; ++i) right[i] = (float)g[i];
    for (size_t i = 0; i < a->entries; ++i) d[i] = (float)values[i];
    CHECK_NEAR(a->sum[s] / loss, 1, 1e-6);
    CHECK_NEAR(away(a->entries, a->values + s * a->entries, d), 0, 1e-6);
    CHECK_NEAR(away(pixels, own, right), 0, 2e-6);
    free(x);
    free(g);
    free(values);
    free(own);
    free(right);
    free(d);
    free(target);
}

static void check_case(const struct slices_case *k)
{
    const size_t n = k->n[0] * k->n[1] * k->n[2];
    struct slices_answer a = slices_ask(&side, "S2", k, 0, COUNT), b = slices_ask(&side, "S2", k, 0, COUNT);
    float *field = slices_field(n, 1);
    const int before = failures;

    CHECK(memcmp(a.sum, b.sum, COUNT * sizeof *a.sum) == 0);
    CHECK(memcmp(a.values, b.values, COUNT * a.entries * sizeof *a.values) == 0);
    CHECK(memcmp(a.g, b.g, n * sizeof *a.g) == 0);
    for (size_t s = 0; s < COUNT; ++s) check_slice(k, s, field, &a);
    if (failures != before)
        fprintf(stderr, "  %zu %zu %zu, normal %d, lag %zu, levels %zu, periodic %d\n", k->n[0], k->n[1], k->n[2],
                k->normal, k->desc.lag, k->desc.levels, k->desc.periodic);
    free(field);
    slices_free(&side, &a);
    slices_free(&side, &b);
}

static int layout(size_t nv, size_t lag, int capability)
{
    const struct mf_slice_desc desc = {.nu = 2 * lag, .nv = nv, .lag = lag, .levels = 1, .count_max = 1};
    struct mf_corr_areas areas;

    return mf_areas_corr(&desc, mf_gpu_shared(capability), &areas);
}

static void check_room(void)
{
    CHECK(layout(16384, 16, 90) == MF_OK && layout(16384, 1000, 90) == MF_OK);
    CHECK(layout(10000, 16, 89) == MF_OK);
    CHECK(layout(16384, 16, 89) == MF_USAGE && strstr(mf_err_text(), "lines of 17280 pixels"));
    CHECK(strstr(mf_err_text(), "a block of this GPU has 99") != NULL);
    CHECK(layout(8000, 2000, 89) == MF_USAGE);
}

int main(void)
{
    const int all = !SANITIZED && getenv("MF_LONG");

    check_room();
    side = side_open("cuda");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int turn = all ? 0 : (int)i % 2; turn < 2; turn += all ? 1 : 2) {
            struct slices_case k = case_of(i, (int)(2 * i + (size_t)turn) % 3);

            k.desc.periodic = turn;
            check_case(&k);
        }
    side_close(&side);
    return failures != 0;
}
