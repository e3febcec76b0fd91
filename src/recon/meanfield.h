/* Mean-field annealing: the last gradient stage of volumes of two to six phases, which makes the field binary. Phases
 * of voxels become independent probabilities x, and momentum descent lowers the expected loss over such voxels. A
 * penalty of grey values drives them to 0 or 1. It grows from negative, where it melts interfaces, to positive.
 *
 * In the expected loss, S2 at lag 0 is the mean of x, not of x^2. A jump of Variation is x + x' - 2 x x'. Both equal
 * the squares that kernels compute, plus a multiple of x (1 - x). So targets are shifted by the mean of x (1 - x).
 *
 * The stiffest modes of the loss are the volumes of single slices. They would force short steps. So a step leaves out
 * the part of the gradient that is constant in a plane (plane_fit.h). */
#ifndef MF_RECON_MEANFIELD_H
#define MF_RECON_MEANFIELD_H

#include "src/recon/grid.h"

/** The method of the optimiser while the stage runs. */
extern const struct mf_method mf_mean_field;

/**
 * The stage, from the field in the optimiser on, or from where it was stopped. Replaces the grid's objective. Returns
 * with run->leaving set when the run was asked to stop. Collective; refuses (agreed) with MF_MEMORY, MF_NUMERIC.
 */
int mf_meanfield_run(struct mf_grid *run, long evaluations);

/** A dry run: takes what mf_meanfield_run() takes, and frees it. Collective; MF_MEMORY. */
int mf_meanfield_measure(struct mf_grid *run);

#endif
