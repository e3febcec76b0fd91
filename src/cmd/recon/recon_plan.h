/* The plan of a reconstruction that is about to run (planned.h). */
#ifndef MF_CMD_RECON_RECON_PLAN_H
#define MF_CMD_RECON_RECON_PLAN_H

#include "src/cmd/micrograph.h"
#include "src/cmd/planned.h"
#include "src/cmd/recon/recon_opts.h"

/** Refuses options that contradict a stored plan (@p file, of @p path): --batch-size (@p batch; 0: not given),
 * --history, --residency: MF_USAGE. Not collective. */
int mf_recon_plan_given(const struct mf_session *session, const struct mf_recon_cmd *o, const char *path,
                        const struct mf_plan *file, size_t batch);

/**
 * The check_plan of match and reconstruct: @p options is a struct mf_recon_cmd. Refuses a plan of a file that the run
 * of these options would refuse too. The run is on @p ranks ranks (0: nobody knows). It goes as far as that can be said
 * without its files and its machine, in its words: MF_INPUT, MF_USAGE. After the verb's check. Not collective.
 */
int mf_recon_plan_ahead(const struct mf_session *session, const void *options, const char *path, size_t ranks);

/**
 * Leaves cores alone that nobody asked for and that the run of @p solve is too small for. It sets the threads of the
 * session's queues. Not where a device computes. Not collective.
 */
void mf_recon_few_threads(struct mf_session *session, const size_t dims[3], const struct mf_target *target,
                          const struct mf_solve_opts *solve);

/**
 * Plans the run of @p solve: sets its batch and history, and where the session's fields stay. Where that is worth it,
 * tries batches on the field itself. As mf_planned_make().
 */
int mf_recon_plan_make(struct mf_session *session, const struct mf_recon_cmd *o, const size_t dims[3],
                       const struct mf_target *target, struct mf_solve_opts *solve, struct mf_run_plan *plan);

/** --dry-run: the plan of such a run, for its seconds; sets nothing. As mf_planned_foresee(). */
int mf_recon_foresee(struct mf_session *session, const struct mf_recon_cmd *o, const size_t dims[3],
                     const struct mf_target *target, struct mf_solve_opts *solve, struct mf_run_plan *plan);

/** --dry-run: the bytes of a run, and its seconds by @p plan, on standard output. Collective; refuses (agreed) as the
 * run would. */
int mf_recon_dry(const struct mf_session *session, const size_t dims[3], const struct mf_target *target,
                 const struct mf_solve_opts *solve, const struct mf_run_plan *plan);

#endif
