/* See sleep_priv.h: experts that serve the same samples divide them. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/moe/sleep_priv.h"
#include "src/train/mlp.h"

enum { STEPS = 8 }; /* small ones, of each expert and of the router */

/* -- how much they share -- */

static double distance(const struct mf_sleep_state *state, size_t e, const float *x)
{
    const double *c = state->survey.centroid + e * state->survey.columns;
    double sum = 0;

    for (size_t j = 0; j < state->survey.columns; ++j) sum += ((double)x[j] - c[j]) * ((double)x[j] - c[j]);
    return state->survey.rows[e] > 0 ? sum : INFINITY;
}

static size_t nearest(const struct mf_sleep_state *state, const float *x)
{
    double least = INFINITY;
    size_t found = 0;

    for (size_t i = 0; i < state->before.count; ++i) {
        const double d = mf_sleep_remains(state, state->order[i]) ? distance(state, state->order[i], x) : INFINITY;

        if (d < least) {
            least = d;
            found = state->order[i];
        }
    }
    return found;
}

/* Shares of the bins of each expert: [experts][bins]. */
static double *shares_of(const struct mf_sleep_state *state, size_t bins)
{
    const struct mf_replay *r = &state->sleep->replay;
    const size_t experts = state->before.count;
    double *share = MF_MUST(calloc(experts * bins + 1, sizeof *share), "bins of experts");

    for (size_t i = 0; i < r->count; ++i) {
        const float *record = mf_replay_record(r, i);
        const size_t group = (size_t)(record[MF_RECORD_GROUP] + 1);
        const size_t bin = group * experts + nearest(state, record + r->sizes.input);

        for (size_t e = 0; e < experts; ++e)
            share[e * bins + bin] += mf_replay_slot(r, record, state->before.id[e]) < r->sizes.top;
    }
    for (size_t e = 0; e < experts; ++e) {
        double sum = 0;

        for (size_t b = 0; b < bins; ++b) sum += share[e * bins + b];
        for (size_t b = 0; b < bins && sum > 0; ++b) share[e * bins + b] /= sum;
    }
    return share;
}

void mf_sleep_overlaps(const struct mf_sleep_state *state, double *to)
{
    const size_t experts = state->before.count, bins = (state->sleep->grow->groups.count + 1) * experts;
    double *share = shares_of(state, bins);

    for (size_t a = 0; a < experts; ++a)
        for (size_t b = 0; b < experts; ++b) {
            double least = 0, most = 0;

            for (size_t k = 0; k < bins; ++k) {
                least += fmin(share[a * bins + k], share[b * bins + k]);
                most += fmax(share[a * bins + k], share[b * bins + k]);
            }
            to[a * experts + b] = most > 0 ? least / most : 0;
        }
    free(share);
}

/* -- pairs -- */

/* All that overlap; they get their edges. */
static size_t find_pairs(const struct mf_sleep_state *state, struct mf_sleep_pair **pair)
{
    const size_t experts = state->before.count;
    double *overlap = MF_MUST(malloc((experts * experts + 1) * sizeof *overlap), "overlaps of experts");
    size_t count;

    mf_sleep_overlaps(state, overlap);
    for (size_t i = 0; i < experts * experts; ++i)
        if (overlap[i] < state->sleep->opts.overlap) overlap[i] = 0;
    count = mf_sleep_pairs(state, overlap, pair);
    for (size_t k = 0; k < count; ++k)
        mf_graph_connect(state->graph, state->before.id[(*pair)[k].one], state->before.id[(*pair)[k].other],
                         MF_SPECIALIZATION_SPLIT, fmin(1, (*pair)[k].value));
    free(overlap);
    return count;
}

/* -- their parts -- */

/* A record of a pair, and how much more the router prefers the first. */
struct owned {
    const float *record;
    double preference;
};

enum { ALONE = 2 }; /* the preference for an expert that had a row without the other: above all weights */

static int by_preference(const void *a, const void *b)
{
    const struct owned *x = a, *y = b;

    if (x->preference != y->preference) return x->preference > y->preference ? -1 : 1;
    return (x->record > y->record) - (x->record < y->record);
}

/* The records of either, sorted. So many as *first are the first expert's part. They are those that it had alone, and
 * half of those that both had. */
static size_t sort_owned(const struct mf_sleep_state *state, const struct mf_sleep_pair *pair, struct owned *owned,
                         size_t *first)
{
    const struct mf_replay *r = &state->sleep->replay;
    const size_t top = r->sizes.top;
    size_t count = 0, both = 0;

    *first = 0;
    for (size_t i = 0; i < r->count; ++i) {
        const float *record = mf_replay_record(r, i), *weight = record + r->sizes.weight;
        const size_t a = mf_replay_slot(r, record, state->before.id[pair->one]);
        const size_t b = mf_replay_slot(r, record, state->before.id[pair->other]);

        if (a == top && b == top) continue;
        both += a < top && b < top;
        *first += b == top;
        owned[count++] = (struct owned){record, b == top   ? ALONE
                                                : a == top ? -ALONE
                                                           : (double)weight[a] - (double)weight[b]};
    }
    qsort(owned, count, sizeof *owned, by_preference);
    *first += both / 2;
    return count;
}

/* [0]: of the first expert, [1] of the other. */
struct parts {
    size_t count[2];
    struct mf_lesson *lesson, *router; /* [count[0] + count[1]]; router: of the router */
    float *mean;                       /* what the mixture made of them */
};

static const int32_t sides[] = {0, 1};

static void mix(const struct mf_record *s, const float *record, float *to)
{
    memset(to, 0, s->outputs * sizeof *to);
    for (size_t k = 0; k < s->top; ++k)
        for (size_t o = 0; o < s->outputs && record[MF_RECORD_IDS + k] >= 0; ++o)
            to[o] += record[s->weight + k] * record[s->output + k * s->outputs + o];
}

static struct parts parts_of(const struct mf_sleep_state *state, const struct mf_sleep_pair *pair)
{
    const struct mf_record *s = &state->sleep->replay.sizes;
    const size_t most = state->sleep->replay.count + 1;
    struct owned *owned = MF_MUST(malloc(most * sizeof *owned), "records of a pair");
    struct parts p = {.lesson = MF_MUST(malloc(most * sizeof *p.lesson), "lessons"),
                      .router = MF_MUST(malloc(most * sizeof *p.router), "lessons"),
                      .mean = MF_MUST(malloc(most * s->outputs * sizeof(float)), "outputs of a mixture")};
    const size_t count = sort_owned(state, pair, owned, &p.count[0]);

    p.count[1] = count - p.count[0];
    for (size_t i = 0; i < count; ++i) {
        const float *record = owned[i].record;

        mix(s, record, p.mean + i * s->outputs);
        p.lesson[i] = (struct mf_lesson){record + s->input, p.mean + i * s->outputs, 0};
        p.router[i] = (struct mf_lesson){mf_record_inner(s, record), &sides[i >= p.count[0]], 0};
    }
    free(owned);
    return p;
}

static void parts_free(struct parts *p)
{
    free(p->lesson);
    free(p->router);
    free(p->mean);
}

/* -- learning them -- */

struct divider {
    struct mf_sleep_state *state;
    struct mf_mlp *expert, *router;
    size_t layers;
};

static void teach_expert(const struct divider *d, size_t e, size_t count, struct mf_lesson *lesson)
{
    const struct mf_sleep_opts *o = &d->state->sleep->opts;
    float **weight = MF_MUST(malloc(2 * d->layers * sizeof *weight), "weights");

    mf_replay_weights(d->state->carry, d->state->before.id[e], d->layers, weight);
    mf_mlp_put(d->expert, weight);
    mf_lessons_learn(d->expert, (size_t)o->batch, count, lesson, STEPS, mf_sleep_rate(d->state, e), NULL);
    mf_mlp_get(d->expert, weight);
    free(weight);
}

/* Copies the two rows of a router's weight out of the carry, or back. */
static void rows(const struct mf_sleep_state *state, const struct mf_sleep_pair *pair, const char *part, float *to,
                 int back)
{
    const struct mf_carried *w = mf_carry_router(state->carry, part);
    const size_t columns = mf_shape_count(&w->shape) / w->shape.d[0], at[] = {pair->one, pair->other};

    for (size_t k = 0; k < 2; ++k) {
        float *row = w->state[MF_STATE_WEIGHT] + at[k] * columns;

        memcpy(back ? row : to + k * columns, back ? to + k * columns : row, columns * sizeof *row);
    }
}

static void teach_router(const struct divider *d, const struct mf_sleep_pair *pair, struct parts *p)
{
    const struct mf_sleep_opts *o = &d->state->sleep->opts;
    float *weight = MF_MUST(malloc(2 * mf_record_inners(&d->state->sleep->replay.sizes) * sizeof *weight), "rows");
    float bias[2], *const both[] = {weight, bias};

    rows(d->state, pair, "weight", weight, 0);
    rows(d->state, pair, "bias", bias, 0);
    mf_mlp_put(d->router, both);
    mf_lessons_learn(d->router, (size_t)o->batch, p->count[0] + p->count[1], p->router, STEPS, o->rate, NULL);
    mf_mlp_get(d->router, both);
    rows(d->state, pair, "weight", weight, 1);
    rows(d->state, pair, "bias", bias, 1);
    free(weight);
}

/* Nothing is divided where one of them has no part. */
static int divide(const struct divider *d, const struct mf_sleep_pair *pair)
{
    struct parts p = parts_of(d->state, pair);
    const int both = p.count[0] > 0 && p.count[1] > 0;

    if (both) {
        teach_expert(d, pair->one, p.count[0], p.lesson);
        teach_expert(d, pair->other, p.count[1], p.lesson + p.count[0]);
        teach_router(d, pair, &p);
    }
    parts_free(&p);
    return both;
}

static int divide_all(struct mf_sleep_state *state, size_t count, const struct mf_sleep_pair *pair)
{
    const struct mf_mlp_wish expert = mf_mlp_expert(&state->trainer->network, (size_t)state->sleep->opts.batch);
    const struct mf_mlp_wish router = {.columns = mf_record_inners(&state->sleep->replay.sizes),
                                       .outputs = 2,
                                       .labelled = 1,
                                       .batch = (size_t)state->sleep->opts.batch};
    struct divider d = {state, NULL, NULL, expert.depth + 1};
    int rc = mf_mlp_open(&expert, state->trainer->queue, &d.expert);

    if (rc == MF_OK) rc = mf_mlp_open(&router, state->trainer->queue, &d.router);
    for (size_t k = 0; rc == MF_OK && k < count; ++k) state->tried += (size_t)divide(&d, &pair[k]);
    mf_mlp_close(d.expert);
    mf_mlp_close(d.router);
    return mf_agree(state->trainer->comm, rc);
}

/* -- a trial -- */

/* Weights that are divided: those of the first mixture's experts, and of its router. */
static struct mf_carried *touched(const struct mf_sleep_state *state, size_t k)
{
    const size_t layers = mf_mlp_expert(&state->trainer->network, 1).depth + 1,
                 of_experts = state->before.count * 2 * layers;

    if (k >= of_experts) return mf_carry_router(state->carry, k % 2 ? "bias" : "weight");
    return mf_carry_expert(state->carry, state->before.id[k / (2 * layers)], k % (2 * layers) / 2 + 1,
                           k % 2 ? "bias" : "weight");
}

static size_t touched_count(const struct mf_sleep_state *state)
{
    return state->before.count * 2 * (mf_mlp_expert(&state->trainer->network, 1).depth + 1) + 2;
}

/* Copies them to @p memory, or back; NULL: only counts. Returns how many numbers they have. */
static size_t copy_touched(const struct mf_sleep_state *state, float *memory, int back)
{
    size_t numbers = 0;

    for (size_t k = 0; k < touched_count(state); ++k) {
        const struct mf_carried *w = touched(state, k);
        const size_t count = mf_shape_count(&w->shape);
        float *weight = w->state[MF_STATE_WEIGHT];

        if (memory) memcpy(back ? weight : memory + numbers, back ? memory + numbers : weight, count * sizeof *weight);
        numbers += count;
    }
    return numbers;
}

/* The trainer has the weights of the carry. */
static int try(struct mf_sleep_state *state, size_t count, const struct mf_sleep_pair *pair, float *memory)
{
    double merit, after, merit_after;

    copy_touched(state, memory, 0);
    MF_TRY(divide_all(state, count, pair));
    if (state->tried == 0) return MF_OK;
    MF_TRY(mf_sleep_score(state, &state->loss, &merit));
    mf_carry_put(state->carry, state->trainer);
    MF_TRY(mf_sleep_score(state, &after, &merit_after));
    if (after <= state->loss && !(merit_after < merit)) {
        state->loss = after;
        state->divided = state->tried;
        return MF_OK;
    }
    copy_touched(state, memory, 1);
    mf_carry_put(state->carry, state->trainer);
    return MF_OK;
}

static int try_in_memory(struct mf_sleep_state *state, size_t count, const struct mf_sleep_pair *pair)
{
    struct mf_arena *arena = state->trainer->queue->host;
    float *memory = mf_arena_take(arena, copy_touched(state, NULL, 0) * sizeof *memory, "weights before a trial");
    int rc = mf_agree(state->trainer->comm, memory ? MF_OK : MF_MEMORY);

    if (rc == MF_OK) rc = try(state, count, pair, memory);
    if (memory) mf_arena_give(arena, memory);
    return rc;
}

int mf_sleep_divide(struct mf_sleep_state *state)
{
    struct mf_sleep_pair *pair;
    size_t count;
    int rc = MF_OK;

    state->pairs = find_pairs(state, &pair);
    count = mf_sleep_disjoint(state, state->pairs, pair);
    if (count > 0 && state->trainer->set->count[MF_VALIDATION] > 0) rc = try_in_memory(state, count, pair);
    free(pair);
    return rc;
}

char *mf_sleep_division(const struct mf_sleep_state *state)
{
    const char *plural = MF_S(state->pairs), *verb = state->pairs == 1 ? "s" : "";

    if (state->tried > state->divided)
        return mf_format("%zu pair%s overlap%s, %zu divided and taken back, as the validation split did not gain",
                         state->pairs, plural, verb, state->tried);
    return mf_format("%zu pair%s overlap%s, %zu divided", state->pairs, plural, verb, state->divided);
}
