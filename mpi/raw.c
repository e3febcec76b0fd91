/* See raw.h. */
#include "mpi/raw.h"

#include "mpi/comm_priv.h"

static void ring(const struct mf_comm *comm, int n, const float *from, float *to)
{
    int below = (comm->rank + comm->size - 1) % comm->size, above = (comm->rank + 1) % comm->size;

    MPI_Sendrecv(from, n, MPI_FLOAT, above, 0, to, n, MPI_FLOAT, below, 0, comm->impl->ranks, MPI_STATUS_IGNORE);
    MPI_Sendrecv(from + n, n, MPI_FLOAT, below, 1, to + n, n, MPI_FLOAT, above, 1, comm->impl->ranks,
                 MPI_STATUS_IGNORE);
}

static void pair(const struct mf_comm *comm, int n, const float *from, float *to)
{
    int other = comm->size - 1 - comm->rank;

    if (other == comm->rank) return;
    MPI_Sendrecv(from, n, MPI_FLOAT, other, 0, to, n, MPI_FLOAT, other, 0, comm->impl->ranks, MPI_STATUS_IGNORE);
}

static void call(const struct mf_comm *comm, enum mf_raw what, int n, const float *from, float *to)
{
    MPI_Comm world = comm->impl->ranks;
    int each = n / comm->size;

    switch (what) {
    case MF_RAW_ALL_REDUCE: MPI_Allreduce(from, to, n, MPI_FLOAT, MPI_SUM, world); break;
    case MF_RAW_REDUCE_SCATTER: MPI_Reduce_scatter_block(from, to, each, MPI_FLOAT, MPI_SUM, world); break;
    case MF_RAW_ALL_GATHER: MPI_Allgather(from, each, MPI_FLOAT, to, each, MPI_FLOAT, world); break;
    case MF_RAW_ALL_TO_ALL: MPI_Alltoall(from, each, MPI_FLOAT, to, each, MPI_FLOAT, world); break;
    case MF_RAW_PAIR: pair(comm, n, from, to); break;
    case MF_RAW_RING: ring(comm, n / 2, from, to); break;
    }
}

void mf_raw(const struct mf_comm *comm, enum mf_raw what, size_t n, const float *from, float *to)
{
    if (comm->impl) call(comm, what, (int)n, from, to);
}
