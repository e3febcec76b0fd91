/* See sleep_priv.h: which experts work together. */
#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/moe/sleep_priv.h"

static const double DEPENDS = 0.5; /* share of its records that an expert has with another one, on which it depends */

/* The records that two experts had in common, [experts][experts]; on the diagonal those of one. */
static double *count_both(const struct mf_sleep_state *state)
{
    const struct mf_replay *r = &state->sleep->replay;
    const size_t experts = state->before.count, top = r->sizes.top;
    double *both = MF_MUST(calloc(experts * experts + 1, sizeof *both), "pairs of experts");

    for (size_t i = 0; i < r->count; ++i) {
        const float *id = mf_replay_record(r, i) + MF_RECORD_IDS;

        for (size_t j = 0; j < top; ++j)
            for (size_t k = 0; k < top; ++k) {
                const size_t a = mf_experts_find(&state->before, (long)id[j]);
                const size_t b = mf_experts_find(&state->before, (long)id[k]);

                if (a < experts && b < experts) both[a * experts + b] += 1;
            }
    }
    return both;
}

static void relate(const struct mf_sleep_state *state, size_t one, size_t other, double both, double rows_one,
                   double rows_other)
{
    const long a = state->before.id[one], b = state->before.id[other];
    const double fewer = fmin(rows_one, rows_other);

    if (both <= 0) return;
    mf_graph_connect(state->graph, a, b, MF_COMPOSITION, both / (rows_one + rows_other - both));
    if (both >= DEPENDS * fewer) mf_graph_connect(state->graph, a, b, MF_DEPENDENCY, both / fewer);
}

void mf_sleep_relate(const struct mf_sleep_state *state)
{
    const size_t n = state->before.count;
    double *both = count_both(state);

    for (size_t a = 0; a < n; ++a)
        for (size_t b = 0; b < a; ++b)
            if (mf_sleep_remains(state, a) && mf_sleep_remains(state, b))
                relate(state, a, b, both[a * n + b], both[a * n + a], both[b * n + b]);
    free(both);
}
