/* serve: a language model that turns texts into vectors. */
#include <stdlib.h>

#include "kernels/stage.h"
#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/learn/serve.h"
#include "src/cmd/unused.h"
#include "src/serve/vectors.h"

enum { BATCH = 32 /* texts of a request; of TEI */, TEXTS = 64 /* that are at work, at most */ };

struct own {
    struct mf_pooling pooling;
    struct mf_embedder *embedder;
    double *vector;
};

static const char *const pool_names[] = {"mean", "cls", "last_token", "pooler"}; /* as TEI names them */

static void warn(const struct mf_serve *job, const struct mf_pooling *p)
{
    MF_UNUSED(job->session, "the model makes vectors, on one rank", "max-total-tokens", "chat-template", "tp", "pp",
              "map", "zero", "offload-weights", "dtype", "keep", "plan");
    if (p->prefixed) mf_warn("sentence-transformers puts a text in front of each one; texts are read as they are");
    if (p->lowered) mf_warn("sentence-transformers makes texts lower case; here only the tokenizer may do so");
}

static int find_input(const struct mf_serve *job, const struct own *own, const struct mf_language *model, size_t *input)
{
    const size_t most = own->pooling.longest ? mf_min(own->pooling.longest, model->context) : model->context;

    *input = job->o->input ? (size_t)job->o->input : most;
    if (*input <= most) return MF_OK;
    return mf_fail(MF_USAGE, "--max-input-tokens %ld: the model of '%.300s' reads %zu", job->o->input, job->folder,
                   most);
}

static int prepare(struct mf_serve *job)
{
    struct own *own = job->own = MF_MUST(calloc(1, sizeof *own), "a server");
    struct mf_served *s = &job->served;
    struct mf_embed_wish wish = {.pool = MF_POOL_MEAN};
    struct mf_language model;

    if (job->session->comm->size > 1)
        return mf_fail(MF_USAGE, "one rank serves a model that makes vectors, and %d run", job->session->comm->size);
    MF_TRY(mf_language_read(job->folder, &model));
    MF_TRY(mf_pooling_read(job->folder, job->o->pool > 0, &own->pooling));
    warn(job, &own->pooling);
    MF_TRY(find_input(job, own, &model, &s->input));
    wish.pool = job->o->pool ? (enum mf_pool)(job->o->pool - 1) : own->pooling.pool;
    MF_TRY(mf_tokenizer_open(job->folder, &job->cuts));
    MF_TRY(mf_embedder_open_any(job->folder, s->input, &wish, job->session->queue, &own->embedder));
    s->kind = MF_ASK_VECTOR;
    s->family = mf_language_name(model.family);
    s->type = mf_type_name(MF_F32);
    s->vocabulary = model.vocabulary;
    s->context = model.context;
    s->total = s->input;
    s->requests = mf_given(job->session, "max-concurrent-requests") ? (size_t)job->o->requests : TEXTS;
    s->batch = BATCH;
    s->width = model.width;
    s->pool = pool_names[wish.pool];
    return MF_OK;
}

/* -- memory -- */

static size_t numbers(const struct own *own)
{
    return mf_embedder_most(own->embedder) * mf_embedder_says(own->embedder)->width;
}

/* Bytes of a server. Cores are device and host: then the host has 0. */
static void find_bytes(const struct mf_serve *job, size_t *device, size_t *host)
{
    const struct own *own = job->own;

    mf_embedder_bytes(own->embedder, device, host);
    *host += numbers(own) * sizeof *own->vector;
    if (mf_apart(job->session->queue)) return;
    *device += *host;
    *host = 0;
}

static int count(struct mf_serve *job)
{
    size_t device, host;

    find_bytes(job, &device, &host);
    return mf_serve_count(job, device, host);
}

/* -- serving -- */

/* A server that answers has made a vector. */
static int try_step(const struct own *own)
{
    const uint32_t token = 0;
    const struct mf_embed_text text = {.token = &token, .tokens = 1}, *const texts[] = {&text};
    double *const vectors[] = {own->vector};

    return mf_embedder_step(own->embedder, 1, texts, vectors);
}

static int open(struct mf_serve *job)
{
    struct own *own = job->own;
    struct mf_session *s = job->session;
    size_t device, host;

    find_bytes(job, &device, &host);
    s->predicted = (double)(host ? host : device);
    if (host) s->predicted_device = (double)device;
    own->vector = mf_arena_take(s->arena, numbers(own) * sizeof *own->vector, "vectors");
    if (!own->vector) return MF_MEMORY;
    MF_TRY(mf_embedder_load(own->embedder));
    return try_step(own);
}

static int run(struct mf_serve *job, const struct mf_jobs_wish *jobs)
{
    const struct own *own = job->own;

    mf_vectors_run(&(const struct mf_vectors_wish){.embedder = own->embedder,
                                                   .vector = own->vector,
                                                   .texts = job->served.requests,
                                                   .normalises = own->pooling.normalises,
                                                   .jobs = *jobs});
    return MF_OK;
}

static void close_own(struct mf_serve *job)
{
    struct own *own = job->own;

    if (!own) return;
    mf_arena_give(job->session->arena, own->vector);
    mf_embedder_close(own->embedder);
    free(own);
}

const struct mf_serve_kind mf_serve_vectors = {.does = "makes vectors",
                                               .dialects = MF_DIALECT_TEI | MF_DIALECT_OPENAI,
                                               .body = 2 << 20,
                                               .prepare = prepare,
                                               .count = count,
                                               .open = open,
                                               .run = run,
                                               .close = close_own};
