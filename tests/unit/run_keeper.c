/* A keeper saves when it is due or asked, by turns into two files. It leaves for the clock, a file or a signal: the
 * same on all ranks. */
#include "src/run/keeper.h"

#include <signal.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/stop.h"
#include "tests/check.h"
#include "tests/scratch.h"

static struct mf_comm comm;

static void list(void *context, struct mf_checkpoint *c)
{
    static double x[30];
    double *step = context;

    mf_checkpoint_real(c, "step", step);
    mf_checkpoint_reals(c, "x", x, 30);
}

static int save(struct mf_keeper *k, int asked, long step)
{
    struct mf_checkpoint *c = mf_checkpoint_new("a: 1\n");
    double value = (double)step;
    int rc;

    list(&value, c);
    rc = mf_keeper_save(k, &comm, asked, step, c);
    mf_checkpoint_free(c);
    return rc;
}

static void open_keeper(struct mf_keeper *k, const struct mf_keeper_opts *opts)
{
    struct mf_checkpoint *from;

    CHECK(mf_keeper_begin(k, &comm, opts, 1e3, &from) == MF_OK && !from);
}

static void touch(const char *name)
{
    if (comm.rank == 0) scratch_write(scratch_file(name), "", 0);
    mf_comm_barrier(&comm);
}

static struct mf_checkpoint_pair look(const char *stem)
{
    struct mf_checkpoint_pair pair;

    mf_checkpoint_look(&comm, stem, 1, &pair);
    return pair;
}

/* A run goes on from the newest, and its next checkpoint replaces the older. A run from its begin replaces both. */
static void check_going_on(const char *stem)
{
    const struct mf_keeper_opts opts = {.stem = stem, .every_steps = 1, .begin = mf_now(), .restart = 1};
    struct mf_keeper_opts anew = opts;
    struct mf_checkpoint *from;
    struct mf_keeper k;
    double step = 0;

    CHECK(mf_keeper_begin(&k, &comm, &opts, 1e3, &from) == MF_OK && from);
    mf_checkpoint_real(from, "step", &step);
    CHECK(mf_checkpoint_code(from) == MF_OK && step == 30);
    mf_checkpoint_free(from);
    CHECK(mf_keeper_step(&k, &comm, 31, "a: 1\n", list, &step) == MF_OK && !k.leaving);
    CHECK(look(stem).turn[1] == 3 && look(stem).turn[0] == 4);
    anew.restart = 0;
    open_keeper(&k, &anew);
    mf_fault_set("run.leave:rank=0");
    CHECK(mf_keeper_step(&k, &comm, 1, "a: 1\n", list, &step) == MF_OK && k.leaving);
    mf_fault_set(NULL);
    CHECK(look(stem).turn[1] == 5 && look(stem).turn[0] == -1);
    CHECK(mf_keeper_left(&k) == MF_STOPPED);
}

static void check_turns(const char *stem)
{
    const struct mf_keeper_opts opts = {.stem = stem, .every_steps = 10, .begin = mf_now()};
    struct mf_keeper k;

    open_keeper(&k, &opts);
    CHECK(mf_keeper_ask(&k, &comm, 9) == 0 && mf_keeper_ask(&k, &comm, 10) == MF_KEEP_SAVE);
    CHECK(save(&k, MF_KEEP_SAVE, 10) == MF_OK && mf_keeper_ask(&k, &comm, 19) == 0);
    CHECK(look(stem).turn[1] == 1 && look(stem).turn[0] == -1 && look(stem).newest == 1);
    CHECK(save(&k, MF_KEEP_SAVE, 20) == MF_OK && look(stem).newest == 0);
    CHECK(save(&k, MF_KEEP_SAVE, 30) == MF_OK && look(stem).turn[1] == 3 && look(stem).turn[0] == 2);
    /* one that is due may fail, one on leaving may not; the files before stay */
    mf_fault_set("io.create:rank=0");
    CHECK(save(&k, MF_KEEP_SAVE, 40) == MF_OK);
    mf_fault_set("io.create:rank=0");
    CHECK(save(&k, MF_KEEP_SAVE | MF_KEEP_LEAVE, 50) == MF_OUTPUT && strstr(mf_err_text(), "are not saved"));
    mf_fault_set(NULL);
    CHECK(look(stem).turn[1] == 3 && look(stem).turn[0] == 2);
    check_going_on(stem);
    mf_checkpoint_remove(&comm, stem);
    CHECK(look(stem).turn[1] == -1 && look(stem).turn[0] == -1);
}

/* A loop's own reduction carries the wishes beside a number of the loop. */
static int fold(struct mf_keeper *k, long steps)
{
    int64_t all[MF_KEEPER_WISHES + 1];

    mf_keeper_wish(k, comm.rank, steps, all);
    all[MF_KEEPER_WISHES] = comm.rank;
    mf_comm_max_int(&comm, MF_KEEPER_WISHES + 1, all);
    CHECK(all[MF_KEEPER_WISHES] == comm.size - 1);
    return mf_keeper_heed(k, all);
}

static void check_folding(const char *stem)
{
    const struct mf_keeper_opts opts = {.stem = stem, .every_steps = 10, .begin = mf_now()};
    struct mf_keeper k;
    double step = 0;

    open_keeper(&k, &opts);
    mf_keeper_resume(&k, 100);
    CHECK(fold(&k, 109) == 0 && fold(&k, 110) == MF_KEEP_SAVE && !k.leaving);
    CHECK(mf_keeper_act(&k, &comm, MF_KEEP_SAVE, 110, "a: 1\n", list, &step) == MF_OK && look(stem).turn[1] == 1);
    CHECK(mf_keeper_act(&k, &comm, 0, 111, "a: 1\n", list, &step) == MF_OK && look(stem).turn[0] == -1);
    mf_fault_set("run.leave:rank=0");
    CHECK(fold(&k, 112) == (MF_KEEP_SAVE | MF_KEEP_LEAVE) && k.leaving);
    mf_fault_set(NULL);
    mf_checkpoint_remove(&comm, stem);
}

static void check_leaving(const char *stem)
{
    const struct mf_keeper_opts opts = {.stem = stem,
                                        .stop_file = scratch_file("STOP"),
                                        .save_file = scratch_file("CHECKPOINT"),
                                        .every_seconds = -1,
                                        .begin = mf_now() - 1}; /* clocks of files are coarse */
    struct mf_keeper k;

    open_keeper(&k, &opts);
    CHECK(mf_keeper_ask(&k, &comm, 1000000) == 0);
    touch("CHECKPOINT");
    k.looked = -1;
    CHECK(mf_keeper_ask(&k, &comm, 1) == MF_KEEP_SAVE);
    k.looked = -1;
    CHECK(mf_keeper_ask(&k, &comm, 2) == 0); /* once */
    touch("STOP");
    k.looked = -1;
    CHECK(mf_keeper_ask(&k, &comm, 3) == (MF_KEEP_SAVE | MF_KEEP_LEAVE) && (comm.rank || strstr(k.why, "STOP")));
    open_keeper(&k, &opts);
    k.opts.begin += 3600; /* they are older than the run */
    k.looked = -1;
    CHECK(mf_keeper_ask(&k, &comm, 4) == 0);
    open_keeper(&k, &(struct mf_keeper_opts){.stem = stem, .begin = mf_now() - 10, .max_seconds = 5});
    CHECK(mf_keeper_ask(&k, &comm, 5) == (MF_KEEP_SAVE | MF_KEEP_LEAVE));
}

/* One rank hears it, all leave. */
static void check_signal(const char *stem)
{
    const struct mf_keeper_opts opts = {.stem = stem, .every_seconds = -1, .begin = mf_now()};
    struct mf_keeper k;

    open_keeper(&k, &opts);
    mf_stop_on_signals();
    if (comm.rank == comm.size - 1) raise(SIGUSR2);
    CHECK(mf_keeper_ask(&k, &comm, 1) == MF_KEEP_SAVE && mf_keeper_ask(&k, &comm, 2) == 0);
    if (comm.rank == comm.size - 1) raise(SIGUSR1);
    CHECK(mf_keeper_ask(&k, &comm, 3) == (MF_KEEP_SAVE | MF_KEEP_LEAVE) && strstr(k.why, "signal"));
}

int main(int argc, char **argv)
{
    CHECK(mf_comm_open(&comm, &argc, &argv, "test") == MF_OK);
    scratch_open(&comm);
    check_turns(scratch_file("turns"));
    check_folding(scratch_file("fold"));
    check_leaving(scratch_file("leaving"));
    check_signal(scratch_file("signal"));
    scratch_close(&comm);
    mf_comm_close(&comm);
    return failures != 0;
}
