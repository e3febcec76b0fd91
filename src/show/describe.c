/* See describe.h. */
#include "src/show/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/plot.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/show/panels.h"
#include "src/show/side.h"

enum { ENTRIES_SHOWN = 4096, DIRECTIONS = 4, AXES = 3 };

static const char *const axis_names[AXES] = {"z", "y", "x"};

static const double *s2_of(const struct mf_target_side *side, size_t lag, int phase)
{
    return side->s2 + (size_t)phase * side->levels * (2 * lag - 1) * (2 * lag - 1);
}

void mf_side_curves(const struct mf_target_side *side, size_t lag, int phase, double *const curve[3])
{
    size_t width = 2 * lag - 1;
    const double *s2 = s2_of(side, lag, phase);
    double *count = MF_MUST(calloc(lag, sizeof *count), "a curve");

    for (size_t d = 0; d < lag; ++d) {
        curve[0][d] = 0;
        curve[1][d] = s2[(lag - 1 + d) * width + lag - 1];
        curve[2][d] = s2[(lag - 1) * width + lag - 1 + d];
    }
    for (size_t i = 0; i < width * width; ++i) {
        size_t row = i / width, column = i % width;
        double du = (double)row - (double)(lag - 1), dv = (double)column - (double)(lag - 1);
        size_t d = (size_t)lrint(sqrt(du * du + dv * dv));

        if (d >= lag) continue;
        curve[0][d] += s2[i];
        ++count[d];
    }
    for (size_t d = 0; d < lag; ++d) curve[0][d] /= count[d];
    free(count);
}

/** Mean over the sides of a value per phase and level, on level 0. */
static double scalar(const struct mf_target *t, int phase, int is_variation)
{
    double sum = 0;

    for (int k = 0; k < t->sides; ++k) {
        const struct mf_target_side *s = &t->side[k];

        sum += (is_variation ? s->variation : s->fraction)[(size_t)phase * s->levels];
    }
    return sum / t->sides;
}

/** Phases in ascending order of their labels. */
static void ascending(const struct mf_target *t, int *order)
{
    for (int p = 0; p < t->phases; ++p) {
        int i = p;

        for (; i > 0 && t->label[order[i - 1]] > t->label[p]; --i) order[i] = order[i - 1];
        order[i] = p;
    }
}

/** Cross-correlations of (a, b) at lag r are those of (b, a) at -r: the window from its end. */
static void put_turned(struct mf_json *at, const char *key, const double *window, size_t width)
{
    struct mf_json *table = mf_json_array();

    for (size_t row = width; row-- > 0;) {
        struct mf_json *turned = mf_json_array();

        for (size_t i = width; i-- > 0;) mf_json_real(turned, NULL, window[row * width + i]);
        mf_json_put(table, NULL, turned);
    }
    mf_json_put(at, key, table);
}

/* S2_3D at lag @p d along axis @p axis. */
static double in_space(const struct mf_target *t, int phase, int axis, size_t d)
{
    size_t width = 2 * t->lag - 1, centre = t->lag - 1;
    const double *window = t->whole[MF_WHOLE_S2] + (size_t)phase * t->lag * width * width;

    return window[((axis == 0 ? d : 0) * width + centre + (axis == 1 ? d : 0)) * width + centre + (axis == 2 ? d : 0)];
}

static void put_space(struct mf_json *phase, const struct mf_target *t, int index)
{
    struct mf_json *axes = mf_json_object();

    for (int a = 0; a < AXES; ++a) {
        struct mf_json *values = mf_json_array();

        for (size_t d = 0; d < t->lag; ++d) mf_json_real(values, NULL, in_space(t, index, a, d));
        mf_json_put(axes, axis_names[a], values);
    }
    mf_json_put(phase, "s2_3d", axes);
}

/* Puts the descriptors of phases, or of pairs of them. */
static void put_further(struct mf_json *to, const struct mf_target *target, int ndim, int pairs, size_t index)
{
    for (int m = 0; m < MF_MORE; ++m) {
        size_t n = mf_more_entries((enum mf_more)m, target->lag);
        struct mf_json *sides;

        if (!target->side[0].more[m] || n > ENTRIES_SHOWN || mf_more_is(m, MF_OF_PAIRS) != pairs) continue;
        sides = mf_json_object();
        for (int k = 0; k < target->sides; ++k) {
            const struct mf_target_side *s = &target->side[k];

            mf_json_reals(sides, mf_side_name(target, ndim, k), s->more[m] + index * s->levels * n, n);
        }
        mf_json_put(to, mf_more_rows[m].name, sides);
    }
}

static void put_more(struct mf_json *phase, const struct mf_target *target, int ndim, int index)
{
    put_further(phase, target, ndim, 0, (size_t)index);
    if (target->whole[MF_WHOLE_S2]) put_space(phase, target, index);
}

/* CrossS2_3D along the axes, lags from -L+1 on; turned: behind the second. */
static void put_cross_space(struct mf_json *pair, const struct mf_target *t, size_t index, int turned)
{
    const size_t width = 2 * t->lag - 1, n = width * width * width, step[AXES] = {width * width, width, 1};
    const double *centre = t->whole[MF_WHOLE_CROSS] + index * n + n / 2;
    struct mf_json *axes = mf_json_object();

    for (int a = 0; a < AXES; ++a) {
        struct mf_json *values = mf_json_array();

        for (ptrdiff_t d = 1 - (ptrdiff_t)t->lag; d < (ptrdiff_t)t->lag; ++d)
            mf_json_real(values, NULL, centre[(turned ? -d : d) * (ptrdiff_t)step[a]]);
        mf_json_put(axes, axis_names[a], values);
    }
    mf_json_put(pair, "cross_3d", axes);
}

static void put_pair(struct mf_json *pair, const struct mf_target *target, int ndim, size_t index, int turned)
{
    put_further(pair, target, ndim, 1, index);
    if (target->whole[MF_WHOLE_CROSS]) put_cross_space(pair, target, index, turned);
}

static void put_windows(struct mf_json *at, const struct mf_target *t, int ndim, size_t phase)
{
    struct mf_json *s2 = mf_json_object();
    size_t width = 2 * t->lag - 1;

    for (int k = 0; k < t->sides; ++k) {
        const struct mf_target_side *s = &t->side[k];

        mf_json_table(s2, mf_side_name(t, ndim, k), s->s2 + phase * s->levels * width * width, width, width);
    }
    mf_json_put(at, "s2", s2);
}

static struct mf_json *pair_json(const struct mf_target *t, int ndim, int a, int b)
{
    struct mf_json *one = mf_json_object(), *labels = mf_json_array(), *s2 = mf_json_object();
    size_t width = 2 * t->lag - 1, low = (size_t)(a < b ? a : b), high = (size_t)(a < b ? b : a);
    size_t pair = low * (2 * (size_t)t->phases - low - 1) / 2 + high - low - 1;

    mf_json_int(labels, NULL, t->label[a]);
    mf_json_int(labels, NULL, t->label[b]);
    mf_json_put(one, "labels", labels);
    for (int k = 0; k < t->sides; ++k) {
        const double *window = t->side[k].cross + pair * t->side[k].levels * width * width;

        if (a < b)
            mf_json_table(s2, mf_side_name(t, ndim, k), window, width, width);
        else
            put_turned(s2, mf_side_name(t, ndim, k), window, width);
    }
    mf_json_put(one, "s2", s2);
    put_pair(one, t, ndim, pair, a > b);
    return one;
}

static struct mf_json *cross_json(const struct mf_target *t, int ndim, const int *order)
{
    struct mf_json *all = mf_json_array();

    for (int i = 0; t->side[0].cross && i < t->phases; ++i)
        for (int j = i + 1; j < t->phases; ++j) mf_json_put(all, NULL, pair_json(t, ndim, order[i], order[j]));
    return all;
}

struct mf_json *mf_describe_json(const struct mf_target *target, const char *file, int ndim, const size_t dims[3])
{
    struct mf_json *out = mf_json_object(), *shape = mf_json_array(), *phases = mf_json_array();
    int order[MF_PHASES_MAX];

    mf_json_text(out, "file", file);
    for (int a = 3 - ndim; a < 3; ++a) mf_json_int(shape, NULL, (long long)dims[a]);
    mf_json_put(out, "shape", shape);
    ascending(target, order);
    for (int i = 0; i < target->phases; ++i) {
        struct mf_json *phase = mf_json_object();
        int p = order[i];

        MF_JSON(phase, "label", target->label[p], "volume_fraction", scalar(target, p, 0), "variation",
                scalar(target, p, 1));
        put_windows(phase, target, ndim, (size_t)p);
        put_more(phase, target, ndim, p);
        mf_json_put(phases, NULL, phase);
    }
    MF_JSON(out, "phases", phases, "cross", cross_json(target, ndim, order));
    return out;
}

/* -- text -- */

static int is_cubic(const double spacing[3], int ndim)
{
    return !mf_lengths_differ(spacing[1], spacing[2]) && (ndim == 2 || !mf_lengths_differ(spacing[0], spacing[1]));
}

/** Length of interface per area (images) or area per volume, by Cauchy-Crofton from the jumps along the axes. */
static void print_interface(FILE *to, const struct mf_target *t, int ndim, double variation)
{
    double crossings = variation / 2 / t->spacing[2]; /* per length, mean of two axes */

    if (!is_cubic(t->spacing, ndim)) return;
    if (ndim == 2)
        fprintf(to, "   interface length per area %.6g", 1.5707963267948966 * crossings);
    else
        fprintf(to, "   interface area per volume %.6g", 2 * crossings);
    fprintf(to, " 1/%s\n", *t->unit ? t->unit : t->spacing[2] == 1 ? "pixel" : "unit of the spacing");
}

static void print_curves(FILE *to, const struct mf_target *t, int ndim, int phase)
{
    size_t lag = t->lag;
    double *values = MF_MUST(malloc(9 * lag * sizeof *values), "curves"), *curve[3][3];

    fprintf(to, "  S2 by distance [pixels]\n    d");
    for (int k = 0; k < t->sides; ++k) {
        const char *side = mf_side_name(t, ndim, k), *const *axis = mf_side_axes(t, ndim, k);

        for (int c = 0; c < 3; ++c) curve[k][c] = values + (size_t)(3 * k + c) * lag;
        mf_side_curves(&t->side[k], lag, phase, curve[k]);
        if (t->sides == 1)
            fprintf(to, "  %8s   along %s   along %s", "radial", axis[0], axis[1]);
        else
            fprintf(to, "  %s:radial  %s:%-6s  %s:%-6s", side, side, axis[0], side, axis[1]);
    }
    for (size_t d = 0; d < lag; ++d) {
        fprintf(to, "\n  %3zu", d);
        for (int k = 0; k < t->sides; ++k)
            for (int c = 0; c < 3; ++c) fprintf(to, "  %8.6f", curve[k][c][d]);
    }
    fputc('\n', to);
    free(values);
}

/* Directions of the lineal path in the order of its entries, by the axes of a side's rows and columns. */
static void direction_name(const char *const axis[2], int direction, char text[16])
{
    if (direction < 2)
        snprintf(text, 16, direction == 0 ? "%s=%s" : "%s=-%s", axis[0], axis[1]);
    else
        snprintf(text, 16, "along %s", axis[direction == 2]);
}

/* Lineal path of runs of 2c + 1 pixels; c = 0: of single ones. */
static double lineal(const struct mf_target *t, int side, int phase, size_t c, int direction)
{
    const struct mf_target_side *s = &t->side[side];
    const double *d =
        s->more[MF_MORE_LINEAL_EXACT] + (size_t)phase * s->levels * mf_more_entries(MF_MORE_LINEAL_EXACT, t->lag);

    return c == 0 ? d[0] : d[1 + DIRECTIONS * (c - 1) + (size_t)direction];
}

static void print_space(FILE *to, const struct mf_target *t, int phase)
{
    fprintf(to, "  S2 in space by distance [voxels]\n    d");
    for (int a = 0; a < AXES; ++a) fprintf(to, "   along %s", axis_names[a]);
    for (size_t d = 0; d < t->lag; ++d) {
        fprintf(to, "\n  %3zu", d);
        for (int a = 0; a < AXES; ++a) fprintf(to, "  %8.6f", in_space(t, phase, a, d));
    }
    fputc('\n', to);
}

static void print_more(FILE *to, const struct mf_target *target, int ndim, int phase)
{
    char name[16];

    if (target->whole[MF_WHOLE_S2]) print_space(to, target, phase);
    if (!target->side[0].more[MF_MORE_LINEAL_EXACT]) return;
    fprintf(to, "  lineal path by length [pixels]\n    n");
    for (int k = 0; k < target->sides; ++k)
        for (int i = 0; i < DIRECTIONS; ++i) {
            direction_name(mf_side_axes(target, ndim, k), i, name);
            fprintf(to, "  %8s", name);
        }
    for (size_t c = 0; c <= target->lag; ++c) {
        fprintf(to, "\n  %3zu", 2 * c + 1);
        for (int k = 0; k < target->sides; ++k)
            for (int i = 0; i < DIRECTIONS; ++i) fprintf(to, "  %8.6f", lineal(target, k, phase, c, i));
    }
    fputc('\n', to);
}

void mf_describe_text(FILE *to, const struct mf_target *target, const char *file, int ndim, const size_t dims[3])
{
    fprintf(to, "%s: ", file);
    for (int a = 3 - ndim; a < 3; ++a) fprintf(to, "%s%zu", a > 3 - ndim ? " x " : "", dims[a]);
    fprintf(to, ", %d phase%s, lags up to %zu, %speriodic, pyramid levels", target->phases, MF_S(target->phases),
            target->lag - 1, target->periodic ? "" : "non-");
    for (int k = 0; k < target->sides; ++k) fprintf(to, " %zu", target->side[k].levels);
    fputc('\n', to);
    for (int p = 0; p < target->phases; ++p) {
        double variation = scalar(target, p, 1);

        fprintf(to, " label %ld: volume fraction %.8f   variation %.8f jumps/pixel", target->label[p],
                scalar(target, p, 0), variation);
        for (int k = 0; target->sides > 1 && k < target->sides; ++k)
            fprintf(to, "%s%s %.8f%s", k ? " " : " (", mf_side_name(target, ndim, k),
                    target->side[k].variation[(size_t)p * target->side[k].levels], k == 2 ? ")" : "");
        fputc('\n', to);
        print_interface(to, target, ndim, variation);
        print_curves(to, target, ndim, p);
        print_more(to, target, ndim, p);
    }
}

/* -- picture -- */

int mf_describe_plot(const char *path, const struct mf_target *target, const char *file, int ndim)
{
    struct mf_figure figure = {.columns = target->sides == 3 ? 3 : 4};
    struct mf_panels panels = {.figure = &figure, .got = target, .ndim = ndim};
    int rc;

    mf_panels_descriptors(&panels);
    rc = mf_plot_write(path, mf_name_base(file) + (*file == '@'), figure.panel, figure.count, figure.columns);
    mf_figure_free(&figure);
    return rc;
}
