/* Interface density and volume fraction of slices are the same on cpu and cuda. Cases are every direction, extents odd
 * and even, levels, periodic or not, with and without the seam and the rounding of jumps. */
#include "tests/unit/cuda_slices.h"

static struct side side[SIDES];

static const size_t sizes[][3] = {{1, 64, 64}, {2, 17, 23}, {3, 9, 40}, {7, 19, 21}, {13, 37, 43}, {1, 130, 140}};

static void check_sizes(void)
{
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i)
        for (int mode = 0; mode < 8; ++mode)
            for (int normal = 0; normal < (sizes[i][0] > 6 ? 3 : 1); ++normal) {
                struct slices_case k = {{sizes[i][0], sizes[i][1], sizes[i][2]},
                                        normal,
                                        1 + (mode & 1),
                                        {.levels = mode & 1 ? 3 : 1, .periodic = !(mode & 2), .seam = (mode & 4) != 0}};

                k.desc.smooth = mode == 3 || mode == 4 ? 0.1 : 0;
                slices_check(side, "vari", &k, 1e-6);
                slices_check(side, "frac", &k, 1e-6);
                k.desc.first = k.desc.levels - 1;
                slices_check(side, "vari", &k, 1e-6);
                slices_check(side, "frac", &k, 1e-6);
            }
}

/* More slices than a plan holds the levels of. */
static void check_parts(void)
{
    struct slices_case k = {{530, 128, 130}, 0, 2, {.levels = 2, .periodic = 1}};

    slices_check(side, "vari", &k, 1e-6);
}

static void check_bits(void)
{
    for (int normal = 0; normal < 3; ++normal) {
        struct slices_case k = {{9, 14, 15}, normal, 2, {.levels = 2, .periodic = normal % 2}};

        slices_same_bits(&side[1], "vari", &k);
        slices_same_bits(&side[1], "frac", &k);
    }
}

/* The same slices, once in planes and once side by side, have the same bits. */
static void check_layouts(void)
{
    enum { N = 21 };
    const struct slices_case k = {{N, N, N}, 0, 2, {.nu = N, .nv = N, .count_max = N, .levels = 2, .smooth = 0.1}};
    float *x = slices_field(N * N * N, 1), *turned = malloc(sizeof(float[N * N * N]));
    double *total[2];

    for (size_t s = 0; s < N; ++s)
        for (size_t i = 0; i < N * N; ++i) turned[i * N + s] = x[s * N * N + i];
    for (int way = 0; way < 2; ++way) {
        float *on = up(&side[1], N * N * N, way ? turned : x);
        const struct mf_view planes = {on, N, N, N, N * N, N, 1}, lanes = {on, N, N, N, 1, N * N, N};
        struct mf_slice_plan *plan;

        total[way] = sums_new(&side[1], 2);
        CHECK(mf_slices_plan(side[1].be->slices->vari, side[1].q, &k.desc, &plan) == MF_OK);
        side[1].be->slices->vari->total(plan, way ? &lanes : &planes, total[way]);
        side[1].be->sync(side[1].q);
        side[1].be->slices->vari->free(plan);
        free(down(&side[1], N * N * N, on));
    }
    CHECK(total[0][0] > 0 && total[0][0] == total[1][0] && total[0][1] == total[1][1]);
    for (int way = 0; way < 2; ++way) mf_arena_give(side[1].host, total[way]);
    free(x);
    free(turned);
}

int main(void)
{
    const char *order = getenv("MF_EMU_ORDER");

    side[0] = side_open("cpu");
    side[1] = side_open("cuda");
    check_sizes();
    check_bits();
    check_layouts();
    if (!SANITIZED && (!order || strcmp(order, "mixed") == 0)) check_parts();
    for (int s = 0; s < SIDES; ++s) side_close(&side[s]);
    return failures != 0;
}
