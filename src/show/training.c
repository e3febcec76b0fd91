/* See training.h. */
#include "src/show/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

enum { POINTS = 400 /* of a curve; more are averaged */, DOTS = 20000, COLUMNS = 3 };

/* A loss that spans more has a logarithmic axis. */
static const double decades = 30;

const char *const mf_training_key[MF_TRAINING_COLUMNS] = {
    "step",   "epoch",   "loss",   "val_loss", "val_accuracy", "val_r2", "learning_rate", "samples_per_second",
    "memory", "seconds", "experts"};

char *mf_training_name(const char *beside, const char *output)
{
    char *folder, *whole, *name;

    if (strcmp(output, "model.safetensors") != 0) return mf_format("%.*s", (int)strcspn(output, "."), output);
    folder = mf_format("%.*s.", (int)(mf_name_base(beside) - beside), beside);
    whole = realpath(folder, NULL);
    name = MF_MUST(strdup(whole ? mf_name_base(whole) : output), "a name");
    free(whole);
    free(folder);
    return name;
}

/* Rows under the axis that they are drawn against. */
struct course {
    struct mf_figure *figure;
    const double (*rows)[MF_TRAINING_COLUMNS];
    size_t count, best; /* best: a row; count: none */
    enum mf_training_column axis;
};

static enum mf_training_column axis_of(size_t count, const double (*rows)[MF_TRAINING_COLUMNS])
{
    for (size_t i = 0; i < count; ++i)
        if (!isfinite(rows[i][MF_TRAINING_EPOCH]) ||
            (i && rows[i][MF_TRAINING_EPOCH] <= rows[i - 1][MF_TRAINING_EPOCH]))
            return MF_TRAINING_STEP;
    return MF_TRAINING_EPOCH;
}

/* Number by which a training keeps its weights, where it has been measured. */
static double merit_of(const double row[MF_TRAINING_COLUMNS])
{
    if (isfinite(row[MF_TRAINING_ACCURACY])) return row[MF_TRAINING_ACCURACY];
    return isfinite(row[MF_TRAINING_R2]) ? row[MF_TRAINING_R2] : -INFINITY;
}

static int is_better(const double row[MF_TRAINING_COLUMNS], const double than[MF_TRAINING_COLUMNS])
{
    const double little = 1e-9, merit = merit_of(row), other = merit_of(than);

    if (merit > other + little) return 1;
    return merit >= other - little && row[MF_TRAINING_VAL_LOSS] < than[MF_TRAINING_VAL_LOSS];
}

/* The row with the highest accuracy or R2, of equal ones with the least loss of validation. It is count if fewer than
 * two rows have such a loss. */
static size_t best_of(size_t count, const double (*rows)[MF_TRAINING_COLUMNS])
{
    size_t best = count, known = 0;

    for (size_t i = 0; i < count; ++i) {
        if (!isfinite(rows[i][MF_TRAINING_VAL_LOSS])) continue;
        ++known;
        if (best == count || is_better(rows[i], rows[best])) best = i;
    }
    return known > 1 ? best : count;
}

/* Does column @p k have a number in row @p i? */
static int has(const struct course *c, size_t i, enum mf_training_column k)
{
    return isfinite(c->rows[i][k]) && isfinite(c->rows[i][c->axis]);
}

/* A column as a curve. Too many points are averaged in equal groups; a mean stands at the last point of its group. */
static struct mf_curve curve_of(const struct course *c, enum mf_training_column k, const char *name, double unit)
{
    double *x = mf_figure_keep(c->figure, 2 * POINTS * sizeof *x), *y = x + POINTS;
    size_t all = 0, each, seen = 0, n = 0;

    for (size_t i = 0; i < c->count; ++i) all += (size_t)has(c, i, k);
    if (all == 0) return (struct mf_curve){.count = 0};
    each = (all - 1) / POINTS + 1;
    for (size_t i = 0; i < c->count; ++i) {
        if (!has(c, i, k)) continue;
        x[n] = c->rows[i][c->axis];
        y[n] += c->rows[i][k] / unit;
        if (++seen % each && seen < all) continue;
        y[n] /= (double)(seen - n * each);
        ++n;
    }
    return (struct mf_curve){.name = name, .count = n, .x = x, .y = y};
}

static const char *best_name(const struct course *c)
{
    const double *row = c->rows[c->best];

    if (isfinite(row[MF_TRAINING_EPOCH])) return mf_figure_text(c->figure, "best: epoch %g", row[MF_TRAINING_EPOCH]);
    return mf_figure_text(c->figure, "best: step %.0f", row[MF_TRAINING_STEP]);
}

/* The best row as a circle on column @p k. */
static struct mf_curve best_mark(const struct course *c, enum mf_training_column k)
{
    double *at = mf_figure_keep(c->figure, 2 * sizeof *at);

    at[0] = c->rows[c->best][c->axis];
    at[1] = c->rows[c->best][k];
    return (struct mf_curve){
        .name = best_name(c), .count = 1, .x = at, .y = at + 1, .marks = MF_MARK_CIRCLES, .colour = -1};
}

static int is_logarithmic(const struct mf_curve *curves, size_t count)
{
    double low = HUGE_VAL, high = 0;

    for (size_t k = 0; k < count; ++k)
        for (size_t i = 0; i < curves[k].count; ++i) {
            low = fmin(low, curves[k].y[i]);
            high = fmax(high, curves[k].y[i]);
        }
    return low > 0 && high > decades * low;
}

/* Steps of an epoch, from the first row of one; 0: there is none. */
static double steps_of_epoch(const struct course *c)
{
    for (size_t i = 0; i < c->count; ++i) {
        const double *row = c->rows[i], each = row[MF_TRAINING_STEP] / row[MF_TRAINING_EPOCH];

        if (isfinite(row[MF_TRAINING_SECONDS]) && each >= 1) return each;
    }
    return 0;
}

static const char *axis_name(const struct course *c)
{
    const double each = c->axis == MF_TRAINING_STEP ? steps_of_epoch(c) : 0;

    return each > 0 ? mf_figure_text(c->figure, "step (an epoch has %.0f)", each) : mf_training_key[c->axis];
}

/* A panel of one or two columns. A circle marks the best row on column @p marked. MF_TRAINING_COLUMNS: no circle, and
 * the axis begins at 0. */
static void add(const struct course *c, const char *title, const char *ylabel, struct mf_curve first,
                struct mf_curve second, enum mf_training_column marked)
{
    struct mf_curve *curves = mf_figure_keep(c->figure, 3 * sizeof *curves);
    const int scores = marked < MF_TRAINING_COLUMNS;
    struct mf_panel *p;
    size_t n = 0;

    if (first.count) curves[n++] = first;
    if (second.count) curves[n++] = second;
    if (n == 0) return;
    if (scores && c->best < c->count && has(c, c->best, marked)) curves[n++] = best_mark(c, marked);
    p = mf_figure_next(c->figure);
    *p = (struct mf_panel){.kind = MF_PANEL_CURVES,
                           .title = title,
                           .xlabel = axis_name(c),
                           .ylabel = ylabel,
                           .curve_count = n,
                           .curves = curves,
                           .log_y = marked == MF_TRAINING_VAL_LOSS && is_logarithmic(curves, n),
                           .from_zero = !scores,
                           .whole_x = 1};
}

static void add_score(const struct course *c)
{
    const struct mf_curve accuracy = curve_of(c, MF_TRAINING_ACCURACY, "accuracy", 1);
    const struct mf_curve r2 = curve_of(c, MF_TRAINING_R2, "R\302\262", 1);
    const int both = accuracy.count && r2.count;
    const char *title = both ? "Accuracy and R\302\262" : r2.count ? "R\302\262" : "Accuracy";

    add(c, title,
        both       ? "accuracy, R\302\262"
        : r2.count ? r2.name
                   : accuracy.name,
        accuracy, r2, r2.count ? MF_TRAINING_R2 : MF_TRAINING_ACCURACY);
}

static void add_memory(const struct course *c)
{
    struct mf_curve bytes = curve_of(c, MF_TRAINING_MEMORY, NULL, 1);
    double most = 0;
    int large;

    for (size_t i = 0; i < bytes.count; ++i) most = fmax(most, bytes.y[i]);
    large = most >= 0x1p30;
    add(c, "Memory", large ? "memory [GiB]" : "memory [MiB]",
        curve_of(c, MF_TRAINING_MEMORY, NULL, large ? 0x1p30 : 0x1p20), (struct mf_curve){.count = 0},
        MF_TRAINING_COLUMNS);
}

/* Seconds between rows of epochs, for each epoch. */
static struct mf_curve epochs_of(const struct course *c)
{
    double *x = mf_figure_keep(c->figure, 2 * c->count * sizeof *x), *y = x + c->count, epoch = 0, seconds = 0;
    size_t n = 0;

    for (size_t i = 0; i < c->count; ++i) {
        const double *row = c->rows[i];

        if (!has(c, i, MF_TRAINING_SECONDS) || !(row[MF_TRAINING_EPOCH] > epoch)) continue;
        x[n] = row[c->axis];
        y[n++] = (row[MF_TRAINING_SECONDS] - seconds) / (row[MF_TRAINING_EPOCH] - epoch);
        epoch = row[MF_TRAINING_EPOCH];
        seconds = row[MF_TRAINING_SECONDS];
    }
    return (struct mf_curve){.count = n, .x = x, .y = y};
}

static void add_mixture(const struct course *c)
{
    const struct mf_curve experts = curve_of(c, MF_TRAINING_EXPERTS, NULL, 1), none = {.count = 0};

    if (!experts.count) return;
    add(c, "Seconds per epoch", NULL, epochs_of(c), none, MF_TRAINING_COLUMNS);
    add(c, "Experts", NULL, experts, none, MF_TRAINING_COLUMNS);
}

void mf_figure_training(struct mf_figure *f, size_t count, const double (*rows)[MF_TRAINING_COLUMNS])
{
    const struct course c = {f, rows, count, best_of(count, rows), axis_of(count, rows)};
    const struct mf_curve none = {.count = 0};
    const size_t before = f->count;
    size_t drawn;

    add(&c, "Loss", "loss", curve_of(&c, MF_TRAINING_LOSS, "training", 1),
        curve_of(&c, MF_TRAINING_VAL_LOSS, "validation", 1), MF_TRAINING_VAL_LOSS);
    add_score(&c);
    add(&c, "Learning rate", NULL, curve_of(&c, MF_TRAINING_LEARNING_RATE, NULL, 1), none, MF_TRAINING_COLUMNS);
    add(&c, "Samples per second", NULL, curve_of(&c, MF_TRAINING_SAMPLES_PER_SECOND, NULL, 1), none,
        MF_TRAINING_COLUMNS);
    add_memory(&c);
    add_mixture(&c);
    drawn = f->count - before;
    f->columns = drawn < 2 ? 1 : drawn == 2 || drawn == 4 ? 2 : drawn < 7 ? COLUMNS : COLUMNS + 1;
}

/* ---- what a model says ---- */

void mf_figure_confusion(struct mf_figure *f, size_t classes, const char *const *names, const double *counts)
{
    double *shares = mf_figure_keep(f, 2 * classes * classes * sizeof *shares), *numbers = shares + classes * classes;
    double all = 0, right = 0;
    struct mf_panel *p;

    for (size_t i = 0; i < classes; ++i) {
        double row = 0;

        for (size_t j = 0; j < classes; ++j) row += numbers[i * classes + j] = counts[i * classes + j];
        for (size_t j = 0; j < classes; ++j) shares[i * classes + j] = row > 0 ? counts[i * classes + j] / row : 0;
        all += row;
        right += counts[i * classes + i];
    }
    p = mf_figure_next(f);
    *p = (struct mf_panel){.kind = MF_PANEL_IMAGE,
                           .title = mf_figure_text(f, "%.1f %% of %.0f right", all > 0 ? 100 * right / all : 0, all),
                           .xlabel = "predicted class",
                           .ylabel = "true class",
                           .rows = classes,
                           .columns = classes,
                           .image = shares,
                           .range = {0, 1},
                           .colours = "blue",
                           .written = numbers,
                           .names = names};
}

/* The coefficient of determination; NAN where all true values are one. */
static double r2_of(size_t count, const double *truth, const double *predicted)
{
    double mean = 0, spread = 0, error = 0;

    for (size_t i = 0; i < count; ++i) mean += truth[i] / (double)count;
    for (size_t i = 0; i < count; ++i) {
        spread += (truth[i] - mean) * (truth[i] - mean);
        error += (predicted[i] - truth[i]) * (predicted[i] - truth[i]);
    }
    return spread > 0 ? 1 - error / spread : NAN;
}

void mf_figure_predicted(struct mf_figure *f, const char *name, size_t count, const double *truth,
                         const double *predicted)
{
    const size_t every = count / DOTS + 1, n = (count + every - 1) / every;
    struct mf_curve *curves = mf_figure_keep(f, 2 * sizeof *curves);
    double *x = mf_figure_keep(f, (2 * n + 2) * sizeof *x), *y = x + n, *ends = y + n;
    const double r2 = r2_of(count, truth, predicted);
    struct mf_panel *p;

    ends[0] = HUGE_VAL;
    ends[1] = -HUGE_VAL;
    for (size_t i = 0; i < n; ++i) {
        x[i] = truth[i * every];
        y[i] = predicted[i * every];
        ends[0] = fmin(ends[0], fmin(x[i], y[i]));
        ends[1] = fmax(ends[1], fmax(x[i], y[i]));
    }
    curves[0] = (struct mf_curve){.count = n, .x = x, .y = y, .marks = MF_MARK_DOTS};
    curves[1] =
        (struct mf_curve){.name = "predicted = true", .count = 2, .x = ends, .y = ends, .dashed = 1, .colour = -1};
    p = mf_figure_next(f);
    *p = (struct mf_panel){.kind = MF_PANEL_CURVES,
                           .title = isfinite(r2)
                                        ? mf_figure_text(f, "%s: R\302\262 = %.4f, %zu samples", name, r2, count)
                                        : mf_figure_text(f, "%s: %zu samples", name, count),
                           .xlabel = mf_figure_text(f, "true %s", name),
                           .ylabel = mf_figure_text(f, "predicted %s", name),
                           .curve_count = 2,
                           .curves = curves};
}
