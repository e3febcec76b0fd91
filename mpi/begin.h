/* Guards the start of a run. Until the watch is open nobody looks at the ranks, so a thread of each rank looks at the
 * clock. Inner header of this room. */
#ifndef MF_MPI_BEGIN_H
#define MF_MPI_BEGIN_H

/** Starts the clock: when mf_begin_close() has not come within the time of mf_comm_patience(), the job ends with
 * MF_DEVICE. Not collective. */
void mf_begin_open(void);
void mf_begin_close(void);

#endif
