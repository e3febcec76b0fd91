/* Pictures of experts: nodes stand apart, relatives near each other, and small changes move little. With an argument:
 * the folder that all pictures go to, to be looked at. */
#include "src/show/experts.h"

#include <string.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "tests/check.h"

enum { MOST = 64 };

static const char *const concepts[] = {"spheres", "fibres", "lamellae", "spinodal",
                                       "grains",  "cracks", "foam",     "a class with a rather long name",
                                       "voids",   "noise"};
static const char *const kinds[] = {"similarity", "specialization", "dependency", "composition",
                                    "specialization_split"};

static double uniform(uint64_t i) { return mf_random_uniform(3, 0, i); }

/* Experts in groups by concept; those of a group are related, the last ones have no relation. */
static struct mf_drawn_graph example(size_t experts, struct mf_drawn_expert *expert, struct mf_drawn_relation *relation)
{
    struct mf_drawn_graph g = {.experts = experts, .concepts = 10, .kinds = 5, .expert = expert, .relation = relation};
    const size_t tied = experts - experts / 8;

    g.concept_name = concepts;
    g.kind_name = kinds;
    for (size_t i = 0; i < experts; ++i)
        expert[i] = (struct mf_drawn_expert){(long)(i + i / 3), floor(1000 / (1 + (double)(i * 7 % experts))),
                                             i == 5 ? -1 : (int)(i * 10 / experts)};
    for (size_t i = 0; i < tied; ++i)
        for (size_t j = i + 1; j < tied; ++j) {
            const int same = expert[i].concept == expert[j].concept;

            if (uniform(i * MOST + j) > (same ? 0.7 : 1.5 / (double)experts)) continue;
            relation[g.relations++] = (struct mf_drawn_relation){expert[i].id, expert[j].id,
                                                                 same ? 0 : (int)(i + j) % 5, 0.1 + 0.9 * uniform(j)};
            if (i % 5 == 0 && same)
                relation[g.relations++] = (struct mf_drawn_relation){expert[i].id, expert[j].id, 4, 0.3};
        }
    return g;
}

static double distance(const struct mf_plot_node *a, const struct mf_plot_node *b)
{
    return hypot(a->at[0] - b->at[0], a->at[1] - b->at[1]);
}

static void stand_apart(const struct mf_plot_graph *g)
{
    for (size_t i = 0; i < g->nodes; ++i) {
        const struct mf_plot_node *n = &g->node[i];

        for (int a = 0; a < 2; ++a) CHECK(n->at[a] >= n->radius && n->at[a] <= 1 - n->radius);
        for (size_t j = 0; j < i; ++j) CHECK(distance(n, &g->node[j]) > n->radius + g->node[j].radius);
    }
}

/* Mean distance of nodes that are related, and of others. */
static void near_relatives(const struct mf_plot_graph *g)
{
    double sum[2] = {0, 0}, count[2] = {0, 0};

    for (size_t i = 0; i < g->nodes; ++i)
        for (size_t j = 0; j < i; ++j) {
            int related = 0;

            for (size_t k = 0; k < g->links; ++k) related |= (g->link[k].ends[0] == j && g->link[k].ends[1] == i);
            sum[related] += distance(&g->node[i], &g->node[j]);
            ++count[related];
        }
    CHECK(count[1] > 0 && sum[1] / count[1] < 0.7 * sum[0] / count[0]);
}

static void graphs(void)
{
    static const size_t sizes[] = {1, 2, 3, 4, 8, 16, 33, 64};
    struct mf_drawn_expert expert[MOST];
    static struct mf_drawn_relation relation[2 * MOST * MOST];

    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; ++i) {
        const struct mf_drawn_graph g = example(sizes[i], expert, relation);
        struct mf_figure f = {.columns = 1};
        char name[64];

        mf_figure_graph(&f, &g);
        stand_apart(f.panel->graph);
        if (sizes[i] >= 16) near_relatives(f.panel->graph);
        for (size_t k = 0; k < sizes[i]; ++k) CHECK(f.panel->graph->node[k].alone || k < sizes[i] - sizes[i] / 8);
        snprintf(name, sizeof name, "knowledge_graph_%zu.png", sizes[i]);
        CHECK(mf_figure_write(name, "Knowledge graph, epoch 3", &f) == MF_OK);
    }
}

/* One expert fewer, one edge lighter: the others stay about where they are. */
static void small_changes(void)
{
    struct mf_drawn_expert expert[MOST];
    static struct mf_drawn_relation relation[2 * MOST * MOST];
    struct mf_drawn_graph g = example(24, expert, relation);
    struct mf_figure before = {.columns = 1}, after = {.columns = 1};
    double moved = 0;

    mf_figure_graph(&before, &g);
    --g.experts;
    relation[0].weight *= 0.9;
    expert[3].rows *= 1.1;
    mf_figure_graph(&after, &g);
    for (size_t i = 0; i < g.experts; ++i)
        moved += distance(&before.panel->graph->node[i], &after.panel->graph->node[i]) / (double)g.experts;
    CHECK_SAYS(moved < 0.08, "moved by %g\n", moved);
    mf_figure_free(&before);
    mf_figure_free(&after);
}

int main(int argc, char **argv)
{
    if (argc > 1) CHECK(chdir(argv[1]) == 0);
    graphs();
    small_changes();
    return failures != 0;
}
