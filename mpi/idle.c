/* See comm.h: a wait of hours. A rank that waits in MPI looks all the time, and so keeps a core. */
#include <time.h>

#include "mpi/comm_priv.h"

enum { LOOKS = 200, SLEEP = 2000000 /* [ns] between two later looks */ };

static void await(MPI_Request *request)
{
    int is_there = 0;

    for (long look = 0; MPI_Test(request, &is_there, MPI_STATUS_IGNORE), !is_there; ++look)
        (void)nanosleep(&(struct timespec){.tv_nsec = look < LOOKS ? SLEEP / 100 : SLEEP}, NULL);
}

void mf_comm_idle(const struct mf_comm *comm, int root)
{
    MPI_Request request;
    char sign = 0;

    if (!comm->impl || comm->size == 1) return;
    mf_comm_enter(comm, "idle", 0);
    MPI_Ibcast(&sign, 1, MPI_BYTE, root, comm->impl->ranks, &request);
    await(&request);
    mf_comm_leave(comm);
}
