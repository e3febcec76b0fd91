/* See arrays.h: which way arrays go, their memory, and exchanges of arrays in host memory. */
#include "mpi/arrays.h"

#include <stdlib.h>

#include "kernels/stage.h"
#include "mpi/arrays_priv.h"
#include "mpi/nccl_transport.h"
#include "src/base/err.h"

#define TAG "arrays of all ranks"

/* -- where the host sees device memory -- */

static uint64_t start(void *context, const struct mf_collective *what)
{
    struct mf_arrays *a = context;

    a->queue->backend->sync(a->queue);
    return mf_collect_start(a->collect, what);
}

static void finish(void *context, uint64_t number)
{
    mf_collect_finish(((struct mf_arrays *)context)->collect, number);
}

static void poll(void *context) { mf_collect_poll(((struct mf_arrays *)context)->collect); }

/* Who finishes an exchange has waited for it. */
static void settle(void *context) { (void)context; }

/* -- opening and closing -- */

static int open_here(struct mf_arrays *a, size_t bytes)
{
    a->table = (struct mf_exchanges){a, start, finish, poll, settle};
    return mf_collect_open(a->comm, a->queue->arena, bytes, &a->collect);
}

static int open_apart(struct mf_arrays *a, size_t bytes, size_t largest)
{
    a->memory = mf_arena_take(a->queue->arena, bytes, TAG);
    MF_TRY(mf_agree(a->comm, a->memory ? MF_OK : MF_MEMORY));
    if (!a->comm->transport) return mf_arrays_open_stages(a, largest);
    mf_arrays_by_nccl(a);
    return MF_OK;
}

int mf_arrays_open(const struct mf_comm *comm, struct mf_queue *queue, size_t bytes, size_t largest,
                   struct mf_arrays **arrays)
{
    struct mf_arrays *a = MF_MUST(calloc(1, sizeof *a), "exchanges");
    int rc;

    a->comm = comm;
    a->queue = queue;
    rc = mf_apart(queue) ? open_apart(a, bytes, largest) : open_here(a, bytes);
    if (rc == MF_OK)
        *arrays = a;
    else
        mf_arrays_close(a);
    return rc;
}

void mf_arrays_close(struct mf_arrays *arrays)
{
    if (!arrays) return;
    if (arrays->memory && arrays->table.finish) {
        arrays->table.finish(arrays, arrays->started);
        arrays->table.settle(arrays);
        arrays->queue->backend->sync(arrays->queue);
    }
    mf_arrays_close_stages(arrays);
    mf_collect_close(arrays->collect);
    mf_arena_give(arrays->queue->arena, arrays->memory);
    free(arrays);
}

void *mf_arrays_memory(const struct mf_arrays *arrays)
{
    return arrays->memory ? arrays->memory : mf_collect_memory(arrays->collect);
}

const struct mf_exchanges *mf_arrays_exchanges(const struct mf_arrays *arrays) { return &arrays->table; }

struct mf_arrays_bytes mf_arrays_bytes(const struct mf_comm *comm, int apart, size_t bytes, size_t largest)
{
    if (!apart) return (struct mf_arrays_bytes){mf_collect_bytes(comm, bytes), 0};
    if (comm->transport) return (struct mf_arrays_bytes){bytes, 0};
    return (struct mf_arrays_bytes){bytes, mf_collect_bytes(comm, mf_arrays_stages(largest))};
}
