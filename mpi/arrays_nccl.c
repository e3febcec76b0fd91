/* See arrays.h: exchanges by NCCL. They stand in order on the queue's second stream, between events. The host enqueues
 * them and looks after them. */
#include <sched.h>

#include "mpi/arrays_priv.h"
#include "mpi/nccl_transport.h"
#include "mpi/phases.h"

static size_t *side_of(struct mf_arrays *a, uint64_t number) { return &a->side[number % MF_ARRAYS_MOST]; }

static uint64_t start(void *context, const struct mf_collective *what)
{
    struct mf_arrays *a = context;
    const struct mf_backend *backend = a->queue->backend;

    mf_comm_enter(a->comm, "start of exchange by NCCL of numbers,", what->n);
    backend->side_begin(a->queue);
    mf_transport_collect(a->comm, a->queue, what);
    mf_comm_leave(a->comm);
    *side_of(a, ++a->started) = backend->side_end(a->queue);
    return a->started;
}

static void finish(void *context, uint64_t number)
{
    struct mf_arrays *a = context;

    if (number <= a->finished) return;
    a->queue->backend->follow(a->queue, *side_of(a, number));
    a->finished = number;
}

static void poll(void *context) { mf_transport_check(((struct mf_arrays *)context)->comm); }

static void settle(void *context)
{
    struct mf_arrays *a = context;
    MF_PHASE(&mf_phase_reduction);

    if (a->settled == a->finished) return;
    mf_comm_enter(a->comm, "finish of exchange", a->finished);
    while (!a->queue->backend->done(a->queue, *side_of(a, a->finished))) {
        mf_transport_check(a->comm);
        (void)sched_yield();
    }
    mf_comm_leave(a->comm);
    a->settled = a->finished;
}

void mf_arrays_by_nccl(struct mf_arrays *arrays)
{
    arrays->way = (struct mf_exchanges){.start = start, .finish = finish, .poll = poll, .settle = settle};
}
