/* See mix.h. */
#include "src/synth/mix.h"

#include <math.h>
#include <string.h>

#include "src/base/order.h"
#include "src/base/rng.h"
#include "src/synth/synth_priv.h"

static const double pi = 3.14159265358979323846;

/* Draws for a sample: a stream each, from MF_STREAM_SET on. */
enum { SEED, FRACTION, LENGTH, SHIFT, NORMAL = SHIFT + 3 };

static double smallest(const size_t dims[3])
{
    double n = HUGE_VAL;

    for (int a = 0; a < 3; ++a)
        if (dims[a] > 1) n = fmin(n, (double)dims[a]);
    return n;
}

void mf_synth_mix_lengths(const size_t dims[3], double length[2])
{
    length[0] = fmax(3, smallest(dims) / 20);
    length[1] = fmax(4, smallest(dims) / 10);
}

/* The radius of objects that may overlap (a Boolean model). The surface per volume is (1 - f) log(1 / (1 - f)) times
 * the surface of an object over its volume. */
static double overlapping(double f, double met, double surface) { return (1 - f) * log(1 / (1 - f)) * surface / met; }

/* Sets the size of the kind's structure so that lines meet @p met interfaces per voxel. For isotropic
 * interfaces that is 2 / pi of their length per area, or half their area per volume. */
static void size_kind(struct mf_synth *w, double f, double l, double met)
{
    const int space = mf_synth_axes(w) == 3;
    const double cut = space ? 0.5 : 2 / pi, most = smallest(w->dims), level = mf_synth_quantile(f);
    double along = 0, norm = 0;

    switch (w->kind) {
    case MF_SYNTH_GAUSSIAN:
        for (int a = 0; a < 3; ++a) w->length[a] = fmin(exp(-level * level / 2) / (pi * met), most / 2);
        break;
    case MF_SYNTH_SPHERES: w->radius = overlapping(f, met, space ? 3 * cut : 2 * cut); break;
    case MF_SYNTH_HARD_SPHERES: w->radius = f * (space ? 3 : 2) * cut / met; break;
    case MF_SYNTH_FIBRES: /* capsules of a straight part of six radii */
        w->radius = overlapping(f, met, cut * (space ? 16 / (4. / 3 + 6) : (2 * pi + 12) / (pi + 12)));
        w->stick = fmin(6 * w->radius, most - 2 * fmin(w->radius, most / 4));
        break;
    case MF_SYNTH_CRACKS:
        w->stick = 0.6 * most;
        for (int i = 0; i < 4; ++i) { /* both faces, and the round edge, which grows with the radius */
            const double edge = pi * w->radius * (space ? w->stick * (1 + pi / 2) / 2 : 1);
            const double face = 2 * w->stick * (space ? w->stick * (0.25 + pi / 16) : 1);

            w->radius = overlapping(f, met, cut * (1 + edge / (face + edge)));
        }
        break;
    case MF_SYNTH_VORONOI: /* edges 2 / g, or faces 2.91 / g, of grains of size g; 2 f (1 - f) part two phases */
        w->grains = 2 + (size_t)(mf_synth_box(w) / pow(l * cut * (space ? 2.91 : 2), mf_synth_axes(w)));
        break;
    case MF_SYNTH_LAMELLAE:
        for (int a = 0; a < 3; ++a) {
            along += fabs(w->normal[a]) / mf_synth_axes(w);
            norm += w->normal[a] * w->normal[a];
        }
        w->period = fmin(2 * along / sqrt(norm) / met, most);
        break;
    case MF_SYNTH_CHECKERBOARD: /* blocks of 2 f (or (2 f)^(2/3)) of the cell's cross-section */
        for (int a = 0; a < 3; ++a) w->cell[a] = fmin((space ? cbrt(4 * f * f) : sqrt(2 * f)) / met, most / 2);
    }
    w->radius = fmin(w->radius, most / 4);
}

/* A sample of that kind, fraction and length. */
static struct mf_synth make(const struct mf_synth_mix *mix, enum mf_synth_kind kind, double f, double l,
                            const double normal[3])
{
    struct mf_synth w = {.kind = kind, .ndim = mix->ndim, .phases = 2, .fraction = {1 - f, f}, .exact = 1};

    memcpy(w.dims, mix->dims, sizeof w.dims);
    memcpy(w.normal, normal, sizeof w.normal);
    w.lie = MF_LIE_RANDOM;
    w.wavelength = 1;
    size_kind(&w, f, l, 2 * f * (1 - f) / l);
    return w;
}

int mf_synth_mix_check(const struct mf_synth_mix *mix)
{
    static const double normal[3] = {1, 1, 1};

    for (int a = 3 - mix->ndim; a < 3; ++a)
        if (mix->dims[a] < 8)
            return mf_fail(MF_USAGE, "samples need 8 voxels or more along every axis, not %zu", mix->dims[a]);
    if (!(mix->fraction[0] > 0 && mix->fraction[0] <= mix->fraction[1] && mix->fraction[1] < 0.5))
        return mf_fail(MF_USAGE, "--fraction-range must be two rising numbers above 0 and below 0.5, not %g %g",
                       mix->fraction[0], mix->fraction[1]);
    if (!(mix->length[0] >= 1 && mix->length[0] <= mix->length[1] && mix->length[1] < HUGE_VAL))
        return mf_fail(MF_USAGE, "--length-range must be two rising numbers of 1 voxel or more, not %g %g",
                       mix->length[0], mix->length[1]);
    for (size_t k = 0; k < mix->kinds; ++k)
        for (int end = 0; end < 4; ++end) {
            const struct mf_synth w = make(mix, mix->kind[k], mix->fraction[end / 2], mix->length[end % 2], normal);

            MF_TRY(mf_synth_check(&w));
        }
    return MF_OK;
}

static double draw(const struct mf_synth_mix *mix, uint32_t what, uint64_t i)
{
    return mf_random_uniform(mix->seed, MF_STREAM_SET + what, i);
}

/* One of two samples of a kind that follow each other. */
static int is_changed(const struct mf_synth_mix *mix, uint64_t block, size_t kind)
{
    uint32_t random[4];

    mf_random4(mix->seed, MF_STREAM_VQA + 2, block / 2 * mix->kinds + kind, random);
    return (int)((random[0] ^ block) & 1);
}

/* Makes one of two Gaussian fields of an image longer along one axis than along the other, 2 to 3 times. Lines along
 * the axes meet as many interfaces as before on average: 1 / l = (1 / ly + 1 / lx) / 2. */
static void stretch(const struct mf_synth_mix *mix, uint64_t i, struct mf_synth *w)
{
    const double u = mf_random_uniform(mix->seed, MF_STREAM_VQA + 3, i), l = w->length[2];
    const int along = u < 0.25 ? 1 : 2;
    const double ratio = 2 + 4 * (along == 1 ? u : u - 0.75);

    if (u >= 0.25 && u < 0.75) return;
    w->length[along] = fmin(l * (1 + ratio) / 2, (double)w->dims[along] / 2);
    w->length[3 - along] = l * (1 + ratio) / (2 * ratio);
}

void mf_synth_draw(const struct mf_synth_mix *mix, uint64_t i, struct mf_synth_drawn *drawn)
{
    const double f = mix->fraction[0] + (mix->fraction[1] - mix->fraction[0]) * draw(mix, FRACTION, i);
    double normal[3] = {0};
    uint32_t seed[4];

    drawn->changed = 0;
    drawn->kind = (size_t)mf_order(mix->seed, i / mix->kinds, mix->kinds, i % mix->kinds);
    drawn->length = mix->length[0] * pow(mix->length[1] / mix->length[0], draw(mix, LENGTH, i));
    for (uint32_t a = 0; a < 3; ++a) {
        drawn->shift[a] = (size_t)(draw(mix, SHIFT + a, i) * (double)mix->dims[a]);
        if (mix->dims[a] > 1) normal[a] = mf_random_normal(mix->seed, MF_STREAM_SET + NORMAL + a, i);
    }
    if (mix->varied) drawn->changed = is_changed(mix, i / mix->kinds, drawn->kind);
    drawn->what = make(mix, mix->kind[drawn->kind], f, drawn->length, normal);
    if (mix->varied && drawn->what.kind == MF_SYNTH_GAUSSIAN) stretch(mix, i, &drawn->what);
    mf_random4(mix->seed, MF_STREAM_SET + SEED, i, seed);
    drawn->what.seed = (uint64_t)seed[0] << 32 | seed[1];
}
