/* Graphs: links as lines, nodes as discs above them. See plot_curve.h. */
#include <math.h>
#include <stdio.h>

#include "io/plot_curve.h"

enum { INK = 0x202020, GREY = 0xb4b4b4, NAME = 128 };

static const double legend_width = 150, legend_size = 10.5, legend_row = 16, head_gap = 10, name_size = 11;
static const double thin = 0.7, thick = 5, bend = 9;

/* The colour and the dashes of each kind of link. */
static const struct pen {
    uint32_t colour;
    double dash[2];
} pens[] = {
    {0x5b7083, {0, 0}}, {0x009e73, {0, 0}}, {0xcc79a7, {7, 4}}, {0x7a4fa0, {1.5, 3}}, {0xd55e00, {9, 3}},
};

static void take_pen(cairo_t *page, int kind, double weight)
{
    const struct pen *pen = &pens[(size_t)kind % (sizeof pens / sizeof *pens)];
    const uint32_t c = pen->colour;

    cairo_set_source_rgba(page, (c >> 16 & 255) / 255., (c >> 8 & 255) / 255., (c & 255) / 255., 0.35 + 0.5 * weight);
    cairo_set_line_width(page, thin + (thick - thin) * weight);
    cairo_set_dash(page, pen->dash, pen->dash[0] > 0 ? 2 : 0, 0);
}

/* ---- links and nodes ---- */

static int same_ends(const struct mf_plot_link *a, const struct mf_plot_link *b)
{
    return a->ends[0] == b->ends[0] && a->ends[1] == b->ends[1];
}

/* Links of one pair, which lie together, are bent apart: how far this one is from the straight line. */
static double bend_of(const struct mf_plot_graph *g, size_t i)
{
    size_t first = i, end = i + 1;

    while (first > 0 && same_ends(&g->link[first - 1], &g->link[i])) --first;
    while (end < g->links && same_ends(&g->link[end], &g->link[i])) ++end;
    return bend * ((double)(i - first) - (double)(end - first - 1) / 2);
}

static double across(struct mf_box box, double x) { return box.x + x * box.width; }
static double down(struct mf_box box, double y) { return box.y + y * box.height; }

static void draw_link(cairo_t *page, struct mf_box box, const struct mf_plot_graph *g, size_t i)
{
    const struct mf_plot_link *l = &g->link[i];
    const double *from = g->node[l->ends[0]].at, *to = g->node[l->ends[1]].at, off = 2 * bend_of(g, i);
    const double x[2] = {across(box, from[0]), across(box, to[0])}, y[2] = {down(box, from[1]), down(box, to[1])};
    const double length = fmax(hypot(x[1] - x[0], y[1] - y[0]), 1e-9);
    const double middle[2] = {(x[0] + x[1]) / 2 - off * (y[1] - y[0]) / length,
                              (y[0] + y[1]) / 2 + off * (x[1] - x[0]) / length};

    take_pen(page, l->kind, l->weight);
    cairo_move_to(page, x[0], y[0]);
    cairo_curve_to(page, (x[0] + 2 * middle[0]) / 3, (y[0] + 2 * middle[1]) / 3, (x[1] + 2 * middle[0]) / 3,
                   (y[1] + 2 * middle[1]) / 3, x[1], y[1]);
    cairo_stroke(page);
}

static void disc(cairo_t *page, double x, double y, double radius, uint32_t colour, int alone)
{
    const double dash[2] = {3, 2.5};

    cairo_new_path(page);
    cairo_arc(page, x, y, radius, 0, 2 * M_PI);
    mf_plot_ink(page, colour);
    cairo_fill_preserve(page);
    mf_plot_ink(page, alone ? INK : 0xffffff);
    cairo_set_line_width(page, 1.3);
    cairo_set_dash(page, dash, alone ? 2 : 0, 0);
    cairo_stroke(page);
    cairo_set_dash(page, NULL, 0, 0);
}

static uint32_t colour_of(int colour) { return colour < 0 ? GREY : mf_plot_many((size_t)colour); }

/* The name inside, smaller where the disc is small. */
static void draw_node(cairo_t *page, struct mf_box box, const struct mf_plot_node *n)
{
    const double x = across(box, n->at[0]), y = down(box, n->at[1]), radius = n->radius * box.width;
    const double wide = fmax(mf_plot_text_width(page, n->name, name_size), 1);
    const double size = name_size * fmin(1.25, 1.5 * radius / fmax(wide, name_size));

    disc(page, x, y, radius, colour_of(n->colour), n->alone);
    mf_plot_ink(page, mf_plot_ink_on(colour_of(n->colour)));
    mf_plot_text(page, x, y, n->name, (struct mf_text){size, 0.5, 0.5, 1, 0});
}

/* ---- legends: each begins at *y and moves it on ---- */

static void head(cairo_t *page, double x, double *y, const char *text)
{
    mf_plot_ink(page, INK);
    mf_plot_text(page, x, *y + legend_row / 2, text, (struct mf_text){legend_size, 0, 0.5, 1, 0});
    *y += legend_row;
}

static void entry(cairo_t *page, double x, double *y, const char *text)
{
    char cut[NAME];

    mf_plot_text_cut(page, text, legend_size, legend_width - 30, cut, sizeof cut);
    mf_plot_ink(page, INK);
    mf_plot_text(page, x + 30, *y + legend_row / 2, cut, (struct mf_text){legend_size, 0, 0.5, 0, 0});
    *y += legend_row;
}

/* Space that the other legends need. */
static double others(const struct mf_plot_graph *g)
{
    return legend_row * (double)(g->kinds + 1) + 2 * head_gap + 3 * legend_row + 60;
}

static int has_grey(const struct mf_plot_graph *g)
{
    for (size_t i = 0; i < g->nodes; ++i)
        if (g->node[i].colour < 0) return 1;
    return 0;
}

static int has_alone(const struct mf_plot_graph *g)
{
    for (size_t i = 0; i < g->nodes; ++i)
        if (g->node[i].alone) return 1;
    return 0;
}

static void colours(cairo_t *page, struct mf_box box, double x, double *y, const struct mf_plot_graph *g)
{
    const double room = box.height - others(g);
    const size_t most = room > 4 * legend_row ? (size_t)(room / legend_row) - 3 : 1;
    const size_t shown = g->colours <= most ? g->colours : most - 1;
    char more[32];

    head(page, x, y, g->colour_title);
    for (size_t i = 0; i < shown; ++i) {
        disc(page, x + 13, *y + legend_row / 2, 6, mf_plot_many(i), 0);
        entry(page, x, y, g->colour_name[i]);
    }
    snprintf(more, sizeof more, "and %zu more", g->colours - shown);
    if (shown < g->colours) entry(page, x, y, more);
    if (!has_grey(g)) return;
    disc(page, x + 13, *y + legend_row / 2, 6, GREY, 0);
    entry(page, x, y, "none yet");
}

static int has_kind(const struct mf_plot_graph *g, size_t kind)
{
    for (size_t i = 0; i < g->links; ++i)
        if (g->link[i].kind == (int)kind) return 1;
    return 0;
}

static void kinds(cairo_t *page, double x, double *y, const struct mf_plot_graph *g)
{
    *y += head_gap;
    head(page, x, y, g->kind_title);
    for (size_t i = 0; i < g->kinds; ++i) {
        if (!has_kind(g, i)) continue;
        take_pen(page, (int)i, 0.4);
        cairo_move_to(page, x, *y + legend_row / 2);
        cairo_rel_line_to(page, 25, 0);
        cairo_stroke(page);
        cairo_set_dash(page, NULL, 0, 0);
        entry(page, x, y, g->kind_name[i]);
    }
    if (!has_alone(g)) return;
    disc(page, x + 13, *y + legend_row / 2, 6, 0xffffff, 1);
    entry(page, x, y, "none");
}

static void sizes(cairo_t *page, double x, double *y, const struct mf_plot_graph *g, double edge)
{
    const double radius = fmin(g->size * edge, 30);

    *y += head_gap;
    head(page, x, y, g->size_title);
    *y += 3;
    disc(page, x + radius, *y + radius, radius, GREY, 0);
    mf_plot_ink(page, INK);
    mf_plot_text(page, x + 2 * radius + 8, *y + radius, g->size_name, (struct mf_text){legend_size, 0, 0.5, 0, 0});
    *y += 2 * radius;
}

void mf_graph_draw(cairo_t *page, struct mf_box box, const struct mf_plot_graph *graph)
{
    const double left = 44, edge = fmin(box.width + left - legend_width - 24, box.height + 30);
    const struct mf_box square = {box.x - left, box.y, edge, edge};
    double x = box.x + box.width - legend_width, y = box.y;

    for (size_t i = 0; i < graph->links; ++i) draw_link(page, square, graph, i);
    cairo_set_dash(page, NULL, 0, 0);
    for (size_t i = 0; i < graph->nodes; ++i) draw_node(page, square, &graph->node[i]);
    if (graph->colours || has_grey(graph)) colours(page, box, x, &y, graph);
    if (graph->kinds) kinds(page, x, &y, graph);
    if (graph->size_name) sizes(page, x, &y, graph, edge);
}
