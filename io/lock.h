/* Locks of outputs. Rule: one run at a time writes an output; a second run is told which run holds it. */
#ifndef MF_IO_LOCK_H
#define MF_IO_LOCK_H

#include "mpi/comm.h"

struct mf_lock {
    int descriptor; /* < 0: nothing is locked */
    char *path;
};

/** Of the one that asks: name "", where there is none. */
struct mf_lock_job {
    const char *name;
    long restarts; /* how often it was started again */
};

/**
 * Locks the output @p path for this job through a file ".STEM.lock" beside it, STEM its name without the ending, which
 * says @p job (rank 0's), host, process and the name. A process has one lock at a time. The system lets go when the
 * process ends, however it ends: a file that a killed run has left behind locks nothing. Not so where a whole host is
 * lost that had locked a file of a file system between hosts: what an earlier start of the same job has locked is taken
 * over; of others the refusal says which file to remove. Refuses (agreed) with MF_OUTPUT naming the owner. A file
 * system without locks, and one that takes no new file, locks nothing: what cannot be written is found later.
 * Collective.
 */
int mf_lock_take(const struct mf_comm *comm, const char *path, const struct mf_lock_job *job, struct mf_lock *lock);

/**
 * Refuses (MF_OUTPUT, naming the owner) a file that the output of another process is, or goes with. One's own is free.
 * Not collective.
 */
int mf_lock_free(const char *path);

/** Has this process locked what @p path goes with? Not collective; rank 0 alone holds a lock. */
int mf_lock_held(const char *path);

/** Also of one that is not taken. Not collective. */
void mf_lock_give(struct mf_lock *lock);

#endif
