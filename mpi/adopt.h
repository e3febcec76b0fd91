/* A world for a library: ranks that its host has started. The host owns MPI, and the library begins and ends nothing of
 * it. No watch looks at these ranks, and no signal or exit handler is ours. */
#ifndef MF_MPI_ADOPT_H
#define MF_MPI_ADOPT_H

#include "mpi/comm.h"

/**
 * Opens a world of the ranks of @p native, a pointer to an MPI_Comm, which stays the host's. Messages pass on copies of
 * it, and an error of MPI on these is a breakage (mf_die()). Collective over its ranks. Refuses with MF_USAGE:
 * - MPI has not begun, or has ended, or allows no threads.
 * - The communicator is MPI_COMM_NULL.
 */
int mf_comm_adopt(struct mf_comm *comm, const void *native);

/** Ends it. After MPI_Finalize only memory is freed. Collective. */
void mf_comm_release(struct mf_comm *comm);

#endif
