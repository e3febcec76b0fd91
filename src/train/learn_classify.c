/* See learn_classify.h. */
#include "src/train/learn_classify.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/dataset_doubt.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"

enum { X, LABEL };
enum { RIGHT, CONFUSION };

/* -- tasks -- */

/* NULL: labels are not smoothed. */
static double smoothing_of(const struct mf_task *task) { return task->own ? *(const double *)task->own : 0; }

static void set_sizes(struct mf_task *task)
{
    struct mf_head *head = &task->head[0];

    head->counts = head->figures = 1 + head->outputs * head->outputs;
}

struct mf_task mf_task_classes(size_t n, const mf_name *name, double smoothing)
{
    struct mf_task task = mf_task_named(&mf_learn_classify, n, name);

    task.own = MF_MUST(malloc(sizeof smoothing), "a task");
    *(double *)task.own = smoothing;
    set_sizes(&task);
    return task;
}

/* -- network and samples -- */

static size_t inputs(const struct mf_task *task, const size_t dims[4], size_t batch, const struct mf_arch *arch,
                     const struct mf_arch_args *args, struct mf_learn_input input[])
{
    (void)task, (void)arch, (void)args;
    input[X] = mf_learn_samples(dims, batch);
    input[LABEL] = mf_learn_labels("target", batch, 1);
    return 2;
}

static int loss(const struct mf_task *task, const struct mf_learn_loss *of)
{
    return mf_learn_softmax(of, task->head[0].outputs, of->input[LABEL], smoothing_of(task));
}

static void fill(const struct mf_task *task, const struct mf_fill *of, size_t input, void *to)
{
    int32_t *label = to;

    (void)task, (void)input;
    for (size_t r = 0; r < of->batch->n; ++r) label[r] = of->batch->label ? of->batch->label[r] : -1;
}

static size_t rows(const struct mf_task *task, const struct mf_dataset *set, size_t head, size_t sample)
{
    (void)task, (void)head;
    return set->label[sample] >= 0;
}

/* -- scores -- */

size_t mf_classify_best(size_t n, const float *output)
{
    size_t best = 0;

    for (size_t i = 0; i < n; ++i) {
        if (isnan(output[i])) return n;
        if (output[i] > output[best]) best = i;
    }
    return isinf(output[best]) ? n : best;
}

static void tally(const struct mf_task *task, const struct mf_dataset *set, size_t head, const struct mf_batch *batch,
                  size_t r, const float *output, double *count, double *sum)
{
    const size_t n = task->head[head].outputs, taken = mf_classify_best(n, output), label = (size_t)batch->label[r];

    (void)set, (void)sum;
    if (taken == n) return;
    count[RIGHT] += taken == label;
    count[CONFUSION + label * n + taken] += 1;
}

static void finish(const struct mf_task *task, size_t head, const struct mf_head_scores *s, double *figure)
{
    const size_t n = task->head[head].outputs;

    figure[0] = isfinite(s->loss) ? s->count[RIGHT] / s->rows : NAN;
    memcpy(figure + 1, s->count + CONFUSION, n * n * sizeof *figure);
}

static double merit(const struct mf_task *task, const struct mf_scores *s)
{
    (void)task;
    return mf_classify_accuracy(&s->head[0]);
}

const char *mf_accuracy_text(double accuracy, char text[MF_LOSS_TEXT])
{
    snprintf(text, MF_LOSS_TEXT, isfinite(accuracy) ? "%.2f %%" : "none", 100 * accuracy);
    return text;
}

static void tell(const struct mf_task *task, double merit, FILE *to)
{
    char text[MF_LOSS_TEXT];

    (void)task;
    fprintf(to, "accuracy %s", mf_accuracy_text(merit, text));
}

static void put(const struct mf_task *task, const struct mf_scores *s, struct mf_json *to)
{
    (void)task;
    mf_json_finite(to, "accuracy", mf_classify_accuracy(&s->head[0]));
}

static double mark(const struct mf_task *task, const struct mf_dataset *set, size_t sample)
{
    (void)task;
    return set->label[sample];
}

/* -- files -- */

static void problem(const struct mf_task *task, FILE *to)
{
    fprintf(to, "task: classify\n--label-smoothing: %.17g\n", smoothing_of(task));
}

static void save(const struct mf_task *task, struct mf_json *card)
{
    mf_outputs_put(&(struct mf_outputs){.count = task->head[0].outputs, .name = task->name, .classes = 1}, card);
}

static int load(const struct mf_model_card *card, struct mf_task *task)
{
    *task = mf_task_named(&mf_learn_classify, card->outputs.count, (const mf_name *)card->outputs.name);
    set_sizes(task);
    return MF_OK;
}

/* Samples of a class that the model does not know have no label for it. */
static void say_unknown(const char *path, const struct mf_dataset *set, size_t c)
{
    size_t samples = 0;

    for (size_t i = 0; i < set->samples; ++i) samples += set->label[i] == (int32_t)c;
    if (samples)
        mf_warn("class '%s' of '%s' is none of the model '%s': its %zu sample%s count as if they had no label",
                set->class_name[c], set->path, path, samples, MF_S(samples));
}

/* The set gets the model's classes, in its order. */
static void take_classes(const struct mf_task *task, struct mf_dataset *set, const size_t *class)
{
    const size_t n = task->head[0].outputs;

    for (size_t i = 0; i < set->samples; ++i) {
        const int32_t label = set->label[i];

        if (label >= 0) set->label[i] = class[label] < n ? (int32_t) class[label] : -1;
    }
    free(set->class_name);
    set->classes = n;
    set->class_name = MF_MUST(calloc(n, sizeof *set->class_name), "names");
    memcpy(set->class_name, task->name, n * sizeof *task->name);
}

static size_t find_name(const struct mf_task *task, const char *name)
{
    size_t i = 0;

    while (i < task->head[0].outputs && strcmp(task->name[i], name) != 0) ++i;
    return i;
}

/* Classes are found by name; a set may have some of them alone. */
static int fit(struct mf_task *task, const char *path, struct mf_dataset *set)
{
    const size_t n = task->head[0].outputs;
    size_t *class, known = 0;

    if (set->classes == 0) return mf_fail(MF_INPUT, "'%s' has no labels", set->path);
    class = MF_MUST(calloc(set->classes + 1, sizeof *class), "classes");
    for (size_t c = 0; c < set->classes; ++c) known += (class[c] = find_name(task, set->class_name[c])) < n;
    for (size_t c = 0; known && c < set->classes; ++c)
        if (class[c] == n) say_unknown(path, set, c);
    if (known) take_classes(task, set, class);
    free(class);
    if (known) return MF_OK;
    return mf_fail(MF_INPUT, "no class of '%s' ('%s', ..) is one of the model '%s' ('%s', ..)", set->path,
                   set->class_name[0], path, task->name[0]);
}

static void doubt(const struct mf_task *task, const struct mf_dataset *set)
{
    (void)task;
    mf_doubt_classes(set);
}

const struct mf_learn mf_learn_classify = {.name = "classify",
                                           .key = "classes",
                                           .reads = MF_READS_INPUT | MF_READS_LABEL,
                                           .by_class = 1,
                                           .show = &mf_show_classify,
                                           .inputs = inputs,
                                           .loss = loss,
                                           .fill = fill,
                                           .rows = rows,
                                           .tally = tally,
                                           .finish = finish,
                                           .merit = merit,
                                           .merit_key = "val_accuracy",
                                           .tell = tell,
                                           .put = put,
                                           .mark = mark,
                                           .problem = problem,
                                           .save = save,
                                           .load = load,
                                           .fit = fit,
                                           .doubt = doubt};
