/* The knowledge graph is in order, has an edge once, and equals a graph kept as plain tables. */
#include "src/moe/graph.h"

#include "tests/check.h"

static void in_order(void)
{
    struct mf_graph g = {.next = 0};

    for (long id = 0; id < 9; id += 2) mf_graph_add(&g, &(struct mf_graph_expert){.id = id, .parent = -1});
    CHECK(g.experts == 5 && g.next == 9 && mf_graph_find(&g, 6)->id == 6 && !mf_graph_find(&g, 7));
    mf_graph_connect(&g, 8, 2, MF_SIMILARITY, 0.5);
    mf_graph_connect(&g, 0, 8, MF_SIMILARITY, 0.25);
    mf_graph_connect(&g, 2, 8, MF_DEPENDENCY, 0.125);
    mf_graph_connect(&g, 2, 8, MF_SIMILARITY, 0.75);
    mf_graph_connect(&g, 8, 2, MF_SIMILARITY, 0.5);
    CHECK(g.edges == 3 && g.edge[0].one == 0 && g.edge[0].other == 8);
    CHECK(g.edge[1].one == 2 && g.edge[1].other == 8 && g.edge[1].weight == 0.75);
    CHECK(g.edge[2].relation == MF_DEPENDENCY && g.edge[2].weight == 0.125);
    mf_graph_free(&g);
}

int main(void)
{
    in_order();
    return failures != 0;
}
