/* Optimisers of a field that is cut into slabs: a projected limited-memory BFGS method and projected Adam. They know
 * neither ranks nor descriptors: a problem evaluates itself and adds up numbers over the planes of the whole volume. */
#ifndef MF_OPTIM_LBFGS_H
#define MF_OPTIM_LBFGS_H

#include "kernels/optim.h"

/** What is minimised. Both functions are called by all ranks alike. */
struct mf_problem {
    void *context;
    /** Loss at @p x and its gradient into @p g (overwritten; both device memory). May refuse (MF_NUMERIC when the loss
     * is not finite). */
    int (*evaluate)(void *context, float *x, float *g, double *loss);
    /**
     * Adds @p n values of every own plane, values [planes][n], over all planes of the volume in global order:
     * total [n]. The same bits on every rank and any number of ranks. Value @p largest (or -1) is a maximum instead.
     */
    void (*add)(void *context, size_t n, const double *values, int largest, double *total);
    /**
     * Called after every step, when the optimiser may be saved: true stops the run (agreed by all ranks), which can be
     * gone on with. May be NULL.
     */
    int (*stop)(void *context, long evaluations, double loss);
};

/** The vectors of one optimiser, each a slab of phases * planes * plane floats of device memory. */
struct mf_optimiser {
    const struct mf_backend *backend;
    struct mf_queue *queue;
    struct mf_extent extent;
    float *x, *g;         /* the point and its gradient: valid between runs */
    float *x_new, *g_new; /* the trial point; free scratch between runs */
    float *d;             /* direction; free scratch between runs */
    struct mf_history history;
    size_t history_max;                                                            /* pairs kept (m) */
    double sy[MF_HISTORY_MAX][MF_HISTORY_MAX], yy[MF_HISTORY_MAX][MF_HISTORY_MAX]; /* s_i.y_j, y_i.y_j */
    double *sums;     /* [own planes][2 + 3 MF_HISTORY_MAX], queue->host */
    double loss;      /* at x */
    double best;      /* Adam: least loss so far, at x_new */
    long evaluations; /* so far */
    long started;     /* Adam: evaluations before the run under way */
    long last;        /* where the run under way ends */
    int misses;       /* line searches in vain */
    int under_way;    /* a run was stopped: the next goes on with it */
};

enum { MF_OPTIMISER_VECTORS = 4 + 2 * MF_HISTORY_MAX, MF_OPTIMISER_NUMBERS = 7 + 2 * MF_HISTORY_MAX * MF_HISTORY_MAX };

/** All that the rest of a run under way depends on, in an order that does not change. */
struct mf_optimiser_state {
    size_t vectors;
    float *vector[MF_OPTIMISER_VECTORS]; /* the optimiser's own; each a slab, device */
    double number[MF_OPTIMISER_NUMBERS];
};

/** Takes the vectors: 5 + 2 @p history of them (Adam: history 1). Refuses with MF_MEMORY; free accepts half a one. */
int mf_optimiser_new(struct mf_optimiser *optimiser, const struct mf_backend *backend, struct mf_queue *queue,
                     struct mf_extent extent, size_t history);
void mf_optimiser_free(struct mf_optimiser *optimiser);

/** Gives back all vectors but x and g: what a stage after the descent needs no more. */
void mf_optimiser_trim(struct mf_optimiser *optimiser);

/** Names the vectors and copies the numbers. Not collective. */
void mf_optimiser_save(const struct mf_optimiser *optimiser, struct mf_optimiser_state *state);

/**
 * The other way, in two steps: with @p state->number filled, sets the optimiser's numbers and names the vectors that
 * the caller is to fill. Refuses with MF_INPUT what no optimiser with this history can have saved. Not collective.
 */
int mf_optimiser_load(struct mf_optimiser *optimiser, struct mf_optimiser_state *state);

/**
 * Runs at most @p evaluations evaluations of projected L-BFGS from optimiser->x (the history starts empty), or goes
 * on with the run that was stopped or loaded, to the end that one had: two-loop
 * recursion on stored dot products (Nocedal & Wright 2006, algorithm 7.4), free variables by the sign of the gradient
 * at the bounds, backtracking with the Armijo condition on the projected step. Leaves the best point in x, its
 * gradient in g and its loss in loss; with none x stays as it is. @p tolerance: stops when the loss falls by less than
 * this part of itself in one step; 0: never.
 */
int mf_lbfgs_run(struct mf_optimiser *optimiser, const struct mf_problem *problem, long evaluations, double tolerance);

struct mf_adam_opts {
    double rate, beta1, beta2, epsilon;
};

/** The same with projected Adam; the first pair of the history holds its moments. Returns to the best point seen. */
int mf_adam_run(struct mf_optimiser *optimiser, const struct mf_problem *problem, long evaluations,
                const struct mf_adam_opts *adam);

#endif
