/* How long cores search for the nearest patches of a slice (kernels/slices/patch.h), for plans and for the choice of
 * candidates. The constants were measured; docs/PLANNER.md says how to measure them again.
 * Operations themselves are counted by mf_cost_search() (kernels/cost.c).
 * Rule: the unit is an operation of 32 bits at MF_CORE_SHARE of the peak, which transforms reach. */
#ifndef MF_RECON_SEARCH_COST_H
#define MF_RECON_SEARCH_COST_H

#include "kernels/slices/slices.h"

#define MF_CORE_SHARE 0.5

/** Of one slice that is described by @p desc (the example's extents are enough). */
struct mf_search_cost {
    double search; /* in trees where they serve, else of all pairs; with the pull that follows */
    double pulled; /* of an evaluation with the neighbours that were found, for each field */
    double pairs;  /* number of pairs of patches, on all levels */
    double moved;  /* floats that the pull reads and adds up */
};

struct mf_search_cost mf_search_cost_of(const struct mf_slice_desc *desc);

#endif
