/* Resident memory of this process by the system's count: the peak since a run began, less what was resident then. It is
 * compared with the bytes that the run took from its arena.
 *
 * Rule: memory that ranks of a node share belongs to the rank that made it. The system counts it in every process that
 * maps it; a process that maps another rank's memory says so, and it does not count. */
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
