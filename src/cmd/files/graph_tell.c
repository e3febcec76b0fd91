/* See graph_tell.h. */
#include "src/cmd/files/graph_tell.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/moe/graph.h"

enum { NAMED = 12 /* letters of a concept */, RELATIONS = 12 /* that are shown */ };

int mf_graph_named(const char *file) { return mf_ends_with(file, ".json"); }

static void print_share(const struct mf_graph *g, const struct mf_graph_expert *expert, size_t concept)
{
    double samples = 0;

    for (size_t c = 0; c < g->concepts; ++c) samples += expert->samples[c];
    if (samples > 0)
        printf("  %*.0f", NAMED, 100 * mf_graph_share(g, expert, concept));
    else
        printf("  %*s", NAMED, "-");
}

static void print_row(const struct mf_graph *g, const struct mf_graph_expert *expert, double all, double related)
{
    printf("%6ld  %9.0f  %6.2f  %7.2f  %8.0f", expert->id, expert->activations,
           all > 0 ? 100 * expert->activations / all : 0, expert->specialization, 100 * related);
    for (size_t c = 0; c < g->concepts; ++c) print_share(g, expert, c);
    printf("\n");
}

/* A long name without its middle: such names often differ at their ends. */
static void print_name(const char *name)
{
    enum { ENDS = NAMED / 2 - 1 };
    const size_t length = strlen(name);

    if (length <= NAMED)
        printf("  %*s", NAMED, name);
    else
        printf("  %.*s..%s", ENDS, name, name + length - ENDS);
}

/* The expert with most samples of each concept. */
static void print_best(const struct mf_graph *g)
{
    printf("  best  %9s  %6s  %7s  %8s", "", "", "", "");
    for (size_t c = 0; c < g->concepts; ++c) {
        const long best = mf_graph_best(g, c);

        if (best >= 0)
            printf("  %*ld", NAMED, best);
        else
            printf("  %*s", NAMED, "-");
    }
    printf("\n");
}

static int by_weight(const void *a, const void *b)
{
    const struct mf_graph_edge *x = a, *y = b;

    if (x->weight != y->weight) return x->weight > y->weight ? -1 : 1;
    return mf_graph_order(x, y);
}

/* The strongest ones. */
static void print_relations(const struct mf_graph *g)
{
    struct mf_graph_edge *edge = MF_MUST(malloc((g->edges + 1) * sizeof *edge), "a graph");

    for (size_t i = 0; i < g->edges; ++i) edge[i] = g->edge[i];
    qsort(edge, g->edges, sizeof *edge, by_weight);
    for (size_t i = 0; i < g->edges && i < RELATIONS; ++i)
        printf("experts %ld and %ld: %s %.2f\n", edge[i].one, edge[i].other, mf_relation_names[edge[i].relation],
               edge[i].weight);
    if (g->edges > RELATIONS) printf("and %zu weaker relations\n", g->edges - RELATIONS);
    free(edge);
}

static void print_table(const struct mf_graph *g)
{
    double *related = MF_MUST(malloc((g->experts + 1) * sizeof *related), "a graph"), all = 0;

    mf_graph_centrality(g, related);
    for (size_t e = 0; e < g->experts; ++e) all += g->expert[e].activations;
    printf("expert       rows  share%%  special  related%%");
    for (size_t c = 0; c < g->concepts; ++c) print_name(g->concept[c].name);
    printf("\n");
    for (size_t e = 0; e < g->experts; ++e) print_row(g, &g->expert[e], all, related[e]);
    if (g->concepts) print_best(g);
    free(related);
}

static void print(const char *file, const struct mf_graph *g)
{
    printf("%s: knowledge graph of %zu expert%s, %zu relation%s, %zu concept%s\n", file, g->experts, MF_S(g->experts),
           g->edges, MF_S(g->edges), g->concepts, MF_S(g->concepts));
    print_table(g);
    print_relations(g);
    printf("rows: what an expert got in training, since the first step\n"
           "special: at the last epoch, 1 if the expert served one concept alone, 0 if all alike or none\n"
           "related: the part of the other experts with which it has a relation; best: the expert with most samples\n"
           "columns of concepts: their share in the validation samples of the expert, over all epochs [%%]\n");
}

int mf_graph_tell(const char *file, struct mf_json *json)
{
    struct mf_graph graph = {0};
    const int rc = mf_graph_load(file, &graph);

    if (rc == MF_OK && json)
        mf_json_put(json, "graph", mf_graph_json(&graph));
    else if (rc == MF_OK)
        print(file, &graph);
    mf_graph_free(&graph);
    return rc;
}
