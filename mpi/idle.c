/* See comm.h: a wait of hours. A rank that waits in MPI looks all the time, and so keeps a core. */
#include <time.h>

#include "mpi/comm_priv.h"

/* A look costs some 30 us of processor time: 150 a second are half a percent of a core. */
enum { LOOKS = 20, SHORT = 20000 /* [ns] between these */, SLEEP = 8000000 /* between later ones */ };

static void await(MPI_Request *request)
{
    int is_there = 0;

    for (long look = 0; MPI_Testall(1, request, &is_there, MPI_STATUSES_IGNORE), !is_there; ++look)
        (void)nanosleep(&(struct timespec){.tv_nsec = look < LOOKS ? SHORT : SLEEP}, NULL);
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
