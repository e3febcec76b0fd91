/* See draw.h. */
#include "src/moe/draw.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/moe/concepts.h"
#include "src/show/experts.h"

/* ---- the graph ---- */

/* The concepts that samples are counted for. */
struct counted {
    size_t count, *number;
    const char **name;
};

static struct counted counted_of(struct mf_figure *f, const struct mf_graph *g)
{
    struct counted c = {0, mf_figure_keep(f, g->concepts * sizeof *c.number), NULL};

    c.count = mf_concepts_counted(g, c.number);
    c.name = mf_figure_keep(f, c.count * sizeof *c.name);
    for (size_t k = 0; k < c.count; ++k) c.name[k] = mf_figure_text(f, "%s", g->concept[c.number[k]].name);
    return c;
}

/* The one with most samples; -1: there are none. */
static int serves(const struct counted *c, const struct mf_graph_expert *e)
{
    double most = 0;
    int best = -1;

    for (size_t k = 0; k < c->count; ++k) {
        if (e->samples[c->number[k]] <= most) continue;
        most = e->samples[c->number[k]];
        best = (int)k;
    }
    return best;
}

/* With blanks. */
static const char **relations_of(struct mf_figure *f)
{
    const char **names = mf_figure_keep(f, MF_RELATIONS * sizeof *names);

    for (int r = 0; r < MF_RELATIONS; ++r) {
        char *name = mf_figure_keep(f, strlen(mf_relation_names[r]) + 1);

        for (size_t i = 0; mf_relation_names[r][i]; ++i)
            name[i] = (char)(mf_relation_names[r][i] == '_' ? ' ' : mf_relation_names[r][i]);
        names[r] = name;
    }
    return names;
}

int mf_draw_graph(const struct mf_graph *g, const char *title, const char *path)
{
    struct mf_figure f = {.columns = 1};
    struct mf_drawn_expert *experts = mf_figure_keep(&f, g->experts * sizeof *experts);
    struct mf_drawn_relation *relations = mf_figure_keep(&f, g->edges * sizeof *relations);
    const struct counted counted = counted_of(&f, g);

    for (size_t i = 0; i < g->experts; ++i) {
        const struct mf_graph_expert *e = &g->expert[i];

        experts[i] = (struct mf_drawn_expert){e->id, e->activations, serves(&counted, e)};
    }
    for (size_t i = 0; i < g->edges; ++i) {
        const struct mf_graph_edge *e = &g->edge[i];

        relations[i] = (struct mf_drawn_relation){e->one, e->other, (int)e->relation, e->weight};
    }
    mf_figure_graph(&f, &(struct mf_drawn_graph){g->experts, g->edges, counted.count, MF_RELATIONS, experts, relations,
                                                 counted.name, relations_of(&f)});
    return mf_figure_write(path, title, &f);
}

/* ---- activations ---- */

static int has(size_t count, const long *ids, long id)
{
    for (size_t i = 0; i < count; ++i)
        if (ids[i] == id) return 1;
    return 0;
}

/* Adds the ids that are not yet there, in order. */
static void add_ids(long *ids, size_t *count, size_t more, const long *from)
{
    for (size_t i = 0; i < more; ++i) {
        size_t at = *count;

        if (has(*count, ids, from[i])) continue;
        for (; at > 0 && ids[at - 1] > from[i]; --at) ids[at] = ids[at - 1];
        ids[at] = from[i];
        ++*count;
    }
}

/* All experts that ever lived. */
static long *ids_of(struct mf_figure *f, const struct mf_history *h, const struct mf_graph *g, size_t *count)
{
    size_t most = g->experts;
    long *ids;

    for (size_t t = 0; t < h->times; ++t) most += h->time[t].count;
    ids = mf_figure_keep(f, most * sizeof *ids);
    *count = 0;
    for (size_t t = 0; t < h->times; ++t) add_ids(ids, count, h->time[t].count, h->time[t].id);
    for (size_t i = 0; i < g->experts; ++i) add_ids(ids, count, 1, &g->expert[i].id);
    return ids;
}

static double *rows_of(struct mf_figure *f, const struct mf_history *h, size_t experts, const long *ids)
{
    double *rows = mf_figure_keep(f, h->times * experts * sizeof *rows);

    for (size_t t = 0; t < h->times; ++t)
        for (size_t e = 0, k = 0; e < experts; ++e) {
            const struct mf_history_time *time = &h->time[t];
            const int lives = k < time->count && time->id[k] == ids[e];

            rows[t * experts + e] = lives ? time->rows[k] : NAN;
            k += (size_t)lives;
        }
    return rows;
}

static double *samples_of(struct mf_figure *f, const struct mf_graph *g, const struct counted *c, size_t experts,
                          const long *ids)
{
    double *samples = mf_figure_keep(f, experts * c->count * sizeof *samples);

    for (size_t e = 0; e < experts; ++e) {
        const struct mf_graph_expert *expert = mf_graph_find(g, ids[e]);

        for (size_t k = 0; k < c->count; ++k) samples[e * c->count + k] = expert ? expert->samples[c->number[k]] : NAN;
    }
    return samples;
}

static struct mf_drawn_event *events_of(struct mf_figure *f, const struct mf_history *h)
{
    static const enum mf_event kinds[MF_CHANGES] = {[MF_CHANGE_BIRTH] = MF_EVENT_BIRTH,
                                                    [MF_CHANGE_MERGE] = MF_EVENT_MERGE,
                                                    [MF_CHANGE_PRUNE] = MF_EVENT_PRUNE,
                                                    [MF_CHANGE_SLEEP] = MF_EVENT_SLEEP};
    struct mf_drawn_event *events = mf_figure_keep(f, h->events * sizeof *events);

    for (size_t i = 0; i < h->events; ++i)
        events[i] = (struct mf_drawn_event){(double)h->event[i].step, h->event[i].id, kinds[h->event[i].kind]};
    return events;
}

int mf_draw_activations(const struct mf_history *h, const struct mf_graph *g, const char *title, const char *path)
{
    struct mf_figure f = {.columns = 2};
    double *step = mf_figure_keep(&f, h->times * sizeof *step);
    size_t count;
    const long *ids = ids_of(&f, h, g, &count);
    const struct counted counted = counted_of(&f, g);

    for (size_t t = 0; t < h->times; ++t) step[t] = (double)h->time[t].step;
    mf_figure_activations(&f, &(struct mf_drawn_course){count, h->times, h->events, counted.count, ids, step,
                                                        rows_of(&f, h, count, ids), events_of(&f, h), counted.name,
                                                        samples_of(&f, g, &counted, count, ids)});
    return mf_figure_write(path, title, &f);
}
