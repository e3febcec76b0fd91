/* See recon_plan.h: what of a plan is a reconstruction's. */
#include "src/cmd/recon/recon_plan.h"

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/recon/workload.h"

int mf_recon_plan_given(const struct mf_session *s, const struct mf_recon_cmd *o, const char *path,
                        const struct mf_plan *file, size_t batch)
{
    const enum mf_residency asked = o->match.residency;
    const int host = mf_plan_get(&file->settings, "offload") > 0;

    if (batch) MF_TRY(mf_plan_for_setting(path, file, "batch", "--batch_size", batch));
    if (mf_given(s, "history"))
        MF_TRY(mf_plan_for_setting(path, file, "history", "--history", (size_t)o->match.history));
    if (file->apart && asked && asked != (host ? MF_RESIDE_HOST : MF_RESIDE_DEVICE))
        return mf_fail(MF_USAGE, "--plan '%.200s' says residency %s, --residency says %s", path,
                       host ? "host" : "device", asked == MF_RESIDE_HOST ? "host" : "device");
    return MF_OK;
}

void mf_recon_few_threads(struct mf_session *session, const size_t dims[3], const struct mf_target *target,
                          const struct mf_solve_opts *solve)
{
    struct mf_recon_work work = {.dims = dims, .target = target, .opts = solve};

    if (!session->threads_free || session->backend->devices) return;
    mf_recon_work_look(&work);
    session->home->threads = session->queue->threads =
        (int)mf_recon_threads(&work, (size_t)session->comm->size, (size_t)session->queue->threads);
}

/* A run, and what of it is planned. */
struct planned {
    struct mf_session *session;
    const struct mf_recon_cmd *o;
    struct mf_solve_opts *solve;
    struct mf_recon_work work;
};

static int take(void *context, const char *path, const struct mf_plan *file)
{
    struct planned *p = context;

    MF_TRY(mf_recon_plan_given(p->session, p->o, path, file, p->work.batch));
    if (file->apart) p->work.residency = mf_plan_get(&file->settings, "offload") ? MF_RESIDE_HOST : MF_RESIDE_DEVICE;
    p->work.batch = mf_plan_get(&file->settings, "batch");
    if (!p->solve->history_kept && mf_plan_find(&file->settings, "history"))
        p->work.history = mf_plan_get(&file->settings, "history");
    p->work.history_fixed = 1;
    return MF_OK;
}

static int apply(void *context, const struct mf_plan_numbers *settings)
{
    struct planned *p = context;

    mf_recon_take_settings(settings, p->solve);
    return mf_session_reside(p->session, mf_plan_get(settings, "offload") > 0);
}

static void tell(const void *context, const struct mf_plan_numbers *derived, FILE *to)
{
    const struct planned *p = context;
    const size_t in_flight = mf_recon_in_flight(derived);

    fprintf(to, ", %zu slice%s in flight", in_flight, MF_S(in_flight));
    if (p->solve->method.method->remembers) fprintf(to, ", history %zu", p->solve->method.history);
}

/* Work after the gradient stages of a run, in evaluations. */
static double after_of(const struct mf_json *plan, double runs)
{
    const struct mf_json *run = plan ? mf_json_get(plan, "seconds_of_run") : NULL;
    const struct mf_json *step = run ? mf_json_get(plan, "seconds_per_evaluation") : NULL;

    if (!run) return 0;
    return (mf_json_to_real(mf_json_get(run, "total")) - mf_json_to_real(mf_json_get(run, "evaluations"))) / runs /
           mf_json_to_real(mf_json_get(step, "total"));
}

static struct planned planned_of(struct mf_session *session, const struct mf_recon_cmd *o, const size_t dims[3],
                                 const struct mf_target *target, struct mf_solve_opts *solve)
{
    const size_t kept = solve->history_kept;
    struct planned p = {.session = session,
                        .o = o,
                        .solve = solve,
                        .work = {.dims = dims,
                                 .target = target,
                                 .opts = solve,
                                 .deterministic = session->settings.deterministic,
                                 .candidates = (size_t)o->match.candidates,
                                 .batch = solve->objective.batch,
                                 .history = kept ? kept : (size_t)o->match.history,
                                 .history_fixed = kept || mf_given(session, "history"),
                                 .residency = o->match.residency,
                                 .comm = session->comm,
                                 .trials = 2,
                                 .worth = 1}};

    mf_recon_work_look(&p.work);
    return p;
}

static struct mf_planned ask_for(struct planned *p)
{
    return (struct mf_planned){.session = p->session,
                               .workload = &mf_recon_workload,
                               .work = &p->work,
                               .queue = &p->work.queue,
                               .plan = p->o->plan,
                               .residency = p->o->match.residency,
                               .off = !p->o->accepted.auto_gpu,
                               .reserves = !p->o->accepted.memory_growth,
                               .tries = !mf_given(p->session, "batch-size"),
                               .context = p,
                               .take = take,
                               .apply = apply,
                               .tell = tell};
}

int mf_recon_plan_make(struct mf_session *session, const struct mf_recon_cmd *o, const size_t dims[3],
                       const struct mf_target *target, struct mf_solve_opts *solve, struct mf_run_plan *plan)
{
    struct planned p = planned_of(session, o, dims, target, solve);
    const struct mf_planned ask = ask_for(&p);

    MF_TRY(mf_planned_make(&ask, plan));
    solve->after = after_of(plan->json, o->match.candidates > 1 ? (double)o->match.candidates : 1);
    return MF_OK;
}

int mf_recon_foresee(struct mf_session *session, const struct mf_recon_cmd *o, const size_t dims[3],
                     const struct mf_target *target, struct mf_solve_opts *solve, struct mf_run_plan *plan)
{
    struct planned p = planned_of(session, o, dims, target, solve);
    const struct mf_planned ask = ask_for(&p);

    return mf_planned_foresee(&ask, plan);
}
