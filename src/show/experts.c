/* See experts.h. */
#include "src/show/experts.h"

#include <math.h>
#include <stdlib.h>

#include "src/base/err.h"

/* ---- the graph ---- */

static const double covered = 0.16, largest = 0.085, smallest = 0.016, shown = 0.05, golden = 2.399963229728653;

/* Discs whose areas are the shares of rows, and the radius of all rows. */
static double radii(const struct mf_drawn_graph *g, double *radius)
{
    double all = 0, most = 0, whole;

    for (size_t i = 0; i < g->experts; ++i) {
        all += g->expert[i].rows;
        most = fmax(most, g->expert[i].rows);
    }
    whole = most > 0 ? fmin(largest * sqrt(all / most), sqrt(covered / M_PI)) : 0;
    for (size_t i = 0; i < g->experts; ++i)
        radius[i] = fmax(smallest, all > 0 ? whole * sqrt(g->expert[i].rows / all) : 0);
    return whole;
}

/* Where a node begins follows from its id: points of a spiral that are spread evenly, in mixed order. */
static void begin(long id, double at[2])
{
    double out = 0;
    double bit = 0.5;

    for (long rest = id; rest; rest /= 2, bit /= 2) out += bit * (double)(rest % 2);
    at[0] = 0.5 + 0.45 * sqrt(out + 0.01) * cos(golden * (double)id);
    at[1] = 0.5 + 0.45 * sqrt(out + 0.01) * sin(golden * (double)id);
}

static size_t place_of(const struct mf_drawn_graph *g, long id)
{
    size_t i = 0;

    while (i < g->experts && g->expert[i].id != id) ++i;
    MF_ASSERT(i < g->experts);
    return i;
}

static struct mf_plot_link *links_of(struct mf_figure *f, const struct mf_drawn_graph *g)
{
    struct mf_plot_link *links = mf_figure_keep(f, g->relations * sizeof *links);

    for (size_t i = 0; i < g->relations; ++i) {
        const struct mf_drawn_relation *r = &g->relation[i];

        links[i] = (struct mf_plot_link){{place_of(g, r->one), place_of(g, r->other)}, r->weight, r->kind};
    }
    return links;
}

/* Places of nodes without relations, in rows from below. Returns the height that is left above them. */
static double place_alone(struct mf_plot_node *nodes, size_t count)
{
    const double gap = 0.02;
    double x = gap, top = 1, tall = 0;

    for (size_t i = 0; i < count; ++i) {
        struct mf_plot_node *n = &nodes[i];

        if (!n->alone) continue;
        if (x + 2 * n->radius + gap > 1) {
            top -= tall + gap;
            x = gap;
            tall = 0;
        }
        n->at[0] = x + n->radius;
        n->at[1] = top - n->radius;
        x += 2 * n->radius + gap;
        tall = fmax(tall, 2 * n->radius);
    }
    return tall > 0 ? top - tall - 2 * gap : top;
}

/* The nodes that have relations, and how strongly these pull. */
struct tied {
    size_t count, *node; /* [count] their numbers among all */
    double *radius, *pull, (*at)[2];
};

static void gather(struct mf_figure *f, const struct mf_plot_graph *g, const struct mf_drawn_graph *from,
                   struct tied *t)
{
    size_t *place = mf_figure_keep(f, g->nodes * sizeof *place);

    for (size_t i = 0; i < g->nodes; ++i) {
        if (g->node[i].alone) continue;
        place[i] = t->count;
        t->node[t->count] = i;
        t->radius[t->count] = g->node[i].radius;
        begin(from->expert[i].id, t->at[t->count++]);
    }
    for (size_t i = 0; i < g->links; ++i) {
        const size_t one = place[g->link[i].ends[0]], other = place[g->link[i].ends[1]];
        double *pull = &t->pull[one * t->count + other];

        *pull = t->pull[other * t->count + one] = fmax(*pull, g->link[i].weight);
    }
}

static void place(struct mf_figure *f, const struct mf_plot_graph *g, const struct mf_drawn_graph *from,
                  struct mf_plot_node *nodes)
{
    const size_t n = g->nodes;
    struct tied t = {0, mf_figure_keep(f, n * sizeof *t.node), mf_figure_keep(f, n * sizeof *t.radius),
                     mf_figure_keep(f, n * n * sizeof *t.pull), mf_figure_keep(f, n * sizeof *t.at)};
    const double height = place_alone(nodes, n);

    gather(f, g, from, &t);
    mf_place_nodes(&(struct mf_places){t.count, fmax(height, 0.2), t.radius, t.pull, t.at});
    for (size_t i = 0; i < t.count; ++i)
        for (int a = 0; a < 2; ++a) nodes[t.node[i]].at[a] = t.at[i][a];
}

static struct mf_plot_node *nodes_of(struct mf_figure *f, const struct mf_drawn_graph *g,
                                     const struct mf_plot_link *links, const double *radius)
{
    struct mf_plot_node *nodes = mf_figure_keep(f, g->experts * sizeof *nodes);

    for (size_t i = 0; i < g->experts; ++i)
        nodes[i] = (struct mf_plot_node){
            {0, 0}, radius[i], g->expert[i].concept, 1, mf_figure_text(f, "%ld", g->expert[i].id)};
    for (size_t i = 0; i < g->relations; ++i)
        for (int end = 0; end < 2; ++end) nodes[links[i].ends[end]].alone = 0;
    return nodes;
}

/* A round share of rows, and the radius of its disc. */
static double share_shown(double whole, double *radius)
{
    static const double shares[] = {50, 20, 10, 5, 2, 1, 0.5, 0.2};
    size_t i = 0;

    while (i + 1 < sizeof shares / sizeof *shares && whole * sqrt(shares[i] / 100) > shown) ++i;
    *radius = whole * sqrt(shares[i] / 100);
    return shares[i];
}

void mf_figure_graph(struct mf_figure *f, const struct mf_drawn_graph *g)
{
    struct mf_plot_graph *drawn = mf_figure_keep(f, sizeof *drawn);
    double *radius = mf_figure_keep(f, g->experts * sizeof *radius);
    const struct mf_plot_link *links = links_of(f, g);
    const double whole = radii(g, radius), percent = share_shown(whole, &drawn->size);
    struct mf_plot_node *nodes = nodes_of(f, g, links, radius);

    drawn->nodes = g->experts;
    drawn->links = g->relations;
    drawn->colours = g->concepts;
    drawn->kinds = g->kinds;
    drawn->node = nodes;
    drawn->link = links;
    drawn->colour_title = "Serves most";
    drawn->colour_name = g->concept_name;
    drawn->kind_title = "Relation (width: weight)";
    drawn->kind_name = g->kind_name;
    drawn->size_title = "Share of rows";
    drawn->size_name = whole > 0 ? mf_figure_text(f, "%g %%", percent) : NULL;
    place(f, drawn, g, nodes);
    *mf_figure_next(f) = (struct mf_panel){.kind = MF_PANEL_GRAPH, .graph = drawn, .zoom = 2};
}
