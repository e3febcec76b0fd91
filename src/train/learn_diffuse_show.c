/* See learn_show.h: networks that remove noise. The samples that they make are shown elsewhere. */
#include <math.h>

#include "src/base/err.h"
#include "src/train/learn_diffuse.h"

/* Conditions, and their range in the train split. */
static void facts(const struct mf_task *task, FILE *to)
{
    enum { SHOWN = 20 };
    const struct mf_denoise *d = mf_task_denoiser(task);

    for (size_t k = 0; k < d->classes && k < SHOWN; ++k)
        fprintf(to, "%s%s", k ? ", " : "  class:      ", d->class_name[k]);
    if (d->classes > SHOWN) fprintf(to, " and %zu more", d->classes - SHOWN);
    if (d->classes) fprintf(to, "\n");
    if (d->start > 0) fprintf(to, "  generator:  one step, from noise of level %g\n", d->start);
    for (size_t c = 0; c < d->columns && d->rows > 0; ++c) {
        float least = d->value[c], most = least;

        for (size_t r = 1; r < d->rows; ++r) {
            least = fminf(least, d->value[r * d->columns + c]);
            most = fmaxf(most, d->value[r * d->columns + c]);
        }
        fprintf(to, "  condition:  %s, %.4g to %.4g\n", d->column[c], (double)least, (double)most);
    }
}

static double explained(const struct mf_scored *of) { return 1 - of->scores->loss; }

static int print(const struct mf_scored *of, FILE *to)
{
    fprintf(to, ", explained %.2f %%\n", 100 * explained(of));
    return MF_OK;
}

static int json(const struct mf_scored *of, struct mf_json *to)
{
    mf_json_finite(to, "explained", explained(of));
    return MF_OK;
}

static void results(const struct mf_json *split, FILE *to)
{
    fprintf(to, "explained %.2f %%", 100 * mf_json_to_finite(mf_json_get(split, "explained")));
}

static double judged(const struct mf_json *split, size_t n, double *each)
{
    const double share = mf_json_to_finite(mf_json_get(split, "explained"));

    for (size_t c = 0; c < n; ++c) each[c] = share;
    return share;
}

const struct mf_learn_show mf_show_diffuse = {.title = "makes:",
                                              .facts = facts,
                                              .print = print,
                                              .json = json,
                                              .results = results,
                                              .judged = judged,
                                              .judged_by = "explained"};
