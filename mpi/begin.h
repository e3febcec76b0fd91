/* The time before the watch: until it opens nobody looks at what ranks do, so a thread of each looks at the clock.
 * Inner header of this room. */
#ifndef MF_MPI_BEGIN_H
#define MF_MPI_BEGIN_H

/** From now until mf_begin_close() the ranks may take as long as mf_comm_patience() says to come together; then the job
 * ends with MF_DEVICE. Not collective. */
void mf_begin_open(void);
void mf_begin_close(void);

#endif
