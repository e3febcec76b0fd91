/* See learn_regress.h. */
#include "src/train/learn_regress.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/dataset_doubt.h"
#include "src/base/err.h"

enum { X, REAL };
enum { SQUARE, ERROR, TRUTH, TRUTH_SQUARE, EACH }; /* sums of a column */

/* Outputs are learnt in units of their own: (y - mean) / deviation. */
struct own {
    size_t *column; /* [outputs] of the dataset */
    double *mean, *deviation;
};

/* -- tasks -- */

static const struct own *own_of(const struct mf_task *task) { return task->own; }

static struct own *own_new(size_t columns)
{
    struct own *own = MF_MUST(calloc(1, sizeof *own), "a task");

    own->column = MF_MUST(calloc(columns + 1, sizeof *own->column), "columns");
    own->mean = MF_MUST(calloc(columns + 1, sizeof *own->mean), "units");
    own->deviation = MF_MUST(calloc(columns + 1, sizeof *own->deviation), "units");
    return own;
}

static void close_own(void *context)
{
    struct own *own = context;

    if (!own) return;
    free(own->column);
    free(own->mean);
    free(own->deviation);
    free(own);
}

/* Differences to the first value are summed: those of equal values are 0 exactly. */
static void measure(const struct mf_dataset *set, size_t c, struct own *own)
{
    const size_t n = set->id[MF_TRAIN] ? set->count[MF_TRAIN] : 0;
    const float *column = set->real + own->column[c];
    const double first = n ? (double)column[set->id[MF_TRAIN][0] * set->reals] : 0;
    double sum = 0, squares = 0, mean;

    for (size_t i = 0; i < n; ++i) sum += (double)column[set->id[MF_TRAIN][i] * set->reals] - first;
    mean = n ? sum / (double)n : 0;
    for (size_t i = 0; i < n; ++i) {
        const double d = (double)column[set->id[MF_TRAIN][i] * set->reals] - first - mean;

        squares += d * d;
    }
    own->mean[c] = first + mean;
    own->deviation[c] = squares > 0 ? sqrt(squares / (double)n) : 1;
}

static void set_sizes(struct mf_task *task)
{
    task->head[0].sums = EACH * task->head[0].outputs;
    task->head[0].figures = 2 * task->head[0].outputs;
}

struct mf_task mf_task_columns(const struct mf_dataset *set, size_t columns, const size_t *column)
{
    struct mf_task task = mf_task_named(&mf_learn_regress, columns, NULL);
    struct own *own = own_new(columns);

    for (size_t c = 0; c < columns; ++c) {
        own->column[c] = column[c];
        memcpy(task.name[c], set->real_name[column[c]], sizeof task.name[c]);
        measure(set, c, own);
    }
    task.own = own;
    set_sizes(&task);
    return task;
}

size_t mf_regress_column(const struct mf_task *task, size_t c) { return own_of(task)->column[c]; }
double mf_regress_mean(const struct mf_task *task, size_t c) { return own_of(task)->mean[c]; }

/* -- network and samples -- */

static size_t inputs(const struct mf_task *task, const size_t dims[4], size_t batch, const struct mf_arch *arch,
                     const struct mf_arch_args *args, struct mf_learn_input input[])
{
    (void)arch, (void)args;
    input[X] = mf_learn_samples(dims, batch);
    input[REAL] = mf_learn_reals("target", batch, task->head[0].outputs);
    return 2;
}

static int loss(const struct mf_task *task, const struct mf_learn_loss *of)
{
    (void)task;
    return mf_learn_squared(of, of->input[REAL]);
}

static void fill(const struct mf_task *task, const struct mf_fill *of, size_t input, void *to)
{
    const struct own *own = own_of(task);
    const struct mf_batch *batch = of->batch;
    float *y = to;

    (void)input;
    for (size_t r = 0; r < batch->n; ++r)
        for (size_t c = 0; c < task->head[0].outputs; ++c, ++y)
            *y = batch->real
                     ? (float)((batch->real[r * of->set->reals + own->column[c]] - own->mean[c]) / own->deviation[c])
                     : NAN;
}

static size_t rows(const struct mf_task *task, const struct mf_dataset *set, size_t head, size_t sample)
{
    (void)task, (void)set, (void)head, (void)sample;
    return 1;
}

/* -- scores -- */

static void restore(const struct mf_task *task, size_t head, float *output)
{
    const struct own *own = own_of(task);

    for (size_t c = 0; c < task->head[head].outputs; ++c)
        output[c] = (float)(output[c] * own->deviation[c] + own->mean[c]);
}

static void tally(const struct mf_task *task, const struct mf_dataset *set, size_t head, const struct mf_batch *batch,
                  size_t r, const float *output, double *count, double *sum)
{
    const float *real = batch->real + r * set->reals;

    (void)count;
    for (size_t c = 0; c < task->head[head].outputs; ++c, sum += EACH) {
        const double want = real[own_of(task)->column[c]], got = output[c];

        sum[SQUARE] += (got - want) * (got - want);
        sum[ERROR] += fabs(got - want);
        sum[TRUTH] += want;
        sum[TRUTH_SQUARE] += want * want;
    }
}

/* R2 of all columns, then errors. */
static void finish(const struct mf_task *task, size_t head, const struct mf_head_scores *s, double *figure)
{
    const size_t columns = task->head[head].outputs;

    for (size_t c = 0; c < columns; ++c) {
        const double *sum = s->sum + EACH * c, spread = sum[TRUTH_SQUARE] - sum[TRUTH] * sum[TRUTH] / s->rows;

        figure[c] = spread > 0 ? 1 - sum[SQUARE] / spread : NAN;
        figure[columns + c] = sum[ERROR] / s->rows;
    }
}

double mf_regress_r2(const struct mf_task *task, const struct mf_head_scores *s, size_t c)
{
    (void)task;
    return s->figure[c];
}

double mf_regress_error(const struct mf_task *task, const struct mf_head_scores *s, size_t c)
{
    return s->figure[task->head[0].outputs + c];
}

static double merit(const struct mf_task *task, const struct mf_scores *s)
{
    const size_t columns = task->head[0].outputs;
    double sum = 0;

    for (size_t c = 0; c < columns; ++c) sum += mf_regress_r2(task, &s->head[0], c);
    return sum / (double)columns;
}

const char *mf_r2_text(double r2, char text[MF_LOSS_TEXT])
{
    snprintf(text, MF_LOSS_TEXT, !isfinite(r2) ? "none" : fabs(r2) < 1e4 ? "%.4f" : "%.4g", r2);
    return text;
}

static void tell(const struct mf_task *task, double merit, FILE *to)
{
    char text[MF_LOSS_TEXT];

    fprintf(to, "%sR2 %s", task->head[0].outputs > 1 ? "mean " : "", mf_r2_text(merit, text));
}

static void put_figures(struct mf_json *to, const char *key, const double *value, size_t n)
{
    struct mf_json *array = mf_json_array();

    for (size_t c = 0; c < n; ++c) mf_json_finite(array, NULL, value[c]);
    mf_json_put(to, key, array);
}

static void put(const struct mf_task *task, const struct mf_scores *s, struct mf_json *to)
{
    const size_t columns = task->head[0].outputs;

    put_figures(to, "r2", s->head[0].figure, columns);
    put_figures(to, "mean_error", s->head[0].figure + columns, columns);
}

/* By the first column. */
static double mark(const struct mf_task *task, const struct mf_dataset *set, size_t sample)
{
    return (double)set->real[sample * set->reals + own_of(task)->column[0]];
}

/* -- files -- */

static void problem(const struct mf_task *task, FILE *to)
{
    fprintf(to, "task: regress\n--target: ");
    for (size_t c = 0; c < task->head[0].outputs; ++c) fprintf(to, "%s%s", c ? ", " : "", task->name[c]);
    fprintf(to, "\n--label-smoothing: 0\n"); /* as earlier versions wrote it */
}

static void save(const struct mf_task *task, struct mf_json *card)
{
    const struct own *own = own_of(task);

    mf_outputs_put(
        &(struct mf_outputs){
            .count = task->head[0].outputs, .name = task->name, .mean = own->mean, .deviation = own->deviation},
        card);
}

static int load(const struct mf_model_card *card, struct mf_task *task)
{
    const struct mf_outputs *o = &card->outputs;
    struct own *own = own_new(o->count);

    *task = mf_task_named(&mf_learn_regress, o->count, (const mf_name *)o->name);
    memcpy(own->mean, o->mean, o->count * sizeof *own->mean);
    memcpy(own->deviation, o->deviation, o->count * sizeof *own->deviation);
    task->own = own;
    set_sizes(task);
    return MF_OK;
}

static int fit(struct mf_task *task, const char *path, struct mf_dataset *set)
{
    struct own *own = task->own;

    for (size_t c = 0; c < task->head[0].outputs; ++c) {
        own->column[c] = mf_dataset_column(set, task->name[c]);
        if (own->column[c] == set->reals)
            return mf_fail(MF_INPUT, "'%s' has no column '%s', which the model of '%s' predicts", set->path,
                           task->name[c], path);
    }
    return MF_OK;
}

static void doubt(const struct mf_task *task, const struct mf_dataset *set)
{
    mf_doubt_reals(set, task->head[0].outputs, own_of(task)->column);
}

const struct mf_learn mf_learn_regress = {.name = "regress",
                                          .key = "columns",
                                          .reads = MF_READS_INPUT | MF_READS_REAL,
                                          .show = &mf_show_regress,
                                          .inputs = inputs,
                                          .loss = loss,
                                          .fill = fill,
                                          .rows = rows,
                                          .restore = restore,
                                          .tally = tally,
                                          .finish = finish,
                                          .merit = merit,
                                          .merit_key = "val_r2",
                                          .tell = tell,
                                          .put = put,
                                          .mark = mark,
                                          .problem = problem,
                                          .save = save,
                                          .load = load,
                                          .fit = fit,
                                          .doubt = doubt,
                                          .close = close_own};
