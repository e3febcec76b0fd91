/* The flight record: the last collectives of every rank, kept in the memory that the ranks of a node share, so that
 * whoever ends a job can write down what the stuck and the dead did too. Inner header of this room. */
#ifndef MF_MPI_FLIGHT_H
#define MF_MPI_FLIGHT_H

#include "mpi/watch.h"

enum { MF_FLIGHT_MOST = 32 };

/** A collective that a rank has come to; a rank writes its own, whoever ends the job reads it. */
struct mf_flight_entry {
    _Atomic uint64_t number; /* 0: none */
    _Atomic uint64_t count, name[MF_WATCH_WORDS];
    _Atomic uint64_t came, left; /* [ms] of the node's clock; left: 0 while it is inside */
};

/** Of one rank: collective n stands at n % MF_FLIGHT_MOST. */
struct mf_flight {
    struct mf_flight_entry entry[MF_FLIGHT_MOST];
};

/** This rank comes to a collective, and leaves it. */
void mf_flight_enter(struct mf_flight *own, uint64_t number, const char *name, size_t count);
void mf_flight_leave(struct mf_flight *own, uint64_t number);

/**
 * Writes what is known of all ranks (@p view NULL: nothing, nobody watches yet), below the sentence @p why, into a file
 * of the current folder, and returns its name (mesoforge-flight-[JOB-]HOST-PROCESS.tsv); NULL where that cannot be done
 * within a second: a file system that does not answer may be what the job ends for. Once in a process, by any thread.
 */
const char *mf_flight_write(const struct mf_watch_view *view, const char *why);

#endif
