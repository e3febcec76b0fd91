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

/* -- groups: number MF_AMONG_GROUPS n + group is the n-th of its group -- */

static struct mf_arrays *group_of(void *context, uint64_t group)
{
    struct mf_arrays *g = ((struct mf_arrays *)context)->group[group];

    MF_ASSERT(g);
    return g;
}

static uint64_t group_start(void *context, const struct mf_collective *what)
{
    struct mf_arrays *g = group_of(context, what->group);

    return MF_AMONG_GROUPS * g->way.start(g, what) + what->group;
}

static void group_finish(void *context, uint64_t number)
{
    struct mf_arrays *g = group_of(context, number % MF_AMONG_GROUPS);

    g->way.finish(g, number / MF_AMONG_GROUPS);
}

static void poll_all(void *context)
{
    struct mf_arrays *a = context;

    for (int k = 0; k < MF_AMONG_GROUPS; ++k)
        if (a->group[k]) a->group[k]->way.poll(a->group[k]);
}

static void settle_all(void *context)
{
    struct mf_arrays *a = context;

    for (int k = 0; k < MF_AMONG_GROUPS; ++k)
        if (a->group[k]) a->group[k]->way.settle(a->group[k]);
}

static void tell(void *context, enum mf_exchange_group group, size_t n, const int64_t *own, int64_t *all)
{
    mf_comm_gather_int(group_of(context, group)->comm, n, own, all);
}

/* -- opening and closing -- */

static const struct mf_exchanges here = {.start = start, .finish = finish, .poll = poll, .settle = settle};

static int open_here(struct mf_arrays *a, size_t bytes)
{
    a->way = here;
    return mf_collect_open(a->comm, a->queue->arena, bytes, &a->collect);
}

static int open_way(struct mf_arrays *a, size_t largest)
{
    if (!a->comm->transport) return mf_arrays_open_stages(a, largest);
    mf_arrays_by_nccl(a);
    return MF_OK;
}

static int open_apart(struct mf_arrays *a, size_t bytes, size_t largest)
{
    a->memory = mf_arena_take(a->queue->arena, bytes, TAG);
    MF_TRY(mf_agree(a->comm, a->memory ? MF_OK : MF_MEMORY));
    return open_way(a, largest);
}

static struct mf_arrays *new_arrays(const struct mf_comm *comm, struct mf_queue *queue)
{
    struct mf_arrays *a = MF_MUST(calloc(1, sizeof *a), "exchanges");

    a->comm = comm;
    a->queue = queue;
    a->table = (struct mf_exchanges){a, group_start, group_finish, poll_all, settle_all, tell};
    a->group[MF_AMONG_ALL] = a;
    return a;
}

int mf_arrays_open(const struct mf_comm *comm, struct mf_queue *queue, size_t bytes, size_t largest,
                   struct mf_arrays **arrays)
{
    struct mf_arrays *a = new_arrays(comm, queue);
    const int rc = mf_apart(queue) ? open_apart(a, bytes, largest) : open_here(a, bytes);

    if (rc == MF_OK)
        *arrays = a;
    else
        mf_arrays_close(a);
    return rc;
}

int mf_arrays_join(struct mf_arrays *arrays, enum mf_exchange_group group, const struct mf_comm *comm, size_t largest)
{
    struct mf_arrays *a = arrays->group[group] = new_arrays(comm, arrays->queue);

    if (mf_apart(arrays->queue)) return open_way(a, largest);
    a->way = here;
    return mf_collect_join(comm, arrays->collect, &a->collect);
}

void mf_arrays_close(struct mf_arrays *arrays)
{
    if (!arrays) return;
    for (int k = MF_AMONG_GROUPS; --k > MF_AMONG_ALL;) mf_arrays_close(arrays->group[k]);
    if (mf_apart(arrays->queue) && arrays->way.finish) {
        arrays->way.finish(arrays, arrays->started);
        arrays->way.settle(arrays);
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
