/* A keeper saves when it is due or asked, by turns into two files, and leaves for the clock, a file or a signal: the
 * same on all ranks. */
#include "src/run/keeper.h"

#include <signal.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/stop.h"
#include "tests/check.h"
#include "tests/scratch.h"

static struct mf_comm comm;

static int save(struct mf_keeper *k, int asked, long step)
{
    static const size_t dims[3] = {5, 2, 3};
    const struct mf_slab slab = mf_slab_of(&comm, dims, comm.rank);
    static float x[30];
    struct mf_checkpoint c = {.problem = "a: 1\n", .slab = slab, .fields = 1, .vectors = 1, .vector = {x}};

    return mf_keeper_save(k, &comm, asked, step, &c);
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

static void check_turns(const char *stem)
{
    const struct mf_keeper_opts opts = {.stem = stem, .every_evaluations = 10, .begin = mf_now()};
    struct mf_keeper k;

    mf_keeper_open(&k, &opts, 1e3);
    k.turn = 1;
    CHECK(mf_keeper_ask(&k, &comm, 9) == 0 && mf_keeper_ask(&k, &comm, 10) == MF_KEEP_SAVE);
    CHECK(save(&k, MF_KEEP_SAVE, 10) == MF_OK && mf_keeper_ask(&k, &comm, 19) == 0);
    CHECK(look(stem).turn[0] == 1 && look(stem).turn[1] == -1 && look(stem).newest == 0);
    CHECK(save(&k, MF_KEEP_SAVE, 20) == MF_OK && look(stem).newest == 1);
    CHECK(save(&k, MF_KEEP_SAVE, 30) == MF_OK && look(stem).turn[0] == 3 && look(stem).turn[1] == 2);
    /* one that is due may fail, one on leaving may not; the files before stay */
    mf_fault_set("io.create:rank=0");
    CHECK(save(&k, MF_KEEP_SAVE, 40) == MF_OK);
    mf_fault_set("io.create:rank=0");
    CHECK(save(&k, MF_KEEP_SAVE | MF_KEEP_LEAVE, 50) == MF_OUTPUT && strstr(mf_err_text(), "is not saved"));
    mf_fault_set(NULL);
    CHECK(look(stem).turn[0] == 3 && look(stem).turn[1] == 2);
    mf_checkpoint_remove(&comm, stem);
    CHECK(look(stem).turn[0] == -1 && look(stem).turn[1] == -1);
}

static void check_leaving(const char *stem)
{
    const struct mf_keeper_opts opts = {.stem = stem,
                                        .stop_file = scratch_file("STOP"),
                                        .save_file = scratch_file("CHECKPOINT"),
                                        .every_seconds = -1,
                                        .begin = mf_now() - 1}; /* clocks of files are coarse */
    struct mf_keeper k;

    mf_keeper_open(&k, &opts, 1e3);
    CHECK(mf_keeper_ask(&k, &comm, 1000000) == 0);
    touch("CHECKPOINT");
    k.looked = -1;
    CHECK(mf_keeper_ask(&k, &comm, 1) == MF_KEEP_SAVE);
    k.looked = -1;
    CHECK(mf_keeper_ask(&k, &comm, 2) == 0); /* once */
    touch("STOP");
    k.looked = -1;
    CHECK(mf_keeper_ask(&k, &comm, 3) == (MF_KEEP_SAVE | MF_KEEP_LEAVE) && (comm.rank || strstr(k.why, "STOP")));
    mf_keeper_open(&k, &opts, 1e3);
    k.opts.begin += 3600; /* they are older than the run */
    k.looked = -1;
    CHECK(mf_keeper_ask(&k, &comm, 4) == 0);
    mf_keeper_open(&k, &(struct mf_keeper_opts){.stem = stem, .begin = mf_now() - 10, .max_seconds = 5}, 1e3);
    CHECK(mf_keeper_ask(&k, &comm, 5) == (MF_KEEP_SAVE | MF_KEEP_LEAVE));
}

/* One rank hears it, all leave. */
static void check_signal(const char *stem)
{
    const struct mf_keeper_opts opts = {.stem = stem, .every_seconds = -1, .begin = mf_now()};
    struct mf_keeper k;

    mf_keeper_open(&k, &opts, 1e3);
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
    check_leaving(scratch_file("leaving"));
    check_signal(scratch_file("signal"));
    scratch_close(&comm);
    mf_comm_close(&comm);
    return failures != 0;
}
