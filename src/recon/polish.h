/* The last stage of a reconstruction: swaps of voxels that lower the loss of a labelled field. A swap exchanges two
 * phases, so volume fractions stay exact. */
#ifndef MF_RECON_POLISH_H
#define MF_RECON_POLISH_H

#include "kernels/slices/flip.h"
#include "src/recon/objective.h"
#include "src/recon/property.h"

/** State of a polish between two rounds. With the labels, the rest of the polish depends only on this. */
struct mf_polish_state {
    long round, idle, limit, tried, swaps;
    double loss;           /* now; not saved */
    size_t entries;        /* entries of mean_error, per direction; 0: that direction is not compared */
    double *mean_error[3]; /* the correction used by the last refresh */
    void *neighbours;      /* what searches for patches remember (mf_objective_memory); or NULL */
    size_t bytes;          /* of that */
};

/** Rounds that neighbours of patches are held for: fewer than idle ones end a polish. */
enum { MF_POLISH_HOLD = 3 };

/** Input and output of a polish; all borrowed. */
struct mf_polish {
    const struct mf_comm *comm;
    const struct mf_backend *backend;
    struct mf_queue *queue;
    struct mf_slab slab;
    size_t fields; /* 1: the indicator of phase 1; else all phases */
    int phases;
    const struct mf_target *target;
    const struct mf_objective_opts *objective;
    struct mf_objective *searched; /* searches for patches build on what this one remembers, which follows; or NULL */
    float *x, *g;                  /* scratch [fields][voxels], device */
    uint8_t *label;                /* in/out [voxels], device */
    const uint8_t *fixed;          /* [voxels], device: labels to keep; MF_LABEL_OPEN: free; or NULL */
    int whole_clusters;            /* no swap divides or joins clusters */
    struct mf_property *property;  /* its errors count too, by mf_property_flips(); or NULL */
    int until_met;                 /* the polish ends when they are within their tolerance */
    int plain;                     /* the mean slice's error is not corrected, and no gradient is needed */
    size_t most;                   /* most sites of one kind of move per round; 0: chosen */
    long rounds;                   /* most rounds; 0: until a round gains almost nothing */
    long tried, swaps;             /* out */
    double trial_seconds;          /* output: wall time of the trials */
    /** Called between rounds, by all ranks. True ends the polish so that it can continue later. May be NULL. */
    int (*after_round)(void *context, const struct mf_polish_state *state);
    /** Shall it end where it cannot be saved? Agreed by all ranks. May be NULL. */
    int (*asked)(void *context);
    void *context;
    const struct mf_polish_state *from; /* NULL: begin anew; else continue from this state */
};

/**
 * Works in rounds:
 * 1. The gradient of the loss at the binary field ranks all voxels at interfaces.
 * 2. All ranks exchange the best moves of every kind, with the bits around them.
 * 3. The energy of a swap is computed from these bits and the residual windows of its slices. Level 0 of S2 and
 *    Variation is exact, everything else is first order.
 * 4. Improving swaps are applied at once, so that later ones in the round take them into account. Residuals and bits
 *    are updated incrementally.
 *
 * All ranks do the same arithmetic on the same numbers, so the result does not depend on their number. The energy is
 * the mean square form of the loss, whatever its norm. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_polish_run(struct mf_polish *polish);

/** A dry run: takes from the queue's arenas what mf_polish_run() takes, touches none of it and frees it. Collective;
 * MF_MEMORY. */
int mf_polish_measure(struct mf_polish *polish);

#endif
