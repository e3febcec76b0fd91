/* What a plan needs to know of a reconstruction: its problem in numbers and lines, and the bytes that any rank of any
 * number of ranks would take, by the calls that a run itself makes. */
#ifndef MF_RECON_TASK_H
#define MF_RECON_TASK_H

#include "src/plan/plan.h"
#include "src/recon/solve.h"

struct mf_predict {
    const size_t *dims;
    const struct mf_target *target;
    const struct mf_solve_opts *opts;
    int deterministic;
    int kept; /* labels of a best candidate wait beside: a byte a voxel */
};

/** Most pyramid levels that are compared in any direction. */
size_t mf_predict_levels(const struct mf_predict *what);

/** The problem of a plan. Not collective. Refuses as mf_objective_new() does: MF_USAGE. */
int mf_predict_problem(const struct mf_predict *what, struct mf_plan_problem *problem);

/** A mf_plan_measure with a struct mf_predict as context: nothing large is touched, no message is sent. */
int mf_predict_bytes(void *what, const struct mf_plan_setting *setting, struct mf_plan_bytes bytes[MF_PLAN_MEMORIES]);

/**
 * A target with @p phases phases and no particular values, for plans of problems that only their extents are known of:
 * one side per direction, of slices of the volume. Refuses with MF_USAGE (lag too large), MF_MEMORY.
 */
int mf_predict_nominal(const size_t dims[3], int phases, size_t lag, size_t levels_max, unsigned more,
                       struct mf_target *target);

#endif
