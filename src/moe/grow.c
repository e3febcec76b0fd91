/* See grow.h. */
#include "src/moe/grow.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/moe/concepts.h"
#include "src/moe/first_rows.h"
#include "src/moe/place.h"
#include "src/train/carry.h"

static const double YOUNG = 0.3; /* specialisation of a new expert */
static const double KIN = 0.5;   /* edge between a new expert and the busiest one */

const char *const mf_change_names[] = {"birth", "merge", "prune", "sleep"};

int mf_grow_check(const struct mf_grow_opts *o, long experts, long top)
{
    if (!(o->threshold >= 0 && o->threshold <= 1))
        return mf_fail(MF_USAGE, "--birth-threshold %g: it must be from 0 to 1", o->threshold);
    if (o->window < 1) return mf_fail(MF_USAGE, "--birth-window %ld: it must be at least 1", o->window);
    if (o->cooldown < 0) return mf_fail(MF_USAGE, "--birth-cooldown %ld: it cannot be negative", o->cooldown);
    if (o->least < 1 || o->most > MF_EXPERTS || o->least > o->most)
        return mf_fail(MF_USAGE, "--min-experts %ld, --max-experts %ld: they must be from 1 to %d, and not cross",
                       o->least, o->most, MF_EXPERTS);
    if (experts < o->least || experts > o->most)
        return mf_fail(MF_USAGE, "--experts %ld: it must be from --min-experts %ld to --max-experts %ld", experts,
                       o->least, o->most);
    if (top > o->least)
        return mf_fail(
            MF_USAGE,
            "--top-k %ld is above --min-experts %ld: a sample could not go to so many; try: --min-experts %ld", top,
            o->least, top);
    return MF_OK;
}

static void add_classes(struct mf_graph *g, const struct mf_task *task)
{
    const size_t n = mf_task_outputs(task);
    const char **name = MF_MUST(malloc((n + 1) * sizeof *name), "names of classes");

    for (size_t c = 0; c < n; ++c) name[c] = task->name[c];
    mf_concepts_add(g, n, name);
    free(name);
}

void mf_grow_open(struct mf_grow *g, const struct mf_grow_opts *opts, const struct mf_trainer *t)
{
    *g = (struct mf_grow){.opts = *opts, .groups = mf_groups_of(t), .ways = t->experts.ways};
    if (t->opts.task->learn->by_class) add_classes(&g->graph, t->opts.task);
    for (size_t e = 0; e < t->experts.count; ++e)
        mf_graph_add(&g->graph, &(struct mf_graph_expert){
                                    .id = t->experts.id[e], .active = -1, .adaptation_rate = 1, .parent = -1});
}

void mf_grow_close(struct mf_grow *g)
{
    mf_graph_free(&g->graph);
    mf_history_free(&g->history);
    free(g->text[0]);
    free(g->text[1]);
}

/* -- changes -- */

static struct mf_metric id_of(const char *key, long id)
{
    if (id < 0) return (struct mf_metric){.key = key, .kind = MF_METRIC_REAL, .real = NAN};
    return (struct mf_metric){.key = key, .kind = MF_METRIC_INT, .whole = (uint64_t)id};
}

void mf_grow_note(struct mf_grow *g, struct mf_loop *loop, enum mf_change what, long expert, long other)
{
    const struct mf_trainer *t = loop->trainer;
    const struct mf_metric row[] = {
        {.key = "kind", .kind = MF_METRIC_TEXT, .text = "change"},
        {.key = "step", .kind = MF_METRIC_INT, .whole = t->step},
        {.key = "what", .kind = MF_METRIC_TEXT, .text = mf_change_names[what]},
        id_of("expert", expert),
        id_of("other", other),
        {.key = "experts", .kind = MF_METRIC_INT, .whole = t->experts.count},
    };

    ++g->changes[what];
    mf_history_event(&g->history, (long)t->step, expert, what);
    if (t->comm->rank == 0) mf_metrics_row(&loop->metrics, sizeof row / sizeof *row, row);
}

/* -- what a step says -- */

/* Rows of an expert in all layers. */
static double rows_of(const struct mf_trainer *t, size_t e)
{
    double rows = 0;

    for (size_t layer = 0; layer < mf_trainer_mixtures(t); ++layer) rows += t->load[layer * (t->experts.count + 2) + e];
    return rows;
}

struct loaded {
    long id;
    double rows;
};

static int by_id(const void *a, const void *b)
{
    const struct loaded *x = a, *y = b;

    return x->id < y->id ? -1 : x->id > y->id;
}

static void write_history(struct mf_grow *g, const struct mf_trainer *t)
{
    const size_t n = t->experts.count;
    struct loaded load[MF_EXPERTS];
    long id[MF_EXPERTS];
    double rows[MF_EXPERTS];

    for (size_t e = 0; e < n; ++e) load[e] = (struct loaded){t->experts.id[e], rows_of(t, e)};
    qsort(load, n, sizeof *load, by_id);
    for (size_t e = 0; e < n; ++e) {
        id[e] = load[e].id;
        rows[e] = load[e].rows;
    }
    mf_history_step(&g->history, (long)t->step, n, id, rows);
}

static void count_rows(struct mf_grow *g, const struct mf_trainer *t)
{
    for (size_t e = 0; e < t->experts.count; ++e) {
        struct mf_graph_expert *expert = mf_graph_find(&g->graph, t->experts.id[e]);

        if (rows_of(t, e) <= 0) continue;
        expert->activations += rows_of(t, e);
        expert->active = (long)t->step;
    }
}

/* A step without samples says nothing. The first ones count as much as there are. */
static void follow(struct mf_grow *g, const struct mf_trainer *t, const struct mf_step *step)
{
    const double steps = (double)(t->step < (size_t)g->opts.window ? t->step : (size_t)g->opts.window);

    if (step->skipped || t->load[t->experts.count + 1] <= 0) return;
    g->average += (step->uncertainty - g->average) / steps;
    g->above = g->average > g->opts.threshold ? g->above + 1 : 0;
}

/* -- births -- */

static int is_time(const struct mf_grow *g, const struct mf_trainer *t)
{
    return g->above >= g->opts.window && (g->last == 0 || (long)t->step - g->last >= g->opts.cooldown);
}

/* The expert with most rows. */
static long busiest(const struct mf_grow *g)
{
    const struct mf_graph_expert *best = &g->graph.expert[0];

    for (size_t e = 1; e < g->graph.experts; ++e)
        if (g->graph.expert[e].activations > best->activations) best = &g->graph.expert[e];
    return best->id;
}

/* Says once that no more experts are born, and why. */
static void say_full(struct mf_grow *g, const struct mf_trainer *t, const char *why)
{
    if (!g->full) mf_info("step %zu: no expert is born: %s", t->step, why);
    g->full = 1;
}

static int bear(struct mf_grow *g, struct mf_loop *loop)
{
    struct mf_trainer *t = loop->trainer;
    const long parent = busiest(g), id = g->graph.next;
    struct mf_experts experts = t->experts;
    struct mf_carry *carry = NULL;
    int rc = mf_carry_take(t, &carry);

    experts.id[experts.count++] = id;
    mf_place_experts(&g->graph, t, g->ways, g->speed, &experts);
    if (rc == MF_OK) rc = mf_trainer_rebuild(t, &experts, carry);
    mf_carry_free(carry);
    g->above = 0;
    g->last = (long)t->step;
    if (rc == MF_MEMORY) {
        mf_err_clear();
        say_full(g, t, "there is no memory for one");
        return MF_OK;
    }
    MF_TRY(rc);
    MF_TRY(mf_look_spared(t, mf_first_rows(t, id)));
    mf_graph_add(&g->graph, &(struct mf_graph_expert){.id = id,
                                                      .active = -1,
                                                      .specialization = YOUNG,
                                                      .adaptation_rate = 1,
                                                      .born = (long)t->step,
                                                      .parent = parent});
    mf_graph_connect(&g->graph, id, parent, MF_SIMILARITY, KIN);
    mf_grow_note(g, loop, MF_CHANGE_BIRTH, id, parent);
    mf_info("step %zu: expert %ld is born beside expert %ld; there are %zu (uncertainty %.2f)", t->step, id, parent,
            t->experts.count, g->average);
    return MF_OK;
}

int mf_grow_step(void *grow, struct mf_loop *loop, const struct mf_step *step)
{
    struct mf_grow *g = grow;
    struct mf_trainer *t = loop->trainer;

    count_rows(g, t);
    write_history(g, t);
    follow(g, t, step);
    if (!is_time(g, t)) return MF_OK;
    if (t->experts.count < (size_t)g->opts.most) return bear(g, loop);
    say_full(g, t, "there are as many as --max-experts");
    return MF_OK;
}

/* -- epochs -- */

int mf_grow_epoch(struct mf_grow *g, struct mf_trainer *t)
{
    enum { SAMPLES = 1024 };
    const enum mf_split split = t->set->count[MF_VALIDATION] ? MF_VALIDATION : MF_TRAIN;
    struct mf_survey survey;
    int rc = mf_survey_make(t, &g->groups, split, SAMPLES, &survey);

    for (size_t e = 0; rc == MF_OK && e < t->experts.count; ++e) {
        struct mf_graph_expert *expert = mf_graph_find(&g->graph, t->experts.id[e]);

        expert->specialization = mf_survey_specialization(&survey, e);
        for (size_t c = 0; c < survey.groups; ++c) {
            char *name = mf_groups_name(&g->groups, c);

            mf_graph_serve(&g->graph, expert->id, mf_graph_concept(&g->graph, name, -1),
                           survey.table[e * survey.groups + c]);
            free(name);
        }
    }
    mf_survey_free(&survey);
    return mf_look_spared(t, rc);
}

/* -- checkpoints -- */

/* On as many ranks a continued run places experts as this one would. */
static void list_speeds(struct mf_grow *g, struct mf_checkpoint *c)
{
    double speed[MF_EXPERTS];
    long ways = (long)g->ways;

    mf_checkpoint_int(c, "growth/ways", &ways);
    if (ways < 2 || ways > MF_EXPERTS) return;
    memcpy(speed, g->speed, sizeof speed);
    mf_checkpoint_reals(c, "growth/speeds", speed, (size_t)ways);
    if (mf_checkpoint_loads(c) && (size_t)ways == g->ways) memcpy(g->speed, speed, sizeof speed);
}

void mf_grow_list(void *grow, struct mf_checkpoint *c)
{
    struct mf_grow *g = grow;
    int rc;

    mf_checkpoint_real(c, "growth/average", &g->average);
    mf_checkpoint_int(c, "growth/above", &g->above);
    mf_checkpoint_int(c, "growth/last", &g->last);
    mf_checkpoint_flag(c, "growth/full", &g->full);
    for (int k = 0; k < MF_CHANGES; ++k) {
        char name[40];

        snprintf(name, sizeof name, "growth/%s", mf_change_names[k]);
        mf_checkpoint_int(c, name, &g->changes[k]);
    }
    list_speeds(g, c);
    for (int k = 0; k < 2; ++k) free(g->text[k]);
    g->text[0] = g->text[1] = NULL;
    rc = mf_graph_checkpoint(&g->graph, c, &g->text[0]);
    if (rc == MF_OK) rc = mf_history_checkpoint(&g->history, c, &g->text[1]);
    if (rc != MF_OK) mf_checkpoint_refuse(c, rc);
}
