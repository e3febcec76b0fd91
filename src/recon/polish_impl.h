/* The state of a polish, and the residuals of all slices that it recomputes before every round. Annealing uses the same
 * state. Private to both. */
#ifndef MF_RECON_POLISH_IMPL_H
#define MF_RECON_POLISH_IMPL_H

#include "src/recon/candidates.h"
#include "src/recon/swap.h"

/* A site with its rank, and its index before sorting. */
struct mf_ranked {
    struct mf_site site;
    size_t place;
};

/* State that lives as long as the polish. */
struct mf_polish_work {
    struct mf_polish *polish;
    struct mf_objective *objective;
    struct mf_swap swap;
    size_t s2_term, v_term; /* indices of terms in the objective; opts.terms if absent */
    size_t levels[MF_SIDES];
    size_t lag, most;                  /* most sites of one kind of move */
    float *s2[MF_SIDES], *v[MF_SIDES]; /* values that kernels capture: [fields][slices][levels][entries] */
    struct mf_candidates candidates;
    double *mean_error[MF_SIDES]; /* [fields][entries]: the mean slice's error at the last refresh */
    double *applied[MF_SIDES];    /* the same, as corrected by the last refresh */
    struct mf_site *found;        /* [most]: this rank's */
    uint32_t *bits;               /* [most][sides][planes][n]: this rank's windows */
    struct mf_change *change;     /* [sites]: changes of this rank's labels in a round */
    size_t *begin;                /* [kinds of moves + 1]: where a kind's sites begin */
    uint32_t *order;              /* [2 most]: sites of a kind and of its opposite, sorted by energy */
    struct mf_ranked *ranked;     /* [most]: one kind of moves, for sorting */
    double loss;
    double moved[MF_PROPERTIES]; /* changes of properties that the round's swaps predict */
    int failed;                  /* code of the last refresh */
    double predicted;            /* change of the loss that the round's swaps predict */
    long limit;                  /* most swaps of a kind in a round */
    size_t booked;               /* bytes that the exchange of sites uses for a short time */
};

/** Takes everything a polish needs. Collective; refuses (agreed); mf_polish_close() accepts an incomplete one. */
int mf_polish_open(struct mf_polish_work *work);
void mf_polish_close(struct mf_polish_work *work);

/** Sets the errors of mean slices; NULL: zero. */
void mf_polish_set_mean_error(struct mf_polish_work *work, double *const mean_error[MF_SIDES]);

/**
 * w->failed: MF_OK, or the code (agreed) of the solves for properties. Recomputes, at the current binary field: the
 * gradient (if not plain), the residual windows and V of all slices on all ranks, the loss that the polish lowers, and
 * the mean slices' errors, which the next refresh corrects. Collective.
 */
void mf_polish_refresh(struct mf_polish_work *work);

#endif
