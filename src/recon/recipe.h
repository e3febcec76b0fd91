/* Chooses descriptors from the target itself, so that a result looks like the target. The target is compared with
 * surrogates: Gaussian fields with its spectrum, cut at its volume fraction and smoothed to its interface density. S2
 * already determines what the surrogates share with the target. */
#ifndef MF_RECON_RECIPE_H
#define MF_RECON_RECIPE_H

#include "src/recon/solve.h"

enum { MF_RECIPE_TERMS = 4, MF_RECIPE_LEVELS = 4 };

struct mf_recipe {
    const char *name; /* the kind of structure that it suits */
    size_t terms;
    const char *type[MF_RECIPE_TERMS]; /* descriptors */
    double weight[MF_RECIPE_TERMS];
    size_t levels; /* number of level weights given; 0: the default */
    double level_weight[MF_RECIPE_LEVELS];
    long lag, evaluations, history; /* 0: the default */
    int cells;                      /* an image begins with cells, as many as were measured */
    double bend;                    /* of the cell walls (start.h) */
    double layers;   /* a volume begins with layers of so many times the measured wave number; 0: with noise */
    long candidates; /* most runs to choose from; 0: one */
    int unpolished, coarse_to_fine;
    long coarse_evaluations, coarsest; /* of every coarser grid, and its least edge [pixels]; 0: the default */
    const struct mf_ramp *ramp;        /* NULL: the default */
};

/**
 * Measures the first side of a target with an example. Its memory counts in @p whole. Not collective: the same numbers
 * on every rank. Refuses with MF_INPUT (no example), MF_MEMORY.
 */
int mf_recipe_look(struct mf_arena *whole, const struct mf_target *target, struct mf_target_look *look);

/** Adapts the measurements of the micrograph to a result of @p dims {nz, ny, nx}. */
void mf_recipe_for(const size_t dims[3], struct mf_target_look *look);

/** Do opposite borders match? */
int mf_recipe_periodic(const struct mf_target_look *look);

/** The recipe for these measurements, of an image or a volume; *why gives the reason in a few words (a static text). */
const struct mf_recipe *mf_recipe_choose(const struct mf_target_look *look, int volume, const char **why);

/** Edge of the part of the example in which patches are searched. 0: all of it, unless the searches of a run that makes
 * a volume would take too long. */
size_t mf_recipe_example(const struct mf_recipe *recipe, const struct mf_target_look *look, int volume);

/** Evaluations of the finest grid; 0: the default. A large result gets fewer, but enough that edges become sharp. */
long mf_recipe_evaluations(const struct mf_recipe *recipe, const struct mf_target_look *look);

/** Number of runs to choose the image of a result from: as many as take some seconds of a core together, at least one.
 */
long mf_recipe_candidates(const struct mf_recipe *recipe, const struct mf_target_look *look);

#endif
