/* A meeting of three ranks where a stop comes late to one of them: all leave it, and meet again. */
#include <time.h>

#include "mpi/adopt.h"
#include "mpi/comm_priv.h"
#include "src/base/err.h"
#include "tests/check.h"

enum { HERE, GO, STOP, TAG = 1 }; /* as in mpi/meet.c */

static void nap(double seconds) { nanosleep(&(struct timespec){.tv_nsec = (long)(1e9 * seconds)}, NULL); }

static void say(const struct mf_comm *comm, int what, int to)
{
    const int word[3] = {1, what, comm->rank};

    MPI_Send(word, 3, MPI_INT, to, TAG, comm->impl->check);
}

static void hear(const struct mf_comm *comm, int what, int from)
{
    int word[3];

    MPI_Recv(word, 3, MPI_INT, from, TAG, comm->impl->check, MPI_STATUS_IGNORE);
    CHECK_SAYS(word[1] == what, "rank %d says %d", from, word[1]);
}

/* The first meeting on a slow network. Rank 0 hears the stop of this rank, and meets again. Only then rank 1 hears it.
 */
static void stop_slowly(const struct mf_comm *comm)
{
    comm->impl->meetings = 1;
    for (int r = 0; r < 2; ++r) say(comm, HERE, r);
    for (int r = 0; r < 2; ++r) hear(comm, HERE, r);
    for (int r = 0; r < 2; ++r) hear(comm, GO, r);
    say(comm, STOP, 0);
    nap(0.2);
    say(comm, STOP, 1);
}

int main(int argc, char **argv)
{
    MPI_Comm world = MPI_COMM_WORLD;
    struct mf_comm comm;
    int level;

    MPI_Init_thread(&argc, &argv, MPI_THREAD_FUNNELED, &level);
    CHECK(mf_comm_adopt(&comm, &world) == MF_OK);
    if (comm.rank == 2)
        stop_slowly(&comm);
    else
        CHECK(mf_comm_meet_call(&comm, "call", 5) == MF_STOPPED);
    for (int i = 0; i < 3; ++i)
        CHECK_SAYS(mf_comm_meet_call(&comm, "call", 5) == MF_OK, "rank %d: %s", comm.rank, mf_err_text());
    mf_comm_release(&comm);
    MPI_Finalize();
    return failures != 0;
}
