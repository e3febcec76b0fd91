/* See generate_work.h. */
#include "src/cmd/files/generate_work.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/dry.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/files/data.h"
#include "src/session/peaks.h"

enum { OPERATIONS, TRAFFIC, NODES }; /* facts: of a look of the network at a pass */

static const struct generate_job *job_of(const void *context) { return context; }

static size_t samples_of(const struct generate_job *job) { return (size_t)job->o->samples; }

static size_t first_of(const struct generate_job *job, int device) { return mf_generate_pass(job->o, device); }

/* ---- bytes ---- */

/* The rank computes on the device of @p queue. @p apart: it has memory of its own. */
static int count(const struct generate_job *job, size_t pass, struct mf_queue *queue, int apart,
                 struct mf_plan_bytes bytes[MF_PLAN_MEMORIES])
{
    const struct mf_generator_form form = mf_generate_form(job, pass);
    struct mf_plan_bytes *state = &bytes[MF_PLAN_STATE], *host = apart ? &bytes[MF_PLAN_HOST] : state;
    struct generate_job place = *job; /* the arrays of the job stay where they are */
    struct mf_model_needs needs;

    memset(bytes, 0, MF_PLAN_MEMORIES * sizeof *bytes);
    MF_TRY(mf_generator_foresee(&job->card, &form, queue, &needs));
    mf_plan_bytes_add(state, "weights", needs.weights);
    mf_plan_bytes_add(state, "activations of the network", needs.device - needs.weights);
    mf_plan_bytes_add(host, "samples of a pass", needs.host + mf_generate_lay(&place, pass, NULL));
    mf_plan_bytes_add(host, "measures of a sample", job->measuring);
    state->fact[OPERATIONS] = needs.operations;
    state->fact[TRAFFIC] = needs.traffic;
    state->fact[NODES] = needs.nodes;
    return MF_OK;
}

static int bytes_of(const void *context, const struct mf_plan_rank *r, const struct mf_plan_numbers *settings,
                    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES])
{
    const struct generate_job *job = job_of(context);
    const struct mf_dry_kind kind = {r->simd, r->apart, r->capability};
    struct mf_backend_dry dry;
    struct mf_arena *arena = NULL;
    struct mf_queue *queue = NULL;
    int rc;

    mf_backend_dry(&kind, &dry);
    mf_fault_hold(1);
    rc = mf_arena_open(&arena, &mf_mem_dry, 0);
    if (rc == MF_OK)
        rc = mf_queue_dry(&queue, &dry, (int)r->threads, job->session->settings.deterministic, arena, arena);
    if (rc == MF_OK) rc = count(job, mf_plan_get(settings, "pass"), queue, r->apart, bytes);
    if (queue) dry.backend.queue_close(queue);
    mf_arena_close(arena);
    mf_fault_hold(0);
    if (rc == MF_OK) mf_plan_bytes_add(&bytes[r->apart ? MF_PLAN_HOST : MF_PLAN_STATE], "in use before", r->in_use);
    return rc;
}

int mf_generate_foresee(struct generate_job *job)
{
    struct mf_session *s = job->session;
    struct mf_plan_bytes bytes[MF_PLAN_MEMORIES];
    const int apart = s->device != s->arena;

    MF_TRY(count(job, job->pass, s->queue, apart, bytes));
    job->operations = mf_generate_looks(job->o) * bytes[MF_PLAN_STATE].fact[OPERATIONS];
    s->predicted = (double)bytes[apart ? MF_PLAN_HOST : MF_PLAN_STATE].total;
    if (apart) s->predicted_device = (double)bytes[MF_PLAN_STATE].total;
    return MF_OK;
}

/* ---- the problem ---- */

static const char *smaller(const void *context)
{
    return job_of(context)->layers > 0 ? "fewer --layers" : "a smaller network";
}

static void describe(const void *context, struct mf_plan_lines *p)
{
    const struct generate_job *job = job_of(context);
    const size_t *d = job->card.dims;
    char *word = mf_arch_word(job->card.arch, &job->card.args);

    mf_plan_say(p, "verb", "generate");
    mf_plan_say(p, "network", "%s", word);
    mf_plan_say(p, "sample", "%zu x %zu, %zu channel%s", d[1], d[2], d[3], MF_S(d[3]));
    mf_plan_say(p, "samples", "%zu", samples_of(job));
    mf_plan_say(p, "steps", "%ld", job->o->steps);
    if (mf_generate_type(job->o) != MF_F32) mf_plan_say(p, "activations", "%s", job->o->precision);
    if (job->o->guidance != 1) mf_plan_say(p, "guidance", "%g", job->o->guidance);
    mf_plan_say(p, "layers kept", "%zu", job->layers);
    mf_plan_say(p, "layers masked", "%zu", job->masks.count);
    free(word);
}

static size_t passes_of(const struct generate_job *job, size_t pass) { return (samples_of(job) + pass - 1) / pass; }

/* With passes of the first choice on cores: others are for want of memory. */
static size_t most_ranks(const void *context)
{
    const struct generate_job *job = job_of(context);

    return passes_of(job, first_of(job, 0));
}

/* From the first choice on, halves, as the run tries them. */
static int settings(const void *context, const struct mf_placement *place, size_t level, size_t trial,
                    struct mf_plan_numbers *s)
{
    size_t pass = first_of(job_of(context), place->device);

    (void)level;
    for (size_t k = 1; k < trial; ++k) {
        if (pass == 1) return 0;
        pass = (pass + 1) / 2;
    }
    mf_plan_set(s, "pass", trial == 0 ? 1 : pass);
    return 1;
}

static uint64_t share(const void *context, const struct mf_plan_numbers *settings, size_t ranks, size_t rank)
{
    (void)context;
    (void)settings;
    (void)ranks;
    (void)rank;
    return 0;
}

/* ---- price ---- */

static void price(const void *context, const struct mf_placement *place, size_t rank, const struct mf_rates *rates,
                  const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS], struct mf_plan_cost *cost)
{
    const struct generate_job *job = job_of(context);
    const double looks = mf_generate_looks(job->o), pass = (double)mf_plan_get(settings, "pass");

    (void)rank;
    mf_plan_pay_lists(cost, place, rates, mf_generate_type(job->o) != MF_F32, looks * fact[OPERATIONS],
                      looks * fact[TRAFFIC]);
    mf_plan_pay(cost, "waiting", place->device ? looks * fact[NODES] * MF_SECONDS_LAUNCH : 0);
    mf_plan_scale(cost, 1 / (pass * (double)place->ranks));
    cost->tried = cost->total;
}

static void run_cost(const void *context, const struct mf_placement *place, const struct mf_rates *rates,
                     const struct mf_plan_numbers *settings, const double fact[MF_PLAN_FACTS],
                     const struct mf_plan_cost *step, struct mf_plan_cost *run)
{
    (void)place, (void)rates, (void)settings, (void)fact;
    *run = *step;
    mf_plan_scale(run, (double)samples_of(job_of(context)));
}

static void finish(const void *context, const struct mf_placement *place, const double fact[MF_PLAN_FACTS],
                   struct mf_plan *p)
{
    const struct generate_job *job = job_of(context);
    const size_t pass = mf_plan_get(&p->settings, "pass");

    mf_plan_set(&p->derived, "passes", passes_of(job, pass));
    mf_plan_set(&p->derived, "mac_of_sample",
                (size_t)(fact[OPERATIONS] / 2 / (double)pass * mf_generate_looks(job->o)));
    if (pass < first_of(job, place->device))
        mf_plan_note(p, "passes of %zu samples instead of %zu: those do not fit", pass, first_of(job, place->device));
}

static void show(const struct mf_plan *p, struct mf_plan_lines *lines)
{
    const size_t passes = mf_plan_get(&p->derived, "passes");

    mf_plan_say(lines, "passes", "%zu of %zu samples", passes, mf_plan_get(&p->settings, "pass"));
    mf_plan_say(lines, "work", "%.4g GMAC for a sample", 1e-9 * (double)mf_plan_get(&p->derived, "mac_of_sample"));
}

const struct mf_plan_workload mf_generate_workload = {.step = "sample",
                                                      .smaller = smaller,
                                                      .describe = describe,
                                                      .most_ranks = most_ranks,
                                                      .settings = settings,
                                                      .share = share,
                                                      .bytes = bytes_of,
                                                      .price = price,
                                                      .run = run_cost,
                                                      .finish = finish,
                                                      .show = show};

/* ---- what it took ---- */

/* How fast samples were made, and what took the time: means over the ranks, which make passes in step. Collective. */
static void speed(const struct generate_job *job, struct mf_json *at)
{
    const struct mf_comm *comm = job->session->comm;
    const struct mf_generate_times *t = &job->times;
    double sum[] = {t->network, t->measuring, t->writing}, all = t->all;
    struct mf_json *speed = mf_json_object();
    const double samples = (double)t->samples, gmac = 0.5e-9 * job->operations * (double)t->passes;

    mf_comm_sum(comm, 3, sum);
    mf_comm_max(comm, 1, &all);
    for (int k = 0; k < 3; ++k) sum[k] /= comm->size;
    MF_JSON(speed, "samples", t->samples, "seconds", all, "samples_per_second", samples / all, "gmac_per_second",
            gmac / all, "network_alone", samples / sum[0]);
    MF_JSON(speed, "network_seconds", sum[0], "measuring_seconds", sum[1], "writing_seconds", sum[2]);
    mf_json_put(at, "speed", speed);
    if (comm->rank != 0 || mf_common_of(job->session)->json) return;
    mf_info("%zu samples in %.3g s: %.4g samples/s (the network alone: %.4g), %.3g GMAC/s; measures %.1f %%, writing "
            "%.1f %%",
            t->samples, all, samples / all, samples / sum[0], gmac / all, 100 * sum[1] / all, 100 * sum[2] / all);
}

/* Members about a run: samples of a pass, and bytes. Collective. */
static int facts(const struct generate_job *job, struct mf_json *at)
{
    struct mf_peaks peaks;

    MF_TRY(mf_peaks_of(job->session, &peaks));
    mf_json_int(at, "pass_size", (long long)job->pass);
    mf_peaks_json(&peaks, at);
    if (job->session->comm->rank == 0 && !mf_common_of(job->session)->json) mf_peaks_say(job->session, &peaks);
    mf_peaks_free(&peaks);
    return MF_OK;
}

static int print_counted(const struct generate_job *job, const char *path, struct mf_json *json)
{
    const struct mf_session *s = job->session;

    if (mf_common_of(s)->json) return mf_json_write(json, stdout);
    printf("%s: %zu samples in passes of %zu, nothing is written; arrays of a rank take %.0f bytes\n", path,
           samples_of(job), job->pass, s->predicted + s->predicted_device);
    return MF_OK;
}

int mf_generate_counted(const struct generate_job *job, const char *path)
{
    const struct mf_session *s = job->session;
    struct mf_json *json = mf_json_object();
    int rc;

    mf_json_bool(json, "dry_run", 1);
    MF_JSON(json, "file", path, "samples", samples_of(job));
    rc = facts(job, json);
    if (rc == MF_OK) rc = mf_agree(s->comm, s->comm->rank == 0 ? print_counted(job, path, json) : MF_OK);
    mf_json_free(json);
    return rc;
}

int mf_generate_report(const struct generate_job *job, const char *path)
{
    struct mf_json *more = mf_json_object();
    int rc = facts(job, more);

    if (rc == MF_OK && job->times.samples > 0) speed(job, more);
    if (rc == MF_OK) rc = mf_data_report(job->session, path, more);
    mf_json_free(more);
    return rc;
}
