/* Reductions and copies between ranks, in pieces that MPI's int counts allow. MPI promises the same bits of an
 * all-reduce on every rank (MPI 3.1, 5.9.6). */
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/comm.h"
#include "mpi/comm_priv.h"
#include "mpi/phases.h"
#include "src/base/err.h"
#include "src/base/room.h"

size_t mf_comm_most = (size_t)1 << 30;

/* Kinds of reductions, for MPI and for memory that the ranks share. */
static const struct kind {
    MPI_Datatype type;
    size_t size;
    enum mf_reduce_type reduce;
} doubles = {MPI_DOUBLE, sizeof(double), MF_REDUCE_DOUBLE}, floats = {MPI_FLOAT, sizeof(float), MF_REDUCE_FLOAT},
  integers = {MPI_INT64_T, sizeof(int64_t), MF_REDUCE_INT};

static void by_mpi(const struct mf_comm *comm, size_t n, char *values, const struct kind *kind, MPI_Op op)
{
    size_t many;

    for (size_t i = 0; i < n; i += many) {
        many = mf_piece(n, i);
        MPI_Allreduce(MPI_IN_PLACE, values + i * kind->size, (int)many, kind->type, op, comm->impl->ranks);
        mf_comm_alive();
    }
}

static void reduce(const struct mf_comm *comm, const char *name, size_t n, void *values, const struct kind *kind,
                   MPI_Op op)
{
    if (!comm->impl) return;
    MF_PHASE(&mf_phase_reduction);

    mf_phase_sent(comm->size > 1 ? n * kind->size : 0);
    mf_comm_enter(comm, name, n);
    if (op == MPI_SUM && mf_node_reduce_wants(comm->impl->node_reduce, n * kind->size))
        mf_node_reduce_sum(comm->impl->node_reduce, kind->reduce, n, values);
    else
        by_mpi(comm, n, values, kind, op);
    mf_comm_leave(comm);
}

void mf_comm_sum(const struct mf_comm *comm, size_t n, double *values)
{
    reduce(comm, "sum of", n, values, &doubles, MPI_SUM);
}

void mf_comm_sum_float(const struct mf_comm *comm, size_t n, float *values)
{
    reduce(comm, "sum of floats,", n, values, &floats, MPI_SUM);
}

void mf_comm_sum_int(const struct mf_comm *comm, size_t n, int64_t *values)
{
    reduce(comm, "sum of integers,", n, values, &integers, MPI_SUM);
}

void mf_comm_max(const struct mf_comm *comm, size_t n, double *values)
{
    reduce(comm, "maximum of", n, values, &doubles, MPI_MAX);
}

void mf_comm_max_int(const struct mf_comm *comm, size_t n, int64_t *values)
{
    reduce(comm, "maximum of integers,", n, values, &integers, MPI_MAX);
}

static void bcast(const struct mf_comm *comm, int root, void *data, size_t bytes)
{
    size_t many;
    MF_PHASE(&mf_phase_messages);

    mf_phase_sent(comm->size > 1 && comm->rank == root ? bytes : 0);
    for (size_t at = 0; at < bytes; at += many) {
        many = mf_piece(bytes, at);
        MPI_Bcast((char *)data + at, (int)many, MPI_BYTE, root, comm->impl->ranks);
        mf_comm_alive();
    }
}

void mf_comm_bcast(const struct mf_comm *comm, int root, void *data, size_t bytes)
{
    if (!comm->impl) return;
    mf_comm_enter(comm, "broadcast of bytes,", bytes);
    bcast(comm, root, data, bytes);
    mf_comm_leave(comm);
}

char *mf_comm_text(const struct mf_comm *comm, const char *text)
{
    uint64_t bytes = comm->rank == 0 && text ? strlen(text) + 1 : 1;
    char *copy;

    mf_comm_bcast(comm, 0, &bytes, sizeof bytes);
    copy = MF_MUST(calloc(1, bytes), "a text of rank 0");
    if (comm->rank == 0 && text) memcpy(copy, text, bytes);
    mf_comm_bcast(comm, 0, copy, bytes);
    return copy;
}

void mf_comm_barrier(const struct mf_comm *comm)
{
    if (!comm->impl) return;
    MF_PHASE(&mf_phase_messages);

    mf_comm_enter(comm, "barrier", 0);
    MPI_Barrier(comm->impl->ranks);
    mf_comm_leave(comm);
}

void mf_comm_meet(const struct mf_comm *comm)
{
    MF_PHASE(&mf_phase_waiting);

    mf_comm_enter(comm, "meet", 0);
    atomic_thread_fence(memory_order_seq_cst);
    if (comm->impl->node_reduce)
        mf_node_reduce_meet(comm->impl->node_reduce);
    else
        MPI_Barrier(comm->impl->node);
    atomic_thread_fence(memory_order_seq_cst);
    mf_comm_leave(comm);
}

/* offset[0..size] of everybody's bytes. */
static void offsets(const struct mf_comm *comm, size_t bytes, size_t *offset)
{
    uint64_t mine = bytes;

    _Static_assert(sizeof(size_t) == sizeof(uint64_t), "sizes travel as 64 bit");
    offset[0] = 0;
    offset[1] = bytes;
    if (!comm->impl) return;
    MPI_Allgather(&mine, 1, MPI_UINT64_T, offset + 1, 1, MPI_UINT64_T, comm->impl->ranks);
    for (int r = 0; r < comm->size; ++r) offset[r + 1] += offset[r];
}

/* Everybody's bytes in one call, or, where MPI's int offsets end, rank by rank. @p counts: room for 2 a rank. */
static void bring(const struct mf_comm *comm, char *to, const size_t *offset, int *counts)
{
    const size_t ranks = (size_t)comm->size;

    if (!comm->impl) return;
    if (offset[ranks] > mf_comm_most) {
        for (int r = 0; r < comm->size; ++r) bcast(comm, r, to + offset[r], offset[r + 1] - offset[r]);
        return;
    }
    for (size_t r = 0; r < ranks; ++r) {
        counts[r] = (int)(offset[r + 1] - offset[r]);
        counts[ranks + r] = (int)offset[r];
    }
    mf_phase_sent(ranks > 1 ? (size_t)counts[comm->rank] : 0);
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, to, counts, counts + ranks, MPI_BYTE, comm->impl->ranks);
    mf_comm_alive();
}

static int gather(const struct mf_comm *comm, const void *mine, size_t bytes, void **all, size_t *offset)
{
    char *to;
    int rc, *counts = malloc(2 * (size_t)comm->size * sizeof *counts);

    offsets(comm, bytes, offset);
    to = mf_room(offset[comm->size], 1, "what ranks gather");
    rc = mf_agree(comm, to && counts ? MF_OK : MF_MEMORY);
    if (rc != MF_OK) {
        free(to);
        free(counts);
        return rc;
    }
    if (bytes) memcpy(to + offset[comm->rank], mine, bytes);
    bring(comm, to, offset, counts);
    free(counts);
    *all = to;
    return MF_OK;
}

int mf_comm_gather(const struct mf_comm *comm, const void *mine, size_t bytes, void **all, size_t *offset)
{
    size_t *own = offset ? NULL : MF_MUST(calloc((size_t)comm->size + 1, sizeof *own), "offsets");
    int rc;
    MF_PHASE(&mf_phase_messages);

    mf_comm_enter(comm, "gather", 0);
    rc = gather(comm, mine, bytes, all, offset ? offset : own);
    mf_comm_leave(comm);
    free(own);
    return rc;
}

void mf_comm_share(const struct mf_comm *comm, void *data, const size_t *offset)
{
    int *counts;

    if (!comm->impl) return;
    MF_PHASE(&mf_phase_messages);

    counts = MF_MUST(malloc(2 * (size_t)comm->size * sizeof *counts), "offsets");
    mf_comm_enter(comm, "share of bytes,", offset[comm->size]);
    bring(comm, data, offset, counts);
    mf_comm_leave(comm);
    free(counts);
}
