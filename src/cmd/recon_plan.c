/* See recon_plan.h. */
#include "src/cmd/recon_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/redistribute.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/device.h"
#include "src/plan/here.h"
#include "src/recon/task.h"

void mf_recon_plan_device(const struct mf_common *common, const char *residency, long *number,
                          struct mf_plan_options *options)
{
    const enum mf_residency wish = mf_residency_of(residency);

    options->stays = wish != MF_RESIDE_AUTO;
    options->remedy = wish == MF_RESIDE_DEVICE ? "--residency auto" : NULL;
    options->device = common->device;
    options->memory_limit = (size_t)common->memory_limit << 20;
    options->gpu_ids = common->gpu_ids.count;
    options->gpu_id = common->gpu_ids.at;
    options->share_gpu = common->share_gpu;
    options->exchange = mf_exchange_of(common->exchange);
    if (strncmp(common->device, "cuda:", 5) != 0) return;
    *number = strtol(common->device + 5, NULL, 10);
    options->device = "cuda";
    options->gpu_ids = 1;
    options->gpu_id = number;
}

static int is_off(const struct mf_session *s, const struct mf_recon_cmd *o)
{
    return s->common->dry_run || !o->accepted.auto_gpu || strcmp(o->plan, "off") == 0;
}

int mf_recon_plan_check(const struct mf_session *s, const struct mf_recon_cmd *o)
{
    if (!*o->plan) return mf_fail(MF_USAGE, "--plan wants auto, off or a file of mesoforge plan --output");
    if (!o->accepted.auto_gpu && mf_options_given(s->options, "plan") && strcmp(o->plan, "off") != 0)
        return mf_fail(MF_USAGE, "--no_auto_gpu_config turns the planner off: it and --plan %s contradict each other",
                       o->plan);
    if (o->accepted.auto_gpu && mf_options_given(s->options, "auto_gpu_config") && strcmp(o->plan, "off") == 0)
        return mf_fail(MF_USAGE, "--auto_gpu_config and --plan off contradict each other");
    return MF_OK;
}

/* ---- rank 0 ---- */

/* What the plan is made for. */
struct ask {
    struct mf_session *session;
    const struct mf_recon_cmd *o;
    struct mf_solve_opts *solve;
    struct mf_recon_work work;
    struct mf_plan_here here;
    struct mf_plan_options options;
    long number; /* of --device cuda:N */
    struct mf_plan_ask plan_of;
    struct mf_plan plan; /* rank 0 */
};

static void fill_options(struct ask *a)
{
    const struct mf_session *s = a->session;

    a->options = (struct mf_plan_options){.threads = a->here.world.threads[0],
                                          .threads_free = s->threads_free,
                                          .apart = s->device != s->arena && !s->backend->devices};
    mf_recon_plan_device(s->common, a->o->residency, &a->number, &a->options);
    if (!mf_device_is_free(s)) a->options.device = s->backend->devices ? "cuda" : "cpu";
    a->options.exchange = s->comm->transport ? MF_EXCHANGE_NCCL : MF_EXCHANGE_HOST;
    a->plan_of = (struct mf_plan_ask){&a->here.probe.hardware, &mf_recon_task, &a->work, &a->options, &a->here.world};
}

int mf_recon_plan_given(const struct mf_session *s, const struct mf_recon_cmd *o, const char *path,
                        const struct mf_plan *file, size_t batch)
{
    const enum mf_residency asked = mf_residency_of(o->residency);
    const int host = mf_plan_get(&file->settings, "offload") > 0;

    if (batch) MF_TRY(mf_plan_for_setting(path, file, "batch", "--batch_size", batch));
    if (mf_options_given(s->options, "history"))
        MF_TRY(mf_plan_for_setting(path, file, "history", "--history", (size_t)o->history));
    if (file->apart && asked && asked != (host ? MF_RESIDE_HOST : MF_RESIDE_DEVICE))
        return mf_fail(MF_USAGE, "--plan '%.200s' says residency %s, --residency says %s", path,
                       host ? "host" : "device", o->residency);
    return MF_OK;
}

static int same_problem(const struct ask *a, const struct mf_plan *file)
{
    struct mf_plan_lines problem = {.count = 0};
    int rc;

    mf_recon_task.describe(&a->work, &problem);
    rc = mf_plan_same(a->o->plan, file, &problem, &a->here.probe.hardware);
    mf_plan_lines_free(&problem);
    return rc;
}

static int check_file(const struct ask *a, const struct mf_plan *file)
{
    const char *path = a->o->plan;
    const size_t ranks = a->here.world.ranks;

    MF_TRY(same_problem(a, file));
    MF_TRY(mf_plan_for_ranks(path, file, ranks));
    if (!file->apart && mf_device_is_free(a->session))
        return mf_fail(MF_DEVICE, "--plan '%.200s' is for the cores", path);
    MF_TRY(mf_plan_for_device(path, file, a->session->backend->name));
    for (size_t r = 0; r < ranks; ++r) MF_TRY(mf_plan_for_threads(path, file, r, a->here.world.threads[r]));
    return mf_recon_plan_given(a->session, a->o, path, file, a->work.batch);
}

/* A stored plan replaces what is free; what the user also gave must be the same. */
static int take_file(struct ask *a)
{
    struct mf_plan file;
    int rc = mf_plan_read(a->o->plan, &file);

    if (rc == MF_OK) rc = check_file(a, &file);
    if (rc == MF_OK) {
        if (file.apart) a->work.residency = mf_plan_get(&file.settings, "offload") ? MF_RESIDE_HOST : MF_RESIDE_DEVICE;
        a->options.device = file.device ? "cuda" : "cpu";
        a->work.batch = mf_plan_get(&file.settings, "batch");
        if (!a->solve->history_kept && mf_plan_find(&file.settings, "history"))
            a->work.history = mf_plan_get(&file.settings, "history");
        a->work.history_fixed = 1;
    }
    mf_plan_free(&file);
    return rc;
}

/* The run is on GPUs and the plan is not. */
static int leave_gpus(const struct mf_plan *plan)
{
    return mf_fail(MF_DEVICE, "%s",
                   plan->why_cores ? plan->note[plan->why_cores - 1] : "the planner finds no GPU that it may use");
}

static int plan_run(struct ask *a)
{
    if (strcmp(a->o->plan, "auto") != 0) MF_TRY(take_file(a));
    MF_TRY(mf_plan_make(&a->plan_of, &a->plan));
    return a->session->backend->devices && !a->plan.device ? leave_gpus(&a->plan) : MF_OK;
}

/* ---- all ranks ---- */

static size_t size_in(const struct mf_json *json, const char *key)
{
    return (size_t)mf_json_to_int(mf_json_get(json, key));
}

int mf_recon_few_threads(struct mf_session *session, const size_t dims[3], const struct mf_target *target,
                         const struct mf_solve_opts *solve)
{
    struct mf_recon_work work = {.dims = dims, .target = target, .opts = solve};

    if (!session->threads_free || session->backend->devices) return MF_OK;
    mf_recon_work_look(&work);
    session->home->threads = session->queue->threads =
        (int)mf_recon_threads(&work, (size_t)session->comm->size, (size_t)session->queue->threads);
    return MF_OK;
}

/* What a rank's arena will have held at the end; a match has characterised before, and batches were tried. */
static double predicted(const struct mf_json *bytes, int rank, const struct mf_arena *arena)
{
    return fmax(mf_json_to_real(mf_json_item(mf_json_get(bytes, "per_rank"), (size_t)rank)),
                (double)mf_arena_peak(arena));
}

static void predict(struct mf_session *s, const struct mf_json *plan)
{
    const struct mf_json *host = mf_json_get(plan, "host_bytes"), *state = mf_json_get(plan, "bytes");

    s->predicted = predicted(host ? host : state, s->comm->rank, s->arena);
    if (host) s->predicted_device = predicted(state, s->comm->rank, s->device);
}

/* Sets what the plan fixes. */
static int apply(struct ask *a, struct mf_recon_plan *plan, struct mf_plan_numbers *derived)
{
    struct mf_plan_numbers settings;

    MF_ASSERT(mf_plan_numbers_read(mf_json_get(plan->json, "settings"), &settings));
    MF_ASSERT(mf_plan_numbers_read(mf_json_get(plan->json, "derived"), derived));
    mf_recon_take_settings(&settings, a->solve);
    return mf_session_reside(a->session, mf_plan_get(&settings, "offload") > 0);
}

/* The plan in a line, its notes, and what trials said. */
static void say(const struct ask *a, const struct mf_json *json, size_t in_flight)
{
    const struct mf_json *notes = mf_json_get(json, "notes"), *tried = mf_json_get(json, "verified");
    char history[40] = "";

    if (a->solve->method.method->remembers)
        snprintf(history, sizeof history, ", history %zu", a->solve->method.history);
    mf_info("plan: %zu rank%s of %zu thread%s on %s, %zu slice%s in flight%s", size_in(json, "ranks"),
            MF_S(size_in(json, "ranks")), size_in(json, "threads"), MF_S(size_in(json, "threads")),
            mf_json_get_text(json, "device"), in_flight, MF_S(in_flight), history);
    for (size_t i = 0; i < mf_json_count(notes); ++i) mf_info("plan: %s", mf_json_to_text(mf_json_item(notes, i)));
    for (size_t i = 0; i < mf_json_count(tried); ++i) {
        const struct mf_json *one = mf_json_item(tried, i);

        mf_info("plan: batch %zu takes %.3g ms an evaluation", size_in(mf_json_get(one, "settings"), "batch"),
                1e3 * mf_json_to_real(mf_json_get(one, "measured")));
    }
}

static int share(struct ask *a, struct mf_recon_plan *plan, struct mf_plan_numbers *derived)
{
    mf_json_free(plan->json);
    MF_TRY(mf_plan_share(a->session->comm, &a->plan, &plan->json));
    return apply(a, plan, derived);
}

/* Trials of batches that nobody asked for. */
static int may_try(const struct ask *a)
{
    return strcmp(a->o->plan, "auto") == 0 && !mf_options_given(a->session->options, "batch-size");
}

/* Made, tried, and where a trial says so made again with the batch that won. */
static int make_and_try(struct ask *a, struct mf_recon_plan *plan)
{
    struct mf_session *s = a->session;
    const struct mf_slab slab = mf_slab_of(s->comm, a->work.dims, s->comm->rank);
    struct mf_plan_numbers derived;
    size_t in_use = mf_arena_live(s->arena);
    int rc;

    if (a->o->candidates > 1) in_use += mf_slab_voxels(&slab); /* labels of the best while others run */
    MF_TRY(mf_plan_here(s->comm, (size_t)s->queue->threads, in_use, &a->here));
    if (s->backend->devices && !mf_plan_here_gpus(&a->here)) {
        mf_info("plan: the driver's library shows no GPU on some node, so the run is not planned");
        return MF_OK;
    }
    fill_options(a);
    rc = mf_refuse_together(s->comm, s->comm->rank == 0 ? plan_run(a) : MF_OK);
    plan->unfit = rc == MF_MEMORY || rc == MF_DEVICE;
    MF_TRY(rc);
    MF_TRY(share(a, plan, &derived));
    a->work.queue = s->home;
    if (may_try(a)) MF_TRY(mf_plan_verify(s->comm, &a->plan_of, &a->plan));
    if (a->plan.trials) MF_TRY(share(a, plan, &derived));
    say(a, plan->json, mf_recon_in_flight(&derived));
    predict(s, plan->json);
    return MF_OK;
}

static double mib(size_t bytes) { return (double)bytes / (1 << 20); }

/* What of the planned bytes never comes from the arena: buffers that ranks share, and what FFTW keeps. */
static size_t elsewhere(const struct mf_json *bytes)
{
    const struct mf_json *arrays = mf_json_get(bytes, "arrays");
    static const char *const tags[] = {MF_SHARED_TAG, "FFTW plans"};
    size_t sum = 0;

    for (size_t i = 0; i < sizeof tags / sizeof *tags; ++i)
        if (mf_json_get(arrays, tags[i])) sum += size_in(arrays, tags[i]);
    return sum;
}

/* What @p arena will hold by the plan (@p bytes of it: what), or may hold by --memory-limit, less what it holds. */
static size_t ahead(const struct mf_arena *arena, double planned, const struct mf_json *bytes)
{
    const size_t all = planned > 0 ? (size_t)planned : mf_arena_limit(arena);
    const size_t less = mf_arena_live(arena) + (planned > 0 ? elsewhere(bytes) : 0);

    return all > less ? all - less : 0;
}

/* --no_memory_growth: what the run will need it has from now on. */
static int reserve(const struct mf_session *s, const struct mf_recon_cmd *o, const struct mf_recon_plan *plan)
{
    const int apart = s->device != s->arena;
    const struct mf_json *state = mf_json_get(plan->json, "bytes"), *home = mf_json_get(plan->json, "host_bytes");
    const size_t host = ahead(s->arena, s->predicted, home ? home : state);
    const size_t device = apart ? ahead(s->device, s->predicted_device, state) : 0;
    int rc;

    if (o->accepted.memory_growth || s->common->dry_run) return MF_OK;
    rc = mf_arena_reserve(s->home_arena ? s->home_arena : s->arena, host, 1);
    if (rc == MF_OK && apart) rc = mf_arena_reserve(s->device, device, 0);
    if (host + device == 0)
        mf_info("--no_memory_growth: nothing is taken ahead, there is neither a plan nor a --memory-limit");
    else if (rc == MF_OK)
        mf_info("--no_memory_growth: %.1f MiB are taken now", mib(host + device));
    return mf_agree(s->comm, rc);
}

int mf_recon_plan_make(struct mf_session *session, const struct mf_recon_cmd *o, const size_t dims[3],
                       const struct mf_target *target, struct mf_solve_opts *solve, struct mf_recon_plan *plan)
{
    const size_t kept = solve->history_kept;
    struct ask a = {.session = session, .o = o, .solve = solve};
    int rc;

    *plan = (struct mf_recon_plan){.json = NULL};
    session->predicted = session->predicted_device = 0;
    if (is_off(session, o)) return reserve(session, o, plan);
    a.work = (struct mf_recon_work){.dims = dims,
                                    .target = target,
                                    .opts = solve,
                                    .deterministic = session->common->deterministic,
                                    .batch = solve->objective.batch,
                                    .history = kept ? kept : (size_t)o->history,
                                    .history_fixed = kept || mf_options_given(session->options, "history"),
                                    .residency = mf_residency_of(o->residency),
                                    .comm = session->comm,
                                    .trials = 2,
                                    .worth = 1};
    mf_recon_work_look(&a.work);
    rc = make_and_try(&a, plan);
    if (rc == MF_OK) rc = reserve(session, o, plan);
    mf_plan_free(&a.plan);
    mf_plan_here_free(&a.here);
    return rc;
}

void mf_recon_plan_free(struct mf_recon_plan *plan)
{
    mf_json_free(plan->json);
    *plan = (struct mf_recon_plan){.json = NULL};
}

void mf_recon_plan_put(const struct mf_recon_plan *plan, const struct mf_solve_result *result, struct mf_json *at)
{
    char *text;

    if (!plan->json) return;
    text = mf_json_string(plan->json);
    mf_json_put(at, "plan", mf_json_parse(text));
    free(text);
    mf_json_int(at, "batch", (long long)result->batch);
}
