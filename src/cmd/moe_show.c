/* See moe_show.h. */
#include "src/cmd/moe_show.h"

#include <math.h>
#include <stdlib.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/output.h"
#include "src/moe/summary.h"
#include "src/show/experts.h"

static const char *const files[] = {"knowledge_graph.json", "knowledge_graph.graphml", "knowledge_graph.h5",
                                    "expert_activations.json", "performance_summary.txt"};

int mf_moe_show_may(const struct mf_moe_show *show, const char *output)
{
    int rc = MF_OK;

    for (size_t k = 0; rc == MF_OK && k < sizeof files / sizeof *files; ++k) {
        char *path = mf_loop_picture(output, files[k]);

        rc = mf_session_may_write(show->session, path, strrchr(files[k], '.'));
        free(path);
    }
    return rc;
}

/* Says the first failure. */
static void check(struct mf_moe_show *show, const char *what, int rc)
{
    if (rc == MF_OK) return;
    if (!show->failed) mf_warn("no %s: %s", what, mf_err_text());
    show->failed = 1;
    mf_err_clear();
}

static void write_figure(struct mf_moe_show *show, const char *output, const char *name, const char *title,
                         struct mf_figure *figure)
{
    char *path = mf_loop_picture(output, name);

    check(show, name, mf_figure_write(path, title, figure));
    free(path);
}

/* -- the graph -- */

/* The concept that an expert serves most; -1: none. */
static int concept_of(const struct mf_graph *g, const struct mf_graph_expert *expert)
{
    int best = -1;
    double most = 0;

    for (size_t c = 0; c < g->concepts; ++c)
        if (mf_graph_samples(g, expert, c) > most) {
            most = mf_graph_samples(g, expert, c);
            best = (int)c;
        }
    return best;
}

static void draw_graph(struct mf_moe_show *show, const char *output, long epoch, const struct mf_graph *g)
{
    struct mf_figure figure = {.count = 0};
    struct mf_drawn_expert *expert = mf_figure_keep(&figure, (g->experts + 1) * sizeof *expert);
    struct mf_drawn_relation *relation = mf_figure_keep(&figure, (g->edges + 1) * sizeof *relation);
    const char **concept = mf_figure_keep(&figure, (g->concepts + 1) * sizeof *concept);
    const struct mf_drawn_graph drawn = {g->experts, g->edges, g->concepts, MF_RELATIONS,
                                         expert,     relation, concept,     mf_relation_names};
    char *name = mf_format("knowledge_graph_epoch_%ld.png", epoch),
         *title = mf_format("Experts after epoch %ld", epoch);

    for (size_t e = 0; e < g->experts; ++e)
        expert[e] = (struct mf_drawn_expert){g->expert[e].id, g->expert[e].activations, concept_of(g, &g->expert[e])};
    for (size_t k = 0; k < g->edges; ++k)
        relation[k] =
            (struct mf_drawn_relation){g->edge[k].one, g->edge[k].other, (int)g->edge[k].relation, g->edge[k].weight};
    for (size_t c = 0; c < g->concepts; ++c) concept[c] = g->concept[c].name;
    mf_figure_graph(&figure, &drawn);
    write_figure(show, output, name, title, &figure);
    free(name);
    free(title);
}

static void write_graph(struct mf_moe_show *show, const char *output, const struct mf_graph *g)
{
    for (size_t k = 0; k < 3; ++k) {
        char *path = mf_loop_picture(output, files[k]);

        check(show, files[k], mf_graph_save(g, path));
        free(path);
    }
}

/* -- what experts worked on -- */

static int by_number(const void *a, const void *b)
{
    const long x = *(const long *)a, y = *(const long *)b;

    return x < y ? -1 : x > y;
}

/* The ids of all experts that ever had a step. */
static size_t all_ids(const struct mf_history *h, long **ids)
{
    size_t n = 0, kept = 0;

    for (size_t t = 0; t < h->times; ++t) n += h->time[t].count;
    *ids = MF_MUST(malloc((n + 1) * sizeof **ids), "ids of experts");
    n = 0;
    for (size_t t = 0; t < h->times; ++t)
        for (size_t k = 0; k < h->time[t].count; ++k) (*ids)[n++] = h->time[t].id[k];
    qsort(*ids, n, sizeof **ids, by_number);
    for (size_t k = 0; k < n; ++k)
        if (kept == 0 || (*ids)[kept - 1] != (*ids)[k]) (*ids)[kept++] = (*ids)[k];
    return kept;
}

static size_t place_of(const long *ids, size_t n, long id)
{
    const long *found = bsearch(&id, ids, n, sizeof *ids, by_number);

    return (size_t)(found - ids);
}

static void draw_course(struct mf_moe_show *show, const char *output, const struct mf_grow *grow)
{
    const struct mf_history *h = &grow->history;
    const struct mf_graph *g = &grow->graph;
    struct mf_figure figure = {.count = 0};
    long *ids;
    const size_t n = all_ids(h, &ids);
    double *step = mf_figure_keep(&figure, (h->times + 1) * sizeof *step);
    double *rows = mf_figure_keep(&figure, (h->times * n + 1) * sizeof *rows);
    double *samples = mf_figure_keep(&figure, (n * g->concepts + 1) * sizeof *samples);
    const char **class_name = mf_figure_keep(&figure, (g->concepts + 1) * sizeof *class_name);
    struct mf_drawn_event *event = mf_figure_keep(&figure, (h->events + 1) * sizeof *event);
    const struct mf_drawn_course course = {n,    h->times, h->events, g->concepts, ids,
                                           step, rows,     event,     class_name,  samples};

    for (size_t i = 0; i < h->times * n; ++i) rows[i] = NAN;
    for (size_t t = 0; t < h->times; ++t) {
        step[t] = (double)h->time[t].step;
        for (size_t k = 0; k < h->time[t].count; ++k)
            rows[t * n + place_of(ids, n, h->time[t].id[k])] = h->time[t].rows[k];
    }
    for (size_t k = 0; k < h->events; ++k)
        event[k] = (struct mf_drawn_event){(double)h->event[k].step, h->event[k].id, (enum mf_event)h->event[k].kind};
    for (size_t c = 0; c < g->concepts; ++c) class_name[c] = g->concept[c].name;
    for (size_t e = 0; e < n; ++e) {
        const struct mf_graph_expert *expert = mf_graph_find(g, ids[e]);

        for (size_t c = 0; c < g->concepts; ++c)
            samples[e * g->concepts + c] = expert ? mf_graph_samples(g, expert, c) : NAN;
    }
    mf_figure_activations(&figure, &course);
    write_figure(show, output, "expert_activations.png", "Experts", &figure);
    free(ids);
}

static void write_course(struct mf_moe_show *show, const char *output, const struct mf_history *h)
{
    char *path = mf_loop_picture(output, "expert_activations.json");
    struct mf_json *json = mf_history_json(h);

    check(show, "expert_activations.json", mf_json_save(json, path, "mesoforge"));
    mf_json_free(json);
    free(path);
}

void mf_moe_show_epoch(struct mf_moe_show *show, const struct mf_loop *loop, const struct mf_grow *grow)
{
    const char *output = loop->run->output;

    if (loop->trainer->comm->rank != 0) return;
    write_graph(show, output, &grow->graph);
    write_course(show, output, &grow->history);
    if (!show->plots) return;
    draw_graph(show, output, loop->epoch, &grow->graph);
    draw_course(show, output, grow);
}

/* -- the end -- */

/* What each rank has to do: its part of the experts, or all experts for its part of the samples. */
static void draw_devices(struct mf_moe_show *show, const char *output, const struct mf_trainer *t,
                         const struct mf_graph *g, const char *const *name)
{
    const size_t ranks = (size_t)t->comm->size, ways = t->network.ways;
    double all = 0, each = 0;
    struct mf_figure figure = {.count = 0};
    struct mf_drawn_device *device = mf_figure_keep(&figure, ranks * sizeof *device);

    for (size_t e = 0; e < g->experts; ++e) all += g->expert[e].activations;
    for (size_t v = 0; v < t->network.net->values; ++v)
        if (mf_value_is_weight(&t->network.net->value[v]) && t->network.net->value[v].set == MF_SET_EXPERTS)
            each += (double)mf_shape_count(&t->network.net->value[v].shape) / (double)t->experts.count;
    for (size_t r = 0; r < ranks; ++r) {
        const struct mf_span part =
            ways > 1 ? mf_experts_part(&t->experts, r % ways) : (struct mf_span){0, t->experts.count};
        double rows = 0;

        for (size_t e = part.first; e < part.first + part.count; ++e)
            rows += mf_graph_find(g, t->experts.id[e])->activations;
        device[r] = (struct mf_drawn_device){name[r], (double)part.count, each * (double)part.count,
                                             (ways > 1 ? rows * (double)ways : all) / (double)ranks};
    }
    mf_figure_devices(&figure, ranks, device);
    write_figure(show, output, "expert_device_distribution.png", "Experts on devices", &figure);
}

static void write_summary(struct mf_moe_show *show, const struct mf_loop *loop, const struct mf_grow *grow,
                          const struct mf_json *results, const char *const *name)
{
    static const char *const compiled[] = {"experts and router: activations joined, calls replayed where a GPU is",
                                           "experts and router: activations joined", "nothing"};
    const struct mf_trainer *t = loop->trainer;
    const int gpu = strcmp(show->session->backend->name, "cpu") != 0;
    const double seconds = mf_json_get_real(results, "seconds");
    const struct mf_json *test = mf_json_get(results, "test"), *of = test ? test : mf_json_get(results, "validation");
    struct mf_summary s = {.mode = !gpu                ? "cpu"
                                   : t->comm->size > 1 ? "multi_gpu"
                                                       : "single_gpu",
                           .strategy = show->strategy,
                           .precision = mf_type_name(t->opts.type),
                           .compiled = compiled[t->opts.compile],
                           .devices = (size_t)t->comm->size,
                           .device = name,
                           .batch = (long)t->opts.batch,
                           .accumulation = (long)t->micro,
                           .effective = (long)t->opts.effective,
                           .experts = {(long)show->started, (long)grow->graph.experts},
                           .steps = (long)t->step,
                           .epochs = (double)loop->epoch,
                           .seconds = seconds,
                           .epoch_seconds = loop->epoch > 0 ? seconds / (double)loop->epoch : NAN,
                           .samples_per_second = mf_json_get_real(results, "samples_per_second"),
                           .score = t->opts.classify ? "accuracy" : "R2",
                           .value = NAN};
    char *path = mf_loop_picture(loop->run->output, "performance_summary.txt");

    memcpy(s.changes, grow->changes, sizeof s.changes);
    if (of && t->opts.classify) s.value = mf_json_get_real(of, "accuracy");
    if (of && !t->opts.classify) s.value = mf_json_to_real(mf_json_item(mf_json_get(of, "r2"), 0));
    check(show, "performance_summary.txt", mf_summary_write(&s, path));
    free(path);
}

void mf_moe_show_end(struct mf_moe_show *show, const struct mf_loop *loop, const struct mf_grow *grow,
                     const struct mf_json *results)
{
    const struct mf_trainer *t = loop->trainer;
    const size_t ranks = (size_t)t->comm->size;
    char **name;

    if (t->comm->rank != 0 || !results) return;
    name = MF_MUST(calloc(ranks, sizeof *name), "names of devices");
    for (size_t r = 0; r < ranks; ++r) name[r] = mf_format("%zu: %s", r, show->session->backend->name);
    if (show->plots && ranks > 1) draw_devices(show, loop->run->output, t, &grow->graph, (const char *const *)name);
    write_summary(show, loop, grow, results, (const char *const *)name);
    for (size_t r = 0; r < ranks; ++r) free(name[r]);
    free(name);
}
