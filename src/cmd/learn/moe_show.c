/* See moe_show.h. */
#include "src/cmd/learn/moe_show.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/output.h"
#include "src/moe/draw.h"
#include "src/moe/summary.h"
#include "src/plan/host.h"
#include "src/show/experts.h"
#include "src/show/training.h"
#include "src/train/learn_show.h"
#include "src/train/tuned.h"

static const char *const files[] = {"knowledge_graph.json", "expert_activations.json", "performance_summary.txt"};

int mf_moe_show_may(const struct mf_moe_show *show, const struct mf_run *run)
{
    const int own = mf_loop_was_here(run);
    int rc = MF_OK;

    for (size_t k = 0; rc == MF_OK && k < sizeof files / sizeof *files; ++k) {
        char *path = mf_loop_picture(run->output, files[k]);

        rc = mf_session_may_write(show->session, path, strrchr(files[k], '.'));
        if (rc == MF_OK && !own) rc = mf_session_may_accompany(show->session, run->output, path);
        free(path);
    }
    return rc;
}

/* -- devices -- */

static struct mf_rank_device device_of(const struct mf_session *s)
{
    static const struct mf_limits none;
    struct mf_rank_device own = {.bytes = s->gpu.bytes};
    struct mf_host host;

    mf_host_look("", &none, &host);
    snprintf(own.node, sizeof own.node, "%s", host.name);
    snprintf(own.name, sizeof own.name, "%s", s->gpu.capability ? s->gpu.name : *host.cpu ? host.cpu : "cpu");
    return own;
}

void mf_moe_show_begin(struct mf_moe_show *show)
{
    const struct mf_session *s = show->session;
    const struct mf_rank_device own = device_of(s);
    void *all = NULL;
    char *differ;

    MF_ASSERT(mf_comm_gather(s->comm, &own, sizeof own, &all, NULL) == MF_OK);
    show->device = all;
    differ = mf_devices_differ((size_t)s->comm->size, show->device);
    if (differ) mf_warn("GPUs differ, and every step waits for the slowest: %s", differ);
    free(differ);
}

void mf_moe_show_close(struct mf_moe_show *show)
{
    free(show->device);
    show->device = NULL;
}

/* Says the first failure. */
static void check(struct mf_moe_show *show, const char *what, int rc)
{
    if (rc == MF_OK) return;
    if (!show->failed) mf_warn("no %s: %s", what, mf_err_text());
    show->failed = 1;
    mf_err_clear();
}

/* -- after an epoch -- */

static void write_graph(struct mf_moe_show *show, const char *output, const struct mf_graph *g)
{
    for (size_t k = 0; k < 3; ++k) {
        char *path = mf_loop_picture(output, files[k]);

        check(show, files[k], mf_graph_save(g, path));
        free(path);
    }
}

static void write_history(struct mf_moe_show *show, const char *output, const struct mf_history *h)
{
    char *path = mf_loop_picture(output, "expert_activations.json");

    check(show, "expert_activations.json", mf_history_save(h, path));
    free(path);
}

static void draw(struct mf_moe_show *show, const char *output, long epoch, const struct mf_grow *grow)
{
    char *name = mf_format("knowledge_graph_epoch_%ld.png", epoch),
         *run = mf_training_name(output, mf_name_base(output)),
         *title = mf_format("%s: experts after epoch %ld", run, epoch);
    char *graph = mf_loop_picture(output, name), *course = mf_loop_picture(output, "expert_activations.png");

    check(show, name, mf_draw_graph(&grow->graph, title, graph));
    check(show, "expert_activations.png", mf_draw_activations(&grow->history, &grow->graph, title, course));
    free(name);
    free(run);
    free(title);
    free(graph);
    free(course);
}

void mf_moe_show_epoch(struct mf_moe_show *show, const struct mf_loop *loop, const struct mf_grow *grow)
{
    const char *output = loop->run->output;

    if (loop->trainer->comm->rank != 0) return;
    show->experts = loop->trainer->experts;
    write_graph(show, output, &grow->graph);
    write_history(show, output, &grow->history);
    if (show->plots) draw(show, output, loop->epoch, grow);
}

/* -- the end -- */

/* Draws the work of each rank: its part of the experts, or all experts for its part of the samples. */
static void draw_devices(struct mf_moe_show *show, const char *output, const struct mf_trainer *t,
                         const struct mf_graph *g)
{
    const struct mf_experts *experts = &show->experts;
    const size_t ranks = (size_t)t->comm->size, ways = experts->ways;
    const struct mf_parting p = mf_train_parting(&t->opts, ranks, experts->count);
    double all = 0, each = 0;
    char *path, *title;
    struct mf_figure figure = {.count = 0};
    struct mf_drawn_device *device = mf_figure_keep(&figure, ranks * sizeof *device);

    for (size_t e = 0; e < g->experts; ++e) all += g->expert[e].activations;
    for (size_t v = 0; v < t->network.net->values; ++v)
        if (mf_value_is_weight(&t->network.net->value[v]) &&
            mf_value_in(&t->network.net->value[v], 1 << MF_SET_EXPERTS))
            each += (double)mf_shape_count(&t->network.net->value[v].shape) / (double)t->experts.count;
    for (size_t r = 0; r < ranks; ++r) {
        const struct mf_span part = ways > 1 ? mf_experts_part(experts, mf_train_expert_part(&t->opts, &p, r))
                                             : (struct mf_span){0, experts->count};
        char *label = mf_devices_label(ranks, show->device, r);
        double rows = 0;

        for (size_t e = part.first; e < part.first + part.count; ++e)
            rows += mf_graph_find(g, experts->id[e])->activations;
        device[r] =
            (struct mf_drawn_device){mf_figure_text(&figure, "%s", label), (double)part.count,
                                     each * (double)part.count, (ways > 1 ? rows * (double)ways : all) / (double)ranks};
        free(label);
    }
    mf_figure_devices(&figure, ranks, device);
    path = mf_loop_picture(output, "expert_device_distribution.png");
    title = mf_devices_alike(ranks, show->device) ? mf_format("Experts on %s", show->device->name)
                                                  : mf_format("Experts on devices");
    check(show, "expert_device_distribution.png", mf_figure_write(path, title, &figure));
    free(path);
    free(title);
}

/* Says which parts are compiled, and how. The caller frees it. */
static char *compiled_of(const struct mf_trainer *t)
{
    static const char *const part[] = {"experts, gate and all else", "experts", "gate"};
    const int replays = mf_replays(t->opts.compile) && t->queue->backend->segment_begin;

    if (t->opts.compile == MF_COMPILE_NONE) return mf_format("nothing");
    return mf_format("%s: %zu activation%s joined%s", part[t->opts.scope], t->network.joined, MF_S(t->network.joined),
                     replays ? ", calls replayed" : "");
}

/* Sets the number that judges the model. Without samples: NAN. */
static void set_score(const struct mf_trainer *t, const struct mf_json *results, struct mf_summary *s)
{
    const struct mf_json *test = mf_json_get(results, "test"), *of = test ? test : mf_json_get(results, "validation");
    const struct mf_task *task = t->opts.task;
    const size_t n = task->learn->by_class ? 0 : mf_task_outputs(task);
    double *each = MF_MUST(calloc(n + 1, sizeof *each), "scores of outputs");

    s->columns = n;
    s->column = MF_MUST(calloc(n + 1, sizeof *s->column), "R2 of columns");
    s->split = test ? "test" : "validation";
    s->score = task->learn->show->judged_by;
    s->value = task->learn->show->judged(of, n, each);
    for (size_t c = 0; c < n; ++c) s->column[c] = (struct mf_summary_column){task->name[c], each[c]};
    free(each);
}

static void write_summary(struct mf_moe_show *show, const struct mf_loop *loop, const struct mf_grow *grow,
                          const struct mf_json *results)
{
    const struct mf_trainer *t = loop->trainer;
    const int gpu = strcmp(show->session->backend->name, "cpu") != 0;
    const double seconds = mf_json_get_real(results, "seconds");
    char *compiled = compiled_of(t), *tuned = t->opts.tuning ? mf_tuned_text(t->opts.tuning) : NULL;
    struct mf_summary s = {.mode = !gpu                ? "cpu"
                                   : t->comm->size > 1 ? "multi_gpu"
                                                       : "single_gpu",
                           .strategy = t->opts.ways         ? "expert_parallel"
                                       : t->opts.stages > 1 ? "pipeline_parallel"
                                                            : "data_parallel",
                           .precision = mf_type_name(t->opts.type),
                           .compiled = compiled,
                           .tuned = tuned,
                           .devices = (size_t)t->comm->size,
                           .device = show->device,
                           .batch = (long)t->opts.batch,
                           .accumulation = (long)t->micro,
                           .effective = (long)t->opts.effective,
                           .experts = {(long)show->started, (long)grow->graph.experts},
                           .steps = (long)t->step,
                           .epochs = (double)loop->epoch,
                           .seconds = seconds,
                           .epoch_seconds = loop->epoch > 0 ? seconds / (double)loop->epoch : NAN,
                           .samples_per_second = mf_json_get_real(results, "samples_per_second")};
    char *path = mf_loop_picture(loop->run->output, "performance_summary.txt");

    memcpy(s.changes, grow->changes, sizeof s.changes);
    set_score(t, results, &s);
    check(show, "performance_summary.txt", mf_summary_write(&s, path));
    free(s.column);
    free(compiled);
    free(tuned);
    free(path);
}

void mf_moe_show_end(struct mf_moe_show *show, const struct mf_loop *loop, const struct mf_grow *grow,
                     const struct mf_json *results)
{
    const struct mf_trainer *t = loop->trainer;

    if (t->comm->rank != 0 || !results) return;
    if (show->plots && t->comm->size > 1) draw_devices(show, loop->run->output, t, &grow->graph);
    write_summary(show, loop, grow, results);
}
