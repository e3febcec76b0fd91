/* Layers in small volumes: none is a wave along an axis, of which a slice would see a spot. Together they are of the
 * period that slices are to see. If none fits the field stays. Cells in images are walls of the rarer phase that the
 * corners of a pixel's way cannot pass. They are about as much of it as there is; other seeds give other cells. */
#include "src/recon/start.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"

enum { N = 12, VOXELS = N * N * N };

static float x[VOXELS];
static const struct mf_slab slab = {.dims = {N, N, N}, .first = 0, .count = N};

/* Share of the field's variance in the wave of k periods along z, y, x. */
static double power(const int k[3])
{
    double re = 0, im = 0, mean = 0, square = 0;

    for (int i = 0; i < VOXELS; ++i) {
        const double at = 2 * acos(-1) / N * (k[0] * (i / N / N) + k[1] * (i / N % N) + k[2] * (i % N));

        re += (double)x[i] * cos(at);
        im += (double)x[i] * sin(at);
        mean += (double)x[i] / VOXELS;
        square += (double)x[i] * (double)x[i] / VOXELS;
    }
    return 2 * (re * re + im * im) / VOXELS / VOXELS / (square - mean * mean);
}

/* The share of waves of one, two and three periods along an axis. Also that of waves of one, one and two. */
static void shares(double *along, double *turned)
{
    *along = *turned = 0;
    for (int a = 0; a < 3; ++a)
        for (int n = 1; n <= 3; ++n) *along += power((const int[3]){a == 0 ? n : 0, a == 1 ? n : 0, a == 2 ? n : 0});
    for (int a = 0; a < 3; ++a)
        for (int signs = 0; signs < 4; ++signs) {
            int k[3];

            k[a] = 2;
            k[(a + 1) % 3] = signs & 1 ? -1 : 1;
            k[(a + 2) % 3] = signs & 2 ? -1 : 1;
            *turned += power(k);
        }
}

enum { EDGE = 64, ALL = 300 };

static float cells[2 * EDGE * EDGE], others[2 * EDGE * EDGE];
static const struct mf_slab image = {.dims = {1, EDGE, EDGE}, .first = 0, .count = 1};

/* Pixels that are not of a wall and hang together with pixel i. */
static size_t flood(float *field, size_t i)
{
    const size_t v = i % EDGE, u = i / EDGE;
    size_t n = 1;

    if (field[i] > 0.5f) return 0;
    field[i] = 1;
    n += flood(field, u * EDGE + (v + 1) % EDGE) + flood(field, u * EDGE + (v + EDGE - 1) % EDGE);
    return n + flood(field, (u + 1) % EDGE * EDGE + v) + flood(field, (u + EDGE - 1) % EDGE * EDGE + v);
}

/* The same from all points for every pixel: phase 1 of an image of @p n cells, a fifth of it. */
static double wall_at(const double (*point)[2], size_t n, const size_t dims[3], const double at[2])
{
    double far[2] = {INFINITY, INFINITY}, way[2][2] = {{0, 0}, {0, 0}};

    for (size_t i = 0; i < n; ++i) {
        double d[2], here;

        for (int a = 0; a < 2; ++a) {
            const double edge = (double)dims[a + 1];

            d[a] = point[i][a] - at[a];
            d[a] -= edge * round(d[a] / edge);
        }
        here = d[0] * d[0] + d[1] * d[1];
        if (here >= far[1]) continue;
        if (here < far[0]) {
            far[1] = far[0];
            memcpy(way[1], way[0], sizeof d);
        }
        memcpy(way[here >= far[0]], d, sizeof d);
        far[here >= far[0]] = here;
    }
    return (far[1] - far[0]) / (2 * hypot(way[0][0] - way[1][0], way[0][1] - way[1][1]));
}

static size_t cells_of(const struct mf_slab *of, size_t fields, const double *fraction, double wanted, double bend,
                       uint64_t seed, float *to)
{
    size_t n = 0;

    CHECK(mf_start_cells(of, fields, fraction, wanted, bend, seed, NULL, to, &n) == MF_OK);
    return n;
}

static void check_against_all(size_t ny, size_t nx, size_t n, uint64_t seed)
{
    const struct mf_slab plane = {.dims = {1, ny, nx}, .first = 0, .count = 1};
    const double fraction[1] = {0.2}, wanted = (double)n / (double)(ny * nx), half = 0.2 / (4 * sqrt(wanted));
    static double point[ALL][2];
    size_t wrong = 0;

    CHECK(n <= ALL && ny * nx <= 2 * (size_t)EDGE * EDGE);
    for (size_t i = 0; i < 2 * n; ++i)
        point[i / 2][i % 2] = (double)plane.dims[1 + i % 2] * mf_random_uniform(seed, 0x6365, i);
    CHECK(cells_of(&plane, 1, fraction, wanted, 0, seed, cells) == n);
    for (size_t i = 0; i < ny * nx; ++i) {
        const double at[2] = {(double)(i / nx) + 0.5, (double)(i % nx) + 0.5};
        const float is = (float)fmin(1, fmax(0, half + 0.5 - wall_at(point, n, plane.dims, at)));

        wrong += memcmp(&is, &cells[i], sizeof is) != 0;
    }
    CHECK(wrong == 0);
}

/* Phases {0.8, 0.2} give as many cells as are wanted, and walls of phase 1 between them. */
static void check_cells(void)
{
    const double fraction[2] = {0.8, 0.2};
    const size_t n = (size_t)EDGE * EDGE;
    size_t closed = 0, made = cells_of(&image, 2, fraction, 12.0 / (double)n, 0.06, 5, cells);
    double share = 0;

    CHECK(made == 12);
    for (size_t i = 0; i < n; ++i) {
        share += (double)cells[n + i] / (double)n;
        CHECK_NEAR((double)cells[i], 1 - (double)cells[n + i], 1e-6);
    }
    CHECK_NEAR(share, 0.2, 0.05);
    CHECK(cells_of(&image, 1, fraction + 1, 12.0 / (double)n, 0.06, 5, others) == 12);
    CHECK(memcmp(others, cells + n, n * sizeof *cells) == 0);
    CHECK(cells_of(&image, 1, fraction + 1, 12.0 / (double)n, 0, 5, others) == 12);
    CHECK(memcmp(others, cells + n, n * sizeof *cells) != 0); /* straight walls */
    CHECK(cells_of(&image, 1, fraction + 1, 12.0 / (double)n, 0.06, 6, others) == 12);
    CHECK(memcmp(others, cells + n, n * sizeof *cells) != 0);
    for (size_t i = 0; i < n; ++i) closed += flood(others, i) > 0;
    CHECK(closed >= 9 && closed <= 14);
    CHECK(cells_of(&image, 2, fraction, 1.0 / (double)n, 0.06, 5, cells) == 0);
    for (uint64_t seed = 0; seed < 3; ++seed) {
        check_against_all(64, 64, 300, seed);
        check_against_all(40, 90, 50, seed);
        check_against_all(5, 200, 7, seed);
        check_against_all(64, 64, 3, seed);
        check_against_all(1, 99, 9, seed);
    }
}

int main(void)
{
    const double half[1] = {0.5};
    int kept = 0;

    for (uint64_t seed = 0; seed < 4; ++seed) {
        double along, turned;

        CHECK(mf_start_layers(&slab, 1, half, 2.0 / N, seed, NULL, x) > 0);
        shares(&along, &turned);
        CHECK(along < 0.01);
        CHECK(turned > 0.5);
    }
    for (int i = 0; i < VOXELS; ++i) x[i] = 7;
    CHECK(mf_start_layers(&slab, 1, half, 0.01, 0, NULL, x) == 0);
    for (int i = 0; i < VOXELS; ++i) kept += x[i] > 6;
    CHECK(kept == VOXELS);
    check_cells();
    return failures != 0;
}
