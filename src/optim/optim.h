/* Optimisers of a field that is cut into slabs. They know neither ranks nor descriptors: the problem evaluates the loss
 * and sums numbers over the planes of the volume. A method is a file with its functions and a row in methods.c. Memory,
 * the run, saving and loading are common (optim.c). */
#ifndef MF_OPTIM_OPTIM_H
#define MF_OPTIM_OPTIM_H

#include "kernels/optim.h"

/** Function to minimise. The functions are called by all ranks alike. */
struct mf_problem {
    void *context;
    /** Loss at @p x and its gradient into @p g (overwritten; both device memory). May refuse (MF_NUMERIC when the loss
     * is not finite). */
    int (*evaluate)(void *context, float *x, float *g, double *loss);
    /**
     * Adds @p n values of every own plane, values [planes][n], over all planes of the volume in global order. The sums
     * are total [n]. Value @p largest (or -1) is a maximum instead. Every rank, and any number of ranks, gets the same
     * bits.
     */
    void (*add)(void *context, size_t n, const double *values, int largest, double *total);
    /**
     * Called after every step, when the optimiser may be saved. Returns true, agreed by all ranks, to stop the run so
     * that it can continue later. May be NULL.
     */
    int (*stop)(void *context, long evaluations, double loss);
    /** Called between two evaluations of one step, by all ranks alike. Refuses where the run is to end there: x and
     * loss are then those after the last step. May be NULL. */
    int (*asked)(void *context);
};

struct mf_optimiser;
struct mf_method;

/** Options of a method; each method reads the ones that it needs. */
struct mf_method_opts {
    const struct mf_method *method;
    size_t history;           /* pairs of LBFGSB */
    struct mf_rule_opts rule; /* of the rules in adaptive.c */
    int sampled;              /* losses are of samples, so the last point is the result; only for those in adaptive.c */
    double tolerance;         /* a run ends when a step changes the loss by less than this fraction; 0: never */
};

enum {
    MF_METHOD_VECTORS = 3 + 2 * MF_HISTORY_MAX,
    MF_METHOD_NUMBERS = 2 + 2 * MF_HISTORY_MAX * MF_HISTORY_MAX,
    MF_OPTIMISER_VECTORS = 2 + MF_METHOD_VECTORS,
    MF_OPTIMISER_NUMBERS = 4 + MF_METHOD_NUMBERS
};

/** The methods, and their names in that order. */
enum mf_method_name {
    MF_METHOD_LBFGSB,
    MF_METHOD_SPG,
    MF_METHOD_TNC,
    MF_METHOD_ADAM,
    MF_METHOD_ADAMAX,
    MF_METHOD_NADAM,
    MF_METHOD_ADADELTA,
    MF_METHOD_ADAGRAD,
    MF_METHOD_RMSPROP,
    MF_METHOD_SGD,
    MF_METHOD_ANNEALING,
    MF_METHOD_YTPOST
};
#define MF_METHOD_NAMES "LBFGSB|SPG|TNC|Adam|Adamax|Nadam|Adadelta|Adagrad|RMSprop|SGD|SimulatedAnnealing|YTPost"

/** A row of methods.c. */
struct mf_method {
    const char *name;
    const char *options;    /* words of the options that it reads, each between spaces */
    int swaps;              /* no steps: labels are swapped instead (src/recon/anneal.h); uses only x and g */
    int samples;            /* works with gradients of samples: no step uses an earlier loss */
    int remembers;          /* it keeps opts->history pairs */
    enum mf_rule_kind rule; /* of those in adaptive.c */
    double traffic;         /* bytes that a step moves per voxel and field, without those of pairs */
    /** Tags of the vectors that it takes beside x and g, in order; returns their number. */
    size_t (*vectors)(const struct mf_method_opts *opts, const char *tag[MF_METHOD_VECTORS]);
    /** Begins a run at x: o->number is all 0. */
    int (*begin)(struct mf_optimiser *o, const struct mf_problem *p);
    /** The next step; *more = 0 ends the run. A step makes no evaluation beyond o->last. */
    int (*step)(struct mf_optimiser *o, const struct mf_problem *p, int *more);
    /** The run has ended: leaves its result in x and its loss in o->loss. NULL: they are there. */
    void (*end)(struct mf_optimiser *o);
    /** From o->number, lists the vectors besides x and g that the rest of a run depends on. Refuses with MF_INPUT
     * numbers that this method cannot have saved. */
    int (*live)(struct mf_optimiser *o, float **vector, size_t *count);
};

const struct mf_method *mf_method_of(enum mf_method_name name);

/** An optimiser's vectors. Each is a slab of phases * planes * plane floats of device memory. */
struct mf_optimiser {
    const struct mf_backend *backend;
    struct mf_queue *queue;
    struct mf_extent extent;
    struct mf_method_opts opts;
    float *x, *g;                     /* the point; its gradient during a run, scratch between runs */
    float *own[MF_METHOD_VECTORS];    /* the method's; scratch between runs */
    double number[MF_METHOD_NUMBERS]; /* the method's: a struct of doubles */
    double *sums;                     /* [own planes][2 + 3 MF_HISTORY_MAX], queue->host */
    double loss;                      /* at x */
    long evaluations;                 /* so far */
    int aside;                        /* the current evaluation is neither of the descent nor of its line searches */
    long started, last;               /* evaluations before the current run; the evaluation at which it ends */
    int under_way;                    /* a run was stopped, and the next continues it */
};

/** The state that the rest of a run depends on, in a fixed order. */
struct mf_optimiser_state {
    size_t vectors;
    float *vector[MF_OPTIMISER_VECTORS]; /* the optimiser's own; each a slab, device */
    double number[MF_OPTIMISER_NUMBERS];
};

/** Takes x, g and the method's vectors. Refuses with MF_MEMORY; mf_optimiser_free() accepts an incomplete one. */
int mf_optimiser_new(struct mf_optimiser *optimiser, const struct mf_backend *backend, struct mf_queue *queue,
                     struct mf_extent extent, const struct mf_method_opts *opts);
void mf_optimiser_free(struct mf_optimiser *optimiser);

/** Frees all of the method's vectors but the first @p kept, for a stage after the descent. */
void mf_optimiser_trim(struct mf_optimiser *optimiser, size_t kept);

/** Number of vectors that a method takes, including x and g. */
size_t mf_optimiser_vectors(const struct mf_method_opts *opts);

/** Lists the vectors and copies the numbers. Not collective. */
void mf_optimiser_save(struct mf_optimiser *optimiser, struct mf_optimiser_state *state);

/**
 * The reverse, in two steps. With @p state->number filled, it sets the optimiser's numbers and lists the vectors that
 * the caller must fill. Refuses with MF_INPUT a state that no optimiser with these options can have saved. Not
 * collective.
 */
int mf_optimiser_load(struct mf_optimiser *optimiser, struct mf_optimiser_state *state);

/** Number of evaluations that a saved optimiser has made. */
long mf_optimiser_made(const struct mf_optimiser_state *state);

/**
 * Runs at most @p evaluations evaluations from optimiser->x, without memory of earlier runs. Or it continues a run that
 * was stopped or loaded, up to that run's end. Leaves the result in x and its loss in loss; without an evaluation x is
 * unchanged.
 */
int mf_optimiser_run(struct mf_optimiser *optimiser, const struct mf_problem *problem, long evaluations);

/** Ends a run that has stopped, and leaves in x the result of its steps so far. */
void mf_optimiser_settle(struct mf_optimiser *optimiser);

#endif
