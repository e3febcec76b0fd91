/* Stiffness against a direct solve, of both schemes. Random volumes have four phases, with voids and a cubic one. Sizes
 * are even and odd, also of images, and voxels are no cubes. Layers and equal shear moduli are exact. On several ranks,
 * or with two threads, everything has the bits of one rank and one thread. Memory is as measured. */
#include "src/prop/elastic.h"

#include <string.h>

#include "kernels/cpu/fftw_memory.h"
#include "src/base/rng.h"
#include "tests/device.h"
#include "tests/oracle/elastic.h"

static struct mf_comm comm;
static struct device device;

static struct mf_micro volume(const struct mf_comm *of, const size_t dims[3], int phases, const uint8_t *label)
{
    struct mf_micro m = {.ndim = dims[0] == 1 ? 2 : 3, .phases = phases, .spacing = {1, 1, 1}};

    m.slab = mf_slab_of(of, dims, of->rank);
    m.phase = (uint8_t *)(uintptr_t)label + m.slab.first * dims[1] * dims[2]; /* only read */
    return m;
}

static uint8_t *noise(const size_t dims[3], int phases, uint64_t seed)
{
    const size_t n = dims[0] * dims[1] * dims[2];
    uint8_t *label = malloc(n);

    for (size_t i = 0; i < n; ++i) label[i] = (uint8_t)(mf_random_uniform(seed, 0, i) * phases);
    return label;
}

static size_t booked;

static void add_booked(void *context, const char *tag, size_t live, size_t peak)
{
    (void)context, (void)live;
    if (strcmp(tag, "FFTW plans") == 0) booked = peak;
}

/* The arena then has had exactly what was measured, and FFTW no more than was counted. */
static struct mf_elastic solve(const struct mf_comm *of, const struct mf_micro *m, const struct mf_elastic_opts *opts)
{
    struct mf_elastic got;
    size_t most;

    mf_arena_mark(device.arena);
    CHECK(mf_elastic_measure(of, device.q, device.arena, m, opts) == MF_OK);
    most = mf_arena_peak(device.arena);
    mf_arena_mark(device.arena);
    mf_fftw_mark();
    CHECK(mf_elastic(of, device.q, device.arena, m, opts, &got) == MF_OK);
    CHECK(most == mf_arena_peak(device.arena) && mf_arena_live(device.arena) == 0);
    mf_arena_tags(device.arena, add_booked, NULL);
    CHECK_SAYS(mf_fftw_peak() <= booked, "FFTW took %zu bytes, not %zu", mf_fftw_peak(), booked);
    return got;
}

static double worst_of(const double a[6][6], const double b[6][6])
{
    double worst = 0, most = 0;

    for (size_t i = 0; i < 36; ++i) {
        worst = fmax(worst, fabs(a[i / 6][i % 6] - b[i / 6][i % 6]));
        most = fmax(most, fabs(b[i / 6][i % 6]));
    }
    return worst / most;
}

static void against_direct(void)
{
    static const size_t size[][3] = {{4, 3, 5}, {3, 4, 6}, {1, 7, 6}, {5, 6, 1}, {2, 5, 4}, {6, 2, 3}, {4, 1, 5}};
    double worst[2] = {0};

    for (int t = 0; t < 14; ++t) {
        const size_t *dims = size[t / 2];
        uint8_t *label = noise(dims, 4, (uint64_t)t / 2);
        struct mf_micro m = volume(&comm, dims, 4, label);
        struct mf_elastic_opts opts = {.scheme = (enum mf_elastic_scheme)(t % 2), .tolerance = 1e-7};
        struct oracle_solid s = {
            {dims[0], dims[1], dims[2]}, {1, 1, 1}, t % 2, label, {0}, {0}, {0}, NULL, NULL, {{0}}};
        double want[6][6], c[6][6];
        struct mf_elastic got;

        opts.phase[1] = mf_elastic_isotropic(0.1, 0.2);
        opts.phase[2] = (struct mf_elastic_phase){3, 1, 0.4};
        opts.phase[3] = mf_elastic_isotropic(2, -0.3);
        if (t >= 4) s.h[0] = m.spacing[0] = 1.5, s.h[1] = m.spacing[1] = 0.8;
        for (int p = 0; p < 4; ++p)
            s.c11[p] = opts.phase[p].c11, s.c12[p] = opts.phase[p].c12, s.c44[p] = opts.phase[p].c44;
        oracle_stiffness(&s, want);
        for (size_t i = 0; i < 36; ++i) {
            const size_t k = i / 6, l = i % 6;

            c[k < 3 ? 2 - k : 8 - k][l < 3 ? 2 - l : 8 - l] = want[k][l];
        }
        got = solve(&comm, &m, &opts);
        worst[t % 2] = fmax(worst[t % 2], worst_of(got.c, c));
        free(label);
    }
    CHECK_SAYS(worst[0] < 2e-6 && worst[1] < 2e-6, "against a direct solve: staggered %g, rotated %g", worst[0],
               worst[1]);
}

/* Layers normal to z, exact for any contrast (G. Backus, J. Geophys. Res. 67, 1962). */
static void layers(void)
{
    static const double soft[] = {0.5, 1e-2, 1e-4, 1e-6};
    const size_t dims[3] = {12, 6, 7};
    uint8_t label[12 * 6 * 7];

    for (size_t i = 0; i < sizeof label; ++i) label[i] = i / 42 % 4 == 0;
    for (int t = 0; t < 8; ++t) {
        struct mf_micro m = volume(&comm, dims, 2, label);
        struct mf_elastic_opts opts = {.scheme = (enum mf_elastic_scheme)(t % 2), .tolerance = 1e-7};
        double f[2] = {0.75, 0.25}, c33 = 0, c13 = 0, c44 = 0, c66 = 0, c11 = 0, want[6][6] = {{0}};
        struct mf_elastic got;

        opts.phase[0] = mf_elastic_isotropic(soft[t / 2], 0.3);
        opts.phase[1] = mf_elastic_isotropic(1, 0.2);
        for (int p = 0; p < 2; ++p) {
            const struct mf_elastic_phase *c = &opts.phase[p];

            c33 += f[p] / c->c11;
            c13 += f[p] * c->c12 / c->c11;
            c44 += f[p] / c->c44;
            c66 += f[p] * c->c44;
            c11 += f[p] * (c->c11 - c->c12 * c->c12 / c->c11);
        }
        want[2][2] = 1 / c33;
        want[0][2] = want[1][2] = want[2][0] = want[2][1] = c13 / c33;
        want[0][0] = want[1][1] = c11 + c13 * c13 / c33;
        want[0][1] = want[1][0] = want[0][0] - 2 * c66;
        want[3][3] = want[4][4] = 1 / c44;
        want[5][5] = c66;
        got = solve(&comm, &m, &opts);
        CHECK_SAYS(worst_of(got.c, want) < 1e-6, "layers %d: %g", t, worst_of(got.c, want));
        CHECK_SAYS(fabs(got.c[2][2] / want[2][2] - 1) < (t < 4 ? 1e-6 : 1e-5) &&
                       fabs(got.c[3][3] / want[3][3] - 1) < (t < 4 ? 1e-6 : 1e-5),
                   "layers %d across: %g %g", t, got.c[2][2] / want[2][2] - 1, got.c[3][3] / want[3][3] - 1);
    }
}

/* One shear modulus: the bulk modulus is exact, and the rest is that of one phase, whatever the structure (R. Hill, J.
 * Mech. Phys. Solids 11, 1963). A voxel is then as good as any other. */
static void equal_shear(void)
{
    const size_t dims[3] = {16, 16, 16};
    uint8_t *label = malloc(4096);
    const double shear = 0.4, k[2] = {0.2, 3};
    double f[2] = {0}, bulk, distance;

    for (size_t i = 0; i < 4096; ++i) {
        const double z = (double)(i / 256) - 7.3, y = (double)(i / 16 % 16) - 8.1, x = (double)(i % 16) - 7.7;

        label[i] = z * z + y * y + x * x < 42;
        f[label[i]] += 1 / 4096.0;
    }
    bulk = 1 / (f[0] / (k[0] + 4 * shear / 3) + f[1] / (k[1] + 4 * shear / 3)) - 4 * shear / 3;
    for (int t = 0; t < 2; ++t) {
        struct mf_micro m = volume(&comm, dims, 2, label);
        struct mf_elastic_opts opts = {.scheme = (enum mf_elastic_scheme)t, .tolerance = 1e-6};
        struct mf_elastic_moduli near;
        struct mf_elastic_bounds b;
        struct mf_elastic got;

        for (int p = 0; p < 2; ++p)
            opts.phase[p] = (struct mf_elastic_phase){k[p] + 4 * shear / 3, k[p] - 2 * shear / 3, shear};
        got = solve(&comm, &m, &opts);
        near = mf_elastic_nearest(3, (const double(*)[6])got.c, &distance);
        b = mf_elastic_bounds(3, 2, f, opts.phase);
        CHECK_NEAR(b.hashin_low.bulk, bulk, 1e-12);
        CHECK_NEAR(b.hashin_high.bulk, bulk, 1e-12);
        CHECK_SAYS(fabs(near.bulk / bulk - 1) < (t ? 0.03 : 1e-5), "scheme %d: bulk %.8g, exact %.8g", t, near.bulk,
                   bulk);
        CHECK_NEAR(near.shear, shear, t ? 2e-3 : 1e-5);
        CHECK(distance < 0.01);
    }
    free(label);
}

static void bounds(void)
{
    const struct mf_elastic_phase phase[2] = {mf_elastic_isotropic(1, 0.25), mf_elastic_isotropic(10, 0.25)};
    const double f[2] = {0.7, 0.3}, c[6][6] = {{1.2, 0.4, 0.4}, {0.4, 1.2, 0.4},   {0.4, 0.4, 1.2},
                                               {0, 0, 0, 0.4},  {0, 0, 0, 0, 0.4}, {0, 0, 0, 0, 0, 0.4}};
    struct mf_elastic_bounds b = mf_elastic_bounds(3, 2, f, phase);
    struct mf_elastic_moduli m;
    double distance;

    m = mf_elastic_nearest(3, c, &distance);
    CHECK_NEAR(m.young, 1, 1e-12);
    CHECK_NEAR(m.poisson, 0.25, 1e-12);
    CHECK_NEAR(distance, 0, 1e-12);
    CHECK_NEAR(mf_elastic_nearest(2, c, &distance).shear, 0.4, 1e-12);
    CHECK_NEAR(b.voigt.young, 3.7, 1e-12);
    CHECK_NEAR(b.reuss.young, 1 / 0.73, 1e-12);
    /* K = 2/3 and 20/3, G = 0.4 and 4: K1 + f2 / (1 / (K2 - K1) + 3 f1 / (3 K1 + 4 G1)), likewise the others */
    CHECK_NEAR(b.hashin_low.bulk, 2 / 3. + 0.3 / (1 / 6. + 2.1 / 3.6), 1e-12);
    CHECK_NEAR(b.hashin_high.bulk, 20 / 3. + 0.7 / (-1 / 6. + 0.9 / 36), 1e-12);
    CHECK_NEAR(b.hashin_low.shear, 0.4 + 0.3 / (1 / 3.6 + 6 * (2 / 3. + 0.8) * 0.7 / (5 * 0.4 * 3.6)), 1e-12);
    CHECK_NEAR(b.hashin_high.shear, 4 + 0.7 / (-1 / 3.6 + 6 * (20 / 3. + 8) * 0.3 / (5 * 4 * 36)), 1e-12);
    b = mf_elastic_bounds(2, 2, f, phase); /* in the plane: K = 0.8 and 8 */
    CHECK_NEAR(b.hashin_low.bulk, 1 / (0.7 / 1.2 + 0.3 / 8.4) - 0.4, 1e-12);
}

/* The bits of one rank and one thread, also where some ranks have no plane. The bounds hold. */
static void any_ranks(void)
{
    static const size_t size[][3] = {{10, 9, 12}, {3, 8, 7}, {1, 12, 10}, {11, 5, 8}};
    struct device two = device_open(2, 0, 0), one = device;
    struct mf_comm self;

    mf_comm_self(&self);
    for (int t = 0; t < 4; ++t) {
        const size_t *dims = size[t], n = dims[0] * dims[1] * dims[2];
        uint8_t *label = noise(dims, 3, (uint64_t)t);
        struct mf_micro alone = volume(&self, dims, 3, label), m = volume(&comm, dims, 3, label);
        struct mf_elastic_opts opts = {.scheme = (enum mf_elastic_scheme)(t % 2), .tolerance = 1e-3};
        struct mf_elastic want, got, threads;
        struct mf_elastic_moduli near;
        struct mf_elastic_bounds b;
        double f[3] = {0}, distance;

        opts.phase[1] = mf_elastic_isotropic(1, 0.2);
        opts.phase[2] = mf_elastic_isotropic(7, 0.4);
        want = solve(&self, &alone, &opts);
        got = solve(&comm, &m, &opts);
        if (t < 2 && comm.size == 1) device = two;
        threads = device.q == one.q ? got : solve(&comm, &m, &opts);
        device = one;
        CHECK_SAYS(memcmp(&want, &got, sizeof want) == 0 && memcmp(&want, &threads, sizeof want) == 0,
                   "bits of case %d", t);
        for (size_t i = 0; i < n; ++i) f[label[i]] += 1 / (double)n;
        b = mf_elastic_bounds(alone.ndim, 3, f, opts.phase);
        near = mf_elastic_nearest(alone.ndim, (const double(*)[6])got.c, &distance);
        CHECK(near.bulk < b.voigt.bulk && near.shear < b.voigt.shear && near.bulk > b.reuss.bulk &&
              near.shear > b.reuss.shear);
        free(label);
    }
    device_close(&two);
}

/* A uniform strain is the solution: no iteration, and nothing is divided by 0. Walls apart carry nothing. */
static void ends(void)
{
    const size_t dims[3] = {6, 5, 4};
    uint8_t label[120] = {0};
    struct mf_micro m = volume(&comm, dims, 2, label);
    struct mf_elastic_opts opts = {.tolerance = 1e-5, .phase = {mf_elastic_isotropic(210, 0.3)}};
    struct mf_elastic got = solve(&comm, &m, &opts);

    for (size_t k = 0; k < 6; ++k) CHECK(got.steps[k] == 0 && got.left[k] == 0);
    CHECK_NEAR(got.c[0][0], opts.phase[0].c11, 1e-4);
    CHECK_NEAR(got.c[1][2], opts.phase[0].c12, 1e-4);
    CHECK_NEAR(got.c[5][5], opts.phase[0].c44, 1e-4);
    for (size_t i = 0; i < 120; ++i) label[i] = i / 20 % 2;
    opts.phase[1] = opts.phase[0];
    opts.phase[0] = (struct mf_elastic_phase){0};
    got = solve(&comm, &m, &opts);
    CHECK(fabs(got.c[2][2]) < 1e-6 && fabs(got.c[3][3]) < 1e-6 && fabs(got.c[2][0]) < 1e-4 && got.c[0][0] > 100);
    opts.phase[1].c11 = INFINITY;
    CHECK(mf_elastic(&comm, device.q, device.arena, &m, &opts, &got) == MF_NUMERIC);
}

int main(int argc, char **argv)
{
    if (mf_comm_open(&comm, &argc, &argv, "test") != MF_OK) return 1;
    device = device_open(1, 0, 0);
    any_ranks();
    if (comm.size == 1) { /* and others have its bits */
        against_direct();
        layers();
        equal_shear();
        bounds();
        ends();
    }
    device_close(&device);
    mf_comm_close(&comm);
    return failures > 0;
}
