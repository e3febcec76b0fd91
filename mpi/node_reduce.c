/* See node_reduce.h. Vectors are summed in pieces. A piece takes three steps. Every rank writes the numbers that others
 * sum into its own buffer. It sums its part of all ranks' numbers there. Then it copies all parts. A piece that fits
 * into a few cache lines takes two steps: every rank sums all of it by itself. Each rank has two buffers, which
 * alternate. A rank that has arrived with piece k + 1 has read piece k. So when all have arrived, the buffer of piece k
 * is free for piece k + 2.
 *
 * With several nodes, a rank first sums its part with the ranks of the same local index on other nodes. So every number
 * crosses the network once each way, whatever the number of ranks on a node. */
#include "mpi/node_reduce.h"

#include <stdatomic.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/comm_priv.h"
#include "mpi/share.h"
#include "mpi/wait.h"
#include "src/base/err.h"

enum {
    NODE_BYTES = 4 << 20, /* of all ranks' halves together: within the last cache of most machines */
    LEAST_PIECE = 16 << 10,
    MOST_PIECE = 512 << 10, /* of two ranks: with 256 KiB a sum of 2 MiB takes longer than by messages */
    LEAST_SUM = 16 << 10,   /* of many ranks: below it a message is as quick */
    FEW = 8,                /* ranks that look at each other's numbers sooner than a message goes round */
    NOTE_BYTES = 4096,
    LINE = 64
};

/* A small piece, behind its number: the first of it comes with the line that was waited for. */
struct note {
    _Alignas(LINE) _Atomic uint64_t put;
    char numbers[NOTE_BYTES - sizeof(uint64_t)];
};

/* At the begin of a rank's memory, on separate cache lines: counts of pieces that it has written, and summed. */
struct flags {
    _Alignas(LINE) _Atomic uint64_t put;
    _Alignas(LINE) _Atomic uint64_t added;
    struct note note[2];
};

struct mf_node_reduce {
    struct mf_share *share;
    char **at;       /* [size] memory of the ranks of this node */
    MPI_Comm across; /* the ranks of the same place on all nodes; MPI_COMM_NULL: there is one node */
    int rank, size;  /* on this node */
    long pauses;     /* looks, a pause of the core after each, before a rank that waits lets others have that core */
    size_t piece;    /* bytes */
    uint64_t round;
};

/* Has every node as many ranks? */
static int is_even(const struct mf_comm *comm)
{
    int ends[2] = {comm->local_size, -comm->local_size};

    if (comm->local_size == comm->size) return 1; /* on all of them, and they know */
    MPI_Allreduce(MPI_IN_PLACE, ends, 2, MPI_INT, MPI_MAX, comm->impl->ranks);
    return ends[0] == -ends[1] && ends[0] > 1;
}

static void meet_others(struct mf_node_reduce *n, const struct mf_comm *comm)
{
    int i = 0;

    n->at = MF_MUST(malloc((size_t)n->size * sizeof *n->at), "sums in shared memory");
    for (int r = 0; r < comm->size; ++r)
        if (n->share->at[r]) n->at[i++] = n->share->at[r];
    MF_ASSERT(i == n->size);
    n->across = MPI_COMM_NULL;
    if (n->size < comm->size) MPI_Comm_split(comm->impl->ranks, n->rank, comm->rank, &n->across);
}

struct mf_node_reduce *mf_node_reduce_new(const struct mf_comm *comm)
{
    struct mf_node_reduce *n;
    struct mf_share *share = NULL;
    size_t piece = NODE_BYTES / 2 / (size_t)comm->local_size / LINE * LINE;

    if (piece > MOST_PIECE && comm->local_size == comm->size) piece = MOST_PIECE; /* each crosses a network otherwise */
    if (comm->size < 2 || !is_even(comm) || piece < LEAST_PIECE) return NULL;
    mf_share_new(comm, sizeof(struct flags) + 2 * piece, &share);
    if (!share) return NULL;
    n = MF_MUST(malloc(sizeof *n), "sums in shared memory");
    *n = (struct mf_node_reduce){.share = share, .rank = comm->local_rank, .size = comm->local_size, .piece = piece};
    meet_others(n, comm);
    n->pauses = mf_wait_pauses(comm);
    return n;
}

void mf_node_reduce_free(struct mf_node_reduce *reduce)
{
    if (!reduce) return;
    if (reduce->across != MPI_COMM_NULL) MPI_Comm_free(&reduce->across);
    mf_node_reduce_drop(reduce);
}

void mf_node_reduce_drop(struct mf_node_reduce *reduce)
{
    if (!reduce) return;
    mf_share_free(reduce->share);
    free(reduce->at);
    free(reduce);
}

int mf_node_reduce_wants(const struct mf_node_reduce *reduce, size_t bytes)
{
    if (!reduce) return 0;
    return bytes >= LEAST_SUM || (reduce->size <= FEW && reduce->across == MPI_COMM_NULL);
}

static struct flags *flags_of(const struct mf_node_reduce *n, int rank) { return (struct flags *)(void *)n->at[rank]; }

/* The half of the piece that is at work. */
static char *half(const struct mf_node_reduce *n, int rank)
{
    return n->at[rank] + sizeof(struct flags) + (n->round & 1) * n->piece;
}

/* Until @p flag is at the turn. Where ranks are more than cores, whom it waits for may need this one. */
static void await(const struct mf_node_reduce *n, _Atomic uint64_t *flag)
{
    for (long turn = 0; atomic_load_explicit(flag, memory_order_acquire) < n->round; ++turn)
        mf_wait_turn(turn, n->pauses);
}

/* One of the two may be the sum itself. */
#define ADD(name, type)                                                                        \
    static void name(void *sum, const void *one, const void *other, size_t first, size_t last) \
    {                                                                                          \
        _Pragma("omp simd") for (size_t i = first; i < last; ++i)                              \
        {                                                                                      \
            ((type *)sum)[i] = ((const type *)one)[i] + ((const type *)other)[i];              \
        }                                                                                      \
    }
ADD(add_double, double)
ADD(add_float, float)
ADD(add_int, int64_t)

static const struct {
    size_t size;
    MPI_Datatype mpi;
    void (*add)(void *to, const void *one, const void *other, size_t first, size_t last);
} types[] = {
    [MF_REDUCE_DOUBLE] = {sizeof(double), MPI_DOUBLE, add_double},
    [MF_REDUCE_FLOAT] = {sizeof(float), MPI_FLOAT, add_float},
    [MF_REDUCE_INT] = {sizeof(int64_t), MPI_INT64_T, add_int},
};

/* First element of the part of @p n that @p rank adds up; on a cache line. */
static size_t part(const struct mf_node_reduce *reduce, int rank, size_t n, size_t size)
{
    size_t lines = (n * size + LINE - 1) / LINE, first = lines * (size_t)rank / (size_t)reduce->size * (LINE / size);

    return first < n ? first : n;
}

/* Replaces this rank's part by the sum of all ranks' numbers, added in rank order on a node. It writes to @p values
 * first, which no other rank's processor caches, and then to shared memory. */
static void add_part(const struct mf_node_reduce *reduce, enum mf_reduce_type type, size_t first, size_t last,
                     char *values)
{
    const size_t size = types[type].size;
    char *own = half(reduce, reduce->rank);
    const char *before = half(reduce, 0);

    for (int r = 1; r < reduce->rank; ++r, before = own) types[type].add(own, before, half(reduce, r), first, last);
    if (reduce->rank > 0) types[type].add(values, before, values, first, last);
    for (int r = reduce->rank + 1; r < reduce->size; ++r) types[type].add(values, values, half(reduce, r), first, last);
    if (reduce->across != MPI_COMM_NULL)
        MPI_Allreduce(MPI_IN_PLACE, values + first * size, (int)(last - first), types[type].mpi, MPI_SUM,
                      reduce->across);
    memcpy(own + first * size, values + first * size, (last - first) * size);
}

static void sum_piece(struct mf_node_reduce *reduce, enum mf_reduce_type type, size_t n, char *values)
{
    struct flags *own = flags_of(reduce, reduce->rank);
    const size_t size = types[type].size, first = part(reduce, reduce->rank, n, size),
                 last = part(reduce, reduce->rank + 1, n, size);

    ++reduce->round;
    memcpy(half(reduce, reduce->rank), values, first * size);
    memcpy(half(reduce, reduce->rank) + last * size, values + last * size, (n - last) * size);
    atomic_store_explicit(&own->put, reduce->round, memory_order_release);
    for (int r = 0; r < reduce->size; ++r) await(reduce, &flags_of(reduce, r)->put);
    add_part(reduce, type, first, last, values);
    atomic_store_explicit(&own->added, reduce->round, memory_order_release);
    for (int r = 0; r < reduce->size; ++r) {
        const size_t from = part(reduce, r, n, size) * size, to = part(reduce, r + 1, n, size) * size;

        if (r == reduce->rank) continue;
        await(reduce, &flags_of(reduce, r)->added);
        memcpy(values + from, half(reduce, r) + from, to - from);
    }
}

static void sum_note(struct mf_node_reduce *reduce, enum mf_reduce_type type, size_t n, void *values)
{
    struct note *own, *theirs;

    ++reduce->round;
    own = &flags_of(reduce, reduce->rank)->note[reduce->round & 1];
    memcpy(own->numbers, values, n * types[type].size);
    atomic_store_explicit(&own->put, reduce->round, memory_order_release);
    for (int r = 0; r < reduce->size; ++r) {
        theirs = &flags_of(reduce, r)->note[reduce->round & 1];
        await(reduce, &theirs->put);
        if (r == 0)
            memcpy(values, theirs->numbers, n * types[type].size);
        else
            types[type].add(values, values, theirs->numbers, 0, n);
    }
}

void mf_node_reduce_meet(struct mf_node_reduce *reduce)
{
    ++reduce->round;
    atomic_store_explicit(&flags_of(reduce, reduce->rank)->put, reduce->round, memory_order_release);
    for (int r = 0; r < reduce->size; ++r) await(reduce, &flags_of(reduce, r)->put);
}

void mf_node_reduce_sum(struct mf_node_reduce *reduce, enum mf_reduce_type type, size_t n, void *values)
{
    size_t size = types[type].size, most = reduce->piece / size, many;

    if (reduce->across == MPI_COMM_NULL && reduce->size <= FEW && n * size <= sizeof((struct note *)0)->numbers) {
        sum_note(reduce, type, n, values);
        return;
    }
    for (size_t i = 0; i < n; i += many) {
        many = n - i < most ? n - i : most;
        sum_piece(reduce, type, many, (char *)values + i * size);
        mf_comm_alive();
    }
}
