/* Pointwise work on slabs is the same on cpu and cuda, to the rounding of a float. */
#include "tests/unit/cuda_case.h"

static struct side side[SIDES];

static const struct mf_extent cases[] = {{1, 1, 4096}, {1, 3, 65},   {1, 9, 4411}, {1, 2, 131073}, {2, 4, 577},
                                         {3, 1, 1},    {3, 7, 1089}, {5, 3, 289},  {32, 2, 37}};

static size_t voxels(struct mf_extent e) { return e.phases * e.planes * e.plane; }

static void check_elements(struct mf_extent e)
{
    const size_t n = voxels(e);
    float *x = random_floats(n, 1, -2, 2), *y = random_floats(n, 2, -2, 2), *out[SIDES];

    for (int s = 0; s < SIDES; ++s) {
        const struct mf_field_ops *ops = side[s].be->field;
        float *dx = up(&side[s], n, x), *dy = up(&side[s], n, y);

        ops->axpy(side[s].q, n, 0.3f, dx, dy);
        ops->scale(side[s].q, n, -1.7f, dy);
        ops->clamp(side[s].q, n, -1, 1.5f, dy);
        ops->copy(side[s].q, n / 2, dy, dx);
        ops->fill(side[s].q, n / 3, 0.25f, dx);
        CHECK(ops->broken(side[s].q, n, dx) == 0);
        free(down(&side[s], n, dy));
        out[s] = down(&side[s], n, dx);
    }
    CHECK(away(n, out[1], out[0]) < 1e-7);
    x[n / 2] = NAN;
    x[0] = INFINITY;
    for (int s = 0; s < SIDES; ++s) {
        float *dx = up(&side[s], n, x);

        CHECK(side[s].be->field->broken(side[s].q, n, dx) == (n > 1 ? 2 : 1));
        free(out[s]);
        free(down(&side[s], n, dx));
    }
    free(x);
    free(y);
}

static void check_sums(struct mf_extent e)
{
    const size_t n = voxels(e);
    float *x = random_floats(n, 3, -1, 2), *y = random_floats(n, 4, -1, 2);
    double *dots[SIDES], *sums[SIDES];

    for (int s = 0; s < SIDES; ++s) {
        float *dx = up(&side[s], n, x), *dy = up(&side[s], n, y);

        dots[s] = sums_new(&side[s], e.planes);
        sums[s] = sums_new(&side[s], e.phases * e.planes);
        side[s].be->field->dot(side[s].q, e, dx, dy, dots[s]);
        side[s].be->field->sum(side[s].q, e, dx, sums[s]);
        side[s].be->sync(side[s].q);
        free(down(&side[s], n, dx));
        free(down(&side[s], n, dy));
    }
    CHECK(away_sums(e.planes, dots[1], dots[0]) < 1e-13);
    CHECK(away_sums(e.phases * e.planes, sums[1], sums[0]) < 1e-13);
    for (int s = 0; s < SIDES; ++s) {
        mf_arena_give(side[s].host, dots[s]);
        mf_arena_give(side[s].host, sums[s]);
    }
    free(x);
    free(y);
}

static void check_guide(struct mf_extent e)
{
    const size_t n = voxels(e);
    float *x = random_floats(n, 5, 0, 1), *g = random_floats(n, 6, -1, 1), shift[MF_SIMPLEX_MAX], *out[SIDES];
    double *grey[SIDES], *mean[SIDES];

    for (size_t p = 0; p < MF_SIMPLEX_MAX; ++p) shift[p] = 0.1f * (float)p - 0.2f;
    for (int s = 0; s < SIDES; ++s) {
        float *dx = up(&side[s], n, x), *dg = up(&side[s], n, g), passed[MF_SIMPLEX_MAX];

        memcpy(passed, shift, sizeof passed);
        grey[s] = sums_new(&side[s], e.planes);
        mean[s] = sums_new(&side[s], e.phases * e.planes);
        side[s].be->field->guide(side[s].q, e, 0.4f, passed, dx, dg, grey[s], mean[s]);
        memset(passed, 0, sizeof passed); /* it was read at the call */
        side[s].be->field->guide(side[s].q, e, -0.1f, shift, dx, dg, NULL, NULL);
        side[s].be->sync(side[s].q);
        out[s] = down(&side[s], n, dg);
        free(down(&side[s], n, dx));
    }
    CHECK(away(n, out[1], out[0]) < 3e-7);
    CHECK(away_sums(e.planes, grey[1], grey[0]) < 1e-7);
    CHECK(away_sums(e.phases * e.planes, mean[1], mean[0]) < 1e-13);
    for (int s = 0; s < SIDES; ++s) {
        mf_arena_give(side[s].host, grey[s]);
        mf_arena_give(side[s].host, mean[s]);
        free(out[s]);
    }
    free(x);
    free(g);
}

static void check_project(struct mf_extent e, double lo, double hi)
{
    const size_t n = voxels(e);
    float *x = random_floats(n, 8, lo, hi), *out[SIDES];

    for (int s = 0; s < SIDES; ++s) {
        float *dx = up(&side[s], n, x);

        side[s].be->field->project(side[s].q, e, dx);
        out[s] = down(&side[s], n, dx);
    }
    CHECK(away(n, out[1], out[0]) < 1e-6);
    free(out[0]);
    free(out[1]);
    free(x);
}

int main(void)
{
    side[0] = side_open("cpu");
    side[1] = side_open("cuda");
    for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
        check_elements(cases[c]);
        check_sums(cases[c]);
        check_guide(cases[c]);
        check_project(cases[c], -0.5, 1.5);
        check_project(cases[c], 0.2, 0.3);
    }
    for (int s = 0; s < SIDES; ++s) side_close(&side[s]);
    return failures != 0;
}
