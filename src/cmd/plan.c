/* See plan.h. */
#include "src/cmd/plan.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/output.h"
#include "src/cmd/planned.h"
#include "src/plan/probe.h"

int mf_plan_wish_check(const struct mf_session *s, const struct mf_plan_wish *wish)
{
    if (wish->ranks < 0 || wish->ranks > 1 << 20)
        return mf_fail(MF_USAGE, "--ranks must be 0 to %d, not %ld", 1 << 20, wish->ranks);
    if (wish->verify && s->settings.dry_run)
        return mf_fail(MF_USAGE, "--verify measures, and --dry-run computes nothing: leave one of them out");
    if (wish->verify && (wish->hardware || (wish->ranks > 0 && wish->ranks != s->comm->size)))
        return mf_fail(MF_USAGE, "--verify measures on the running ranks (%d): leave --hardware and --ranks out",
                       s->comm->size);
    return MF_OK;
}

/* Where the plan goes; NULL: nowhere. The output of a configuration that is the run's is the run's. */
static const char *output_of(const struct mf_session *s)
{
    const char *output = mf_common_of(s)->output;
    const int is_run =
        output && mf_options_origin(mf_options_of(s), "output") != MF_FROM_FLAG && !mf_ends_with(output, ".json");

    return is_run ? NULL : output;
}

int mf_plan_may_write(const struct mf_session *s, const struct mf_plan_wish *wish, const char *file)
{
    const char *const inputs[] = {wish->hardware, file};

    MF_TRY(mf_session_may_write(s, output_of(s), ".json"));
    return output_of(s) ? mf_session_spares(s, output_of(s), sizeof inputs / sizeof *inputs, inputs) : MF_OK;
}

/* A plan that is being made. */
struct work {
    const struct mf_planning *p;
    struct mf_hardware hardware;
    struct mf_plan_options options;
    long number; /* of --device cuda:N */
    struct mf_plan plan;
};

static struct mf_plan_ask ask_of(struct work *w)
{
    const struct mf_planning *p = w->p;

    w->options = (struct mf_plan_options){.ranks = (size_t)p->wish->ranks, .threads = (size_t)p->common->threads};
    mf_planned_device(p->common, p->residency, &w->number, &w->options);
    w->options.apart = strcmp(w->options.device, "shadow") == 0;
    return (struct mf_plan_ask){&w->hardware, p->workload, p->work, &w->options, NULL};
}

/* Rank 0 prints; the file is everybody's. Where nothing fits (@p made) what was looked at is said all the same. */
static int report(struct work *w, int made)
{
    const struct mf_session *s = w->p->session;
    const int explain = w->p->wish->explain;
    int is_asked = made == MF_OK || (made == MF_MEMORY && (mf_common_of(s)->json || explain));
    struct mf_json *json = is_asked && w->plan.candidates > 0 ? mf_plan_json(&w->plan) : NULL;
    int rc = MF_OK;

    if (json && mf_common_of(s)->json) rc = mf_json_write(json, stdout);
    if (json && !mf_common_of(s)->json) mf_plan_print(stdout, &w->plan, explain);
    if (json && made == MF_OK && w->p->also) rc = w->p->also(w->p->context, &w->plan);
    if (made != MF_OK) {
        mf_json_free(json);
        return made;
    }
    rc = mf_agree(s->comm, rc);
    if (rc == MF_OK && output_of(s) && !s->settings.dry_run) rc = mf_hardware_write(s->comm, output_of(s), json);
    mf_json_free(json);
    return rc;
}

void mf_plan_settle_device(struct mf_common *common, const struct mf_plan_wish *wish)
{
    const struct mf_backend *backend;

    if (wish->hardware || strcmp(common->device, "auto") != 0 || mf_backend_find(&backend, "cuda") == MF_OK) return;
    mf_err_clear();
    common->device = "cpu";
}

int mf_plan_machine_of(const struct mf_session *session, struct mf_common *common, struct mf_plan_wish *wish,
                       struct mf_hardware *hardware)
{
    const struct mf_comm *comm = session->comm;
    const struct mf_backend *backend;
    struct mf_probe probe;

    if (wish->hardware) {
        if (wish->ranks == 0 && comm->size > 1)
            mf_info("plan: the number of ranks is chosen for --hardware; --ranks %d plans the number that runs here",
                    comm->size);
        return mf_agree(comm, mf_hardware_read(wish->hardware, hardware));
    }
    MF_TRY(mf_probe_run(comm, &probe));
    *hardware = probe.hardware;
    probe.hardware = (struct mf_hardware){.hosts = 0};
    if (wish->ranks == 0 && (comm->size > 1 || wish->verify)) wish->ranks = comm->size;
    mf_probe_free(&probe);
    if (strncmp(common->device, "cuda", 4) == 0) return mf_agree(comm, mf_backend_find(&backend, "cuda"));
    mf_plan_settle_device(common, wish);
    return MF_OK;
}

static int verify(struct work *w, const struct mf_plan_ask *ask)
{
    MF_TRY(mf_session_to_device(w->p->session));
    *w->p->queue = w->p->session->home;
    return mf_plan_verify(w->p->session->comm, ask, &w->plan);
}

/* Collective. */
static int make(struct work *w)
{
    const struct mf_comm *comm = w->p->session->comm;
    const struct mf_plan_ask ask = ask_of(w);

    MF_TRY(mf_refuse_together(comm, comm->rank == 0 ? mf_plan_make(&ask, &w->plan) : MF_OK));
    return w->p->wish->verify ? verify(w, &ask) : MF_OK;
}

int mf_plan_verb(const struct mf_planning *planning)
{
    struct work w = {.p = planning};
    int rc = mf_plan_machine_of(planning->session, planning->common, planning->wish, &w.hardware);

    if (rc == MF_OK) rc = report(&w, make(&w));
    mf_plan_free(&w.plan);
    mf_hardware_free(&w.hardware);
    return rc;
}
