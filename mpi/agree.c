/* See comm.h: how ranks agree. A rank that ends takes part too, so that others do not wait for its answer. */
#include <stdio.h>

#include "mpi/comm_priv.h"
#include "mpi/phases.h"
#include "src/base/err.h"

enum { CLOSING = 1 << 20 /* above every code: "this rank is in mf_comm_close()" */ };

/* The last agreement. A rank that is in mf_agree() instead learns here that another rank has left, and ends the job.
 * The barrier keeps the leaving rank out of MPI_Finalize meanwhile: an abort while others finalize can hang mpirun
 * (Open MPI 4.1.4). */
void mf_agree_last(const struct mf_comm *comm)
{
    struct {
        int code, rank;
    } mine = {CLOSING, comm->rank}, worst;

    mf_comm_enter(comm, "close", 0);
    MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, comm->impl->ranks);
    MPI_Barrier(comm->impl->ranks);
    mf_comm_leave(comm);
}

/* Rank @p left, the first that did, is in mf_comm_close(): the job ends. Rank 0 speaks for all where it is here. */
static void left_behind(const struct mf_comm *comm, int left)
{
    if (comm->rank == 0 || left == 0)
        mf_die(MF_BROKEN, __FILE__, __LINE__, "rank %d has closed the communicator, rank %d is in agreement", left,
               comm->rank);
    MPI_Barrier(comm->impl->check); /* that rank's abort ends this wait */
}

static int settle(const struct mf_comm *comm, int code)
{
    struct {
        int code, rank;
    } mine = {code, comm->rank}, worst;
    const char *group = comm->impl->group.name;
    char text[MF_ERR_TEXT];
    int failed = code != MF_OK;

    MPI_Allreduce(&mine, &worst, 1, MPI_2INT, MPI_MAXLOC, comm->impl->ranks);
    if (worst.code == MF_OK) return MF_OK;
    if (worst.code == CLOSING) left_behind(comm, worst.rank);
    snprintf(text, sizeof text, "%s", mf_err_text());
    MPI_Bcast(text, (int)sizeof text, MPI_CHAR, worst.rank, comm->impl->ranks);
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_SUM, comm->impl->ranks);
    if (failed == comm->size) return mf_fail(worst.code, "%s", text);
    return mf_fail(worst.code, "%.920s (rank %d; %d of %d ranks%s%s failed)", text, mf_world_rank(comm, worst.rank),
                   failed, comm->size, *group ? " of " : "", group);
}

int(mf_agree)(const struct mf_comm *comm, int code)
{
    int rc;

    if (!comm->impl) return code;
    MF_PHASE(&mf_phase_messages);

    mf_comm_enter(comm, "agreement", 0);
    rc = settle(comm, code);
    mf_comm_leave(comm);
    return rc;
}
