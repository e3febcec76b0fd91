/* Lamellae: the value of a voxel is its position in the period, 0 <= value < 1:
 *
 *   value = frac(sum over axes k_a (x_a + 1/2) / n_a + u(x) / period)
 *
 * Along each axis the number of periods k_a is whole, so that the box is periodic. The displacement u is a sum of waves
 * of one wavelength and random directions, normalised to the given rms. Phases follow each other in the period. */
#include <math.h>
#include <stdlib.h>

#include "src/base/rng.h"
#include "src/synth/synth_priv.h"

enum { WAVES = 12 };

struct layers {
    const struct mf_synth *what;
    long waves[3];
    double period;
    double scale;          /* of a wave, in periods */
    long ripple[WAVES][3]; /* whole waves along z, y, x */
    double shift[WAVES];
    double *cosine, *sine; /* [WAVES][nx] */
};

static const double turn_of = 2 * 3.14159265358979323846;

int mf_synth_lamella_waves(const struct mf_synth *what, long waves[3], double *period)
{
    double length = 0, k2 = 0;

    if (!(what->period > 0)) return mf_fail(MF_USAGE, "the period must be above 0 voxels, not %g", what->period);
    if (what->period < 2) return mf_fail(MF_USAGE, "a period of %g voxels is too short: 2 or more", what->period);
    if (!(what->waviness >= 0)) return mf_fail(MF_USAGE, "the waviness must be 0 voxels or more");
    if (what->waviness > 0 && !(what->wavelength >= 2))
        return mf_fail(MF_USAGE, "the wavelength must be 2 voxels or more, not %g", what->wavelength);
    if (what->waviness > 0 && what->waviness > what->wavelength)
        return mf_fail(MF_USAGE, "a waviness of %g voxels is more than its wavelength of %g", what->waviness,
                       what->wavelength);
    for (int a = 0; a < 3; ++a) length += what->normal[a] * what->normal[a];
    if (!(length > 0 && length < HUGE_VAL)) return mf_fail(MF_USAGE, "the normal must be a direction, not 0");
    for (int a = 0; a < 3; ++a) {
        double n = (double)what->dims[a], want = n * what->normal[a] / sqrt(length) / what->period;

        waves[a] = what->dims[a] > 1 ? lround(want) : 0;
        k2 += ((double)waves[a] / n) * ((double)waves[a] / n);
    }
    if (!(k2 > 0))
        return mf_fail(MF_USAGE, "no lamella of period %g voxels fits into the extents along its normal", what->period);
    *period = 1 / sqrt(k2);
    return MF_OK;
}

/* Waves of nearly the wavelength asked for, in random directions, whole numbers of them in the box. */
static void ripples(struct layers *l)
{
    const struct mf_synth *what = l->what;

    for (uint64_t w = 0; w < WAVES; ++w) {
        double d[3] = {0}, length = 0;

        for (uint32_t a = 0; a < 3; ++a) {
            d[a] = what->dims[a] > 1 ? mf_random_normal(what->seed, MF_STREAM_WAVE + a, w) : 0;
            length += d[a] * d[a];
        }
        for (int a = 0; a < 3; ++a)
            l->ripple[w][a] = length > 0 ? lround((double)what->dims[a] * d[a] / sqrt(length) / what->wavelength) : 0;
        l->shift[w] = turn_of * mf_random_uniform(what->seed, MF_STREAM_WAVE + 3, w);
    }
    l->scale = what->waviness / l->period * sqrt(2.0 / WAVES);
}

static int layers_new(const struct mf_synth_job *job, struct layers *l)
{
    size_t nx = job->what->dims[2];

    *l = (struct layers){.what = job->what};
    MF_TRY(mf_synth_lamella_waves(job->what, l->waves, &l->period));
    l->cosine = mf_arena_zeros(job->arena, WAVES * nx, sizeof *l->cosine, "synth waves");
    l->sine = mf_arena_zeros(job->arena, WAVES * nx, sizeof *l->sine, "synth waves");
    if (!l->cosine || !l->sine) return MF_MEMORY;
    if (job->what->waviness <= 0) return MF_OK;
    ripples(l);
    for (size_t w = 0; w < WAVES; ++w)
        for (size_t x = 0; x < nx; ++x) {
            double angle = turn_of * (double)l->ripple[w][2] * ((double)x + 0.5) / (double)nx;

            l->cosine[w * nx + x] = cos(angle);
            l->sine[w * nx + x] = sin(angle);
        }
    return MF_OK;
}

/* k (i + 1/2) / n without its whole part, rounded once. */
static double place(long k, size_t i, size_t n)
{
    size_t whole = 2 * n, many = (size_t)labs(k) % whole * (2 * i + 1) % whole;

    return k < 0 ? -(double)many / (double)whole : (double)many / (double)whole;
}

static void add_ripples(const struct layers *l, size_t z, size_t y, double *value)
{
    size_t nz = l->what->dims[0], ny = l->what->dims[1], nx = l->what->dims[2];

    for (size_t w = 0; w < WAVES; ++w) {
        double angle = l->shift[w] + turn_of * (place(l->ripple[w][0], z, nz) + place(l->ripple[w][1], y, ny));
        double c = l->scale * cos(angle), s = l->scale * sin(angle);

        for (size_t x = 0; x < nx; ++x) value[x] += c * l->cosine[w * nx + x] - s * l->sine[w * nx + x];
    }
}

static void layers_plane(const void *self, size_t z, double *value)
{
    const struct layers *l = self;
    const size_t *dims = l->what->dims;

    for (size_t y = 0; y < dims[1]; ++y, value += dims[2]) {
        double base = place(l->waves[0], z, dims[0]) + place(l->waves[1], y, dims[1]);

        for (size_t x = 0; x < dims[2]; ++x) value[x] = base + place(l->waves[2], x, dims[2]);
        if (l->what->waviness > 0) add_ripples(l, z, y, value);
        for (size_t x = 0; x < dims[2]; ++x) {
            value[x] -= floor(value[x]);
            if (value[x] >= 1) value[x] = 0; /* a tiny negative number rounds up to 1 */
        }
    }
}

int mf_synth_lamellae(const struct mf_synth_job *job, struct mf_synth_facts *facts)
{
    struct layers l;
    struct mf_synth_source source = {layers_plane, &l};
    double cuts[MF_PHASES_MAX], below = 0;
    int rc = layers_new(job, &l);

    facts->period = l.period;
    for (int p = 1; p < job->what->phases; ++p) cuts[p - 1] = below += job->what->fraction[p - 1];
    rc = mf_synth_label_either(job, &source, cuts, rc);
    mf_arena_give(job->arena, l.cosine);
    mf_arena_give(job->arena, l.sine);
    return rc;
}
