/* serve: a model answers requests over HTTP. Kinds of models are in files of their own (serve.h). */
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/last_words.h"
#include "src/base/log.h"
#include "src/base/stop.h"
#include "src/base/text.h"
#include "src/cmd/infer_plan.h"
#include "src/cmd/learn/serve.h"
#include "src/cmd/unused.h"
#include "src/gen/pooling.h"
#include "src/model/card.h"
#include "src/session/peaks.h"

#define ROW(word, field, kind, standard, help) MF_OPT(mf_serve_opts, word, field, kind, standard, help)

static const struct mf_opt rows[] = {
    ROW("host", host, MF_TEXT, "127.0.0.1", "address to listen on; 0.0.0.0: all of this machine"),
    ROW("port", port, MF_LONG, "8080", "port to listen on; 0: a free one"),
    MF_CHOICE_TEXT(mf_serve_opts, "api-type", api, "all", "all|tgi|tei|openai|vllm",
                   "paths that are served; vllm speaks openai"),
    ROW("max-concurrent-requests", requests, MF_LONG, "8",
        "prompts that are continued at the same time, or images at work, at most; left out, texts for vectors are 64"),
    ROW("max-queue", queue, MF_LONG, "128", "requests that wait, at most; another one gets the status 429"),
    ROW("max-input-tokens", input, MF_LONG, NULL, "tokens of a prompt, at most; left out: one less than together"),
    ROW("max-total-tokens", total, MF_LONG, NULL,
        "tokens of a prompt and its answer together, at most; left out: the longest context that fits the memory"),
    ROW("max-body", body, MF_LONG, NULL, "bytes of a request, at most; left out: 2097152, with images 16777216"),
    ROW("max-pending-bytes", pending, MF_LONG, "268435456",
        "bytes of all requests, and of answers that nobody has read, at most; another request gets the status 429"),
    ROW("max-voxels", voxels, MF_LONG, "16777216", "values of an image, at most"),
    ROW("threshold", threshold, MF_TEXT, NULL, "binarise grey images: otsu, or phase 1 above this value"),
    ROW("labels", labels, MF_LONGS, NULL, "labels in images that are phases 0, 1, ..., as 0,128,255"),
    ROW("request-seconds", seconds, MF_LONG, "30",
        "seconds that a request may take to arrive, and a client may be silent or not read"),
    ROW("grace", grace, MF_LONG, "30", "seconds that answers have to end when the server leaves"),
    ROW("api-key-file", key_file, MF_TEXT, NULL,
        "requests need the key in this file's first line: Authorization: Bearer KEY"),
    ROW("chat-template", template, MF_TEXT, NULL,
        "chatml, llama2, llama3, mistral, zephyr, or a file with a line for each role; left out: that of the model, "
        "if it is one of these"),
    ROW("served-model-name", name, MF_TEXT, NULL, "name of the model for clients; left out: that of its folder"),
    MF_CHOICE(
        mf_serve_opts, "pool", pool, NULL, MF_POOL_NAMES,
        "for vectors: the mean of all tokens, the first or last token, or BERT's pooler; left out: as for infer embed"),
    ROW("log-requests", logs, MF_FLAG, NULL, "a line in the log for each request"),
    ROW("tp", tensor, MF_LONG, NULL, "ranks that share every layer; left out: chosen"),
    ROW("pp", stages, MF_LONG, NULL, "stages of a pipeline, each with some of the layers; left out: chosen"),
    ROW("map", map, MF_TEXT, NULL,
        "which stage has which part: layers.0=cuda:0,*=cuda:1, or a file (mesoforge map); names: cpu, cuda:N, rank:N"),
    MF_STREAM_ROWS(mf_serve_opts),
    MF_ALIAS("context", "max-total-tokens"),
    MF_ALIAS("requests", "max-concurrent-requests"),
    MF_DTYPE_ROWS(mf_serve_opts),
    MF_INFER_PLAN_ROW(mf_serve_opts),
    MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

/* -- what is to be served -- */

enum { KEY = 4096 };

static int read_key(struct mf_serve *job)
{
    const char *path = job->o->key_file;
    struct stat about;
    size_t n;

    if (!path) return MF_OK;
    MF_TRY(mf_text_load(path, KEY, &job->key, &n));
    job->key[strcspn(job->key, "\r\n")] = 0;
    if (!*job->key || n > KEY)
        return mf_fail(MF_INPUT, "'%.300s' has no key of at most %d bytes in its first line", path, KEY);
    if (stat(path, &about) == 0 && about.st_mode & (S_IRGRP | S_IROTH))
        mf_warn("others may read the key in '%.300s'; try: chmod 600", path);
    return MF_OK;
}

/* -- opening -- */

static unsigned dialects(const struct mf_serve_opts *o)
{
    return strcmp(o->api, "all") == 0 ? ~0u : mf_dialect_of(o->api);
}

/* Others wait in the system's queue of connections, if there are too few descriptors. */
static unsigned connections(const struct mf_serve_opts *o)
{
    const size_t wanted = 2 * (size_t)(o->requests + o->queue) + 64;
    struct rlimit most;

    if (getrlimit(RLIMIT_NOFILE, &most) != 0 || most.rlim_cur > wanted + 64) return (unsigned)wanted;
    return (unsigned)mf_max(most.rlim_cur / 2, 1);
}

static int is_loopback(const char *host)
{
    return strncmp(host, "127.", 4) == 0 || strcmp(host, "::1") == 0 || strcmp(host, "localhost") == 0;
}

/* This process ends because of a breakage, or because another rank is lost. */
static void say_last(void *context)
{
    struct mf_serve *job = context;

    mf_desk_lose(job->desk, "the server has failed");
    (void)nanosleep(&(struct timespec){.tv_nsec = 200000000}, NULL); /* until HTTP has sent it */
}

/* The port is taken before weights are read. */
static int open_http(struct mf_serve *job)
{
    const struct mf_serve_opts *o = job->o;
    const struct mf_http_wish wish = {.host = o->host,
                                      .port = (unsigned)o->port,
                                      .dialects = dialects(o),
                                      .key = job->key,
                                      .body = mf_min(o->body ? (size_t)o->body : job->kind->body, (size_t)o->pending),
                                      .pending = (size_t)o->pending,
                                      .seconds = (unsigned)o->seconds,
                                      .connections = connections(o),
                                      .logs = o->logs};

    if (job->session->comm->rank > 0) return MF_OK;
    job->desk = mf_desk_open(&(struct mf_desk_wish){(size_t)o->queue, MF_HTTP_UNREAD, mf_http_sleep, mf_http_wake});
    MF_TRY(mf_http_open(&wish, job->desk, &job->http));
    if (!is_loopback(o->host))
        mf_warn("others may reach the server at %.200s%s", o->host,
                job->key ? "" : ", and it asks for no key (--api-key-file)");
    mf_last_words(say_last, job);
    return MF_OK;
}

static int announce(const struct mf_serve *job)
{
    const char *url = mf_http_url(job->http);
    struct mf_json *all;
    int rc;

    if (!job->o->common.json) {
        printf("%s serves %s\n", url, job->served.model);
        return fflush(stdout) == 0 ? MF_OK : mf_fail(MF_OUTPUT, "standard output cannot be written");
    }
    all = mf_json_object();
    MF_JSON(all, "url", url, "model", job->served.model, "family", job->served.family, "requests",
            job->served.requests);
    if (job->served.total) MF_JSON(all, "max_input_tokens", job->served.input, "max_total_tokens", job->served.total);
    if (job->kind->put) job->kind->put(job, all);
    rc = mf_json_write(all, stdout);
    mf_json_free(all);
    return rc == MF_OK && fflush(stdout) != 0 ? mf_fail(MF_OUTPUT, "standard output cannot be written") : rc;
}

/* -- counting -- */

static int print_count(const struct mf_serve *job, const struct mf_peaks *peaks)
{
    const size_t tokens = job->served.input; /* 0: it reads no texts */
    struct mf_json *json;
    char device[60] = "", texts[60] = "";
    int rc;

    if (!job->o->common.json) {
        if (peaks->device) snprintf(device, sizeof device, " and %.0f on its device", peaks->device[0]);
        if (tokens) snprintf(texts, sizeof texts, ", texts of at most %zu tokens", tokens);
        printf("# %s%s: arrays of rank 0 take %.0f bytes%s; nothing is computed\n", job->served.model, texts,
               peaks->arena[0], device);
        return MF_OK;
    }
    json = mf_json_object();
    mf_json_bool(json, "dry_run", 1);
    mf_json_text(json, "model", job->served.model);
    if (tokens) mf_json_int(json, "max_input_tokens", (long long)tokens);
    mf_peaks_json(peaks, json);
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

int mf_serve_count(const struct mf_serve *job, size_t device, size_t host)
{
    const struct mf_session *s = job->session;
    struct mf_peaks peaks;
    int rc;

    MF_TRY(mf_arena_book_once(s->device, (ptrdiff_t)device, "a model"));
    if (host) MF_TRY(mf_arena_book_once(s->arena, (ptrdiff_t)host, "inputs and outputs of a model"));
    MF_TRY(mf_peaks_of(s, &peaks));
    rc = print_count(job, &peaks);
    mf_peaks_free(&peaks);
    return rc;
}

/* -- the verb -- */

/* It is asked often, so it also looks after connections. */
static int leaves(void *context)
{
    const struct mf_serve *job = context;

    mf_http_tend(job->http);
    return job->announced != MF_OK || mf_stop_signal() != 0;
}

static void closes(void *context)
{
    struct mf_serve *job = context;

    mf_info("the server leaves; answers have %ld s to end", job->o->grace);
    mf_http_quiet(job->http);
}

/* A server that nobody can ask is none. */
static int check_dialect(const struct mf_serve *job)
{
    if (dialects(job->o) & job->kind->dialects) return MF_OK;
    return mf_fail(MF_USAGE, "--api-type %s: the model of '%.300s' %s; try: --api-type all", job->o->api, job->folder,
                   job->kind->does);
}

/* A run of train is a folder, too. */
static int check_folder(const char *folder)
{
    char *file = mf_format("%s/model.safetensors", folder), *says = mf_format("%s/config.json", folder);
    struct mf_model_card card;
    int rc = MF_OK;

    if (access(file, R_OK) == 0 && access(says, F_OK) != 0) {
        if (mf_model_card_open(file, &card) == MF_OK)
            rc = mf_fail(MF_INPUT, "'%.300s' is the folder of a training; try: mesoforge serve %.300s", folder, file);
        else
            mf_err_clear();
        mf_model_card_close(&card);
    }
    free(file);
    free(says);
    return rc;
}

/* A folder has a language model, and a file is a network of ours. */
static int find_kind(struct mf_serve *job)
{
    struct mf_language model;

    if (mf_ends_with(job->folder, ".safetensors")) {
        job->kind = &mf_serve_predict;
        return MF_OK;
    }
    MF_TRY(check_folder(job->folder));
    MF_TRY(mf_language_read(job->folder, &model));
    job->kind = model.family == MF_BERT ? &mf_serve_vectors : &mf_serve_text;
    if (job->session->comm->rank == 0)
        MF_UNUSED(job->session, "the model reads texts", "max-voxels", "threshold", "labels");
    return MF_OK;
}

/* Small files, on every rank. */
static int prepare(struct mf_serve *job)
{
    MF_TRY(find_kind(job));
    job->served = (struct mf_served){.model = job->o->name ? job->o->name : mf_name_base(job->folder),
                                     .version = MF_VERSION,
                                     .queue = (size_t)job->o->queue,
                                     .started = (long long)time(NULL)};
    MF_TRY(check_dialect(job));
    if (job->session->comm->rank == 0) MF_TRY(read_key(job));
    return job->kind->prepare(job);
}

static int serve(struct mf_serve *job)
{
    const struct mf_comm *comm = job->session->comm;
    const struct mf_jobs_wish jobs = {.job = {.served = &job->served},
                                      .desk = job->desk,
                                      .grace = (double)job->o->grace,
                                      .leaves = leaves,
                                      .closes = closes,
                                      .context = job};

    if (comm->rank == 0) mf_http_serve(job->http, &job->served, job->cuts);
    if (comm->rank == 0) job->announced = announce(job); /* clients may have come already, so it leaves in order */
    MF_TRY(job->kind->run(job, &jobs));
    return job->announced;
}

static int work(struct mf_serve *job)
{
    const struct mf_session *s = job->session;

    MF_TRY(mf_infer_same(s, job->folder));
    MF_TRY(mf_agree(s->comm, prepare(job)));
    if (job->o->common.dry_run) return job->kind->count(job);
    mf_stop_on_signals();
    MF_TRY(mf_agree(s->comm, open_http(job)));
    MF_TRY(job->kind->open(job));
    return serve(job);
}

static void give(struct mf_serve *job)
{
    mf_last_words(NULL, NULL);
    mf_http_close(job->http, 2);
    mf_desk_close(job->desk);
    if (job->kind) job->kind->close(job);
    mf_tokenizer_close(job->cuts);
    free(job->key);
}

static int run(struct mf_session *s, void *options)
{
    struct mf_serve job = {.session = s, .o = options};
    const char *const *words;
    int rc;

    (void)mf_arguments(s, &words);
    job.folder = words[0];
    rc = mf_agree(s->comm, work(&job));
    give(&job);
    return rc;
}

static int between(const char *word, long value, long least, long most)
{
    if (value >= least && value <= most) return MF_OK;
    return mf_fail(MF_USAGE, "--%s must be %ld to %ld, not %ld", word, least, most, value);
}

/* Left out it is 0. */
static int given(const struct mf_session *s, const char *word, long value)
{
    return mf_given(s, word) ? between(word, value, 1, INT32_MAX) : MF_OK;
}

static int check(const struct mf_session *s, void *options)
{
    const struct mf_serve_opts *o = options;
    const char *const *words;

    if (mf_arguments(s, &words) == 0) return mf_fail(MF_USAGE, "no model; try: mesoforge serve FOLDER");
    MF_TRY(between("port", o->port, 0, 65535));
    MF_TRY(between("max-concurrent-requests", o->requests, 1, MF_GEN_REQUESTS));
    MF_TRY(between("max-queue", o->queue, 0, 100000));
    if (mf_given(s, "max-body")) MF_TRY(between("max-body", o->body, 1024, 1L << 30));
    MF_TRY(between("max-pending-bytes", o->pending, 1024, 1L << 40));
    if (o->body > o->pending)
        return mf_fail(MF_USAGE, "--max-body %ld is more than --max-pending-bytes %ld", o->body, o->pending);
    MF_TRY(between("max-voxels", o->voxels, 1, 1L << 30));
    MF_TRY(between("request-seconds", o->seconds, 1, 86400));
    MF_TRY(between("grace", o->grace, 0, 86400));
    MF_TRY(given(s, "max-input-tokens", o->input));
    MF_TRY(given(s, "max-total-tokens", o->total));
    if (o->name && !*o->name) return mf_fail(MF_USAGE, "--served-model-name is empty; clients need a name to ask for");
    if (o->total == 1) return mf_fail(MF_USAGE, "--max-total-tokens 1: a prompt and its answer need 2");
    if (o->total && o->input >= o->total)
        return mf_fail(MF_USAGE, "--max-input-tokens %ld leaves no token for an answer; --max-total-tokens is %ld",
                       o->input, o->total);
    MF_UNUSED(s, "a server writes no file", "output", "data_folder", "information");
    MF_TRY(given(s, "tp", o->tensor));
    MF_TRY(given(s, "pp", o->stages));
    MF_TRY(mf_infer_check_streams(s, o->zero, o->offload, o->map));
    return mf_infer_check_ways(s, o->tensor, o->stages);
}

const struct mf_cmd mf_cmd_serve = {
    .name = "serve",
    .summary = "answer requests over HTTP by a language model, or by a trained network",
    .synopsis = "FOLDER|MODEL.safetensors [--port 8080] [--host 127.0.0.1] [--max-concurrent-requests 8]",
    .text =
        "Reads a language model as infer text-generation does, and answers requests over HTTP as TGI and OpenAI do: "
        "/generate, /generate_stream, /v1/completions, /v1/chat/completions, /health, /metrics. A model of type BERT "
        "makes vectors as infer embed does: /embed of TEI, /v1/embeddings. A file that train classify, train regress "
        "or train moe wrote predicts of images as infer does: /predict. Requests that come together are computed "
        "together, and an answer does not depend on the others. A client that goes away ends its request. A full "
        "queue is told at once, by the status 429.\n"
        "\n"
        "It listens on this machine alone, unless --host says otherwise. SIGTERM, or SIGUSR1 under mpirun, lets "
        "answers end within --grace seconds, and then ends the server with exit status 0.\n"
        "\n"
        "  mesoforge serve gpt2\n"
        "  mesoforge serve minilm --port 8081\n"
        "  mesoforge serve run/model.safetensors --threshold otsu\n"
        "  mpirun -n 4 mesoforge serve llama --tp 2 --pp 2 --port 9000\n",
    .tables = tables,
    .size = sizeof(struct mf_serve_opts),
    .positional_max = 1,
    .check = check,
    .run = run,
    .work = MF_WORK_CORES,
    .remedy = "a smaller --max-total-tokens, or fewer --max-concurrent-requests",
};
