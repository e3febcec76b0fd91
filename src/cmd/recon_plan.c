/* See recon_plan.h. */
#include "src/cmd/recon_plan.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/device.h"
#include "src/plan/probe.h"
#include "src/recon/task.h"

/* Batches are tried only where some evaluations are a small part of a run that takes a while. */
static const double WORTH_SECONDS = 0.01;
enum { WORTH_EVALUATIONS = 200 };

int mf_refuse_together(const struct mf_comm *comm, int rc)
{
    mf_comm_bcast(comm, 0, &rc, sizeof rc);
    if (comm->rank != 0 && rc != MF_OK) rc = mf_fail(rc, "rank 0 refuses");
    return mf_agree(comm, rc);
}

void mf_recon_plan_device(const struct mf_common *common, long *number, struct mf_plan_options *options)
{
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
    return s->common->dry_run || !s->common->auto_gpu || strcmp(o->plan, "off") == 0;
}

int mf_recon_plan_check(const struct mf_session *s, const struct mf_recon_cmd *o)
{
    if (!*o->plan) return mf_fail(MF_USAGE, "--plan wants auto, off or a file of mesoforge plan --output");
    if (!s->common->auto_gpu && mf_options_given(s->options, "plan") && strcmp(o->plan, "off") != 0)
        return mf_fail(MF_USAGE, "--no_auto_gpu_config turns the planner off: it and --plan %s contradict each other",
                       o->plan);
    if (s->common->auto_gpu && mf_options_given(s->options, "auto_gpu_config") && strcmp(o->plan, "off") == 0)
        return mf_fail(MF_USAGE, "--auto_gpu_config and --plan off contradict each other");
    return MF_OK;
}

/* ---- the ranks as they are ---- */

struct place {
    size_t threads, in_use, peak, device_peak;
};

/* What the plan is made for. */
struct ask {
    struct mf_session *session;
    const struct mf_recon_cmd *o;
    struct mf_predict predict;
    struct mf_solve_opts *solve;
    struct mf_probe probe;
    struct place *place; /* [ranks] */
    struct mf_plan plan; /* rank 0 */
};

static int look(struct ask *a)
{
    struct mf_session *s = a->session;
    struct place mine = {(size_t)s->queue->threads, mf_arena_live(s->arena), mf_arena_peak(s->arena),
                         mf_arena_peak(s->device)};
    size_t *offset = MF_MUST(calloc((size_t)s->comm->size + 1, sizeof *offset), "a plan");
    const struct mf_slab slab = mf_slab_of(s->comm, a->predict.dims, s->comm->rank);
    void *all = NULL;
    int rc;

    if (a->o->candidates > 1) mine.in_use += mf_slab_voxels(&slab); /* labels of the best while others run */
    rc = mf_comm_gather(s->comm, &mine, sizeof mine, &all, offset);

    free(offset);
    free(a->place);
    a->place = all;
    return rc;
}

/* ---- rank 0 ---- */

static struct mf_plan_options options_of(const struct ask *a, long *number)
{
    const struct mf_session *s = a->session;
    const size_t kept = a->solve->history_kept;
    struct mf_plan_options options = {.threads = a->place[0].threads,
                                      .batch = a->solve->objective.batch,
                                      .history = kept ? kept : (size_t)a->o->history,
                                      .history_fixed = kept || mf_options_given(s->options, "history"),
                                      .threads_free = s->threads_free,
                                      .apart = s->device != s->arena && !s->backend->devices,
                                      .residency = mf_residency_of(a->o->residency)};

    mf_recon_plan_device(s->common, number, &options);
    if (!mf_device_is_free(s)) options.device = s->backend->devices ? "cuda" : "cpu";
    options.exchange = s->comm->wire ? MF_EXCHANGE_NCCL : MF_EXCHANGE_HOST;
    return options;
}

int mf_recon_plan_ranks(const char *path, const struct mf_plan *file, size_t ranks)
{
    if (file->ranks == ranks) return MF_OK;
    return mf_fail(MF_USAGE, "--plan '%.200s' is for %zu rank%s, this run has %zu", path, file->ranks,
                   MF_S(file->ranks), ranks);
}

int mf_recon_plan_on(const char *path, const struct mf_plan *file, const char *device)
{
    if (strcmp(mf_plan_device(file->device, file->apart), device) == 0) return MF_OK;
    return mf_fail(MF_USAGE, "--plan '%.200s' is for device %s, this run is on %s", path,
                   mf_plan_device(file->device, file->apart), device);
}

int mf_recon_plan_threads(const char *path, const struct mf_plan *file, size_t rank, size_t threads)
{
    if (file->device || file->threads == threads) return MF_OK;
    return mf_fail(MF_USAGE, "--plan '%.200s' is for %zu thread%s per rank, rank %zu has %zu; try: %s--threads %zu",
                   path, file->threads, MF_S(file->threads), rank, threads,
                   file->threads > threads ? "mesoforge plan on this machine, or, if it has those cores, " : "",
                   file->threads);
}

int mf_recon_plan_given(const struct mf_session *s, const struct mf_recon_cmd *o, const char *path,
                        const struct mf_plan *file, size_t batch)
{
    const enum mf_residency asked = mf_residency_of(o->residency),
                            is = file->passes ? MF_RESIDE_HOST : MF_RESIDE_DEVICE;

    if (batch && batch != file->batch)
        return mf_fail(MF_USAGE, "--plan '%.200s' says batch %zu, --batch_size says %zu", path, file->batch, batch);
    if (mf_options_given(s->options, "history") && (size_t)o->history != file->history)
        return mf_fail(MF_USAGE, "--plan '%.200s' says history %zu, --history says %ld", path, file->history,
                       o->history);
    if (file->apart && asked && asked != is)
        return mf_fail(MF_USAGE, "--plan '%.200s' says residency %s, --residency says %s", path,
                       file->passes ? "host" : "device", o->residency);
    return MF_OK;
}

/* A plan of a file replaces what is free; what the user also gave must be the same. */
static int take_file(const struct ask *a, const struct mf_plan_problem *problem, struct mf_plan_options *options)
{
    const char *path = a->o->plan;
    size_t ranks = (size_t)a->session->comm->size;
    struct mf_plan file;

    MF_TRY(mf_plan_read(path, &file));
    MF_TRY(mf_plan_same(path, &file, problem, &a->probe.hardware));
    MF_TRY(mf_recon_plan_ranks(path, &file, ranks));
    if (!file.apart && mf_device_is_free(a->session))
        return mf_fail(MF_DEVICE, "--plan '%.200s' is for the cores", path);
    MF_TRY(mf_recon_plan_on(path, &file, a->session->backend->name));
    for (size_t r = 0; r < ranks; ++r) MF_TRY(mf_recon_plan_threads(path, &file, r, a->place[r].threads));
    MF_TRY(mf_recon_plan_given(a->session, a->o, path, &file, options->batch));
    if (file.apart) options->residency = file.passes ? MF_RESIDE_HOST : MF_RESIDE_DEVICE;
    options->device = file.device ? "cuda" : "cpu";
    options->batch = file.batch;
    if (!a->solve->history_kept) options->history = file.history;
    options->history_fixed = 1;
    return MF_OK;
}

/* The run is on GPUs and the plan is not. */
static int leave_gpus(const struct mf_plan *plan)
{
    return mf_fail(MF_DEVICE, "%s",
                   plan->why_cores ? plan->note[plan->why_cores - 1] : "the planner finds no GPU that it may use");
}

static int plan_run(struct ask *a)
{
    size_t ranks = (size_t)a->session->comm->size;
    int *node = MF_MUST(calloc(ranks, sizeof *node), "a plan");
    size_t *threads = MF_MUST(calloc(2 * ranks, sizeof *threads), "a plan"), *in_use = threads + ranks;
    const struct mf_plan_world world = {ranks, node, threads, in_use};
    long number = 0;
    struct mf_plan_options options = options_of(a, &number);
    struct mf_plan_problem problem;
    int rc = mf_predict_problem(&a->predict, &problem);

    for (size_t r = 0; r < ranks; ++r) {
        node[r] = a->probe.rank[r].node;
        threads[r] = a->place[r].threads;
        in_use[r] = a->place[r].in_use;
    }
    if (rc == MF_OK && strcmp(a->o->plan, "auto") != 0) rc = take_file(a, &problem, &options);
    if (rc == MF_OK)
        rc = mf_plan_make(&a->probe.hardware, &problem, &options, &world, mf_predict_bytes, &a->predict, &a->plan);
    if (rc == MF_OK && a->session->backend->devices && !a->plan.device) rc = leave_gpus(&a->plan);
    free(threads);
    free(node);
    return rc;
}

/* ---- all ranks ---- */

/* Rank 0's plan to all ranks, as text; each of them looks whether it is whole. */
static int share(const struct mf_session *s, const struct mf_plan *mine, struct mf_json **json)
{
    struct mf_json *own = s->comm->rank == 0 ? mf_plan_json(mine) : NULL;
    char *whole = own ? mf_json_string(own) : NULL, *text = mf_comm_text(s->comm, whole);
    int rc;

    mf_json_free(own);
    free(whole);
    *json = mf_json_parse(text);
    free(text);
    rc = *json && mf_plan_is_whole(*json) ? MF_OK : mf_fail(MF_BROKEN, "the plan changed on its way to this rank");
    return mf_agree(s->comm, rc);
}

static size_t size_in(const struct mf_json *json, const char *key)
{
    return (size_t)mf_json_to_int(mf_json_get(json, key));
}

static double *bytes_in(const struct mf_json *bytes, size_t ranks)
{
    const struct mf_json *all = mf_json_get(bytes, "per_rank");
    double *values = MF_MUST(calloc(ranks, sizeof *values), "a plan");

    for (size_t r = 0; r < ranks; ++r) values[r] = mf_json_to_real(mf_json_item(all, r));
    return values;
}

int mf_recon_few_threads(struct mf_session *session, const size_t dims[3], const struct mf_target *target,
                         const struct mf_solve_opts *solve)
{
    const struct mf_predict predict = {.dims = dims, .target = target, .opts = solve};
    struct mf_plan_problem problem;

    if (!session->threads_free || session->backend->devices) return MF_OK;
    MF_TRY(mf_predict_problem(&predict, &problem));
    session->home->threads = session->queue->threads =
        (int)mf_plan_threads(&problem, (size_t)session->comm->size, (size_t)session->queue->threads);
    return MF_OK;
}

/* What the arenas will have held at the end: a match has characterised before, and batches were tried. */
static void predict(const struct ask *a, struct mf_recon_plan *plan)
{
    const struct mf_json *host = mf_json_get(plan->json, "host_bytes"), *state = mf_json_get(plan->json, "bytes");
    size_t ranks = plan->ranks = (size_t)a->session->comm->size;

    plan->predicted = bytes_in(host ? host : state, ranks);
    if (host) plan->state = bytes_in(state, ranks);
    for (size_t r = 0; r < ranks; ++r) {
        plan->predicted[r] = fmax(plan->predicted[r], (double)a->place[r].peak);
        if (host) plan->state[r] = fmax(plan->state[r], (double)a->place[r].device_peak);
    }
    a->session->predicted = plan->predicted[a->session->comm->rank];
}

/* Most slices of a direction that a rank works on at a time. */
static size_t flight(const struct mf_json *json)
{
    const struct mf_json *all = mf_json_get(json, "slices_in_flight");
    long long y = mf_json_to_int(mf_json_item(all, 1)), x = mf_json_to_int(mf_json_item(all, 2));

    return (size_t)(y > x ? y : x);
}

static void apply(struct mf_solve_opts *solve, const struct mf_json *json)
{
    const struct mf_json *notes = mf_json_get(json, "notes");
    char history[40] = "";

    solve->objective.batch = size_in(json, "batch");
    solve->method.history = size_in(json, "history");
    if (solve->method.method->remembers) snprintf(history, sizeof history, ", history %zu", solve->method.history);
    mf_info("plan: %zu rank%s of %zu thread%s on %s, %zu slice%s in flight%s", size_in(json, "ranks"),
            MF_S(size_in(json, "ranks")), size_in(json, "threads"), MF_S(size_in(json, "threads")),
            mf_json_to_text(mf_json_get(json, "device")), flight(json), MF_S(flight(json)), history);
    for (size_t i = 0; i < mf_json_count(notes); ++i) mf_info("plan: %s", mf_json_to_text(mf_json_item(notes, i)));
}

/* ---- trying ---- */

/* What was planned and half of the slices in flight; none of them where that is not worth it. */
static size_t batches(const struct ask *a, const struct mf_recon_plan *plan, size_t batch[3])
{
    const struct mf_json *seconds = mf_json_get(mf_json_get(plan->json, "seconds_per_evaluation"), "total");
    const size_t now = flight(plan->json);

    if (a->session->comm->size == 1 || a->predict.dims[0] == 1 || a->solve->evaluations < WORTH_EVALUATIONS) return 0;
    if (strcmp(a->o->plan, "auto") != 0 || mf_options_given(a->session->options, "batch-size")) return 0;
    if (mf_json_to_real(seconds) < WORTH_SECONDS || now < 4) return 0;
    batch[0] = a->solve->objective.batch;
    batch[1] = now / 4 * 2;
    return 2;
}

/* The fastest on the slowest rank wins. */
static int try_batches(struct ask *a, struct mf_recon_plan *plan)
{
    struct mf_session *s = a->session;
    size_t best = 0, tries = batches(a, plan, plan->batch);

    if (tries == 0) return MF_OK;
    MF_TRY(mf_solve_tune(s->comm, s->home->backend, s->home, a->predict.dims, a->predict.target, a->solve, tries,
                         plan->batch, plan->seconds));
    plan->tries = tries;
    for (size_t i = 1; i < tries; ++i)
        if (plan->seconds[i] < 0.97 * plan->seconds[best]) best = i;
    a->solve->objective.batch = plan->batch[best];
    mf_info("plan: %zu slices in flight take %.3g ms an evaluation, %zu %.3g ms: %zu", flight(plan->json),
            1e3 * plan->seconds[0], plan->batch[1], 1e3 * plan->seconds[1], best ? plan->batch[1] : flight(plan->json));
    return MF_OK;
}

static int make(struct ask *a, struct mf_recon_plan *plan)
{
    struct mf_session *s = a->session;

    int rc = mf_refuse_together(s->comm, s->comm->rank == 0 ? plan_run(a) : MF_OK);

    plan->unfit = rc == MF_MEMORY || rc == MF_DEVICE;
    MF_TRY(rc);
    MF_TRY(share(s, &a->plan, &plan->json));
    apply(a->solve, plan->json);
    return mf_session_reside(s, strcmp(mf_json_to_text(mf_json_get(plan->json, "residency")), "host") == 0);
}

/* A back end may find GPUs where the driver's library does not. */
static int shows_gpus(const struct ask *a)
{
    for (size_t r = 0; r < a->probe.ranks; ++r)
        if (a->probe.rank[r].gpus == 0) return 0;
    return 1;
}

/* Made, tried, and where a try says so made again with the batch that won. */
static int make_and_try(struct ask *a, struct mf_recon_plan *plan)
{
    size_t planned;

    MF_TRY(look(a));
    MF_TRY(mf_probe_run(a->session->comm, &a->probe));
    if (a->session->backend->devices && !shows_gpus(a)) {
        mf_info("plan: the driver's library shows no GPU on some node, so the run is not planned");
        return MF_OK;
    }
    MF_TRY(make(a, plan));
    planned = a->solve->objective.batch;
    MF_TRY(try_batches(a, plan));
    if (a->solve->objective.batch != planned) {
        mf_json_free(plan->json);
        plan->json = NULL;
        mf_plan_free(&a->plan);
        MF_TRY(make(a, plan));
    }
    if (plan->tries) MF_TRY(look(a));
    predict(a, plan);
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
static size_t ahead(const struct mf_arena *arena, const double *planned, const struct mf_json *bytes)
{
    const size_t all = planned ? (size_t)*planned : mf_arena_limit(arena);
    const size_t less = mf_arena_live(arena) + (planned ? elsewhere(bytes) : 0);

    return all > less ? all - less : 0;
}

/* --no_memory_growth: what the run will need it has from now on. */
static int reserve(const struct mf_session *s, const struct mf_recon_plan *plan)
{
    const int rank = s->comm->rank, apart = s->device != s->arena;
    const struct mf_json *state = mf_json_get(plan->json, "bytes"), *home = mf_json_get(plan->json, "host_bytes");
    const size_t host = ahead(s->arena, plan->predicted ? &plan->predicted[rank] : NULL, home ? home : state);
    const size_t device = apart ? ahead(s->device, plan->state ? &plan->state[rank] : NULL, state) : 0;
    int rc;

    if (s->common->memory_growth || s->common->dry_run) return MF_OK;
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
    struct ask a = {.session = session, .o = o, .solve = solve};
    int rc;

    *plan = (struct mf_recon_plan){.json = NULL};
    session->predicted = 0;
    if (is_off(session, o)) return reserve(session, plan);
    a.predict = (struct mf_predict){
        .dims = dims, .target = target, .opts = solve, .deterministic = session->common->deterministic};
    rc = make_and_try(&a, plan);
    if (rc == MF_OK) rc = reserve(session, plan);
    mf_plan_free(&a.plan);
    mf_probe_free(&a.probe);
    free(a.place);
    return rc;
}

void mf_recon_plan_free(struct mf_recon_plan *plan)
{
    mf_json_free(plan->json);
    free(plan->predicted);
    free(plan->state);
    *plan = (struct mf_recon_plan){.json = NULL};
}

void mf_recon_plan_put(const struct mf_recon_plan *plan, const struct mf_solve_result *result, struct mf_json *at)
{
    char *text;

    if (!plan->json) return;
    if (plan->state) mf_json_wholes(mf_json_get(at, "peak_bytes"), "predicted_device", plan->state, plan->ranks);
    text = mf_json_string(plan->json);
    mf_json_put(at, "plan", mf_json_parse(text));
    free(text);
    mf_json_int(at, "batch", (long long)result->batch);
    if (plan->tries) {
        struct mf_json *tried = mf_json_array();

        for (size_t i = 0; i < plan->tries; ++i) {
            struct mf_json *one = mf_json_object();

            mf_json_int(one, "batch", (long long)plan->batch[i]);
            mf_json_real(one, "seconds", plan->seconds[i]);
            mf_json_put(tried, NULL, one);
        }
        mf_json_put(at, "tried", tried);
    }
}
