/* See train.h: how well a network does on samples. Ranks take contiguous runs of whole batches: outputs come in their
 * order, and sums do not depend on the number of ranks. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/room.h"
#include "src/train/phases.h"
#include "src/train/train_priv.h"

/* Counts are whole numbers, whose sums are exact in any order: samples that are lost, then for each head its rows and
 * its counts. Sums are those of a batch, which are added in the order of the batches: for each head its loss, and its
 * sums. */
enum { LOST, HEADS };

struct tally {
    struct mf_scorer *m;
    size_t counts, sums;
    double *count;           /* [counts] */
    double *sum;             /* [batches of this rank][sums] */
    float *output[MF_HEADS]; /* of a batch */
    float *all[MF_HEADS];    /* of this rank's samples; NULL: not wanted */
    size_t done;
};

/* Ranks that share the samples. */
static const struct mf_comm *sharers(const struct mf_scorer *m) { return m->data ? m->data : m->comm; }

static size_t numbers_of(const struct mf_scorer *m, size_t head) { return m->network->head[head].numbers; }

static void walk(struct mf_scorer *m, const struct mf_batch *batch)
{
    mf_feed(m, &m->network->evaluate, batch, NULL);
    mf_walk_run(m->walk, m->network->evaluate.list);
}

/* What the network made of the last batch: [n][numbers of the head]. */
static void fetch(const struct mf_scorer *m, size_t head, size_t n, float *output)
{
    m->queue->backend->get(m->queue, output,
                           mf_walk_at(m->walk, m->network->evaluate.list, m->network->head[head].output),
                           n * numbers_of(m, head) * sizeof *output);
    m->queue->backend->sync(m->queue);
}

/* In stage 3 every pass gathers weights, and where ranks share experts or layers they exchange rows. So all ranks make
 * as many passes as the first, which has most. */
static void keep_company(struct mf_scorer *m, size_t samples, size_t done)
{
    const size_t batch = m->batch, most = mf_cut((samples + batch - 1) / batch, (size_t)sharers(m)->size, 0).count;
    const struct mf_network *n = m->network;
    const int together = n->layout.stage == 3 || n->ways * n->tensor * n->stages > 1;

    for (size_t k = (done + batch - 1) / batch; together && k < most; ++k) walk(m, NULL);
    m->queue->backend->sync(m->queue);
}

static void restore_units(const struct mf_scorer *m, size_t head, float *output)
{
    const struct mf_task *task = m->task;

    if (task->learn->restore) task->learn->restore(task, head, output);
}

/* Losses are sums over rows, without weights. */
static void set_rows(const struct mf_scorer *m)
{
    for (size_t h = 0; h < m->network->heads; ++h) mf_walk_numbers(m->walk)[MF_NUMBER_ROWS + h] = 1;
}

/* Random numbers of scores do not depend on the step of the training. */
static void forget_step(const struct mf_scorer *m, double kept[MF_NUMBERS])
{
    double *number = mf_walk_numbers(m->walk);

    memcpy(kept, number, MF_NUMBERS * sizeof *kept);
    number[MF_NUMBER_SEED] = number[MF_NUMBER_STEP] = 0;
}

/* Whole batches, so that a batch is the same on any number of ranks. */
static struct mf_span share_of(const struct mf_scorer *m, size_t n)
{
    return mf_cut_grain(n, m->batch, (size_t)sharers(m)->size, (size_t)sharers(m)->rank);
}

void mf_scorer_look(struct mf_scorer *m, const struct mf_batch *batch, float *const output[])
{
    set_rows(m);
    mf_walk_numbers(m->walk)[MF_NUMBER_SAMPLE] = 0;
    walk(m, batch);
    for (size_t h = 0; batch && h < m->network->heads; ++h) fetch(m, h, batch->n, output[h]);
    m->queue->backend->sync(m->queue);
    mf_feed_settle(m, 0);
}

struct pass {
    struct mf_scorer *m;
    void (*see)(void *context, const struct mf_batch *batch);
    void *context;
    size_t first, done; /* first: number of this rank's first sample */
};

static void pass_batch(void *context, const struct mf_batch *batch)
{
    struct pass *p = context;

    mf_walk_numbers(p->m->walk)[MF_NUMBER_SAMPLE] = (double)(p->first + p->done);
    walk(p->m, batch);
    p->see(p->context, batch);
    mf_feed_settle(p->m, 0); /* its arrays go back to the reader */
    p->done += batch->n;
}

int mf_scorer_pass(struct mf_scorer *m, size_t n, const uint32_t *id,
                   void (*see)(void *context, const struct mf_batch *batch), void *context)
{
    const struct mf_span own = share_of(m, n);
    const struct mf_reader_wish wish = mf_learn_reading(m->task->learn, m->readers, m->batch, MF_AHEAD_SCORE);
    struct pass p = {m, see, context, own.first, 0};
    double kept[MF_NUMBERS];
    int rc;

    forget_step(m, kept);
    set_rows(m);
    rc = mf_samples_read(m->set, m->arena, &wish, own.count, id + own.first, pass_batch, &p);
    keep_company(m, n, p.done);
    memcpy(mf_walk_numbers(m->walk), kept, sizeof kept);
    return mf_agree(m->comm, rc);
}

/* One sample in all heads. */
static void count_sample(struct tally *y, const struct mf_batch *batch, size_t r, double *sum)
{
    const struct mf_scorer *m = y->m;
    const struct mf_task *task = m->task;
    double *count = y->count + HEADS;
    int finite = 1;

    for (size_t h = 0; h < task->heads; ++h) {
        const size_t rows = task->learn->rows(task, m->set, h, batch->id[r]);
        float *output = y->output[h] + r * numbers_of(m, h);

        finite = finite && mf_outputs_finite(numbers_of(m, h), output);
        restore_units(m, h, output);
        count[0] += (double)rows;
        if (rows > 0) task->learn->tally(task, m->set, h, batch, r, output, count + 1, sum + 1);
        count += 1 + task->head[h].counts;
        sum += 1 + task->head[h].sums;
    }
    y->count[LOST] += !finite;
}

/* The first number of a head's loss. */
static double loss_of(const struct mf_scorer *m, size_t h)
{
    const struct mf_pass_list *pass = &m->network->evaluate;
    const struct mf_value *of = &m->network->net->value[pass->loss[h]];
    float loss;

    mf_place_get(m->queue, of->place, &loss, mf_walk_at(m->walk, pass->list, pass->loss[h]), sizeof loss);
    return (double)loss;
}

static void count_batch(void *context, const struct mf_batch *batch)
{
    struct tally *y = context;
    struct mf_scorer *m = y->m;
    double *const sums = y->sum + y->done / m->batch * y->sums, *sum = sums;

    for (size_t h = 0; h < m->network->heads; ++h) {
        fetch(m, h, batch->n, y->output[h]);
        *sum = loss_of(m, h);
        sum += 1 + m->task->head[h].sums;
    }
    for (size_t r = 0; r < batch->n; ++r) count_sample(y, batch, r, sums);
    for (size_t h = 0; h < m->network->heads; ++h)
        if (y->all[h])
            memcpy(y->all[h] + y->done * numbers_of(m, h), y->output[h],
                   batch->n * numbers_of(m, h) * sizeof *y->output[h]);
    y->done += batch->n;
}

static void see_nothing(void *context, const struct mf_batch *batch)
{
    (void)context;
    (void)batch;
}

/* @p sum: of all batches. */
static void finish(const struct tally *y, double *sum, struct mf_scores *s)
{
    const struct mf_task *task = y->m->task;
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
    const struct mf_comm *comm = y->m->comm;
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

/* Local. */
static int tally_open(struct mf_scorer *m, size_t batches, size_t samples, int outputs, struct tally *y)
{
    const struct mf_task *task = m->task;

    *y = (struct tally){.m = m, .counts = HEADS};
    MF_ASSERT(task->heads > 0);
    for (size_t h = 0; h < task->heads; ++h) {
        y->counts += 1 + task->head[h].counts;
        y->sums += 1 + task->head[h].sums;
        MF_TRY(MF_ROOM(y->output[h], m->batch * numbers_of(m, h) + 1, "the outputs of a batch"));
        if (outputs) MF_TRY(MF_ROOM(y->all[h], samples * numbers_of(m, h) + 1, "the outputs of %zu samples", samples));
    }
    MF_TRY(MF_ROOM(y->count, y->counts, "the scores of %zu samples", samples));
    return MF_ROOM(y->sum, (batches + 1) * y->sums + 1, "the scores of %zu samples", samples);
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
        MF_TRY(mf_comm_gather(y->m->comm, y->all[h], samples * numbers_of(y->m, h) * sizeof *y->all[h], &all, NULL));
        s->head[h].output = all;
    }
    return MF_OK;
}

int mf_score(struct mf_scorer *m, size_t n, const uint32_t *id, int outputs, struct mf_scores *s)
{
    const struct mf_task *task = m->task;
    const struct mf_span own = share_of(m, n);
    const size_t batches = (own.count + m->batch - 1) / m->batch;
    struct tally y;
    int rc = mf_agree(m->comm, tally_open(m, batches, own.count, outputs, &y));
    MF_PHASE(&mf_phase_scores);

    *s = (struct mf_scores){.samples = n, .heads = task->heads};
    for (size_t h = 0; h < task->heads; ++h)
        s->head[h].figure = MF_MUST(calloc(task->head[h].figures + 1, sizeof(double)), "scores");
    if (rc == MF_OK) rc = mf_scorer_pass(m, n, id, m->silent ? see_nothing : count_batch, &y);
    if (rc == MF_OK) rc = add_up(&y, m->silent ? 0 : batches, s);
    if (rc == MF_OK) rc = gather_outputs(&y, m->silent ? 0 : own.count, s);
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

/* -- the network of a file -- */

static int make_own(const struct mf_model_card *c, struct mf_scorer *m)
{
    const struct mf_network_wish wish = {.arch = c->arch,
                                         .args = c->args,
                                         .task = *m->task,
                                         .dims = {c->dims[0], c->dims[1], c->dims[2], c->dims[3]},
                                         .batch = m->batch,
                                         .ranks = 1,
                                         .stream = m->stream};

    m->network = m->own = MF_MUST(calloc(1, sizeof *m->own), "a network");
    return mf_model_card_blame(c, mf_network_make(&wish, m->queue, m->own));
}

static int load_own(const struct mf_model_card *c, struct mf_scorer *m, const struct mf_walk_memory *memory)
{
    struct mf_weights weights;

    MF_TRY(mf_walk_open(&m->walk, m->own->net, m->queue, MF_WALK_PLANNED, memory));
    if (m->stages.arrays) mf_walk_exchange(m->walk, mf_arrays_exchanges(m->stages.arrays));
    weights = mf_network_weights(m->own, m->walk, NULL);
    MF_TRY(mf_feed_open(m));
    return mf_weights_load(&weights, c->file, NULL);
}

int mf_scorer_open(const struct mf_model_card *card, struct mf_scorer *m)
{
    struct mf_walk_memory memory;

    MF_TRY(mf_agree(m->comm, make_own(card, m)));
    MF_TRY(mf_stages_open(&m->stages, m->stream.comm, 1, 1, NULL, m->own->net, m->queue, &memory));
    return mf_agree(m->comm, load_own(card, m, &memory));
}

void mf_scorer_close(struct mf_scorer *m)
{
    mf_stages_close(&m->stages);
    mf_walk_close(m->walk);
    if (m->own) mf_network_free(m->own);
    free(m->own);
    mf_feed_close(m);
    *m = (struct mf_scorer){0};
}
