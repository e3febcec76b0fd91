/* Steps of mean-field annealing against plain loops in double. They are lines of the followed gradient, the step and
 * its projection. One to six phases, with fixed voxels and without, on one thread and three. */
#include "kernels/meanfield.h"

#include <math.h>

#include "kernels/labels.h"
#include "src/base/rng.h"
#include "tests/device.h"

enum { ENOUGH = 130000 /* numbers, several threads work on them */ };
enum { VOXELS = 17 * 32 * 65, PHASES = 6, MOST = PHASES * VOXELS, TABLE = 21 * 64 * 65 };

static const size_t cases[][3] = {{1, 1, 1}, {2, 3, 5}, {9, 7, 33}, {5, 64, 65}, {17, 32, 65}};
static const float SCALE = 1 << 16;

static float x[MOST], g[MOST], v[MOST];
static uint8_t fixed[VOXELS];

struct field {
    size_t phases, voxels, n[3];
    int holds;
    const float *slope, *level, *shift;
};

/* The nearest probabilities: one number is cut to [0, 1]. Several have a sum of 1, so all lose the same number, which
 * bisection finds. */
static void project(size_t phases, double *to)
{
    double low = to[0], high = to[0];

    if (phases == 1) {
        *to = fmin(fmax(*to, 0), 1);
        return;
    }
    for (size_t p = 1; p < phases; ++p) {
        low = fmin(low, to[p]);
        high = fmax(high, to[p]);
    }
    low -= 1;
    for (int k = 0; k < 70; ++k) {
        const double middle = (low + high) / 2;
        double sum = 0;

        for (size_t p = 0; p < phases; ++p) sum += fmax(to[p] - middle, 0);
        *(sum > 1 ? &low : &high) = middle;
    }
    for (size_t p = 0; p < phases; ++p) to[p] = fmax(to[p] - high, 0);
}

static void fill(const struct field *f)
{
    for (size_t i = 0; i < f->voxels; ++i) {
        const double kind = mf_random_uniform(1, 1, i);
        double at[PHASES];

        for (size_t p = 0; p < f->phases; ++p) {
            at[p] = 2 * mf_random_uniform(1, 2 + (uint32_t)p, i) - 0.5 + (kind < 0.3 && p == i % f->phases ? 2 : 0);
            g[p * f->voxels + i] = (float)(2 * mf_random_uniform(1, 12 + (uint32_t)p, i) - 1);
            v[p * f->voxels + i] = (float)(mf_random_uniform(1, 22 + (uint32_t)p, i) - 0.5);
        }
        project(f->phases, at);
        fixed[i] = MF_LABEL_OPEN;
        for (size_t p = 0; p < f->phases; ++p) {
            x[p * f->voxels + i] = (float)at[p];
            if (x[p * f->voxels + i] == 1 && mf_random_uniform(1, 32, i) < 0.2) fixed[i] = 1;
        }
    }
}

static double slope_at(const struct field *f, size_t p, size_t i)
{
    const double at = (double)x[p * f->voxels + i];

    return (double)g[p * f->voxels + i] + (double)f->slope[p] * (1 - 2 * at);
}

static int holds(const struct field *f, size_t i) { return f->holds && fixed[i] != MF_LABEL_OPEN; }

/* Free direction of voxel i: a very small step against the gradient, projected. */
static void follow(const struct field *f, size_t i, double *r, int *keep)
{
    const double step = 1e-9;
    double to[PHASES] = {0}, sum = 0;
    size_t largest = 0;

    for (size_t p = 0; p < f->phases; ++p) {
        const float at = x[p * f->voxels + i];

        sum += (double)at;
        if (at > x[largest * f->voxels + i]) largest = p;
        to[p] = (double)at - step * (slope_at(f, p, i) - (double)f->level[p]);
    }
    to[largest] += f->phases > 1 ? 1 - sum : 0; /* of floats it is not quite 1 */
    project(f->phases, to);
    for (size_t p = 0; p < f->phases; ++p) {
        keep[p] = to[p] > 0 && (f->phases > 1 || to[p] < 1) && !holds(f, i);
        r[p] = 0;
    }
}

/* r = the gradient less its mean over what is kept. */
static void free_gradient(const struct field *f, size_t i, double *r, int *keep)
{
    double mean = 0;
    int kept = 0;

    follow(f, i, r, keep);
    for (size_t p = 0; p < f->phases; ++p) {
        kept += keep[p];
        mean += keep[p] ? slope_at(f, p, i) - (double)f->level[p] : 0;
    }
    mean = f->phases > 1 && kept ? mean / kept : 0;
    for (size_t p = 0; p < f->phases; ++p) r[p] = keep[p] ? slope_at(f, p, i) - (double)f->level[p] - mean : 0;
}

static double pair_of(size_t phases, const int *keep, size_t p, size_t q)
{
    int kept = 0;

    for (size_t k = 0; k < phases; ++k) kept += keep[k];
    return !keep[p] || !keep[q] ? 0 : (p == q) - (phases > 1 ? 1.0 / kept : 0);
}

static struct mf_probabilities put_field(const struct device *d, const struct field *f)
{
    struct mf_probabilities at = {.phases = f->phases, .n = {f->n[0], f->n[1], f->n[2]}};

    at.x = device_put(d, x, f->phases * f->voxels * sizeof *x);
    at.g = device_put(d, g, f->phases * f->voxels * sizeof *g);
    if (f->holds) at.fixed = device_put(d, fixed, f->voxels);
    memcpy(at.slope, f->slope, f->phases * sizeof *at.slope);
    memcpy(at.level, f->level, f->phases * sizeof *at.level);
    return at;
}

static void take_field(const struct device *d, const struct mf_probabilities *at)
{
    device_get(d, NULL, (void *)(uintptr_t)at->x, 0);
    device_get(d, NULL, (void *)(uintptr_t)at->g, 0);
    if (at->fixed) device_get(d, NULL, (void *)(uintptr_t)at->fixed, 0);
}

static void check_lines(const struct device *d, const struct field *f)
{
    static int32_t got[TABLE];
    static double want[5][TABLE];
    const size_t *n = f->n, pairs = mf_pairs(f->phases);
    const size_t size[5] = {n[0] * n[1], n[0] * n[1], n[0] * n[2], n[0] * n[2], n[1] * n[2]};
    const size_t tables[5] = {pairs, f->phases, pairs, f->phases, pairs};
    const struct mf_probabilities at = put_field(d, f);
    int32_t *table[5];

    memset(want, 0, sizeof want);
    for (int k = 0; k < 5; ++k) table[k] = device_put(d, NULL, tables[k] * size[k] * sizeof **table);
    d->be->meanfield->lines(d->q, &at, SCALE, &(struct mf_lines){table[0], table[1], table[2], table[3], table[4]});
    for (size_t i = 0; i < f->voxels; ++i) {
        const size_t c = i % n[2], b = i / n[2] % n[1], z = i / n[2] / n[1];
        const size_t line[5] = {z * n[1] + b, z * n[1] + b, z * n[2] + c, z * n[2] + c, b * n[2] + c};
        double r[PHASES];
        int keep[PHASES];

        free_gradient(f, i, r, keep);
        for (int k = 0; k < 5; ++k)
            for (size_t p = 0, t = 0; p < f->phases; ++p) {
                if (k % 2) want[k][p * size[k] + line[k]] += nearbyint(r[p] * (double)SCALE);
                for (size_t q = p; !(k % 2) && q < f->phases; ++q, ++t)
                    want[k][t * size[k] + line[k]] += MF_PAIR_UNIT * pair_of(f->phases, keep, p, q);
            }
    }
    for (int k = 0; k < 5; ++k) {
        const double most = k % 2 ? 2 + 0.02 * (double)f->voxels / (double)size[k] : 1e-6;
        double worst = 0;

        device_get(d, got, table[k], tables[k] * size[k] * sizeof **table);
        for (size_t i = 0; i < tables[k] * size[k]; ++i) worst = fmax(worst, fabs((double)got[i] - want[k][i]));
        CHECK_SAYS(worst <= most, "table %d of %zu phases of %zu x %zu x %zu: %g", k, f->phases, n[0], n[1], n[2],
                   worst);
    }
    take_field(d, &at);
}

/* Gradients of the phases that are not at a bound, less their mean in a voxel of several phases. */
static void check_inner(const struct device *d, const struct field *f)
{
    const size_t pairs = mf_pairs(f->phases), values = f->phases + pairs + 1, plane = f->n[1] * f->n[2];
    const struct mf_probabilities at = put_field(d, f);
    double *out = device_host(d, NULL, values * f->n[0] * sizeof *out);

    d->be->meanfield->inner(d->q, &at, out);
    d->be->sync(d->q);
    for (size_t z = 0; z < f->n[0]; ++z) {
        double want[MF_MEANFIELD_VALUES] = {0};

        for (size_t i = z * plane; i < (z + 1) * plane; ++i) {
            double mean = 0;
            int keep[PHASES], kept = 0;

            for (size_t p = 0; p < f->phases; ++p) {
                keep[p] = x[p * f->voxels + i] > 0 && (f->phases > 1 || x[p * f->voxels + i] < 1);
                kept += keep[p];
                mean += keep[p] ? slope_at(f, p, i) : 0;
                want[values - 1] = fmax(want[values - 1], fabs(slope_at(f, p, i)));
            }
            mean = f->phases > 1 ? mean / kept : 0;
            for (size_t p = 0, t = f->phases; p < f->phases; ++p) {
                want[p] += keep[p] ? slope_at(f, p, i) - mean : 0;
                for (size_t q = p; q < f->phases; ++q, ++t) want[t] += pair_of(f->phases, keep, p, q);
            }
        }
        for (size_t k = 0; k < values; ++k)
            CHECK_SAYS(fabs(out[z * values + k] - want[k]) < 1e-4 * (1 + fabs(want[k])),
                       "inner value %zu of %zu phases: %g, not %g", k, f->phases, out[z * values + k], want[k]);
    }
    take_field(d, &at);
    mf_arena_give(d->host, out);
}

static int near(double a, double b) { return fabs(a - b) < 2e-6 * (1 + fabs(b)); }

/* Sums of a plane of the nearest probabilities to v - shift, and of pairs. */
static void check_shifted(const struct field *f, size_t z, const float *from, const double *got)
{
    const size_t plane = f->n[1] * f->n[2];
    double want[MF_MEANFIELD_VALUES] = {0};

    for (size_t i = z * plane; i < (z + 1) * plane; ++i) {
        double to[PHASES];
        int keep[PHASES];

        for (size_t p = 0; p < f->phases; ++p) to[p] = (double)(from[p * f->voxels + i] - f->shift[p]);
        project(f->phases, to);
        for (size_t p = 0; p < f->phases; ++p) {
            want[p] += to[p];
            keep[p] = to[p] > 0 && (f->phases > 1 || to[p] < 1);
        }
        for (size_t p = 0, t = f->phases; p < f->phases; ++p)
            for (size_t q = p; q < f->phases; ++q, ++t) want[t] += pair_of(f->phases, keep, p, q);
    }
    for (size_t k = 0; k < f->phases + mf_pairs(f->phases); ++k)
        CHECK_SAYS(near(got[k], want[k]), "value %zu of %zu phases: %g, not %g", k, f->phases, got[k], want[k]);
}

static void check_settled(const struct field *f, size_t z, const float *from, const float *to, const float *moved,
                          const double *got)
{
    const size_t plane = f->n[1] * f->n[2];
    double grey[PHASES] = {0};

    for (size_t i = z * plane; i < (z + 1) * plane; ++i) {
        double want[PHASES];

        for (size_t p = 0; p < f->phases; ++p) want[p] = (double)(from[p * f->voxels + i] - f->shift[p]);
        project(f->phases, want);
        for (size_t p = 0; p < f->phases; ++p) {
            const size_t a = p * f->voxels + i;

            CHECK(holds(f, i) ? to[a] == x[a] && moved[a] == 0 : fabs((double)to[a] - want[p]) < 2e-6);
            CHECK(fabs((double)moved[a] - ((double)to[a] - (double)x[a])) < 1e-7);
            grey[p] += (double)to[a] * (1 - (double)to[a]);
        }
    }
    for (size_t p = 0; p < f->phases; ++p) CHECK(near(got[p], grey[p]));
}

/* The step of a voxel of phase p. */
static void check_moved(const struct field *f, const float *off, size_t p, size_t i, float got)
{
    const size_t *n = f->n, c = i % n[2], b = i / n[2] % n[1], z = i / n[2] / n[1], a = p * f->voxels + i;
    const double part = (double)off[z] + (double)off[n[0] + b] + (double)off[n[0] + n[1] + c];
    const double at = (double)x[a] + 0.9F * (double)v[a] - 0.3F * (slope_at(f, p, i) - part);

    CHECK_SAYS(holds(f, i) ? got == (x[a] > 0.5F ? 1e6F : -1e6F) : fabs((double)got - at) < 1e-6,
               "phase %zu of %zu, voxel %zu of %zu: %g, not %g", p, f->phases, i, f->voxels, (double)got, at);
}

static void check_step(const struct device *d, const struct field *f)
{
    static float off[PHASES * 300], to[MOST], moved[MOST], before[MOST];
    const size_t values = f->phases + mf_pairs(f->phases), parts = f->n[0] + f->n[1] + f->n[2];
    const size_t bytes = f->phases * f->voxels * sizeof *x, planes = f->n[0];
    const struct mf_extent e = {f->phases, planes, f->n[1] * f->n[2]};
    const struct mf_probabilities at = put_field(d, f);
    float *dv = device_put(d, v, bytes), *doff;
    double *out = device_host(d, NULL, values * planes * sizeof *out);
    double *again = device_host(d, NULL, values * planes * sizeof *out);
    double *grey = device_host(d, NULL, f->phases * planes * sizeof *out);

    for (size_t i = 0; i < f->phases * parts; ++i) off[i] = (float)(0.2 * mf_random_uniform(1, 5, i));
    doff = device_put(d, off, f->phases * parts * sizeof *off);
    d->be->meanfield->move(d->q, &at, 0.9F, 0.3F, doff, f->shift, dv, out);
    d->be->get(d->q, before, dv, bytes);
    d->be->meanfield->shifted(d->q, e, f->shift, dv, again);
    d->be->meanfield->settle(d->q, e, f->shift, (float *)(uintptr_t)at.x, dv, grey);
    d->be->sync(d->q);
    d->be->get(d->q, to, at.x, bytes);
    device_get(d, moved, dv, bytes);
    for (size_t z = 0; z < planes; ++z) {
        for (size_t p = 0; p < f->phases; ++p)
            for (size_t i = z * e.plane; i < (z + 1) * e.plane; ++i)
                check_moved(f, off + p * parts, p, i, before[p * f->voxels + i]);
        check_shifted(f, z, before, out + z * values);
        check_shifted(f, z, before, again + z * values);
        check_settled(f, z, before, to, moved, grey + z * f->phases);
    }
    device_get(d, NULL, doff, 0);
    take_field(d, &at);
    mf_arena_give(d->host, grey);
    mf_arena_give(d->host, again);
    mf_arena_give(d->host, out);
}

int main(void)
{
    static const float slope[PHASES] = {0.1F, -0.2F, 0.05F, 0.3F, 0, 0.1F},
                       level[PHASES] = {0.1F, 0, -0.1F, 0.2F, 0.05F, 0},
                       shift[PHASES] = {0.05F, -0.1F, 0.02F, 0, 0.1F, 0.01F};

    for (int threads = 1; threads <= 3; threads += 2) {
        struct device d = device_open(threads, 1, 0);

        for (size_t c = 0; c < sizeof cases / sizeof *cases; ++c)
            for (size_t phases = 1; phases <= PHASES; phases += phases < 3 ? 1 : 3)
                for (int held = 0; held < 2; ++held) {
                    const size_t *n = cases[c];
                    const struct field f = {phases, n[0] * n[1] * n[2], {n[0], n[1], n[2]}, held, slope, level, shift};

                    if (phases * f.voxels > ENOUGH) continue;
                    fill(&f);
                    check_inner(&d, &f);
                    check_lines(&d, &f);
                    check_step(&d, &f);
                }
        device_close(&d);
    }
    return failures != 0;
}
