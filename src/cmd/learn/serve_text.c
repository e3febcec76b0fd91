/* serve: a language model that continues texts. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/infer_plan.h"
#include "src/cmd/learn/serve.h"
#include "src/cmd/unused.h"
#include "src/gen/stops.h"
#include "src/model/language_files.h"
#include "src/place/pipeline.h"
#include "src/serve/chat.h"
#include "src/serve/server.h"

enum { BATCH = 128 /* prompts of a request */ };

struct own {
    struct mf_language model;
    struct mf_gen_work work;
    struct mf_run_plan plan;
    struct mf_engine *engine;
    struct mf_tokens ends;

    /* rank 0 */
    struct mf_chat *chat;
    struct mf_tokenizer *tells; /* of the engine's thread */
};

static int find_work(const struct mf_serve *job, struct own *own)
{
    const struct mf_serve_opts *o = job->o;
    size_t stages;
    int has_weights;

    MF_TRY(mf_decoder_read(job->folder, &own->model, &has_weights));
    MF_TRY(mf_language_weigh(&own->model, o->dtype, &o->keep));
    MF_TRY(mf_place_map_stages(o->map, (size_t)job->session->comm->size, &stages));
    own->work = (struct mf_gen_work){.model = &own->model,
                                     .name = mf_name_base(job->folder),
                                     .requests = (size_t)o->requests,
                                     .context = (size_t)o->total,
                                     .tensor = (size_t)o->tensor,
                                     .stages = o->map && !o->stages ? stages : (size_t)o->stages,
                                     .map = o->map,
                                     .zero = (int)o->zero,
                                     .host = o->offload,
                                     .deterministic = o->common.deterministic};
    MF_TRY(mf_infer_check_host(job->session, own->work.host));
    if ((size_t)o->total > own->model.context && own->model.rope.kind == MF_ROPE_NONE)
        return mf_fail(MF_USAGE, "--max-total-tokens %ld: the model of '%.300s' has %zu positions", o->total,
                       job->folder, own->model.context);
    if (!o->total && (size_t)o->input >= own->model.context)
        return mf_fail(MF_USAGE,
                       "--max-input-tokens %ld leaves no token for an answer; the model of '%.300s' has %zu positions",
                       o->input, job->folder, own->model.context);
    return mf_gen_tokens(o->total ? (size_t)o->total : own->model.context, 0, &own->work.prompt, &own->work.made);
}

static int prepare(struct mf_serve *job)
{
    struct own *own = job->own = MF_MUST(calloc(1, sizeof *own), "a server");

    MF_UNUSED(job->session, "the model continues texts", "pool");
    MF_TRY(find_work(job, own));
    MF_TRY(mf_stops_read(job->folder, own->model.vocabulary, &own->ends));
    if (job->session->comm->rank > 0) return MF_OK;
    MF_TRY(mf_chat_open(job->o->template, job->folder, &own->chat));
    MF_TRY(mf_tokenizer_open(job->folder, &job->cuts));
    return mf_tokenizer_open(job->folder, &own->tells);
}

static int count(struct mf_serve *job)
{
    struct own *own = job->own;

    MF_TRY(mf_agree(job->session->comm, mf_infer_book(job->session, &own->work)));
    return mf_infer_counted(job->session, &own->work);
}

static int one_token(void *context, uint32_t token, double log_probability)
{
    (void)context, (void)token, (void)log_probability;
    return 0;
}

/* A server that answers has made a token. Collective. */
static int try_step(const struct mf_serve *job)
{
    const struct own *own = job->own;
    const uint32_t token = 0;
    const struct mf_request request = {.token = &token, .tokens = 1, .most = 1, .told = one_token};
    int left = mf_engine_add(own->engine, &request);

    while (left > 0) left = mf_engine_step(own->engine);
    return mf_agree(job->session->comm, left < 0 ? -left : MF_OK);
}

static void tell_facts(struct mf_serve *job)
{
    const struct own *own = job->own;
    const size_t context = mf_engine_context(own->engine);
    struct mf_served *s = &job->served;

    s->kind = MF_ASK_TEXT;
    s->family = mf_language_name(own->model.family);
    s->type = mf_type_name(mf_engine_says(own->engine)->weights);
    s->vocabulary = own->model.vocabulary;
    s->context = own->model.context;
    s->input = job->o->input ? (size_t)job->o->input : context - 1;
    s->total = context;
    s->requests = own->work.requests;
    s->batch = BATCH;
    s->chat = own->chat;
}

static int open(struct mf_serve *job)
{
    const struct mf_session *s = job->session;
    struct own *own = job->own;
    struct mf_engine_wish wish;

    MF_TRY(mf_infer_plan(job->session, &own->work, job->o->plan, &wish, &own->plan));
    mf_place_map_say(job->o->map, (size_t)s->comm->size, !s->backend->devices);
    MF_TRY(mf_engine_open(job->folder, &wish, s->queue, &own->engine));
    MF_TRY(try_step(job));
    tell_facts(job);
    return MF_OK;
}

static void put(const struct mf_serve *job, struct mf_json *at)
{
    const struct own *own = job->own;

    (void)mf_run_plan_put(&own->plan, at);
}

static int run(struct mf_serve *job, const struct mf_jobs_wish *jobs)
{
    const struct own *own = job->own;
    struct mf_server_wish wish = {.comm = job->session->comm, .engine = own->engine, .jobs = *jobs};

    wish.jobs.job.tokenizer = own->tells;
    wish.jobs.job.ends = &own->ends;
    return mf_server_run(&wish);
}

static void close_own(struct mf_serve *job)
{
    struct own *own = job->own;

    if (!own) return;
    mf_engine_close(own->engine);
    mf_run_plan_free(&own->plan);
    mf_tokens_free(&own->ends);
    mf_tokenizer_close(own->tells);
    mf_chat_close(own->chat);
    free(own);
}

const struct mf_serve_kind mf_serve_text = {.does = "continues texts",
                                            .dialects = MF_DIALECT_TGI | MF_DIALECT_OPENAI,
                                            .body = 2 << 20,
                                            .prepare = prepare,
                                            .count = count,
                                            .open = open,
                                            .put = put,
                                            .run = run,
                                            .close = close_own};
