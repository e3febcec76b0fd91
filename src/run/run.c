/* See run.h. */
#include "src/run/run.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/look.h"
#include "slurm/launcher.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/stop.h"
#include "src/base/text.h"

/* -- names -- */

/* A file of this name in the folder of @p path; heap. */
static char *beside(const char *path, const char *word)
{
    char *name = NULL;

    if (asprintf(&name, "%.*s%s", (int)(mf_name_base(path) - path), path, word) < 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    return name;
}

static void open_names(struct mf_run *run)
{
    const char *path = run->output;

    run->stem = mf_checkpoint_stem(path);
    run->metrics = beside(path, "metrics.jsonl");
    run->stop_file = beside(path, "STOP");
    run->save_file = beside(path, "CHECKPOINT");
    run->last = mf_format("%s.last.h5", run->stem);
    run->keeper.stem = run->stem;
    run->keeper.stop_file = run->stop_file;
    run->keeper.save_file = run->save_file;
}

static void close_names(struct mf_run *run)
{
    free(run->stem);
    free(run->metrics);
    free(run->stop_file);
    free(run->save_file);
    free(run->last);
    run->stem = run->metrics = run->stop_file = run->save_file = run->last = NULL;
}

char *mf_run_stem(const struct mf_run *run, size_t k)
{
    char *name = NULL;

    if (k == 0) return MF_MUST(strdup(run->stem), "a name");
    if (asprintf(&name, "%s-%s%zu", run->stem, run->part, k) < 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    return name;
}

/* Sets the advice for the loss of another rank in the middle of the run. */
static void hint(const struct mf_run *run)
{
    const int is_short = strlen(run->output) < 100; /* there is room for one line */
    char text[256];

    if (run->keeper.every_seconds < 0)
        snprintf(text, sizeof text, "the same command with --checkpoint-every auto, so that less work is lost");
    else if (run->again)
        snprintf(text, sizeof text, "%.200s, which continues from the last checkpoint", run->again);
    else
        snprintf(text, sizeof text,
                 "the same command with --restart auto, which continues from %s.ckpt-*.h5 if that exists",
                 is_short ? run->stem : "...");
    mf_comm_hint(text);
}

/* -- before the work -- */

static int take_lock(struct mf_run *run)
{
    struct mf_launcher launcher = mf_launcher_find();
    struct mf_lock_job job = {launcher.job, launcher.restarts};

    if (launcher.restarts > 0)
        mf_info("job %s has been started again %ld time%s", launcher.job, launcher.restarts, MF_S(launcher.restarts));
    return mf_lock_take(run->comm, run->output, &job, &run->lock);
}

/* Names of checkpoints are longer than the output's. One that cannot be is found now, not when the run is saved. */
static int may_save(const struct mf_run *run)
{
    char *stem = mf_run_stem(run, run->parts - 1), *name = mf_checkpoint_name(stem, 1);
    int rc = mf_agree(run->comm, run->comm->rank == 0 ? mf_atomic_reaches(name) : MF_OK);

    free(name);
    free(stem);
    return rc;
}

/* Are files of others in the place of checkpoints? MF_OUTPUT. Rank 0. */
static int spare_others(const char *stem, const struct mf_checkpoint_pair *pair)
{
    int rc = MF_OK;

    for (int i = 0; i < 2 && rc == MF_OK; ++i) {
        char *name = mf_checkpoint_name(stem, i);

        if (pair->turn[i] == -2) rc = mf_checkpoint_may(name);
        free(name);
    }
    return rc;
}

/* There is a checkpoint, or two. Says so: MF_USAGE. */
static int refuse_stopped(const char *stem, const struct mf_checkpoint_pair *pair)
{
    const int good = pair->turn[pair->newest] >= 0;
    char *name = mf_checkpoint_name(stem, good ? pair->newest : pair->turn[0] == -1);
    int rc;

    if (good)
        rc = mf_fail(MF_USAGE,
                     "'%s' is of a run that has not ended; try: --restart auto, which continues it, or --restart no, "
                     "which begins anew and replaces it",
                     name);
    else
        rc = mf_fail(MF_USAGE,
                     "'%s' is of a run that has not ended, and it is damaged: no run can continue from it; try: "
                     "another folder, or --restart no, which begins anew and replaces what that run left",
                     name);
    free(name);
    return rc;
}

/* Is there a checkpoint of part @p k, or a file of others in its place? Collective. */
static int spare_part(const struct mf_run *run, size_t k)
{
    char *stem = mf_run_stem(run, k);
    struct mf_checkpoint_pair pair;
    int rc;

    mf_checkpoint_look(run->comm, stem, 1, &pair);
    rc = mf_agree(run->comm, run->comm->rank == 0 ? spare_others(stem, &pair) : MF_OK);
    if (rc == MF_OK && !run->keeper.restart && !run->keeper.anew && (pair.turn[0] != -1 || pair.turn[1] != -1))
        rc = refuse_stopped(stem, &pair);
    free(stem);
    return rc;
}

int mf_run_spares(const struct mf_run *run)
{
    struct mf_run named = *run;
    int rc = MF_OK;

    open_names(&named);
    for (size_t k = 0; rc == MF_OK && k < run->parts; ++k) rc = spare_part(&named, k);
    close_names(&named);
    return rc;
}

struct mf_json *mf_run_results_h5(const char *output)
{
    struct mf_json *results = NULL;
    struct mf_look look;
    int is_h5 = 0, rc = mf_look_is_h5(output, &is_h5);

    if (rc == MF_OK && !is_h5) return NULL;
    if (rc == MF_OK) rc = mf_look(output, &look);
    if (rc != MF_OK) {
        mf_warn("%s; it may not be this run's result and is made again", mf_err_text());
        mf_err_clear();
        return NULL;
    }
    if (look.results) results = mf_json_parse(look.results);
    mf_look_free(&look);
    return results;
}

/* The output's results, if they are of this problem; else NULL. Rank 0 alone. */
static struct mf_json *results_of(const struct mf_run *run, const struct mf_run_client *client)
{
    struct mf_json *results = client->results(run->output);

    if (results && strcmp(mf_json_get_text(results, "problem"), run->problem) == 0) return results;
    if (results && !run->keeper.last && !run->aside)
        mf_warn("'%s' is the result of another problem, and this run replaces it", run->output);
    mf_json_free(results);
    return NULL;
}

/* Has an earlier run of this problem ended: its output says so, and no checkpoint is there? Collective. */
static int is_done(const struct mf_run *run, const struct mf_run_client *client, struct mf_json **results)
{
    int done = run->comm->rank == 0 && access(run->output, F_OK) == 0;

    for (int i = 0; i < 2; ++i) {
        char *name = mf_checkpoint_name(run->stem, i);

        done = done && access(name, F_OK) != 0;
        free(name);
    }
    if (done) *results = results_of(run, client);
    done = done && *results;
    mf_comm_bcast(run->comm, 0, &done, sizeof done);
    return done;
}

static int pass_over(const struct mf_run *run, struct mf_json *results)
{
    mf_info("%s exists and is finished, for the same problem: it is not changed", run->output);
    if (results) mf_json_bool(results, "done_before", 1);
    return MF_OK;
}

/* -- the work and its end -- */

/* Where the output cannot be written the work is not lost if there are checkpoints of it. Collective. */
static int say_kept(const struct mf_run *run, int rc)
{
    struct mf_checkpoint_pair kept;
    char text[MF_ERR_TEXT];

    if (rc != MF_OUTPUT) return rc;
    mf_err_take(text, sizeof text);
    mf_checkpoint_look(run->comm, run->stem, 1, &kept);
    if (kept.turn[0] < 0 && kept.turn[1] < 0) return mf_fail(rc, "%s", text);
    return mf_fail(rc, "%s; the same command with --restart auto continues from the last checkpoint", text);
}

/* Without those of the first part, which go last, the run counts as finished. */
static void remove_checkpoints(const struct mf_run *run)
{
    for (size_t k = run->parts; k-- > 0;) {
        char *stem = mf_run_stem(run, k);

        mf_checkpoint_remove(run->comm, stem);
        free(stem);
    }
}

static int work(struct mf_run *run, const struct mf_run_client *client, void *context, struct mf_json **results)
{
    int rc;

    if (run->keeper.restart && is_done(run, client, results)) return pass_over(run, *results);
    rc = say_kept(run, client->work(context, run, results));
    if (rc == MF_OK) remove_checkpoints(run);
    return rc;
}

int mf_run_do(struct mf_run *run, const struct mf_run_client *client, void *context, struct mf_json **results)
{
    int rc;

    open_names(run);
    mf_stop_on_signals();
    hint(run);
    rc = take_lock(run);
    if (rc == MF_OK) rc = mf_run_spares(run);
    if (rc == MF_OK) rc = client->may_write(context, run);
    if (rc == MF_OK) rc = may_save(run);
    if (rc == MF_OK) rc = client->name(context, run);
    if (rc == MF_OK) rc = work(run, client, context, results);
    mf_comm_hint(NULL);
    mf_lock_give(&run->lock);
    close_names(run);
    return rc;
}
