/* See planned.h. */
#include "src/cmd/planned.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "mpi/redistribute.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/micrograph.h"
#include "src/plan/here.h"
#include "src/session/device.h"

void mf_planned_device(const struct mf_common *common, enum mf_residency residency, long *number,
                       struct mf_plan_options *options)
{
    options->stays = residency != MF_RESIDE_AUTO;
    options->remedy = residency == MF_RESIDE_DEVICE ? "--residency auto" : NULL;
    options->device = common->device;
    options->memory_limit = (size_t)common->memory_limit << 20;
    options->gpu_fraction = common->gpu_fraction;
    options->gpu_ids = common->gpu_ids.count;
    options->gpu_id = common->gpu_ids.at;
    options->share_gpu = common->share_gpu;
    options->exchange = common->exchange;
    if (strncmp(common->device, "cuda:", 5) != 0) return;
    *number = strtol(common->device + 5, NULL, 10);
    options->device = "cuda";
    options->gpu_ids = 1;
    options->gpu_id = number;
}

int mf_planned_check(const struct mf_session *s, const char *plan, int auto_gpu)
{
    if (!*plan) return mf_fail(MF_USAGE, "--plan must be auto, off or a file of mesoforge plan --output");
    if (!auto_gpu && mf_given(s, "plan") && strcmp(plan, "off") != 0)
        return mf_fail(MF_USAGE, "--no_auto_gpu_config turns the planner off: it and --plan %s contradict each other",
                       plan);
    if (auto_gpu && mf_given(s, "auto_gpu_config") && strcmp(plan, "off") == 0)
        return mf_fail(MF_USAGE, "--auto_gpu_config and --plan off contradict each other");
    return MF_OK;
}

int mf_planned_place(const struct mf_session *s, const char *path, const struct mf_plan *file, size_t ranks)
{
    const struct mf_common *common = mf_common_of(s);
    const char *device = strncmp(common->device, "cuda", 4) == 0 ? "cuda" : common->device;

    if (ranks > 0) MF_TRY(mf_plan_for_ranks(path, file, ranks));
    if (strcmp(device, "auto") != 0) MF_TRY(mf_plan_for_device(path, file, device));
    return common->threads > 0 ? mf_plan_for_threads(path, file, 0, (size_t)common->threads) : MF_OK;
}

/* ---- rank 0 ---- */

/* Question to the planner. */
struct ask {
    const struct mf_planned *p;
    struct mf_plan_here here;
    struct mf_plan_options options;
    long number; /* of --device cuda:N */
    struct mf_plan_ask plan_of;
    struct mf_plan plan; /* rank 0 */
};

static void fill_options(struct ask *a)
{
    const struct mf_session *s = a->p->session;

    a->options = (struct mf_plan_options){.threads = a->here.world.threads[0],
                                          .threads_free = s->threads_free,
                                          .apart = s->device != s->arena && !s->backend->devices};
    mf_planned_device(mf_common_of(s), a->p->residency, &a->number, &a->options);
    if (!mf_device_is_free(s)) a->options.device = s->backend->devices ? "cuda" : "cpu";
    a->options.exchange = s->comm->transport ? MF_EXCHANGE_NCCL : MF_EXCHANGE_HOST;
    a->plan_of = (struct mf_plan_ask){&a->here.probe.hardware, a->p->workload, a->p->work, &a->options, &a->here.world};
}

static int same_problem(const struct ask *a, const struct mf_plan *file)
{
    struct mf_plan_lines problem = {.count = 0};
    int rc;

    a->p->workload->describe(a->p->work, &problem);
    rc = mf_plan_same(a->p->plan, file, &problem, &a->here.probe.hardware);
    mf_plan_lines_free(&problem);
    return rc;
}

static int check_file(const struct ask *a, const struct mf_plan *file)
{
    const struct mf_session *s = a->p->session;
    const char *path = a->p->plan;
    const size_t ranks = a->here.world.ranks;

    MF_TRY(same_problem(a, file));
    MF_TRY(mf_plan_for_ranks(path, file, ranks));
    if (!file->apart && mf_device_is_free(s)) return mf_fail(MF_DEVICE, "--plan '%.200s' is for the cores", path);
    MF_TRY(mf_plan_for_device(path, file, s->backend->name));
    for (size_t r = 0; r < ranks; ++r) MF_TRY(mf_plan_for_threads(path, file, r, a->here.world.threads[r]));
    return MF_OK;
}

/* A stored plan replaces what is free; what the user also gave must be the same. */
static int take_file(struct ask *a)
{
    struct mf_plan file;
    int rc = mf_plan_read(a->p->plan, &file);

    if (rc == MF_OK) rc = check_file(a, &file);
    if (rc == MF_OK) rc = a->p->take(a->p->context, a->p->plan, &file);
    if (rc == MF_OK) a->options.device = file.device ? "cuda" : "cpu";
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
    if (strcmp(a->p->plan, "auto") != 0) MF_TRY(take_file(a));
    MF_TRY(mf_plan_make(&a->plan_of, &a->plan));
    return a->p->session->backend->devices && !a->plan.device ? leave_gpus(&a->plan) : MF_OK;
}

/* ---- all ranks ---- */

static size_t size_in(const struct mf_json *json, const char *key)
{
    return (size_t)mf_json_to_int(mf_json_get(json, key));
}

/* Bytes that a rank's arena will have held at the end; a match has characterised before, and batches were tried. */
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

/* ", about 25 s". A server has no end. */
static void say_seconds(const struct mf_json *plan, FILE *to)
{
    const struct mf_json *run = mf_json_get(plan, "seconds_of_run");
    const double seconds = run ? mf_json_to_real(mf_json_get(run, "total")) : 0;
    char text[MF_DURATION_TEXT];

    if (seconds > 0) fprintf(to, ", about %s", mf_duration_text(seconds, text));
}

/* The plan in a line, its notes, and what trials said. */
static void say(const struct mf_planned *p, const struct mf_json *json)
{
    const struct mf_json *notes = mf_json_get(json, "notes"), *tried = mf_json_get(json, "verified");
    struct mf_plan_numbers derived, settings;
    char *more = NULL, text[160];
    size_t size;
    FILE *to = MF_MUST(open_memstream(&more, &size), "a line");

    MF_ASSERT(mf_plan_numbers_read(mf_json_get(json, "derived"), &derived));
    p->tell(p->context, &derived, to);
    say_seconds(json, to);
    MF_ASSERT(fclose(to) == 0);
    mf_info("plan: %zu rank%s of %zu thread%s on %s%s", size_in(json, "ranks"), MF_S(size_in(json, "ranks")),
            size_in(json, "threads"), MF_S(size_in(json, "threads")), mf_json_get_text(json, "device"), more);
    free(more);
    for (size_t i = 0; i < mf_json_count(notes); ++i) mf_info("plan: %s", mf_json_to_text(mf_json_item(notes, i)));
    for (size_t i = 0; i < mf_json_count(tried); ++i) {
        const struct mf_json *one = mf_json_item(tried, i);

        MF_ASSERT(mf_plan_numbers_read(mf_json_get(one, "settings"), &settings));
        mf_info("plan: %s: %.3g ms per %s", mf_plan_numbers_text(&settings, sizeof text, text),
                1e3 * mf_json_to_real(mf_json_get(one, "measured")), p->workload->step);
    }
}

/* Rank 0's plan becomes everybody's. */
static int share(struct ask *a, struct mf_run_plan *plan)
{
    struct mf_plan_numbers settings;

    mf_json_free(plan->json);
    MF_TRY(mf_plan_share(a->p->session->comm, &a->plan, &plan->json));
    MF_ASSERT(mf_plan_numbers_read(mf_json_get(plan->json, "settings"), &settings));
    return a->p->apply(a->p->context, &settings);
}

/* Made, tried, and where a trial says so made again with the settings that won. */
static int make_and_try(struct ask *a, struct mf_run_plan *plan)
{
    const struct mf_planned *p = a->p;
    struct mf_session *s = p->session;
    int rc;

    MF_TRY(mf_plan_here(s->comm, (size_t)s->queue->threads, mf_arena_live(s->arena), &a->here));
    if (s->backend->devices && !mf_plan_here_gpus(&a->here)) {
        mf_info("plan: the driver's library shows no GPU on some node, so the run is not planned");
        return MF_OK;
    }
    fill_options(a);
    rc = mf_refuse_together(s->comm, s->comm->rank == 0 ? plan_run(a) : MF_OK);
    plan->unfit = rc == MF_MEMORY || rc == MF_DEVICE;
    MF_TRY(rc);
    MF_TRY(share(a, plan));
    *p->queue = s->home;
    if (p->tries && strcmp(p->plan, "auto") == 0) MF_TRY(mf_plan_verify(s->comm, &a->plan_of, &a->plan));
    if (a->plan.trials) MF_TRY(share(a, plan));
    say(p, plan->json);
    predict(s, plan->json);
    return MF_OK;
}

static int foresee(struct ask *a, struct mf_run_plan *plan)
{
    const struct mf_planned *p = a->p;
    const struct mf_session *s = p->session;
    int rc;

    MF_TRY(mf_plan_here(s->comm, (size_t)s->queue->threads, mf_arena_live(s->arena), &a->here));
    if (s->backend->devices && !mf_plan_here_gpus(&a->here)) return MF_OK;
    fill_options(a);
    rc = mf_refuse_together(s->comm, s->comm->rank == 0 ? mf_plan_make(&a->plan_of, &a->plan) : MF_OK);
    if (rc == MF_OK) return mf_plan_share(s->comm, &a->plan, &plan->json);
    plan->unfit = rc == MF_MEMORY;
    mf_err_clear();
    return MF_OK;
}

int mf_planned_foresee(const struct mf_planned *p, struct mf_run_plan *plan)
{
    struct ask a = {.p = p};
    int rc;

    *plan = (struct mf_run_plan){.json = NULL};
    rc = foresee(&a, plan);
    mf_plan_free(&a.plan);
    mf_plan_here_free(&a.here);
    return rc;
}

static double mib(size_t bytes) { return (double)bytes / (1 << 20); }

/* Planned bytes that never come from the arena: buffers that ranks share, and those that FFTW keeps. */
static size_t elsewhere(const struct mf_json *bytes)
{
    const struct mf_json *arrays = mf_json_get(bytes, "arrays");
    static const char *const tags[] = {MF_SHARED_TAG, "FFTW plans"};
    size_t sum = 0;

    for (size_t i = 0; i < sizeof tags / sizeof *tags; ++i)
        if (mf_json_get(arrays, tags[i])) sum += size_in(arrays, tags[i]);
    return sum;
}

/* Bytes that @p arena will hold by the plan (@p bytes lists them), or may hold by --memory-limit. The bytes that it
 * holds are subtracted. */
static size_t ahead(const struct mf_arena *arena, double planned, const struct mf_json *bytes)
{
    const size_t all = planned > 0 ? (size_t)planned : mf_arena_limit(arena);
    const size_t less = mf_arena_live(arena) + (planned > 0 ? elsewhere(bytes) : 0);

    return all > less ? all - less : 0;
}

/* --no_memory_growth: what the run will need it has from now on. */
static int reserve(const struct mf_session *s, const struct mf_run_plan *plan)
{
    const int apart = s->device != s->arena;
    const struct mf_json *state = mf_json_get(plan->json, "bytes"), *home = mf_json_get(plan->json, "host_bytes");
    const size_t host = ahead(s->arena, s->predicted, home ? home : state);
    const size_t device = apart ? ahead(s->device, s->predicted_device, state) : 0;
    int rc = mf_arena_reserve(s->home_arena ? s->home_arena : s->arena, host, 1);

    if (rc == MF_OK && apart) rc = mf_arena_reserve(s->device, device, 0);
    if (host + device == 0)
        mf_info("--no_memory_growth has no effect: there is neither a plan nor a --memory-limit");
    else if (rc == MF_OK)
        mf_info("--no_memory_growth: %.1f MiB are reserved now", mib(host + device));
    return mf_agree(s->comm, rc);
}

int mf_planned_make(const struct mf_planned *p, struct mf_run_plan *plan)
{
    struct mf_session *s = p->session;
    struct ask a = {.p = p};
    int rc = MF_OK;

    *plan = (struct mf_run_plan){.json = NULL};
    s->predicted = s->predicted_device = 0;
    if (!s->settings.dry_run && !p->off && strcmp(p->plan, "off") != 0) rc = make_and_try(&a, plan);
    if (rc == MF_OK && p->reserves && !s->settings.dry_run) rc = reserve(s, plan);
    mf_plan_free(&a.plan);
    mf_plan_here_free(&a.here);
    return rc;
}

void mf_run_plan_free(struct mf_run_plan *plan)
{
    mf_json_free(plan->json);
    *plan = (struct mf_run_plan){.json = NULL};
}

int mf_run_plan_put(const struct mf_run_plan *plan, struct mf_json *at)
{
    if (!plan->json) return 0;
    mf_json_put(at, "plan", mf_json_copy(plan->json));
    return 1;
}
