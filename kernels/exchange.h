/* Exchanges of arrays among ranks, as nodes of a list start and end them. Who is behind the table, and on which ranks,
 * the caller does not know (mpi/arrays.h).
 *
 * Rule: all ranks of a group start the same exchanges, and finish the same, in the same order; where one sends, the
 * other receives. No rank touches an array between start and finish. */
#ifndef MF_KERNELS_EXCHANGE_H
#define MF_KERNELS_EXCHANGE_H

#include <stddef.h>
#include <stdint.h>

#include "src/base/type.h"

/** A rank's piece of an array is one of as many nearly equal pieces as there are ranks (mf_collect_piece()). */
enum mf_exchange_kind {
    MF_EXCHANGE_SUM,     /* all-reduce: the sum over ranks reaches all of them */
    MF_EXCHANGE_SCATTER, /* reduce-scatter: the own piece holds the sum, the rest is undefined */
    MF_EXCHANGE_GATHER,  /* all-gather: the own piece reaches all */
    MF_EXCHANGE_TRADE,   /* all-to-all-v: every rank has other numbers for each, and as many as it likes */
    MF_EXCHANGE_SEND,    /* in a group of two ranks: the array goes to the other one, */
    MF_EXCHANGE_RECEIVE  /* which receives as many numbers */
};

/** Groups of ranks are numbers; a table knows their ranks (mpi/rank_groups.h). Numbers from MF_GROUP_OTHERS on are for
 * everybody. */
enum {
    MF_GROUP_ALL,
    MF_GROUP_EXPERTS,  /* ranks that share the experts of a layer */
    MF_GROUP_REPLICAS, /* ranks that have the same experts, or the same part of every layer */
    MF_GROUP_TENSOR,   /* ranks that share every layer */
    MF_GROUP_OTHERS
};

/** The number of the group of two stages of a pipeline, which may be as large as this allows. */
enum { MF_STAGES = 256 };
static inline int mf_link_group(int a, int b)
{
    const int low = a < b ? a : b, high = a < b ? b : a;

    return MF_GROUP_OTHERS + high * (high - 1) / 2 + low;
}

/** One exchange. Sums are of f32, f16 or bf16; they are computed in f32 and rounded once. */
struct mf_collective {
    enum mf_exchange_kind kind;
    int group; /* its ranks are meant below */
    enum mf_type type;
    void *array; /* [n] device memory; a trade writes there what the ranks send */
    size_t n;    /* not of a trade */
    /* a trade; all counts are read at the call: */
    const void *from;      /* a block of numbers for each rank, in device memory */
    const size_t *sent;    /* [ranks] numbers of each block */
    const size_t *got;     /* [ranks] numbers that come from each; 0 is allowed, also from all */
    const size_t *sent_at; /* [ranks] where each block begins in from [numbers]; NULL: one behind the other */
    const size_t *got_at;  /* [ranks] the same in array */
};

/** Who executes exchanges. */
struct mf_exchanges {
    void *context;
    /** Starts an exchange behind the work that the queue holds. Returns its number, from 1 on. */
    uint64_t (*start)(void *context, const struct mf_collective *what);
    /** Work that is enqueued from now on comes after exchange @p number and all earlier ones of its group. */
    void (*finish)(void *context, uint64_t number);
    /** Drives what has started, where the host does the work. Called after every node. */
    void (*poll)(void *context);
    /** The host waits for all finished exchanges, and for the work before them. A rank that fails does not hold it. */
    void (*settle)(void *context);
    /** The ranks of a group tell each other @p n numbers: @p all [ranks][n] has those of all. The host waits. */
    void (*tell)(void *context, int group, size_t n, const int64_t *own, int64_t *all);
};

#endif
