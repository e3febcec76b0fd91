/* See collect_priv.h: trades, by a message from each rank to each other one. A rank copies its own block. */
#include <stdlib.h>
#include <string.h>

#include "mpi/collect_priv.h"
#include "mpi/phases.h"
#include "src/base/err.h"

enum { FIRST_TAG = 32100 /* behind those of chunks */ };

void mf_collect_trades_open(struct mf_collect *c)
{
    const size_t ranks = (size_t)c->comm->size;

    for (int i = 0; i < MF_COLLECT_TRADES; ++i) {
        struct mf_trading *t = &c->trading[i];

        t->sent = MF_MUST(malloc(4 * ranks * sizeof *t->sent), "counts of an all-to-all");
        t->got = t->sent + ranks;
        t->sent_at = t->got + ranks;
        t->got_at = t->sent_at + ranks;
        t->request = MF_MUST(malloc(2 * ranks * sizeof *t->request), "messages");
    }
}

void mf_collect_trades_close(struct mf_collect *c)
{
    for (int i = 0; i < MF_COLLECT_TRADES; ++i) {
        free(c->trading[i].sent);
        free(c->trading[i].request);
    }
}

static size_t bytes_of(const struct mf_trading *t, size_t n) { return n * mf_type_bytes(t->what.type); }

/* The next message of every block, all that are to come before any that go. */
static void post(struct mf_collect *c, struct mf_trading *t)
{
    const int ranks = c->comm->size, tag = FIRST_TAG + (int)(t - c->trading);

    t->more = 0;
    for (int k = 0; k < 2 * ranks; ++k) {
        const int r = k % ranks, sends = k >= ranks;
        const char *from = (const char *)t->what.from + bytes_of(t, t->sent_at[r]) + t->at;
        char *to = (char *)t->what.array + bytes_of(t, t->got_at[r]) + t->at;
        const size_t all = bytes_of(t, sends ? t->sent[r] : t->got[r]);
        const int bytes = r == c->comm->rank ? 0 : (int)mf_piece(all, t->at);

        t->request[k] = MPI_REQUEST_NULL;
        t->more |= bytes > 0 && all > t->at + (size_t)bytes;
        if (bytes > 0 && sends)
            MPI_Isend(from, bytes, MPI_BYTE, r, tag, c->comm->impl->ranks, &t->request[k]);
        else if (bytes > 0)
            MPI_Irecv(to, bytes, MPI_BYTE, r, tag, c->comm->impl->ranks, &t->request[k]);
    }
    t->at += mf_comm_most;
}

static void copy_own(const struct mf_collect *c, const struct mf_trading *t)
{
    const int rank = c->comm->rank;
    const size_t n = t->sent[rank];

    MF_ASSERT(n == t->got[rank]);
    if (n)
        memcpy((char *)t->what.array + bytes_of(t, t->got_at[rank]),
               (const char *)t->what.from + bytes_of(t, t->sent_at[rank]), bytes_of(t, n));
}

void mf_collect_trade(struct mf_collect *c, uint64_t number, const struct mf_collective *what,
                      struct mf_trading *trading)
{
    const size_t ranks = (size_t)c->comm->size;

    trading->what = *what;
    trading->number = number;
    trading->at = 0;
    memcpy(trading->sent, what->sent, ranks * sizeof *what->sent);
    memcpy(trading->got, what->got, ranks * sizeof *what->got);
    mf_blocks_at(c->comm->size, what->sent_at, what->sent, trading->sent_at);
    mf_blocks_at(c->comm->size, what->got_at, what->got, trading->got_at);
    copy_own(c, trading);
    if (!c->teams) return;
    for (size_t r = 0; r < ranks; ++r)
        if (r != (size_t)c->comm->rank) mf_phase_sent(bytes_of(trading, what->sent[r]));
    mf_exchange_at(c, number)->trading = trading;
    post(c, trading);
}

int mf_collect_trades_work(struct mf_collect *c)
{
    int steps = 0;

    for (int i = 0; i < MF_COLLECT_TRADES; ++i) {
        struct mf_trading *t = &c->trading[i];
        int over = 0;

        if (t->number <= c->finished || !mf_exchange_at(c, t->number)->trading) continue;
        MPI_Testall(2 * c->comm->size, t->request, &over, MPI_STATUSES_IGNORE);
        steps += over;
        if (over && t->more)
            post(c, t);
        else if (over)
            mf_exchange_at(c, t->number)->trading = NULL;
    }
    return steps;
}
