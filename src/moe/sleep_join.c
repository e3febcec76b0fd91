/* See sleep_priv.h: experts become one, or go. */
#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"
#include "src/moe/sleep_priv.h"

static const double OF_WEIGHTS = 0.6, OF_INPUTS = 0.4;

void mf_night_note(struct mf_night *n, enum mf_change what, long expert, long other)
{
    n->event[n->events++] = (struct mf_night_event){what, expert, other};
}

static void leave(struct mf_night *n, long id)
{
    struct mf_experts *e = &n->experts;

    for (size_t i = mf_experts_find(e, id); i + 1 < e->count; ++i) e->id[i] = e->id[i + 1];
    --e->count;
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

double mf_night_similarity(const struct mf_night *n, size_t one, size_t other)
{
    const struct mf_survey *s = &n->survey;
    const double weights = mf_carry_similarity(n->carry, n->before.id[one], n->before.id[other]);

    if (!(s->rows[one] > 0 && s->rows[other] > 0)) return weights;
    return OF_WEIGHTS * weights +
           OF_INPUTS * cosine(s->columns, s->centroid + one * s->columns, s->centroid + other * s->columns);
}

struct pair {
    size_t one, other;
    double similarity;
};

static int most_alike(const void *a, const void *b)
{
    const struct pair *x = a, *y = b;

    if (x->similarity != y->similarity) return x->similarity > y->similarity ? -1 : 1;
    if (x->one != y->one) return x->one < y->one ? -1 : 1;
    return (x->other > y->other) - (x->other < y->other);
}

static size_t find_pairs(const struct mf_night *n, double similarity, struct pair *pair)
{
    size_t count = 0;

    for (size_t a = 0; a < n->before.count; ++a)
        for (size_t b = a + 1; b < n->before.count; ++b) {
            pair[count] = (struct pair){a, b, mf_night_similarity(n, a, b)};
            count += pair[count].similarity > similarity;
        }
    qsort(pair, count, sizeof *pair, most_alike);
    return count;
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
static void join(struct mf_night *n, const struct pair *pair)
{
    const double rows_one = mf_graph_find(n->graph, n->before.id[pair->one])->activations;
    const double rows_other = mf_graph_find(n->graph, n->before.id[pair->other])->activations;
    const int is_one =
        rows_one > rows_other || (rows_one == rows_other && n->before.id[pair->one] < n->before.id[pair->other]);
    const size_t from = is_one ? pair->other : pair->one, into = is_one ? pair->one : pair->other;

    mf_carry_merge(n->carry, n->before.id[into], n->before.id[from], is_one ? rows_one : rows_other,
                   is_one ? rows_other : rows_one);
    mf_graph_merge(n->graph, n->before.id[from], n->before.id[into]);
    join_inputs(&n->survey, from, into);
    leave(n, n->before.id[from]);
    mf_night_note(n, MF_CHANGE_MERGE, n->before.id[from], n->before.id[into]);
}

void mf_night_merge(struct mf_night *n, double similarity)
{
    const size_t experts = n->before.count;
    struct pair *pair = MF_MUST(malloc((experts * experts + 1) * sizeof *pair), "pairs of experts");
    unsigned char *taken = MF_MUST(calloc(experts + 1, 1), "pairs of experts");
    const size_t pairs = find_pairs(n, similarity, pair);

    for (size_t k = 0; k < pairs && n->experts.count > (size_t)n->sleep->grow->opts.least; ++k) {
        if (taken[pair[k].one] || taken[pair[k].other]) continue;
        taken[pair[k].one] = taken[pair[k].other] = 1;
        join(n, &pair[k]);
    }
    free(pair);
    free(taken);
}

/* -- pruning -- */

static int is_idle(const struct mf_night *n, const struct mf_graph_expert *e)
{
    const struct mf_sleep_opts *o = &n->sleep->opts;
    const long since = e->active > e->born ? e->active : e->born;

    return (long)n->trainer->step - since > o->dormant && e->activations < (double)o->activations;
}

/* Of those that remain; NULL: all are needed. */
static const struct mf_graph_expert *idlest(const struct mf_night *n)
{
    const struct mf_graph_expert *found = NULL;

    for (size_t i = 0; i < n->graph->experts; ++i) {
        const struct mf_graph_expert *e = &n->graph->expert[i];

        if (is_idle(n, e) && (!found || e->activations < found->activations)) found = e;
    }
    return found;
}

void mf_night_prune(struct mf_night *n)
{
    const struct mf_graph_expert *e;

    while (n->experts.count > (size_t)n->sleep->grow->opts.least && (e = idlest(n)) != NULL) {
        const long id = e->id;

        mf_night_note(n, MF_CHANGE_PRUNE, id, mf_graph_prune(n->graph, id));
        n->survey.rows[mf_experts_find(&n->before, id)] = 0;
        leave(n, id);
    }
}
