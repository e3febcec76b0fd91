/* The plan of a run that is about to begin, of any workload. It is made on rank 0 or taken from a file, tried by real
 * steps, and the same on all ranks. Rule: what settings mean to the run only its verb knows, by its functions. */
#ifndef MF_CMD_PLANNED_H
#define MF_CMD_PLANNED_H

#include "src/base/json.h"
#include "src/cmd/cmd.h"
#include "src/plan/plan.h"

/** The row of --plan, in the options of a verb. */
#define MF_PLAN_ROW(type)                                                                                          \
    MF_OPT(type, "plan", plan, MF_TEXT, "auto",                                                                    \
           "auto: what options leave open is planned; off: options and defaults alone; FILE: a plan of mesoforge " \
           "plan --output")

struct mf_planned {
    struct mf_session *session;
    const struct mf_plan_workload *workload;
    void *work;              /* its context */
    struct mf_queue **queue; /* that of work, for trials */
    const char *plan;        /* --plan: auto, off or FILE */
    enum mf_residency residency;
    int off;      /* nothing is planned, whatever --plan says */
    int reserves; /* memory is taken at once: --no_memory_growth */
    int tries;    /* settings may be tried where --plan is auto */

    void *context; /* of: */
    /** Puts what the plan of a file fixes into work; refuses (MF_USAGE) what options say otherwise. Local. */
    int (*take)(void *context, const char *path, const struct mf_plan *file);
    /** Puts what a plan fixes into the run. Collective; refuses (agreed). */
    int (*apply)(void *context, const struct mf_plan_numbers *settings);
    /** Adds to the line about the plan: ", 8 slices in flight". Local. */
    void (*tell)(const void *context, const struct mf_plan_numbers *derived, FILE *to);
};

struct mf_run_plan {
    struct mf_json *json; /* the plan; NULL: nothing was planned */
    int unfit;            /* there was none for the devices of this run: nothing fits, or cores are faster */
};

/** --device, --gpu_ids, --share-gpu, --memory-limit and --residency in the planner's words; @p number: room for N of
 * cuda:N. */
void mf_planned_device(const struct mf_common *common, enum mf_residency residency, long *number,
                       struct mf_plan_options *options);

/** Checks --plan, and --auto_gpu_config beside it: MF_USAGE. Not collective. */
int mf_planned_check(const struct mf_session *session, const char *plan, int auto_gpu);

/** Refuses with MF_USAGE a stored plan for another number of ranks (0: unknown), device or threads than the user asked
 * for. An option that is auto agrees with any plan. Local. */
int mf_planned_place(const struct mf_session *session, const char *path, const struct mf_plan *file, size_t ranks);

/**
 * Plans a run. mf_run_plan_free() frees the plan, also after a refusal. Collective; refuses (agreed) as the functions
 * of @p planned do, and with
 *   MF_MEMORY  nothing fits;
 *   MF_INPUT   the plan of the file is for another problem or machine;
 *   MF_USAGE   it is for another number of ranks.
 */
int mf_planned_make(const struct mf_planned *planned, struct mf_run_plan *plan);

/** Plans a run that does not take place, and says nothing. Without a plan (nothing fits: unfit; no GPU is seen)
 * plan->json is NULL. Collective; refuses (agreed) only with MF_BROKEN. */
int mf_planned_foresee(const struct mf_planned *planned, struct mf_run_plan *plan);
void mf_run_plan_free(struct mf_run_plan *plan);

/** Puts "plan" into the object of a run; returns 0 where there is none. */
int mf_run_plan_put(const struct mf_run_plan *plan, struct mf_json *at);

#endif
