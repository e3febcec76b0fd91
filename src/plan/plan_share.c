/* See plan.h: plans that all ranks of a run have. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/plan/plan.h"

/* Least gain of a rival that replaces the plan. */
static const double GAIN = 0.03;

int mf_refuse_together(const struct mf_comm *comm, int rc)
{
    mf_comm_bcast(comm, 0, &rc, sizeof rc);
    if (comm->rank != 0 && rc != MF_OK) rc = mf_fail(rc, "rank 0 refuses");
    return mf_agree(comm, rc);
}

int mf_plan_share(const struct mf_comm *comm, const struct mf_plan *mine, struct mf_json **json)
{
    struct mf_json *own = comm->rank == 0 ? mf_plan_json(mine) : NULL;
    char *whole = own ? mf_json_string(own) : NULL, *text = mf_comm_text(comm, whole);
    int rc;

    mf_json_free(own);
    free(whole);
    *json = mf_json_parse(text);
    free(text);
    rc = *json && mf_plan_is_whole(*json) ? MF_OK : mf_fail(MF_BROKEN, "the plan changed on its way to this rank");
    return mf_agree(comm, rc);
}

/* ---- trials ---- */

static int make_again(const struct mf_plan_ask *ask, const struct mf_plan_numbers *settings, struct mf_plan *plan)
{
    mf_plan_free(plan);
    ask->workload->fix(ask->context, settings);
    return mf_plan_make(ask, plan);
}

/* Rank 0 plans every rival for its predicted seconds, and last of all the fastest. */
static int compare(const struct mf_plan_ask *ask, size_t n, const struct mf_plan_numbers *rival, const double *measured,
                   struct mf_plan *plan)
{
    double predicted[MF_PLAN_TRIALS];
    size_t best = 0;

    for (size_t i = 0; i < n; ++i) {
        MF_TRY(make_again(ask, &rival[i], plan));
        predicted[i] = plan->cost.tried;
        if (measured[i] < (1 - GAIN) * measured[best]) best = i;
    }
    MF_TRY(make_again(ask, &rival[best], plan));
    for (size_t i = 0; i < n; ++i) {
        plan->trial[i].settings = rival[i];
        plan->trial[i].predicted = predicted[i];
        plan->trial[i].measured = measured[i];
    }
    return MF_OK;
}

int mf_plan_verify(const struct mf_comm *comm, const struct mf_plan_ask *ask, struct mf_plan *plan)
{
    struct mf_plan_numbers rival[MF_PLAN_TRIALS];
    double measured[MF_PLAN_TRIALS];
    size_t n = comm->rank == 0 ? ask->workload->rivals(ask->context, plan, rival) : 0;

    memset(measured, 0, sizeof measured);
    mf_comm_bcast(comm, 0, &n, sizeof n);
    mf_comm_bcast(comm, 0, rival, sizeof rival);
    if (n > 0) MF_TRY(ask->workload->steps(ask->context, n, rival, measured));
    MF_TRY(mf_refuse_together(comm, comm->rank == 0 && n > 0 ? compare(ask, n, rival, measured, plan) : MF_OK));
    plan->trials = n;
    return MF_OK;
}
