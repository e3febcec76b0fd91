/* Linear equations of a few phases whose matrix is a sum of pairs (kernels/form/meanfield.h). */
#ifndef MF_RECON_PAIRS_H
#define MF_RECON_PAIRS_H

#include "kernels/meanfield.h"

/**
 * Solves sum over q of A[p][q] x[q] = b[p] for x [phases], where A[p][q] = pair[mf_pair(p, q)] is positive
 * semidefinite. Groups of phases that never meet have sums of their own. A constant may be added to the x of each
 * group, so one x of each is 0.
 */
void mf_pairs_solve(size_t phases, const double *pair, const double *b, double *x);

#endif
