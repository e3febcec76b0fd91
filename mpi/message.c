/* See comm.h: bytes from one rank to another, in pieces that MPI's int counts allow. */
#include <stdlib.h>
#include <string.h>

#include "mpi/comm_priv.h"
#include "mpi/phases.h"
#include "src/base/bounds.h"
#include "src/base/err.h"

enum { TAG = 1 /* exchanges have 0 */ };

/* Waits, and tells the watch for which rank. */
static void await(const struct mf_comm *comm, int peer, int sends, MPI_Request *request)
{
    if (peer == MF_NO_RANK) return;
    mf_message_enter(comm, peer, sends);
    MPI_Waitall(1, request, MPI_STATUSES_IGNORE);
    mf_message_leave();
}

/* Starts both directions before it waits for either. A message of 0 bytes is a message too. */
static void exchange(const struct mf_comm *comm, int to, const char *out, size_t sent, int from, char *in, size_t got)
{
    MPI_Request receives = MPI_REQUEST_NULL, sends = MPI_REQUEST_NULL;

    if (from != MF_NO_RANK) MPI_Irecv(in, (int)got, MPI_BYTE, from, TAG, comm->impl->ranks, &receives);
    if (to != MF_NO_RANK) MPI_Isend(out, (int)sent, MPI_BYTE, to, TAG, comm->impl->ranks, &sends);
    await(comm, from, 0, &receives);
    await(comm, to, 1, &sends);
}

static void to_myself(const void *out, size_t sent, void *in, size_t got)
{
    MF_ASSERT(sent == got);
    if (got) memmove(in, out, got);
}

void mf_comm_send_receive(const struct mf_comm *comm, int to, const void *out, size_t sent, int from, void *in,
                          size_t got)
{
    size_t at = 0;

    MF_ASSERT(to < comm->size && from < comm->size);
    MF_PHASE(&mf_phase_messages);
    if (to == MF_NO_RANK) sent = 0;
    if (from == MF_NO_RANK) got = 0;
    if (comm->size == 1) to_myself(out, sent, in, got);
    if (!comm->impl || comm->size == 1) return;
    mf_phase_sent(to == comm->rank ? 0 : sent);
    do {
        const int goes = at == 0 || at < sent, comes = at == 0 || at < got;

        exchange(comm, goes ? to : MF_NO_RANK, (const char *)out + (goes ? at : 0), mf_piece(sent, at),
                 comes ? from : MF_NO_RANK, (char *)in + (comes ? at : 0), mf_piece(got, at));
        at += mf_comm_most;
    } while (at < sent || at < got);
}

void mf_comm_send(const struct mf_comm *comm, int to, const void *data, size_t bytes)
{
    MF_ASSERT(to != comm->rank);
    mf_comm_send_receive(comm, to, data, bytes, MF_NO_RANK, NULL, 0);
}

void mf_comm_receive(const struct mf_comm *comm, int from, void *data, size_t bytes)
{
    MF_ASSERT(from != comm->rank);
    mf_comm_send_receive(comm, MF_NO_RANK, NULL, 0, from, data, bytes);
}

/* -- messages that leave while their sender goes on -- */

struct mf_letter {
    const struct mf_comm *comm;
    int to, pieces;
    MPI_Request *request; /* [pieces] */
    char *data;
};

struct mf_letter *mf_comm_begin_send(const struct mf_comm *comm, int to, const void *data, size_t bytes)
{
    const size_t pieces = mf_max((bytes + mf_comm_most - 1) / mf_comm_most, 1);
    struct mf_letter *letter = MF_MUST(calloc(1, sizeof *letter), "a message");

    MF_ASSERT(comm->impl && to != comm->rank && to >= 0 && to < comm->size);
    letter->comm = comm;
    letter->to = to;
    letter->pieces = (int)pieces;
    letter->request = MF_MUST(malloc(pieces * sizeof *letter->request), "a message");
    letter->data = MF_MUST(malloc(bytes + 1), "a message");
    if (bytes) memcpy(letter->data, data, bytes);
    mf_phase_sent(bytes);
    for (size_t k = 0; k < pieces; ++k)
        MPI_Isend(letter->data + k * mf_comm_most, (int)mf_piece(bytes, k * mf_comm_most), MPI_BYTE, to, TAG,
                  comm->impl->ranks, &letter->request[k]);
    return letter;
}

void mf_comm_sent(struct mf_letter *letter)
{
    if (!letter) return;
    mf_message_enter(letter->comm, letter->to, 1);
    MPI_Waitall(letter->pieces, letter->request, MPI_STATUSES_IGNORE);
    mf_message_leave();
    free(letter->request);
    free(letter->data);
    free(letter);
}
