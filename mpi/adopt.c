/* See adopt.h. */
#include "mpi/adopt.h"

#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "mpi/comm_priv.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

enum { SOON = 1000, NAP = 200000 }; /* turns before a rank sleeps; [ns] of each sleep */

static int has_ended(void)
{
    int ended = 0;

    MPI_Finalized(&ended);
    return ended;
}

/* Local. MPI would end the host where the communicator is none: asks while errors return. Open MPI's table of numbers
 * says which communicators there are. */
static int check_valid(MPI_Comm native)
{
    MPI_Errhandler before;
    int joins = 0, rc;

    MPI_Comm_get_errhandler(MPI_COMM_WORLD, &before);
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
    rc = MPI_Comm_f2c(MPI_Comm_c2f(native)) == native ? MPI_Comm_test_inter(native, &joins) : MPI_ERR_COMM;
    MPI_Comm_set_errhandler(MPI_COMM_WORLD, before);
    MPI_Errhandler_free(&before);
    if (rc != MPI_SUCCESS) return mf_fail(MF_USAGE, "this is no communicator, or it was freed");
    return joins ? mf_fail(MF_USAGE, "the communicator joins two groups; try: MPI_Intercomm_merge") : MF_OK;
}

/* Local. MPI says before it begins, too, whether it has. */
static int check(const MPI_Comm *native)
{
    int begun = 0, level = 0;

    MPI_Initialized(&begun);
    if (!begun || has_ended())
        return mf_fail(MF_USAGE, "MPI %s; try: MPI_Init_thread before the session is opened",
                       begun ? "has ended" : "has not begun");
    MPI_Query_thread(&level);
    if (level < MPI_THREAD_FUNNELED)
        return mf_fail(MF_USAGE, "MPI was started for one thread, and this library computes with several; try: "
                                 "MPI_Init_thread with MPI_THREAD_FUNNELED");
    if (!native || *native == MPI_COMM_NULL) return mf_fail(MF_USAGE, "the communicator is MPI_COMM_NULL");
    return check_valid(*native);
}

int mf_comm_adopt(struct mf_comm *comm, const void *native)
{
    MPI_Comm copy;

    mf_comm_self(comm);
    MF_TRY(check(native));
    if (MPI_Comm_dup(*(const MPI_Comm *)native, &copy) != MPI_SUCCESS)
        return mf_fail(MF_USAGE, "MPI does not copy the communicator: it is no valid one");
    MPI_Comm_rank(copy, &comm->rank);
    MPI_Comm_size(copy, &comm->size);
    mf_err_rank(comm->rank);
    comm->impl = mf_impl_world(copy);
    mf_impl_meet_node(comm);
    mf_watch_join(&comm->impl->group);
    comm->impl->node_reduce = mf_node_reduce_new(comm);
    return MF_OK;
}

static double now(void)
{
    struct timespec at;

    clock_gettime(CLOCK_MONOTONIC, &at);
    return (double)at.tv_sec + 1e-9 * (double)at.tv_nsec;
}

/* One of the two waits of a meeting. A rank may wait for the others while their host computes: it soon sleeps. A wait
 * that is stopped goes on in the next meeting, since the others count on it. */
static int wait_for_all(const struct mf_comm *comm, int which, double seconds)
{
    struct mf_comm_impl *impl = comm->impl;
    const double end = now() + seconds;
    int here = 0;

    if (impl->waits == which) MPI_Ibarrier(impl->check, &impl->wait);
    impl->waits = which + 1;
    for (int turn = 0; !here && !impl->lost; ++turn) {
        MPI_Test(&impl->wait, &here, MPI_STATUS_IGNORE);
        if (here || turn < SOON) continue;
        MF_TRY(mf_pulse("waiting for other ranks"));
        (void)nanosleep(&(struct timespec){.tv_nsec = NAP}, NULL);
        impl->lost = seconds > 0 && now() > end;
    }
    return MF_OK;
}

/* A rank that goes has begun the first wait, which others may then end. It does not begin the second. */
static int wait_twice(const struct mf_comm *comm, double seconds)
{
    struct mf_comm_impl *impl = comm->impl;

    for (int which = impl->waits > 1; which < 2 && !impl->lost; ++which) MF_TRY(wait_for_all(comm, which, seconds));
    impl->waits = 0;
    return MF_OK;
}

/* Collective. */
static int compare(const struct mf_comm *comm, const char *call)
{
    char *first = mf_comm_text(comm, call);
    int rc = MF_OK;

    if (strcmp(call, first) != 0)
        rc = mf_fail(MF_USAGE, "rank %d calls '%.200s', and rank 0 calls '%.200s'", comm->rank, call, first);
    free(first);
    return mf_agree(comm, rc);
}

int mf_comm_goes_on(const struct mf_comm *comm) { return !comm->impl || (!comm->impl->lost && !has_ended()); }

int mf_comm_meet_call(const struct mf_comm *comm, const char *call, double seconds)
{
    if (!comm->impl) return MF_OK;
    if (has_ended()) return mf_fail(MF_USAGE, "MPI has ended, and this session can only be closed");
    if (comm->size == 1) return MF_OK;
    MF_TRY(wait_twice(comm, seconds));
    if (comm->impl->lost)
        return mf_fail(
            MF_DEVICE,
            "not all ranks called '%.200s' within %g s, so this session is lost; try: timeout=0 waits for ever", call,
            seconds);
    return compare(comm, call);
}

void mf_comm_release(struct mf_comm *comm)
{
    if (!comm->impl) return;
    if (!has_ended() && !comm->impl->lost)
        mf_impl_close(comm->impl);
    else
        mf_node_reduce_drop(comm->impl->node_reduce);
    mf_impl_free(comm->impl);
    comm->impl = NULL;
}
