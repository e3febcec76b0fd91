/* Making samples as a workload of the planner (src/plan/workload.h). Its setting is "pass", the samples of a pass. Its
 * step is a sample of the set, of which all ranks make others at the same time. */
#ifndef MF_CMD_FILES_GENERATE_WORK_H
#define MF_CMD_FILES_GENERATE_WORK_H

#include "src/cmd/files/generate.h"
#include "src/plan/plan.h"

/** The workload. Its context is a struct generate_job that mf_generate_open() has opened. */
extern const struct mf_plan_workload mf_generate_workload;

/** Sets the bytes that a rank of this run is predicted to take: session->predicted. Local; refuses as
 * mf_generator_foresee(). */
int mf_generate_foresee(struct generate_job *job);

/** Prints what a dry run took, or what a run wrote and took. Collective; MF_OUTPUT, MF_INPUT. */
int mf_generate_counted(const struct generate_job *job, const char *path);
int mf_generate_report(const struct generate_job *job, const char *path);

#endif
