/* See train.h: a step. */
#include <math.h>

#include "kernels/form/compare.h"
#include "kernels/form/route.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/train/phases.h"
#include "src/train/pipeline.h"
#include "src/train/slots.h"
#include "src/train/train_priv.h"

static const struct mf_pass_list *list_of(const struct mf_trainer *t, size_t micro)
{
    if (t->network.slots) return &t->network.slot[micro % t->network.slots].pass;
    if (t->slots || micro + 1 == t->micro) return &t->network.last;
    return micro == 0 ? &t->network.first : &t->network.inner;
}

/* Numbers of a mixture in trainer->load. */
static size_t load_size(const struct mf_trainer *t) { return t->experts.count + 2; }

/* The loads of this rank's first mixture. */
static double *own_load(const struct mf_trainer *t) { return t->load + t->network.mixture * load_size(t); }

/* Numbers of trainer->load. */
static size_t loads(const struct mf_trainer *t) { return t->experts.count ? mf_trainer_mixtures(t) * load_size(t) : 0; }

/* Rows of a pass that experts with this load do not take. */
static double dropped_of(const struct mf_trainer *t, const float *load)
{
    const size_t n = t->experts.count;
    double sent = 0, dropped = 0, most;

    for (size_t e = 0; e < n; ++e) sent += (double)load[e];
    most = (double)mf_route_capacity(t->opts.args.capacity, (size_t)sent, n);
    for (size_t e = 0; e < n; ++e) dropped += fmax(0, (double)load[e] - most);
    return dropped;
}

/* Adds the loads of the experts in this pass. Entropies are rounded so that they add up exactly, in any order. */
static void add_loads(struct mf_trainer *t, const struct mf_list *list, size_t micro)
{
    const size_t n = t->experts.count;
    double *to = own_load(t);

    for (size_t i = 0; i < list->nodes; ++i) {
        const float *load = list->node[i].op == MF_OP_ROUTE_LOAD
                                ? mf_trainer_fetched(t, list->node[i].out[0], MF_FETCH_PASSES + micro)
                                : NULL;

        if (load) t->sums[MF_SUM_DROPPED] += dropped_of(t, load);
        for (size_t e = 0; load && e < n + 2; ++e, ++to)
            *to += e == n ? mf_compare_grain((double)load[e]) : (double)load[e];
    }
}

/* Mean over layers of the uncertainty. */
static double uncertainty_of(const struct mf_trainer *t)
{
    const size_t n = t->experts.count;
    double sum = 0, rows = 0;

    for (const double *load = t->load; load < t->load + loads(t); load += n + 2) {
        sum += load[n];
        rows += load[n + 1];
    }
    return rows > 0 ? sum / rows : 0;
}

static double sent_of(const struct mf_trainer *t)
{
    const size_t n = t->experts.count;
    double sent = 0;

    for (const double *load = t->load; load < t->load + loads(t); load += n + 2)
        for (size_t e = 0; e < n; ++e) sent += load[e];
    return sent;
}

/* An expert with fewer rows than the mean gets a larger bias, one with more a smaller one: at most by the rate. */
static void balance_one(const struct mf_trainer *t, const double *load, float *bias)
{
    const size_t n = t->experts.count;
    double mean = 0;

    for (size_t e = 0; e < n; ++e) mean += load[e] / (double)n;
    for (size_t e = 0; mean > 0 && e < n; ++e) bias[e] += (float)(t->opts.args.balance * fmax(-1, 1 - load[e] / mean));
}

static void balance(struct mf_trainer *t)
{
    const struct mf_list *list = t->network.last.list;
    const int biases = t->network.biases;
    const struct mf_value *array = &t->network.net->value[biases < 0 ? 0 : biases];
    const double *load = own_load(t);

    if (biases < 0) return;
    for (size_t i = 0; i < list->nodes; ++i) {
        const struct mf_node *node = &list->node[i];

        if (node->op != MF_OP_ROUTE || node->back || node->in[1] < 0) continue;
        balance_one(t, load, mf_trainer_fetched(t, node->in[1], MF_FETCH_BIASES));
        load += load_size(t);
    }
    mf_place_put(t->queue, array->place, mf_walk_at(t->walk, list, biases),
                 mf_trainer_fetched(t, biases, MF_FETCH_BIASES), mf_shape_bytes(&array->shape));
}

/* Sums of rounded numbers are exact, in any order. */
static void add_losses(struct mf_trainer *t, const struct mf_pass_list *pass, size_t micro)
{
    for (size_t h = 0; h < t->network.heads; ++h)
        t->sums[MF_SUM_LOSS + h] +=
            mf_compare_grain((double)*(float *)mf_trainer_fetched(t, pass->loss[h], MF_FETCH_PASSES + micro));
}

/* After the host has waited. */
static void add_results(struct mf_trainer *t)
{
    for (size_t k = 0; k < mf_trainer_sums(t) + loads(t); ++k) t->sums[k] = 0;
    for (size_t m = 0; m < t->micro && mf_trainer_leads(t); ++m) {
        if (mf_network_answers(&t->network)) add_losses(t, list_of(t, m), m);
        if (t->experts.count > 0) add_loads(t, list_of(t, m)->list, m);
    }
}

int mf_trainer_leads(const struct mf_trainer *t) { return !t->weights.tensor || t->weights.tensor->rank == 0; }

int mf_trainer_silent(const struct mf_trainer *t) { return !mf_network_answers(&t->network) || !mf_trainer_leads(t); }

/* Stages are compared by the time that they work. */
static void run_timed(struct mf_trainer *t, const struct mf_list *list)
{
    const double began = mf_now(), waited = mf_walk_exchanged(t->walk);

    mf_walk_run(t->walk, list);
    t->busy += mf_now() - began - (mf_walk_exchanged(t->walk) - waited);
}

/* The list of micro-batch @p m that reads samples. A rank without samples left walks it, too, so that sums over ranks
 * find it. All ranks hear of a refusal behind these sums. */
static void pass_one(struct mf_trainer *t, size_t m, int *rc)
{
    const struct mf_pass_list *pass = list_of(t, m);
    const int read = *rc == MF_OK ? mf_trainer_next(t, m, pass) : *rc;

    if (read != MF_OK) {
        *rc = read;
        mf_feed(&t->scorer, pass, NULL, NULL);
    }
    run_timed(t, pass->list);
    mf_trainer_fetch(t, pass->list, pass->results, MF_FETCH_PASSES + m);
}

/* -- a stage of a pipeline -- */

struct turn {
    struct mf_trainer *t;
    int rc;
};

/* Numbers of the samples, which backward draws by as forward did. */
static void keep_numbers(struct mf_trainer *t, struct mf_pipe_slot *slot, int back)
{
    static const int which[] = {MF_NUMBER_SAMPLE, MF_NUMBER_SAMPLES};

    for (int k = 0; k < 2; ++k) {
        double *now = &mf_walk_numbers(t->walk)[which[k]];

        *(back ? now : &slot->number[k]) = back ? slot->number[k] : *now;
    }
}

static void act(void *context, enum mf_pipe_do what, size_t m)
{
    struct turn *turn = context;
    struct mf_trainer *t = turn->t;
    struct mf_pipe_slot *slot = &t->network.slot[m % t->network.slots];

    switch (what) {
    case MF_PIPE_TAKE: mf_walk_run(t->walk, slot->take); break;
    case MF_PIPE_FORWARD:
        pass_one(t, m, &turn->rc);
        keep_numbers(t, slot, 0);
        break;
    case MF_PIPE_BACKWARD:
        keep_numbers(t, slot, 1);
        run_timed(t, slot->backward);
        if (t->slots) mf_slots_add(t->slots);
        break;
    case MF_PIPE_GIVE: mf_walk_run(t->walk, slot->give); break;
    }
}

static int pass_pipeline(struct mf_trainer *t)
{
    struct turn turn = {t, MF_OK};

    if (t->network.begin) mf_walk_run(t->walk, t->network.begin);
    mf_pipeline_order(t->micro, t->network.stages, t->network.own, &turn, act);
    return turn.rc;
}

void mf_trainer_repeat(const struct mf_trainer *t)
{
    const struct mf_pipe_slot *slot = t->network.slot;

    if (slot) mf_walk_run(t->walk, slot->take);
    mf_walk_run(t->walk, t->network.last.list);
    if (slot) mf_walk_run(t->walk, slot->backward);
    if (slot) mf_walk_run(t->walk, slot->give);
}

/* All passes of a step. */
static int pass_all(struct mf_trainer *t)
{
    int rc = MF_OK, summed;

    if (t->network.slots) rc = pass_pipeline(t);
    for (size_t m = 0; !t->network.slots && m < t->micro; ++m) {
        pass_one(t, m, &rc);
        if (t->slots) mf_slots_add(t->slots);
    }
    summed = t->slots ? mf_slots_sum(t->slots) : MF_OK;
    return rc == MF_OK ? summed : rc;
}

/* Ends the sums over ranks. The host waits for the device here, once in a step. What the host computes itself needs
 * all before it; else the norms come last. */
static void await_all(struct mf_trainer *t)
{
    const struct mf_network *n = &t->network;

    mf_trainer_fetch(t, n->last.list, n->biases, MF_FETCH_BIASES);
    if (n->layout.offload) mf_trainer_await(t);
    mf_walk_run(t->walk, n->reduce);
    mf_trainer_fetch(t, n->reduce, n->norms, MF_FETCH_NORMS);
    mf_trainer_await(t);
    mf_feed_settle(&t->scorer, mf_feed_most(&t->scorer));
}

/* The squared norm of the gradients that every rank has whole, and this rank's part of that of others. */
static void squared_norms(const struct mf_trainer *t, double *whole, double *part)
{
    const struct mf_network *n = &t->network;

    *whole = *part = 0;
    for (size_t k = 0; k < n->layout.buckets; ++k) {
        const struct mf_bucket *bucket = &n->layout.bucket[k];
        const double square = *(double *)mf_trainer_fetched(t, n->norm[k], MF_FETCH_NORMS);

        if (bucket->copies == n->ranks * n->tensor * n->stages)
            *whole += square;
        else
            *part += square / (double)bucket->copies;
    }
}

/* Losses add up over ranks, and squared norms where each has a part of the gradients. */
static void reduce(struct mf_trainer *t, int failed, double square, size_t n, int64_t *wish, struct mf_step *step)
{
    double *sums = t->sums;

    sums[MF_SUM_SQUARE] = square;
    sums[MF_SUM_FAILED] = failed ? 1 : 0;
    mf_collect_step(t->comm, mf_trainer_sums(t) + loads(t), sums, n, wish);
    for (size_t h = 0; h < t->network.heads; ++h) {
        step->loss += sums[MF_SUM_LOSS + h];
        step->head_loss[h] = sums[MF_SUM_LOSS + h] / t->opts.task->head[h].weight;
    }
}

/* A mean over no rows is 0. The weight of a head stands in what its sum is divided by. */
static void begin(struct mf_trainer *t, struct mf_step *step)
{
    const struct mf_window window = mf_window_of(t->set->count[MF_TRAIN], t->opts.effective, t->step);
    double *number = mf_walk_numbers(t->walk);

    *step = (struct mf_step){.samples = window.count, .rate = mf_schedule_rate(&t->opts.schedule, t->step)};
    for (size_t h = 0; h < t->network.heads; ++h) {
        const size_t rows = mf_window_rows(t->opts.task, t->set, t->opts.seed, &window, h);

        number[MF_NUMBER_ROWS + h] = rows ? (double)rows / t->opts.task->head[h].weight : 1;
        step->head_rows[h] = rows;
        step->rows += rows;
    }
    number[MF_NUMBER_STEP] = (double)(t->step + 1 - t->skipped);
    number[MF_NUMBER_LOSS_SCALE] = t->scale.value;
}

static void optimise(struct mf_trainer *t, const struct mf_step *step)
{
    double *number = mf_walk_numbers(t->walk);
    const double clip = t->opts.clip;

    number[MF_NUMBER_LEARNING_RATE] = step->rate;
    number[MF_NUMBER_SCALE] = (clip > 0 && step->norm > clip ? clip / step->norm : 1) / t->scale.value;
    if (t->step == t->skipped && t->network.average_begin) mf_walk_run(t->walk, t->network.average_begin);
    mf_walk_run(t->walk, t->network.optimise);
}

void mf_trainer_swap(struct mf_trainer *t)
{
    if (t->network.average_swap && t->step > t->skipped) mf_walk_run(t->walk, t->network.average_swap);
}

int mf_trainer_step(struct mf_trainer *t, size_t n, int64_t *wish, struct mf_step *step)
{
    double square, whole;
    int rc;
    MF_PHASE(&mf_phase_steps);

    mf_trainer_read_ahead(t);
    begin(t, step);
    rc = pass_all(t);
    await_all(t);
    add_results(t);
    squared_norms(t, &whole, &square);
    reduce(t, rc != MF_OK, square, n, wish, step);
    if (t->sums[MF_SUM_FAILED] > 0) return mf_agree(t->comm, rc);
    square = t->sums[MF_SUM_SQUARE] + whole;
    step->norm = sqrt(square) / t->scale.value;
    step->uncertainty = uncertainty_of(t);
    step->sent = sent_of(t);
    step->dropped = t->sums[MF_SUM_DROPPED];
    step->skipped = !isfinite(square) || !isfinite(step->loss);
    if (!step->skipped) optimise(t, step);
    if (!step->skipped) balance(t);
    t->skipped += (size_t)step->skipped;
    step->skipped += mf_scale_move(&t->opts.scale, &t->scale, step->skipped);
    ++t->step;
    return MF_OK;
}
