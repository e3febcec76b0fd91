/* What to aim at so that a result looks like the target: chosen from the target itself. It is laid beside surrogates,
 * Gaussian fields of its spectrum cut at its volume fraction and smoothed to as many jumps: what they have as well, S2
 * holds already. */
#ifndef MF_RECON_RECIPE_H
#define MF_RECON_RECIPE_H

#include "src/recon/solve.h"

enum { MF_RECIPE_TERMS = 4, MF_RECIPE_LEVELS = 4 };

struct mf_recipe {
    const char *name; /* of what it is good for */
    size_t terms;
    const char *type[MF_RECIPE_TERMS]; /* descriptors */
    double weight[MF_RECIPE_TERMS];
    size_t levels; /* level weights given; 0: as always */
    double level_weight[MF_RECIPE_LEVELS];
    long lag, evaluations, history; /* 0: as always */
    int cells;                      /* an image begins with cells, as many as were seen */
    double bend;                    /* of their walls (start.h) */
    double layers;   /* a volume begins with layers of so many times the wave number that was seen; 0: with noise */
    long candidates; /* most runs to choose from; 0: one */
    int unpolished, coarse_to_fine;
    const struct mf_ramp *ramp; /* NULL: as always */
};

/**
 * Looks at the first side of a target with an example. What it takes counts to @p whole. Not collective: the same
 * numbers on every rank. Refuses with MF_INPUT (no example), MF_MEMORY.
 */
int mf_recipe_look(struct mf_arena *whole, const struct mf_target *target, struct mf_target_look *look);

/** From the micrograph alone to a result of @p dims {nz, ny, nx}. */
void mf_recipe_for(const size_t dims[3], struct mf_target_look *look);

/** Do opposite borders fit together? */
int mf_recipe_periodic(const struct mf_target_look *look);

/** The recipe for what was seen, of an image or a volume, and why, in a few words (owned by nobody). */
const struct mf_recipe *mf_recipe_choose(const struct mf_target_look *look, int volume, const char **why);

/** Edge of the example that patches are looked for in: 0, all of it, unless the searches of a run would take too long.
 */
size_t mf_recipe_example(const struct mf_recipe *recipe, const struct mf_target_look *look);

/** Runs to choose a result from: as many as take some seconds of a core together, at least one. */
long mf_recipe_candidates(const struct mf_recipe *recipe, const struct mf_target_look *look);

#endif
