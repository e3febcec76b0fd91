/* See comm.h: numbers and bytes that every rank has for every other one. */
#include <stdlib.h>
#include <string.h>

#include "mpi/comm_priv.h"
#include "mpi/phases.h"
#include "src/base/err.h"

struct exchange {
    const struct mf_comm *comm;
    MPI_Request *request; /* [2 ranks] */
    int posted;
    size_t at; /* so much of every rank's bytes has gone before */
};

/* The next piece of what this rank gets from, or has for, every other one. Are there more behind them? */
static int post(struct exchange *t, int gets, char *bytes, const size_t *count)
{
    int more = 0;

    for (int r = 0; r < t->comm->size; bytes += count[r++]) {
        const int many = (int)mf_piece(count[r], t->at);
        MPI_Request *request = &t->request[t->posted];

        if (many == 0) continue;
        ++t->posted;
        more |= count[r] > t->at + (size_t)many;
        if (gets)
            MPI_Irecv(bytes + t->at, many, MPI_BYTE, r, 0, t->comm->impl->ranks, request);
        else
            MPI_Isend(bytes + t->at, many, MPI_BYTE, r, 0, t->comm->impl->ranks, request);
    }
    return more;
}

void mf_comm_alltoallv(const struct mf_comm *comm, const void *out, const size_t *sent, void *in, const size_t *got)
{
    struct exchange t = {.comm = comm};
    int more = 1;
    MF_PHASE(&mf_phase_exchange);

    if (!comm->impl) return;
    t.request = calloc(2 * (size_t)comm->size, sizeof(MPI_Request));
    if (!t.request) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d ranks", comm->size);
    for (int r = 0; r < comm->size; ++r) mf_phase_sent(sent[r]);
    mf_comm_enter(comm, "all-to-all of bytes", 0);
    for (; more; t.at += mf_comm_most) {
        t.posted = 0;
        more = post(&t, 1, in, got);
        more |= post(&t, 0, (char *)out, sent); /* MPI reads it alone */
        MPI_Waitall(t.posted, t.request, MPI_STATUSES_IGNORE);
    }
    mf_comm_leave(comm);
    free(t.request);
}

void mf_comm_alltoall(const struct mf_comm *comm, size_t n, const int64_t *out, int64_t *in)
{
    MF_PHASE(&mf_phase_exchange);

    if (!comm->impl) {
        if (n) memcpy(in, out, n * sizeof *in);
        return;
    }
    mf_comm_enter(comm, "all-to-all of numbers,", n);
    MPI_Alltoall(out, (int)n, MPI_INT64_T, in, (int)n, MPI_INT64_T, comm->impl->ranks);
    mf_comm_leave(comm);
}

void mf_comm_gather_int(const struct mf_comm *comm, size_t n, const int64_t *own, int64_t *all)
{
    MF_PHASE(&mf_phase_exchange);

    if (!comm->impl) {
        if (n) memcpy(all, own, n * sizeof *all);
        return;
    }
    mf_phase_sent(comm->size > 1 ? n * sizeof *own : 0);
    mf_comm_enter(comm, "all-gather of numbers,", n);
    MPI_Allgather(own, (int)n, MPI_INT64_T, all, (int)n, MPI_INT64_T, comm->impl->ranks);
    mf_comm_leave(comm);
}
