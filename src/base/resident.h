/* Resident memory of this process as the system counts it: the peak since a run began. The resident memory at the start
 * is subtracted. It is compared with the bytes that the run took from its arena.
 *
 * Rule: memory that ranks of a node share belongs to the rank that made it. The system counts it in every process that
 * maps it. So a process that maps another rank's memory reports that, and it is subtracted. */
#ifndef MF_BASE_RESIDENT_H
#define MF_BASE_RESIDENT_H

#include <stddef.h>

/** Begins the measurement. */
void mf_resident_open(void);

/** @p bytes of other processes' memory will be mapped here; negative: are no longer. Not on several threads at once. */
void mf_resident_borrow(ptrdiff_t bytes);

/**
 * Peak bytes since mf_resident_open(). 0 if the system does not tell. Where a process cannot reset its high-water mark,
 * memory that was mapped for a while may be included.
 */
size_t mf_resident_peak(void);

#endif
