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

#include "io/atomic.h"
#include "src/base/err.h"
#include "src/base/guest.h"
#include "src/base/log.h"
#include "src/base/phase.h"
#include "src/base/stop.h"
#include "src/base/text.h"

static struct mf_phase mf_phase_checkpoint = {.name = "checkpoint", .kind = MF_WORK};

enum { BY_HOST = 1 << 16 /* no number of a signal */ };

static const double BETWEEN_FAILURES = 86400, COST_SHARE = 0.02, FIRST_GUESS = 5e8 /* bytes per second */;

/* Seconds between checkpoints of @p cost seconds each (Young 1974, with a failure a day), at most 2 % of the time. */
static double interval(double cost) { return fmax(sqrt(2 * cost * BETWEEN_FAILURES), cost / COST_SHARE); }

/* Seconds between two, where steps do not count. */
static double between(const struct mf_keeper *k)
{
    return k->opts.every_seconds > 0 ? k->opts.every_seconds : interval(k->cost);
}

static int is_due(const struct mf_keeper *k, double now, long steps)
{
    const struct mf_keeper_opts *o = &k->opts;

    if (o->every_steps > 0) return steps - k->saved_steps >= o->every_steps;
    if (o->every_seconds < 0) return 0;
    return now - k->saved >= between(k);
}

static double seconds_of(struct timespec t) { return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec; }

/* Was the file touched since @p since [mf_now()]? It is not removed, because other runs may have been asked too. A file
 * older than the run was for an earlier one. */
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
    if (!k->opts.save_file || !touched(k->opts.save_file, now, since)) return 0;
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

void mf_keeper_wish(struct mf_keeper *k, int rank, long steps, int64_t wish[MF_KEEPER_WISHES])
{
    const double now = mf_now();

    if (k->asked > 0 && now - k->asked > k->gap) k->gap = now - k->asked;
    k->asked = now;
    wish[0] = rank == 0 ? wishes(k, now) : 0;
    if (rank == 0 && !wish[0] && is_due(k, now, steps)) wish[0] = MF_KEEP_SAVE;
    wish[1] = mf_guest_stops() ? BY_HOST : mf_stop_signal();
    wish[2] = mf_stop_saves();
}

int mf_keeper_heed(struct mf_keeper *k, const int64_t wish[MF_KEEPER_WISHES])
{
    const int is_new = wish[2] > k->saves;

    k->saves = wish[2]; /* of the rank that has heard of most: the others' news of the same signals is none */
    if (wish[1] == BY_HOST && !k->why[0]) snprintf(k->why, sizeof k->why, "when it was asked to");
    if (wish[1] && !k->why[0]) snprintf(k->why, sizeof k->why, "signal %d (%s)", (int)wish[1], strsignal((int)wish[1]));
    k->leaving = wish[1] || wish[0] == MF_KEEP_LEAVE;
    if (k->leaving) return MF_KEEP_LEAVE | MF_KEEP_SAVE;
    return wish[0] || is_new ? MF_KEEP_SAVE : 0;
}

int mf_keeper_ask(struct mf_keeper *k, const struct mf_comm *comm, long steps)
{
    int64_t wish[MF_KEEPER_WISHES];

    mf_keeper_wish(k, comm->rank, steps, wish);
    mf_comm_max_int(comm, MF_KEEPER_WISHES, wish);
    return mf_keeper_heed(k, wish);
}

/* The run ends with @p rc, and its state could not be written. */
static int lost(const struct mf_keeper *k, int rc)
{
    char text[400];

    snprintf(text, sizeof text, "%s", mf_err_text());
    return mf_fail(rc, "stopped early (%s), and the latest steps are not saved: %s", k->why, text);
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

/* A scheduled checkpoint could not be written. A full disk may have space again later. But a removed folder does not
 * return, and the result would be lost too, so the run ends now. */
static int go_on_without(struct mf_keeper *k, const struct mf_comm *comm)
{
    char text[400];
    int rc = MF_OK;

    snprintf(text, sizeof text, "%s", mf_err_text());
    mf_err_clear();
    if (comm->rank == 0 && is_folder_gone(k->opts.stem))
        rc = mf_fail(MF_OUTPUT, "the folder of '%s' was removed, so this run cannot write its result: %s", k->opts.stem,
                     text);
    MF_TRY(mf_agree(comm, rc));
    if (!k->warned) mf_warn("%s; the run continues without this checkpoint", text);
    k->warned = 1;
    return MF_OK;
}

int mf_keeper_save(struct mf_keeper *k, const struct mf_comm *comm, int asked, long steps,
                   const struct mf_checkpoint *checkpoint)
{
    MF_PHASE(&mf_phase_checkpoint);
    char *path = mf_checkpoint_name(k->opts.stem, k->next);
    double start = mf_now(), took;
    int rc = mf_checkpoint_write(comm, path, k->turn, checkpoint);

    mf_phase_count(((struct mf_cost){mf_checkpoint_bytes(checkpoint), 0}));
    took = mf_now() - start;
    mf_comm_max(comm, 1, &took);
    k->saved = k->asked = mf_now();
    k->saved_steps = steps;
    if (rc == MF_OK) {
        mf_debug("checkpoint %s after %ld step%s, %.3f s", path, steps, MF_S(steps), took);
        if (k->stale) mf_checkpoint_remove_one(comm, k->opts.stem, !k->next);
        k->stale = 0;
        k->cost = took;
        if (k->opts.every_steps == 0 && k->opts.every_seconds >= 0)
            mf_debug("the next checkpoint after %.1f s", between(k));
        k->next = !k->next;
        ++k->turn;
    } else if (asked & MF_KEEP_LEAVE) {
        rc = lost(k, rc);
    } else if (rc == MF_OUTPUT) {
        rc = go_on_without(k, comm);
    }
    free(path);
    return rc;
}

int mf_keeper_act(struct mf_keeper *k, const struct mf_comm *comm, int asked, long steps, const char *problem,
                  void (*list)(void *context, struct mf_checkpoint *checkpoint), void *context)
{
    struct mf_checkpoint *checkpoint;
    int rc;

    if (!(asked & MF_KEEP_SAVE)) return MF_OK;
    checkpoint = mf_checkpoint_new(problem);
    list(context, checkpoint);
    rc = mf_keeper_save(k, comm, asked, steps, checkpoint);
    mf_checkpoint_free(checkpoint);
    return rc;
}

int mf_keeper_step(struct mf_keeper *k, const struct mf_comm *comm, long steps, const char *problem,
                   void (*list)(void *context, struct mf_checkpoint *checkpoint), void *context)
{
    return mf_keeper_act(k, comm, mf_keeper_ask(k, comm, steps), steps, problem, list, context);
}

void mf_keeper_watch(struct mf_keeper *k, const struct mf_keeper_opts *opts)
{
    *k = (struct mf_keeper){.opts = *opts, .saved = mf_now()};
    k->opts.every_seconds = -1;
}

void mf_keeper_resume(struct mf_keeper *k, long steps) { k->saved_steps = steps; }

int mf_keeper_left(const struct mf_keeper *k)
{
    return mf_fail(MF_STOPPED, "stopped early (%s) and saved; the same command with --restart auto continues", k->why);
}

/* -- the begin -- */

/* A run that could not be saved is told while that can be helped. */
static void foresee_room(const struct mf_comm *comm, const char *stem, double bytes)
{
    char *name = mf_checkpoint_name(stem, 1);

    if (comm->rank == 0 && mf_atomic_room(name, (size_t)bytes) != MF_OK)
        mf_warn("%s: this run could not save a checkpoint now", mf_err_text());
    mf_err_clear();
    free(name);
}

/* A new run over checkpoints of an earlier one: those are removed after its own first checkpoint. */
static void replace_old(struct mf_keeper *k, const struct mf_checkpoint_pair *pair)
{
    if (pair->turn[0] == -1 && pair->turn[1] == -1) return;
    mf_warn("checkpoints of an earlier run will be replaced%s", pair->turn[0] >= 0 || pair->turn[1] >= 0
                                                                    ? "; --restart auto would continue from them"
                                                                    : "; they are damaged");
    k->stale = 1;
}

int mf_keeper_begin(struct mf_keeper *k, const struct mf_comm *comm, const struct mf_keeper_opts *opts, double bytes,
                    struct mf_checkpoint **from)
{
    struct mf_checkpoint_pair pair;

    *k = (struct mf_keeper){.opts = *opts, .cost = bytes / FIRST_GUESS, .saved = mf_now()};
    *from = NULL;
    foresee_room(comm, opts->stem, bytes);
    mf_checkpoint_look(comm, opts->stem, 0, &pair);
    if (opts->restart)
        MF_TRY(mf_checkpoint_newest(comm, opts->stem, &pair, from));
    else
        replace_old(k, &pair);
    if (opts->restart && opts->last && !*from) MF_TRY(mf_checkpoint_open(comm, opts->last, 0, from));
    k->next = !pair.newest;
    k->turn = (pair.turn[pair.newest] > 0 ? pair.turn[pair.newest] : 0) + 1;
    if (opts->restart && !*from) mf_info("no checkpoint of this run yet: it starts at the beginning");
    return MF_OK;
}
