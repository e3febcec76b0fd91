/* See loop.h. */
#include "src/train/loop.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/names.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/train/balance.h"
#include "src/train/loop_tell.h"
#include "src/train/replicas.h"
#include "src/train/train_priv.h"

/* -- checkpoints -- */

/* Which experts there are. A network that is loaded gets those of the file. */
static void list_experts(struct mf_trainer *t, struct mf_checkpoint *c)
{
    struct mf_experts experts = t->experts;
    long count = (long)experts.count, ways = (long)experts.ways;
    double id[MF_EXPERTS] = {0}, end[MF_EXPERTS] = {0};
    int rc;

    mf_checkpoint_int(c, "experts/count", &count);
    if (mf_checkpoint_code(c) == MF_OK && (count < 1 || count > MF_EXPERTS)) {
        mf_checkpoint_refuse(
            c, mf_fail(MF_INPUT, "the checkpoint has %ld experts; it must have 1 to %d", count, MF_EXPERTS));
        count = 1;
    }
    for (size_t e = 0; e < experts.count; ++e) id[e] = (double)experts.id[e];
    mf_checkpoint_reals(c, "experts/ids", id, (size_t)count);
    for (size_t w = 0; w < experts.ways; ++w) end[w] = (double)experts.end[w];
    mf_checkpoint_int(c, "experts/ways", &ways);
    if (mf_checkpoint_code(c) == MF_OK && (ways < 0 || ways > count)) ways = 0;
    if (ways > 1) mf_checkpoint_reals(c, "experts/ends", end, (size_t)ways);
    if (!mf_checkpoint_loads(c)) return;
    rc = mf_agree(t->comm, mf_checkpoint_code(c));
    experts.count = (size_t)count;
    for (size_t e = 0; e < experts.count; ++e) experts.id[e] = (long)id[e];
    experts.ways = (size_t)ways; /* with as many, each rank has the same experts again */
    for (size_t w = 0; w < experts.ways; ++w) experts.end[w] = (size_t)end[w];
    if (rc == MF_OK) rc = mf_trainer_rebuild(t, &experts, NULL);
    if (rc != MF_OK) mf_checkpoint_refuse(c, rc);
}

static void list_state(void *context, struct mf_checkpoint *c)
{
    struct mf_loop *loop = context;
    struct mf_trainer *t = loop->trainer;
    double seconds = loop->seconds + mf_now() - loop->began;

    mf_checkpoint_int(c, "epoch", &loop->epoch);
    mf_checkpoint_int(c, "best/epoch", &loop->best_epoch);
    mf_checkpoint_int(c, "best/since", &loop->since);
    mf_checkpoint_real(c, "best/merit", &loop->best);
    mf_checkpoint_real(c, "best/loss", &loop->best_loss);
    mf_checkpoint_real(c, "sum/loss", &loop->sum);
    mf_checkpoint_real(c, "sum/rows", &loop->rows);
    mf_checkpoint_int(c, "ended", &loop->ended);
    mf_checkpoint_real(c, "seconds", &seconds);
    if (t->experts.count > 0) list_experts(t, c);
    if (loop->listed) loop->listed(loop->grown, c);
    mf_trainer_keep(t, "", c);
    if (mf_checkpoint_loads(c)) loop->seconds = seconds;
}

/* Bytes of a checkpoint, all ranks: weights, moments, averages, and those of a score network. */
static double checkpoint_bytes(const struct mf_trainer *t)
{
    const double arrays = 3 + (t->network.average_swap ? 1 : 0) + (t->opts.beside.task ? 3 : 0);

    return arrays * sizeof(float) * (double)mf_weights_count(t->network.net, 0);
}

/* The weights of the best epoch are in the run's file alone. Where they are lost, a later epoch is the best. */
static void check_best(struct mf_loop *loop)
{
    struct mf_model_card card;
    int rc;

    if (loop->best_epoch == 0) return;
    rc = mf_agree(loop->trainer->comm, mf_model_card_open(loop->run->output, &card));
    mf_model_card_close(&card);
    if (rc == MF_OK) return;
    mf_warn("%s; the weights of epoch %ld, the best so far, are lost, and a later epoch will be the best",
            mf_err_text(), loop->best_epoch);
    mf_err_clear();
    loop->best_epoch = 0;
}

static int load(struct mf_loop *loop, struct mf_checkpoint *from)
{
    static const struct mf_problem_word words[] = {{"--effective-batch", 0, "left out, it is the checkpoint's"},
                                                   {"steps", 0, "--epochs and --max-steps make them"},
                                                   {0}};
    char differs[MF_PROBLEM_TEXT];
    int rc = MF_OK;

    if (!loop->run->keeper.last)
        rc = mf_problem_same(mf_checkpoint_problem(from), loop->problem, words);
    else if (!mf_loop_is_longer(mf_checkpoint_problem(from), loop->problem, differs))
        rc = mf_fail(MF_INPUT, "'%s' is of another training: %s; try: another --results-dir", loop->run->last, differs);
    if (rc == MF_OK) list_state(loop, from);
    if (rc == MF_OK) rc = mf_checkpoint_code(from);
    rc = mf_agree(loop->trainer->comm, rc);
    if (rc == MF_OK) rc = mf_loop_owns_model(loop->run, loop->problem);
    if (rc == MF_OK) check_best(loop);
    if (loop->run->keeper.last) loop->ended = loop->since = 0;
    return rc;
}

/* The state after the last step, from which a longer training goes on. The result does not need it. */
static int keep_last_state(struct mf_loop *loop)
{
    struct mf_checkpoint *state = mf_checkpoint_new(loop->problem);
    int rc;

    list_state(loop, state);
    rc = mf_checkpoint_write(loop->trainer->comm, loop->run->last, 1, state);
    mf_checkpoint_free(state);
    if (rc != MF_OUTPUT) return rc;
    mf_warn("%s; more --epochs cannot go on from here", mf_err_text());
    mf_err_clear();
    return MF_OK;
}

/* A model for which there is no room is refused before the first step. Rank 0 writes it. */
static int foresee_model(const struct mf_loop *loop)
{
    const struct mf_trainer *t = loop->trainer;
    const size_t bytes = mf_weights_count(t->network.net, 0) * sizeof(float);

    return mf_agree(t->comm, t->comm->rank == 0 ? mf_atomic_room(loop->run->output, bytes) : MF_OK);
}

static int begin(struct mf_loop *loop)
{
    struct mf_trainer *t = loop->trainer;
    struct mf_keeper *k = &loop->keeper;
    struct mf_checkpoint *from = NULL;
    int rc, had_metrics;

    loop->began = mf_now();
    loop->best = -INFINITY;
    MF_TRY(foresee_model(loop));
    MF_TRY(mf_agree(t->comm, t->comm->rank == 0 ? mf_loop_spares_others(loop) : MF_OK));
    MF_TRY(mf_keeper_begin(k, t->comm, &loop->run->keeper, checkpoint_bytes(t), &from));
    rc = from ? load(loop, from) : MF_OK;
    if (from && rc == MF_OK) {
        mf_keeper_resume(k, (long)t->step);
        mf_info("continuing after step %zu%s", t->step, k->opts.last ? " of a finished training" : "");
    }
    mf_checkpoint_free(from);
    if (rc == MF_OK && loop->run->aside)
        rc = mf_agree(t->comm, t->comm->rank == 0 ? mf_loop_put_aside(loop->run) : MF_OK);
    if (rc != MF_OK || t->comm->rank != 0) return rc;
    had_metrics = access(loop->run->metrics, F_OK) == 0;
    mf_metrics_open(&loop->metrics, loop->run->metrics, mf_name_base(loop->run->output), t->step > 0, 0);
    if (t->step == 0) mf_loop_clear(loop, had_metrics);
    mf_metrics_also(&loop->metrics, loop->forms);
    if (t->step > 0) mf_metrics_cut(&loop->metrics, NULL, 0, 0, (long)t->step);
    return MF_OK;
}

/* -- epochs -- */

static int write_model(const struct mf_loop *loop, const char *path, struct mf_json *results)
{
    const struct mf_trainer *t = loop->trainer;
    struct mf_json *card = mf_saved_card(t, results);
    int rc;

    mf_json_text(card, "problem", loop->problem);
    rc = mf_saved_write(t, path, card);
    mf_json_free(card);
    return rc;
}

/* The file of an epoch's weights, as long as it is one of the last. */
static int keep_last(const struct mf_loop *loop)
{
    char *path, *old;
    int rc;

    if (loop->keep == 0) return MF_OK;
    path = MF_MUST(mf_name_number(loop->run->output, "epoch", (uint64_t)loop->epoch), "a name");
    rc = write_model(loop, path, NULL);
    if (loop->trainer->comm->rank == 0 && loop->epoch > (long)loop->keep) {
        old = MF_MUST(mf_name_number(loop->run->output, "epoch", (uint64_t)(loop->epoch - (long)loop->keep)), "a name");
        unlink(old);
        free(old);
    }
    free(path);
    return rc;
}

/* The figures by which epochs are compared. Without a validation split they come from the loss of the epoch. R2 of
 * equal values is not a number. Accuracy does not count where the loss is not finite. Collective. */
static int judge(struct mf_loop *loop, const struct mf_scores *s, double *merit, double *loss)
{
    const double mean = loop->rows > 0 ? loop->sum / loop->rows : INFINITY;

    *merit = s->rows ? mf_loop_merit(loop, s) : -mean;
    *loss = s->rows ? s->loss : mean;
    if (loop->judged) MF_TRY(loop->judged(loop->grown, loop, merit));
    if (!isfinite(*loss)) *loss = INFINITY;
    if (isnan(*merit) || !isfinite(*loss)) *merit = -INFINITY;
    return MF_OK;
}

/* Is this epoch the best? The loss decides between equal merits. Differences as small as rounding do not count: they
 * depend on the number of ranks. No weights are kept whose loss is not finite. */
static int is_better(const struct mf_loop *loop, double merit, double loss)
{
    const double little = 1e-9;

    if (!isfinite(loss) || loop->trainer->skipped == loop->trainer->step) return 0; /* or nothing was learnt */
    if (loop->best_epoch == 0 || merit > loop->best + little) return 1;
    return merit >= loop->best - little && loss < loop->best_loss * (1 - 1e-6);
}

static int validate(struct mf_trainer *t, struct mf_scores *s)
{
    *s = (struct mf_scores){.samples = 0};
    if (!t->opts.task->learn->merit) return MF_OK;
    return mf_trainer_score(t, t->set->count[MF_VALIDATION], t->set->id[MF_VALIDATION], 0, s);
}

static int end_epoch(struct mf_loop *loop)
{
    struct mf_trainer *t = loop->trainer;
    struct mf_scores s;
    double merit, loss;
    int rc;

    mf_trainer_swap(t);
    rc = validate(t, &s);
    loop->epoch = mf_loop_epoch(loop);
    ++loop->since;
    if (rc == MF_OK) mf_loop_write_epoch(loop, &s);
    if (rc == MF_OK) rc = judge(loop, &s, &merit, &loss);
    if (rc == MF_OK && is_better(loop, merit, loss)) {
        loop->best = merit;
        loop->best_loss = loss;
        loop->best_epoch = loop->epoch;
        loop->since = 0;
        rc = write_model(loop, loop->run->output, NULL);
    }
    if (rc == MF_OK && loop->epoch_done) rc = loop->epoch_done(loop->grown, loop);
    loop->ended = loop->patience > 0 && loop->since >= (long)loop->patience;
    if (rc == MF_OK && t->comm->rank == 0) mf_loop_say_epoch(loop, &s);
    mf_scores_free(&s);
    loop->sum = loop->rows = loop->sent = loop->dropped = 0;
    if (rc == MF_OK) rc = keep_last(loop);
    mf_trainer_swap(t);
    if (rc == MF_OK && loop->drawn && loop->best_epoch > 0 && t->comm->rank == 0) loop->drawn(loop->context, loop);
    return rc;
}

/* -- steps -- */

static int is_last(const struct mf_loop *loop)
{
    return loop->ended || loop->trainer->step >= loop->trainer->opts.schedule.steps;
}

/* The node whose result was the first that is not finite. Where no step was hunted, the last pass is made again. */
static const struct mf_node *first_bad(const struct mf_trainer *t)
{
    if (t->opts.skips == 1) {
        mf_walk_hunt(t->walk, 1);
        mf_trainer_repeat(t);
    }
    return mf_walk_bad(t->walk);
}

/* The first rank that found a node says which. Collective. */
static int diverged(const struct mf_loop *loop)
{
    const struct mf_trainer *t = loop->trainer;
    const struct mf_node *node = first_bad(t);
    int64_t first = node ? -t->comm->rank : -t->comm->size;
    char text[120] = "";

    mf_collect_step(t->comm, 0, NULL, 1, &first);
    if (node)
        snprintf(text, sizeof text, "; %s of '%s' is the first", node->back ? "the gradient" : "the result",
                 node->name);
    if (-first < t->comm->size) mf_comm_bcast(t->comm, (int)-first, text, sizeof text);
    return mf_fail(MF_NUMERIC, "%zu step%s had numbers that are not finite%s; try: a smaller --learning-rate",
                   t->opts.skips, t->opts.skips == 1 ? "" : "s in a row", text);
}

/* In the last step that may be skipped, the walk looks for the node. A step that was skipped for the scale's sake
 * alone does not count. Collective. */
static int check_finite(const struct mf_loop *loop, const struct mf_step *step, size_t *bad)
{
    const struct mf_trainer *t = loop->trainer;

    if (step->skipped == 2) {
        mf_debug("step %zu: gradients are too large for f16; the scale of the loss is now %g", t->step, t->scale.value);
        return MF_OK;
    }
    *bad = step->skipped ? *bad + 1 : 0;
    if (step->skipped) mf_warn("step %zu: the gradients are not finite, and no weight changes", t->step);
    if (*bad >= t->opts.skips) return diverged(loop);
    mf_walk_hunt(t->walk, *bad > 0 && *bad + 1 == t->opts.skips);
    return MF_OK;
}

static int go(struct mf_loop *loop)
{
    struct mf_trainer *t = loop->trainer;
    const size_t each = mf_trainer_epoch(t);
    size_t bad = 0;

    while (!is_last(loop)) {
        int64_t wish[MF_KEEPER_WISHES];
        struct mf_step step;
        double began;

        mf_keeper_wish(&loop->keeper, t->comm->rank, (long)t->step + 1, wish);
        began = mf_now();
        MF_TRY(mf_trainer_step(t, MF_KEEPER_WISHES, wish, &step));
        loop->stepping += mf_now() - began;
        ++loop->steps;
        loop->seen += step.samples;
        loop->sent += step.sent;
        loop->dropped += step.dropped;
        if (!step.skipped) {
            loop->sum += step.loss * (double)step.rows;
            loop->rows += (double)step.rows;
        }
        mf_loop_write_step(loop, &step);
        MF_TRY(check_finite(loop, &step, &bad));
        if (t->opts.compare && t->step % t->opts.compare == 0 && t->comm->size > 1) MF_TRY(mf_replicas_compare(t));
        MF_TRY(mf_balance(t));
        if (loop->stepped) MF_TRY(loop->stepped(loop->grown, loop, &step));
        if (t->step % each == 0 || t->step == t->opts.schedule.steps) MF_TRY(end_epoch(loop));
        if (is_last(loop)) break;
        MF_TRY(mf_keeper_act(&loop->keeper, t->comm, mf_keeper_heed(&loop->keeper, wish), (long)t->step, loop->problem,
                             list_state, loop));
        if (loop->keeper.leaving) return mf_keeper_left(&loop->keeper);
    }
    return MF_OK;
}

/* -- the end -- */

static void put_scores(const struct mf_loop *loop, enum mf_split split, const struct mf_scores *s, struct mf_json *at)
{
    const struct mf_task *task = loop->trainer->opts.task;
    struct mf_json *j = mf_json_object();

    MF_JSON(j, "samples", s->samples, "labelled", mf_task_rows(task, loop->trainer->set, split));
    mf_json_finite(j, "loss", s->loss);
    task->learn->put(task, s, j);
    mf_json_put(at, mf_split_names[split], j);
}

static int score(const struct mf_loop *loop, enum mf_split split, struct mf_json *at)
{
    struct mf_trainer *t = loop->trainer;
    struct mf_scores s;
    int rc;

    if (t->set->count[split] == 0 || !t->opts.task->learn->merit) return MF_OK;
    rc = mf_trainer_score(t, t->set->count[split], t->set->id[split], 0, &s);
    if (rc == MF_OK) put_scores(loop, split, &s, at);
    mf_scores_free(&s);
    return rc;
}

/* The weights of the best epoch, from the run's file. */
static int take_best(struct mf_loop *loop)
{
    struct mf_trainer *t = loop->trainer;
    struct mf_model_card card;
    int rc;

    if (loop->since == 0 && !t->network.average_swap) return MF_OK; /* a file has averages */
    rc = mf_model_card_open(loop->run->output, &card);
    if (rc == MF_OK) rc = mf_saved_load(&card, t);
    mf_model_card_close(&card);
    return mf_agree(t->comm, rc);
}

/* Is the result of any use? */
static int check_result(const struct mf_loop *loop)
{
    const size_t steps = loop->trainer->step, all = loop->trainer->skipped, lost = (size_t)loop->trainer->scale.lost;
    const size_t skipped = all - lost;

    if (loop->best_epoch == 0)
        return mf_fail(MF_NUMERIC,
                       "the training diverged, and wrote no model: %s (%zu of %zu steps changed no weight); try: a "
                       "smaller --%s",
                       all == steps ? "all gradients were not finite" : "no epoch has a finite loss", all, steps,
                       lost > 0 ? "loss-scale" : "learning-rate");
    if (lost > 0)
        mf_info("%zu of %zu steps changed no weight, until the scale of the loss was small enough", lost, steps);
    if (skipped > 0)
        mf_warn("%zu of %zu steps changed no weight, since their gradients were not finite; try: a smaller "
                "--learning-rate",
                skipped, steps);
    return MF_OK;
}

/* Results without what depends on the machine, its ranks, and the place of the file. */
static struct mf_json *of_model(const struct mf_json *results)
{
    struct mf_json *copy = mf_json_copy(results);

    mf_json_drop(copy, "output");
    for (size_t k = 0; mf_loop_ends[k]; ++k) mf_json_drop(copy, mf_loop_ends[k]);
    return copy;
}

static int conclude(struct mf_loop *loop, struct mf_json **results)
{
    const struct mf_trainer *t = loop->trainer;
    struct mf_json *j;

    MF_TRY(check_result(loop));
    MF_TRY(keep_last_state(loop));
    *results = j = mf_json_object();
    MF_TRY(take_best(loop));
    MF_JSON(j, "output", loop->run->output, "problem", loop->run->problem, "steps", t->step, "epochs", loop->epoch,
            "best_epoch", loop->best_epoch, "precision", mf_type_name(t->opts.type), "skipped", t->skipped,
            "ended_early", (int)loop->ended, "parameters", mf_weights_count(t->network.net, 0), "peak_memory",
            mf_arena_peak(t->arena));
    MF_JSON(j, "seconds", loop->seconds + mf_now() - loop->began, "samples_per_second",
            (double)loop->seen / fmax(mf_now() - loop->began, 1e-9), "seconds_per_step",
            loop->steps > 0 ? loop->stepping / (double)loop->steps : 0, "waited_for_data", mf_reader_waited(t->reader));
    MF_TRY(score(loop, MF_VALIDATION, j));
    MF_TRY(score(loop, MF_TEST, j));
    mf_loop_write_end(loop, j);
    return write_model(loop, loop->run->output, of_model(j));
}

int mf_loop_run(struct mf_loop *loop, struct mf_json **results)
{
    int rc = begin(loop);

    if (rc == MF_OK) rc = go(loop);
    if (rc == MF_OK) rc = conclude(loop, results);
    mf_metrics_close(&loop->metrics);
    return rc;
}
