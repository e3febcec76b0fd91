/* See graph.h: what a graph says. */
#include "src/moe/graph.h"

#include <string.h>

#include "src/moe/graph_priv.h"

/* Is @p concept @p in, or part of it? */
static int is_in(const struct mf_graph *g, size_t concept, size_t in)
{
    long at = (long)concept;

    while (at > (long)in) at = g->concept[at].parent;
    return at == (long)in;
}

double mf_graph_samples(const struct mf_graph *g, const struct mf_graph_expert *e, size_t concept)
{
    double sum = 0;

    for (size_t i = concept; i < g->concepts; ++i)
        if (is_in(g, i, concept)) sum += e->samples[i];
    return sum;
}

double mf_graph_all_samples(const struct mf_graph *g, const struct mf_graph_expert *e)
{
    double all = 0;

    for (size_t i = 0; i < g->concepts; ++i) all += e->samples[i];
    return all;
}

double mf_graph_share(const struct mf_graph *g, const struct mf_graph_expert *e, size_t concept)
{
    const double all = mf_graph_all_samples(g, e);

    return all > 0 ? mf_graph_samples(g, e, concept) / all : 0;
}

long mf_graph_best(const struct mf_graph *g, size_t concept)
{
    double most = 0;
    long best = -1;

    for (size_t i = 0; i < g->experts; ++i) {
        const double samples = mf_graph_samples(g, &g->expert[i], concept);

        if (samples <= most) continue;
        most = samples;
        best = g->expert[i].id;
    }
    return best;
}

static size_t place_of(const struct mf_graph *g, long id) { return (size_t)(mf_graph_find(g, id) - g->expert); }

/* Is edge @p i the first one between its experts? Edges of a pair lie together. */
static int is_first(const struct mf_graph *g, size_t i)
{
    return i == 0 || g->edge[i].one != g->edge[i - 1].one || g->edge[i].other != g->edge[i - 1].other;
}

void mf_graph_centrality(const struct mf_graph *g, double *to)
{
    memset(to, 0, g->experts * sizeof *to);
    for (size_t i = 0; i < g->edges; ++i) {
        if (!is_first(g, i)) continue;
        to[place_of(g, g->edge[i].one)] += 1;
        to[place_of(g, g->edge[i].other)] += 1;
    }
    for (size_t i = 0; i < g->experts && g->experts > 1; ++i) to[i] /= (double)(g->experts - 1);
}
