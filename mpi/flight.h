/* The flight record: the last collectives and messages of every rank. They are kept in memory that the ranks of a node
 * share. So the rank that ends a job can also write down what stuck and dead ranks did. Inner header of this folder. */
#ifndef MF_MPI_FLIGHT_H
#define MF_MPI_FLIGHT_H

#include "mpi/watch.h"

enum { MF_FLIGHT_MOST = 32 };

/** A collective or a message that a rank has entered. A rank writes its own; the process that ends the job reads it. */
struct mf_flight_entry {
    _Atomic uint64_t number;     /* of this rank's; 0: none */
    _Atomic uint64_t in_group;   /* number of the group's collective */
    _Atomic uint64_t came, left; /* [ms] of the node's clock; left: 0 while the rank is inside */
    struct mf_doing doing;
};

/** Entries of one rank: number n stands at n % MF_FLIGHT_MOST. */
struct mf_flight {
    struct mf_flight_entry entry[MF_FLIGHT_MOST];
};

/** Notes the job's number. Other threads do not ask for the environment, which MPI changes. Before MPI starts. */
void mf_flight_open(void);

/** This rank enters what @p doing describes; it leaves. */
void mf_flight_enter(struct mf_flight *own, uint64_t number, const struct mf_doing *doing, uint64_t in_group);
void mf_flight_leave(struct mf_flight *own, uint64_t number);

/**
 * Writes what is known of all ranks, below the sentence @p why, to a file in the current folder. Returns its name,
 * mesoforge-flight-[JOB-]HOST-PROCESS.tsv. @p view NULL: nothing is known, because no watch runs yet. Returns NULL
 * in a guest (src/base/guest.h), and where writing takes more than a second. A file system that does not answer may be
 * why the job ends. Any thread, but only once in a process.
 */
const char *mf_flight_write(const struct mf_watch_view *view, const char *why);

#endif
