/* See sleep.h. */
#include "src/moe/sleep.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/moe/place.h"
#include "src/moe/sleep_priv.h"

enum {
    LOOKS = 64,    /* between two sleeps, about */
    SURVEY = 2048, /* samples of a survey */
};
static const double SHARP = 0.5, POWER = 0.7, SLOWER = 0.5; /* of specialisations */
static const double MANY = 1.5;                             /* times the experts at the start */

static int from(const char *option, long value, long least)
{
    return value >= least ? MF_OK : mf_fail(MF_USAGE, "--%s %ld: it must be at least %ld", option, value, least);
}

static int within(const char *option, double value)
{
    return value >= 0 && value <= 1 ? MF_OK : mf_fail(MF_USAGE, "--%s %g: it must be from 0 to 1", option, value);
}

int mf_sleep_check(const struct mf_sleep_opts *o)
{
    MF_TRY(from("sleep-every", o->every, 0));
    MF_TRY(from("sleep-least", o->least, 1));
    MF_TRY(from("sleep-most", o->most, o->least));
    MF_TRY(from("replay-buffer", o->records, 0));
    MF_TRY(from("replay-bytes", o->bytes, 0));
    MF_TRY(from("replay-batch", o->batch, 1));
    MF_TRY(from("dormant-steps", o->dormant, 0));
    MF_TRY(from("least-activations", o->activations, 0));
    MF_TRY(from("meta-every", o->meta, 0));
    MF_TRY(within("merge-similarity", o->similarity));
    MF_TRY(within("specialization-threshold", o->special));
    MF_TRY(within("overlap", o->overlap));
    MF_TRY(within("edge-decay", o->decay));
    MF_TRY(within("edge-least", o->edge));
    return o->rate > 0 ? MF_OK : mf_fail(MF_USAGE, "--replay-rate %g: it must be above 0", o->rate);
}

/* -- opening -- */

/* A threshold of 1 means never, and stays. */
static void set_hyperparameters(struct mf_sleep *s)
{
    const struct mf_sleep_opts *o = &s->opts;
    const double start[] = {s->grow->opts.threshold, o->similarity, (double)o->every};
    const double low[] = {start[0] < 1 ? start[0] / 2 : 1, start[1] < 1 ? fmax(0, start[1] - 0.1) : 1,
                          fmin(start[2], (double)o->least)};
    const double high[] = {fmin(1, start[0] * 1.5), fmin(1, start[1] + 0.1), fmax(start[2], (double)o->most)};

    s->tuning.last = -1;
    for (int k = 0; k < MF_HYPERS; ++k) {
        s->tuning.value[k] = start[k];
        s->tuning.turn[k] = 1;
        s->low[k] = low[k];
        s->high[k] = high[k];
    }
}

int mf_sleep_open(struct mf_sleep *s, const struct mf_sleep_opts *opts, struct mf_grow *grow,
                  const struct mf_trainer *t)
{
    *s = (struct mf_sleep){.opts = *opts, .grow = grow, .first = t->experts.count};
    set_hyperparameters(s);
    if (opts->every == 0) return MF_OK;
    return mf_replay_open(t, &grow->groups, (size_t)opts->records, (size_t)opts->bytes, &s->replay);
}

void mf_sleep_close(struct mf_sleep *s) { mf_replay_close(&s->replay); }

/* -- the steps of a sleep -- */

static void remember_scores(struct mf_sleep_state *state, const double *confidence)
{
    for (size_t e = 0; e < state->before.count; ++e) {
        struct mf_graph_expert *expert = mf_graph_find(state->graph, state->before.id[e]);
        const double score = mf_survey_specialization(&state->survey, e);

        if (isfinite(confidence[e])) expert->confidence = confidence[e];
        expert->specialization = score > SHARP ? pow(score, POWER) : score;
        expert->adaptation_rate = 1 - SLOWER * expert->specialization;
    }
}

static int replay(struct mf_sleep_state *state)
{
    double confidence[MF_EXPERTS], rate[MF_EXPERTS];

    for (size_t e = 0; e < state->before.count; ++e) rate[e] = mf_sleep_rate(state, e);
    MF_TRY(mf_replay_repeat(&state->sleep->replay, state->trainer, state->carry, (size_t)state->sleep->opts.batch, rate,
                            confidence, &state->steps));
    remember_scores(state, confidence);
    return MF_OK;
}

/* The trainer gets what has changed. */
static int apply(struct mf_sleep_state *state)
{
    if (state->experts.count < state->before.count) {
        mf_place_experts(state->graph, state->trainer, state->sleep->grow->ways, state->sleep->grow->speed,
                         &state->experts);
        return mf_trainer_rebuild(state->trainer, &state->experts, state->carry);
    }
    mf_carry_put(state->carry, state->trainer);
    return MF_OK;
}

static int is_tuning_time(const struct mf_sleep *s)
{
    return s->opts.meta > 0 && (s->grow->changes[MF_CHANGE_SLEEP] + 1) % s->opts.meta == 0;
}

static int tune(struct mf_sleep_state *state)
{
    double merit;

    if (!is_tuning_time(state->sleep)) return MF_OK;
    if (!isfinite(state->loss)) MF_TRY(mf_sleep_score(state, &state->loss, &merit));
    mf_sleep_tune(state->sleep, state->loss);
    return MF_OK;
}

/* A place where tests make it fail. */
static int fault(const struct mf_sleep_state *state)
{
    const int rc = mf_fault("sleep") ? mf_fail(MF_MEMORY, "there is no memory for a sleep") : MF_OK;

    return mf_agree(state->trainer->comm, rc);
}

static int go_through(struct mf_sleep_state *state)
{
    struct mf_sleep *s = state->sleep;

    MF_TRY(mf_survey_make(state->trainer, &state->sleep->grow->groups, MF_TRAIN, SURVEY, &state->survey));
    MF_TRY(mf_carry_take(state->trainer, &state->carry));
    MF_TRY(replay(state));
    MF_TRY(fault(state));
    mf_sleep_merge(state, s->tuning.value[MF_HYPER_SIMILARITY]);
    mf_sleep_prune(state);
    MF_TRY(apply(state));
    mf_sleep_relate(state);
    MF_TRY(mf_sleep_divide(state));
    MF_TRY(tune(state));
    mf_graph_decay(state->graph, s->opts.decay, s->opts.edge);
    return fault(state);
}

/* -- a sleep, or none -- */

/* All that a sleep changes, as it was before. */
struct snapshot {
    struct mf_carry *carry;
    struct mf_grow grow; /* with a graph of its own */
    struct mf_tuning tuning;
};

static int take(const struct mf_sleep_state *state, struct snapshot *s)
{
    *s = (struct snapshot){.grow = *state->sleep->grow, .tuning = state->sleep->tuning};
    mf_graph_copy(&state->sleep->grow->graph, &s->grow.graph);
    return mf_carry_take(state->trainer, &s->carry);
}

static void drop(struct snapshot *s)
{
    mf_carry_free(s->carry);
    mf_graph_free(&s->grow.graph);
}

/* The graph of the snapshot moves. */
static int restore(struct mf_sleep_state *state, struct snapshot *s)
{
    char why[200];

    mf_err_take(why, sizeof why);
    mf_info("step %zu: a sleep failed, and nothing has changed: %s", state->trainer->step, why);
    mf_graph_free(&state->sleep->grow->graph);
    *state->sleep->grow = s->grow;
    s->grow.graph = (struct mf_graph){0};
    state->sleep->tuning = s->tuning;
    if (!mf_experts_same(&s->carry->experts, &state->trainer->experts))
        return mf_trainer_rebuild(state->trainer, &s->carry->experts, s->carry);
    mf_carry_put(s->carry, state->trainer);
    return MF_OK;
}

static void tell(const struct mf_sleep_state *state, struct mf_loop *loop, double seconds)
{
    struct mf_grow *g = state->sleep->grow;
    char *division = mf_sleep_division(state);
    size_t gone = 0;

    for (size_t k = 0; k < state->events; ++k) {
        mf_grow_note(g, loop, state->event[k].what, state->event[k].expert, state->event[k].other);
        gone += state->event[k].what == MF_CHANGE_PRUNE;
    }
    mf_grow_note(g, loop, MF_CHANGE_SLEEP, -1, -1);
    mf_info("step %zu: sleep %ld, %.2f s: %zu records in %zu steps; %zu merged, %zu pruned, %zu remain; %s",
            state->trainer->step, g->changes[MF_CHANGE_SLEEP], seconds, state->sleep->replay.count, state->steps,
            state->events - gone, gone, state->experts.count, division);
    free(division);
}

int mf_sleep_now(struct mf_sleep *s, struct mf_loop *loop)
{
    struct mf_trainer *t = loop->trainer;
    struct mf_sleep_state state = mf_sleep_state_of(s, t);
    const double began = mf_now();
    struct snapshot snapshot;
    int rc = take(&state, &snapshot);

    s->last = (long)t->step;
    if (rc != MF_OK) {
        mf_info("step %zu: no sleep: there is no memory for a copy of the weights", t->step);
        mf_err_clear();
        rc = MF_OK;
    } else if ((rc = go_through(&state)) == MF_OK) {
        tell(&state, loop, mf_now() - began);
        s->replay.count = s->replay.next = 0;
    } else {
        rc = restore(&state, &snapshot);
    }
    mf_carry_free(state.carry);
    mf_survey_free(&state.survey);
    drop(&snapshot);
    return rc;
}

/* -- when -- */

long mf_sleep_interval(const struct mf_sleep *s, size_t experts)
{
    const double base = s->tuning.value[MF_HYPER_INTERVAL], times = (double)experts / (double)s->first;
    const double least = fmin(base, (double)s->opts.least); /* --sleep-every may be below --sleep-least */

    if (times <= MANY) return (long)base;
    return (long)fmin((double)s->opts.most, fmax(least, base / fmax(1, 0.5 * times)));
}

/* Looks are spread evenly over the steps between two sleeps, and fill the room. */
static int look(struct mf_sleep *s, struct mf_trainer *t, const struct mf_step *step)
{
    const long interval = mf_sleep_interval(s, t->experts.count), each = interval > LOOKS ? interval / LOOKS : 1;
    const size_t looks = (size_t)(interval / each > 0 ? interval / each : 1);

    if (s->replay.room == 0 || step->skipped || ((long)t->step - s->last) % each != 0) return MF_OK;
    return mf_look_spared(t, mf_replay_look(&s->replay, t, (s->replay.room + looks - 1) / looks));
}

int mf_sleep_step(void *sleep, struct mf_loop *loop, const struct mf_step *step)
{
    struct mf_sleep *s = sleep;
    struct mf_trainer *t = loop->trainer;

    MF_TRY(mf_grow_step(s->grow, loop, step));
    if (s->opts.every == 0) return MF_OK;
    MF_TRY(look(s, t, step));
    return (long)t->step - s->last >= mf_sleep_interval(s, t->experts.count) ? mf_sleep_now(s, loop) : MF_OK;
}

/* -- checkpoints -- */

void mf_sleep_list(void *sleep, struct mf_checkpoint *c)
{
    struct mf_sleep *s = sleep;

    mf_grow_list(s->grow, c);
    if (s->opts.every == 0) return;
    mf_checkpoint_int(c, "sleep/last", &s->last);
    mf_checkpoint_int(c, "sleep/hyperparameter", &s->tuning.last);
    mf_checkpoint_real(c, "sleep/before", &s->tuning.before);
    mf_checkpoint_real(c, "sleep/loss", &s->tuning.loss);
    mf_checkpoint_reals(c, "sleep/values", s->tuning.value, MF_HYPERS);
    mf_checkpoint_reals(c, "sleep/turns", s->tuning.turn, MF_HYPERS);
    s->grow->opts.threshold = s->tuning.value[MF_HYPER_BIRTH_THRESHOLD];
    mf_replay_list(&s->replay, c);
}
