/* Trainings: a network from a dataset. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/dataset_doubt.h"
#include "io/hash.h"
#include "io/safetensors.h"
#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/learn/train_plan.h"
#include "src/cmd/learn/train_run.h"
#include "src/cmd/learn/train_show.h"
#include "src/cmd/learn/train_start.h"
#include "src/cmd/log_view.h"
#include "src/session/device.h"
#include "src/session/peaks.h"
#include "src/train/learn_show.h"
#include "src/train/tuned.h"

struct job {
    struct mf_session *session;
    const struct mf_train_cmd *o;
    struct mf_dataset *set;
    struct mf_task task;
    struct mf_train_opts opts;
    struct mf_algorithms tuning;
    struct mf_trainer trainer;
    struct mf_train_show show;
    struct mf_run_plan plan;
    const struct mf_train_more *more; /* NULL: the network does not change */
    char *model;                      /* file of the weights at the start; NULL: none */
    char *output, *problem;
};

/* -- what the harness asks for -- */

static int may_write(void *context, struct mf_run *run)
{
    struct job *job = context;
    const char *const inputs[] = {job->o->data, job->model};

    MF_TRY(mf_session_may_write(job->session, run->output, ".safetensors"));
    MF_TRY(mf_session_spares(job->session, run->output, sizeof inputs / sizeof *inputs, inputs));
    if (job->more && job->more->may_write) MF_TRY(job->more->may_write(job->more->context, run));
    if (job->o->no_plots) return MF_OK;
    return mf_train_show_open(job->session, run, job->more ? job->more->course : "training.png",
                              job->task.learn->show->picture, &job->show);
}

static int name(void *context, struct mf_run *run)
{
    const struct job *job = context;
    char hash[MF_HASH_TEXT];

    mf_hash_bytes(job->problem, strlen(job->problem), hash);
    snprintf(run->problem, sizeof run->problem, "%.15s", hash);
    return mf_loop_spares(run, job->problem, job->set, &job->opts);
}

static size_t rows_of(const struct job *job, enum mf_split split) { return mf_task_rows(&job->task, job->set, split); }

/* --compile-mode max-autotune. */
static void say_tuned(const struct job *job)
{
    const struct mf_queue *queue = job->trainer.queue;
    char *text;

    if (!job->opts.tuning) return;
    if (!queue->backend->segment_begin || queue->deterministic) {
        mf_info("--compile-mode max-autotune: %s; the run goes on as with reduce-overhead",
                queue->deterministic ? "--deterministic chooses nothing by time" : "there is nothing to try on cores");
        return;
    }
    text = mf_tuned_text(&job->tuning);
    mf_info("algorithms: %s", text);
    free(text);
}

static void say_begin(const struct job *job)
{
    const struct mf_trainer *t = &job->trainer;
    const struct mf_train_opts *o = &t->opts;
    char text[MF_TRAIN_STEP_TEXT];

    mf_info("%s: %zu sample%s to learn from, %zu for validation, %zu for the test", job->set->path,
            rows_of(job, MF_TRAIN), MF_S(rows_of(job, MF_TRAIN)), rows_of(job, MF_VALIDATION), rows_of(job, MF_TEST));
    mf_info("%s: %zu parameters; %zu step%s of %zu samples (%s)", o->arch->name, mf_weights_count(t->network.net, 0),
            o->schedule.steps, MF_S(o->schedule.steps), o->effective,
            mf_train_step_text((size_t)t->data->size, mf_train_crew(o), t->micro, o->batch, text));
    if (o->tensor > 1) mf_info("%zu ranks share every layer", o->tensor);
    if (o->stages > 1)
        mf_info("a pipeline of %zu stages, which wait for %.0f %% of a step's passes", o->stages,
                100 * (double)(o->stages - 1) / (double)(t->micro + o->stages - 1));
    if (o->freeze) mf_info("%zu of these parameters are frozen", mf_weights_count(t->network.net, 1));
    if (o->type != MF_F32) mf_info("activations and products have 16 bits (%s)", o->type == MF_F16 ? "fp16" : "bf16");
    mf_info("compiled: %zu activation%s joined to the operation%s in front%s", t->network.joined,
            MF_S(t->network.joined), MF_S(t->network.joined),
            t->queue->backend->segment_begin && mf_replays(o->compile) ? "; the GPU replays its calls" : "");
    say_tuned(job);
}

/* --show-list: those of rank 0. */
static void show_lists(const struct job *job)
{
    const struct mf_net *net = job->trainer.network.net;

    if (!job->o->show_list || job->session->comm->rank != 0) return;
    for (size_t k = 0; k < net->lists; ++k) mf_list_print(net->list[k], stdout, 1);
}

static int open_here(struct job *job)
{
    MF_TRY(mf_train_plan_make(job->session, job->o, job->set, &job->opts, &job->plan));
    return mf_train_open(job->session, job->o, job->set, &job->opts, &job->trainer);
}

/* Plan and trainer, on the cores where they are not for the GPUs that --device auto took. */
static int open_trainer(struct job *job)
{
    struct mf_session *s = job->session;
    const struct mf_train_opts asked = job->opts;
    const int rc = open_here(job);

    if (rc == MF_OK || !(job->plan.unfit || rc == MF_DEVICE) || !mf_device_may_leave(s)) return rc;
    mf_trainer_close(&job->trainer);
    mf_run_plan_free(&job->plan);
    job->opts = asked;
    MF_TRY(mf_session_to_cores(s));
    MF_TRY(mf_train_check_memories(job->o, s->backend->name, 0));
    return open_here(job);
}

static int work(void *context, struct mf_run *run, struct mf_json **results)
{
    struct job *job = context;
    struct mf_session *s = job->session;
    const struct mf_train_more *more = job->more;
    struct mf_loop loop = {.trainer = &job->trainer,
                           .run = run,
                           .problem = job->problem,
                           .patience = (size_t)job->o->patience,
                           .keep = (size_t)job->o->keep_last,
                           .start = job->model,
                           .drawn = mf_train_show_epoch,
                           .context = &job->show,
                           .forms =
                               (job->o->no_csv ? 0 : MF_METRICS_CSV) | (job->o->no_events ? 0 : MF_METRICS_EVENTS)};
    int rc;

    if (job->o->monitor && s->comm->rank == 0) loop.monitor = mf_monitor_open(job->o->monitor_every);
    rc = open_trainer(job);
    if (rc == MF_OK) rc = mf_train_start(job->o, &job->trainer);
    if (rc == MF_OK) say_begin(job);
    if (rc == MF_OK) show_lists(job);
    if (rc == MF_OK && more && more->begin) rc = more->begin(more->context, &loop);
    if (rc == MF_OK) rc = mf_loop_run(&loop, results);
    if (rc == MF_OK && more && more->end) rc = more->end(more->context, &loop, *results);
    if (rc == MF_OK) mf_train_show_end(&job->show, &job->trainer);
    mf_monitor_close(loop.monitor);
    if (more && more->close) more->close(more->context);
    mf_trainer_close(&job->trainer);
    return rc;
}

/* -- the verb -- */

static void print_scores(const struct job *job, const struct mf_json *results, const char *split)
{
    const struct mf_json *j = mf_json_get(results, split);
    const long long samples = j ? mf_json_get_int(j, "samples") : 0;
    const long long labelled = j && mf_json_get(j, "labelled") ? mf_json_get_int(j, "labelled") : samples;
    char text[MF_LOSS_TEXT];

    if (!j) return;
    printf("%-11s loss %s, ", split, mf_loss_text(mf_json_to_finite(mf_json_get(j, "loss")), text));
    job->task.learn->show->results(j, stdout);
    printf(" (%lld sample%s", samples, MF_S(samples));
    if (labelled < samples) printf(", %lld labelled", labelled);
    printf(")\n");
}

static void print(const struct job *job, struct mf_json *results)
{
    long long epochs;

    if (job->session->comm->rank != 0 || !results) return;
    if (mf_common_of(job->session)->json) {
        mf_json_write(results, stdout);
        return;
    }
    epochs = mf_json_get_int(results, "epochs");
    printf("%s: best of %lld epoch%s is %lld, %.0f samples/s\n", job->output, epochs, MF_S(epochs),
           mf_json_get_int(results, "best_epoch"), mf_json_get_real(results, "samples_per_second"));
    print_scores(job, results, "validation");
    print_scores(job, results, "test");
}

/* --json alone: a model file does not depend on the machine. Collective. */
static int put_memory(const struct job *job, struct mf_json *results)
{
    struct mf_peaks peaks;

    MF_TRY(mf_peaks_of(job->session, &peaks));
    if (results) {
        mf_run_plan_put(&job->plan, results);
        mf_peaks_json(&peaks, results);
    }
    mf_peaks_free(&peaks);
    return MF_OK;
}

/* Other weights at the start make another run. */
static int name_problem(struct job *job)
{
    const struct mf_comm *comm = job->session->comm;
    char *text = mf_train_problem(job->set, &job->opts), hash[MF_HASH_TEXT] = "none";
    char *more = job->more && job->more->problem ? job->more->problem(job->more->context) : NULL;
    int rc = MF_OK;

    if (job->model && comm->rank == 0) rc = mf_hash_file(job->model, hash);
    mf_comm_bcast(comm, 0, hash, sizeof hash);
    job->problem = mf_format("%s%s%s: %s\n%s", text, more ? more : "", job->o->teacher ? "--teacher" : "--model", hash,
                             job->o->new_head ? "--new-head: 1\n" : "");
    free(more);
    free(text);
    return mf_agree(comm, rc);
}

static int train(struct job *job)
{
    static const struct mf_run_client client = {may_write, name, mf_loop_results, work};
    const struct mf_session *s = job->session;
    struct mf_run run = {.comm = s->comm, .part = "part", .parts = 1};
    struct mf_json *results = NULL;
    int rc;

    if (job->o->model) job->model = mf_safetensors_where(job->o->model);
    MF_TRY(name_problem(job));
    if (job->opts.compile == MF_COMPILE_TUNE) {
        mf_tuned_open(&job->tuning);
        job->opts.tuning = &job->tuning;
    }
    MF_TRY(mf_session_path_in(s, job->o->results_dir, "model", ".safetensors", &job->output));
    run.output = job->output;
    run.keeper = mf_keep_opts(s, &job->o->keep);
    rc = mf_run_do(&run, &client, job, &results);
    mf_train_show_close(&job->show);
    if (rc == MF_OK && mf_common_of(s)->json) rc = put_memory(job, results);
    if (rc == MF_OK) rc = mf_log_view_json(s, results);
    if (rc == MF_OK) print(job, results);
    mf_json_free(results);
    return rc;
}

static void close_job(struct job *job)
{
    mf_run_plan_free(&job->plan);
    mf_algorithms_free(&job->tuning);
    mf_task_close(&job->task);
    free(job->model);
    free(job->problem);
    free(job->output);
    mf_dataset_close(job->set);
}

static int warn_of_set(const struct mf_dataset *set, const struct mf_task *task)
{
    if (task->learn->doubt) task->learn->doubt(task, set);
    mf_doubt_splits(set);
    mf_doubt_channels(set);
    return mf_doubt_scales(set);
}

static void warn_of_warmup(const struct mf_schedule *s)
{
    if (s->kind == MF_SCHEDULE_ONE_CYCLE || s->steps == 0 || s->warmup < s->steps) return;
    mf_warn("the learning rate rises for %zu steps, and the run has %zu: it never reaches %g; try: --warmup %zu",
            s->warmup, s->steps, s->rate, s->steps / 20);
}

int mf_train_run(struct mf_session *session, struct mf_train_cmd *o, const struct mf_train_kind *kind,
                 const struct mf_train_more *more)
{
    struct job job = {.session = session, .o = o, .more = more};
    int rc = mf_train_check_memories(o, session->backend->name, mf_apart(session->queue));

    if (rc == MF_OK) rc = mf_train_set(session, o, kind, &job.set);
    if (rc == MF_OK) rc = mf_train_keep_step(session, o);
    if (rc == MF_OK)
        rc = mf_agree(session->comm,
                      mf_train_opts_of(session, o, kind, job.set, (size_t)session->comm->size, &job.task, &job.opts));
    if (rc == MF_OK && more && more->check) rc = mf_agree(session->comm, more->check(more->context, &job.opts));
    if (rc == MF_OK) mf_train_unused(session, o, job.set);
    if (rc == MF_OK && !o->unchecked) rc = mf_agree(session->comm, warn_of_set(job.set, &job.task));
    if (rc == MF_OK) warn_of_warmup(&job.opts.schedule);
    if (rc == MF_OK) rc = session->settings.dry_run ? mf_train_dry(session, o, job.set, &job.opts) : train(&job);
    close_job(&job);
    return rc;
}

int mf_train_checked(const struct mf_session *s, void *options)
{
    MF_TRY(mf_train_check(s, options));
    mf_train_settle(s, options);
    return MF_OK;
}

const char *const mf_train_names[] = {"results-dir", NULL};
