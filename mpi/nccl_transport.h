/* The NCCL transport moves device memory between ranks without the host. NCCL only moves bytes here: sums keep the
 * order of this program. Without the transport, exchanges pass through host memory (slab.h). */
#ifndef MF_MPI_NCCL_TRANSPORT_H
#define MF_MPI_NCCL_TRANSPORT_H

#include "kernels/stage.h"
#include "mpi/comm.h"

enum mf_exchange { MF_EXCHANGE_AUTO, MF_EXCHANGE_NCCL, MF_EXCHANGE_HOST };

/** "auto", "nccl", "host"; MF_EXCHANGE_AUTO for anything else. */
enum mf_exchange mf_exchange_of(const char *name);

/**
 * Sets comm->transport, or leaves it NULL: exchanges on @p queue's device memory then pass through the host. AUTO: NCCL
 * where there are several ranks, each on a whole GPU of its own, and it starts; one line says what was chosen and why.
 * NCCL: that or MF_DEVICE; a rank by itself then exchanges with itself. Collective; refuses (agreed) with MF_DEVICE.
 * The device of the queue must be the calling thread's.
 */
int mf_transport_open(struct mf_comm *comm, struct mf_queue *queue, enum mf_exchange wish);

/** Ends it, before the queues that it served. Does nothing without a transport. Collective. */
void mf_transport_close(struct mf_comm *comm);

/** Gives a dry communicator (mf_comm_dry()) a transport on which nothing can be sent. */
void mf_transport_dry(struct mf_comm *comm);

/** Does @p queue's device memory travel by NCCL? */
static inline int mf_transport_carries(const struct mf_comm *comm, const struct mf_queue *queue)
{
    return comm->transport && mf_apart(queue);
}

/** NCCL's version here, "2.28.9"; NULL: it does not load (mf_err_text() says why). Not collective. */
const char *mf_transport_version(void);

/* -- inside this room -- */

/**
 * A group of moves: every rank begins it, puts in its sends and receives (the k-th from one rank to another meets the
 * k-th that the other receives from it, of as many bytes; none of 0 bytes), and ends it. They run after what the queue
 * holds already, all at once, and after mf_transport_wait() they are done. An error of NCCL ends the job with
 * MF_DEVICE.
 */
void mf_transport_begin(const struct mf_comm *comm);
void mf_transport_send(const struct mf_comm *comm, struct mf_queue *queue, const void *device, size_t bytes, int to);
void mf_transport_receive(const struct mf_comm *comm, struct mf_queue *queue, void *device, size_t bytes, int from);
void mf_transport_end(const struct mf_comm *comm);

/** A collective of its own under @p name and @p n (mf_comm_enter): so a rank that does not come to it is told from
 * those that wait for its data. */
void mf_transport_wait(const struct mf_comm *comm, struct mf_queue *queue, const char *name, size_t n);

/** On the way out of a job: what NCCL has running ends. Any thread; no group can be begun any more. */
void mf_transport_abort(void);

#endif
