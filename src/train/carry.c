/* See carry.h. */
#include "src/train/carry.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/base/room.h"
#include "src/base/streams.h"
#include "src/base/text.h"

static const double NEW_ROW = 0.1; /* deviations of the rows that were there */

/* -- taking -- */

static size_t states_of(const struct mf_network *n, int v)
{
    const struct mf_weights w = mf_network_weights(n, NULL, NULL);
    size_t states = 0;

    for (int s = 0; s < MF_STATES; ++s) states += mf_weights_has(&w, v, (enum mf_state)s) != 0;
    return states;
}

/* The bytes of a whole weight. */
static size_t bytes_of(const struct mf_value *value)
{
    const struct mf_shape whole = mf_value_whole(value);

    return mf_whole_lines(mf_shape_bytes(&whole));
}

size_t mf_carry_bytes(const struct mf_network *n)
{
    size_t bytes = 0;

    for (size_t v = 0; v < n->net->values; ++v)
        if (mf_value_is_weight(&n->net->value[v])) bytes += states_of(n, (int)v) * bytes_of(&n->net->value[v]);
    return bytes;
}

/* The expert that has a weight of this name; -1: none has. @p at: where the id begins. */
static long expert_of(const char *name, const char **at)
{
    static const char part[] = "experts.";
    const char *found = strstr(name, part);
    char *end;
    long id;

    if (!found || (found > name && found[-1] != '.')) return -1;
    *at = found + strlen(part);
    id = strtol(*at, &end, 10);
    return end > *at && *end == '.' ? id : -1;
}

static int compare_names(const void *a, const void *b)
{
    const struct mf_carried *const *x = a, *const *y = b;

    return strcmp((*x)->name, (*y)->name);
}

static int compare_with(const void *name, const void *entry)
{
    const struct mf_carried *const *y = entry;

    return strcmp(name, (*y)->name);
}

static int take_names(struct mf_carry *c, size_t values)
{
    MF_TRY(MF_ROOM(c->weight, values + 1, "the names of %zu arrays", values));
    return MF_ROOM(c->by_name, values + 1, "the names of %zu arrays", values);
}

static void sort_names(struct mf_carry *c)
{
    for (size_t k = 0; k < c->weights; ++k) c->by_name[k] = &c->weight[k];
    qsort(c->by_name, c->weights, sizeof *c->by_name, compare_names);
}

int mf_carry_take(const struct mf_trainer *t, struct mf_carry **carry)
{
    const struct mf_network *n = &t->network;
    struct mf_carry *c = MF_MUST(calloc(1, sizeof *c), "weights that are carried over");
    char *at;

    *carry = c;
    c->arena = t->queue->host;
    c->experts = t->experts;
    c->memory = at = mf_arena_take(c->arena, mf_carry_bytes(n), "weights that are carried over");
    MF_TRY(mf_agree(t->comm, at ? take_names(c, n->net->values) : MF_MEMORY));
    for (size_t v = 0; v < n->net->values; ++v) {
        const struct mf_value *value = &n->net->value[v];
        struct mf_carried *to = &c->weight[c->weights];
        const char *id;

        if (!mf_value_is_weight(value)) continue;
        ++c->weights;
        *to = (struct mf_carried){.name = MF_MUST(strdup(value->name), "a name"),
                                  .shape = mf_value_whole(value),
                                  .by_expert = value->weight->by_expert,
                                  .expert = expert_of(value->name, &id)};
        for (int s = 0; s < MF_STATES; ++s) {
            if (!mf_weights_has(&t->weights, (int)v, (enum mf_state)s)) continue;
            to->state[s] = (float *)(void *)at;
            at += bytes_of(value);
            mf_weights_take(&t->weights, (int)v, (enum mf_state)s, to->state[s]);
        }
    }
    sort_names(c);
    return MF_OK;
}

void mf_carry_free(struct mf_carry *c)
{
    if (!c) return;
    for (size_t k = 0; k < c->weights; ++k) free(c->weight[k].name);
    free(c->weight);
    free(c->by_name);
    if (c->memory) mf_arena_give(c->arena, c->memory);
    free(c);
}

struct mf_carried *mf_carry_find(const struct mf_carry *c, const char *name)
{
    struct mf_carried **found = bsearch(name, c->by_name, c->weights, sizeof *c->by_name, compare_with);

    return found ? *found : NULL;
}

/* Does a name end so, at the beginning of one of its parts? */
static int ends_in(const char *name, const char *ending)
{
    const size_t n = strlen(name), m = strlen(ending);

    return n >= m && strcmp(name + n - m, ending) == 0 && (n == m || name[n - m - 1] == '.');
}

struct mf_carried *mf_carry_expert(const struct mf_carry *c, long id, size_t layer, const char *part)
{
    char *ending = mf_format("fc%zu.%s", layer, part);
    size_t k = 0;

    while (k < c->weights && (c->weight[k].expert != id || !ends_in(c->weight[k].name, ending))) ++k;
    free(ending);
    return k < c->weights ? &c->weight[k] : NULL;
}

struct mf_carried *mf_carry_router(const struct mf_carry *c, const char *part)
{
    for (size_t k = 0; k < c->weights; ++k)
        if (c->weight[k].by_expert && ends_in(c->weight[k].name, part)) return &c->weight[k];
    return NULL;
}

/* -- giving -- */

static double deviation_of(const float *x, size_t n)
{
    double sum = 0, squares = 0;

    for (size_t i = 0; i < n; ++i) sum += (double)x[i];
    for (size_t i = 0; i < n; ++i) squares += ((double)x[i] - sum / (double)n) * ((double)x[i] - sum / (double)n);
    return n > 0 ? sqrt(squares / (double)n) : 0;
}

/* The row of an expert that was not there. It depends on the expert's id alone. */
static void new_row(const struct mf_carried *from, uint64_t seed, long id, size_t columns, float *row)
{
    const double spread = NEW_ROW * deviation_of(from->state[MF_STATE_WEIGHT], mf_shape_count(&from->shape));

    seed ^= mf_fnv(MF_FNV, from->name, strlen(from->name));
    for (size_t j = 0; j < columns; ++j)
        row[j] = (float)(spread * mf_random_normal(seed, MF_STREAM_WEIGHTS, (uint64_t)id * columns + j));
}

/* The rows of the trainer's experts. */
static float *rows_of(const struct mf_carry *c, const struct mf_carried *from, const struct mf_trainer *t, int state)
{
    const size_t columns = mf_shape_count(&from->shape) / from->shape.d[0], n = t->experts.count;
    float *rows = MF_MUST(calloc(n * columns + 1, sizeof *rows), "rows of the router");

    for (size_t e = 0; e < n; ++e) {
        const size_t old = mf_experts_find(&c->experts, t->experts.id[e]);

        if (old < c->experts.count)
            memcpy(rows + e * columns, from->state[state] + old * columns, columns * sizeof *rows);
        else if (state == MF_STATE_WEIGHT || state == MF_STATE_AVERAGE)
            new_row(from, t->opts.seed, t->experts.id[e], columns, rows + e * columns);
    }
    return rows;
}

static void put_states(const struct mf_carry *c, struct mf_trainer *t, int first, int end)
{
    const struct mf_network *n = &t->network;

    for (size_t v = 0; v < n->net->values; ++v) {
        const struct mf_value *value = &n->net->value[v];
        const struct mf_carried *from = mf_value_is_weight(value) ? mf_carry_find(c, value->name) : NULL;

        for (int s = first; from && s < end; ++s) {
            float *rows = from->state[s] && from->by_expert ? rows_of(c, from, t, s) : NULL;

            if (from->state[s] && mf_weights_has(&t->weights, (int)v, (enum mf_state)s))
                mf_weights_put(&t->weights, (int)v, (enum mf_state)s, rows ? rows : from->state[s]);
            free(rows);
        }
    }
}

/* The average of a new weight is the weight. */
void mf_carry_put(const struct mf_carry *c, struct mf_trainer *t)
{
    put_states(c, t, MF_STATE_WEIGHT, MF_STATE_AVERAGE);
    mf_weights_masters(&t->weights, 0);
    if (!t->network.average_begin) return;
    mf_walk_run(t->walk, t->network.average_begin);
    put_states(c, t, MF_STATE_AVERAGE, MF_STATES);
}

/* -- merging -- */

/* The weight of expert @p into that @p from is of expert @p id; NULL: it is of no such expert. */
static struct mf_carried *counterpart(const struct mf_carry *c, const struct mf_carried *from, long id, long into)
{
    struct mf_carried *found;
    const char *at;
    char *name;

    if (from->expert != id || expert_of(from->name, &at) < 0) return NULL;
    name = mf_format("%.*s%ld%s", (int)(at - from->name), from->name, into, strchr(at, '.'));
    found = mf_carry_find(c, name);
    free(name);
    return found;
}

void mf_carry_merge(struct mf_carry *c, long into, long from, double weight_into, double weight_from)
{
    const double all = weight_into + weight_from, part = all > 0 ? weight_from / all : 0.5;

    for (size_t k = 0; k < c->weights; ++k) {
        struct mf_carried *to = counterpart(c, &c->weight[k], from, into);

        for (int s = 0; to && s < MF_STATES; ++s)
            for (size_t i = 0; to->state[s] && i < mf_shape_count(&to->shape); ++i)
                to->state[s][i] += (float)(part * ((double)c->weight[k].state[s][i] - (double)to->state[s][i]));
    }
}

double mf_carry_similarity(const struct mf_carry *c, long one, long other)
{
    double product = 0, square_one = 0, square_other = 0;

    for (size_t k = 0; k < c->weights; ++k) {
        const struct mf_carried *to = counterpart(c, &c->weight[k], one, other);
        const float *a = c->weight[k].state[MF_STATE_WEIGHT], *b = to ? to->state[MF_STATE_WEIGHT] : NULL;

        for (size_t i = 0; to && i < mf_shape_count(&to->shape); ++i) {
            product += (double)a[i] * (double)b[i];
            square_one += (double)a[i] * (double)a[i];
            square_other += (double)b[i] * (double)b[i];
        }
    }
    return square_one > 0 && square_other > 0 ? product / sqrt(square_one * square_other) : 0;
}
