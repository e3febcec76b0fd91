/* Shared by arrays.c, arrays_nccl.c and arrays_staged.c. */
#ifndef MF_MPI_ARRAYS_PRIV_H
#define MF_MPI_ARRAYS_PRIV_H

#include "mpi/arrays.h"
#include "mpi/collect.h"

enum { MF_ARRAYS_MOST = 128 /* exchanges whose copies are told apart */, MF_ARRAYS_STAGES = 4 };

/** An array on its way through host memory. */
struct mf_stage_of_array {
    struct mf_collective what; /* its counts are these: */
    size_t *sent, *got;        /* [ranks] */
    size_t *sent_at, *got_at;  /* [ranks] where blocks begin, in device memory */
    uint64_t number;           /* of the exchange; 0: none yet */
    size_t *down, *up;         /* [ranks] numbers of its copies, one for each block of a trade, else one; 0: none */
    char *at;                  /* host memory [largest]; of a trade: what is sent, then what is got */
};

struct mf_arrays {
    const struct mf_comm *comm;
    struct mf_queue *queue;
    struct mf_exchanges table;                /* of all groups */
    struct mf_exchanges way;                  /* of this group: one of three */
    int groups;                               /* numbers below it may be joined */
    struct mf_arrays **group;                 /* [groups] the first is this; NULL: not joined */
    void *memory;                             /* device memory; NULL: it is collect's, or another group's */
    struct mf_collect *collect;               /* NULL: NCCL */
    uint64_t started;                         /* number of the last exchange */
    void (*launch)(struct mf_arrays *arrays); /* begins what has started, where the host does so later; NULL */
    /* by NCCL: */
    uint64_t finished, settled;  /* numbers of the last that the queue, and the host, has waited for */
    size_t side[MF_ARRAYS_MOST]; /* what the queue calls the end of an exchange: the last one's of these numbers */
    /* through host memory, where collect gives the same numbers: */
    size_t largest;
    uint64_t launched, landed; /* numbers of the last that the host exchanges; that is copied back */
    struct mf_stage_of_array stage[MF_ARRAYS_STAGES];
};

/** Two of the three ways; arrays.c has the third. */
void mf_arrays_by_nccl(struct mf_arrays *arrays);
int mf_arrays_open_stages(struct mf_arrays *arrays, size_t largest);
void mf_arrays_close_stages(struct mf_arrays *arrays);

/** Bytes of host memory of all stages. */
size_t mf_arrays_stages(size_t largest);

#endif
