/* See adopt.h. */
#include "mpi/adopt.h"

#include "mpi/comm_priv.h"
#include "mpi/meet.h"
#include "src/base/err.h"

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

int mf_comm_goes_on(const struct mf_comm *comm) { return !comm->impl || (!comm->impl->lost && !has_ended()); }

int mf_comm_meet_call(const struct mf_comm *comm, const char *call, double seconds)
{
    if (!comm->impl) return MF_OK;
    if (has_ended()) return mf_fail(MF_USAGE, "MPI has ended, and this session can only be closed");
    return comm->size == 1 ? MF_OK : mf_meet(comm, call, seconds);
}

void mf_comm_release(struct mf_comm *comm)
{
    if (!comm->impl) return;
    if (!has_ended()) mf_meet_end(comm);
    if (!has_ended() && !comm->impl->lost)
        mf_impl_close(comm->impl);
    else
        mf_node_reduce_drop(comm->impl->node_reduce);
    mf_impl_free(comm->impl);
    comm->impl = NULL;
}
