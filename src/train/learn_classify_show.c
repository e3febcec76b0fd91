/* See learn_show.h: classes. */
#include <math.h>
#include <stdlib.h>

#include "io/table.h"
#include "src/base/err.h"
#include "src/show/training.h"
#include "src/train/learn_classify.h"

enum { SHOWN = 3 /* classes of a file */ };

/* -- scores -- */

/* Samples of a class, those that were taken for it, and those that are both. */
struct counts {
    double is, taken, right;
};

static struct counts counts_of(const struct mf_scored *of, size_t c)
{
    const double *confusion = mf_classify_confusion(&of->scores->head[0]);
    const size_t n = mf_task_outputs(of->task);
    struct counts k = {.right = confusion[c * n + c]};

    for (size_t i = 0; i < of->n; ++i) k.is += of->set->label[of->id[i]] == (int32_t)c;
    for (size_t i = 0; i < n; ++i) k.taken += confusion[i * n + c];
    return k;
}

static double share(double part, double all) { return all > 0 ? part / all : NAN; }

static void print_share(double value, FILE *to)
{
    if (isfinite(value))
        fprintf(to, "  %7.2f %%", 100 * value);
    else
        fprintf(to, "  %9s", "-");
}

static int print(const struct mf_scored *of, FILE *to)
{
    const int width = mf_show_width(of->task, "class");
    char text[MF_LOSS_TEXT];

    fprintf(to, ", accuracy %s\n%-*s  %8s  %9s  %9s\n",
            mf_accuracy_text(mf_classify_accuracy(&of->scores->head[0]), text), width, "class", "samples", "recall",
            "precision");
    for (size_t c = 0; c < mf_task_outputs(of->task); ++c) {
        const struct counts k = counts_of(of, c);

        fprintf(to, "%-*s  %8.0f", width, of->task->name[c], k.is);
        print_share(share(k.right, k.is), to);
        print_share(share(k.right, k.taken), to);
        fprintf(to, "\n");
    }
    return MF_OK;
}

static int json(const struct mf_scored *of, struct mf_json *to)
{
    const struct mf_head_scores *s = &of->scores->head[0];
    const size_t n = mf_task_outputs(of->task);
    struct mf_json *array = mf_json_array();

    mf_json_finite(to, "accuracy", mf_classify_accuracy(s));
    mf_json_table(to, "confusion", mf_classify_confusion(s), n, n);
    for (size_t c = 0; c < n; ++c) {
        struct mf_json *j = mf_json_object();
        const struct counts k = counts_of(of, c);

        mf_json_text(j, "name", of->task->name[c]);
        mf_json_int(j, "samples", (long long)k.is);
        mf_json_finite(j, "recall", share(k.right, k.is));
        mf_json_finite(j, "precision", share(k.right, k.taken));
        mf_json_put(array, NULL, j);
    }
    mf_json_put(to, "classes", array);
    return MF_OK;
}

static int draw(const struct mf_scored *of, const char *title, const char *path)
{
    const size_t n = mf_task_outputs(of->task);
    struct mf_figure figure = {.columns = 0};
    const char **names = mf_figure_keep(&figure, n * sizeof *names);

    for (size_t c = 0; c < n; ++c) names[c] = of->task->name[c];
    mf_figure_confusion(&figure, n, names, mf_classify_confusion(&of->scores->head[0]));
    return mf_figure_write(path, title, &figure);
}

/* -- predictions -- */

/* The most probable classes. */
static void line(const struct mf_task *task, const float *answer, FILE *to)
{
    const size_t n = mf_task_outputs(task);
    char *used = MF_MUST(calloc(n, 1), "classes");

    for (size_t k = 0; k < SHOWN && k < n; ++k) {
        size_t best = n;

        for (size_t i = 0; i < n; ++i)
            if (!used[i] && (best == n || answer[i] > answer[best])) best = i;
        used[best] = 1;
        fprintf(to, "%s %s %.4f", k ? "," : ":", task->name[best], (double)answer[best]);
    }
    free(used);
}

static void reply(const struct mf_task *task, const float *answer, struct mf_json *to)
{
    const size_t n = mf_task_outputs(task), best = mf_classify_best(n, answer);
    struct mf_json *values = mf_json_object();

    for (size_t i = 0; i < n; ++i) mf_json_real(values, task->name[i], (double)answer[i]);
    mf_json_text(to, "class", task->name[best]);
    mf_json_real(to, "probability", (double)answer[best]);
    mf_json_put(to, "probabilities", values);
}

static void names(const struct mf_task *task, FILE *to)
{
    fprintf(to, ",predicted");
    for (size_t c = 0; c < mf_task_outputs(task); ++c) {
        fprintf(to, ",");
        mf_table_put(to, task->name[c]);
    }
}

static void values(const struct mf_task *task, const float *answer, FILE *to)
{
    const size_t n = mf_task_outputs(task);

    fprintf(to, ",");
    mf_table_put(to, task->name[mf_classify_best(n, answer)]);
    for (size_t c = 0; c < n; ++c) fprintf(to, ",%.6f", (double)answer[c]);
}

static void table(const struct mf_scored *of, FILE *to)
{
    fprintf(to, "id,true");
    names(of->task, to);
    for (size_t i = 0; i < of->n; ++i) {
        const int32_t label = of->set->label[of->id[i]];

        fprintf(to, "\n%lu,", (unsigned long)of->id[i]);
        mf_table_put(to, label < 0 ? "" : of->task->name[label]);
        values(of->task, of->scores->head[0].output + i * mf_task_outputs(of->task), to);
    }
    fprintf(to, "\n");
}

/* -- results in a card -- */

static double judged(const struct mf_json *split, size_t n, double *each)
{
    (void)n, (void)each;
    return mf_json_to_finite(mf_json_get(split, "accuracy"));
}

static void results(const struct mf_json *split, FILE *to)
{
    char text[MF_LOSS_TEXT];

    if (mf_json_get(split, "accuracy")) fprintf(to, "accuracy %s", mf_accuracy_text(judged(split, 0, NULL), text));
}

const struct mf_learn_show mf_show_classify = {.verb = "classify",
                                               .picture = "confusion.png",
                                               .title = "classes:",
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
                                               .judged_by = "accuracy"};
