/* How a rank waits for others: first it keeps its core, then it yields it. Where another program keeps the core for
 * long, it sleeps. Inner header of this folder.
 *
 * A yield gives another program a whole slice of some milliseconds, at each of the many looks of a wait. A process that
 * sleeps is woken before those that compute. In yield.c sched_yield() is defined for a whole program. Open MPI and
 * MPICH call it, too, while a rank waits. A library has no yield.c, since it must not replace a function of its host.
 */
#ifndef MF_MPI_WAIT_H
#define MF_MPI_WAIT_H

#include "mpi/comm.h"

/** @p ranks of this run are on this node. Where they exceed the cores, they keep cores for long, and none sleeps: that
 * would only interrupt them. */
void mf_wait_open(int ranks);

/** Looks before a rank yields its core: none where ranks are more than cores. */
long mf_wait_pauses(const struct mf_comm *comm);

/** Yields the core, or sleeps where another program has kept it for long. */
void mf_wait_yield(void);

/** Between look @p turn (0, 1, ...) and the next. */
void mf_wait_turn(long turn, long pauses);

#endif
