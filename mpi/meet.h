/* Meetings of the ranks of a library, where a call of their host begins. Inner header of mpi.
 * Rule: the ranks go on together, or none does. */
#ifndef MF_MPI_MEET_H
#define MF_MPI_MEET_H

#include "mpi/comm.h"

/** mf_comm_meet_call() of two ranks or more (adopt.h). */
int mf_meet(const struct mf_comm *comm, const char *call, double seconds);

/** Ends what this rank has said in its last meeting. The others have heard it, unless the session is lost. */
void mf_meet_end(const struct mf_comm *comm);

#endif
