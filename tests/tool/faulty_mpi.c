/* LD_PRELOAD: a message that is lost. The n-th broadcast (FAULTY_MPI_BROADCAST, from 1) of its root is not sent: the
 * root goes on, as it does when the network has taken a message, and the others wait for what never comes. */
#include <mpi.h>
#include <stdlib.h>

int MPI_Bcast(void *data, int count, MPI_Datatype type, int root, MPI_Comm comm)
{
    static long sent;
    const char *lost = getenv("FAULTY_MPI_BROADCAST");
    int rank;

    PMPI_Comm_rank(comm, &rank);
    if (lost && rank == root && ++sent == strtol(lost, NULL, 10)) return MPI_SUCCESS;
    return PMPI_Bcast(data, count, type, root, comm);
}
