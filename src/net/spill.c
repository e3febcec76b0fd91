/* The pass spill: large activations that backward reads much later wait in host memory. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/net/copies.h"
#include "src/net/idle.h"
#include "src/net/pass.h"
#include "src/net/region.h"

/* A copy that begins or ends before node @p at. */
struct event {
    size_t at;
    int from, to, ends;
};

struct spill {
    struct mf_list *list;
    size_t seed; /* node with which backward begins */
    struct mf_idle *trip;
    int *host; /* [values] where a value waits */
    size_t trips;
    struct event *event; /* in the order of the list */
    size_t events;
};

static void find_trips(struct spill *s, size_t bytes)
{
    struct mf_net *net = s->list->net;
    const size_t idle = mf_idle_find(s->list, s->seed, &s->trip);

    s->host = MF_MUST(malloc((net->values + 1) * sizeof *s->host), "activations");
    for (size_t k = 0; k < idle; ++k) {
        struct mf_idle t = s->trip[k];
        const struct mf_shape shape = net->value[t.value].shape;

        if (mf_shape_bytes(&shape) < bytes) continue;
        s->host[t.value] = mf_value_new(net, MF_ROLE_ACTIVATION, shape, "%s.host", net->value[t.value].name);
        t.back = mf_value_new(net, MF_ROLE_ACTIVATION, shape, "%s.back", net->value[t.value].name);
        net->value[s->host[t.value]].place = MF_PLACE_HOST;
        s->trip[s->trips++] = t;
    }
}

static void add(struct spill *s, size_t at, int from, int to, int ends)
{
    s->event[s->events++] = (struct event){at, from, to, ends};
}

/* A copy out ends when the next has begun; a copy in begins when the one before is needed. */
static void plan_copies(struct spill *s)
{
    const size_t n = s->trips;
    const struct mf_idle *t = s->trip;

    s->event = MF_MUST(malloc((4 * n + 1) * sizeof *s->event), "copies");
    qsort(s->trip, n, sizeof *s->trip, mf_idle_by_last);
    for (size_t k = 0; k < n; ++k) {
        add(s, (size_t)t[k].last + 1, t[k].value, s->host[t[k].value], 0);
        if (k > 0) add(s, (size_t)t[k].last + 1, t[k - 1].value, s->host[t[k - 1].value], 1);
    }
    if (n > 0) add(s, s->seed, t[n - 1].value, s->host[t[n - 1].value], 1);
    qsort(s->trip, n, sizeof *s->trip, mf_idle_by_first);
    for (size_t k = 0; k < n; ++k) {
        add(s, k > 0 ? (size_t)t[k - 1].first : s->seed + 1, s->host[t[k].value], t[k].back, 0);
        add(s, (size_t)t[k].first, s->host[t[k].value], t[k].back, 1);
    }
}

/* From the last to the first, so that places in the list stay true. */
static void insert(struct spill *s)
{
    for (size_t k = s->events; k-- > 0;) {
        const struct event *e = &s->event[k];

        if (e->ends)
            mf_copy_end(s->list, e->at, e->from, e->to, MF_WAITS_DEVICE);
        else
            mf_copy_begin(s->list, e->at, e->from, e->to);
    }
}

size_t mf_pass_spill(struct mf_list *list, size_t bytes)
{
    struct spill s = {.list = list};

    if (bytes == 0) return 0;
    s.seed = mf_list_seed(list);
    find_trips(&s, bytes);
    plan_copies(&s);
    mf_idle_replace(list, s.seed, s.trips, s.trip);
    insert(&s);
    for (size_t k = 0; k < s.trips; ++k) mf_copy_end(list, list->nodes, s.host[s.trip[k].value], -1, MF_WAITS_HOST);
    free(s.trip);
    free(s.event);
    free(s.host);
    return s.trips;
}
