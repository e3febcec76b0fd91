/* Locks of outputs. Rule: one run at a time writes an output; a second run is told which run holds it. */
#ifndef MF_IO_LOCK_H
#define MF_IO_LOCK_H

#include "mpi/comm.h"

struct mf_lock {
    int descriptor; /* < 0: nothing is locked */
    char *path;
};

/** The job that asks for a lock; name "": none. */
struct mf_lock_job {
    const char *name;
    long restarts; /* how often it was restarted */
};

/**
 * Locks the output @p path for this job through a file ".STEM.lock" beside it. STEM is its name without the ending. The
 * file states @p job (rank 0's), host, process and name of the output. A process holds at most one lock.
 *
 * The system releases the lock when the process ends, so a file left by a killed run locks nothing. This fails when a
 * whole host is lost that locked a file on a shared file system. A restart of the same job then takes over the job's
 * own lock. For another job's lock the refusal says which file to remove.
 *
 * A file system without locks, or a folder that accepts no new file, locks nothing: the write itself fails later.
 * Collective; refuses (agreed) with MF_OUTPUT naming the owner.
 */
int mf_lock_take(const struct mf_comm *comm, const char *path, const struct mf_lock_job *job, struct mf_lock *lock);

/**
 * Refuses a file that belongs to the locked output of another process: MF_OUTPUT naming the owner. A process's own
 * output is free. Not collective.
 */
int mf_lock_free(const char *path);

/** Has this process locked the output that @p path belongs to? Not collective; only rank 0 holds a lock. */
int mf_lock_held(const char *path);

/** Releases the lock; does nothing if none is held. Not collective. */
void mf_lock_give(struct mf_lock *lock);

#endif
