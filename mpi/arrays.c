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

/* -- groups: number GROUPS n + group is the n-th of its group -- */

enum { GROUPS = 1 << 16 };

static struct mf_arrays *group_of(void *context, uint64_t group)
{
    struct mf_arrays *a = context;

    MF_ASSERT(group < (uint64_t)a->groups && a->group[group]);
    return a->group[group];
}

/* A message is a trade of two ranks, in which one has numbers for the other. */
static uint64_t start_message(struct mf_arrays *g, const struct mf_collective *what)
{
    const int other = 1 - g->comm->rank;
    size_t count[4] = {0}, *sent = count, *got = count + 2;
    struct mf_collective trade = *what;

    MF_ASSERT(g->comm->size == 2);
    (what->kind == MF_EXCHANGE_SEND ? sent : got)[other] = what->n;
    trade.kind = MF_EXCHANGE_TRADE;
    trade.from = what->array;
    trade.sent = sent;
    trade.got = got;
    trade.sent_at = trade.got_at = NULL;
    return g->way.start(g, &trade);
}

static uint64_t group_start(void *context, const struct mf_collective *what)
{
    struct mf_arrays *g = group_of(context, (uint64_t)what->group);
    const int is_message = what->kind == MF_EXCHANGE_SEND || what->kind == MF_EXCHANGE_RECEIVE;

    return GROUPS * (is_message ? start_message(g, what) : g->way.start(g, what)) + (uint64_t)what->group;
}

/* What it waits for may come from a rank that waits for what other groups have started here. */
static void group_finish(void *context, uint64_t number)
{
    struct mf_arrays *a = context, *g = group_of(a, number % GROUPS);

    for (int k = 0; k < a->groups; ++k)
        if (a->group[k] && a->group[k] != g && a->group[k]->launch) a->group[k]->launch(a->group[k]);
    g->way.finish(g, number / GROUPS);
}

static void poll_all(void *context)
{
    struct mf_arrays *a = context;

    for (int k = 0; k < a->groups; ++k)
        if (a->group[k]) a->group[k]->way.poll(a->group[k]);
}

static void settle_all(void *context)
{
    struct mf_arrays *a = context;

    for (int k = 0; k < a->groups; ++k)
        if (a->group[k]) a->group[k]->way.settle(a->group[k]);
}

static void tell(void *context, int group, size_t n, const int64_t *own, int64_t *all)
{
    mf_comm_gather_int(group_of(context, (uint64_t)group)->comm, n, own, all);
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

static void set_group(struct mf_arrays *a, int number, struct mf_arrays *group)
{
    if (number >= a->groups) {
        a->group = MF_MUST(realloc(a->group, (size_t)(number + 1) * sizeof(struct mf_arrays *)), "groups of ranks");
        while (a->groups <= number) a->group[a->groups++] = NULL;
    }
    a->group[number] = group;
}

static struct mf_arrays *new_arrays(const struct mf_comm *comm, struct mf_queue *queue)
{
    struct mf_arrays *a = MF_MUST(calloc(1, sizeof *a), "exchanges");

    a->comm = comm;
    a->queue = queue;
    a->table = (struct mf_exchanges){a, group_start, group_finish, poll_all, settle_all, tell};
    set_group(a, MF_GROUP_ALL, a);
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

int mf_arrays_join(struct mf_arrays *arrays, int group, const struct mf_comm *comm, size_t largest)
{
    struct mf_arrays *a = new_arrays(comm, arrays->queue);

    set_group(arrays, group, a);
    if (mf_apart(arrays->queue)) return open_way(a, largest);
    a->way = here;
    return mf_collect_join(comm, arrays->collect, &a->collect);
}

void mf_arrays_close(struct mf_arrays *arrays)
{
    if (!arrays) return;
    for (int k = arrays->groups; --k > MF_GROUP_ALL;) mf_arrays_close(arrays->group[k]);
    if (mf_apart(arrays->queue) && arrays->way.finish) {
        arrays->way.finish(arrays, arrays->started);
        arrays->way.settle(arrays);
        arrays->queue->backend->sync(arrays->queue);
    }
    mf_arrays_close_stages(arrays);
    mf_collect_close(arrays->collect);
    mf_arena_give(arrays->queue->arena, arrays->memory);
    free(arrays->group);
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
