/* See train.h: how well a network does on samples. Ranks take contiguous runs of whole batches: outputs come in their
 * order, and sums do not depend on the number of ranks. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/train/phases.h"
#include "src/train/train_priv.h"

/* Whole numbers, whose sums are exact in any order; and real sums of a batch, which are added in the order of the
 * batches. Per column: error^2, |error|, y, y^2. */
enum { ROWS, RIGHT, LOST, COUNTS };
enum { LOSS, SUMS, COLUMN = 4 };

struct tally {
    struct mf_trainer *t;
    size_t outputs, counts, sums;
    double *count; /* [counts] */
    double *sum;   /* [batches of this rank][sums] */
    float *output; /* of a batch */
    float *all;    /* of this rank's samples; NULL: not wanted */
    size_t done;
};

size_t mf_train_class(size_t n, const float *output)
{
    size_t best = 0;

    for (size_t i = 0; i < n; ++i) {
        if (isnan(output[i])) return n;
        if (output[i] > output[best]) best = i;
    }
    return isinf(output[best]) ? n : best;
}

int mf_train_finite(size_t n, const float *output)
{
    for (size_t i = 0; i < n; ++i)
        if (!isfinite(output[i])) return 0;
    return 1;
}

static size_t outputs_of(const struct mf_trainer *t) { return mf_train_outputs(t->set, &t->opts); }

static void walk(struct mf_trainer *t, const struct mf_batch *batch)
{
    mf_trainer_feed(t, t->network.evaluate.list, batch);
    mf_walk_run(t->walk, t->network.evaluate.list);
}

/* What the network made of the last batch: [n][outputs]. */
static void fetch(const struct mf_trainer *t, size_t n, float *output)
{
    t->queue->backend->get(t->queue, output, mf_walk_at(t->walk, t->network.evaluate.list, t->network.output),
                           n * outputs_of(t) * sizeof *output);
    t->queue->backend->sync(t->queue);
}

/* In stage 3 every pass gathers weights, and where ranks share experts it trades rows. So all ranks make as many passes
 * as the first, which has most. */
static void keep_company(struct mf_trainer *t, size_t samples, size_t done)
{
    const struct mf_list *list = t->network.evaluate.list;
    const size_t batch = t->opts.batch, most = mf_cut((samples + batch - 1) / batch, (size_t)t->comm->size, 0).count;
    const int together = t->network.layout.stage == 3 || t->network.ways > 1;

    for (size_t k = (done + batch - 1) / batch; together && k < most; ++k) {
        mf_trainer_feed(t, list, NULL);
        mf_walk_run(t->walk, list);
    }
    t->queue->backend->sync(t->queue);
}

/* Real values of a sample into the units of the dataset. */
static void restore_units(const struct mf_trainer *t, float *output)
{
    for (size_t c = 0; c < t->opts.columns; ++c)
        output[c] = (float)(output[c] * t->units.deviation[c] + t->units.mean[c]);
}

void mf_trainer_predict(struct mf_trainer *t, size_t n, const float *input, float *output)
{
    const size_t each = t->set->dims[0] * t->set->dims[1] * t->set->dims[2] * t->set->inputs, outputs = outputs_of(t);

    mf_walk_numbers(t->walk)[MF_NUMBER_ROWS] = 1;
    for (size_t done = 0; done < n; done += t->opts.batch) {
        const size_t count = n - done < t->opts.batch ? n - done : t->opts.batch;
        const struct mf_batch batch = {.n = count, .input = input + done * each};

        walk(t, &batch);
        fetch(t, count, output + done * outputs);
    }
    for (size_t r = 0; !t->opts.classify && r < n; ++r) restore_units(t, output + r * outputs);
}

static void want(const struct mf_trainer *t, struct mf_reader *reader, size_t n, const uint32_t *id, size_t *asked)
{
    while (*asked < n && mf_reader_room(reader) > 0) {
        const size_t left = n - *asked, count = left < t->opts.batch ? left : t->opts.batch;

        for (size_t i = 0; i < count; ++i) t->id[i] = id[*asked + i];
        mf_reader_want(reader, count, t->id);
        *asked += count;
    }
}

int mf_trainer_read(const struct mf_trainer *t, const struct mf_dataset *set, size_t n, const uint32_t *id,
                    void (*take)(void *context, const struct mf_batch *batch), void *context)
{
    const struct mf_reader_wish wish = mf_trainer_reading(&t->opts, MF_AHEAD_SCORE);
    struct mf_reader *reader = NULL;
    size_t asked = 0, done = 0;
    int rc = mf_reader_open(set, t->arena, &wish, &reader);

    while (rc == MF_OK && done < n) {
        struct mf_batch batch;

        want(t, reader, n, id, &asked);
        rc = mf_reader_take(reader, &batch);
        if (rc != MF_OK) break;
        take(context, &batch);
        done += batch.n;
        mf_reader_give(reader, &batch);
    }
    mf_reader_close(reader);
    return rc;
}

struct mf_span mf_trainer_share(const struct mf_trainer *t, size_t n)
{
    const size_t batch = t->opts.batch, batches = (n + batch - 1) / batch;
    const struct mf_span own = mf_cut(batches, (size_t)t->comm->size, (size_t)t->comm->rank);
    const size_t first = own.first * batch, end = (own.first + own.count) * batch;

    return (struct mf_span){first, own.count == 0 ? 0 : end < n ? own.count * batch : n - first};
}

struct pass {
    struct mf_trainer *t;
    void (*see)(void *context, const struct mf_batch *batch);
    void *context;
    size_t done;
};

static void pass_batch(void *context, const struct mf_batch *batch)
{
    struct pass *p = context;

    walk(p->t, batch);
    p->see(p->context, batch);
    p->done += batch->n;
}

int mf_trainer_pass(struct mf_trainer *t, size_t n, const uint32_t *id,
                    void (*see)(void *context, const struct mf_batch *batch), void *context)
{
    const struct mf_span own = mf_trainer_share(t, n);
    struct pass p = {t, see, context, 0};
    int rc;

    mf_walk_numbers(t->walk)[MF_NUMBER_ROWS] = 1;
    rc = mf_trainer_read(t, t->set, own.count, id + own.first, pass_batch, &p);
    keep_company(t, n, p.done);
    return mf_agree(t->comm, rc);
}

static void count_class(struct tally *y, const float *output, int32_t label)
{
    const size_t taken = mf_train_class(y->outputs, output);

    if (label < 0) return;
    y->count[ROWS] += 1;
    if (taken == y->outputs) return;
    y->count[RIGHT] += taken == (size_t)label;
    y->count[COUNTS + (size_t)label * y->outputs + taken] += 1;
}

static void count_columns(struct tally *y, double *sum, const float *output, const float *real)
{
    const struct mf_trainer *t = y->t;

    y->count[ROWS] += 1;
    sum += SUMS;
    for (size_t c = 0; c < y->outputs; ++c, sum += COLUMN) {
        const double want = real[t->opts.column[c]], got = output[c];

        sum[0] += (got - want) * (got - want);
        sum[1] += fabs(got - want);
        sum[2] += want;
        sum[3] += want * want;
    }
}

static void count_batch(void *context, const struct mf_batch *batch)
{
    struct tally *y = context;
    struct mf_trainer *t = y->t;
    double *sum = y->sum + y->done / t->opts.batch * y->sums;

    fetch(t, batch->n, y->output);
    sum[LOSS] = mf_trainer_number(t, t->network.evaluate.list, t->network.evaluate.loss);
    for (size_t r = 0; r < batch->n; ++r) {
        float *output = y->output + r * y->outputs;

        y->count[LOST] += !mf_train_finite(y->outputs, output);
        if (t->opts.classify) {
            count_class(y, output, batch->label[r]);
            continue;
        }
        restore_units(t, output);
        count_columns(y, sum, output, batch->real + r * t->set->reals);
    }
    if (y->all) memcpy(y->all + y->done * y->outputs, y->output, batch->n * y->outputs * sizeof *y->output);
    y->done += batch->n;
}

/* @p sum: of all batches. */
static void finish(const struct tally *y, const double *sum, struct mf_scores *s)
{
    const double n = y->count[ROWS];

    s->rows = (size_t)n;
    s->lost = (size_t)y->count[LOST];
    s->loss = n > 0 ? sum[LOSS] / n : NAN;
    s->accuracy = isfinite(s->loss) ? y->count[RIGHT] / n : NAN;
    if (y->t->opts.classify) memcpy(s->confusion, y->count + COUNTS, y->outputs * y->outputs * sizeof *s->confusion);
    sum += SUMS;
    for (size_t c = 0; !y->t->opts.classify && c < y->outputs; ++c, sum += COLUMN) {
        const double spread = sum[3] - sum[2] * sum[2] / n;

        s->r2[c] = spread > 0 ? 1 - sum[0] / spread : NAN;
        s->mean_error[c] = sum[1] / n;
    }
}

/* Scores from the sums of all ranks. @p batches: of this one. */
static int add_up(const struct tally *y, size_t batches, struct mf_scores *s)
{
    const struct mf_comm *comm = y->t->comm;
    size_t *offset = MF_MUST(calloc((size_t)comm->size + 1, sizeof *offset), "scores");
    double *total = MF_MUST(calloc(y->sums, sizeof *total), "scores"), *sum;
    void *all = NULL;
    int rc;

    mf_comm_sum(comm, y->counts, y->count);
    rc = mf_comm_gather(comm, y->sum, batches * y->sums * sizeof *y->sum, &all, offset);
    sum = all;
    for (size_t i = 0; rc == MF_OK && i < offset[comm->size] / sizeof *sum; ++i) total[i % y->sums] += sum[i];
    if (rc == MF_OK) finish(y, total, s);
    free(offset);
    free(total);
    free(all);
    return rc;
}

static struct tally tally_new(struct mf_trainer *t, size_t batches, size_t samples, int outputs)
{
    struct tally y = {.t = t, .outputs = outputs_of(t)};

    y.counts = COUNTS + (t->opts.classify ? y.outputs * y.outputs : 0);
    y.sums = SUMS + (t->opts.classify ? 0 : COLUMN * y.outputs);
    y.count = MF_MUST(calloc(y.counts, sizeof *y.count), "scores");
    y.sum = MF_MUST(calloc((batches + 1) * y.sums, sizeof *y.sum), "scores");
    y.output = MF_MUST(calloc(t->opts.batch * y.outputs + 1, sizeof *y.output), "outputs");
    if (outputs) y.all = MF_MUST(calloc(samples * y.outputs + 1, sizeof *y.all), "outputs");
    return y;
}

static void tally_free(struct tally *y)
{
    free(y->count);
    free(y->sum);
    free(y->output);
    free(y->all);
}

int mf_trainer_score(struct mf_trainer *t, size_t n, const uint32_t *id, int outputs, struct mf_scores *s)
{
    const size_t classes = t->opts.classify ? t->set->classes : 0;
    const struct mf_span own = mf_trainer_share(t, n);
    const size_t batches = (own.count + t->opts.batch - 1) / t->opts.batch;
    struct tally y = tally_new(t, batches, own.count, outputs);
    void *all = NULL;
    int rc;
    MF_PHASE(&mf_phase_scores);

    *s = (struct mf_scores){.samples = n};
    s->confusion = MF_MUST(calloc(classes * classes + 1, sizeof *s->confusion), "scores");
    s->r2 = MF_MUST(calloc(y.outputs + 1, sizeof *s->r2), "scores");
    s->mean_error = MF_MUST(calloc(y.outputs + 1, sizeof *s->mean_error), "scores");
    rc = mf_trainer_pass(t, n, id, count_batch, &y);
    if (rc == MF_OK) rc = add_up(&y, batches, s);
    if (rc == MF_OK && outputs) rc = mf_comm_gather(t->comm, y.all, own.count * y.outputs * sizeof *y.all, &all, NULL);
    s->output = all;
    tally_free(&y);
    return rc;
}

void mf_scores_free(struct mf_scores *s)
{
    free(s->confusion);
    free(s->r2);
    free(s->mean_error);
    free(s->output);
    *s = (struct mf_scores){0};
}

const char *mf_accuracy_text(double accuracy, char text[MF_LOSS_TEXT])
{
    snprintf(text, MF_LOSS_TEXT, isfinite(accuracy) ? "%.2f %%" : "none", 100 * accuracy);
    return text;
}

const char *mf_r2_text(double r2, char text[MF_LOSS_TEXT])
{
    snprintf(text, MF_LOSS_TEXT, !isfinite(r2) ? "none" : fabs(r2) < 1e4 ? "%.4f" : "%.4g", r2);
    return text;
}

const char *mf_loss_text(double loss, char text[MF_LOSS_TEXT])
{
    snprintf(text, MF_LOSS_TEXT, isfinite(loss) ? "%.4g" : "none", loss);
    return text;
}

double mf_scores_merit(const struct mf_scores *s, const struct mf_train_opts *opts)
{
    double sum = 0;

    if (opts->classify) return s->accuracy;
    for (size_t c = 0; c < opts->columns; ++c) sum += s->r2[c];
    return sum / (double)opts->columns;
}
