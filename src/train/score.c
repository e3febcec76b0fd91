/* See train.h: how well a network does on samples. Ranks take contiguous runs of whole batches: outputs come in their
 * order, and sums do not depend on the number of ranks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/train/phases.h"
#include "src/train/train_priv.h"

/* Counts are whole numbers, whose sums are exact in any order: samples that are lost, then for each head its rows and
 * its counts. Sums are those of a batch, which are added in the order of the batches: for each head its loss, and its
 * sums. */
enum { LOST, HEADS };

struct tally {
    struct mf_trainer *t;
    size_t counts, sums;
    double *count;           /* [counts] */
    double *sum;             /* [batches of this rank][sums] */
    float *output[MF_HEADS]; /* of a batch */
    float *all[MF_HEADS];    /* of this rank's samples; NULL: not wanted */
    size_t done;
};

static size_t numbers_of(const struct mf_trainer *t, size_t head) { return t->network.head[head].numbers; }

static void walk(struct mf_trainer *t, const struct mf_batch *batch)
{
    mf_trainer_feed(t, &t->network.evaluate, batch);
    mf_walk_run(t->walk, t->network.evaluate.list);
}

/* What the network made of the last batch: [n][numbers of the head]. */
static void fetch(const struct mf_trainer *t, size_t head, size_t n, float *output)
{
    t->queue->backend->get(t->queue, output,
                           mf_walk_at(t->walk, t->network.evaluate.list, t->network.head[head].output),
                           n * numbers_of(t, head) * sizeof *output);
    t->queue->backend->sync(t->queue);
}

/* In stage 3 every pass gathers weights, and where ranks share experts it trades rows. So all ranks make as many passes
 * as the first, which has most. */
static void keep_company(struct mf_trainer *t, size_t samples, size_t done)
{
    const size_t batch = t->opts.batch, most = mf_cut((samples + batch - 1) / batch, (size_t)t->comm->size, 0).count;
    const int together = t->network.layout.stage == 3 || t->network.ways > 1;

    for (size_t k = (done + batch - 1) / batch; together && k < most; ++k) walk(t, NULL);
    t->queue->backend->sync(t->queue);
}

static void restore_units(const struct mf_trainer *t, size_t head, float *output)
{
    const struct mf_task *task = t->opts.task;

    if (task->learn->restore) task->learn->restore(task, head, output);
}

/* Losses are sums over rows, without weights. */
static void set_rows(const struct mf_trainer *t)
{
    for (size_t h = 0; h < t->network.heads; ++h) mf_walk_numbers(t->walk)[MF_NUMBER_ROWS + h] = 1;
}

void mf_trainer_predict(struct mf_trainer *t, size_t n, const float *input, float *output)
{
    const size_t each = t->set->dims[0] * t->set->dims[1] * t->set->dims[2] * t->set->inputs,
                 outputs = numbers_of(t, 0);

    set_rows(t);
    for (size_t done = 0; done < n; done += t->opts.batch) {
        const size_t count = n - done < t->opts.batch ? n - done : t->opts.batch;
        const struct mf_batch batch = {.n = count, .input = input + done * each};

        walk(t, &batch);
        fetch(t, 0, count, output + done * outputs);
    }
    for (size_t r = 0; r < n; ++r) restore_units(t, 0, output + r * outputs);
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

    set_rows(t);
    rc = mf_trainer_read(t, t->set, own.count, id + own.first, pass_batch, &p);
    keep_company(t, n, p.done);
    return mf_agree(t->comm, rc);
}

/* One sample in all heads. */
static void count_sample(struct tally *y, const struct mf_batch *batch, size_t r, double *sum)
{
    const struct mf_trainer *t = y->t;
    const struct mf_task *task = t->opts.task;
    double *count = y->count + HEADS;
    int finite = 1;

    for (size_t h = 0; h < task->heads; ++h) {
        const size_t rows = task->learn->rows(task, t->set, h, batch->id[r]);
        float *output = y->output[h] + r * numbers_of(t, h);

        finite = finite && mf_outputs_finite(numbers_of(t, h), output);
        restore_units(t, h, output);
        count[0] += (double)rows;
        if (rows > 0) task->learn->tally(task, t->set, h, batch, r, output, count + 1, sum + 1);
        count += 1 + task->head[h].counts;
        sum += 1 + task->head[h].sums;
    }
    y->count[LOST] += !finite;
}

static void count_batch(void *context, const struct mf_batch *batch)
{
    struct tally *y = context;
    struct mf_trainer *t = y->t;
    double *const sums = y->sum + y->done / t->opts.batch * y->sums, *sum = sums;

    for (size_t h = 0; h < t->network.heads; ++h) {
        fetch(t, h, batch->n, y->output[h]);
        *sum = mf_trainer_number(t, t->network.evaluate.list, t->network.evaluate.loss[h]);
        sum += 1 + t->opts.task->head[h].sums;
    }
    for (size_t r = 0; r < batch->n; ++r) count_sample(y, batch, r, sums);
    for (size_t h = 0; h < t->network.heads; ++h)
        if (y->all[h])
            memcpy(y->all[h] + y->done * numbers_of(t, h), y->output[h],
                   batch->n * numbers_of(t, h) * sizeof *y->output[h]);
    y->done += batch->n;
}

/* @p sum: of all batches. */
static void finish(const struct tally *y, double *sum, struct mf_scores *s)
{
    const struct mf_task *task = y->t->opts.task;
    double *count = y->count + HEADS;

    s->lost = (size_t)y->count[LOST];
    s->loss = 0;
    for (size_t h = 0; h < task->heads; ++h) {
        struct mf_head_scores *head = &s->head[h];

        head->rows = count[0];
        head->loss = count[0] > 0 ? sum[0] / count[0] : NAN;
        head->count = count + 1;
        head->sum = sum + 1;
        task->learn->finish(task, h, head, head->figure);
        head->count = head->sum = NULL;
        s->rows += (size_t)head->rows;
        if (head->rows > 0) s->loss += task->head[h].weight * head->loss;
        count += 1 + task->head[h].counts;
        sum += 1 + task->head[h].sums;
    }
    if (s->rows == 0) s->loss = NAN;
}

/* Scores from the sums of all ranks. @p batches: of this one. */
static int add_up(const struct tally *y, size_t batches, struct mf_scores *s)
{
    const struct mf_comm *comm = y->t->comm;
    size_t *offset = MF_MUST(calloc((size_t)comm->size + 1, sizeof *offset), "scores");
    double *total = MF_MUST(calloc(y->sums + 1, sizeof *total), "scores"), *sum;
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
    const struct mf_task *task = t->opts.task;
    struct tally y = {.t = t, .counts = HEADS};

    MF_ASSERT(task->heads > 0);
    for (size_t h = 0; h < task->heads; ++h) {
        y.counts += 1 + task->head[h].counts;
        y.sums += 1 + task->head[h].sums;
        y.output[h] = MF_MUST(calloc(t->opts.batch * numbers_of(t, h) + 1, sizeof *y.output[h]), "outputs");
        if (outputs) y.all[h] = MF_MUST(calloc(samples * numbers_of(t, h) + 1, sizeof *y.all[h]), "outputs");
    }
    y.count = MF_MUST(calloc(y.counts, sizeof *y.count), "scores");
    y.sum = MF_MUST(calloc((batches + 1) * y.sums + 1, sizeof *y.sum), "scores");
    return y;
}

static void tally_free(struct tally *y)
{
    for (size_t h = 0; h < MF_HEADS; ++h) {
        free(y->output[h]);
        free(y->all[h]);
    }
    free(y->count);
    free(y->sum);
}

/* Outputs of all ranks' samples, in their order, on rank 0. */
static int gather_outputs(const struct tally *y, size_t samples, struct mf_scores *s)
{
    for (size_t h = 0; h < s->heads; ++h) {
        void *all = NULL;

        if (!y->all[h]) continue;
        MF_TRY(mf_comm_gather(y->t->comm, y->all[h], samples * numbers_of(y->t, h) * sizeof *y->all[h], &all, NULL));
        s->head[h].output = all;
    }
    return MF_OK;
}

int mf_trainer_score(struct mf_trainer *t, size_t n, const uint32_t *id, int outputs, struct mf_scores *s)
{
    const struct mf_task *task = t->opts.task;
    const struct mf_span own = mf_trainer_share(t, n);
    const size_t batches = (own.count + t->opts.batch - 1) / t->opts.batch;
    struct tally y = tally_new(t, batches, own.count, outputs);
    int rc;
    MF_PHASE(&mf_phase_scores);

    *s = (struct mf_scores){.samples = n, .heads = task->heads};
    for (size_t h = 0; h < task->heads; ++h)
        s->head[h].figure = MF_MUST(calloc(task->head[h].figures + 1, sizeof(double)), "scores");
    rc = mf_trainer_pass(t, n, id, count_batch, &y);
    if (rc == MF_OK) rc = add_up(&y, batches, s);
    if (rc == MF_OK) rc = gather_outputs(&y, own.count, s);
    tally_free(&y);
    return rc;
}

void mf_scores_free(struct mf_scores *s)
{
    for (size_t h = 0; h < s->heads; ++h) {
        free(s->head[h].figure);
        free(s->head[h].output);
    }
    *s = (struct mf_scores){0};
}
