/* The cores that this process has. */
#ifndef MF_KERNELS_CORES_H
#define MF_KERNELS_CORES_H

#include <sched.h>

/**
 * The hardware threads that this process may use: what OpenMP has shared out among its threads counts too, as it binds
 * the first of them to a part of it before main() (OMP_PROC_BIND, OMP_PLACES). Not collective. Never refuses.
 */
cpu_set_t mf_cores_own(void);

/**
 * Gives them all back to the thread that calls it, which goes on as another program: that would take the part for the
 * whole. Not collective. Never refuses.
 */
void mf_cores_release(void);

#endif
