/* Limits how long the start of a run may take. The watch does not run yet, so a thread of each rank measures the time.
 * Inner header of this folder. */
#ifndef MF_MPI_BEGIN_H
#define MF_MPI_BEGIN_H

/** Starts the clock. The job ends with MF_DEVICE when mf_begin_close() does not come within the time of
 * mf_comm_patience(). Not collective. */
void mf_begin_open(void);
void mf_begin_close(void);

#endif
