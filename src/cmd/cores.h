/* Cores and threads of a rank. Ranks that are not bound share cores: each counts a fair part of those that it may use.
 */
#ifndef MF_CMD_CORES_H
#define MF_CMD_CORES_H

#include "src/cmd/session.h"

/**
 * Where the ranks of a node may all use the whole of it, in a job of Slurm, and it has several NUMA nodes and nothing
 * else to do, each keeps to its own share of the cores from now on (--bind auto), near its GPU's NUMA node @p near (-1:
 * it has none). No rank gets cores that its launcher did not give it. True when it does. Collective.
 */
int mf_session_pin(const struct mf_session *session, int near);

enum { MF_THREADS_MOST = 4096 };

/** Can threads be as the environment says (OMP_NUM_THREADS, OMP_STACKSIZE or GOMP_STACKSIZE, the limit of the stack)?
 * Local; MF_USAGE. */
int mf_threads_check(void);

/** Cores this rank may use: by affinity and cgroup, shared fairly with the ranks that may use the same. Collective. */
int mf_session_cores(const struct mf_comm *comm);

/** Bytes of the L3 caches of the cores that this rank may use, shared ones divided by its ranks. Collective. */
double mf_session_l3(const struct mf_comm *comm);

#endif
