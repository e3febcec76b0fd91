/* See graph.h: experts and edges. */
#include "src/moe/graph.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/moe/graph_priv.h"

const char *const mf_relation_names[MF_RELATIONS] = {"similarity", "dependency", "composition", "specialization_split"};

void mf_graph_free(struct mf_graph *g)
{
    for (size_t i = 0; i < g->experts; ++i) free(g->expert[i].samples);
    for (size_t i = 0; i < g->concepts; ++i) free(g->concept[i].name);
    free(g->expert);
    free(g->edge);
    free(g->concept);
    *g = (struct mf_graph){0};
}

static void *copy_of(const void *from, size_t bytes)
{
    void *to = MF_MUST(malloc(bytes + 1), "a graph");

    if (bytes > 0) memcpy(to, from, bytes);
    return to;
}

void mf_graph_copy(const struct mf_graph *from, struct mf_graph *to)
{
    *to = *from;
    to->expert = copy_of(from->expert, from->experts * sizeof *to->expert);
    to->edge = copy_of(from->edge, from->edges * sizeof *to->edge);
    to->concept = copy_of(from->concept, from->concepts * sizeof *to->concept);
    for (size_t e = 0; e < to->experts; ++e)
        to->expert[e].samples = copy_of(from->expert[e].samples, (to->concepts + 1) * sizeof(double));
    for (size_t c = 0; c < to->concepts; ++c)
    to->concept[c].name = copy_of(from->concept[c].name, strlen(from->concept[c].name) + 1);
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
