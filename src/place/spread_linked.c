/* See spread_impl.h: which of few devices follow each other. A state is a set of devices, the first of them, and a
 * number of links between neighbours. Its value is the smallest begin of their runs. */
#include <stdlib.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/place/spread_impl.h"

struct linked {
    const struct mf_spread_search *s;
    size_t *begin; /* [sets][n][n] */
};

static size_t *at(const struct linked *l, size_t set, size_t first, size_t links)
{
    return &l->begin[(set * l->s->n + first) * l->s->n + links];
}

static size_t is_linked(const struct mf_spread_search *s, size_t i, size_t k)
{
    return s->devices->linked[s->use[i] * s->devices->count + s->use[k]] != 0;
}

/* Puts device @p d in front of the runs of a state. */
static void put_in_front(const struct linked *l, size_t set, size_t first, size_t d)
{
    const size_t kind = l->s->kind_of[l->s->use[d]];

    for (size_t links = 0; links + 1 < l->s->n; ++links) {
        const size_t end = *at(l, set, first, links);
        size_t *to = at(l, set | (size_t)1 << d, d, links + is_linked(l->s, d, first));

        if (end <= l->s->chain->parts) *to = mf_min(*to, mf_spread_begin(l->s, kind, end));
    }
}

static void fill(const struct linked *l, size_t runs)
{
    const size_t n = l->s->n, sets = (size_t)1 << n;

    for (size_t k = 0; k < sets * n * n; ++k) l->begin[k] = l->s->chain->parts + 1; /* there is no such state */
    for (size_t d = 0; d < n; ++d)
        *at(l, (size_t)1 << d, d, 0) = mf_spread_begin(l->s, l->s->kind_of[l->s->use[d]], l->s->chain->parts);
    for (size_t set = 1; set < sets; ++set)
        for (size_t first = 0; first < n; ++first)
            for (size_t d = 0; set >> first & 1 && d < n; ++d)
                if (!(set >> d & 1) && (size_t)__builtin_popcountll(set) < runs) put_in_front(l, set, first, d);
}

/* The state of these runs with the most links. */
static void find_best(const struct linked *l, size_t runs, size_t from, size_t state[3])
{
    const size_t n = l->s->n;
    int found = 0;

    for (size_t links = n; links-- > 0 && !found;)
        for (size_t set = 1; set < (size_t)1 << n && !found; ++set)
            for (size_t first = 0; first < n && !found; ++first)
                if ((size_t)__builtin_popcountll(set) == runs && *at(l, set, first, links) <= from) {
                    state[0] = set;
                    state[1] = first;
                    state[2] = links;
                    found = 1;
                }
    MF_ASSERT(found);
}

/* The state behind the first run, which begins at @p from. Returns its begin; without further devices the end. */
static size_t go_on(const struct linked *l, size_t from, size_t state[3])
{
    const struct mf_spread_search *s = l->s;
    const size_t d = state[1], rest = state[0] & ~((size_t)1 << d);
    const size_t end = mf_place_chain_end(s->chain, from, s->share * s->kind[s->kind_of[s->use[d]]].free);

    for (size_t first = 0; first < s->n; ++first) {
        const size_t links = state[2] - is_linked(s, d, first);

        if (!(rest >> first & 1) || links >= s->n || *at(l, rest, first, links) > end) continue;
        state[0] = rest;
        state[1] = first;
        state[2] = links;
        return *at(l, rest, first, links);
    }
    MF_ASSERT(rest == 0);
    return s->chain->parts;
}

void mf_spread_linked(const struct mf_spread_search *s, size_t runs, size_t from, struct mf_spread *to)
{
    struct linked l = {s, MF_MUST(malloc(((s->n * s->n) << s->n) * sizeof *l.begin), "states")};
    size_t state[3] = {0, 0, 0};
    double left = 0;

    fill(&l, runs);
    if (runs > 0) find_best(&l, runs, from, state);
    for (size_t d = 0; d < s->n; ++d)
        if (state[0] >> d & 1) left += s->kind[s->kind_of[s->use[d]]].free;
    for (size_t k = 0; k < runs; ++k) {
        const size_t device = s->use[state[1]];
        const size_t least = go_on(&l, from, state);

        from = mf_spread_put(s, device, from, least, left, to);
        left -= s->kind[s->kind_of[device]].free;
    }
    free(l.begin);
}
