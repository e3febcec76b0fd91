/* The threads of one call into a library. Their host uses them as well, and gets them back as they were. */
#ifndef MF_KERNELS_THREADS_H
#define MF_KERNELS_THREADS_H

/** How the calling thread was before a call. */
struct mf_threads {
    int number;       /* of its next parallel loop */
    unsigned control; /* of its arithmetic: rounding, tiny numbers */
};

/** From here on loops of the calling thread have @p threads threads. Numbers below 1e-38 count as zero in them, as in
 * our program. Local. */
void mf_threads_enter(int threads, struct mf_threads *before);

/** Undoes that. */
void mf_threads_leave(const struct mf_threads *before);

/** Ends threads that wait for a next loop of the calling thread. */
void mf_threads_end(void);

#endif
