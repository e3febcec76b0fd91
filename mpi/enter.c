/* See comm.h: entering and leaving a collective or a message, for the watch and the comparison of names. */
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "mpi/comm_priv.h"
#include "mpi/watch.h"
#include "src/base/err.h"

#ifdef MF_CHECK_COLLECTIVES
/* Ends the job when not all ranks are in the same collective. */
static void compare(const struct mf_comm *comm, const char *name, size_t n)
{
    char own[MF_COMM_NAME] = "", (*names)[MF_COMM_NAME] = comm->impl->names;
    int r = 1;

    if (n)
        snprintf(own, sizeof own, "%s %zu", name, n);
    else
        snprintf(own, sizeof own, "%s", name);
    MPI_Allgather(own, MF_COMM_NAME, MPI_CHAR, names, MF_COMM_NAME, MPI_CHAR, comm->impl->check);
    while (r < comm->size && strcmp(names[r], names[0]) == 0) ++r;
    if (r == comm->size) return;
    if (r == comm->rank)
        mf_die(MF_BROKEN, __FILE__, __LINE__, "rank %d is in %s, rank %d in %s (collective %llu%s%s)",
               mf_world_rank(comm, r), names[r], mf_world_rank(comm, 0), names[0], mf_watch_number(&comm->impl->group),
               *comm->impl->group.name ? " of " : "", comm->impl->group.name);
    MPI_Barrier(comm->impl->check); /* one rank speaks; its abort ends this wait */
}
#else
static void compare(const struct mf_comm *comm, const char *name, size_t n)
{
    (void)comm;
    (void)name;
    (void)n;
}
#endif

/* For tests: this rank comes no further. */
static void never(void)
{
    for (;;) pause();
}

static void go_in(const struct mf_comm *comm, const char *name, size_t n, int64_t peer)
{
    if (mf_fault("comm.late")) never();
    mf_watch_enter(&comm->impl->group, name, n, peer);
    if (mf_fault("comm.inside")) never();
}

void mf_comm_enter(const struct mf_comm *comm, const char *name, size_t n)
{
    if (!comm->impl || comm->size == 1) return;
    if (comm->impl->depth++ == 0)
        go_in(comm, name, n, 0);
    else
        mf_comm_alive();
    compare(comm, name, n);
}

void mf_comm_leave(const struct mf_comm *comm)
{
    if (!comm->impl || comm->size == 1) return;
    if (--comm->impl->depth == 0) mf_watch_leave();
}

void mf_message_enter(const struct mf_comm *comm, int peer, int sends)
{
    char name[MF_WATCH_TEXT];
    int rank = mf_world_rank(comm, peer);

    snprintf(name, sizeof name, sends ? "send to rank %d" : "receive from rank %d", rank);
    go_in(comm, name, 0, sends ? mf_sends_to(rank) : mf_receives_from(rank));
}

void mf_message_leave(void) { mf_watch_leave(); }
