/* See sleep_priv.h: experts become one, or go. */
#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/moe/sleep_priv.h"

static const double OF_WEIGHTS = 0.6, OF_INPUTS = 0.4;

static void leave(struct mf_sleep_state *state, long id)
{
    struct mf_experts *e = &state->experts;

    for (size_t i = mf_experts_find(e, id); i + 1 < e->count; ++i) e->id[i] = e->id[i + 1];
    --e->count;
}

/* A rank that shares experts has at least one. */
static int may_leave(const struct mf_sleep_state *state)
{
    return state->experts.count > (size_t)state->sleep->grow->opts.least;
}

/* -- merging -- */

static double cosine(size_t n, const double *a, const double *b)
{
    double product = 0, square_a = 0, square_b = 0;

    for (size_t i = 0; i < n; ++i) {
        product += a[i] * b[i];
        square_a += a[i] * a[i];
        square_b += b[i] * b[i];
    }
    return square_a > 0 && square_b > 0 ? product / sqrt(square_a * square_b) : 0;
}

/* How alike two experts of the carry are. It is 0.6 of the cosine of their weights and 0.4 of that of their mean
 * inputs. Where one has no inputs, the first alone. */
static double similarity_of(const struct mf_sleep_state *state, size_t one, size_t other)
{
    const struct mf_survey *s = &state->survey;
    const double weights = mf_carry_similarity(state->carry, state->before.id[one], state->before.id[other]);

    if (!(s->rows[one] > 0 && s->rows[other] > 0)) return weights;
    return OF_WEIGHTS * weights +
           OF_INPUTS * cosine(s->columns, s->centroid + one * s->columns, s->centroid + other * s->columns);
}

/* The mean input of both. */
static void join_inputs(struct mf_survey *s, size_t from, size_t into)
{
    const double all = s->rows[from] + s->rows[into], part = all > 0 ? s->rows[from] / all : 0;
    double *to = s->centroid + into * s->columns;

    for (size_t j = 0; j < s->columns; ++j) to[j] += part * (s->centroid[from * s->columns + j] - to[j]);
    for (size_t g = 0; g < s->groups; ++g) s->table[into * s->groups + g] += s->table[from * s->groups + g];
    s->rows[into] = all;
    s->rows[from] = 0;
}

/* The one with more rows in its life stays; of equal ones the older. */
static void join(struct mf_sleep_state *state, const struct mf_sleep_pair *pair)
{
    const double rows_one = mf_graph_find(state->graph, state->before.id[pair->one])->activations;
    const double rows_other = mf_graph_find(state->graph, state->before.id[pair->other])->activations;
    const int is_one = rows_one >= rows_other;
    const size_t from = is_one ? pair->other : pair->one, into = is_one ? pair->one : pair->other;

    mf_carry_merge(state->carry, state->before.id[into], state->before.id[from], is_one ? rows_one : rows_other,
                   is_one ? rows_other : rows_one);
    mf_graph_merge(state->graph, state->before.id[from], state->before.id[into]);
    join_inputs(&state->survey, from, into);
    leave(state, state->before.id[from]);
    mf_sleep_note(state, MF_CHANGE_MERGE, state->before.id[from], state->before.id[into]);
}

/* Special knowledge of an expert is not mixed with another class. */
static int stay_apart(const struct mf_sleep_state *state, size_t a, size_t b)
{
    const struct mf_survey *s = &state->survey;
    const double special = fmax(mf_survey_specialization(s, a), mf_survey_specialization(s, b));

    return special > state->sleep->opts.special && s->rows[a] > 0 && s->rows[b] > 0 &&
           mf_survey_main(s, a) != mf_survey_main(s, b);
}

/* Similarities of all pairs; 0: they do not become one. */
static double *similarities(const struct mf_sleep_state *state, double least)
{
    const size_t experts = state->before.count;
    double *to = MF_MUST(calloc(experts * experts + 1, sizeof *to), "pairs of experts");

    for (size_t a = 0; a < experts; ++a)
        for (size_t b = 0; b < a; ++b) {
            const double similarity = similarity_of(state, a, b);

            to[a * experts + b] = to[b * experts + a] = similarity > least && !stay_apart(state, a, b) ? similarity : 0;
        }
    return to;
}

void mf_sleep_merge(struct mf_sleep_state *state, double similarity)
{
    double *value = similarities(state, similarity);
    struct mf_sleep_pair *pair;
    size_t pairs = mf_sleep_pairs(state, value, &pair);

    pairs = mf_sleep_disjoint(state, pairs, pair);
    for (size_t k = 0; k < pairs && may_leave(state); ++k) join(state, &pair[k]);
    free(pair);
    free(value);
}

/* -- pruning -- */

static int is_idle(const struct mf_sleep_state *state, const struct mf_graph_expert *e)
{
    const struct mf_sleep_opts *o = &state->sleep->opts;
    const long since = e->active > e->born ? e->active : e->born;

    return (long)state->trainer->step - since > o->dormant && e->activations < (double)o->activations;
}

/* The idlest of those that remain; NULL: all are needed. */
static const struct mf_graph_expert *idlest(const struct mf_sleep_state *state)
{
    const struct mf_graph_expert *found = NULL;

    for (size_t i = 0; i < state->graph->experts; ++i) {
        const struct mf_graph_expert *e = &state->graph->expert[i];

        if (is_idle(state, e) && (!found || e->activations < found->activations)) found = e;
    }
    return found;
}

void mf_sleep_prune(struct mf_sleep_state *state)
{
    const struct mf_graph_expert *e;

    while (may_leave(state) && (e = idlest(state)) != NULL) {
        const long id = e->id;

        mf_sleep_note(state, MF_CHANGE_PRUNE, id, mf_graph_prune(state->graph, id));
        state->survey.rows[mf_experts_find(&state->before, id)] = 0;
        leave(state, id);
    }
}
