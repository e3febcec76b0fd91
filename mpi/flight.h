/* The flight record: the last collectives and messages of every rank. They are kept in memory that the ranks of a node
 * share, so whoever ends a job can also write down what stuck and dead ranks did. Inner header of this room. */
#ifndef MF_MPI_FLIGHT_H
#define MF_MPI_FLIGHT_H

#include "mpi/watch.h"

enum { MF_FLIGHT_MOST = 32 };

/** A collective or a message that a rank has come to; a rank writes its own, whoever ends the job reads it. */
struct mf_flight_entry {
    _Atomic uint64_t number;     /* of this rank's; 0: none */
    _Atomic uint64_t in_group;   /* number of the group's collective */
    _Atomic uint64_t came, left; /* [ms] of the node's clock; left: 0 while it is inside */
    struct mf_doing doing;
};

/** Of one rank: number n stands at n % MF_FLIGHT_MOST. */
struct mf_flight {
    struct mf_flight_entry entry[MF_FLIGHT_MOST];
};

/** This rank comes to what @p doing says, and leaves it. */
void mf_flight_enter(struct mf_flight *own, uint64_t number, const struct mf_doing *doing, uint64_t in_group);
void mf_flight_leave(struct mf_flight *own, uint64_t number);

/**
 * Writes what is known of all ranks (@p view NULL: nothing, nobody watches yet), below the sentence @p why, into a file
 * of the current folder, and returns its name (mesoforge-flight-[JOB-]HOST-PROCESS.tsv); NULL where that cannot be done
 * within a second: a file system that does not answer may be what the job ends for. Once in a process, by any thread.
 */
const char *mf_flight_write(const struct mf_watch_view *view, const char *why);

#endif
