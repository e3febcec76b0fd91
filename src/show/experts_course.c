/* See experts.h: what experts worked on. */
#include <math.h>

#include "src/base/err.h"
#include "src/show/experts.h"

enum { COLUMNS = 240 /* of an image at most */ };

/* As large as rows can be told apart. */
static double zoom_of(size_t rows) { return fmax(1, (9 * (double)rows + 130) / 340); }

static const char **names_of(struct mf_figure *f, size_t count, const long *id)
{
    const char **names = mf_figure_keep(f, count * sizeof *names);

    for (size_t i = 0; i < count; ++i) names[i] = mf_figure_text(f, "%ld", id[i]);
    return names;
}

/* ---- over steps ---- */

/* Steps from which the first time counts, to the last. */
static void span_of(const struct mf_drawn_course *c, double span[2])
{
    const double each = c->times > 1 ? c->step[1] - c->step[0] : c->step[0];

    span[0] = fmax(0, c->step[0] - each);
    span[1] = c->step[c->times - 1];
}

/* Adds the rows of a time to the columns that it covers; one covers at least a column. */
static void add_time(const struct mf_drawn_course *c, const double span[2], size_t columns, size_t t, double *image)
{
    const double from = t ? c->step[t - 1] : span[0], scale = (double)columns / (span[1] - span[0]);
    const size_t first = (size_t)fmin((from - span[0]) * scale + 1e-9, (double)columns - 1);
    const size_t end = (size_t)fmin(ceil((c->step[t] - span[0]) * scale - 1e-9), (double)columns);

    for (size_t e = 0; e < c->experts; ++e)
        for (size_t k = first; k < end || k == first; ++k) {
            double *cell = &image[e * columns + k];
            const double rows = c->rows[t * c->experts + e];

            if (isfinite(rows)) *cell = isfinite(*cell) ? *cell + rows : rows;
        }
}

/* Returns the largest. */
static double to_shares(size_t experts, size_t columns, double *image)
{
    double most = 0;

    for (size_t k = 0; k < columns; ++k) {
        double all = 0;

        for (size_t e = 0; e < experts; ++e) all += isfinite(image[e * columns + k]) ? image[e * columns + k] : 0;
        for (size_t e = 0; e < experts && all > 0; ++e) {
            image[e * columns + k] /= all;
            most = fmax(most, image[e * columns + k]);
        }
    }
    return most;
}

static const struct mf_plot_mark *marks_of(struct mf_figure *f, const struct mf_drawn_course *c, size_t *count)
{
    struct mf_plot_mark *marks = mf_figure_keep(f, c->events * sizeof *marks);

    *count = 0;
    for (size_t i = 0; i < c->events; ++i) {
        const struct mf_drawn_event *e = &c->event[i];
        long row = 0;

        while (row < (long)c->experts && c->id[row] != e->id) ++row;
        if (row == (long)c->experts && e->kind != MF_EVENT_SLEEP) continue;
        marks[(*count)++] = (struct mf_plot_mark){e->step, e->kind == MF_EVENT_SLEEP ? -1 : row, (int)e->kind};
    }
    return marks;
}

static void over_steps(struct mf_figure *f, const struct mf_drawn_course *c)
{
    static const char *const names[MF_EVENTS] = {"birth", "merge", "prune", "sleep"};
    const size_t columns = c->times < COLUMNS ? c->times : COLUMNS;
    double *image = mf_figure_keep(f, c->experts * columns * sizeof *image), span[2], most;
    size_t count;
    const struct mf_plot_mark *marks = marks_of(f, c, &count);

    span_of(c, span);
    for (size_t i = 0; i < c->experts * columns; ++i) image[i] = NAN;
    for (size_t t = 0; t < c->times; ++t) add_time(c, span, columns, t, image);
    most = to_shares(c->experts, columns, image);
    *mf_figure_next(f) = (struct mf_panel){.kind = MF_PANEL_IMAGE,
                                           .title = "Share of rows",
                                           .xlabel = "step",
                                           .ylabel = "expert",
                                           .rows = c->experts,
                                           .columns = columns,
                                           .image = image,
                                           .range = {0, most},
                                           .extent = {span[0], span[1], 0, (double)c->experts},
                                           .colours = "blue",
                                           .names = names_of(f, c->experts, c->id),
                                           .mark_count = count,
                                           .mark_kinds = MF_EVENTS,
                                           .marks = marks,
                                           .mark_names = names,
                                           .zoom = zoom_of(c->experts)};
}

/* ---- by classes ---- */

/* An expert without samples has no shares. */
static void add_shares(const double *samples, size_t classes, double *share, double *percent)
{
    double all = 0;

    for (size_t k = 0; k < classes; ++k) all += samples[k];
    for (size_t k = 0; k < classes; ++k) {
        share[k] = all > 0 ? samples[k] / all : 0;
        percent[k] = all > 0 ? 100 * share[k] : NAN;
    }
}

static void by_class(struct mf_figure *f, const struct mf_drawn_course *c)
{
    double *share = mf_figure_keep(f, 2 * c->experts * c->classes * sizeof *share);
    double *percent = share + c->experts * c->classes;
    long *id = mf_figure_keep(f, c->experts * sizeof *id);
    size_t lives = 0;

    for (size_t e = 0; e < c->experts; ++e) {
        if (!isfinite(c->samples[e * c->classes])) continue;
        add_shares(c->samples + e * c->classes, c->classes, share + lives * c->classes, percent + lives * c->classes);
        id[lives++] = c->id[e];
    }
    if (lives == 0) return;
    *mf_figure_next(f) = (struct mf_panel){.kind = MF_PANEL_IMAGE,
                                           .title = "Classes of an expert's samples [%]",
                                           .xlabel = "class",
                                           .ylabel = "expert",
                                           .rows = lives,
                                           .columns = c->classes,
                                           .image = share,
                                           .range = {0, 1},
                                           .colours = "blue",
                                           .written = percent,
                                           .names = names_of(f, lives, id),
                                           .column_names = c->class_name,
                                           .zoom = zoom_of(lives)};
}

void mf_figure_activations(struct mf_figure *f, const struct mf_drawn_course *c)
{
    if (c->times && c->step[c->times - 1] > 0) over_steps(f, c);
    if (c->classes) by_class(f, c);
    f->columns = 2;
}
