/* See scores.h. */
#include "src/cmd/scores.h"

#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/show/training.h"

enum { MOST = 12 /* panels */, COLUMNS = 3 };

static void add_confusion(struct mf_figure *figure, const struct mf_dataset *set, const struct mf_scores *s)
{
    const char **names = mf_figure_keep(figure, set->classes * sizeof *names);

    for (size_t c = 0; c < set->classes; ++c) names[c] = set->class_name[c];
    mf_figure_confusion(figure, set->classes, names, s->confusion);
}

static void add_column(struct mf_figure *figure, const struct mf_trainer *t, const struct mf_scores *s,
                       const uint32_t *id, size_t c)
{
    const struct mf_dataset *set = t->set;
    const size_t column = t->opts.column[c];
    double *truth = MF_MUST(malloc((2 * s->samples + 1) * sizeof *truth), "a picture"), *got = truth + s->samples;

    for (size_t i = 0; i < s->samples; ++i) {
        truth[i] = (double)set->real[id[i] * set->reals + column];
        got[i] = (double)s->output[i * t->opts.columns + c];
    }
    mf_figure_predicted(figure, set->real_name[column], s->samples, truth, got);
    free(truth);
}

int mf_scores_draw(const struct mf_trainer *t, const struct mf_scores *s, const uint32_t *id, const char *title,
                   const char *path)
{
    const size_t columns = t->opts.classify ? 0 : t->opts.columns < MOST ? t->opts.columns : MOST;
    struct mf_figure figure = {.columns = columns < COLUMNS ? columns : COLUMNS};
    char *some;
    int rc;

    if (t->opts.classify) add_confusion(&figure, t->set, s);
    for (size_t c = 0; c < columns; ++c) add_column(&figure, t, s, id, c);
    if (columns == t->opts.columns || t->opts.classify) return mf_figure_write(path, title, &figure);
    some = mf_format("%s (%zu of %zu columns)", title, columns, t->opts.columns);
    rc = mf_figure_write(path, some, &figure);
    free(some);
    return rc;
}
