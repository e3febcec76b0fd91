/* See describe_more.h. */
#include "src/show/describe_more.h"

#include "src/show/describe.h"
#include "src/show/side.h"

enum { ENTRIES_SHOWN = 4096, DIRECTIONS = 4, AXES = 3 };

static const char *const axis_names[AXES] = {"z", "y", "x"};

/* Directions of the lineal path in the order of its entries, by the axes of a side's rows and columns. */
static void direction_name(const char *const axis[2], int direction, char text[16])
{
    if (direction < 2)
        snprintf(text, 16, direction == 0 ? "%s=%s" : "%s=-%s", axis[0], axis[1]);
    else
        snprintf(text, 16, "along %s", axis[direction == 2]);
}

/* Of runs of 2c + 1 pixels; c = 0: of single ones. */
static double lineal(const struct mf_target *t, int side, int phase, size_t c, int direction)
{
    const struct mf_target_side *s = &t->side[side];
    const double *d =
        s->more[MF_MORE_LINEAL_EXACT] + (size_t)phase * s->levels * mf_more_entries(MF_MORE_LINEAL_EXACT, t->lag);

    return c == 0 ? d[0] : d[1 + DIRECTIONS * (c - 1) + (size_t)direction];
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

/* Those of phases, or of pairs of them. */
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

void mf_describe_more_json(struct mf_json *phase, const struct mf_target *target, int ndim, int index)
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

void mf_describe_pair_json(struct mf_json *pair, const struct mf_target *target, int ndim, size_t index, int turned)
{
    put_further(pair, target, ndim, 1, index);
    if (target->whole[MF_WHOLE_CROSS]) put_cross_space(pair, target, index, turned);
}

void mf_describe_more_text(FILE *to, const struct mf_target *target, int ndim, int phase)
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

void mf_describe_lineal(const struct mf_target *target, int ndim, int phase, int side, struct mf_lineal_lines *lines,
                        struct mf_panel *panel)
{
    size_t n = target->lag + 1;

    for (size_t c = 0; c < n; ++c) {
        lines->values[c] = (double)(2 * c + 1);
        for (int i = 0; i < DIRECTIONS; ++i) lines->values[(size_t)(i + 1) * n + c] = lineal(target, side, phase, c, i);
    }
    for (int i = 0; i < DIRECTIONS; ++i) {
        direction_name(mf_side_axes(target, ndim, side), i, lines->name[i]);
        lines->curve[i] = (struct mf_curve){.name = lines->name[i],
                                            .count = n,
                                            .x = lines->values,
                                            .y = lines->values + (size_t)(i + 1) * n,
                                            .dashed = i < 2};
    }
    snprintf(lines->title, sizeof lines->title,
             ndim == 3 ? "Lineal path, label %ld, slices %s" : "Lineal path, label %ld", target->label[phase],
             mf_side_name(target, ndim, side));
    *panel = (struct mf_panel){.kind = MF_PANEL_CURVES,
                               .title = lines->title,
                               .xlabel = "length of a run [pixels]",
                               .ylabel = "lies in the phase",
                               .curve_count = DIRECTIONS,
                               .curves = lines->curve};
}
