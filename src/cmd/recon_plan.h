/* The plan of a reconstruction that is about to run: made (or taken from a file) on rank 0, the same on all ranks. */
#ifndef MF_CMD_RECON_PLAN_H
#define MF_CMD_RECON_PLAN_H

#include "src/base/json.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/recon_opts.h"

struct mf_recon_plan {
    struct mf_json *json; /* the plan; NULL: --plan off */
    int unfit;            /* there was none for the devices of this run: nothing fits, or cores are faster */
};

/** --device, --gpu_ids, --share-gpu, --memory-limit and --residency in the planner's words; @p number: room for N of
 * cuda:N. */
void mf_recon_plan_device(const struct mf_common *common, const char *residency, long *number,
                          struct mf_plan_options *options);

/** Checks --plan and what contradicts it: MF_USAGE. Not collective. */
int mf_recon_plan_check(const struct mf_session *session, const struct mf_recon_cmd *o);

/** What a stored plan (@p file, of @p path) says and these options contradict: --batch-size (@p batch; 0: not given),
 * --history, --residency: MF_USAGE. Not collective. */
int mf_recon_plan_given(const struct mf_session *session, const struct mf_recon_cmd *o, const char *path,
                        const struct mf_plan *file, size_t batch);

/**
 * The check_plan of match and reconstruct: @p options is a struct mf_recon_cmd. Refuses a plan of a file that the run
 * of these options, on @p ranks ranks (0: nobody knows), would refuse too, as far as that can be said without its files
 * and its machine, in its words: MF_INPUT, MF_USAGE. After the verb's check. Not collective.
 */
int mf_recon_plan_ahead(const struct mf_session *session, const void *options, const char *path, size_t ranks);

/**
 * Cores that nobody asked for and that the run of @p solve is too small for are left alone: sets the threads of the
 * session's queues. Not where a device computes. Not collective.
 */
int mf_recon_few_threads(struct mf_session *session, const size_t dims[3], const struct mf_target *target,
                         const struct mf_solve_opts *solve);

/**
 * Plans the run of @p solve: sets its batch and history, and where the session's fields stay. Where that is worth it,
 * tries batches on the field itself. Collective; refuses (agreed) with MF_MEMORY when nothing fits, MF_INPUT when the
 * plan of a file is of another problem or machine, MF_USAGE when it is for other ranks. mf_recon_plan_free() it, also
 * after a refusal.
 */
int mf_recon_plan_make(struct mf_session *session, const struct mf_recon_cmd *o, const size_t dims[3],
                       const struct mf_target *target, struct mf_solve_opts *solve, struct mf_recon_plan *plan);
void mf_recon_plan_free(struct mf_recon_plan *plan);

/** --dry-run: the bytes of a run, on standard output. Collective; refuses (agreed) as the run would. */
int mf_recon_dry(const struct mf_session *session, const size_t dims[3], const struct mf_target *target,
                 const struct mf_solve_opts *solve);

/** Puts "plan" and the "batch" that was used into the object of a run; not where there is none. */
void mf_recon_plan_put(const struct mf_recon_plan *plan, const struct mf_solve_result *result, struct mf_json *at);

#endif
