/* See masked.h. */
#include "src/desc/masked.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/desc/mean.h"
#include "src/desc/registry.h"

int mf_mask_known(size_t count, const char *const *names)
{
    for (size_t i = 0; i < count; ++i) {
        const struct mf_descriptor *row;

        MF_TRY(mf_descriptor_find(&row, names[i]));
        if (row->kind != MF_S2 && row->kind != MF_VARIATION && row->kind != MF_FRACTION && row->kind != MF_CROSS &&
            !mf_descriptor_is(row, MF_IN_SPACE))
            return mf_fail(MF_USAGE,
                           "--mask: %s has no masked form; try: FFTCorrelations, Variation, VolumeFractions, "
                           "FFTCrossCorrelations, S2_3D, CrossS2_3D",
                           row->name);
    }
    return MF_OK;
}

/* -- before -- */

int mf_mask_apply(struct mf_micro *micro)
{
    uint8_t *mask = micro->mask->phase;

    if (micro->grey) return mf_fail(MF_INPUT, "--mask is for labelled fields; give --threshold or --labels");
    if (micro->phases == MF_PHASES_MAX)
        return mf_fail(MF_USAGE, "--mask: at most %d phases are possible beside it", MF_PHASES_MAX - 1);
    for (size_t i = 0; i < mf_slab_voxels(&micro->slab); ++i) {
        if (mask[i]) micro->phase[i] = (uint8_t)micro->phases;
        mask[i] = !mask[i];
    }
    micro->label[micro->phases] = -1;
    ++micro->phases;
    return MF_OK;
}

struct mf_characterize_opts mf_mask_opts(const struct mf_characterize_opts *opts)
{
    struct mf_characterize_opts o = *opts;

    o.masked = 1;
    o.levels = 1;
    o.cross = 1; /* of which jumps are counted */
    o.isotropic = o.singlephase = o.example = 0;
    o.more = 0;
    o.path = NULL;
    if (o.whole) o.whole |= 1u << MF_WHOLE_S2; /* of counted voxels: the numbers of pairs */
    return o;
}

/* -- after -- */

struct division {
    const struct mf_target *all;
    struct mf_target *out;
    size_t lag, width, window;
    int first, phases; /* of the field: those that are wanted, and all that count */
};

static size_t pair_of(size_t a, size_t b, size_t n) { return a * n - a * (a + 1) / 2 + (b - a - 1); }

/* Cross-correlation of two phases of the field, at all lags. *turned: it is that of b, a, so a lag is at its
 * opposite. */
static const double *cross_of(const struct division *d, const struct mf_target_side *from, size_t a, size_t b,
                              int *turned)
{
    const size_t n = (size_t)d->all->phases;

    *turned = a > b;
    return from->cross + (*turned ? pair_of(b, a, n) : pair_of(a, b, n)) * d->window;
}

/* Jumps of phase p over pairs one apart along an axis, at @p at of the window, per pair. They go into each other phase,
 * and out of it. */
static double jumps(const struct division *d, const struct mf_target_side *from, const double *counted, size_t p,
                    size_t at)
{
    double sum = 0;

    for (size_t q = 0; q < (size_t)d->phases; ++q) {
        const double *c;
        int turned;

        if (q == p) continue;
        c = cross_of(d, from, p, q, &turned);
        sum += c[at] + c[d->window - 1 - at];
    }
    return sum / counted[at];
}

/* -- numbers of pairs -- */

/* S2_3D, and large windows, come from Fourier transforms in floats, which leave up to NOISE at a lag without pairs. The
 * number of pairs is an integer, or for a mean over orientations an integer over their number. */
static const double NOISE = 1e-7, TOO_FEW = 1e-6;
enum { ORIENTATIONS = 8 }; /* of an image; those of a rectangle divide it */

static int can_settle(double all) { return all * NOISE < 0.5; }

static size_t span(long lag) { return (size_t)(lag < 0 ? -lag : lag); }

/* Pairs of voxels at @p at of a window of slices, or of space, counted or not. */
static double pairs(const struct mf_target *t, int side, size_t at)
{
    const struct mf_target_side *s = &t->side[side];
    const size_t width = 2 * t->lag - 1, v = span((long)(at % width) - (long)t->lag + 1);
    const size_t u = span((long)(at / width % width) - (long)t->lag + 1), d = at / (width * width);

    if (t->periodic) return (double)s->slices * (double)s->nu * (double)s->nv;
    return (double)(s->slices - d) * (double)(s->nu - u) * (double)(s->nv - v);
}

/* A share of pairs, to what a whole number of them makes. */
static void settle_one(double all, double *share)
{
    if (can_settle(all)) *share = round(*share * all) / all;
}

/* @p parts of @p n shares each. */
static void settle(const struct mf_target *t, int side, size_t orientations, size_t parts, size_t n, double *share)
{
    for (size_t i = 0; share && i < parts * n; ++i) settle_one(pairs(t, side, i % n) * (double)orientations, &share[i]);
}

/* Where a lag of CrossS2_3D, or its mirror image, stands among those of S2_3D. */
static size_t in_half(size_t at, size_t lag)
{
    const size_t half = mf_whole_entries(MF_WHOLE_S2, lag), below = mf_whole_entries(MF_WHOLE_CROSS, lag) - half;

    return at < below ? half - 1 - at : at - below;
}

static void settle_cross_space(struct mf_target *t)
{
    const size_t n = mf_whole_entries(MF_WHOLE_CROSS, t->lag);
    double *share = t->whole[MF_WHOLE_CROSS];

    for (size_t i = 0; share && i < n * mf_whole_parts(MF_WHOLE_CROSS, (size_t)t->phases); ++i)
        settle_one(pairs(t, 0, in_half(i % n, t->lag)), &share[i]);
}

static void settle_all(struct mf_target *t, int symmetric)
{
    const size_t n = (size_t)t->phases, window = (2 * t->lag - 1) * (2 * t->lag - 1);
    const size_t orientations = symmetric ? ORIENTATIONS : 1;

    for (int s = 0; s < t->sides; ++s) {
        settle(t, s, orientations, n, window, t->side[s].s2);
        settle(t, s, orientations, n * (n - 1) / 2, window, t->side[s].cross);
    }
    settle(t, 0, orientations, n, t->lag * window, t->whole[MF_WHOLE_S2]);
    settle_cross_space(t);
}

/* Is this share of counted pairs none, or not to be told from none? */
static int is_none(const struct mf_target *t, int side, size_t at, double share)
{
    return !(share > 0) || (!can_settle(pairs(t, side, at) * ORIENTATIONS) && share < TOO_FEW);
}

static int check_pairs(const struct division *d, const double *counted, int side)
{
    for (size_t i = 0; i < d->window; ++i)
        if (is_none(d->all, side, i, counted[i]))
            return mf_fail(MF_USAGE,
                           "no two voxels that count are (%ld, %ld) apart in slices normal to %c; try: a smaller "
                           "--limit_to",
                           (long)(i / d->width) - (long)d->lag + 1, (long)(i % d->width) - (long)d->lag + 1,
                           "zyx"[side]);
    return MF_OK;
}

static void divide(double *to, const double *from, const double *by, size_t n)
{
    for (size_t i = 0; i < n; ++i) to[i] = from[i] / by[i];
}

static void divide_cross(const struct division *d, const struct mf_target_side *from, const double *counted,
                         struct mf_target_side *to)
{
    const size_t n = (size_t)d->out->phases;

    for (size_t a = 0; to->cross && a < n; ++a)
        for (size_t b = a + 1; b < n; ++b)
            divide(to->cross + pair_of(a, b, n) * d->window,
                   from->cross + pair_of(a, b, (size_t)d->all->phases) * d->window, counted, d->window);
}

static int divide_side(const struct division *d, const struct mf_target *counted, int side, int cross)
{
    const struct mf_target_side *from = &d->all->side[side];
    const double *by = counted->side[side].s2 + d->window; /* of phase 1 */
    const size_t centre = d->window / 2;
    struct mf_target_side *to = &d->out->side[side];

    MF_TRY(check_pairs(d, by, side));
    MF_TRY(mf_target_side_new(to, d->out->phases, 1, d->lag, cross));
    to->nu = from->nu;
    to->nv = from->nv;
    to->slices = from->slices;
    for (int k = 0; k < d->out->phases; ++k) {
        const size_t p = (size_t)d->first + (size_t)k;

        divide(to->s2 + (size_t)k * d->window, from->s2 + p * d->window, by, d->window);
        to->fraction[k] = from->fraction[p] / counted->side[side].fraction[1];
        to->variation[k] = jumps(d, from, by, p, centre + d->width) + jumps(d, from, by, p, centre + 1);
    }
    divide_cross(d, from, by, to);
    return MF_OK;
}

/* @p by: numbers of pairs at lags d >= 0, whose mirror images have as many. */
static int divide_cross_space(const struct division *d, const double *by)
{
    const size_t n = mf_whole_entries(MF_WHOLE_CROSS, d->lag), phases = (size_t)d->out->phases;

    MF_TRY(mf_target_whole_new(d->out, MF_WHOLE_CROSS));
    for (size_t a = 0; a < phases; ++a)
        for (size_t b = a + 1; b < phases; ++b) {
            const double *from = d->all->whole[MF_WHOLE_CROSS] + pair_of(a, b, (size_t)d->all->phases) * n;
            double *to = d->out->whole[MF_WHOLE_CROSS] + pair_of(a, b, phases) * n;

            for (size_t i = 0; i < n; ++i) to[i] = from[i] / by[in_half(i, d->lag)];
        }
    return MF_OK;
}

/* @p wanted: bits 1 << enum mf_whole. */
static int divide_space(const struct division *d, const struct mf_target *counted, unsigned wanted)
{
    const size_t n = d->lag * d->window;
    const double *by = counted->whole[MF_WHOLE_S2] + n;
    for (size_t i = 0; i < n; ++i)
        if (is_none(d->all, 0, i, by[i]))
            return mf_fail(MF_USAGE,
                           "no two voxels that count are (%zu, %ld, %ld) apart, a lag of S2_3D; try: a smaller "
                           "--limit_to",
                           i / d->window, (long)(i / d->width % d->width) - (long)d->lag + 1,
                           (long)(i % d->width) - (long)d->lag + 1);
    if (wanted >> MF_WHOLE_CROSS & 1) MF_TRY(divide_cross_space(d, by));
    if (!(wanted >> MF_WHOLE_S2 & 1)) return MF_OK;
    MF_TRY(mf_target_whole_new(d->out, MF_WHOLE_S2));
    for (int k = 0; k < d->out->phases; ++k)
        divide(d->out->whole[MF_WHOLE_S2] + (size_t)k * n,
               d->all->whole[MF_WHOLE_S2] + ((size_t)d->first + (size_t)k) * n, by, n);
    return MF_OK;
}

static int divide_all(const struct division *d, const struct mf_target *counted,
                      const struct mf_characterize_opts *opts)
{
    for (int s = 0; s < d->out->sides; ++s) MF_TRY(divide_side(d, counted, s, opts->cross && d->out->phases > 1));
    if (opts->whole) MF_TRY(divide_space(d, counted, opts->whole));
    return opts->isotropic && d->out->sides == 3 ? mf_target_isotropic(d->out) : MF_OK;
}

int mf_mask_divide(struct mf_target *all, struct mf_target *counted, const struct mf_characterize_opts *opts,
                   struct mf_target *out)
{
    struct mf_target t = *all;
    struct division d = {.all = all, .out = &t, .lag = all->lag, .width = 2 * all->lag - 1, .phases = all->phases - 1};
    int rc;

    d.window = d.width * d.width;
    d.first = opts->singlephase && d.phases > 1;
    t.masked = 1;
    t.phases = opts->singlephase ? 1 : d.phases;
    memset(t.whole, 0, sizeof t.whole);
    memset(t.side, 0, sizeof t.side);
    for (int p = 0; p < t.phases; ++p) t.label[p] = all->label[d.first + p];
    if (all->lag < 2) return mf_fail(MF_USAGE, "--mask needs --limit_to 2 or more: neighbours are a lag of 1 apart");
    settle_all(all, opts->symmetry != 0);
    settle_all(counted, opts->symmetry != 0);
    rc = divide_all(&d, counted, opts);
    if (rc == MF_OK)
        *out = t;
    else
        mf_target_free(&t);
    return rc;
}
