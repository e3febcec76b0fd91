/* Costs against numbers worked out by hand from the formulas in kernels/cost.h. */
#include "kernels/backend.h"
#include "kernels/cost.h"
#include "kernels/slices/gpu_cost.h"

#include "tests/check.h"

static void check(struct mf_cost got, double bytes, double operations)
{
    CHECK_NEAR(got.bytes, bytes, 1e-6);
    CHECK_NEAR(got.operations, operations, 1e-6);
}

/* Soft pairs by their formula, and by the cpu's shorter way. */
static void check_two_point(void)
{
    struct mf_cost (*cost)(const struct mf_slice_desc *, size_t, enum mf_cost_of) =
        mf_backend_cpu.slices->two_point->cost;
    const struct mf_slice_desc soft = {
        .nu = 16, .nv = 16, .lag = 8, .levels = 1, .periodic = 1, .threshold = 0.75, .steepness = 10};
    struct mf_slice_desc steep = soft, padded = soft, few = soft;

    /* 113 lags; the cpu: 13 fields of 24 coefficients, padded to 23 x 23 */
    check(mf_cost_two_point(&soft, 1, MF_COST_VALUES), 1024, 256 * (2 * 225 + 13 * 113));
    check(cost(&soft, 2, MF_COST_VALUES), 2048, 2 * 13 * (256 * 84 + 5120));
    check(cost(&soft, 1, MF_COST_GRADIENT), 3072, 3 * 13 * (256 * 84 + 5120));
    padded.periodic = 0;
    check(cost(&padded, 1, MF_COST_VALUES), 1024, 13 * (256 * 84 + 2.5 * 529 * log2(529)));
    steep.steepness = 25;
    check(cost(&steep, 1, MF_COST_VALUES), 1024, 256 * (2 * 225 + 13 * 113));
    few.lag = 3;
    check(cost(&few, 2, MF_COST_GRADIENT), 6144, 512 * (6 * (2 * 13 - 1) + 26 * 13));
}

/* Seconds of one evaluation of S2 and Variation of a cube, all directions, on an H200. */
static double on_h200(size_t n, size_t levels, double *launches)
{
    const struct mf_gpu_rates h200 = {4.1e12, 31.8e12, 90};
    const struct mf_slice_desc desc = {
        .nu = n, .nv = n, .count_max = n, .calls = 3, .lag = 16, .levels = levels, .periodic = 1};
    struct mf_gpu_cost cost = {0, 0, mf_gpu_launches(&desc, (double)n, 3, &h200)};

    for (int d = 0; d < 3; ++d) mf_gpu_cost_s2(&desc, (double)n, 1, &h200, &cost);
    *launches = cost.launches;
    return cost.memory + cost.arithmetic + 2.5e-6 * cost.launches;
}

/* Launches of Variation alone: 9 slices of 1024^2 pixels are two parts of at most 8; two of three levels take part. */
static double late_launches(void)
{
    const struct mf_slice_desc desc = {.nu = 1024, .nv = 1024, .count_max = 9, .levels = 3, .first = 1};
    struct mf_gpu_cost cost = {0, 0, 0};

    mf_gpu_cost_variation(&desc, 9, &(struct mf_gpu_rates){1e12, 8e12, 90}, &cost);
    return cost.launches;
}

/* The table of docs/GPU-STATUS.md, and the launches of a run on the emulator. */
static void check_gpu(void)
{
    static const struct {
        size_t n, levels;
        double launches, seconds;
    } rows[] = {{64, 2, 10, 0.04e-3}, {128, 2, 10, 0.14e-3}, {256, 4, 24, 0.93e-3}, {512, 4, 108, 7.2e-3}};
    struct mf_gpu_cost ada = {0, 0, 0}, hopper = {0, 0, 0};
    const struct mf_slice_desc desc = {.nu = 256, .nv = 256, .count_max = 9, .lag = 16, .levels = 1, .periodic = 1};

    for (size_t i = 0; i < sizeof rows / sizeof *rows; ++i) {
        double launches, seconds = on_h200(rows[i].n, rows[i].levels, &launches);

        CHECK_NEAR(launches, rows[i].launches, 0);
        CHECK_NEAR(seconds / rows[i].seconds, 1, 0.05);
    }
    CHECK_NEAR(late_launches(), 2 * (1 + 2 + 1 + 3), 0);
    /* sums in double are slow where a GPU has few such units */
    mf_gpu_cost_variation(&desc, 9, &(struct mf_gpu_rates){1e12, 8e12, 89}, &ada);
    mf_gpu_cost_variation(&desc, 9, &(struct mf_gpu_rates){1e12, 8e12, 90}, &hopper);
    CHECK(hopper.arithmetic == 0 && ada.arithmetic > 4 * (hopper.memory - ada.memory));
}

/* Descriptors that are counted, Gram matrices of VGG-19. */
static void check_counted(void)
{
    const struct mf_slice_desc one = {.nu = 8, .nv = 16, .lag = 3, .levels = 1, .periodic = 1};
    const struct mf_slice_desc two = {.nu = 16, .nv = 16, .lag = 2, .levels = 2, .periodic = 1};
    const struct mf_slice_desc seen = {.nu = 16, .nv = 16, .lag = 8, .levels = 1, .periodic = 1};

    /* what is counted; L = 3, and of two levels 320 pixels, 256 operations to pool */
    check(mf_cost_euler(&one, 2, MF_COST_VALUES), 1024, 256 * 4);
    check(mf_cost_windows(&two, 1, MF_COST_TOTAL), 1024, 320 * 3 + 256);
    check(mf_cost_boundaries(&one, 1, MF_COST_VALUES), 1024, 128 * 8);
    check(mf_cost_cluster_function(&one, 1, MF_COST_VALUES), 512, 128 * (8 + 2 * 3 * 3));
    check(mf_cost_clusters(&one, 1, MF_COST_VALUES), 512, 128 * (8 + 8));
    check(mf_cost_paths(&one, 1, MF_COST_VALUES), 512, 128 * 2 * 10);
    /* 16 x 16 pixels; n k c of the layers, then n k^2 of the blocks */
    check(mf_cost_vgg(&seen, 1, MF_COST_VALUES), 1024,
          18.0 * (256 * (3 + 64) * 64 + 64 * (64 + 128) * 128 + 16 * (128 + 3 * 256) * 256 + 4 * (256 + 3 * 512) * 512 +
                  4 * 512 * 512) +
              256 * 64 * 65 + 64 * 128 * 129 + 16 * 256 * 257 + 4 * 512 * 513 + 512 * 513);
}

/* Passes over fields. */
static void check_fields(void)
{
    const struct mf_extent e = {2, 3, 5}; /* 30 floats */

    check(mf_cost_direction(e, 0), 30 * 12, 30 * 4);
    check(mf_cost_direction(e, 2), 30 * 4 * 13, 30 * 22);
    check(mf_cost_step(e), 30 * 16, 150);
    check(mf_cost_pair(e, 1), 30 * 32, 30 * 12);
    check(mf_cost_adapt(e, 2), 30 * 28, 30 * 14);
    check(mf_cost_guide(e), 30 * 12, 30 * 8);
}

int main(void)
{
    const struct mf_slice_desc one = {.nu = 8, .nv = 16, .lag = 3, .levels = 1, .periodic = 1};
    const struct mf_slice_desc two = {.nu = 16, .nv = 16, .lag = 2, .levels = 2, .periodic = 1};
    const struct mf_slice_desc late = {.nu = 16, .nv = 16, .lag = 2, .levels = 2, .periodic = 1, .first = 1};
    const struct mf_slice_desc open = {.nu = 6, .nv = 14, .lag = 3, .levels = 1};

    /* 128 points: a transform is 2.5 * 128 * 7 = 2240; 25 lags */
    check(mf_cost_s2(&one, 1, MF_COST_VALUES), 512, 2 * 2240 + 192 + 125);
    check(mf_cost_s2(&one, 3, MF_COST_GRADIENT), 3 * 1536, 3 * (4 * 2240 + 320 + 175 + 128));
    check(mf_cost_s2(&one, 2, MF_COST_TOTAL), 1024, 2 * (2240 + 256));
    check(mf_cost_s2(&one, 1, MF_COST_CROSS), 1024, 3 * 2240 + 384 + 50);
    /* 8 x 16 points with the zeros, 84 pixels */
    check(mf_cost_s2(&open, 1, MF_COST_GRADIENT), 84 * 12, 4 * 2240 + 320 + 175 + 84);
    /* 256 points: 5120; 64 points: 960; 9 lags; pooling 4 * 64 there and as much back */
    check(mf_cost_s2(&two, 1, MF_COST_VALUES), 1024, 2 * 5120 + 384 + 45 + 2 * 960 + 96 + 45 + 256);
    check(mf_cost_s2(&two, 1, MF_COST_GRADIENT), 3072, 4 * 5120 + 640 + 63 + 256 + 4 * 960 + 160 + 63 + 64 + 512);
    check(mf_cost_s2(&late, 1, MF_COST_TOTAL), 1024, 960 + 128 + 256);
    /* pairs: twice the bytes; 25 lags */
    check(mf_cost_pairs(&one, 1, MF_COST_VALUES), 1024, 3 * 2240 + 384 + 125);
    check(mf_cost_pairs(&one, 2, MF_COST_GRADIENT), 6144, 2 * (6 * 2240 + 9 * 128 + 175 + 256));
    /* 128 points: 2240 and 4 L = 12 a point, 24 more for the gradient */
    check(mf_cost_s2_3d(&one, 3, MF_COST_TOTAL), 3 * 512, 3 * (2240 + 12 * 128));
    check(mf_cost_s2_3d(&one, 1, MF_COST_GRADIENT), 1536, 2 * 2240 + 36 * 128);
    check(mf_cost_variation(&two, 2, MF_COST_GRADIENT), 6144, 2 * (12 * 320 + 512));
    check(mf_cost_variation(&late, 1, MF_COST_VALUES), 1024, 6 * 64 + 256);
    check(mf_cost_fraction(&two, 1, MF_COST_VALUES), 1024, 256);
    check(mf_cost_fraction(&two, 1, MF_COST_GRADIENT), 3072, 512);
    /* 128 pixels, L = 3: 12 lines of 60; masks of 3, 5, 7 pixels: 4, 8, 12 of them, and a point */
    check(mf_cost_lineal(&one, 1, MF_COST_GRADIENT), 1536, 128 * 12 * 60);
    check(mf_cost_lineal(&one, 1, MF_COST_TOTAL), 512, 128 * 12 * 28);
    check(mf_cost_lineal_soft(&one, 1, MF_COST_VALUES), 512, 128 * (2 * (12 + 40 + 84 + 1) + 13 * 25));
    check(mf_cost_line_soft(&one, 1, MF_COST_VALUES), 512, 128 * (2 * (2 * 3 + 2 * 5 + 1) + 13 * 5));
    check(mf_cost_two_point(&one, 2, MF_COST_GRADIENT), 3072, 256 * (6 * (2 * 13 - 1) + 26 * 13));
    check(mf_cost_gram(&one, 1, MF_COST_VALUES), 512, 128 * 13 * 17);
    check(mf_cost_gram_axes(&one, 1, MF_COST_GRADIENT), 1536, 128 * (5 * 9 + 5 * 21));
    check(mf_cost_gram_cross(&one, 1, MF_COST_GRADIENT), 3072, mf_cost_gram(&one, 1, MF_COST_GRADIENT).operations);
    /* 5 lags of 4 maps */
    check(mf_cost_structure_tensor(&one, 1, MF_COST_VALUES), 512, 128 * (148 + 40));
    check(mf_cost_structure_tensor(&one, 1, MF_COST_GRADIENT), 1536, 128 * (2 * 148 + 132 + 100));
    check_counted();
    check_fields();
    check_two_point();
    check_gpu();
    return failures != 0;
}
