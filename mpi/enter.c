/* See comm.h: into a collective and out of it. All that looks at collectives (the watch, the comparison of names)
 * looks here. */
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
        mf_die(MF_BROKEN, __FILE__, __LINE__, "rank %d is in %s, rank 0 in %s (collective %llu)", r, names[r], names[0],
               mf_watch_number());
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

void mf_comm_enter(const struct mf_comm *comm, const char *name, size_t n)
{
    if (!comm->impl || comm->size == 1) return;
    if (comm->impl->depth++ == 0) {
        if (mf_fault("comm.late")) never();
        mf_watch_enter(name, n);
        if (mf_fault("comm.inside")) never();
    } else {
        mf_comm_alive();
    }
    compare(comm, name, n);
}

void mf_comm_leave(const struct mf_comm *comm)
{
    if (!comm->impl || comm->size == 1) return;
    if (--comm->impl->depth == 0) mf_watch_leave();
}
