/* Where fields and the optimiser's vectors stay while a reconstruction runs: on the device, or in host memory. */
#ifndef MF_CMD_RESIDE_H
#define MF_CMD_RESIDE_H

#include "src/cmd/recon_opts.h"
#include "src/plan/plan.h"

/** --residency in the planner's words. */
enum mf_residency mf_recon_residency(const struct mf_recon_cmd *o);

/** Fields stay where --residency says until a plan decides otherwise. Collective; refuses (agreed) with MF_MEMORY. */
int mf_recon_reside(struct mf_session *session, const struct mf_recon_cmd *o);

/**
 * mf_solve(); where --residency leaves it open and the device has not the memory to begin, once more with fields in
 * host memory and @p batch slices in flight. Collective; refuses (agreed) as mf_solve() does.
 */
int mf_recon_solve(struct mf_session *session, const struct mf_recon_cmd *o, const size_t dims[3],
                   const struct mf_target *target, size_t batch, struct mf_solve_opts *opts,
                   struct mf_solve_result *result);

#endif
