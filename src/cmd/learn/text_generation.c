/* infer text-generation: a language model continues texts. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/atomic.h"
#include "io/micro.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/guest.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/pulse.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/cmd/infer_plan.h"
#include "src/cmd/learn/text_opts.h"
#include "src/cmd/resident.h"
#include "src/gen/reply.h"
#include "src/gen/stops.h"
#include "src/model/language_files.h"
#include "src/place/pipeline.h"
#include "src/session/peaks.h"

static const struct mf_opt *const tables[] = {mf_generation_rows, mf_common_opts, NULL};

enum { USUAL = 20 };

enum ended { BY_LENGTH, BY_TOKEN, BY_STOP };

/* A prompt and what the model said. */
struct answer {
    struct job *job;
    struct mf_prompt prompt;
    struct mf_tokens made;
    double *log_probability; /* [made.count] */
    size_t most;
    enum ended ended;
    struct mf_reply reply; /* its text, if there is a tokenizer */
    size_t shown;          /* bytes of it, or tokens, that were printed */
};

struct job {
    struct mf_session *session;
    const struct generation *o;
    const char *folder;
    struct mf_tokenizer *tokenizer;
    struct mf_tokens stops;
    struct mf_language model;
    struct mf_gen_work work;
    struct mf_run_plan plan;
    struct mf_engine *engine;
    struct answer **answer; /* [answers] */
    size_t answers;
    int lives; /* the text is printed while it is made */
    int rc;    /* of what happened to a token */
    double seconds;
    double *logits; /* [tokens of the prompt][vocabulary], if they are wanted */
};

/* -- prompts -- */

static int take(void *context, struct mf_prompt *prompt)
{
    struct job *job = context;
    struct answer *a;

    MF_TRY(MF_ROOM_NEXT(job->answer, job->answers, "%zu answers", job->answers));
    a = MF_MUST(calloc(1, sizeof *a), "an answer");
    a->job = job;
    a->prompt = *prompt;
    *prompt = (struct mf_prompt){.texts = 0};
    job->answer[job->answers++] = a;
    return MF_OK;
}

/* New tokens of a prompt, in a context. */
static int find_most(const struct generation *o, size_t context, size_t number, struct answer *a)
{
    const size_t tokens = a->prompt.tokens.count, length = (size_t)o->length;
    const size_t room = context > tokens ? context - tokens : 0;

    if (tokens == 0) return mf_fail(MF_USAGE, "prompt %zu has no token; the model needs one to begin with", number);
    if (room == 0)
        return mf_fail(MF_USAGE, "prompt %zu has %zu tokens, and the context %zu; try: a shorter prompt, or --context",
                       number, tokens, context);
    if (length && length <= tokens)
        return mf_fail(MF_USAGE, "--max-length %zu: prompt %zu has %zu tokens already", length, number, tokens);
    a->most = o->most ? (size_t)o->most : length ? length - tokens : USUAL;
    if (length && a->most > length - tokens) a->most = length - tokens;
    if (a->most <= room) return MF_OK;
    if (o->most || length)
        return mf_fail(MF_USAGE, "prompt %zu has %zu token%s, and room for %zu more in the context of %zu, not for %zu",
                       number, tokens, MF_S(tokens), room, context, a->most);
    a->most = room;
    return MF_OK;
}

/* -- texts -- */

/* Without a tokenizer a text is numbers. */
static void show_numbers(struct answer *a)
{
    for (; a->shown < a->made.count; ++a->shown) printf("%s%u", a->shown ? " " : "", a->made.at[a->shown]);
}

/* Prints what is sure of the text and was not printed yet. */
static void show(struct answer *a)
{
    const struct mf_reply *r = &a->reply;

    if (!a->job->tokenizer)
        show_numbers(a);
    else if (r->sure > a->shown) {
        fwrite(r->text.at + a->shown, 1, r->sure - a->shown, stdout);
        a->shown = r->sure;
    }
}

/* The prompt; several are divided by empty lines. */
static void show_prompt(const struct answer *a)
{
    if (a != a->job->answer[0]) printf("\n");
    if (a->prompt.texts) fwrite(a->prompt.text[0].at ? a->prompt.text[0].at : "", 1, a->prompt.text[0].count, stdout);
}

/* -- running -- */

static void note(struct answer *a, uint32_t token, double log_probability)
{
    a->log_probability =
        MF_MUST(realloc(a->log_probability, (a->made.count + 1) * sizeof *a->log_probability), "probabilities");
    a->log_probability[a->made.count] = log_probability;
    mf_tokens_put(&a->made, token);
}

static int told(void *context, uint32_t token, double log_probability)
{
    struct answer *a = context;
    struct job *job = a->job;

    note(a, token, log_probability);
    if (!job->o->ignore_eos && mf_stops_have(&job->stops, token)) a->ended = BY_TOKEN;
    if (job->tokenizer) job->rc = mf_reply_put(&a->reply, token);
    if (job->tokenizer && job->rc == MF_OK && (a->ended || a->made.count == a->most)) job->rc = mf_reply_end(&a->reply);
    if (a->reply.stopped) a->ended = BY_STOP;
    if (job->lives) {
        show(a);
        (void)fflush(stdout);
    }
    return job->rc == MF_OK && !a->ended && !(job->session->comm->size == 1 && ferror(stdout));
}

static void seen(void *context, size_t position, const float *logits)
{
    const struct job *job = ((const struct answer *)context)->job;
    const size_t n = mf_engine_says(job->engine)->vocabulary;

    for (size_t i = 0; i < n; ++i) job->logits[position * n + i] = (double)logits[i];
}

static struct mf_request request_of(struct job *job, struct answer *a)
{
    const struct generation *o = job->o;

    return (struct mf_request){.token = a->prompt.tokens.at,
                               .tokens = a->prompt.tokens.count,
                               .most = a->most,
                               .choice = {o->temperature, o->top_p, o->top_k, o->repetition, (uint64_t)o->common.seed},
                               .likely = o->common.json,
                               .told = told,
                               .seen = job->logits ? seen : NULL,
                               .context = a};
}

/* The host of a library may stop all ranks. Collective. */
static int heed(const struct job *job)
{
    return mf_is_guest() ? mf_agree(job->session->comm, mf_pulse("tokens")) : MF_OK;
}

static int run_all(struct job *job)
{
    const double began = mf_now();
    size_t next = 0;
    int left = 0;

    do {
        while (next < job->answers) {
            const struct mf_request request = request_of(job, job->answer[next]);
            const int added = mf_engine_add(job->engine, &request);

            if (added < 0) return -added;
            if (added == 0) break;
            ++next;
        }
        MF_TRY(heed(job));
        left = mf_engine_step(job->engine);
        if (left < 0) return -left;
        MF_TRY(job->rc);
    } while (left > 0 || next < job->answers);
    job->seconds = mf_now() - began;
    return MF_OK;
}

/* -- results -- */

static void put(const struct answer *a, struct mf_json *results)
{
    static const char *const ended[] = {[BY_LENGTH] = "length", [BY_TOKEN] = "token", [BY_STOP] = "stop"};
    struct mf_json *row = mf_json_object(), *tokens = mf_json_array();
    const struct mf_bytes *text = &a->reply.text;

    for (size_t i = 0; i < a->made.count; ++i) mf_json_int(tokens, NULL, a->made.at[i]);
    if (a->job->tokenizer) mf_json_bytes(row, "text", text->count ? text->at : "", text->count);
    mf_json_put(row, "tokens", tokens);
    mf_json_reals(row, "log_probabilities", a->log_probability, a->made.count);
    mf_json_size(row, "prompt_tokens", a->prompt.tokens.count);
    mf_json_text(row, "ended_by", ended[a->ended]);
    mf_json_put(results, NULL, row);
}

static int print_json(const struct job *job)
{
    struct mf_json *all = mf_json_object(), *results = mf_json_array();
    size_t made = 0;
    int rc;

    for (size_t k = 0; k < job->answers; ++k) put(job->answer[k], results);
    for (size_t k = 0; k < job->answers; ++k) made += job->answer[k]->made.count;
    MF_JSON(all, "model", job->folder, "family", mf_language_name(mf_engine_says(job->engine)->family), "context",
            mf_engine_context(job->engine), "seconds", job->seconds, "tokens_per_second",
            (double)made / fmax(job->seconds, 1e-9), "results", results);
    (void)mf_run_plan_put(&job->plan, all);
    rc = mf_peaks_put(job->session, all);
    if (rc == MF_OK && job->session->comm->rank == 0) rc = mf_json_write(all, stdout);
    mf_json_free(all);
    return rc;
}

/* Rank 0 prints. Collective. */
static int print(const struct job *job)
{
    if (job->o->common.json) return print_json(job);
    if (job->session->comm->rank > 0) return MF_OK;
    for (size_t k = 0; k < job->answers; ++k) {
        if (!job->lives) show_prompt(job->answer[k]);
        show(job->answer[k]);
        printf("\n");
    }
    return MF_OK;
}

/* -- the verb -- */

static int check(const struct mf_session *s, void *options)
{
    const struct generation *o = options;
    const char *const *words;

    if (mf_arguments(s, &words) == 0)
        return mf_fail(MF_USAGE, "no model; try: mesoforge infer text-generation FOLDER --prompt TEXT");
    MF_TRY(mf_prompts_check(&o->from));
    return mf_generation_check(s, options);
}

/* Prompts of numbers need no tokenizer, and neither do their answers. */
static int read_prompts(struct job *job)
{
    const struct generation *o = job->o;
    int rc = job->tokenizer ? MF_OK : mf_tokenizer_open(job->folder, &job->tokenizer);

    MF_TRY(mf_agree(job->session->comm, o->stop.count ? rc : MF_OK));
    mf_err_clear();
    rc = mf_prompts_each(job->session->comm, &o->from, job->folder, &job->tokenizer, o->bare ? MF_ENCODE_BARE : 0u,
                         take, job);
    MF_TRY(mf_agree(job->session->comm, rc));
    if (job->answers == 0) return mf_fail(MF_INPUT, "'%.300s' has no prompt", mf_prompts_file(&o->from));
    if (!job->tokenizer && mf_tokenizer_open(job->folder, &job->tokenizer) != MF_OK) {
        mf_warn("%s; tokens are told by their numbers", mf_err_text());
        mf_err_clear();
    }
    for (size_t k = 0; job->tokenizer && k < job->answers; ++k)
        mf_reply_open(&job->answer[k]->reply, job->tokenizer, o->stop.count, o->stop.at);
    return MF_OK;
}

static int write_logits(const struct job *job)
{
    const size_t shape[] = {job->answer[0]->prompt.tokens.count, mf_engine_says(job->engine)->vocabulary};

    if (!job->logits) return MF_OK;
    return mf_reals_write(job->session->comm, job->o->logits, 2, shape, MF_AXES_UNSAID, job->logits);
}

static int descending(const void *a, const void *b)
{
    const size_t x = *(const size_t *)a, y = *(const size_t *)b;

    return (x < y) - (x > y);
}

/* Pages of so many answers, the longest ones: at no time others have more. */
static size_t pages_of_most(const struct job *job, size_t requests)
{
    size_t *pages = MF_MUST(calloc(job->answers, sizeof *pages), "pages"), sum = 0;

    for (size_t k = 0; k < job->answers; ++k)
        pages[k] = mf_pages_of(job->answer[k]->prompt.tokens.count + job->answer[k]->most);
    qsort(pages, job->answers, sizeof *pages, descending);
    for (size_t k = 0; k < requests; ++k) sum += pages[k];
    free(pages);
    return sum;
}

static int read_model(struct job *job)
{
    const struct generation *o = job->o;
    size_t stages;
    int has_weights;

    MF_TRY(mf_decoder_read(job->folder, &job->model, &has_weights));
    MF_TRY(mf_language_weigh(&job->model, o->dtype, &o->keep));
    MF_TRY(mf_place_map_stages(o->map, (size_t)job->session->comm->size, &stages));
    job->work = (struct mf_gen_work){.model = &job->model,
                                     .name = mf_name_base(job->folder),
                                     .requests = (size_t)o->requests,
                                     .waits = 1,
                                     .logits = o->logits != NULL,
                                     .tensor = (size_t)o->tensor,
                                     .stages = o->map && !o->stages ? stages : (size_t)o->stages,
                                     .map = o->map,
                                     .zero = (int)o->zero,
                                     .host = o->offload,
                                     .deterministic = o->common.deterministic};
    MF_TRY(mf_infer_check_host(job->session, job->work.host));
    return o->context ? mf_gen_check_context(&job->model, job->folder, (size_t)o->context) : MF_OK;
}

/* New tokens of all prompts. */
static int find_all(struct job *job, size_t context)
{
    for (size_t k = 0; k < job->answers; ++k) MF_TRY(find_most(job->o, context, k + 1, job->answer[k]));
    return MF_OK;
}

/* Room for what the prompts need, and no more. */
static int find_work(struct job *job)
{
    const struct generation *o = job->o;
    struct mf_gen_work *w = &job->work;

    MF_TRY(read_model(job));
    MF_TRY(find_all(job, o->context ? (size_t)o->context : job->model.context));
    w->requests = mf_min(w->requests, job->answers);
    for (size_t k = 0; k < job->answers; ++k) {
        const struct answer *a = job->answer[k];

        w->context = mf_max(w->context, a->prompt.tokens.count + a->most);
        w->prompt = mf_max(w->prompt, a->prompt.tokens.count);
        w->made = mf_max(w->made, a->most);
    }
    w->pages = pages_of_most(job, w->requests);
    if (o->logits) w->beside = job->answer[0]->prompt.tokens.count * job->model.vocabulary * sizeof *job->logits;
    return mf_gen_check_context(&job->model, job->folder, w->context);
}

static int open_engine(struct job *job)
{
    struct mf_engine_wish wish;

    const struct mf_session *s = job->session;

    MF_TRY(mf_infer_plan(job->session, &job->work, job->o->plan, &wish, &job->plan));
    mf_place_map_say(job->o->map, (size_t)s->comm->size, !s->backend->devices);
    MF_TRY(mf_engine_open(job->folder, &wish, s->queue, &job->engine));
    if (!job->work.beside) return MF_OK;
    job->logits = mf_arena_zeros(s->arena, 1, job->work.beside, "logits of the prompt");
    return mf_agree(s->comm, job->logits ? MF_OK : MF_MEMORY);
}

/* Everything that ranks find out before they work together. */
static int prepare(struct job *job)
{
    MF_TRY(mf_infer_same(job->session, job->folder));
    MF_TRY(mf_agree(job->session->comm, mf_language_read(job->folder, &job->model)));
    MF_TRY(read_prompts(job));
    MF_TRY(find_work(job));
    if (job->o->logits && job->session->comm->rank == 0) MF_TRY(mf_atomic_room(job->o->logits, job->work.beside));
    return mf_stops_read(job->folder, job->model.vocabulary, &job->stops);
}

static int work(struct job *job)
{
    const struct mf_session *s = job->session;
    const struct generation *o = job->o;

    if (o->logits) MF_TRY(mf_session_may_write(s, o->logits, ".npy"));
    MF_TRY(mf_agree(s->comm, prepare(job)));
    if (o->common.dry_run) return mf_infer_book(job->session, &job->work);
    MF_TRY(open_engine(job));
    job->lives = job->answers == 1 && !o->common.json && s->comm->rank == 0;
    if (job->lives) show_prompt(job->answer[0]);
    if (job->lives) (void)fflush(stdout);
    MF_TRY(run_all(job));
    MF_TRY(write_logits(job));
    return print(job);
}

static void give_answers(struct job *job)
{
    for (size_t k = 0; k < job->answers; ++k) {
        mf_prompt_free(&job->answer[k]->prompt);
        mf_tokens_free(&job->answer[k]->made);
        mf_reply_close(&job->answer[k]->reply);
        free(job->answer[k]->log_probability);
        free(job->answer[k]);
    }
    free(job->answer);
    job->answer = NULL;
    job->answers = 0;
}

static void give(struct job *job)
{
    give_answers(job);
    mf_arena_give(job->session->arena, job->logits);
    mf_run_plan_free(&job->plan);
    mf_tokens_free(&job->stops);
    mf_engine_close(job->engine);
    mf_tokenizer_close(job->tokenizer);
}

static int run(struct mf_session *s, void *options)
{
    struct job job = {.session = s, .o = options};
    const char *const *words;
    int rc;

    (void)mf_arguments(s, &words);
    job.folder = words[0];
    rc = mf_agree(s->comm, work(&job));
    if (rc != MF_OK && job.lives) printf("\n"); /* a sentence does not follow a text on its line */
    if (rc == MF_OK && s->settings.dry_run) rc = mf_infer_counted(s, &job.work);
    give(&job);
    return mf_agree(s->comm, rc);
}

const struct mf_cmd mf_cmd_infer_text_generation = {
    .name = "infer text-generation",
    .summary = "continue texts by a language model",
    .synopsis = "FOLDER --prompt TEXT | --prompts FILE | --tokens NUMBERS [--max-new-tokens 20] [--json]",
    .text =
        "Reads config.json, the tokenizer and the weights (safetensors) of a model's folder, as transformers writes "
        "them: GPT-2, OPT, Llama, Mistral or Mixtral. Then it adds the most probable token to each text, again and "
        "again. "
        "A prompt goes through in chunks of 256 tokens, and several prompts are continued together. The text of one "
        "prompt is printed while it is made.\n"
        "\n"
        "An answer ends before a text of --stop, also where several tokens make it. \"ended_by\" of --json is \"stop\" "
        "then; \"tokens\" has all tokens that were made.\n"
        "\n"
        "  mesoforge infer text-generation gpt2 --prompt 'The pore network'\n"
        "  mesoforge infer text-generation llama --prompts texts.jsonl \\\n"
        "      --max-new-tokens 64 --json\n",
    .tables = tables,
    .size = sizeof(struct generation),
    .positional_max = 1,
    .check = check,
    .run = run,
    .work = MF_WORK_CORES,
    .remedy = "a smaller --context, or fewer --requests",
    .in_library = 1,
};

/* -- a model that stays loaded -- */

/* Room for so many texts of the whole context. */
static int find_room(struct job *job)
{
    struct mf_gen_work *w = &job->work;

    MF_TRY(mf_language_read(job->folder, &job->model));
    MF_TRY(read_model(job));
    w->context = job->o->context ? (size_t)job->o->context : job->model.context;
    MF_TRY(mf_gen_tokens(w->context, 0, &w->prompt, &w->made));
    return mf_stops_read(job->folder, job->model.vocabulary, &job->stops);
}

static int load(struct mf_session *session, const struct mf_resident_kind *kind, void *options, const char *path,
                void **model)
{
    struct job *job = MF_MUST(calloc(1, sizeof *job), "a model");

    (void)kind;
    *job = (struct job){.session = session, .o = options, .folder = path};
    *model = job;
    MF_TRY(mf_infer_same(session, path));
    MF_TRY(mf_agree(session->comm, find_room(job)));
    return open_engine(job);
}

static void unload(void *model)
{
    if (model) give(model);
    free(model);
}

static void facts(const void *model, struct mf_json *to)
{
    const struct job *job = model;
    const struct mf_language *m = mf_engine_says(job->engine);

    MF_JSON(to, "family", mf_language_name(m->family), "vocabulary", m->vocabulary, "context",
            mf_engine_context(job->engine), "requests", job->work.requests, "type", mf_type_name(m->weights), "map",
            mf_engine_map(job->engine));
}

/* The question has prompts and answers of its own. */
static int answer_all(struct job *job)
{
    MF_TRY(mf_agree(job->session->comm, mf_prompts_check(&job->o->from)));
    MF_TRY(mf_agree(job->session->comm, read_prompts(job)));
    MF_TRY(mf_agree(job->session->comm, find_all(job, mf_engine_context(job->engine))));
    MF_TRY(run_all(job));
    return print(job);
}

static int continue_texts(void *model, void *options, const char *const *files, size_t count,
                          const struct mf_resident_taker *taker)
{
    struct job *job = model;
    struct generation *o = options;
    const void *const loaded = job->o;
    int rc;

    (void)taker;
    o->from.texts = (struct mf_texts){.count = count, .at = files};
    job->o = o;
    rc = answer_all(job);
    for (size_t k = 0; rc != MF_OK && k < job->answers; ++k) mf_engine_drop(job->engine, job->answer[k]);
    while (mf_engine_active(job->engine) > 0 && mf_engine_step(job->engine) >= 0) continue;
    give_answers(job);
    job->rc = MF_OK;
    job->o = loaded;
    return rc;
}

static const char *const loading[] = {"context",         "requests", "tp",   "pp",   "map", "zero",
                                      "offload-weights", "dtype",    "keep", "plan", NULL};
static const char *const asking[] = {"prompt",         "prompts",    "tokens",
                                     "max-new-tokens", "max-length", "temperature",
                                     "top-k",          "top-p",      "repetition-penalty",
                                     "stop",           "ignore-eos", "bare",
                                     "seed",           NULL};

const struct mf_resident_kind mf_resident_text = {.verb = &mf_cmd_infer_text_generation,
                                                  .loading = loading,
                                                  .asking = asking,
                                                  .makes = 1,
                                                  .check = mf_generation_check,
                                                  .open = load,
                                                  .facts = facts,
                                                  .ask = continue_texts,
                                                  .close = unload};
