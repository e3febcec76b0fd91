/* Memory of this process as the system counts it: what was resident at most since a run began, less what was resident
 * then, so that it can be compared with what the run took from its arena.
 *
 * Memory that ranks of a node share is counted by the system in every process that has mapped it. Here it belongs to
 * the rank that made it: who maps another's says so, and it does not count. */
#ifndef MF_BASE_RESIDENT_H
#define MF_BASE_RESIDENT_H

#include <stddef.h>

/** From now on. */
void mf_resident_open(void);

/** @p bytes of other processes will be mapped here, or (negative) were until now. Not on several threads at once. */
void mf_resident_borrow(ptrdiff_t bytes);

/**
 * Most bytes since mf_resident_open(). 0 where the system does not tell; where it does not let a process start its
 * high-water mark anew, what was borrowed for a while may count.
 */
size_t mf_resident_peak(void);

#endif
