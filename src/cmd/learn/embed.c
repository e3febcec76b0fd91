/* infer embed: vectors of texts by a language model that reads them whole. */
#include <stdlib.h>

#include "io/micro.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/cmd/cmd.h"
#include "src/cmd/infer_plan.h"
#include "src/cmd/learn/prompts.h"
#include "src/gen/embedder.h"
#include "src/session/peaks.h"

struct embed {
    struct mf_common common;
    struct mf_prompt_opts from;
    int pool; /* 1 + enum mf_pool; 0: the model's */
    int normalize, no_normalize, bare, truncate;
};

#define ROW(word, field, kind, help) MF_OPT(embed, word, field, kind, NULL, help)

static const struct mf_opt rows[] = {
    MF_PROMPT_ROWS(embed, from),
    MF_CHOICE(embed, "pool", pool, NULL, MF_POOL_NAMES,
              "what becomes the vector: the mean of all tokens, the first or last token, or BERT's pooler; left out: "
              "as the files of sentence-transformers in the folder say, else the mean"),
    ROW("normalize", normalize, MF_FLAG, "vectors have length 1; left out: as modules.json says, else they have not"),
    ROW("no-normalize", no_normalize, MF_FLAG, "vectors keep their length"),
    ROW("truncate", truncate, MF_FLAG, "cut texts that are longer than the model reads; without it they are refused"),
    ROW("bare", bare, MF_FLAG, "put no special tokens around a text"),
    MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

struct job {
    struct mf_session *session;
    const struct embed *o;
    const char *folder;
    struct mf_tokenizer *tokenizer;
    struct mf_pooling pooling;
    size_t longest; /* tokens of a text */
    struct mf_prompt *prompt;
    struct mf_embed_text *text;
    size_t texts, cut; /* cut: texts that were */
    struct mf_embedder *embedder;
    double *vector; /* [texts][width] */
    double seconds;
};

/* -- texts -- */

static int take(void *context, struct mf_prompt *prompt)
{
    struct job *job = context;
    const size_t tokens = prompt->tokens.count;

    if (tokens == 0) return mf_fail(MF_USAGE, "text %zu has no token", job->texts + 1);
    if (tokens > job->longest && (!job->o->truncate || prompt->texts > 1))
        return mf_fail(MF_USAGE, "text %zu has %zu tokens, and the model reads %zu; try: %s", job->texts + 1, tokens,
                       job->longest, prompt->texts > 1 ? "shorter texts" : "--truncate");
    if (tokens > job->longest) {
        mf_embed_cut(&prompt->tokens, job->longest, prompt->texts > 0 && !job->o->bare ? job->tokenizer : NULL);
        ++job->cut;
    }
    MF_TRY(MF_ROOM_NEXT(job->prompt, job->texts, "%zu texts", job->texts));
    job->prompt[job->texts++] = *prompt;
    *prompt = (struct mf_prompt){.texts = 0};
    return MF_OK;
}

/* How the folder's files want texts. */
static int read_folder(struct job *job)
{
    const struct embed *o = job->o;
    struct mf_language model;

    MF_TRY(mf_language_read(job->folder, &model));
    MF_TRY(mf_pooling_read(job->folder, o->pool > 0, &job->pooling));
    if (job->pooling.prefixed)
        mf_warn("sentence-transformers puts a text in front of each one; texts are read as they are");
    if (job->pooling.lowered)
        mf_warn("sentence-transformers makes texts lower case; here only the tokenizer may do so");
    job->longest = job->pooling.longest ? mf_min(job->pooling.longest, model.context) : model.context;
    return MF_OK;
}

static int normalises(const struct job *job)
{
    return job->o->normalize || (job->pooling.normalises && !job->o->no_normalize);
}

/* All ranks get all texts. Collective. */
static int read_texts(struct job *job)
{
    const struct embed *o = job->o;
    int rc;

    MF_TRY(mf_infer_same(job->session, job->folder));
    MF_TRY(mf_agree(job->session->comm, read_folder(job)));
    rc = mf_prompts_each(job->session->comm, &o->from, job->folder, &job->tokenizer, o->bare ? MF_ENCODE_BARE : 0u,
                         take, job);
    MF_TRY(mf_agree(job->session->comm, rc));
    if (job->texts == 0) return mf_fail(MF_INPUT, "'%.300s' has no text", mf_prompts_file(&o->from));
    MF_TRY(mf_agree(job->session->comm, MF_ROOM(job->text, job->texts, "%zu texts", job->texts)));
    for (size_t k = 0; k < job->texts; ++k)
        job->text[k] =
            (struct mf_embed_text){job->prompt[k].tokens.at, job->prompt[k].texts > 1 ? job->prompt[k].types.at : NULL,
                                   job->prompt[k].tokens.count, normalises(job)};
    return MF_OK;
}

/* -- vectors -- */

static struct mf_embed_wish wish_of(const struct job *job)
{
    const struct embed *o = job->o;
    const enum mf_pool pool = o->pool ? (enum mf_pool)(o->pool - 1) : job->pooling.pool;

    return (struct mf_embed_wish){
        .pool = pool, .ranks = (size_t)job->session->comm->size, .rank = (size_t)job->session->comm->rank};
}

static size_t numbers(const struct job *job) { return job->texts * mf_embedder_says(job->embedder)->width; }

/* Bytes that a run takes on this rank. Cores are device and host: then the host has 0. */
static void find_bytes(const struct job *job, size_t *device, size_t *host)
{
    mf_embedder_bytes(job->embedder, device, host);
    *host += numbers(job) * sizeof *job->vector;
    if (mf_apart(job->session->queue)) return;
    *device += *host;
    *host = 0;
}

static int compute_own(struct job *job)
{
    job->vector = mf_arena_zeros(job->session->arena, numbers(job), sizeof *job->vector, "vectors");
    if (!job->vector) return MF_MEMORY;
    MF_TRY(mf_embedder_load(job->embedder));
    return mf_embedder_run(job->embedder, job->texts, job->text, job->vector);
}

/* All ranks get all vectors. The bits of a number are those of one rank, and 0 on others. Collective. */
static int compute(struct job *job)
{
    const double began = mf_now();
    struct mf_session *s = job->session;
    size_t device, host;

    find_bytes(job, &device, &host);
    s->predicted = (double)(host ? host : device);
    if (host) s->predicted_device = (double)device;
    MF_TRY(mf_agree(s->comm, compute_own(job)));
    mf_comm_sum_int(s->comm, numbers(job), (int64_t *)(void *)job->vector);
    job->seconds = mf_now() - began;
    return MF_OK;
}

/* -- results -- */

static const char *pool_name(const struct job *job)
{
    static const char *const names[] = {"mean", "first", "last", "pooler"};

    return names[wish_of(job).pool];
}

static int print_json(const struct job *job)
{
    const size_t width = mf_embedder_says(job->embedder)->width;
    struct mf_json *all = mf_json_object(), *results = mf_json_array();
    int rc;

    for (size_t k = 0; k < job->texts; ++k) {
        struct mf_json *row = mf_json_object();

        mf_json_size(row, "tokens", job->text[k].tokens);
        if (!mf_common_of(job->session)->output) mf_json_reals(row, "embedding", job->vector + k * width, width);
        mf_json_put(results, NULL, row);
    }
    MF_JSON(all, "model", job->folder, "family", mf_language_name(mf_embedder_says(job->embedder)->family), "width",
            width, "pool", pool_name(job));
    mf_json_bool(all, "normalized", normalises(job));
    MF_JSON(all, "truncated", job->cut, "seconds", job->seconds, "results", results);
    rc = mf_peaks_put(job->session, all);
    if (rc == MF_OK && job->session->comm->rank == 0) rc = mf_json_write(all, stdout);
    mf_json_free(all);
    return rc;
}

/* Rank 0 prints. Collective. */
static int print(const struct job *job)
{
    const size_t width = mf_embedder_says(job->embedder)->width;

    if (mf_common_of(job->session)->json) return print_json(job);
    if (job->session->comm->rank > 0) return MF_OK;
    for (size_t k = 0; !mf_common_of(job->session)->output && k < job->texts; ++k)
        for (size_t i = 0; i < width; ++i) printf("%.9g%s", job->vector[k * width + i], i + 1 < width ? " " : "\n");
    return MF_OK;
}

static int write_vectors(const struct job *job)
{
    const size_t shape[] = {job->texts, mf_embedder_says(job->embedder)->width};
    const char *path = mf_common_of(job->session)->output;

    return path ? mf_reals_write(job->session->comm, path, 2, shape, MF_AXES_UNSAID, job->vector) : MF_OK;
}

static int print_count(const struct job *job, const struct mf_peaks *peaks)
{
    struct mf_json *json;
    char device[60] = "";
    int rc;

    if (!mf_common_of(job->session)->json) {
        if (peaks->device) snprintf(device, sizeof device, " and %.0f on its device", peaks->device[0]);
        printf("# %s, %zu text%s: arrays of rank 0 take %.0f bytes%s; nothing is computed\n", job->folder, job->texts,
               MF_S(job->texts), peaks->arena[0], device);
        return MF_OK;
    }
    json = mf_json_object();
    mf_json_bool(json, "dry_run", 1);
    MF_JSON(json, "model", job->folder, "texts", job->texts);
    mf_peaks_json(peaks, json);
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

static int book(const struct job *job)
{
    const struct mf_session *s = job->session;
    size_t device, host;

    find_bytes(job, &device, &host);
    MF_TRY(mf_arena_book_once(s->device, (ptrdiff_t)device, "a language model and vectors"));
    return host ? mf_arena_book_once(s->arena, (ptrdiff_t)host, "vectors and states") : MF_OK;
}

/* Counts the bytes of a run, and prints them. Collective. */
static int count(const struct job *job)
{
    const struct mf_session *s = job->session;
    struct mf_peaks peaks;
    int rc = MF_OK;

    MF_TRY(mf_agree(s->comm, book(job)));
    MF_TRY(mf_peaks_of(s, &peaks));
    if (s->comm->rank == 0) rc = print_count(job, &peaks);
    mf_peaks_free(&peaks);
    return rc;
}

/* -- the verb -- */

static int check(const struct mf_session *s, void *options)
{
    const struct embed *o = options;
    const char *const *words;

    if (mf_arguments(s, &words) == 0)
        return mf_fail(MF_USAGE, "no model; try: mesoforge infer embed FOLDER --prompt TEXT");
    MF_TRY(mf_prompts_check(&o->from));
    if (o->normalize && o->no_normalize)
        return mf_fail(MF_USAGE, "--normalize and --no-normalize contradict each other; leave one of them");
    return MF_OK;
}

static int work(struct job *job)
{
    const char *output = mf_common_of(job->session)->output;
    struct mf_embed_wish wish;

    if (output) MF_TRY(mf_session_may_write(job->session, output, ".npy"));
    MF_TRY(mf_agree(job->session->comm, read_texts(job)));
    wish = wish_of(job);
    MF_TRY(mf_agree(job->session->comm,
                    mf_embedder_open(job->folder, job->texts, job->text, &wish, job->session->queue, &job->embedder)));
    if (job->session->settings.dry_run) return count(job);
    MF_TRY(compute(job));
    MF_TRY(write_vectors(job));
    return print(job);
}

static void give(struct job *job)
{
    for (size_t k = 0; k < job->texts; ++k) mf_prompt_free(&job->prompt[k]);
    free(job->prompt);
    free(job->text);
    mf_arena_give(job->session->arena, job->vector);
    mf_embedder_close(job->embedder);
    mf_tokenizer_close(job->tokenizer);
}

static int run(struct mf_session *s, void *options)
{
    struct job job = {.session = s, .o = options};
    const char *const *words;
    int rc;

    (void)mf_arguments(s, &words);
    job.folder = words[0];
    rc = work(&job);
    give(&job);
    return mf_agree(s->comm, rc);
}

const struct mf_cmd mf_cmd_infer_embed = {
    .name = "infer embed",
    .summary = "vectors of texts by a language model",
    .synopsis = "FOLDER --prompt TEXT | --prompts FILE | --tokens NUMBERS [--output FILE.npy] [--json]",
    .text =
        "Reads config.json, the tokenizer and the weights (safetensors) of a model of type BERT, as transformers and "
        "sentence-transformers write them. Each text becomes a vector: a line of numbers, or a row of --output, "
        "float64 [text][number]. Texts of similar length go through together. Several ranks share the texts, and each "
        "has the whole model. A vector has the same bits whatever other texts and ranks there are.\n"
        "\n"
        "The pool is that of 1_Pooling/config.json, and vectors have length 1 if modules.json has the module "
        "Normalize. A folder without these files gives the mean of the tokens with its own length. This is what "
        "sentence-transformers does. A text may have as many tokens as sentence_bert_config.json says, else as many "
        "as the model has positions.\n"
        "\n"
        "  mesoforge infer embed minilm --prompt 'the pore network' --json\n"
        "  mesoforge infer embed minilm --prompts texts.jsonl --output vectors.npy\n"
        "  mpirun -n 4 mesoforge infer embed minilm --prompts texts.jsonl \\\n"
        "      --output vectors.npy\n",
    .tables = tables,
    .size = sizeof(struct embed),
    .positional_max = 1,
    .check = check,
    .run = run,
    .work = MF_WORK_CORES,
    .remedy = "fewer texts at a time",
    .in_library = 1,
};
