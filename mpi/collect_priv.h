/* Shared by collect.c and collect_chunk.c.
 *
 * Ranks that follow each other on one node form a team; they see each other's arrays. Teams form a chain. An array is
 * worked on in chunks. In each team one rank has a chunk. The sum of the teams before comes to it as a message. It adds
 * the team's numbers, and sends the sum on. The last team has the whole sum, and sends it back to all teams. With
 * several teams, chunk i belongs to rank i modulo the team's size. In a single team any rank takes the next one.
 */
#ifndef MF_MPI_COLLECT_PRIV_H
#define MF_MPI_COLLECT_PRIV_H

#include <stdatomic.h>

#include "mpi/collect.h"
#include "mpi/comm_priv.h"
#include "mpi/share.h"

enum {
    MF_COLLECT_MOST = 128, /* exchanges under way */
    MF_COLLECT_WINDOW = 8, /* chunks that a rank works on at a time */
    MF_COLLECT_TRADES = 4  /* trades under way */
};

/** Counts of an exchange in the memory of its team's first rank. The upper 40 bits are its number, so that a later
 * exchange finds no trace of an earlier one. */
struct mf_collect_counts {
    _Alignas(64) _Atomic uint64_t taken;
    _Alignas(64) _Atomic uint64_t done; /* chunks */
};

/** In front of each rank's arrays. */
struct mf_collect_head {
    _Alignas(64) _Atomic uint64_t started; /* number of the last exchange */
    struct mf_collect_counts counts[MF_COLLECT_MOST];
};

/** A trade under way: a message to every rank and one from it. There are more where MPI cannot count as many bytes. */
struct mf_trading {
    struct mf_collective what; /* its counts are these: */
    size_t *sent, *got;        /* [ranks] */
    size_t *sent_at, *got_at;  /* [ranks] where blocks begin */
    uint64_t number;           /* of the exchange */
    size_t at;                 /* bytes of every block that have gone before */
    int more;                  /* behind the messages that are under way */
    MPI_Request *request;      /* [2 ranks]; NULL: there is only one rank */
};

struct mf_exchange {
    enum mf_exchange_kind kind;
    enum mf_type type;
    size_t first, n;            /* bytes from the beginning of the memory; numbers of the array */
    uint64_t each, chunks;      /* of each rank's piece; in all */
    uint64_t before;            /* chunks of all exchanges before */
    uint64_t mine;              /* this rank has taken so many */
    struct mf_trading *trading; /* NULL: it is no trade, or over */
};

/** A chunk that this rank works on. */
struct mf_chunk {
    const struct mf_exchange *exchange; /* NULL: none */
    uint64_t number, index;             /* of the exchange; of the chunk in it */
    int owner;                          /* whose piece it is in */
    size_t first, n;                    /* bytes from the beginning of the memory; numbers */
    void (*next)(struct mf_collect *collect, struct mf_chunk *chunk); /* once all requests are over */
    float *before;                                                    /* [most] the sum up to this team */
    MPI_Request *request;                                             /* [teams] */
    int requests;
};

struct mf_collect {
    const struct mf_comm *comm;
    struct mf_arena *arena;
    const struct mf_collect *of; /* whose arrays these are; NULL: they are its own */
    struct mf_share *share;      /* NULL: the memory is the arena's */
    size_t booked;               /* bytes of it, where it is shared */
    char *own;                   /* this rank's memory, with its head */
    size_t room;                 /* bytes in it */

    int teams, team;               /* how many; this rank's */
    int *begin;                    /* [teams + 1] first rank of each */
    int size, place;               /* of this team; of this rank in it */
    struct mf_collect_head **head; /* [size] */
    char **array;                  /* [size] memory of arrays */

    uint64_t started, finished; /* numbers of the last; all up to there are finished */
    uint64_t ready;             /* the team has started all up to there */
    uint64_t polled, emptied;   /* up to there: this rank's share is taken; all chunks are taken */
    size_t most;                /* numbers of a chunk */
    long pauses;
    struct mf_exchange exchange[MF_COLLECT_MOST];
    struct mf_chunk chunk[MF_COLLECT_WINDOW];
    float *before;        /* [MF_COLLECT_WINDOW] [most]; NULL: there is one team */
    MPI_Request *request; /* [MF_COLLECT_WINDOW] [teams] of all chunks; MPI_REQUEST_NULL: none */
    int *ended;           /* [MF_COLLECT_WINDOW] [teams] what MPI says of them */
    int pending;          /* requests that are not over */
    struct mf_trading trading[MF_COLLECT_TRADES];
    uint64_t trades; /* started */
};

/** Where blocks of @p count [ranks] begin: as @p given says; NULL: one behind the other. */
static inline void mf_blocks_at(int ranks, const size_t *given, const size_t *count, size_t *at)
{
    size_t sum = 0;

    for (int r = 0; r < ranks; sum += count[r++]) at[r] = given ? given[r] : sum;
}

static inline struct mf_exchange *mf_exchange_at(struct mf_collect *c, uint64_t number)
{
    return &c->exchange[number % MF_COLLECT_MOST];
}

static inline struct mf_collect_counts *mf_collect_counts_at(struct mf_collect *c, uint64_t number)
{
    return &c->head[0]->counts[number % MF_COLLECT_MOST];
}

/** The counter of exchange @p number after @p count. */
static inline uint64_t mf_collect_word(uint64_t number, uint64_t count) { return number << 24 | count; }

/** The count in a counter that is exchange @p number's, or an earlier one's. */
static inline uint64_t mf_collect_count(uint64_t word, uint64_t number)
{
    return word >> 24 < number ? 0 : word & 0xffffff;
}

/** Works on the chunks that this rank has, and begins others. @p shared: of each exchange this rank's share only.
 * Returns whether there was anything to do. */
int mf_collect_work(struct mf_collect *collect, int shared);

/* -- collect_trade.c -- */

/** Room for trades, and its end. */
void mf_collect_trades_open(struct mf_collect *collect);
void mf_collect_trades_close(struct mf_collect *collect);

/** Begins exchange @p number in @p trading, which is free. */
void mf_collect_trade(struct mf_collect *collect, uint64_t number, const struct mf_collective *what,
                      struct mf_trading *trading);

/** Drives the trades under way. Returns whether there was anything to do. */
int mf_collect_trades_work(struct mf_collect *collect);

#endif
