/* See sleep_priv.h: what a sleep knows, and what it notes. */
#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/moe/sleep_priv.h"

/* The graph has them in the order of their ids. */
struct mf_sleep_state mf_sleep_state_of(struct mf_sleep *sleep, struct mf_trainer *t)
{
    struct mf_sleep_state state = {.sleep = sleep,
                                   .trainer = t,
                                   .graph = &sleep->grow->graph,
                                   .before = t->experts,
                                   .experts = t->experts,
                                   .loss = NAN};

    for (size_t e = 0; e < state.graph->experts; ++e)
        state.order[e] = mf_experts_find(&state.before, state.graph->expert[e].id);
    return state;
}

void mf_sleep_note(struct mf_sleep_state *state, enum mf_change what, long expert, long other)
{
    state->event[state->events++] = (struct mf_sleep_event){what, expert, other};
}

double mf_sleep_rate(const struct mf_sleep_state *state, size_t e)
{
    return state->sleep->opts.rate * mf_graph_find(state->graph, state->before.id[e])->adaptation_rate;
}

int mf_sleep_remains(const struct mf_sleep_state *state, size_t e)
{
    return mf_experts_find(&state->experts, state->before.id[e]) < state->experts.count;
}

/* -- pairs -- */

static int largest(const void *a, const void *b)
{
    const struct mf_sleep_pair *x = a, *y = b;

    if (x->value != y->value) return x->value > y->value ? -1 : 1;
    return (x->number > y->number) - (x->number < y->number);
}

size_t mf_sleep_pairs(const struct mf_sleep_state *state, const double *value, struct mf_sleep_pair **pairs)
{
    const size_t experts = state->before.count;
    struct mf_sleep_pair *pair = MF_MUST(malloc((experts * experts + 1) * sizeof *pair), "pairs of experts");
    size_t count = 0;

    for (size_t i = 0; i < experts; ++i)
        for (size_t k = i + 1; k < experts; ++k) {
            const size_t a = state->order[i], b = state->order[k];

            if (!mf_sleep_remains(state, a) || !mf_sleep_remains(state, b)) continue;
            pair[count] = (struct mf_sleep_pair){a, b, count, value[a * experts + b]};
            count += value[a * experts + b] > 0;
        }
    qsort(pair, count, sizeof *pair, largest);
    *pairs = pair;
    return count;
}

size_t mf_sleep_disjoint(const struct mf_sleep_state *state, size_t count, struct mf_sleep_pair *pair)
{
    unsigned char *taken = MF_MUST(calloc(state->before.count + 1, 1), "pairs of experts");
    size_t kept = 0;

    for (size_t k = 0; k < count; ++k) {
        if (taken[pair[k].one] || taken[pair[k].other]) continue;
        taken[pair[k].one] = taken[pair[k].other] = 1;
        pair[kept++] = pair[k];
    }
    free(taken);
    return kept;
}

/* -- scores -- */

int mf_sleep_score(struct mf_sleep_state *state, double *loss, double *merit)
{
    const struct mf_dataset *set = state->trainer->set;
    struct mf_scores s;
    const int rc = mf_trainer_score(state->trainer, set->count[MF_VALIDATION], set->id[MF_VALIDATION], 0, &s);
    const int has = rc == MF_OK && s.rows > 0;

    *loss = has ? s.loss : NAN;
    *merit = has ? state->trainer->opts.task->learn->merit(state->trainer->opts.task, &s) : NAN;
    mf_scores_free(&s);
    return rc;
}
