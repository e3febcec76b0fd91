/* Cores and threads of a rank. Ranks that are not bound share cores: each counts an equal part of those that it may
 * use. */
#ifndef MF_SESSION_CORES_H
#define MF_SESSION_CORES_H

#include "src/session/session.h"

/**
 * Binds each rank of a node to its own share of the cores (--bind auto). The share is near its GPU's NUMA node @p near
 * (-1: none). Returns true if it does. The conditions: a Slurm job, whose ranks may all use the whole node; several
 * NUMA nodes; no other load. No rank gets cores that its launcher did not give it. Collective.
 */
int mf_session_pin(const struct mf_session *session, int near);

enum { MF_THREADS_MOST = 4096 };

/** Are the environment's settings of threads possible (OMP_NUM_THREADS, OMP_STACKSIZE or GOMP_STACKSIZE, the stack
 * limit)? Local; MF_USAGE. */
int mf_threads_check(void);

/** Cores that this rank may use, by affinity and cgroup, divided equally among ranks that may use the same.
 * Collective. */
int mf_session_cores(const struct mf_comm *comm);

/** Bytes of L3 cache of the cores that this rank may use; shared caches are divided among ranks. Collective. */
double mf_session_l3(const struct mf_comm *comm);

#endif
