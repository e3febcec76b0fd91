/* `mesoforge plan VERB`: what a run of VERB would do on a machine. Each verb that can be planned has such a row, with
 * its own options and those here. It finds what is solved; machine, plan and report are the same for all. */
#ifndef MF_CMD_PLAN_H
#define MF_CMD_PLAN_H

#include "src/cmd/cmd.h"
#include "src/plan/plan.h"

struct mf_plan_wish {
    const char *hardware;
    long ranks;
    int explain, verify;
};

/** The rows, in the options of a verb that has a struct mf_plan_wish called wish. */
#define MF_PLAN_WISH_MACHINE(type)                                               \
    MF_OPT(type, "hardware", wish.hardware, MF_TEXT, NULL,                       \
           "plan for the machine in this file; without: for this one"),          \
        MF_OPT(type, "ranks", wish.ranks, MF_LONG, "0",                          \
               "number of ranks; 0: chosen, or on this machine those that run"), \
        MF_OPT(type, "explain", wish.explain, MF_FLAG, NULL, "every array and every candidate")

/** And one for workloads that can be tried. */
#define MF_PLAN_WISH_ROWS(type)                            \
    MF_PLAN_WISH_MACHINE(type),                            \
        MF_OPT(type, "verify", wish.verify, MF_FLAG, NULL, \
               "measure two steps of the planned and of other settings on these ranks, and plan the fastest")

/** Refuses wishes that contradict each other: MF_USAGE. Local. */
int mf_plan_wish_check(const struct mf_session *session, const struct mf_plan_wish *wish);

/** Refuses an --output that cannot be written, or that is the machine's file or @p file (NULL: none). It does so before
 * anything is read. Collective. */
int mf_plan_may_write(const struct mf_session *session, const struct mf_plan_wish *wish, const char *file);

/** Request of a plan. */
struct mf_planning {
    struct mf_session *session;
    struct mf_common *common; /* the session's: of --device auto, cpu where no GPU may count */
    struct mf_plan_wish *wish;
    const struct mf_plan_workload *workload;
    void *work;              /* its context */
    struct mf_queue **queue; /* that of work, for --verify */
    enum mf_residency residency;
    int (*also)(void *context, const struct mf_plan *plan); /* on rank 0, with a plan that was made; NULL: nothing */
    void *context;                                          /* of also */
};

/** --device auto on a machine without a back end for GPUs means cores. Local. */
void mf_plan_settle_device(struct mf_common *common, const struct mf_plan_wish *wish);

/** The machine of --hardware, or of this run. In a run a GPU counts only where this build has its back end, and --ranks
 * are those that run. Collective; refuses (agreed). mf_hardware_free() frees, also after a refusal. */
int mf_plan_machine_of(const struct mf_session *session, struct mf_common *common, struct mf_plan_wish *wish,
                       struct mf_hardware *hardware);

/** Finds the machine, plans, says what was found, and writes the --output. Collective; refuses (agreed) as
 * mf_plan_make() and mf_hardware_read(). */
int mf_plan_verb(const struct mf_planning *planning);

#endif
