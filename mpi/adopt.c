/* See adopt.h. */
#include "mpi/adopt.h"

#include "mpi/comm_priv.h"
#include "src/base/err.h"

static int has_ended(void)
{
    int ended = 0;

    MPI_Finalized(&ended);
    return ended;
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
    return MF_OK;
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

void mf_comm_release(struct mf_comm *comm)
{
    if (!comm->impl) return;
    if (!has_ended()) mf_impl_close(comm->impl);
    mf_impl_free(comm->impl);
    comm->impl = NULL;
}
