/* See compare.h: what a comparison says. */
#include <math.h>
#include <stdio.h>

#include "src/cmd/compare.h"
#include "src/cmd/describe.h"
#include "src/cmd/recon_plan.h"

/* Values of one phase of both, on one side. */
struct both {
    double want, got;
};

static struct both both_of(const struct mf_comparison *c, int side, int phase, int variation)
{
    const struct mf_target_side *want = &c->want->target.side[mf_compare_want_side(c, side)];
    const struct mf_target_side *got = &c->got->target.side[side];

    if (variation)
        return (struct both){want->variation[(size_t)phase * want->levels],
                             got->variation[(size_t)phase * got->levels]};
    return (struct both){want->fraction[(size_t)phase * want->levels], got->fraction[(size_t)phase * got->levels]};
}

static double s2_rms(const struct mf_comparison *c, int side, int phase)
{
    const struct mf_target *want = &c->want->target, *got = &c->got->target;
    const struct mf_target_side *a = &want->side[mf_compare_want_side(c, side)], *b = &got->side[side];
    const size_t u = 2 * want->lag - 1, v = 2 * got->lag - 1;

    return mf_window_rms(a->s2 + (size_t)phase * a->levels * u * u, want->lag,
                         b->s2 + (size_t)phase * b->levels * v * v, got->lag);
}

static size_t lag_of(const struct mf_comparison *c)
{
    return c->want->target.lag < c->got->target.lag ? c->want->target.lag : c->got->target.lag;
}

static void texture_of(const struct mf_comparison *c, int side, int phase, double want[MF_TEXTURE_VALUES],
                       double got[MF_TEXTURE_VALUES])
{
    mf_texture_values(&c->want->texture[mf_compare_want_side(c, side)][phase], want);
    mf_texture_values(&c->got->texture[side][phase], got);
}

/* ---- JSON ---- */

static void put_real(struct mf_json *at, const char *key, double value)
{
    if (isfinite(value))
        mf_json_real(at, key, value);
    else
        mf_json_null(at, key);
}

static void put_both(struct mf_json *at, const char *key, double want, double got)
{
    struct mf_json *one = mf_json_object();

    put_real(one, "target", want);
    put_real(one, "result", got);
    put_real(one, "error", mf_relative_error(got, want));
    mf_json_put(at, key, one);
}

static struct mf_json *phase_json(const struct mf_comparison *c, int side, int phase)
{
    struct mf_json *one = mf_json_object();
    struct both fraction = both_of(c, side, phase, 0), variation = both_of(c, side, phase, 1);
    double want[MF_TEXTURE_VALUES], got[MF_TEXTURE_VALUES];

    texture_of(c, side, phase, want, got);
    mf_json_int(one, "label", c->got->micro.label[phase]);
    put_both(one, "volume_fraction", fraction.want, fraction.got);
    put_both(one, "variation", variation.want, variation.got);
    mf_json_real(one, "s2_rms", s2_rms(c, side, phase));
    for (int i = 0; i < MF_TEXTURE_VALUES; ++i) put_both(one, mf_texture_names[i], want[i], got[i]);
    return one;
}

static struct mf_json *side_json(const struct mf_comparison *c, int side)
{
    struct mf_json *one = mf_json_object(), *errors = mf_json_object(), *phases = mf_json_array();

    put_real(one, "score", c->off[side].score);
    mf_json_real(one, "copied", c->copied[side]);
    mf_json_int(one, "slices", (long long)c->got->taken[side]);
    for (int e = 0; e < MF_TEXTURE_ERRORS; ++e) put_real(errors, mf_texture_errors[e].name, c->off[side].error[e]);
    mf_json_real(errors, "specks_percent", c->off[side].specks);
    mf_json_put(one, "errors", errors);
    for (int p = 0; p < c->got->micro.phases; ++p) mf_json_put(phases, NULL, phase_json(c, side, p));
    mf_json_put(one, "phases", phases);
    return one;
}

struct mf_json *mf_compare_json(const struct mf_comparison *c)
{
    struct mf_json *all = mf_json_object(), *sides = mf_json_object();

    mf_json_text(all, "result", c->got->file);
    mf_recon_shape(c->got->micro.slab.dims, all);
    mf_json_int(all, "lag", (long long)lag_of(c));
    put_real(all, "score", c->score);
    mf_json_real(all, "copied", c->copy);
    for (int d = 0; d < c->sides; ++d)
        mf_json_put(sides, mf_side_name(&c->got->target, c->got->micro.ndim, d), side_json(c, d));
    mf_json_put(all, "directions", sides);
    return all;
}

/* ---- text ---- */

/* "0.163", or a dash where slices are too small to say. */
static const char *number(char text[16], double value)
{
    if (isfinite(value))
        snprintf(text, 16, "%.3f", value);
    else
        snprintf(text, 16, "-");
    return text;
}

static void row(FILE *to, const char *name, double want, double got)
{
    const double error = mf_relative_error(got, want);

    if (isfinite(error)) fprintf(to, "    %-42s %12.6g %12.6g %8.3f\n", name, want, got, error);
}

static void phase_text(FILE *to, const struct mf_comparison *c, int side, int phase)
{
    static const char *const names[MF_TEXTURE_VALUES] = {
        "mean chord along x [pixels]",   "mean chord along y",
        "mean chord along one diagonal", "mean chord along the other",
        "lineal path, 5 pixels",         "lineal path, 10 pixels",
        "lineal path, 15 pixels",        "Euler number per 1000 pixels",
        "components per 1000 pixels",    "two-point cluster function, 10 pixels",
        "specks per 1000 pixels"};
    struct both fraction = both_of(c, side, phase, 0), variation = both_of(c, side, phase, 1);
    double want[MF_TEXTURE_VALUES], got[MF_TEXTURE_VALUES];

    texture_of(c, side, phase, want, got);
    fprintf(to, "  label %ld%*starget       result    error\n", c->got->micro.label[phase], 44, "");
    row(to, "volume fraction", fraction.want, fraction.got);
    row(to, "Variation", variation.want, variation.got);
    fprintf(to, "    S2, lags below %-46zu rms %10.2e\n", lag_of(c), s2_rms(c, side, phase));
    for (int i = 0; i < MF_TEXTURE_VALUES; ++i) {
        const int dense = i == MF_TEXTURE_EULER || i == MF_TEXTURE_COMPONENTS || i == MF_TEXTURE_SPECKS;

        row(to, names[i], (dense ? 1000 : 1) * want[i], (dense ? 1000 : 1) * got[i]);
    }
}

static void side_text(FILE *to, const struct mf_comparison *c, int side)
{
    const struct mf_texture_off *off = &c->off[side];
    char text[16];

    if (c->sides > 1)
        fprintf(to, " slices normal to %s (the seven: %zu of them): score %s, copied %.1f %%\n",
                mf_side_name(&c->got->target, 3, side), c->got->taken[side], number(text, off->score),
                100 * c->copied[side]);
    for (int p = 0; p < c->got->micro.phases; ++p) phase_text(to, c, side, p);
    fprintf(to, "  errors of the score\n");
    for (int e = 0; e < MF_TEXTURE_ERRORS; ++e)
        fprintf(to, "    %-68s %8s\n", mf_texture_errors[e].summary, number(text, off->error[e]));
    fprintf(to, "    %-68s %8s\n", "specks [percent of pixels]", number(text, off->specks));
}

void mf_compare_text(FILE *to, const struct mf_comparison *c)
{
    char text[16];

    fprintf(to, "%s against %s: score %s, copied %.1f %%\n", c->got->file, c->want->file, number(text, c->score),
            100 * c->copy);
    for (int d = 0; d < c->sides; ++d) side_text(to, c, d);
}
