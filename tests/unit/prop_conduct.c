/* Conduction against a direct solve. Volumes are random, of two and four phases with an insulator. Sizes are even and
 * odd, also of images, and voxels are no cubes. Every axis and boundary takes part. Layers are exact. On several
 * ranks, or with two threads, everything has the bits of one rank and one thread. Derivatives are central differences
 * of the direct solve. */
#include "src/prop/conduct.h"

#include <string.h>

#include "src/base/rng.h"
#include "src/prop/error.h"
#include "src/prop/grey.h"
#include "tests/device.h"
#include "tests/oracle/conduct.h"

static struct mf_comm comm;
static struct device device;
static struct mf_arena *host;

/* The memory of shadow opens and closes around every kernel. */
static int is_slow(void) { return SANITIZED || mf_apart(device.q); }

/* A volume of @p phases phases; all ranks make all of it, and take their part. */
static struct mf_micro volume(const struct mf_comm *of, const size_t dims[3], int phases, const uint8_t *label)
{
    struct mf_micro m = {.ndim = dims[0] == 1 ? 2 : 3, .phases = phases, .spacing = {1, 1, 1}};

    m.slab = mf_slab_of(of, dims, of->rank);
    m.phase = (uint8_t *)(uintptr_t)label + m.slab.first * dims[1] * dims[2]; /* only read */
    return m;
}

static uint8_t *noise(const size_t dims[3], int phases, double open, uint64_t seed)
{
    const size_t n = dims[0] * dims[1] * dims[2];
    uint8_t *label = malloc(n);

    for (size_t i = 0; i < n; ++i) {
        const double u = mf_random_uniform(seed, 0, i);

        label[i] = phases == 2 ? u < open : (uint8_t)(u * phases);
    }
    return label;
}

static struct mf_conduct solve(const struct mf_comm *of, const struct mf_micro *m, int axis,
                               const struct mf_conduct_opts *opts)
{
    struct mf_conduct got;

    CHECK(mf_conduct(of, device.q, host, m, axis, opts, &got) == MF_OK);
    return got;
}

static void against_direct(void)
{
    static const double k[2][4] = {{0, 1}, {0, 0.01, 0.035, 1}};
    static const size_t size[][3] = {{6, 5, 7}, {8, 6, 4}, {5, 9, 6}, {1, 9, 12}, {7, 4, 8}, {3, 16, 4}};
    double worst = 0;

    for (int t = 0; t < (is_slow() ? 12 : 48); ++t) {
        const size_t *dims = size[t % 6], n = dims[0] * dims[1] * dims[2];
        const int phases = t % 2 ? 4 : 2, boundary = t / 2 % 3, axis = dims[0] == 1 ? 1 + t % 2 : (t + t / 6) % 3;
        uint8_t *label = noise(dims, phases, 0.65, (uint64_t)t);
        struct mf_micro m = volume(&comm, dims, phases, label);
        struct mf_conduct_opts opts = {
            .boundary = (enum mf_conduct_boundary)boundary, .sides_periodic = t / 4 % 2, .tolerance = 1e-7};
        double *of = malloc(n * sizeof *of), want, got;

        if (t % 5 == 4) m.spacing[1] = 1.5, m.spacing[2] = 4;
        memcpy(opts.k, k[phases == 4], sizeof k[0]);
        for (size_t i = 0; i < n; ++i) of[i] = opts.k[label[i]];
        want = oracle_conduct(dims, m.spacing, of, axis, boundary, opts.sides_periodic);
        got = solve(&comm, &m, axis, &opts).k;
        CHECK_SAYS(fabs(got - want) <= 2e-6 * fmax(want, 1e-3), "case %d: %zu x %zu x %zu, axis %d: %.9g, want %.9g", t,
                   dims[0], dims[1], dims[2], axis, got, want);
        worst = fmax(worst, fabs(got - want) / fmax(want, 1e-3));
        free(of);
        free(label);
    }
    if (comm.rank == 0) printf("worst relative difference to a direct solve: %.2g\n", worst);
}

/* Layers: along them the mean, across them the harmonic mean. A contrast of a million leaves a few 1e-6 to rounding. */
static void layers(void)
{
    const size_t dims[3] = {12, 10, 16};
    uint8_t *label = malloc(dims[0] * dims[1] * dims[2]);
    struct mf_micro m = volume(&comm, dims, 2, label);

    for (int boundary = 0; boundary < 2; ++boundary)
        for (double low = 1; low > 1e-7; low /= 1000) {
            struct mf_conduct_opts opts = {
                .boundary = (enum mf_conduct_boundary)boundary, .tolerance = 1e-7, .k = {low, 1}};

            for (size_t i = 0; i < dims[0] * dims[1] * dims[2]; ++i) label[i] = i % dims[2] / 4 % 2;
            for (int axis = 0; axis < 3; ++axis) {
                const double want = axis < 2 ? (1 + low) / 2 : 2 / (1 + 1 / low);

                CHECK_NEAR(solve(&comm, &m, axis, &opts).k / want, 1, low > 1e-5 ? 1e-6 : 3e-6);
            }
        }
    free(label);
}

/* A diagonal stair is joined by faces around a period, but never leads through; spheres that touch corners do not. */
static void ways(void)
{
    const size_t dims[3] = {8, 8, 8};
    uint8_t *label = calloc(512, 1);
    struct mf_micro m = volume(&comm, dims, 2, label);
    struct mf_conduct_opts opts = {.boundary = MF_CONDUCT_PERIODIC, .tolerance = 1e-6, .k = {0, 1}};
    struct mf_conduct got;

    for (size_t z = 0; z < 8; ++z) label[z * 64] = 1; /* a straight channel along z */
    got = solve(&comm, &m, 0, &opts);
    CHECK_NEAR(got.k, 1 / 64., 1e-9);
    CHECK_NEAR(got.carries, 1 / 64., 1e-12);
    CHECK(solve(&comm, &m, 1, &opts).k == 0);
    label[3 * 64] = 0; /* cut: it meets itself around the period no more */
    CHECK(solve(&comm, &m, 0, &opts).k == 0);
    label[3 * 64 + 9] = 1; /* only around a corner */
    CHECK(solve(&comm, &m, 0, &opts).k == 0);
    opts.boundary = MF_CONDUCT_PLATES;
    CHECK(solve(&comm, &m, 0, &opts).carries == 0);
    free(label);
}

/* An off-diagonal element: stripes that run diagonally. The tensor is symmetric. */
static void tensor(void)
{
    const size_t dims[3] = {1, 24, 24};
    uint8_t *label = malloc(dims[1] * dims[2]);
    struct mf_micro m = volume(&comm, dims, 2, label);
    struct mf_conduct_opts opts = {.boundary = MF_CONDUCT_PERIODIC, .tolerance = 1e-7, .k = {0.1, 1}};
    struct mf_conduct y, x;

    for (size_t i = 0; i < dims[1] * dims[2]; ++i) label[i] = (i / 24 + i % 24) / 6 % 2;
    y = solve(&comm, &m, 1, &opts);
    x = solve(&comm, &m, 2, &opts);
    CHECK_NEAR(y.column[1], y.k, 1e-5);
    CHECK_NEAR(y.column[2], x.column[1], 1e-5);
    CHECK_SAYS(y.column[2] < -0.05, "stripes lead a flux aside: %g", y.column[2]);
    free(label);
}

static void same(const struct mf_conduct *a, const struct mf_conduct *b)
{
    CHECK(a->k == b->k && a->steps == b->steps && a->carries == b->carries && a->spread == b->spread);
    CHECK(memcmp(a->history, b->history, sizeof a->history) == 0 &&
          memcmp(a->column, b->column, sizeof a->column) == 0);
}

/* Smoothed noise, so that clusters are large. */
static uint8_t *blobs(const size_t dims[3], uint64_t seed)
{
    uint8_t *label = noise(dims, 2, 0.5, seed), *coarse = noise(dims, 2, 0.5, seed + 1);

    for (size_t z = 0; z < dims[0]; ++z)
        for (size_t y = 0; y < dims[1]; ++y)
            for (size_t x = 0; x < dims[2]; ++x)
                label[(z * dims[1] + y) * dims[2] + x] = coarse[(z / 3 * dims[1] + y / 3) * dims[2] + x / 3];
    free(coarse);
    return label;
}

static void any_ranks(void)
{
    static const size_t size[][3] = {{48, 33, 30}, {34, 40, 36}, {68, 64, 62}};
    struct mf_comm self;

    mf_comm_self(&self);
    for (int t = 0; t < (is_slow() ? 2 : 6); ++t) {
        const size_t *dims = size[t % 3];
        uint8_t *label = blobs(dims, 7 + (uint64_t)t);
        struct mf_conduct_opts opts = {.boundary = (enum mf_conduct_boundary)((t + t / 3) % 3),
                                       .sides_periodic = t % 2,
                                       .tolerance = 1e-4,
                                       .k = {t % 2 ? 0.02 : 0, 1}};
        struct mf_micro part = volume(&comm, dims, 2, label), whole = volume(&self, dims, 2, label);
        struct mf_conduct many, one;

        many = solve(&comm, &part, (t + 1) % 3, &opts);
        device.q->threads = 2;
        one = solve(&self, &whole, (t + 1) % 3, &opts);
        device.q->threads = 1;
        same(&many, &one);
        CHECK_SAYS(one.k > 0 && one.steps <= 24 && one.spread < 2e-2, "case %d: %g, %zu steps, %g", t, one.k, one.steps,
                   one.spread);
        free(label);
    }
}

/* Conductivities of voxels from 0.01 to 1. */
static double *grey_noise(size_t n, uint64_t seed)
{
    double *k = malloc(n * sizeof *k);

    for (size_t i = 0; i < n; ++i) k[i] = (float)pow(100, mf_random_uniform(seed, 0, i) - 1);
    return k;
}

/* Solves on the ranks of @p of, twice where @p again. Returns the steps of the last. */
static size_t solve_grey(const struct mf_comm *of, const size_t dims[3], const double h[3], int axis, int boundary,
                         int again, const double *k, double *effective, float *slope)
{
    const struct mf_slab slab = mf_slab_of(of, dims, of->rank);
    const size_t n = mf_slab_voxels(&slab), first = slab.first * dims[1] * dims[2];
    const struct mf_conduct_opts opts = {.boundary = (enum mf_conduct_boundary)boundary,
                                         .tolerance = again ? 1e-4 : 1e-9};
    float *own = malloc((n + 1) * sizeof *own), *potential = malloc((n + 1) * sizeof *potential);
    size_t all = dims[0] * dims[1] * dims[2];
    struct mf_conduct_grey *grey;
    struct mf_conduct got;

    for (size_t i = 0; i < n; ++i) own[i] = (float)k[first + i];
    CHECK(mf_conduct_grey_open(of, device.q, host, &slab, h, &opts, &grey) == MF_OK);
    for (int a = axis == 2 ? 1 : 2; a >= 0; a = a == axis ? -1 : axis) { /* another axis leaves nothing behind */
        mf_conduct_grey_begin(grey, a, potential);
        for (int i = 0; i <= again; ++i) CHECK(mf_conduct_grey_solve(grey, a, own, potential, &got) == MF_OK);
    }
    memset(slope, 0, all * sizeof *slope);
    mf_conduct_grey_slope(grey, slope + first);
    mf_comm_sum_float(of, all, slope);
    mf_conduct_grey_close(grey);
    *effective = got.k;
    free(own);
    free(potential);
    return got.steps;
}

static void derivatives(void)
{
    static const size_t size[][3] = {{6, 5, 7}, {1, 9, 12}, {8, 6, 4}};
    double worst = 0;

    for (int t = 0; t < (is_slow() ? 6 : 12); ++t) {
        const size_t *dims = size[t % 3], n = dims[0] * dims[1] * dims[2];
        const int boundary = t / 2 % 2, axis = dims[0] == 1 ? 1 + t % 2 : t / 3 % 3;
        const double h[3] = {1, t % 5 == 4 ? 1.5 : 1, 1};
        double *k = grey_noise(n, 40 + (uint64_t)t), effective, sum = 0;
        float *slope = malloc(n * sizeof *slope);

        solve_grey(&comm, dims, h, axis, boundary, 0, k, &effective, slope);
        CHECK_NEAR(effective / oracle_conduct(dims, h, k, axis, boundary, 0), 1, 2e-6);
        for (size_t i = 0; i < n; ++i) sum += slope[i] * k[i];
        CHECK_NEAR(sum / effective, 1, 1e-5); /* k is homogeneous of degree 1 */
        for (size_t i = (size_t)t; i < n; i += n / 4) {
            const double was = k[i], step = 1e-3 * was;
            double up, down;

            k[i] = was + step;
            up = oracle_conduct(dims, h, k, axis, boundary, 0);
            k[i] = was - step;
            down = oracle_conduct(dims, h, k, axis, boundary, 0);
            k[i] = was;
            up = (up - down) / (2 * step);
            worst = fmax(worst, fabs(slope[i] - up) / (up + effective / (double)n));
        }
        free(slope);
        free(k);
    }
    if (comm.rank == 0) printf("worst relative difference of a derivative to a central difference: %.2g\n", worst);
    CHECK(worst < 1e-5);
}

/* The potential that was found is the begin of the next solve, which then has little to do. */
static void grey_on_any_ranks(void)
{
    static const size_t size[][3] = {{34, 40, 36}, {16, 16, 12}};
    const double h[3] = {1, 1, 1};
    struct mf_comm self;

    mf_comm_self(&self);
    for (int t = 0; t < (is_slow() ? 1 : 4); ++t) {
        const size_t *dims = size[t % 2], n = dims[0] * dims[1] * dims[2];
        double *k = grey_noise(n, 60 + (uint64_t)t), many, one;
        float *of_many = malloc(n * sizeof *of_many), *of_one = malloc(n * sizeof *of_one);

        CHECK(solve_grey(&comm, dims, h, t % 3, t / 2, 1, k, &many, of_many) <= 3);
        device.q->threads = 2;
        solve_grey(&self, dims, h, t % 3, t / 2, 1, k, &one, of_one);
        device.q->threads = 1;
        CHECK(many == one && memcmp(of_many, of_one, n * sizeof *of_one) == 0);
        free(of_many);
        free(of_one);
        free(k);
    }
}

static void bounds(void)
{
    struct mf_conduct_bounds b = mf_conduct_bounds(3, 2, (double[]){0.6, 0.4}, (double[]){0, 1});

    CHECK(b.series == 0 && b.hashin_low == 0);
    CHECK_NEAR(b.parallel, 0.4, 1e-15);
    CHECK_NEAR(b.hashin_high, 2 * 0.4 / (3 - 0.4), 1e-15); /* Maxwell */
    b = mf_conduct_bounds(2, 2, (double[]){0.5, 0.5}, (double[]){1, 10});
    CHECK_NEAR(b.series, 20 / 11., 1e-14);
    CHECK_NEAR(b.hashin_low, 1 + 0.5 / (1 / 9. + 0.5 / 2), 1e-14);
    CHECK_NEAR(b.hashin_high, 10 + 0.5 / (-1 / 9. + 0.5 / 20), 1e-13);
}

/* A number that is none is no result, and a part of the volume says which it is. */
static void no_number(void)
{
    const size_t dims[3] = {12, 10, 8};
    uint8_t *label = noise(dims, 2, 0.5, 3);
    struct mf_micro m = volume(&comm, dims, 2, label);
    const struct mf_conduct_opts opts = {.tolerance = 1e-4, .k = {0.5, INFINITY}};
    struct mf_conduct_sample sample;
    struct mf_conduct got;

    CHECK(mf_conduct(&comm, device.q, host, &m, 0, &opts, &got) == MF_NUMERIC);
    CHECK(mf_conduct_sample_error(&comm, device.q, host, &m, 0, &opts, &sample) == MF_NUMERIC);
    CHECK_SAYS(comm.rank > 0 || strstr(mf_err_text(), "the part at voxel (0, 0, 0) with 6 x 5 x 4 voxels: conduction"),
               "%s", mf_err_text());
    free(label);
}

int main(int argc, char **argv)
{
    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    device = device_open(1, 0, 0);
    if (mf_arena_open(&host, NULL, 0) != MF_OK) return 1;
    bounds();
    layers();
    ways();
    tensor();
    against_direct();
    any_ranks();
    derivatives();
    grey_on_any_ranks();
    no_number();
    CHECK(mf_arena_live(host) == 0);
    mf_arena_close(host);
    device_close(&device);
    mf_comm_close(&comm);
    return failures > 0;
}
