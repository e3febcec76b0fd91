/* See spread.h. Sets of devices are counted by kind: which of equal ones have runs makes no difference. */
#include "src/place/spread_impl.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"

enum { STATES = 1 << 16 /* sets of devices that are looked at */, LINKED = 10, HALVINGS = 60 };

static double free_of(const struct mf_spread_search *s, size_t device)
{
    return (double)s->devices->device[device].free;
}

/* -- kinds of devices -- */

static void find_kinds(struct mf_spread_search *s)
{
    s->kind = MF_MUST(calloc(s->n + 1, sizeof *s->kind), "kinds of devices");
    s->kind_of = MF_MUST(calloc(s->devices->count + 1, sizeof *s->kind_of), "kinds of devices");
    for (size_t i = 0; i < s->n; ++i) {
        struct mf_spread_kind *k = s->kind;

        while (k < s->kind + s->kinds && k->free != free_of(s, s->use[i])) ++k;
        if (k == s->kind + s->kinds) {
            *k = (struct mf_spread_kind){.free = free_of(s, s->use[i])};
            k->device = MF_MUST(malloc(s->n * sizeof *k->device), "devices");
            k->begin = MF_MUST(malloc((s->chain->parts + 1) * sizeof *k->begin), "runs");
            ++s->kinds;
        }
        k->device[k->count++] = s->use[i];
        s->kind_of[s->use[i]] = (size_t)(k - s->kind);
    }
    s->states = 1;
    for (size_t k = 0; k < s->kinds; ++k) {
        s->kind[k].stride = s->states;
        s->states = s->states > STATES ? s->states : s->states * (s->kind[k].count + 1);
    }
    if (s->states > STATES) s->states = 0;
    s->begin = MF_MUST(malloc((s->states + 1) * sizeof *s->begin), "states");
}

static void give(struct mf_spread_search *s)
{
    for (size_t k = 0; k < s->kinds; ++k) {
        free(s->kind[k].device);
        free(s->kind[k].begin);
    }
    free(s->kind);
    free(s->kind_of);
    free(s->begin);
}

static void set_share(struct mf_spread_search *s, double share)
{
    s->share = share;
    for (size_t k = 0; k < s->kinds; ++k) memset(s->kind[k].begin, 0, (s->chain->parts + 1) * sizeof *s->kind[k].begin);
}

size_t mf_spread_begin(const struct mf_spread_search *s, size_t kind, size_t end)
{
    struct mf_spread_kind *k = &s->kind[kind];

    if (k->begin[end] == 0) k->begin[end] = 1 + mf_place_chain_begin(s->chain, end, s->share * k->free);
    return k->begin[end] - 1;
}

static size_t count_in(const struct mf_spread_kind *k, size_t state) { return state / k->stride % (k->count + 1); }

static size_t runs_of(const struct mf_spread_search *s, size_t state)
{
    size_t n = 0;

    for (size_t k = 0; k < s->kinds; ++k) n += count_in(&s->kind[k], state);
    return n;
}

/* Fills begin, and returns the state with the smallest one that has the fewest runs. */
static size_t look_at_states(struct mf_spread_search *s)
{
    size_t best = 0;

    for (size_t i = 0; i < s->states; ++i) s->begin[i] = s->chain->parts;
    for (size_t i = 0; i < s->states; ++i) {
        for (size_t k = 0; k < s->kinds; ++k) {
            size_t *next = &s->begin[i + s->kind[k].stride];

            if (count_in(&s->kind[k], i) < s->kind[k].count) *next = mf_min(*next, mf_spread_begin(s, k, s->begin[i]));
        }
        if (s->begin[i] < s->begin[best] || (s->begin[i] == s->begin[best] && runs_of(s, i) < runs_of(s, best)))
            best = i;
    }
    return best;
}

/* -- the smallest share -- */

static size_t begin_with(struct mf_spread_search *s, const size_t *order, double share)
{
    set_share(s, share);
    return s->states ? s->begin[look_at_states(s)] : mf_spread_ordered(s, order);
}

/* 1: also where nothing fits. */
static double smallest_share(struct mf_spread_search *s, const size_t *order)
{
    double low = 0, high = 1;

    if (begin_with(s, order, 1) > 0) return 1;
    for (int k = 0; k < HALVINGS; ++k) {
        const double middle = (low + high) / 2;

        *(begin_with(s, order, middle) == 0 ? &high : &low) = middle;
    }
    return high;
}

/* -- runs -- */

size_t mf_spread_put(const struct mf_spread_search *s, size_t device, size_t from, size_t least, double left,
                     struct mf_spread *to)
{
    const double free = free_of(s, device), even = (double)mf_place_chain_bytes(s->chain, from, s->chain->parts) / left;
    const size_t most = mf_place_chain_end(s->chain, from, s->share * free);
    size_t end = mf_place_chain_end(s->chain, from, even * free);
    double taken;

    end = mf_min(mf_max(end, least), most);
    taken = (double)mf_place_chain_bytes(s->chain, from, end) / free;
    if (taken > to->most) to->most = taken;
    to->device[to->runs] = device;
    to->end[to->runs++] = end;
    return end;
}

/* The next device: linked to the last one if possible, then the first. Returns n: none can go on. */
static size_t next_device(const struct mf_spread_search *s, size_t state, size_t at, const unsigned char *taken,
                          ptrdiff_t last)
{
    size_t best = s->n;

    for (size_t i = 0; i < s->n; ++i) {
        const size_t d = s->use[i];
        const struct mf_spread_kind *k = &s->kind[s->kind_of[d]];
        const int linked = last >= 0 && s->devices->linked && s->devices->linked[(size_t)last * s->devices->count + d];

        if (taken[i] || count_in(k, state) == 0) continue;
        if (s->begin[state - k->stride] > mf_place_chain_end(s->chain, at, s->share * k->free)) continue;
        if (linked) return i;
        if (best == s->n) best = i;
    }
    return best;
}

static void put_runs(struct mf_spread_search *s, size_t state, struct mf_spread *to)
{
    unsigned char *taken = MF_MUST(calloc(s->n + 1, 1), "devices");
    ptrdiff_t last = -1;
    double left = 0;

    for (size_t k = 0; k < s->kinds; ++k) left += (double)count_in(&s->kind[k], state) * s->kind[k].free;
    for (size_t at = s->begin[state]; at < s->chain->parts;) {
        const size_t i = next_device(s, state, at, taken, last);
        const struct mf_spread_kind *k;

        MF_ASSERT(i < s->n);
        k = &s->kind[s->kind_of[s->use[i]]];
        state -= k->stride;
        at = mf_spread_put(s, s->use[i], at, s->begin[state], left, to);
        left -= k->free;
        taken[i] = 1;
        last = (ptrdiff_t)s->use[i];
    }
    free(taken);
}

/* Do links tell pairs of devices apart? */
static int links_differ(const struct mf_spread_search *s)
{
    size_t linked = 0;

    for (size_t i = 0; s->devices->linked && i < s->n; ++i)
        for (size_t k = 0; k < i; ++k) linked += s->devices->linked[s->use[i] * s->devices->count + s->use[k]] != 0;
    return linked > 0 && linked < s->n * (s->n - 1) / 2;
}

static void choose(struct mf_spread_search *s, const size_t *order, struct mf_spread *to)
{
    const double share = smallest_share(s, order);
    size_t state;

    to->begin = begin_with(s, order, share);
    if (!s->states) {
        mf_spread_ordered_put(s, order, to);
        return;
    }
    state = look_at_states(s);
    if (s->n <= LINKED && links_differ(s))
        mf_spread_linked(s, runs_of(s, state), to->begin, to);
    else
        put_runs(s, state, to);
}

/* -- all -- */

static void new_spread(size_t n, struct mf_spread *to)
{
    *to = (struct mf_spread){0};
    to->device = MF_MUST(malloc((n + 1) * sizeof *to->device), "runs");
    to->end = MF_MUST(malloc((n + 1) * sizeof *to->end), "runs");
}

void mf_spread_free(struct mf_spread *to)
{
    free(to->device);
    free(to->end);
    *to = (struct mf_spread){0};
}

/* The numbers @p use from large to small, equal ones in their order. */
static size_t *from_large(const struct mf_spread_search *s)
{
    size_t *order = MF_MUST(malloc((s->n + 1) * sizeof *order), "devices");

    for (size_t i = 0; i < s->n; ++i) {
        size_t k = i;

        for (; k > 0 && free_of(s, order[k - 1]) < free_of(s, s->use[i]); --k) order[k] = order[k - 1];
        order[k] = s->use[i];
    }
    return order;
}

static int is_better(const struct mf_spread *a, const struct mf_spread *b)
{
    if (a->begin != b->begin) return a->begin < b->begin;
    return a->begin == 0 && a->most < b->most;
}

void mf_spread(const struct mf_place_chain *chain, const struct mf_place_devices *devices, size_t n, const size_t *use,
               struct mf_spread *to)
{
    struct mf_spread_search s = {.chain = chain, .devices = devices, .n = n, .use = use};
    struct mf_spread other;
    size_t *order;

    find_kinds(&s);
    new_spread(n, to);
    choose(&s, use, to);
    if (!s.states) {
        order = from_large(&s);
        new_spread(n, &other);
        choose(&s, order, &other);
        if (is_better(&other, to)) {
            const struct mf_spread last = *to;

            *to = other;
            other = last;
        }
        mf_spread_free(&other);
        free(order);
    }
    give(&s);
}
