/* A world for a library: ranks that its host has started. The host owns MPI, and the library begins and ends nothing of
 * it. No watch looks at these ranks, and no signal or exit handler is ours. */
#ifndef MF_MPI_ADOPT_H
#define MF_MPI_ADOPT_H

#include "mpi/comm.h"

/**
 * Opens a world of the ranks of @p native, a pointer to an MPI_Comm, which stays the host's. Messages pass on copies of
 * it, and an error of MPI on these is a breakage (mf_die()). Collective over its ranks. Refuses with MF_USAGE:
 * - MPI has not begun, or has ended, or allows no threads.
 * - The communicator is MPI_COMM_NULL, or freed as far as MPI still knows, or joins two groups.
 */
int mf_comm_adopt(struct mf_comm *comm, const void *native);

/** Can collectives follow: has MPI not ended, and did every rank come? Local. */
int mf_comm_goes_on(const struct mf_comm *comm);

/**
 * Begins a call of the host: waits until all ranks are here. Refuses with MF_USAGE where their texts @p call differ.
 * After @p seconds (0: never) it refuses with MF_DEVICE, and so do later meetings. MF_USAGE: MPI has ended. MF_STOPPED:
 * the host of a rank asks it to stop while it waits. All others hear it in the same call, where they come later, too.
 * Collective.
 */
int mf_comm_meet_call(const struct mf_comm *comm, const char *call, double seconds);

/** Ends it. After MPI_Finalize, or where a rank did not come, only memory is freed. Collective. */
void mf_comm_release(struct mf_comm *comm);

#endif
