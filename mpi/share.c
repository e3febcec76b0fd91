/* See share.h: every rank makes a card and opens those of its node. */
#include "mpi/share.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "mpi/comm_priv.h"
#include "src/base/err.h"
#include "src/base/resident.h"

static struct mf_share *half_built(int size)
{
    struct mf_share *s = calloc(1, sizeof *s);

    if (s) s->at = calloc((size_t)size, sizeof *s->at);
    if (s) s->bytes = calloc((size_t)size, sizeof *s->bytes);
    if (!s || !s->at || !s->bytes) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d ranks", size);
    s->size = size;
    return s;
}

/* Who has it, and on which node: by the first rank there. Travels as 64-bit integers. */
struct seat {
    struct mf_card card;
    int64_t leader;
};

enum { SEAT_WORDS = sizeof(struct seat) / sizeof(int64_t) };

/* Bytes of it that other ranks of this node have made. */
static size_t others(struct mf_share *s, const struct mf_comm *comm, const struct seat *seats)
{
    for (int r = 0; r < s->size; ++r)
        if (r != comm->rank && seats[r].leader == comm->impl->leader && seats[r].card.descriptor >= 0)
            s->borrowed += (size_t)seats[r].card.bytes;
    return s->borrowed;
}

/* Opens the memory of all of this node; 0 when one cannot be opened. */
static int open_all(struct mf_share *s, const struct mf_comm *comm, const struct seat *seats)
{
    int all = 1;

    mf_resident_borrow((ptrdiff_t)others(s, comm, seats));
    for (int r = 0; r < s->size; ++r) {
        if (seats[r].leader != comm->impl->leader) continue;
        s->bytes[r] = (size_t)seats[r].card.bytes;
        s->at[r] = r == comm->rank ? s->own : mf_card_open(&seats[r].card);
        all = all && s->at[r];
    }
    return all;
}

int mf_share_wanted(const struct mf_comm *comm)
{
    const char *hook = getenv("MF_SHARE");

    return comm->size > 1 && !(hook && strcmp(hook, "0") == 0);
}

void mf_share_new(const struct mf_comm *comm, size_t bytes, struct mf_share **share)
{
    struct mf_share *s;
    struct seat mine = {.card.descriptor = -1}, *seats;
    int all;

    *share = NULL;
    if (!comm->impl) return;
    mf_comm_enter(comm, "share memory", 0);
    s = half_built(comm->size);
    seats = calloc((size_t)comm->size, sizeof *seats);
    if (!seats) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for %d ranks", comm->size);
    if (mf_share_wanted(comm) && !mf_fault("mpi.share")) mine.card = mf_card_new(bytes ? bytes : 1, &s->own);
    mine.leader = comm->impl->leader;
    MPI_Allgather(&mine, SEAT_WORDS, MPI_INT64_T, seats, SEAT_WORDS, MPI_INT64_T, comm->impl->ranks);
    all = open_all(s, comm, seats);
    MPI_Allreduce(MPI_IN_PLACE, &all, 1, MPI_INT, MPI_MIN, comm->impl->ranks);
    mf_comm_leave(comm);
    if (mine.card.descriptor >= 0) close((int)mine.card.descriptor); /* everybody has opened it, or never will */
    free(seats);
    if (all) {
        *share = s;
    } else {
        mf_share_free(s);
    }
}

void mf_share_free(struct mf_share *share)
{
    if (!share) return;
    for (int r = 0; r < share->size; ++r)
        if (share->at[r]) munmap(share->at[r], share->bytes[r]);
    mf_resident_borrow(-(ptrdiff_t)share->borrowed);
    free(share->at);
    free(share->bytes);
    free(share);
}
