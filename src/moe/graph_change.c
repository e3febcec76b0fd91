/* See graph.h: what changes a graph. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/moe/graph.h"

static const double keeps = 0.7, passes = 0.8;

/* The edges of an expert, taken out of the graph. The neighbour stands in `other`; the caller frees. */
static struct mf_graph_edge *take_edges(struct mf_graph *g, long id, size_t *count)
{
    struct mf_graph_edge *taken = MF_MUST(malloc((g->edges + 1) * sizeof *taken), "a graph");
    size_t kept = 0;

    *count = 0;
    for (size_t i = 0; i < g->edges; ++i) {
        const struct mf_graph_edge e = g->edge[i];

        if (e.one == id || e.other == id)
            taken[(*count)++] = (struct mf_graph_edge){id, e.one == id ? e.other : e.one, e.relation, e.weight};
        else
            g->edge[kept++] = e;
    }
    g->edges = kept;
    return taken;
}

static void take_expert(struct mf_graph *g, struct mf_graph_expert *e)
{
    free(e->samples);
    --g->experts;
    memmove(e, e + 1, (size_t)(g->expert + g->experts - e) * sizeof *e);
}

void mf_graph_remove(struct mf_graph *g, long id)
{
    struct mf_graph_expert *e = mf_graph_find(g, id);
    size_t count;

    MF_ASSERT(e);
    free(take_edges(g, id, &count));
    take_expert(g, e);
}

/* The mean of two scores by the rows of their experts. */
static double mean(double a, double rows_a, double b, double rows_b)
{
    return rows_a + rows_b > 0 ? (a * rows_a + b * rows_b) / (rows_a + rows_b) : (a + b) / 2;
}

static void join(const struct mf_graph *g, const struct mf_graph_expert *a, struct mf_graph_expert *b)
{
    const double rows_a = a->activations, rows_b = b->activations;

    b->specialization = mean(a->specialization, rows_a, b->specialization, rows_b);
    b->adaptation_rate = mean(a->adaptation_rate, rows_a, b->adaptation_rate, rows_b);
    b->confidence = mean(a->confidence, rows_a, b->confidence, rows_b);
    b->activations += rows_a;
    if (a->active > b->active) b->active = a->active;
    for (size_t i = 0; i < g->concepts; ++i) b->samples[i] += a->samples[i];
}

void mf_graph_merge(struct mf_graph *g, long from, long into)
{
    struct mf_graph_expert *a = mf_graph_find(g, from), *b = mf_graph_find(g, into);
    struct mf_graph_edge *edges;
    size_t count;

    MF_ASSERT(a && b && a != b);
    edges = take_edges(g, from, &count);
    for (size_t i = 0; i < count; ++i)
        if (edges[i].other != into) mf_graph_connect(g, into, edges[i].other, edges[i].relation, edges[i].weight);
    free(edges);
    join(g, a, b);
    take_expert(g, a);
}

/* ---- pruning and decay ---- */

/* Edges of an expert are in the order of the neighbours' ids. */
static long strongest(const struct mf_graph_edge *edges, size_t count)
{
    size_t best = 0;

    for (size_t i = 1; i < count; ++i)
        if (edges[i].weight > edges[best].weight) best = i;
    return count ? edges[best].other : -1;
}

static struct mf_graph_edge *find_edge(struct mf_graph *g, long a, long b, enum mf_relation relation)
{
    for (size_t i = 0; i < g->edges; ++i) {
        struct mf_graph_edge *e = &g->edge[i];

        if (e->relation == relation && ((e->one == a && e->other == b) || (e->one == b && e->other == a))) return e;
    }
    return NULL;
}

static void inherit(struct mf_graph *g, long heir, const struct mf_graph_edge *from)
{
    struct mf_graph_edge *own = find_edge(g, heir, from->other, from->relation);

    if (own)
        own->weight = keeps * own->weight + (1 - keeps) * from->weight;
    else
        mf_graph_connect(g, heir, from->other, from->relation, passes * from->weight);
}

long mf_graph_prune(struct mf_graph *g, long id)
{
    struct mf_graph_expert *e = mf_graph_find(g, id);
    struct mf_graph_edge *edges;
    size_t count;
    long heir;

    MF_ASSERT(e);
    edges = take_edges(g, id, &count);
    heir = strongest(edges, count);
    for (size_t i = 0; i < count; ++i)
        if (edges[i].other != heir) inherit(g, heir, &edges[i]);
    free(edges);
    take_expert(g, e);
    return heir;
}

void mf_graph_decay(struct mf_graph *g, double rate, double least)
{
    size_t kept = 0;

    MF_ASSERT(rate >= 0 && rate <= 1 && least >= 0);
    for (size_t i = 0; i < g->edges; ++i) {
        g->edge[kept] = g->edge[i];
        g->edge[kept].weight *= rate;
        if (g->edge[kept].weight > 0 && g->edge[kept].weight >= least) ++kept;
    }
    g->edges = kept;
}

/* ---- concepts ---- */

static void add_concept(struct mf_graph *g, const char *name, long parent)
{
    MF_ASSERT(parent >= -1 && parent < (long)g->concepts);
    g->concept = MF_MUST(realloc(g->concept, (g->concepts + 1) * sizeof *g->concept), "a graph");
    g->concept[g->concepts++] = (struct mf_graph_concept){MF_MUST(strdup(name), "a graph"), parent};
    for (size_t i = 0; i < g->experts; ++i) {
        double **samples = &g->expert[i].samples;

        *samples = MF_MUST(realloc(*samples, (g->concepts + 1) * sizeof **samples), "a graph");
        (*samples)[g->concepts - 1] = 0;
    }
}

size_t mf_graph_concept(struct mf_graph *g, const char *name, long parent)
{
    for (size_t i = 0; i < g->concepts; ++i)
        if (strcmp(g->concept[i].name, name) == 0) return i;
    add_concept(g, name, parent);
    return g->concepts - 1;
}

void mf_graph_serve(struct mf_graph *g, long id, size_t concept, double samples)
{
    struct mf_graph_expert *e = mf_graph_find(g, id);

    MF_ASSERT(e && concept < g->concepts && samples >= 0);
    e->samples[concept] += samples;
}
