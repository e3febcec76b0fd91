/* The NCCL transport moves device memory between ranks without the host. Exchanges of slices only move bytes: their
 * sums keep the order of this program. Exchanges of arrays (arrays.h) are sums of NCCL, too, in an order that it
 * chooses. Without the transport, both pass through host memory. */
#ifndef MF_MPI_NCCL_TRANSPORT_H
#define MF_MPI_NCCL_TRANSPORT_H

#include "kernels/exchange.h"
#include "kernels/stage.h"
#include "mpi/comm.h"

enum mf_exchange { MF_EXCHANGE_AUTO, MF_EXCHANGE_NCCL, MF_EXCHANGE_HOST };

/** "auto", "nccl", "host"; MF_EXCHANGE_AUTO for anything else. */
enum mf_exchange mf_exchange_of(const char *name);

/**
 * Sets comm->transport, or leaves it NULL: exchanges of @p queue's device memory then pass through the host.
 *
 * - AUTO: uses NCCL where it starts, there are several ranks, and each has a whole GPU of its own. One line of the log
 *   says what was chosen and why.
 * - NCCL: uses NCCL or refuses with MF_DEVICE. One rank alone then exchanges with itself.
 *
 * The queue's device must be the calling thread's. Collective; refuses (agreed) with MF_DEVICE.
 */
int mf_transport_open(struct mf_comm *comm, struct mf_queue *queue, enum mf_exchange wish);

/** Gives a group (mf_comm_split()) a transport where @p comm has one; mf_comm_free() ends it. A rank that is alone in
 * its group, or in none, gets none. Collective over @p comm; refuses (agreed) with MF_DEVICE. */
int mf_transport_split(const struct mf_comm *comm, struct mf_comm *group);

/** Ends the transport, before the queues that it served. Does nothing without a transport. Collective. */
void mf_transport_close(struct mf_comm *comm);

/** Gives a dry communicator (mf_comm_dry()) a transport on which nothing can be sent. */
void mf_transport_dry(struct mf_comm *comm);

/** Does NCCL move @p queue's device memory? */
static inline int mf_transport_carries(const struct mf_comm *comm, const struct mf_queue *queue)
{
    return comm->transport && mf_apart(queue);
}

/** NCCL's version here, "2.28.9". NULL: it does not load, and mf_err_text() says why. Not collective. */
const char *mf_transport_version(void);

/* -- inside this folder -- */

/**
 * A group of sends and receives, as NCCL groups them. Every rank begins the group, adds its sends and receives, and
 * ends it. The k-th send to a rank meets that rank's k-th receive from here. Both have as many bytes; 0 bytes are not
 * allowed. The moves run together, after the work that the queue already holds. They are complete after
 * mf_transport_wait(). An error of NCCL ends the job with MF_DEVICE.
 */
void mf_transport_begin(const struct mf_comm *comm);
void mf_transport_send(const struct mf_comm *comm, struct mf_queue *queue, const void *device, size_t bytes, int to);
void mf_transport_receive(const struct mf_comm *comm, struct mf_queue *queue, void *device, size_t bytes, int from);
void mf_transport_end(const struct mf_comm *comm);

/** Waits for the moves, as a collective of its own under @p name and @p n (mf_comm_enter). So error lines tell a rank
 * that does not come from ranks that wait for its data. */
void mf_transport_wait(const struct mf_comm *comm, struct mf_queue *queue, const char *name, size_t n);

/** Puts an exchange on the queue's second stream (queue->port->side). Where pieces are not equal, ranks sum all of a
 * scattered array. They send each other the pieces of a gathered one. */
void mf_transport_collect(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_collective *what);

/** Ends the job with MF_DEVICE if NCCL has found an error since, here or on another rank. Not collective. */
void mf_transport_check(const struct mf_comm *comm);

/** Ends what NCCL has running, because the job ends. Any thread; no group can begin after it. */
void mf_transport_abort(void);

#endif
