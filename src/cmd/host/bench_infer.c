/* bench infer: how fast a language model continues texts, beside the rate at which this machine reads memory. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/ceiling.h"
#include "kernels/stage.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/bench_show.h"
#include "src/cmd/infer_plan.h"
#include "src/model/language_files.h"
#include "src/session/cores.h"
#include "src/session/peaks.h"

struct bench_infer {
    struct mf_common common;
    struct mf_longs requests;
    long prompt, made, turns, tensor, stages;
    const char *dtype;
    struct mf_texts keep;
};

#define ROW(word, field, kind, standard, help) MF_OPT(bench_infer, word, field, kind, standard, help)

static const struct mf_opt rows[] = {
    ROW("requests", requests, MF_LONGS, "1,8", "so many texts at the same time, one number after the other"),
    ROW("prompt-tokens", prompt, MF_LONG, "512", "tokens of a prompt"),
    ROW("new-tokens", made, MF_LONG, "128", "new tokens of each request"),
    ROW("tp", tensor, MF_LONG, NULL, "ranks that share every layer; left out: chosen"),
    ROW("pp", stages, MF_LONG, NULL, "stages of a pipeline, each with some of the layers; left out: chosen"),
    ROW("turns", turns, MF_LONG, "1", "measure all numbers of requests so often, in turn"),
    MF_DTYPE_ROWS(bench_infer),
    MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

enum { NUMBERS = 16 /* of requests */, TURNS = 99, WINDOWS = 8 /* in which the read rate is measured, of a turn */ };
static const double WINDOW = 0.02; /* seconds */

/* One number of requests: seconds of its prompts, of first tokens, and between tokens; and rates of memory. */
struct point {
    size_t requests;
    struct samples {
        size_t count;
        double *at;
    } prompt, first, step, rate; /* rate: [bytes/s] */
    double bytes;                /* that a step of all requests reads */
};

struct job {
    struct mf_session *session;
    const struct bench_infer *o;
    const char *folder;
    struct mf_language model;
    int has_weights;
    struct mf_gen_work work;
    struct mf_run_plan plan;
    struct mf_engine *engine;
    uint32_t *prompt; /* [work.prompt] */
    float *memory;    /* that is read to measure a rate; NULL: not on this device */
    size_t floats;
    struct point point[NUMBERS];
    size_t points;
    size_t tensor, stages; /* that share it */
};

static void put(struct samples *s, double value)
{
    s->at = MF_MUST(realloc(s->at, (s->count + 1) * sizeof *s->at), "samples");
    s->at[s->count++] = value;
}

/* ---- a turn ---- */

/* A turn hears of its requests. */
struct turn {
    struct point *to;
    double paused;      /* seconds that were not the engine's */
    double began, last; /* of the turn; the end of the last prompt */
    size_t tokens;      /* behind the first ones */
};

struct heard {
    struct turn *turn;
    size_t made;
    double last; /* when the last token came */
};

static int told(void *context, uint32_t token, double log_probability)
{
    struct heard *h = context;
    struct turn *t = h->turn;
    const double now = mf_now() - t->paused;

    (void)token, (void)log_probability;
    if (h->made == 0) {
        put(&t->to->first, now - t->began);
        put(&t->to->prompt, now - t->last);
        t->last = now;
    }
    if (h->made > 1) put(&t->to->step, now - h->last); /* the second one waits for the prompts of others */
    t->tokens += h->made > 0;
    h->last = now;
    ++h->made;
    return 1;
}

/* All ranks read at the same time. Collective. */
static void read_memory(const struct job *job, struct turn *t)
{
    const struct mf_session *s = job->session;
    const double began = mf_now();
    double rate;

    if (!job->memory) return;
    mf_comm_barrier(s->comm);
    rate = mf_ceiling_read(s->queue->threads, WINDOW, job->floats, job->memory);
    mf_comm_sum(s->comm, 1, &rate);
    put(&t->to->rate, rate);
    t->paused += mf_now() - began;
}

/* The read rate is measured between steps, so that other load meets both. */
static int step_all(struct job *job, struct turn *t)
{
    const size_t every = mf_max(job->work.made * t->to->requests / WINDOWS, 1);
    int left;

    do {
        const size_t before = t->tokens / every;

        left = mf_engine_step(job->engine);
        if (left < 0) return -left;
        if (t->tokens / every > before) read_memory(job, t);
    } while (left > 0);
    return MF_OK;
}

static int run_turn(struct job *job, struct point *to, size_t prompt, size_t most)
{
    struct heard *heard = MF_MUST(calloc(to->requests, sizeof *heard), "requests");
    struct turn t = {.to = to};
    int rc = MF_OK;

    read_memory(job, &t);
    t.began = t.last = mf_now() - t.paused;
    for (size_t k = 0; rc == MF_OK && k < to->requests; ++k) {
        const struct mf_request r = {
            .token = job->prompt, .tokens = prompt, .most = most, .told = told, .context = &heard[k]};
        const int added = mf_engine_add(job->engine, &r);

        heard[k].turn = &t;
        if (added < 0) rc = -added;
        MF_ASSERT(added != 0);
    }
    if (rc == MF_OK) rc = step_all(job, &t);
    free(heard);
    return rc;
}

static void forget(struct point *p)
{
    free(p->prompt.at);
    free(p->first.at);
    free(p->step.at);
    free(p->rate.at);
    *p = (struct point){.requests = p->requests, .bytes = p->bytes};
}

/* Each number once before, with few tokens. */
static int measure(struct job *job)
{
    for (size_t k = 0; k < job->points; ++k) {
        MF_TRY(run_turn(job, &job->point[k], mf_min(job->work.prompt, 16), mf_min(job->work.made, 4)));
        forget(&job->point[k]);
    }
    for (long turn = 0; turn < job->o->turns; ++turn)
        for (size_t k = 0; k < job->points; ++k)
            MF_TRY(run_turn(job, &job->point[turn % 2 ? job->points - 1 - k : k], job->work.prompt, job->work.made));
    return MF_OK;
}

/* ---- results ---- */

static int ascending(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Sorts. The smallest number that so many of them do not exceed; NAN: there is none. */
static double quantile(struct samples *s, double share)
{
    if (s->count == 0) return NAN;
    qsort(s->at, s->count, sizeof *s->at, ascending);
    return s->at[mf_min((size_t)ceil(share * (double)s->count), s->count) - (share > 0)];
}

struct result {
    double prompt, tokens;     /* per second */
    double first, step, slow;  /* seconds: median, median, 95 % of steps */
    double bytes, rate, share; /* of a token; of memory per second, and what a step has of it; NAN: not known */
};

static struct result result_of(const struct job *job, struct point *p)
{
    struct result r = {.prompt = (double)job->work.prompt / quantile(&p->prompt, 0.5),
                       .first = quantile(&p->first, 0.5),
                       .step = quantile(&p->step, 0.5),
                       .slow = quantile(&p->step, 0.95),
                       .bytes = p->bytes / (double)p->requests,
                       .rate = quantile(&p->rate, 0.5)};

    r.tokens = (double)p->requests / r.step;
    r.share = p->bytes / r.step / r.rate;
    return r;
}

static void put_known(struct mf_json *row, const char *key, double value)
{
    if (isfinite(value))
        mf_json_real(row, key, value);
    else
        mf_json_null(row, key);
}

static struct mf_json *row_json(const struct point *p, const struct result *r)
{
    struct mf_json *row = mf_json_object();

    mf_json_size(row, "requests", p->requests);
    MF_JSON(row, "prompt_tokens_per_second", r->prompt, "tokens_per_second", r->tokens, "first_token_seconds", r->first,
            "step_seconds", r->step, "step_seconds_95", r->slow, "bytes_per_token", r->bytes);
    put_known(row, "read_rate", r->rate);
    put_known(row, "share_of_read_rate", r->share);
    return row;
}

static void show_head(const struct job *job)
{
    const int ranks = job->session->comm->size;

    printf("# %s, %s weights, %.4g million parameters; %d rank%s of %d thread%s; prompts of %zu tokens, %zu new ones\n",
           job->work.name, job->has_weights ? "its" : "random", 1e-6 * (double)mf_language_parameters(&job->model),
           ranks, MF_S(ranks), job->session->queue->threads, MF_S(job->session->queue->threads), job->work.prompt,
           job->work.made);
    printf("# %8s %12s %10s %12s %10s %10s %10s %10s %9s\n", "requests", "prompt", "tokens", "first token", "step",
           "95 %", "a token", "read rate", "share");
    printf("# %8s %12s %10s %12s %10s %10s %10s %10s %9s\n", "", "(tokens/s)", "(1/s)", "(s)", "(ms)", "(ms)", "(MB)",
           "(GB/s)", "of it");
}

static void show_row(const struct point *p, const struct result *r)
{
    printf("  %8zu %12.1f %10.2f %12.4f %10.3f %10.3f %10.3f ", p->requests, r->prompt, r->tokens, r->first,
           1e3 * r->step, 1e3 * r->slow, 1e-6 * r->bytes);
    if (isfinite(r->share))
        printf("%10.2f %9.3f\n", 1e-9 * r->rate, r->share);
    else
        printf("%10s %9s\n", "-", "-");
}

static int tell(struct job *job)
{
    struct mf_json *json = mf_json_object(), *list = mf_json_array(), *one = mf_json_object(), *all = mf_json_array();
    const int shows = job->session->comm->rank == 0 && !mf_common_of(job->session)->json;
    int rc = mf_bench_place(job->session, json);

    if (shows) show_head(job);
    for (size_t k = 0; k < job->points; ++k) {
        const struct result r = result_of(job, &job->point[k]);

        if (shows) show_row(&job->point[k], &r);
        mf_json_put(all, NULL, row_json(&job->point[k], &r));
    }
    MF_JSON(one, "what", "infer", "model", job->work.name, "family", mf_language_name(job->model.family), "parameters",
            mf_language_parameters(&job->model));
    mf_json_bool(one, "random_weights", !job->has_weights);
    MF_JSON(one, "tp", job->tensor, "pp", job->stages, "prompt_tokens", job->work.prompt, "new_tokens", job->work.made,
            "rows", all);
    if (rc == MF_OK) rc = mf_peaks_put(job->session, one);
    mf_json_put(list, NULL, one);
    mf_json_put(json, "measured", list);
    if (rc == MF_OK) rc = mf_bench_write(job->session, json);
    mf_json_free(json);
    return rc;
}

/* ---- the verb ---- */

static int check_requests(const struct mf_longs *n)
{
    if (n->count < 1 || n->count > NUMBERS) return mf_fail(MF_USAGE, "--requests must have 1 to %d numbers", NUMBERS);
    for (size_t k = 0; k < n->count; ++k)
        if (n->at[k] < 1 || n->at[k] > MF_GEN_REQUESTS)
            return mf_fail(MF_USAGE, "--requests must be 1 to %d, not %ld", MF_GEN_REQUESTS, n->at[k]);
    return MF_OK;
}

static int check(const struct mf_session *s, void *options)
{
    const struct bench_infer *o = options;
    static const char *const ways[] = {"tp", "pp"};

    if (s->settings.dry_run) return mf_fail(MF_USAGE, "bench has no --dry-run: it only measures");
    if (mf_arguments(s, NULL) == 0) return mf_fail(MF_USAGE, "no model; try: mesoforge bench infer FOLDER");
    MF_TRY(check_requests(&o->requests));
    if (o->prompt < 1 || o->made < 3)
        return mf_fail(MF_USAGE, "--prompt-tokens must be at least 1 and --new-tokens at least 3, not %ld and %ld",
                       o->prompt, o->made);
    for (int k = 0; k < 2; ++k)
        if (mf_given(s, ways[k]) && (k ? o->stages : o->tensor) < 1)
            return mf_fail(MF_USAGE, "--%s must be at least 1, not %ld", ways[k], k ? o->stages : o->tensor);
    if (o->turns < 1 || o->turns > TURNS)
        return mf_fail(MF_USAGE, "--turns is %ld, it must be from 1 to %d", o->turns, TURNS);
    return MF_OK;
}

/* Memory that is larger than the caches together. */
static size_t read_bytes(const struct mf_session *s)
{
    return mf_min(mf_max((size_t)(4 * mf_session_l3(s->comm)), 96 << 20), 512 << 20);
}

static int find_work(struct job *job)
{
    const struct bench_infer *o = job->o;
    const struct mf_options *given = mf_options_of(job->session);
    struct mf_gen_work *w = &job->work;

    MF_TRY(mf_decoder_read(job->folder, &job->model, &job->has_weights));
    MF_TRY(mf_language_weigh(&job->model, o->dtype, &o->keep));
    *w = (struct mf_gen_work){.model = &job->model,
                              .name = mf_name_base(job->folder),
                              .prompt = (size_t)o->prompt,
                              .made = (size_t)o->made,
                              .tensor = (size_t)o->tensor,
                              .stages = (size_t)o->stages,
                              .deterministic = o->common.deterministic};
    MF_TRY(mf_gen_tokens(job->model.context,
                         mf_options_given(given, "prompt-tokens") || mf_options_given(given, "new-tokens"), &w->prompt,
                         &w->made));
    w->context = w->prompt + w->made;
    if (!mf_apart(job->session->queue)) w->beside = read_bytes(job->session);
    job->points = o->requests.count;
    for (size_t k = 0; k < job->points; ++k) {
        job->point[k].requests = (size_t)o->requests.at[k];
        w->requests = mf_max(w->requests, job->point[k].requests);
    }
    if (!job->has_weights)
        mf_info("'%s' has no weights: random numbers take their place, which changes no time", job->folder);
    return MF_OK;
}

/* Tokens of no text; and memory that is read. */
static int take_arrays(struct job *job)
{
    const struct mf_session *s = job->session;
    size_t third;

    job->prompt = MF_MUST(calloc(job->work.prompt, sizeof *job->prompt), "a prompt");
    for (size_t i = 0; i < job->work.prompt; ++i) job->prompt[i] = (uint32_t)((7 + i * 7919) % job->model.vocabulary);
    if (!job->work.beside) return MF_OK;
    third = job->work.beside / sizeof *job->memory / 3;
    job->floats = 3 * third;
    job->memory = mf_arena_take(s->arena, job->work.beside, "memory that is read");
    if (!job->memory) return MF_MEMORY;
    mf_ceiling_touch(s->queue->threads, third, job->memory, job->memory + third, job->memory + 2 * third);
    return MF_OK;
}

/* That steps read on all ranks together. */
static int find_bytes(struct job *job, size_t stages)
{
    struct mf_gen_work w = job->work;

    for (size_t k = 0; k < job->points; ++k) {
        w.requests = job->point[k].requests;
        MF_TRY(mf_gen_step_bytes(&w, stages, (size_t)job->session->queue->threads, &job->point[k].bytes));
    }
    return MF_OK;
}

static int work(struct job *job)
{
    struct mf_engine_wish wish;

    MF_TRY(mf_session_may_write(job->session, mf_common_of(job->session)->output, ".json"));
    MF_TRY(mf_infer_same(job->session, job->folder));
    MF_TRY(mf_agree(job->session->comm, find_work(job)));
    MF_TRY(mf_infer_plan(job->session, &job->work, "auto", &wish, &job->plan));
    wish.random = !job->has_weights;
    job->tensor = wish.tensor;
    job->stages = wish.stages;
    MF_TRY(mf_engine_open(job->folder, &wish, job->session->queue, &job->engine));
    MF_TRY(mf_agree(job->session->comm, take_arrays(job)));
    MF_TRY(mf_agree(job->session->comm, find_bytes(job, wish.stages)));
    MF_TRY(measure(job));
    return tell(job);
}

static int run(struct mf_session *s, void *options)
{
    struct job job = {.session = s, .o = options};
    const char *const *words;
    int rc;

    (void)mf_arguments(s, &words);
    job.folder = words[0];
    rc = work(&job);
    for (size_t k = 0; k < job.points; ++k) forget(&job.point[k]);
    mf_run_plan_free(&job.plan);
    mf_engine_close(job.engine);
    mf_arena_give(s->arena, job.memory);
    free(job.prompt);
    return mf_agree(s->comm, rc);
}

const struct mf_cmd mf_cmd_bench_infer = {
    .name = "bench infer",
    .summary = "measure how fast a language model continues texts",
    .synopsis = "FOLDER [--requests 1,8] [--prompt-tokens 512] [--new-tokens 128] [--json] [--output FILE.json]",
    .text =
        "Runs the language model in FOLDER, also on several ranks (--tp, --pp), and measures tokens per second of "
        "prompts and of new tokens. With each "
        "number of --requests, so many texts are continued at the same time. First token: from the begin to the first "
        "new token, median of the requests, whose prompts wait for each other. Step: time between two tokens of a "
        "request, median, and what 95 % of them do not exceed. A token reads so many bytes of weights, keys and "
        "values. On cores these bytes are compared with the rate at which memory is read, which is measured between "
        "the steps.\n"
        "\n"
        "A folder with config.json alone is enough: weights are random numbers then, and take the same time. report "
        "draws files of --output.\n"
        "\n"
        "  mesoforge bench infer gpt2 --threads 1\n"
        "  mpirun -n 2 mesoforge bench infer llama --tp 2\n"
        "  mesoforge bench infer llama --requests 1,2,4,8,16 --output here.json\n",
    .tables = tables,
    .size = sizeof(struct bench_infer),
    .positional_max = 1,
    .check = check,
    .run = run,
    .work = MF_WORK_CORES,
    .remedy = "fewer --requests",
};
