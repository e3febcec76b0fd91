/* Optimisers of a field that is cut into slabs. They know neither ranks nor descriptors: the problem evaluates itself
 * and sums numbers over the planes of the volume. A method is a file with its functions and a row in methods.c. Memory,
 * the run, saving and loading are common (optim.c). */
#ifndef MF_OPTIM_OPTIM_H
#define MF_OPTIM_OPTIM_H

#include "kernels/optim.h"

/** What is minimised. The functions are called by all ranks alike. */
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

struct mf_optimiser;
struct mf_method;

/** A method, and what it is told; each reads what it has a use for. */
struct mf_method_opts {
    const struct mf_method *method;
    size_t history;           /* pairs of LBFGSB */
    struct mf_rule_opts rule; /* of the rules in adaptive.c */
    int sampled;              /* losses are of samples: the last point is the result. Of those in adaptive.c alone */
    double tolerance;         /* a run ends when a step changes the loss by less than this part of it; 0: never */
};

enum {
    MF_METHOD_VECTORS = 3 + 2 * MF_HISTORY_MAX,
    MF_METHOD_NUMBERS = 2 + 2 * MF_HISTORY_MAX * MF_HISTORY_MAX,
    MF_OPTIMISER_VECTORS = 2 + MF_METHOD_VECTORS,
    MF_OPTIMISER_NUMBERS = 4 + MF_METHOD_NUMBERS
};

/** A row of methods.c. */
struct mf_method {
    const char *name;
    const char *options;    /* words of the options that it reads, with a space before and behind each */
    int swaps;              /* it takes x and g, and has no steps: labels are swapped instead (src/recon/anneal.h) */
    int samples;            /* gradients of samples will do: no step looks back at an earlier loss */
    int remembers;          /* it keeps opts->history pairs */
    enum mf_rule_kind rule; /* of those in adaptive.c */
    double traffic;         /* bytes that a step moves per voxel and field; those of pairs come on top */
    /** Tags of the vectors that it takes beside x and g, in order; returns their number. */
    size_t (*vectors)(const struct mf_method_opts *opts, const char *tag[MF_METHOD_VECTORS]);
    /** A run begins at x: o->number is all 0. */
    int (*begin)(struct mf_optimiser *o, const struct mf_problem *p);
    /** The next step; *more = 0 ends the run. No step makes an evaluation beyond o->last. */
    int (*step)(struct mf_optimiser *o, const struct mf_problem *p, int *more);
    /** The run has ended: leaves its result in x and its loss in o->loss. NULL: they are there. */
    void (*end)(struct mf_optimiser *o);
    /** Names the vectors that the rest of a run depends on beside x and g, by o->number. Refuses with MF_INPUT numbers
     * that this method cannot have saved. */
    int (*live)(struct mf_optimiser *o, float **vector, size_t *count);
};

/** The method called @p name; refuses with MF_USAGE. */
int mf_method_find(const struct mf_method **method, const char *name);

/** The vectors of one optimiser, each a slab of phases * planes * plane floats of device memory. */
struct mf_optimiser {
    const struct mf_backend *backend;
    struct mf_queue *queue;
    struct mf_extent extent;
    struct mf_method_opts opts;
    float *x, *g;                     /* the point; the gradient there while a run is under way, scratch between runs */
    float *own[MF_METHOD_VECTORS];    /* the method's; scratch between runs */
    double number[MF_METHOD_NUMBERS]; /* the method's: a struct of doubles */
    double *sums;                     /* [own planes][2 + 3 MF_HISTORY_MAX], queue->host */
    double loss;                      /* at x */
    long evaluations;                 /* so far */
    int aside;                        /* the evaluation under way is of no point of the descent or its searches */
    long started, last;               /* evaluations before the run under way, and where it ends */
    int under_way;                    /* a run was stopped: the next goes on with it */
};

/** All that the rest of a run under way depends on, in an order that does not change. */
struct mf_optimiser_state {
    size_t vectors;
    float *vector[MF_OPTIMISER_VECTORS]; /* the optimiser's own; each a slab, device */
    double number[MF_OPTIMISER_NUMBERS];
};

/** Takes x, g and the method's vectors. Refuses with MF_MEMORY; free accepts half a one. */
int mf_optimiser_new(struct mf_optimiser *optimiser, const struct mf_backend *backend, struct mf_queue *queue,
                     struct mf_extent extent, const struct mf_method_opts *opts);
void mf_optimiser_free(struct mf_optimiser *optimiser);

/** Gives back all vectors but x and g: what a stage after the descent needs no more. */
void mf_optimiser_trim(struct mf_optimiser *optimiser);

/** Vectors that a method takes, x and g among them. */
size_t mf_optimiser_vectors(const struct mf_method_opts *opts);

/** Names the vectors and copies the numbers. Not collective. */
void mf_optimiser_save(struct mf_optimiser *optimiser, struct mf_optimiser_state *state);

/**
 * The other way, in two steps: with @p state->number filled, sets the optimiser's numbers and names the vectors that
 * the caller is to fill. Refuses with MF_INPUT what no optimiser with these options can have saved. Not collective.
 */
int mf_optimiser_load(struct mf_optimiser *optimiser, struct mf_optimiser_state *state);

/** Evaluations that a saved optimiser has made. */
long mf_optimiser_made(const struct mf_optimiser_state *state);

/**
 * Runs at most @p evaluations evaluations from optimiser->x (nothing of earlier runs is remembered), or goes on with
 * the run that was stopped or loaded, to the end that one had. Leaves the result in x and its loss in loss; with no
 * evaluation x stays as it is.
 */
int mf_optimiser_run(struct mf_optimiser *optimiser, const struct mf_problem *problem, long evaluations);

#endif
