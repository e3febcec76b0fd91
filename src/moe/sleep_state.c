/* See sleep_priv.h: what a sleep knows, and what it notes. */
#include <math.h>

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

int mf_sleep_score(struct mf_sleep_state *state, double *loss, double *merit)
{
    const struct mf_dataset *set = state->trainer->set;
    struct mf_scores s;
    const int rc = mf_trainer_score(state->trainer, set->count[MF_VALIDATION], set->id[MF_VALIDATION], 0, &s);
    const int has = rc == MF_OK && s.rows > 0;

    *loss = has ? s.loss : NAN;
    *merit = has ? mf_scores_merit(&s, &state->trainer->opts) : NAN;
    mf_scores_free(&s);
    return rc;
}
