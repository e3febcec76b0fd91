/* Asynchronous collectives of arrays in host memory, beside other work: sums, reduce-scatters, all-gathers and
 * all-to-all-v (kernels/exchange.h). Arrays lie in memory that this module provides. Ranks of a node read each other's
 * arrays there, so nothing is copied. Only a trade goes by messages, from any memory to any other.
 *
 * Rule: as in kernels/exchange.h; arrays lie at the same offset on all ranks. Sums add in the order of the ranks. So
 * their bits depend on the number of ranks only. Nodes, time and shared memory do not matter. */
#ifndef MF_MPI_COLLECT_H
#define MF_MPI_COLLECT_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/exchange.h"
#include "mpi/comm.h"
#include "src/base/arena.h"
#include "src/base/cut.h"

struct mf_collect;

/**
 * Takes @p bytes of cleared, 64-byte aligned memory for this rank's arrays, in which other ranks may write. The arena
 * counts it. @p comm outlives the exchanges. On one rank, and on one that is dry, an exchange changes nothing.
 * Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_collect_open(const struct mf_comm *comm, struct mf_arena *arena, size_t bytes, struct mf_collect **collect);

/** Exchanges of arrays of @p of among the ranks of @p group, a part of its ranks (mf_comm_split()). An array lies at
 * the same offset on the ranks of the group; others may have none there. The arrays @p of outlive it. Collective over
 * the group.
 */
int mf_collect_join(const struct mf_comm *group, const struct mf_collect *of, struct mf_collect **collect);

/** Finishes what was started, then frees the memory. NULL is allowed. Collective. */
void mf_collect_close(struct mf_collect *collect);

/** The memory: all arrays lie in it. Not collective. */
void *mf_collect_memory(const struct mf_collect *collect);

/** How many bytes of a rank's memory mf_collect_open() takes in all. Not collective. */
size_t mf_collect_bytes(const struct mf_comm *comm, size_t bytes);

/** The piece of an array of @p n numbers that belongs to @p rank of @p ranks. Borders are multiples of 16; a piece may
 * be empty. */
struct mf_span mf_collect_piece(size_t n, int ranks, int rank);

/** Starts an exchange and returns its number, from 1 on. Waits only where 128 exchanges, or four trades, are under
 * way. */
uint64_t mf_collect_start(struct mf_collect *collect, const struct mf_collective *what);

/** Does what can be done now, at most this rank's share of each exchange. Does not wait. Takes some nanoseconds where
 * nothing can be done. Call it between pieces of other work. Not collective. */
void mf_collect_poll(struct mf_collect *collect);

/** Waits until exchange @p number and all before it are finished. A rank that waits does the work of others too. */
void mf_collect_finish(struct mf_collect *collect, uint64_t number);

/** Sums @p sums [n] and takes maxima of @p maxima [m] over ranks, in one message. Sums add in the order of the ranks;
 * all get the same bits. For the few numbers on which the ranks agree in each step. Collective. */
void mf_collect_step(const struct mf_comm *comm, size_t n, double *sums, size_t m, int64_t *maxima);

#endif
