/* See describe.h. */
#include "src/show/describe.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/plot.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/show/describe_more.h"
#include "src/show/side.h"

enum { PHASES_DRAWN = 6 };

static const double *s2_of(const struct mf_target_side *side, size_t lag, int phase)
{
    return side->s2 + (size_t)phase * side->levels * (2 * lag - 1) * (2 * lag - 1);
}

void mf_side_curves(const struct mf_target_side *side, size_t lag, int phase, double *const curve[3])
{
    size_t width = 2 * lag - 1;
    const double *s2 = s2_of(side, lag, phase);
    double *count = calloc(lag, sizeof *count);

    if (!count) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a curve");
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
    size_t n = width * width;
    double *turned = malloc(n * sizeof *turned);

    if (!turned) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a window");
    for (size_t i = 0; i < n; ++i) turned[i] = window[n - 1 - i];
    mf_json_table(at, key, turned, width, width);
    free(turned);
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
    mf_describe_pair_json(one, t, ndim, pair, a > b);
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

        mf_json_int(phase, "label", target->label[p]);
        mf_json_real(phase, "volume_fraction", scalar(target, p, 0));
        mf_json_real(phase, "variation", scalar(target, p, 1));
        put_windows(phase, target, ndim, (size_t)p);
        mf_describe_more_json(phase, target, ndim, p);
        mf_json_put(phases, NULL, phase);
    }
    mf_json_put(out, "phases", phases);
    mf_json_put(out, "cross", cross_json(target, ndim, order));
    return out;
}

/* -- text -- */

static int is_cubic(const double spacing[3], int ndim)
{
    return spacing[1] == spacing[2] && (ndim == 2 || spacing[0] == spacing[1]);
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
    fprintf(to, " 1/%s\n", *t->unit ? t->unit : "pixel");
}

static void print_curves(FILE *to, const struct mf_target *t, int ndim, int phase)
{
    size_t lag = t->lag;
    double *values = malloc(9 * lag * sizeof *values), *curve[3][3];

    if (!values) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for curves");
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
        mf_describe_more_text(to, target, ndim, p);
    }
}

/* -- picture -- */

/** One phase and side: a map and its curves. Names and numbers live in the caller's buffers. */
struct drawing {
    char title[2][96], label[2][48];
    double *x, *y[3];
    struct mf_curve curve[3];
    struct mf_lineal_lines lineal;
};

static int draw(const struct mf_target *t, int ndim, int phase, int k, struct drawing *d, struct mf_panel panel[2])
{
    const char *const *axis = mf_side_axes(t, ndim, k);
    const char *side = mf_side_name(t, ndim, k);
    size_t width = 2 * t->lag - 1;
    double reach = (double)t->lag - 0.5;

    d->x = malloc(4 * t->lag * sizeof *d->x);
    if (!d->x) return mf_fail(MF_MEMORY, "no memory for a picture");
    for (int c = 0; c < 3; ++c) d->y[c] = d->x + (size_t)(c + 1) * t->lag;
    for (size_t i = 0; i < t->lag; ++i) d->x[i] = (double)i;
    mf_side_curves(&t->side[k], t->lag, phase, d->y);
    for (int c = 0; c < 3; ++c)
        d->curve[c] = (struct mf_curve){
            .name = c ? axis[c - 1] : "radial", .count = t->lag, .x = d->x, .y = d->y[c], .dashed = c > 0};
    snprintf(d->title[0], sizeof d->title[0], ndim == 3 ? "S2, label %ld, slices %s" : "S2, label %ld", t->label[phase],
             side);
    for (int i = 0; i < 2; ++i) snprintf(d->label[i], sizeof d->label[i], "lag along %s [pixels]", axis[i]);
    snprintf(d->title[1], sizeof d->title[1], "vf %.4f, variation %.4f", scalar(t, phase, 0), scalar(t, phase, 1));
    panel[0] = (struct mf_panel){.kind = MF_PANEL_IMAGE,
                                 .title = d->title[0],
                                 .xlabel = d->label[1],
                                 .ylabel = d->label[0],
                                 .rows = width,
                                 .columns = width,
                                 .image = s2_of(&t->side[k], t->lag, phase),
                                 .extent = {-reach, reach, -reach, reach}};
    panel[1] = (struct mf_panel){.kind = MF_PANEL_CURVES,
                                 .title = d->title[1],
                                 .xlabel = "distance [pixels]",
                                 .ylabel = "S2",
                                 .curve_count = 3,
                                 .curves = d->curve};
    return MF_OK;
}

int mf_describe_plot(const char *path, const struct mf_target *target, const char *file, int ndim)
{
    int phases = target->phases < PHASES_DRAWN ? target->phases : PHASES_DRAWN, n = phases * target->sides;
    int each = target->side[0].more[MF_MORE_LINEAL_EXACT] ? 3 : 2; /* panels of a phase and side */
    struct drawing *drawings = calloc((size_t)n, sizeof *drawings);
    struct mf_panel *panels = calloc((size_t)each * (size_t)n, sizeof *panels);
    const char *slash = strrchr(file, '/');
    int rc = drawings && panels ? MF_OK : mf_fail(MF_MEMORY, "no memory for a picture");

    for (int i = 0; rc == MF_OK && i < n; ++i) {
        struct mf_panel *at = &panels[each * i];
        int phase = i / target->sides, side = i % target->sides;

        rc = draw(target, ndim, phase, side, &drawings[i], at);
        if (rc != MF_OK || each == 2) continue;
        drawings[i].lineal.values = malloc(5 * (target->lag + 1) * sizeof(double));
        if (drawings[i].lineal.values)
            mf_describe_lineal(target, ndim, phase, side, &drawings[i].lineal, at + 2);
        else
            rc = mf_fail(MF_MEMORY, "no memory for a picture");
    }
    if (rc == MF_OK)
        rc = mf_plot_write(path, slash ? slash + 1 : file, panels, (size_t)each * (size_t)n,
                           (size_t)each * (target->sides == 1 ? 1 : 3));
    for (int i = 0; drawings && i < n; ++i) {
        free(drawings[i].x);
        free(drawings[i].lineal.values);
    }
    free(drawings);
    free(panels);
    return rc;
}
