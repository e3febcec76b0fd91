/* The last stage of a reconstruction: swaps of voxels that lower the loss of a labelled field. A swap exchanges two
 * phases, so volume fractions stay exact. */
#ifndef MF_RECON_POLISH_H
#define MF_RECON_POLISH_H

#include "kernels/slices/flip.h"
#include "src/recon/objective.h"

/** Where a polish stands between two rounds: with the labels, all that the rest of it depends on. */
struct mf_polish_state {
    long round, idle, limit, tried, swaps;
    double loss;     /* now; not saved */
    size_t entries;  /* of miss, per direction; 0: that direction is not compared */
    double *miss[3]; /* what led the last refresh */
};

/** What a polish works on; all borrowed. */
struct mf_polish {
    const struct mf_comm *comm;
    const struct mf_backend *backend;
    struct mf_queue *queue;
    struct mf_slab slab;
    size_t fields; /* 1: the indicator of phase 1; else all phases */
    int phases;
    const struct mf_target *target;
    const struct mf_objective_opts *objective;
    float *x, *g;         /* scratch [fields][voxels], device */
    uint8_t *label;       /* in/out [voxels], device */
    const uint8_t *fixed; /* [voxels], device: where this is not MF_LABEL_OPEN the label stays; or NULL */
    int whole_clusters;   /* no swap cuts a cluster or joins two */
    int plain;            /* slices are not led by what their mean misses, and nobody asks for a gradient */
    size_t most;          /* sites of one kind of move that are looked at in a round; 0: chosen */
    long rounds;          /* most rounds; 0: until a round gains next to nothing */
    long tried, swaps;    /* out */
    double trial_seconds; /* out: wall time of the trials alone */
    /** Called between rounds, by all ranks: true ends the polish, which can be gone on with. May be NULL. */
    int (*after_round)(void *context, const struct mf_polish_state *state);
    void *context;
    const struct mf_polish_state *from; /* NULL: from the begin; else from where this one stood */
};

/**
 * In rounds: the gradient of the loss at the binary field ranks all voxels at interfaces; the best few of every kind of
 * move come together on all ranks with the bits around them; there the energy of a swap (level 0 of S2 and Variation
 * exactly, everything else to first order) is computed from the bits and the residual windows of the slices it touches,
 * and improving swaps are applied at once, so that later ones in the round see them. Residuals and bits follow by
 * increments. All ranks do the same arithmetic on the same numbers: the result does not depend on their number.
 *
 * The energy is the mean square form of the loss whatever its norm. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_polish_run(struct mf_polish *polish);

/** Takes from the queue's arenas what mf_polish_run() takes, touches none of it and gives it back. Collective;
 * MF_MEMORY. */
int mf_polish_measure(struct mf_polish *polish);

#endif
