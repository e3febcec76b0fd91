/* See compare.h: what a comparison says. */
#include <math.h>
#include <stdio.h>

#include "src/desc/distance.h"
#include "src/desc/measure.h"
#include "src/desc/registry.h"
#include "src/show/compare.h"
#include "src/show/side.h"

/* Values of one phase of both, on one side. */
struct both {
    double want, got;
};

static struct both both_of(const struct mf_comparison *c, int side, int phase, int variation)
{
    const struct mf_target_side *want = &c->want->target.side[mf_compare_want_side(c, side)];
    const struct mf_target_side *got = &c->got->target.side[side];

    if (variation && !want->variation) return (struct both){NAN, got->variation[(size_t)phase * got->levels]};
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

/* ---- whole fields ---- */

enum { FIELD_VALUES = 10 };

struct value {
    const char *key, *name;
    double is;
};

static double member(const struct mf_json *of, const char *what, const char *key)
{
    return mf_json_get_real(mf_json_get(of, what), key);
}

/* Values of one phase, those of axes for the ones there are. Returns how many. */
static int field_values(const struct mf_compared *one, int phase, struct value value[FIELD_VALUES])
{
    static const char *const spanning[3][2] = {{"spanning_fraction_z", "share that spans along z"},
                                               {"spanning_fraction_y", "share that spans along y"},
                                               {"spanning_fraction_x", "share that spans along x"}};
    static const char *const chords[3][2] = {{"chord_z", "mean chord along z [pixels]"},
                                             {"chord_y", "mean chord along y [pixels]"},
                                             {"chord_x", "mean chord along x [pixels]"}};
    const size_t *n = one->micro.slab.dims;
    const double voxels = (double)n[0] * (double)n[1] * (double)n[2];
    const struct mf_json *m = mf_json_item(one->measures, (size_t)phase);
    const double number = member(m, "clusters", "number"), own = number * member(m, "clusters", "mean");
    int count = 0;

    value[count++] = (struct value){"surface", "surface by crossings [1/pixel]", member(m, "surface", "crofton")};
    value[count++] = (struct value){"euler_per_pixel", "Euler number per pixel",
                                    (member(m, "euler", "faces") + member(m, "euler", "corners")) / 2 / voxels};
    value[count++] = (struct value){"clusters_per_pixel", "clusters per pixel", number / voxels};
    value[count++] = (struct value){"largest_cluster", "largest cluster's share of the phase",
                                    own > 0 ? member(m, "clusters", "largest") / own : 0};
    for (int axis = one->micro.ndim == 2; axis < 3; ++axis) {
        const struct mf_json *share = mf_json_get(mf_json_get(m, "clusters"), "spanning_fraction");
        const char *name = mf_axis_name(axis);

        value[count++] = (struct value){spanning[axis][0], spanning[axis][1], mf_json_get_real(share, name)};
        value[count++] =
            (struct value){chords[axis][0], chords[axis][1], member(mf_json_get(m, "chords"), name, "mean")};
    }
    return count;
}

int mf_compare_has_field(const struct mf_comparison *c)
{
    return c->want->measures && c->want->micro.ndim == c->got->micro.ndim;
}

/* Do both have it? */
static int has_whole(const struct mf_comparison *c, enum mf_whole which)
{
    return c->want->target.whole[which] && c->got->target.whole[which];
}

/* Over all lags in space; part: a phase, or a pair of them. */
static double whole_rms(const struct mf_comparison *c, enum mf_whole which, size_t part)
{
    const struct mf_target *want = &c->want->target, *got = &c->got->target;

    return mf_whole_rms(which, want->whole[which] + part * mf_whole_entries(which, want->lag), want->lag,
                        got->whole[which] + part * mf_whole_entries(which, got->lag), got->lag);
}

static void part_name(const struct mf_comparison *c, enum mf_whole which, size_t part, char name[64])
{
    const struct mf_micro *m = &c->got->micro;
    size_t a = part, b = part;

    if (which == MF_WHOLE_CROSS) mf_descriptor_pair((size_t)m->phases, part, &a, &b);
    if (a == b)
        snprintf(name, 64, "%ld", m->label[a]);
    else
        snprintf(name, 64, "%ld %ld", m->label[a], m->label[b]);
}

/* ---- JSON ---- */

static void put_both(struct mf_json *at, const char *key, double want, double got)
{
    struct mf_json *one = mf_json_object();

    mf_json_finite(one, "target", want);
    mf_json_finite(one, "result", got);
    mf_json_finite(one, "error", mf_relative_error(got, want));
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
    struct mf_compare_row rows[MF_COMPARE_ROWS];
    struct mf_json *one = mf_json_object(), *errors = mf_json_object(), *phases = mf_json_array();

    mf_json_finite(one, "score", c->off[side].score);
    mf_json_finite(one, "copied", c->copied[side].share);
    if (c->copied[side].edge) mf_json_real(one, "copied_by_chance", mf_copied_by_chance(&c->copied[side]));
    if (c->copied[side].edge) mf_json_int(one, "copied_window", (long long)c->copied[side].edge);
    mf_json_int(one, "slices", (long long)c->got->taken[side]);
    for (int e = 0; e < MF_TEXTURE_ERRORS; ++e)
        mf_json_finite(errors, mf_texture_errors[e].name, c->off[side].error[e]);
    mf_json_finite(errors, "specks_percent", c->off[side].specks);
    mf_json_put(one, "errors", errors);
    for (int p = 0; p < c->got->micro.phases; ++p) mf_json_put(phases, NULL, phase_json(c, side, p));
    MF_JSON(one, "phases", phases, "descriptors", mf_compare_rows_json(mf_compare_more_rows(c, side, rows), rows));
    return one;
}

static struct mf_json *field_json(const struct mf_comparison *c)
{
    struct mf_json *all = mf_json_array();

    for (int p = 0; p < c->got->micro.phases; ++p) {
        struct value want[FIELD_VALUES], got[FIELD_VALUES];
        struct mf_json *one = mf_json_object();
        const int count = field_values(c->want, p, want);

        (void)field_values(c->got, p, got);
        mf_json_int(one, "label", c->got->micro.label[p]);
        for (int i = 0; i < count; ++i) put_both(one, want[i].key, want[i].is, got[i].is);
        mf_json_put(all, NULL, one);
    }
    return all;
}

static void put_whole(struct mf_json *at, const char *key, const struct mf_comparison *c, enum mf_whole which)
{
    const size_t parts = mf_whole_parts(which, (size_t)c->got->micro.phases);
    struct mf_json *all;
    char name[64];

    if (!has_whole(c, which)) return;
    all = mf_json_object();
    for (size_t part = 0; part < parts; ++part) {
        part_name(c, which, part, name);
        mf_json_real(all, name, whole_rms(c, which, part));
    }
    mf_json_put(at, key, all);
}

static int conducts(const struct mf_comparison *c, int axis)
{
    return isfinite(c->want->conductivity[axis]) && isfinite(c->got->conductivity[axis]);
}

static void put_conductivity(struct mf_json *all, const struct mf_comparison *c)
{
    struct mf_json *json = mf_json_object();

    for (int a = 0; a < 3; ++a) {
        const double want = c->want->conductivity[a], got = c->got->conductivity[a];
        struct mf_json *one;

        if (!conducts(c, a)) continue;
        mf_json_put(json, mf_axis_name(a), one = mf_json_object());
        MF_JSON(one, "target", want, "result", got);
        mf_json_finite(one, "error", mf_relative_error(got, want));
    }
    mf_json_put(all, "conductivity", json);
}

struct mf_json *mf_compare_json(const struct mf_comparison *c)
{
    struct mf_compare_row rows[MF_COMPARE_ROWS];
    struct mf_json *all = mf_json_object(), *sides = mf_json_object();

    mf_json_text(all, "result", c->got->file);
    mf_micro_shape(c->got->micro.slab.dims, all);
    mf_json_int(all, "lag", (long long)lag_of(c));
    mf_json_finite(all, "score", c->score);
    mf_json_finite(all, "copied", c->copy);
    for (int d = 0; d < c->sides; ++d)
        mf_json_put(sides, mf_side_name(&c->got->target, c->got->micro.ndim, d), side_json(c, d));
    mf_json_put(all, "directions", sides);
    if (mf_compare_has_field(c)) mf_json_put(all, "field", field_json(c));
    if (mf_compare_has_field(c))
        mf_json_put(all, "measures", mf_compare_rows_json(mf_compare_measure_rows(c, rows), rows));
    if (mf_compare_has_field(c) && (conducts(c, 1) || conducts(c, 2))) put_conductivity(all, c);
    put_whole(all, "s2_3d_rms", c, MF_WHOLE_S2);
    put_whole(all, "cross_s2_3d_rms", c, MF_WHOLE_CROSS);
    return all;
}

/* ---- text ---- */

/* "0.163", or a dash where slices are too small to say, or nothing is known of them. */
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

static void head(FILE *to, const struct mf_comparison *c, int phase)
{
    fprintf(to, "  label %-49ld target       result    error\n", c->got->micro.label[phase]);
}

static const char *const names[MF_TEXTURE_VALUES] = {
    "mean chord along x [pixels]",   "mean chord along y",
    "mean chord along one diagonal", "mean chord along the other",
    "lineal path, 5 pixels",         "lineal path, 10 pixels",
    "lineal path, 15 pixels",        "Euler number per 1000 pixels",
    "components per 1000 pixels",    "two-point cluster function, 10 pixels",
    "specks per 1000 pixels"};

static void phase_text(FILE *to, const struct mf_comparison *c, int side, int phase)
{
    struct both fraction = both_of(c, side, phase, 0), variation = both_of(c, side, phase, 1);
    double want[MF_TEXTURE_VALUES], got[MF_TEXTURE_VALUES];

    texture_of(c, side, phase, want, got);
    head(to, c, phase);
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
    char text[16], more[16];

    if (c->sides > 1)
        fprintf(to, " slices normal to %s (the seven: %zu of them, %zu of the target's): score %s, copied %s\n",
                mf_side_name(&c->got->target, 3, side), c->got->taken[side],
                c->want->taken[mf_compare_want_side(c, side)], number(text, off->score),
                number(more, c->copied[side].share));
    if (c->copied[side].edge > MF_COPY_LEAST)
        fprintf(to, "  copied: windows of %zu x %zu pixels\n", c->copied[side].edge, c->copied[side].edge);
    if (c->copied[side].common > MF_COPY_CHANCE)
        fprintf(to, "  copied: about %.3f agrees by chance, as the target has few features\n",
                mf_copied_by_chance(&c->copied[side]));
    for (int p = 0; p < c->got->micro.phases; ++p) phase_text(to, c, side, p);
    mf_compare_more_text(to, c, side);
    fprintf(to, "  errors of the score\n");
    for (int e = 0; e < MF_TEXTURE_ERRORS; ++e)
        fprintf(to, "    %-68s %8s\n", mf_texture_errors[e].summary, number(text, off->error[e]));
    fprintf(to, "    %-68s %8s\n", "specks [percent of pixels]", number(text, off->specks));
}

static void field_text(FILE *to, const struct mf_comparison *c)
{
    fprintf(to, " whole fields\n");
    for (int p = 0; p < c->got->micro.phases; ++p) {
        struct value want[FIELD_VALUES], got[FIELD_VALUES];
        const int count = field_values(c->want, p, want);

        (void)field_values(c->got, p, got);
        head(to, c, p);
        for (int i = 0; i < count; ++i) row(to, want[i].name, want[i].is, got[i].is);
    }
}

static void whole_text(FILE *to, const struct mf_comparison *c, enum mf_whole which)
{
    const size_t parts = mf_whole_parts(which, (size_t)c->got->micro.phases);
    char name[64];

    for (size_t part = 0; has_whole(c, which) && part < parts; ++part) {
        part_name(c, which, part, name);
        fprintf(to, "  label%s %-7s %s in space, lags below %-8zu rms %10.2e\n", which == MF_WHOLE_S2 ? " " : "s", name,
                which == MF_WHOLE_S2 ? "     S2" : "cross S2", lag_of(c), whole_rms(c, which, part));
    }
}

/* ---- errors of the picture ---- */

size_t mf_compare_side_errors(const struct mf_comparison *c, int side, struct mf_compare_error *errors)
{
    for (int p = 0; p < c->got->micro.phases; ++p) {
        const struct both fraction = both_of(c, side, p, 0), variation = both_of(c, side, p, 1);
        double want[MF_TEXTURE_VALUES], got[MF_TEXTURE_VALUES];

        texture_of(c, side, p, want, got);
        errors[0].name = "volume fraction";
        errors[0].of[p] = mf_relative_error(fraction.got, fraction.want);
        errors[1].name = "Variation";
        errors[1].of[p] = mf_relative_error(variation.got, variation.want);
        for (int i = 0; i < MF_TEXTURE_VALUES; ++i) {
            errors[2 + i].name = names[i];
            errors[2 + i].of[p] = mf_relative_error(got[i], want[i]);
        }
    }
    return 2 + MF_TEXTURE_VALUES;
}

size_t mf_compare_field_errors(const struct mf_comparison *c, struct mf_compare_error *errors)
{
    size_t count = 0;

    for (int p = 0; mf_compare_has_field(c) && p < c->got->micro.phases; ++p) {
        struct value want[FIELD_VALUES], got[FIELD_VALUES];

        count = (size_t)field_values(c->want, p, want);
        (void)field_values(c->got, p, got);
        for (size_t i = 0; i < count; ++i) {
            errors[i].name = want[i].name;
            errors[i].of[p] = mf_relative_error(got[i].is, want[i].is);
        }
    }
    return count;
}

/* The first error that cannot be told, or NULL. */
static const char *untold(const struct mf_comparison *c)
{
    for (int d = 0; d < c->sides; ++d)
        for (int e = 0; e < MF_TEXTURE_ERRORS; ++e)
            if (!isfinite(c->off[d].error[e])) return mf_texture_errors[e].summary;
    return NULL;
}

static void reasons_text(FILE *to, const struct mf_comparison *c)
{
    if (untold(c)) fprintf(to, " no score: slices are too small, or unknown, for the %s\n", untold(c));
    if (!isfinite(c->copy)) fprintf(to, " copies are not counted: the target holds no labelled slice\n");
}

void mf_compare_text(FILE *to, const struct mf_comparison *c)
{
    char text[16], more[16];

    fprintf(to, "%s against %s: score %s, copied %s (%s)\n", c->got->file, c->want->file, number(text, c->score),
            number(more, c->copy), c->periodic ? "across borders" : "not across borders; --periodic goes across");
    reasons_text(to, c);
    for (int d = 0; d < c->sides; ++d) side_text(to, c, d);
    if (mf_compare_has_field(c)) field_text(to, c);
    for (int a = 0; mf_compare_has_field(c) && a < 3; ++a)
        if (conducts(c, a))
            fprintf(to, "  conductivity along %s: %.6g, target %.6g\n", mf_axis_name(a), c->got->conductivity[a],
                    c->want->conductivity[a]);
    mf_compare_measures_text(to, c);
    for (int k = 0; k < MF_WHOLE_SPANS; ++k) whole_text(to, c, (enum mf_whole)k);
}
