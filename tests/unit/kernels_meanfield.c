/* Steps of mean-field annealing against plain loops: sums, lines of voxels that may move, the step and its projection.
 * With fixed voxels and without, on one thread and three. */
#include "kernels/meanfield.h"

#include <math.h>

#include "kernels/labels.h"
#include "src/base/rng.h"
#include "tests/device.h"

enum { MOST = 50000, TABLE = 8192 };

static const size_t cases[][3] = {{1, 1, 1}, {2, 3, 5}, {9, 7, 33}, {5, 64, 65}, {33, 32, 31}};
static const float LEVEL = 0.1F, SCALE = 1 << 17, SHIFT = 0.05F;

static float x[MOST], g[MOST], v[MOST];
static uint8_t fixed[MOST];

static void fill(size_t n)
{
    for (size_t i = 0; i < n; ++i) {
        const double u = mf_random_uniform(1, 1, i);

        x[i] = u < 0.3 ? 0 : u > 0.7 ? 1 : (float)u;
        g[i] = (float)(2 * mf_random_uniform(1, 2, i) - 1);
        v[i] = (float)(mf_random_uniform(1, 3, i) - 0.5);
        fixed[i] = mf_random_uniform(1, 4, i) < 0.1 && (u < 0.3 || u > 0.7) ? u > 0.7 : MF_LABEL_OPEN;
    }
}

static int may_move(size_t i, int holds)
{
    if (holds && fixed[i] != MF_LABEL_OPEN) return 0;
    return (x[i] > 0 && x[i] < 1) || (x[i] == 0 && g[i] < LEVEL) || (x[i] == 1 && g[i] > LEVEL);
}

static double clip(double a) { return fmin(fmax(a, 0), 1); }

static void check_inner(const struct device *d, const size_t n[3])
{
    const struct mf_extent e = {1, n[0], n[1] * n[2]};
    float *dx = device_put(d, x, e.planes * e.plane * sizeof *x),
          *dg = device_put(d, g, e.planes * e.plane * sizeof *g);
    double *out = device_host(d, NULL, e.planes * MF_INNER_VALUES * sizeof *out);

    d->be->meanfield->inner(d->q, e, dx, dg, out);
    d->be->sync(d->q);
    for (size_t z = 0; z < e.planes; ++z) {
        double want[MF_INNER_VALUES] = {0};

        for (size_t i = z * e.plane; i < (z + 1) * e.plane; ++i) {
            want[0] += x[i] > 0 && x[i] < 1 ? (double)g[i] : 0;
            want[1] += x[i] > 0 && x[i] < 1;
            want[2] += (double)x[i] * (1 - (double)x[i]);
            want[3] = fmax(want[3], fabs((double)g[i]));
        }
        for (int k = 0; k < MF_INNER_VALUES; ++k)
            CHECK(fabs(out[z * MF_INNER_VALUES + (size_t)k] - want[k]) < 1e-6 * (1 + fabs(want[k])));
    }
    device_get(d, NULL, dx, 0);
    device_get(d, NULL, dg, 0);
    mf_arena_give(d->host, out);
}

static void check_lines(const struct device *d, const size_t n[3], int holds)
{
    static int32_t got[5][TABLE], want[5][TABLE];
    const size_t voxels = n[0] * n[1] * n[2],
                 size[5] = {n[0] * n[1], n[0] * n[1], n[0] * n[2], n[0] * n[2], n[1] * n[2]};
    float *dx = device_put(d, x, voxels * sizeof *x), *dg = device_put(d, g, voxels * sizeof *g);
    uint8_t *df = device_put(d, fixed, voxels);
    int32_t *table[5];

    memset(want, 0, sizeof want);
    for (int k = 0; k < 5; ++k) table[k] = device_put(d, NULL, size[k] * sizeof **table);
    d->be->meanfield->lines(d->q, n, dx, dg, holds ? df : NULL, LEVEL, SCALE,
                            &(struct mf_lines){table[0], table[1], table[2], table[3], table[4]});
    for (size_t i = 0; i < voxels; ++i) {
        const size_t k = i % n[2], j = i / n[2] % n[1], z = i / n[2] / n[1];
        const int is = may_move(i, holds), part = is ? (int)nearbyint((double)g[i] * (double)SCALE) : 0;

        want[0][z * n[1] + j] += is;
        want[1][z * n[1] + j] += part;
        want[2][z * n[2] + k] += is;
        want[3][z * n[2] + k] += part;
        want[4][j * n[2] + k] += is;
    }
    for (int k = 0; k < 5; ++k) {
        device_get(d, got[k], table[k], size[k] * sizeof **table);
        CHECK_SAYS(memcmp(got[k], want[k], size[k] * sizeof **got) == 0, "table %d of %zu x %zu x %zu", k, n[0], n[1],
                   n[2]);
    }
    device_get(d, NULL, dx, 0);
    device_get(d, NULL, dg, 0);
    device_get(d, NULL, df, 0);
}

static void check_step(const struct device *d, const size_t n[3], int holds)
{
    static float off[300], to[MOST], moved[MOST], before[MOST];
    const struct mf_extent e = {1, n[0], n[1] * n[2]};
    const size_t voxels = e.planes * e.plane, offs = n[0] + n[1] + n[2];
    float *dx = device_put(d, x, voxels * sizeof *x), *dg = device_put(d, g, voxels * sizeof *g);
    float *dv = device_put(d, v, voxels * sizeof *v), *doff;
    uint8_t *df = device_put(d, fixed, voxels);
    double *out = device_host(d, NULL, 3 * e.planes * sizeof *out);

    for (size_t i = 0; i < offs; ++i) off[i] = (float)(0.2 * mf_random_uniform(1, 5, i));
    doff = device_put(d, off, offs * sizeof *off);
    d->be->meanfield->move(d->q, n, 0.9F, 0.3F, doff, dx, dg, holds ? df : NULL, dv);
    d->be->get(d->q, before, dv, voxels * sizeof *before);
    d->be->meanfield->shifted(d->q, e, SHIFT, dv, out);
    d->be->meanfield->settle(d->q, e, SHIFT, dx, dv, out + 2 * e.planes);
    d->be->sync(d->q);
    device_get(d, to, dx, voxels * sizeof *to);
    device_get(d, moved, dv, voxels * sizeof *moved);
    for (size_t z = 0; z < e.planes; ++z) {
        double sum = 0, inside = 0, grey = 0;

        for (size_t i = z * e.plane; i < (z + 1) * e.plane; ++i) {
            const size_t k = i % n[2], j = i / n[2] % n[1];
            const double level = (double)off[z] + (double)off[n[0] + j] + (double)off[n[0] + n[1] + k];
            const double at = (double)x[i] + 0.9F * (double)v[i] - 0.3F * ((double)g[i] - level);
            const int held = holds && fixed[i] != MF_LABEL_OPEN;

            CHECK(held ? isinf(before[i]) : fabs((double)before[i] - at) < 1e-6);
            CHECK(held ? to[i] == x[i] && moved[i] == 0 : fabs((double)to[i] - clip(at - SHIFT)) < 1e-6);
            CHECK(fabs((double)moved[i] - ((double)to[i] - (double)x[i])) < 1e-7);
            sum += (double)to[i];
            inside += to[i] > 0 && to[i] < 1;
            grey += (double)to[i] * (1 - (double)to[i]);
        }
        CHECK(fabs(out[2 * z] - sum) < 1e-6 * (1 + sum) && out[2 * z + 1] == inside);
        CHECK(fabs(out[2 * e.planes + z] - grey) < 1e-6 * (1 + grey));
    }
    device_get(d, NULL, doff, 0);
    device_get(d, NULL, dg, 0);
    device_get(d, NULL, df, 0);
    mf_arena_give(d->host, out);
}

int main(void)
{
    for (int threads = 1; threads <= 3; threads += 2) {
        struct device d = device_open(threads, 1, 0);

        for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c) {
            fill(cases[c][0] * cases[c][1] * cases[c][2]);
            check_inner(&d, cases[c]);
            for (int holds = 0; holds < 2; ++holds) {
                check_lines(&d, cases[c], holds);
                check_step(&d, cases[c], holds);
            }
        }
        device_close(&d);
    }
    return failures != 0;
}
