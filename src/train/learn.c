/* See learn.h: what all kinds of tasks share. */
#include "src/train/learn.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/questions.h"
#include "src/base/err.h"
#include "src/train/learn_classify.h"
#include "src/train/learn_diffuse.h"
#include "src/train/learn_regress.h"
#include "src/train/learn_show.h"
#include "src/train/learn_vqa.h"

/* -- tasks -- */

struct mf_task mf_task_plain(const struct mf_learn *learn, size_t outputs)
{
    return (struct mf_task){
        .learn = learn, .heads = 1, .head = {{.name = learn->name, .outputs = outputs, .weight = 1}}};
}

struct mf_task mf_task_named(const struct mf_learn *learn, size_t outputs, const mf_name *name)
{
    struct mf_task task = mf_task_plain(learn, outputs);

    task.name = MF_MUST(calloc(outputs + 1, sizeof *task.name), "names");
    if (name && outputs) memcpy(task.name, name, outputs * sizeof *name);
    return task;
}

void mf_task_close(struct mf_task *task)
{
    free(task->name);
    if (task->learn && task->learn->close)
        task->learn->close(task->own);
    else
        free(task->own);
    *task = (struct mf_task){0};
}

size_t mf_task_outputs(const struct mf_task *task)
{
    size_t outputs = 0;

    for (size_t h = 0; h < task->heads; ++h) outputs += task->head[h].outputs;
    return outputs;
}

/* Files know kinds by their key: a generator and its teacher have one. */
int mf_task_same(const struct mf_task *a, const struct mf_task *b)
{
    const size_t outputs = mf_task_outputs(a);

    if (strcmp(a->learn->key, b->learn->key) != 0 || outputs != mf_task_outputs(b)) return 0;
    if (a->learn->same && !a->learn->same(a, b)) return 0;
    if (!a->name || !b->name) return a->name == b->name;
    for (size_t i = 0; i < outputs; ++i)
        if (strcmp(a->name[i], b->name[i]) != 0) return 0;
    return 1;
}

int mf_task_counts(const struct mf_task *task, const struct mf_dataset *set, size_t sample)
{
    for (size_t h = 0; h < task->heads; ++h)
        if (task->learn->rows(task, set, h, sample) > 0) return 1;
    return 0;
}

size_t mf_task_rows(const struct mf_task *task, const struct mf_dataset *set, enum mf_split split)
{
    size_t rows = 0;

    for (size_t i = 0; i < set->count[split]; ++i) rows += (size_t)mf_task_counts(task, set, set->id[split][i]);
    return rows;
}

int mf_learn_open(const struct mf_learn *learn, const struct mf_comm *comm, const char *path, struct mf_dataset **set)
{
    MF_TRY(mf_dataset_open(comm, path, set));
    return learn->reads & MF_READS_QUESTIONS ? mf_dataset_ask(comm, *set) : MF_OK;
}

int mf_learn_needs(const struct mf_learn *learn, const struct mf_dataset *set)
{
    if (learn->reads & MF_READS_LABEL && set->classes == 0) return mf_fail(MF_INPUT, "'%s' has no labels", set->path);
    if (learn->reads & MF_READS_QUESTIONS && !set->questions)
        return mf_fail(MF_INPUT, "'%s' has no questions", set->path);
    if (learn->reads & MF_READS_REAL && set->reals == 0)
        return mf_fail(MF_INPUT, "'%s' has no columns of real values to predict", set->path);
    return MF_OK;
}

/* A plan without a dataset has its facts, and no samples. */
int mf_task_needs(const struct mf_task *task, const struct mf_dataset *set)
{
    if (!set->id[MF_TRAIN] || mf_task_rows(task, set, MF_TRAIN) > 0) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has no label in its train split: all are -1", set->path);
}

/* -- inputs -- */

struct mf_learn_input mf_learn_samples(const size_t d[4], size_t batch)
{
    return (struct mf_learn_input){
        .name = "x", .shape = {.type = MF_F32, .n = 5, .d = {batch, d[0], d[1], d[2], d[3]}}, .plain = 1};
}

struct mf_learn_input mf_learn_labels(const char *name, size_t batch, size_t rows)
{
    struct mf_learn_input input = {.name = name, .shape = {.type = MF_I32, .n = 1, .d = {batch * rows}}};
    const int32_t none = -1;

    memcpy(&input.blank, &none, sizeof none);
    return input;
}

struct mf_learn_input mf_learn_reals(const char *name, size_t batch, size_t numbers)
{
    struct mf_learn_input input = {.name = name, .shape = {.type = MF_F32, .n = 2, .d = {batch, numbers}}};
    const float none = NAN;

    memcpy(&input.blank, &none, sizeof none);
    return input;
}

/* -- losses -- */

int mf_learn_softmax(const struct mf_learn_loss *of, size_t outputs, int target, double smoothing)
{
    const struct mf_shape all = mf_build_shape(of->build, of->output);
    const struct mf_attr attr = {.smoothing = of->train ? smoothing : 0, .head = of->head};
    int in[] = {of->output, target};

    if (all.n != 2 || all.d[1] != outputs)
        in[0] = mf_build_reshape(of->build, of->output,
                                 (struct mf_shape){.n = 2, .d = {mf_shape_count(&all) / outputs, outputs}});
    return mf_build_node(of->build, MF_OP_SOFTMAX_LOSS, attr, of->name, 2, in);
}

int mf_learn_squared(const struct mf_learn_loss *of, int target)
{
    const struct mf_attr attr = {.head = of->head};
    const int in[] = {of->output, target};

    return mf_build_node(of->build, MF_OP_SQUARED_LOSS, attr, of->name, 2, in);
}

const char *mf_loss_text(double loss, char text[MF_LOSS_TEXT])
{
    snprintf(text, MF_LOSS_TEXT, isfinite(loss) ? "%.4g" : "none", loss);
    return text;
}

int mf_outputs_finite(size_t n, const float *output)
{
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(output[i])) return 0;
    return 1;
}

/* -- what verbs show -- */

int mf_show_width(const struct mf_task *task, const char *head)
{
    size_t width = strlen(head);

    for (size_t i = 0; i < mf_task_outputs(task); ++i)
        if (strlen(task->name[i]) > width) width = strlen(task->name[i]);
    return (int)width;
}

/* -- kinds -- */

const struct mf_learn *const mf_learns[] = {&mf_learn_classify, &mf_learn_regress, &mf_learn_diffuse, &mf_learn_vqa,
                                            NULL};
