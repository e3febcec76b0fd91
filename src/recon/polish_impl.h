/* The state of a polish, and the residuals of all slices that it recomputes before every round. Annealing uses the same
 * state. Private to both. */
#ifndef MF_RECON_POLISH_IMPL_H
#define MF_RECON_POLISH_IMPL_H

#include "src/recon/candidates.h"
#include "src/recon/swap.h"

/* A site that is ranked, and its place before. */
struct mf_ranked {
    struct mf_site site;
    size_t place;
};

/* What lives as long as the polish. */
struct mf_polish_work {
    struct mf_polish *polish;
    struct mf_objective *objective;
    struct mf_swap swap;
    size_t s2_term, v_term; /* of the objective; its terms when absent */
    size_t levels[MF_SIDES];
    size_t lag, most;                  /* most sites of one kind of move */
    float *s2[MF_SIDES], *v[MF_SIDES]; /* captured by kernels: [fields][slices][levels][entries] */
    struct mf_candidates candidates;
    double *miss[MF_SIDES];   /* [fields][entries]: what the mean slice misses, as the last refresh saw it */
    double *led[MF_SIDES];    /* the same as it led the last refresh */
    struct mf_site *found;    /* [most]: this rank's */
    uint32_t *bits;           /* [most][sides][planes][n]: this rank's windows */
    struct mf_change *change; /* [sites]: what a round does to this rank's labels */
    size_t *begin;            /* [kinds of moves + 1]: where a kind's sites begin */
    uint32_t *order;          /* [2 most]: sites of a kind and of its opposite, the best first */
    struct mf_ranked *ranked; /* [most]: a kind of moves while it is sorted */
    double loss;
    double predicted; /* change of the loss that the round's swaps promise */
    long limit;       /* most swaps of a kind in a round */
    size_t booked;    /* bytes that the exchange of sites has in use for a moment */
};

/** Takes everything a polish needs. Collective; refuses (agreed); mf_polish_close() accepts half a one. */
int mf_polish_open(struct mf_polish_work *work);
void mf_polish_close(struct mf_polish_work *work);

/** Sets what mean slices missed; NULL: nothing. */
void mf_polish_set_miss(struct mf_polish_work *work, double *const miss[MF_SIDES]);

/**
 * At the binary field as it is now: its gradient (of polishes that are not plain), the residual windows and V of all
 * slices on all ranks, the loss that the polish lowers, and what mean slices miss (which leads the next refresh).
 * Collective.
 */
void mf_polish_refresh(struct mf_polish_work *work);

#endif
