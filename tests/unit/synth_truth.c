/* Known facts about each kind are found. They are fractions and two-point functions in closed form, objects that do not
 * overlap, the nearest seed by brute force, whole cells and layers. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "tests/check.h"
#include "tests/unit/synth_case.h"

static const double pi = 3.14159265358979323846;
static struct mf_arena *arena;
static struct mf_comm self;

struct made {
    struct mf_synth wish;
    struct mf_micro micro;
    struct mf_synth_facts facts;
};

static struct made make(struct mf_synth w)
{
    struct made m = {.wish = w};
    int rc = mf_synth_make(&self, arena, 2, &w, &m.micro, &m.facts);

    if (rc != MF_OK) fprintf(stderr, "kind %d: %s\n", (int)w.kind, mf_err_text());
    CHECK(rc == MF_OK);
    if (rc != MF_OK) exit(1);
    return m;
}

static void done(struct made *m)
{
    mf_synth_facts_free(&m->facts);
    mf_arena_give(arena, m->micro.phase);
}

static size_t at(const struct made *m, size_t z, size_t y, size_t x)
{
    const size_t *d = m->wish.dims;

    return ((z % d[0]) * d[1] + y % d[1]) * d[2] + x % d[2];
}

/* Probability that a voxel and the one r further along an axis both have the phase. */
static double s2(const struct made *m, int phase, int axis, size_t r)
{
    const size_t *d = m->wish.dims;
    size_t hits = 0;

    for (size_t z = 0; z < d[0]; ++z)
        for (size_t y = 0; y < d[1]; ++y)
            for (size_t x = 0; x < d[2]; ++x)
                hits += m->micro.phase[at(m, z, y, x)] == phase &&
                        m->micro.phase[at(m, z + (axis == 0) * r, y + (axis == 1) * r, x + (axis == 2) * r)] == phase;
    return (double)hits / (double)(d[0] * d[1] * d[2]);
}

static struct mf_synth solid(enum mf_synth_kind kind, size_t nz, size_t n, double fraction, double radius)
{
    struct mf_synth w = wish(kind, nz, n, n, 2);

    w.fraction[0] = 1 - fraction;
    w.fraction[1] = fraction;
    w.radius = radius;
    return w;
}

/* S2 = 1/4 + asin(exp(-r^2 / 2 l^2)) / (2 pi) for one half, along every axis with its own length. */
static void check_gauss(size_t nz, double tolerance)
{
    struct mf_synth w = wish(MF_SYNTH_GAUSSIAN, nz, 96, 96, 2);
    double mean[3][12] = {{0}}, fraction = 0;

    w.length[0] = 2;
    w.length[1] = 3;
    w.length[2] = 4.5;
    for (w.seed = 0; w.seed < 8; ++w.seed) {
        struct made m = make(w);

        for (int a = nz > 1 ? 0 : 1; a < 3; ++a)
            for (size_t r = 0; r < 12; ++r) mean[a][r] += s2(&m, 1, a, r) / 8;
        fraction += m.facts.fraction[1] / 8;
        done(&m);
    }
    CHECK_NEAR(fraction, 0.5, tolerance);
    for (int a = nz > 1 ? 0 : 1; a < 3; ++a)
        for (size_t r = 0; r < 12; ++r) {
            double u = (double)r / w.length[a];

            CHECK_NEAR(mean[a][r] - mean[a][0] + 0.5, 0.25 + asin(exp(-u * u / 2)) / (2 * pi), tolerance);
        }
}

/* Three phases: the cuts are quantiles of a normal distribution. */
static void check_gauss_fractions(void)
{
    struct mf_synth w = wish(MF_SYNTH_GAUSSIAN, 64, 64, 64, 3);
    struct made m;

    w.fraction[0] = 0.2;
    w.fraction[1] = 0.5;
    w.fraction[2] = 0.3;
    m = make(w);
    for (int p = 0; p < 3; ++p) CHECK_NEAR(m.facts.fraction[p], w.fraction[p], 0.015);
    done(&m);
    CHECK_NEAR(mf_synth_quantile(0.5), 0, 1e-12);
    CHECK_NEAR(mf_synth_quantile(0.975), 1.959963984540054, 1e-12);
}

/* Volume of the union of two balls (discs) of radius R at distance r. */
static double union_of(int axes, double R, double r)
{
    double u = r / (2 * R);

    if (axes == 2) return u >= 1 ? 2 * pi * R * R : 2 * pi * R * R - 2 * R * R * (acos(u) - u * sqrt(1 - u * u));
    return (u >= 1 ? 2.0 : 1 + 1.5 * u - 0.5 * u * u * u) * 4 * pi / 3 * R * R * R;
}

/* Void and S2 of n balls thrown at random: (1 - v/V)^n. For S2 v is the union of two balls. */
static void check_spheres(size_t nz, size_t n, double tolerance)
{
    struct mf_synth w = solid(MF_SYNTH_SPHERES, nz, n, 0.4, 4.3);
    double mean[12] = {0}, voids = 0, volume = (double)(nz * n * n), objects = 0;
    int axes = nz > 1 ? 3 : 2;

    for (w.seed = 0; w.seed < 16; ++w.seed) {
        struct made m = make(w);

        for (size_t r = 0; r < 12; ++r) mean[r] += s2(&m, 0, (int)(w.seed % 2) + 1, r) / 16;
        voids += m.facts.fraction[0] / 16;
        objects = (double)m.facts.objects;
        done(&m);
    }
    CHECK_NEAR(voids, 0.6, tolerance);
    CHECK_NEAR(pow(1 - mf_synth_measure(axes, 4.3, 0) / volume, objects), 0.6, 1e-2);
    for (size_t r = 0; r < 12; ++r)
        CHECK_NEAR(mean[r], pow(1 - union_of(axes, 4.3, (double)r) / volume, objects), tolerance);
}

static double distance(const struct mf_synth *w, const double *p, const double *q)
{
    double sum = 0;

    for (int a = 0; a < 3; ++a) {
        double n = (double)w->dims[a], d = fabs(p[a] - q[a]);

        if (n > 1) sum += pow(fmin(d, n - d), 2);
    }
    return sqrt(sum);
}

static void check_hard(size_t nz, double fraction, double gap)
{
    struct mf_synth w = solid(MF_SYNTH_HARD_SPHERES, nz, 48, fraction, 3.2);
    struct made m;
    double nearest = 1e9;

    w.gap = gap;
    m = make(w);
    for (size_t i = 0; i < m.facts.objects; ++i)
        for (size_t j = 0; j < i; ++j)
            nearest = fmin(nearest, distance(&w, m.facts.object[i].centre, m.facts.object[j].centre));
    CHECK(nearest >= 2 * w.radius + gap);
    CHECK_NEAR(m.facts.fraction[1], fraction, nz > 1 ? 0.004 : 0.02);
    done(&m);
}

/* Labels are those of the nearest seed among all images; with a wall moved, fractions are as asked. */
static void check_voronoi(size_t nz, size_t grains)
{
    struct mf_synth w = wish(MF_SYNTH_VORONOI, nz, 19, 26, 3);
    struct made m;
    size_t wrong = 0;

    w.grains = grains;
    m = make(w);
    CHECK(m.facts.objects == grains);
    for (size_t z = 0; z < nz; ++z)
        for (size_t y = 0; y < 19; ++y)
            for (size_t x = 0; x < 26; ++x) {
                double p[3] = {(double)z + 0.5, (double)y + 0.5, (double)x + 0.5}, best = 1e9;
                int phase = -1;

                for (size_t i = 0; i < grains; ++i)
                    if (distance(&w, p, m.facts.object[i].centre) < best) {
                        best = distance(&w, p, m.facts.object[i].centre);
                        phase = m.facts.object[i].phase;
                    }
                wrong += m.micro.phase[at(&m, z, y, x)] != phase;
            }
    CHECK(wrong == 0);
    done(&m);
}

/* Fibres along an axis do not change along it; in a plane they keep the fraction of thrown capsules. */
static void check_fibres(void)
{
    struct mf_synth w = solid(MF_SYNTH_FIBRES, 40, 40, 0.35, 3);
    struct made m;
    size_t wrong = 0;
    double fraction = 0;

    w.lie = MF_LIE_Y;
    m = make(w);
    for (size_t z = 0; z < 40; ++z)
        for (size_t y = 1; y < 40; ++y)
            for (size_t x = 0; x < 40; ++x) wrong += m.micro.phase[at(&m, z, y, x)] != m.micro.phase[at(&m, z, 0, x)];
    CHECK(wrong == 0);
    CHECK_NEAR(m.facts.fraction[1], 0.35, 0.02);
    done(&m);
    w.stick = 15;
    for (int k = 0; k < 16; ++k) {
        w.lie = k % 2 ? MF_LIE_PLANAR : MF_LIE_RANDOM;
        w.seed = (uint64_t)k;
        m = make(w);
        fraction += m.facts.fraction[1] / 16;
        done(&m);
    }
    CHECK_NEAR(fraction, 0.35, 0.02);
}

static void check_layers(void)
{
    struct mf_synth w = wish(MF_SYNTH_LAMELLAE, 1, 24, 35, 2);
    struct made m;
    size_t wrong = 0;

    w.normal[0] = w.normal[2] = 0;
    w.period = 6;
    m = make(w);
    for (size_t y = 0; y < 24; ++y)
        for (size_t x = 0; x < 35; ++x) wrong += m.micro.phase[at(&m, 0, y, x)] != (y % 6 >= 3);
    CHECK(wrong == 0);
    CHECK_NEAR(m.facts.period, 6, 1e-12);
    done(&m);
    w.normal[2] = -1; /* fits 24/6/sqrt2 = 2.83 -> 3 and -35/6/sqrt2 = -4.1 -> -4 */
    m = make(w);
    CHECK_NEAR(m.facts.period, 1 / sqrt(9.0 / (24 * 24) + 16.0 / (35 * 35)), 1e-12);
    CHECK_NEAR(m.facts.fraction[1], 0.5, 0.01);
    done(&m);
    w.waviness = 1.5;
    w.exact = 1;
    m = make(w);
    CHECK(m.facts.voxels[1] == 24 * 35 / 2);
    done(&m);
}

static void check_board(void)
{
    struct mf_synth w = wish(MF_SYNTH_CHECKERBOARD, 12, 8, 24, 3);
    struct made m;
    size_t wrong = 0;

    w.cell[1] = 3; /* 8 voxels: 3 cells of 3, 3 and 2 */
    m = make(w);
    CHECK(m.facts.cells[0] == 3 && m.facts.cells[1] == 3 && m.facts.cells[2] == 6);
    for (size_t z = 0; z < 12; ++z)
        for (size_t y = 0; y < 8; ++y)
            for (size_t x = 0; x < 24; ++x)
                wrong += m.micro.phase[at(&m, z, y, x)] != (z / 4 + (2 * y + 1) * 3 / 16 + x / 4) % 3;
    CHECK(wrong == 0);
    done(&m);
    w = wish(MF_SYNTH_CHECKERBOARD, 1, 16, 24, 2);
    m = make(w);
    for (size_t y = 0; y < 16; ++y)
        for (size_t x = 0; x < 24; ++x) wrong += m.micro.phase[at(&m, 0, y, x)] != (y / 4 + x / 4) % 2;
    CHECK(wrong == 0 && m.facts.voxels[0] == m.facts.voxels[1]);
    done(&m);
}

/* Squared distance from a voxel to a piece of a crack, in one image of the box. */
static double to_piece(const struct mf_synth_object *o, const double *d)
{
    double along = 0, all = 0, rest;

    for (int a = 0; a < 3; ++a) {
        along += d[a] * o->direction[a];
        all += d[a] * d[a];
    }
    rest = o->flat ? fmax(0, sqrt(fmax(0, all - along * along)) - o->half) : fmax(0, fabs(along) - o->half);
    return o->flat ? along * along + rest * rest : all - along * along + rest * rest;
}

/* The nearest image of all pieces. */
static double to_cracks(const struct made *m, const double *p)
{
    double least = HUGE_VAL, d[3];

    for (size_t i = 0; i < m->facts.objects; ++i)
        for (int image = 0; image < 125; ++image) {
            const int shift[3] = {image / 25 - 2, image / 5 % 5 - 2, image % 5 - 2};
            int skip = 0;

            for (int a = 0; a < 3; ++a) {
                const double n = (double)m->wish.dims[a];

                skip |= n <= 1 && shift[a];
                d[a] = n > 1 ? p[a] - m->facts.object[i].centre[a] + n * shift[a] : 0;
            }
            if (!skip) least = fmin(least, to_piece(&m->facts.object[i], d));
        }
    return sqrt(least);
}

/* Voxels within the radius of the pieces are the crack; the fraction is what was asked for, in the mean. */
static void check_cracks(size_t nz, size_t ny, size_t nx, double fraction)
{
    struct mf_synth w = wish(MF_SYNTH_CRACKS, nz, ny, nx, 2);
    double mean = 0, wrong = 0;

    w.fraction[1] = fraction;
    w.fraction[0] = 1 - fraction;
    w.radius = 0.9;
    w.stick = 20;
    for (w.seed = 0; w.seed < 20; ++w.seed) {
        struct made m = make(w);

        mean += m.facts.fraction[1] / 20;
        for (size_t i = 0; w.seed < 3 && i < nz * ny * nx; ++i) {
            const double p[3] = {(double)(i / (ny * nx)) + 0.5, (double)(i / nx % ny) + 0.5, (double)(i % nx) + 0.5};

            wrong += m.micro.phase[i] != (to_cracks(&m, p) <= w.radius);
        }
        done(&m);
    }
    CHECK(wrong == 0);
    CHECK_NEAR(mean, fraction, 0.25 * fraction);
}

int main(void)
{
    mf_comm_self(&self);
    if (mf_arena_open(&arena, NULL, 0) != MF_OK) return 1;
    check_gauss(96, 0.005);
    check_gauss(1, 0.02);
    check_gauss_fractions();
    check_spheres(40, 40, 0.015);
    check_spheres(1, 128, 0.02);
    check_hard(48, 0.3, 0);
    check_hard(48, 0.2, 1.5);
    check_hard(1, 0.45, 0);
    check_voronoi(1, 9);
    check_voronoi(13, 40);
    check_voronoi(7, 3);
    check_fibres();
    check_layers();
    check_board();
    check_cracks(1, 41, 37, 0.15);
    check_cracks(23, 24, 19, 0.1);
    check_cracks(24, 1, 30, 0.15);
    mf_arena_close(arena);
    return failures != 0;
}
