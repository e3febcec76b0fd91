/* Arrays that ranks exchange while a queue works: their memory, and the table of exchanges (kernels/exchange.h).
 *
 * - Where device memory is the host's, mpi/collect.h does the work.
 * - Where it is not, NCCL does, on a stream beside the queue's own, if the communicator has a transport
 *   (nccl_transport.h). The host only enqueues.
 * - Without a transport arrays pass through host memory.
 *
 * Rule: the host never waits inside a library for other ranks. It waits in settle(), under the watch, so that a rank
 * that fails does not hold the others. */
#ifndef MF_MPI_ARRAYS_H
#define MF_MPI_ARRAYS_H

#include "kernels/backend.h"
#include "kernels/exchange.h"
#include "mpi/comm.h"

struct mf_arrays;

/**
 * Takes @p bytes of @p queue's device memory, 64-byte aligned. Arrays that are exchanged lie there, at the same offset
 * on all ranks. A trade, or a message between two, may move any device memory. Where the host does not see device
 * memory, nothing is cleared.
 *
 * @param largest bytes of the largest array or message, or of all that a trade sends and gets together. It counts only
 * where arrays pass through host memory: four of this size are under way at a time.
 *
 * @p comm, which may be a group, and its transport outlive the arrays. On one rank, and on one that is dry, only trades
 * do anything. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_arrays_open(const struct mf_comm *comm, struct mf_queue *queue, size_t bytes, size_t largest,
                   struct mf_arrays **arrays);

/** From now on exchanges of @p group go among the ranks of @p comm. These are a part of the ranks of the arrays
 * (mf_comm_split()). An array lies at the same offset on these; other ranks may have none there. A message may move any
 * device memory. The communicator @p comm and its transport outlive the arrays. The size @p largest is as above, of
 * this group. Collective over @p comm; refuses (agreed) with MF_MEMORY. */
int mf_arrays_join(struct mf_arrays *arrays, int group, const struct mf_comm *comm, size_t largest);

/** Finishes what was started, then frees the memory. NULL is allowed. Collective. */
void mf_arrays_close(struct mf_arrays *arrays);

/** Local. */
void *mf_arrays_memory(const struct mf_arrays *arrays);
const struct mf_exchanges *mf_arrays_exchanges(const struct mf_arrays *arrays);

/** Bytes that mf_arrays_open(), or with 0 bytes mf_arrays_join(), takes of device memory and of the queue's host
 * memory. Where both are one, all are device. The flag @p apart is mf_apart(queue). Local. */
struct mf_arrays_bytes {
    size_t device, host;
} mf_arrays_bytes(const struct mf_comm *comm, int apart, size_t bytes, size_t largest);

#endif
