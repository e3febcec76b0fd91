/* See graph.h: experts and edges. */
#include "src/moe/graph.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/moe/graph_priv.h"

const char *const mf_relation_names[MF_RELATIONS] = {"similarity", "specialization", "dependency", "composition",
                                                     "specialization_split"};

void mf_graph_free(struct mf_graph *g)
{
    for (size_t i = 0; i < g->experts; ++i) free(g->expert[i].samples);
    for (size_t i = 0; i < g->concepts; ++i) free(g->concept[i].name);
    free(g->expert);
    free(g->edge);
    free(g->concept);
    *g = (struct mf_graph){0};
}

void mf_graph_add(struct mf_graph *g, const struct mf_graph_expert *expert)
{
    struct mf_graph_expert *e;

    MF_ASSERT(expert->id >= g->next && expert->parent < expert->id);
    g->expert = MF_MUST(realloc(g->expert, (g->experts + 1) * sizeof *g->expert), "a graph");
    e = &g->expert[g->experts++];
    *e = *expert;
    e->samples = MF_MUST(calloc(g->concepts + 1, sizeof *e->samples), "a graph");
    g->next = expert->id + 1;
}

struct mf_graph_expert *mf_graph_find(const struct mf_graph *g, long id)
{
    size_t low = 0, high = g->experts;

    while (low < high) {
        const size_t middle = (low + high) / 2;

        if (g->expert[middle].id == id) return &g->expert[middle];
        if (g->expert[middle].id < id)
            low = middle + 1;
        else
            high = middle;
    }
    return NULL;
}

/* ---- edges ---- */

int mf_graph_order(const struct mf_graph_edge *a, const struct mf_graph_edge *b)
{
    if (a->one != b->one) return a->one < b->one ? -1 : 1;
    if (a->other != b->other) return a->other < b->other ? -1 : 1;
    return (a->relation > b->relation) - (a->relation < b->relation);
}

/* The edge, or a new one of weight 0 in its place. */
static struct mf_graph_edge *edge_of(struct mf_graph *g, long one, long other, enum mf_relation relation)
{
    const struct mf_graph_edge want = {one < other ? one : other, one < other ? other : one, relation, 0};
    size_t at = g->edges;

    MF_ASSERT(one != other && mf_graph_find(g, one) && mf_graph_find(g, other));
    while (at > 0 && mf_graph_order(&g->edge[at - 1], &want) > 0) --at;
    if (at > 0 && mf_graph_order(&g->edge[at - 1], &want) == 0) return &g->edge[at - 1];
    g->edge = MF_MUST(realloc(g->edge, (g->edges + 1) * sizeof *g->edge), "a graph");
    memmove(g->edge + at + 1, g->edge + at, (g->edges++ - at) * sizeof *g->edge);
    g->edge[at] = want;
    return &g->edge[at];
}

void mf_graph_connect(struct mf_graph *g, long one, long other, enum mf_relation relation, double weight)
{
    struct mf_graph_edge *edge = edge_of(g, one, other, relation);

    MF_ASSERT(weight > 0 && weight <= 1);
    if (weight > edge->weight) edge->weight = weight;
}
