/* Predictions by a network of ours as a workload of the planner (src/plan/workload.h). Its step is a sample, and crews
 * have others at the same time. Settings are "batch" (samples of a walk), "pp" (stages) and "zero" (3: ranks cut the
 * weights). So many parts are "streamed": their weights stand in host memory. */
#ifndef MF_CMD_LEARN_INFER_WORK_H
#define MF_CMD_LEARN_INFER_WORK_H

#include "src/cmd/learn/crew.h"
#include "src/cmd/planned.h"
#include "src/plan/plan.h"

struct mf_infer_work {
    const struct mf_model_card *card;
    const char *name; /* of its file */
    size_t batch, parts;
    size_t beside; /* bytes of the caller's arrays in host memory, on every rank */
    struct mf_crew_wish crew;
    int host; /* weights may stand in host memory: as few as must */
    int deterministic;
    struct mf_queue *queue; /* of a run, which says the work memory of GPU libraries; NULL: it is MF_TUNING_WORK */
};

/** The workload. Its context is a struct mf_infer_work. */
extern const struct mf_plan_workload mf_infer_workload;

/** Sets card, name, parts and the number of stages; the caller sets the others before. Refuses with MF_USAGE a network
 * that answers nothing, and as mf_place_map_stages(). Local. */
int mf_infer_work_open(const struct mf_model_card *card, const char *path, struct mf_infer_work *work);

/** Plans a run on this rank's device, and says so in a line. Sets crew->streamed, and what the session is predicted to
 * take. mf_run_plan_free() frees the plan. Collective; refuses (agreed) with MF_MEMORY. */
int mf_infer_work_plan(struct mf_session *session, struct mf_infer_work *work, struct mf_crew *crew,
                       struct mf_run_plan *plan);

#endif
