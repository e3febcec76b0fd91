/* See learn_show.h: real values. */
#include <stdlib.h>

#include "io/table.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/show/training.h"
#include "src/train/learn_regress.h"

enum { MOST = 12 /* panels */, COLUMNS = 3 };

/* -- scores -- */

static int print(const struct mf_scored *of, FILE *to)
{
    const struct mf_head_scores *s = &of->scores->head[0];
    const int width = mf_show_width(of->task, "column");
    char r2[MF_LOSS_TEXT], error[MF_LOSS_TEXT];

    fprintf(to, "\n%-*s  %9s  %19s\n", width, "column", "R2", "mean absolute error");
    for (size_t c = 0; c < mf_task_outputs(of->task); ++c)
        fprintf(to, "%-*s  %9s  %19s\n", width, of->task->name[c], mf_r2_text(mf_regress_r2(of->task, s, c), r2),
                mf_loss_text(mf_regress_error(of->task, s, c), error));
    return MF_OK;
}

static int json(const struct mf_scored *of, struct mf_json *to)
{
    const struct mf_head_scores *s = &of->scores->head[0];
    struct mf_json *array = mf_json_array();

    for (size_t c = 0; c < mf_task_outputs(of->task); ++c) {
        struct mf_json *j = mf_json_object();

        mf_json_text(j, "name", of->task->name[c]);
        mf_json_finite(j, "r2", mf_regress_r2(of->task, s, c));
        mf_json_finite(j, "mean_error", mf_regress_error(of->task, s, c));
        mf_json_put(array, NULL, j);
    }
    mf_json_put(to, "columns", array);
    return MF_OK;
}

static double truth_of(const struct mf_scored *of, size_t i, size_t c)
{
    return (double)of->set->real[of->id[i] * of->set->reals + mf_regress_column(of->task, c)];
}

static double output_of(const struct mf_scored *of, size_t i, size_t c)
{
    return (double)of->scores->head[0].output[i * mf_task_outputs(of->task) + c];
}

static void add_column(struct mf_figure *figure, const struct mf_scored *of, size_t c)
{
    double *truth = MF_MUST(malloc((2 * of->n + 1) * sizeof *truth), "a picture"), *got = truth + of->n;

    for (size_t i = 0; i < of->n; ++i) {
        truth[i] = truth_of(of, i, c);
        got[i] = output_of(of, i, c);
    }
    mf_figure_predicted(figure, of->task->name[c], of->n, truth, got);
    free(truth);
}

/* The first columns, if there are many. */
static int draw(const struct mf_scored *of, const char *title, const char *path)
{
    const size_t all = mf_task_outputs(of->task), columns = all < MOST ? all : MOST;
    struct mf_figure figure = {.columns = columns < COLUMNS ? columns : COLUMNS};
    char *some = columns < all ? mf_format("%s (%zu of %zu columns)", title, columns, all) : NULL;
    int rc;

    for (size_t c = 0; c < columns; ++c) add_column(&figure, of, c);
    rc = mf_figure_write(path, some ? some : title, &figure);
    free(some);
    return rc;
}

static void put_name(FILE *to, const char *before, const char *name)
{
    char *text = mf_format("%s%s", before, name);

    fprintf(to, ",");
    mf_table_put(to, text);
    free(text);
}

static void table(const struct mf_scored *of, FILE *to)
{
    const size_t columns = mf_task_outputs(of->task);

    fprintf(to, "id");
    for (size_t c = 0; c < columns; ++c) {
        put_name(to, "true_", of->task->name[c]);
        put_name(to, "predicted_", of->task->name[c]);
    }
    for (size_t i = 0; i < of->n; ++i) {
        fprintf(to, "\n%lu", (unsigned long)of->id[i]);
        for (size_t c = 0; c < columns; ++c) fprintf(to, ",%.7g,%.7g", truth_of(of, i, c), output_of(of, i, c));
    }
    fprintf(to, "\n");
}

/* -- predictions -- */

static void line(const struct mf_task *task, const float *answer, FILE *to)
{
    for (size_t c = 0; c < mf_task_outputs(task); ++c)
        fprintf(to, "%s %s %.6g", c ? "," : ":", task->name[c], (double)answer[c]);
}

static void reply(const struct mf_task *task, const float *answer, struct mf_json *to)
{
    struct mf_json *values = mf_json_object();

    for (size_t c = 0; c < mf_task_outputs(task); ++c) mf_json_real(values, task->name[c], (double)answer[c]);
    mf_json_put(to, "values", values);
}

static void names(const struct mf_task *task, FILE *to)
{
    for (size_t c = 0; c < mf_task_outputs(task); ++c) put_name(to, "", task->name[c]);
}

static void values(const struct mf_task *task, const float *answer, FILE *to)
{
    for (size_t c = 0; c < mf_task_outputs(task); ++c) fprintf(to, ",%.7g", (double)answer[c]);
}

/* -- results in a card -- */

static double judged(const struct mf_json *split, size_t n, double *each)
{
    double sum = 0;

    for (size_t c = 0; c < n; ++c) {
        each[c] = mf_json_to_finite(mf_json_item(mf_json_get(split, "r2"), c));
        sum += each[c] / (double)n;
    }
    return sum;
}

static void results(const struct mf_json *split, FILE *to)
{
    const struct mf_json *r2 = mf_json_get(split, "r2");
    char text[MF_LOSS_TEXT];

    for (size_t c = 0; r2 && c < mf_json_count(r2); ++c)
        fprintf(to, "%s%s", c ? " " : "R2 ", mf_r2_text(mf_json_to_finite(mf_json_item(r2, c)), text));
}

const struct mf_learn_show mf_show_regress = {.verb = "regress",
                                              .picture = "predicted.png",
                                              .draws_outputs = 1,
                                              .title = "predicts:",
                                              .draw = draw,
                                              .print = print,
                                              .json = json,
                                              .table = table,
                                              .line = line,
                                              .reply = reply,
                                              .names = names,
                                              .values = values,
                                              .results = results,
                                              .judged = judged,
                                              .judged_by = "R2"};
