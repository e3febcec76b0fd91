/* Plain MPI calls, without any of our code around them. Benchmarks compare our exchanges with them. */
#ifndef MF_MPI_RAW_H
#define MF_MPI_RAW_H

#include <stddef.h>

#include "mpi/comm.h"

enum mf_raw {
    MF_RAW_ALL_REDUCE,     /* sum of n floats of every rank, on all */
    MF_RAW_REDUCE_SCATTER, /* the same, each rank its n / size of them */
    MF_RAW_ALL_GATHER,     /* n / size floats of every rank, on all */
    MF_RAW_ALL_TO_ALL,     /* n / size floats of every rank to each */
    MF_RAW_PAIR,           /* n floats between rank r and size - 1 - r, both ways at once */
    MF_RAW_RING            /* n / 2 floats to each of the two neighbours */
};

/** Makes one call, from @p from [n] to @p to [n], in host memory. The count n is a multiple of 2 size and fits into an
 * int. One rank alone does nothing. Collective; the caller calls mf_comm_enter() before. */
void mf_raw(const struct mf_comm *comm, enum mf_raw what, size_t n, const float *from, float *to);

#endif
