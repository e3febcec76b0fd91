/* See keeper.h. */
#include "src/run/keeper.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/phase.h"
#include "src/base/stop.h"
#include "src/base/text.h"

static const double BETWEEN_FAILURES = 86400, COST_SHARE = 0.02, FIRST_GUESS = 5e8 /* bytes per second */;

/* Seconds between checkpoints of @p cost seconds each (Young 1974, with a failure a day), at most 2 % of the time. */
static double interval(double cost) { return fmax(sqrt(2 * cost * BETWEEN_FAILURES), cost / COST_SHARE); }

void mf_keeper_open(struct mf_keeper *k, const struct mf_keeper_opts *opts, double bytes)
{
    *k = (struct mf_keeper){.opts = *opts, .cost = bytes / FIRST_GUESS, .saved = mf_now()};
}

/* Seconds between two, where it is not evaluations that count. */
static double between(const struct mf_keeper *k)
{
    return k->opts.every_seconds > 0 ? k->opts.every_seconds : interval(k->cost);
}

static int is_due(const struct mf_keeper *k, double now, long evaluations)
{
    const struct mf_keeper_opts *o = &k->opts;

    if (o->every_evaluations > 0) return evaluations - k->saved_evaluations >= o->every_evaluations;
    if (o->every_seconds < 0) return 0;
    return now - k->saved >= between(k);
}

static double seconds_of(struct timespec t) { return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }

/* Was the file touched since @p since [mf_now()]? It stays, for other runs may have been asked too; one that is older
 * than the run was meant for an earlier one. */
static int touched(const char *path, double now, double since)
{
    struct timespec clock;
    struct stat file;

    if (stat(path, &file) != 0) return 0;
    clock_gettime(CLOCK_REALTIME, &clock);
    return seconds_of(clock) - seconds_of(file.st_mtim) < now - since;
}

/* Rank 0's view of the two files, once a second. */
static int look(struct mf_keeper *k, double now)
{
    double since = fmax(k->opts.begin, k->saved_file);

    if (!k->opts.stop_file || now - k->looked < 1) return 0;
    k->looked = now;
    if (touched(k->opts.stop_file, now, k->opts.begin)) return MF_KEEP_LEAVE;
    if (!touched(k->opts.save_file, now, since)) return 0;
    k->saved_file = now;
    return MF_KEEP_SAVE;
}

/* Rank 0's view: clock and files. */
static int wishes(struct mf_keeper *k, double now)
{
    int wish = look(k, now);

    if (k->opts.max_seconds > 0 && now - k->opts.begin + 2 * k->cost + k->gap + 1e-3 >= k->opts.max_seconds) {
        snprintf(k->why, sizeof k->why, "--max-hours is over");
        return MF_KEEP_LEAVE;
    }
    if (mf_fault("run.leave")) {
        snprintf(k->why, sizeof k->why, "injected");
        return MF_KEEP_LEAVE;
    }
    if (wish == MF_KEEP_LEAVE) snprintf(k->why, sizeof k->why, "the file STOP");
    return wish;
}

int mf_keeper_ask(struct mf_keeper *k, const struct mf_comm *comm, long evaluations)
{
    double now = mf_now();
    int64_t say[3] = {0, mf_stop_signal(), mf_stop_saves()};

    if (k->asked > 0 && now - k->asked > k->gap) k->gap = now - k->asked;
    k->asked = now;
    if (comm->rank == 0) say[0] = wishes(k, now);
    if (comm->rank == 0 && !say[0] && is_due(k, now, evaluations)) say[0] = MF_KEEP_SAVE;
    mf_comm_max_int(comm, 3, say);
    if (say[2] > k->saves && say[0] == 0) say[0] = MF_KEEP_SAVE;
    k->saves = say[2]; /* of the rank that has heard of most: the others' news of the same signals is none */
    if (say[1]) {
        if (!k->why[0]) snprintf(k->why, sizeof k->why, "signal %d (%s)", (int)say[1], strsignal((int)say[1]));
        say[0] = MF_KEEP_LEAVE;
    }
    return say[0] == MF_KEEP_LEAVE ? MF_KEEP_LEAVE | MF_KEEP_SAVE : (int)say[0];
}

static struct mf_cost written(const struct mf_checkpoint *c)
{
    double each = 4 * (double)c->fields * (double)c->vectors + (c->label ? 1 : 0);

    return (struct mf_cost){each * (double)mf_slab_voxels(&c->slab), 0};
}

/* The run ends with @p rc, and its state could not be written. */
static int lost(const struct mf_keeper *k, int rc)
{
    char text[400];

    snprintf(text, sizeof text, "%s", mf_err_text());
    return mf_fail(rc, "stopped early (%s), and what it had reached is not saved: %s", k->why, text);
}

/* Was the folder of the output removed? A process that stands in it still sees it, as one that has no name. */
static int is_folder_gone(const char *stem)
{
    const char *base = mf_name_base(stem);
    char *folder = base == stem ? getcwd(NULL, 0) : strndup(stem, (size_t)(base - stem));
    struct stat is;
    int gone = folder ? stat(folder, &is) != 0 && (errno == ENOENT || errno == ESTALE) : errno == ENOENT;

    free(folder);
    return gone;
}

/* A checkpoint that was only due could not be written: a disk may have room again later, but nothing brings back a
 * folder, and the result would be as lost in hours as it is now. */
static int go_on_without(struct mf_keeper *k, const struct mf_comm *comm)
{
    char text[400];
    int rc = MF_OK;

    snprintf(text, sizeof text, "%s", mf_err_text());
    mf_err_clear();
    if (comm->rank == 0 && is_folder_gone(k->opts.stem))
        rc = mf_fail(MF_OUTPUT, "the folder of '%s' is gone, and nothing that this run reaches can be kept: %s",
                     k->opts.stem, text);
    MF_TRY(mf_agree(comm, rc));
    if (!k->warned) mf_warn("%s; the run goes on without this checkpoint", text);
    k->warned = 1;
    return MF_OK;
}

int mf_keeper_save(struct mf_keeper *k, const struct mf_comm *comm, int asked, long evaluations,
                   const struct mf_checkpoint *checkpoint)
{
    MF_PHASE(MF_PHASE_CHECKPOINT);
    char *path = mf_checkpoint_name(k->opts.stem, k->next);
    double start = mf_now(), took;
    int rc = mf_checkpoint_write(comm, path, k->turn, checkpoint);

    mf_phase_count(written(checkpoint));
    took = mf_now() - start;
    mf_comm_max(comm, 1, &took);
    k->saved = k->asked = mf_now();
    k->saved_evaluations = evaluations;
    if (rc == MF_OK) {
        mf_debug("checkpoint %s after %ld evaluation%s, %.3f s", path, evaluations, MF_S(evaluations), took);
        if (k->stale) mf_checkpoint_remove_one(comm, k->opts.stem, !k->next);
        k->stale = 0;
        k->cost = took;
        if (k->opts.every_evaluations == 0 && k->opts.every_seconds >= 0)
            mf_debug("the next checkpoint after %.1f s", between(k));
        k->next = !k->next;
        ++k->turn;
    } else if (!(asked & MF_KEEP_LEAVE)) {
        rc = go_on_without(k, comm);
    } else {
        rc = lost(k, rc);
    }
    free(path);
    return rc;
}
