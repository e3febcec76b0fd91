/* See net.h. Results are checked with numbers so small that sums of floats are exact. */
#include "src/bench/net.h"

#include <math.h>
#include <string.h>

#include "mpi/raw.h"
#include "mpi/slab.h"
#include "src/base/err.h"
#include "src/bench/planes.h"

/* Members of every measurement of buffers. */
struct work {
    const struct mf_comm *comm;
    enum mf_raw raw;
    size_t n;
    float *from, *to;
};

static float value(int rank, size_t i) { return (float)((i * 7 + (size_t)rank * 3) % 64); }

static float sum_of(int ranks, size_t i)
{
    float sum = 0;

    for (int r = 0; r < ranks; ++r) sum += value(r, i);
    return sum;
}

static void fill(const struct work *w)
{
    for (size_t i = 0; i < w->n; ++i) {
        w->from[i] = value(w->comm->rank, i);
        w->to[i] = -1;
    }
}

static void bare(void *context)
{
    struct work *w = context;

    mf_raw(w->comm, w->raw, w->n, w->from, w->to);
}

/* In place, so what is timed adds zeros: anything else would grow without end. */
static void own_sum(void *context)
{
    struct work *w = context;

    mf_comm_sum_float(w->comm, w->n, w->to);
}

/* Element i of what this rank should have after MPI's call. */
static float wanted(const struct work *w, size_t i)
{
    int ranks = w->comm->size, rank = w->comm->rank;
    size_t each = w->n / (size_t)ranks;

    switch (w->raw) {
    case MF_RAW_ALL_REDUCE: return sum_of(ranks, i);
    case MF_RAW_REDUCE_SCATTER: return i < each ? sum_of(ranks, (size_t)rank * each + i) : -1;
    case MF_RAW_ALL_GATHER: return value((int)(i / each), i % each);
    case MF_RAW_ALL_TO_ALL: return value((int)(i / each), (size_t)rank * each + i % each);
    case MF_RAW_PAIR: return ranks - 1 - rank == rank ? -1 : value(ranks - 1 - rank, i);
    case MF_RAW_RING: break;
    }
    return value((rank + (i < w->n / 2 ? ranks - 1 : 1)) % ranks, i);
}

static size_t wrong_in(const struct work *w)
{
    size_t wrong = 0;

    for (size_t i = 0; i < w->n; ++i) wrong += w->to[i] != wanted(w, i);
    return wrong;
}

/* A rank by itself has nobody to exchange with: what it has stays as it is. */
static size_t wrong_after(struct work *w, const struct mf_bench_call *call)
{
    if (w->comm->size == 1) return 0;
    fill(w);
    if (call->call == own_sum) memcpy(w->to, w->from, w->n * sizeof *w->to);
    mf_bench_once(w->comm, call);
    return wrong_in(w);
}

static int buffers(struct work *w, struct mf_arena *arena)
{
    int rc;

    w->from = mf_arena_take(arena, w->n * sizeof *w->from, "benchmark");
    w->to = w->from ? mf_arena_take(arena, w->n * sizeof *w->to, "benchmark") : NULL;
    rc = mf_agree(w->comm, w->to ? MF_OK : MF_MEMORY);
    if (rc == MF_OK) return MF_OK;
    mf_arena_give(arena, w->to);
    mf_arena_give(arena, w->from);
    return rc;
}

static int measure(struct work *w, struct mf_arena *arena, const struct mf_bench_enough *enough, void (*own)(void *),
                   struct mf_bench_row *row)
{
    struct mf_bench_call calls[2] = {{bare, w, "bare exchange"}, {own, w, NULL}};
    struct mf_bench_time times[2];

    MF_TRY(buffers(w, arena));
    row->wrong = wrong_after(w, &calls[0]) + (own ? wrong_after(w, &calls[1]) : 0);
    memset(w->from, 0, w->n * sizeof *w->from);
    memset(w->to, 0, w->n * sizeof *w->to);
    mf_bench_measure(w->comm, enough, own ? 2 : 1, calls, times);
    mf_arena_give(arena, w->to);
    mf_arena_give(arena, w->from);
    row->count = w->n;
    row->bytes = w->n * sizeof *w->from;
    row->has_own = own != NULL;
    row->bare = times[0];
    row->own = times[own ? 1 : 0];
    return MF_OK;
}

/* @p bytes in floats, a multiple of what the ranks can share evenly. */
static size_t floats(const struct mf_comm *comm, size_t bytes)
{
    size_t grain = 2 * (size_t)comm->size, n = bytes / sizeof(float);

    return n ? (n + grain - 1) / grain * grain : grain;
}

#define EXCHANGE(name, which, own)                                                                            \
    static int name(const struct mf_comm *comm, struct mf_queue *queue, const struct mf_bench_enough *enough, \
                    size_t bytes, struct mf_bench_row *row)                                                   \
    {                                                                                                         \
        struct work w = {.comm = comm, .raw = (which), .n = floats(comm, bytes)};                             \
        return measure(&w, queue->host, enough, own, row);                                                    \
    }
EXCHANGE(all_reduce, MF_RAW_ALL_REDUCE, own_sum)
EXCHANGE(reduce_scatter, MF_RAW_REDUCE_SCATTER, NULL)
EXCHANGE(all_gather, MF_RAW_ALL_GATHER, NULL)
EXCHANGE(pair, MF_RAW_PAIR, NULL)

static double all_reduce_share(int n) { return 2.0 * (n - 1) / n; }
static double most_share(int n) { return (double)(n - 1) / n; }
static double ways_share(int n) { return 4 * most_share(n); }
static double whole_share(int n) { return n > 1; }

const struct mf_bench_net mf_bench_nets[] = {
    {"allreduce", "sums over all ranks, of gradients and losses", "sum", all_reduce, all_reduce_share},
    {"reduce-scatter", "sums over all ranks, each its part", "sum", reduce_scatter, most_share},
    {"all-gather", "every rank's part, on all", "none", all_gather, most_share},
    {"alltoall", "slabs of a volume into whole slices", "none", mf_bench_slices, most_share},
    {"evaluation", "slices of two directions, and their gradients back", "none", mf_bench_evaluation, ways_share},
    {"halo", "a plane from the rank below and one from the rank above", "none", mf_bench_halo, whole_share},
    {"p2p", "rank r with rank n - 1 - r, both ways", "none", pair, whole_share},
    {NULL, NULL, NULL, NULL, NULL},
};

const struct mf_bench_net *mf_bench_net_find(const char *name)
{
    for (const struct mf_bench_net *net = mf_bench_nets; net->name; ++net)
        if (strcmp(net->name, name) == 0) return net;
    return NULL;
}

int mf_bench_net_measure(const struct mf_bench_net *net, const struct mf_comm *comm, struct mf_queue *queue,
                         const struct mf_bench_enough *enough, size_t bytes, struct mf_bench_row *row)
{
    int64_t wrong;

    *row = (struct mf_bench_row){.bytes = 0};
    MF_TRY(net->measure(comm, queue, enough, bytes, row));
    wrong = (int64_t)row->wrong;
    mf_comm_sum_int(comm, 1, &wrong);
    row->wrong = (size_t)wrong;
    row->algorithm = (double)row->bytes / row->own.median;
    row->bus = row->algorithm * net->share(comm->size);
    return MF_OK;
}
