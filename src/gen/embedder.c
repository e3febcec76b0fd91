/* See embedder.h. */
#include "src/gen/embedder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/model/encoder.h"
#include "src/model/language_files.h"
#include "src/net/pass.h"
#include "src/net/walk.h"

enum { ROWS = 512 /* of a list, where texts are shorter */, STEP = 8 /* lengths are multiples of it */ };

/* Texts that go through together: [first, first + count) of the order. */
struct batch {
    size_t first, count, length;
    const struct mf_encoder_list *list;
};

struct mf_embedder {
    struct mf_language model;
    struct mf_embed_wish wish;
    struct mf_queue *queue;
    struct mf_safetensors *file;
    size_t texts;
    const struct mf_embed_text *text;
    size_t *order; /* of this rank's texts, by length */
    struct batch *batch;
    size_t batches, lists;
    size_t rows, most; /* of the largest batch, and texts of the one that has most */
    struct mf_net *net;
    struct mf_encoder_list *list; /* [lists] one for each size of a batch */
    struct mf_walk *walk;
    struct mf_layout layout;
    float *states; /* [rows][width] */
    int32_t *host; /* [rows] */
    float *pooled; /* [most][width]; NULL: no pooler is wanted */
};

/* -- opening -- */

static size_t length_of(const struct mf_embedder *e, size_t i)
{
    return mf_min((e->text[i].tokens + STEP - 1) / STEP * STEP, e->model.context);
}

static int check_text(const struct mf_embedder *e, const struct mf_embed_text *t)
{
    if (t->tokens == 0) return mf_fail(MF_USAGE, "a text has no token");
    if (t->tokens > e->model.context)
        return mf_fail(MF_USAGE, "a text has %zu tokens, and the model has %zu positions", t->tokens, e->model.context);
    for (size_t i = 0; i < t->tokens; ++i) {
        if (t->token[i] >= e->model.vocabulary)
            return mf_fail(MF_USAGE, "the model has no token %u; its %zu tokens begin with 0", t->token[i],
                           e->model.vocabulary);
        if (t->type && t->type[i] >= e->model.segments)
            return mf_fail(MF_USAGE, "the model has no type %u of tokens; its %zu types begin with 0", t->type[i],
                           e->model.segments);
    }
    return MF_OK;
}

static int by_length(const void *a, const void *b)
{
    const size_t *x = a, *y = b; /* length, text */

    return x[0] != y[0] ? (x[0] > y[0]) - (x[0] < y[0]) : (x[1] > y[1]) - (x[1] < y[1]);
}

/* Appends a text to the last batch, or begins another one. */
static void put_text(struct mf_embedder *e, size_t i, size_t text, size_t length)
{
    struct batch *b = e->batches ? &e->batch[e->batches - 1] : NULL;

    e->order[i] = text;
    if (!b || b->length != length || (b->count + 1) * length > ROWS) {
        b = &e->batch[e->batches++];
        *b = (struct batch){.first = i, .length = length};
    }
    ++b->count;
    e->rows = mf_max(e->rows, b->count * length);
    e->most = mf_max(e->most, b->count);
}

/* Ranks deal out the texts by length. So each has as many long ones. */
static void find_batches(struct mf_embedder *e)
{
    const size_t ranks = mf_max(e->wish.ranks, 1);
    size_t *pair = MF_MUST(malloc((2 * e->texts + 1) * sizeof *pair), "lengths");

    for (size_t i = 0; i < e->texts; ++i) {
        pair[2 * i] = length_of(e, i);
        pair[2 * i + 1] = i;
    }
    qsort(pair, e->texts, 2 * sizeof *pair, by_length);
    e->order = MF_MUST(malloc((e->texts + 1) * sizeof *e->order), "an order");
    e->batch = MF_MUST(calloc(e->texts + 1, sizeof *e->batch), "batches");
    for (size_t i = e->wish.rank; i < e->texts; i += ranks) put_text(e, i / ranks, pair[2 * i + 1], pair[2 * i]);
    free(pair);
}

/* Equal batches follow each other, up to the last of a length. */
static int build_lists(struct mf_embedder *e)
{
    e->list = MF_MUST(calloc(e->batches + 1, sizeof *e->list), "lists");
    e->net = mf_net_new();
    for (size_t k = 0; k < e->batches; ++k) {
        struct batch *b = &e->batch[k];

        if (k == 0 || b->length != b[-1].length || b->count != b[-1].count)
            MF_TRY(mf_encoder_build(&e->model, e->net, "texts", b->count, b->length, e->wish.pool == MF_POOL_POOLER,
                                    &e->list[e->lists++]));
        b->list = &e->list[e->lists - 1];
    }
    for (size_t k = 0; k < e->net->lists; ++k) {
        mf_pass_fuse(e->net->list[k], MF_RECOMPUTE_NONE, MF_SCOPE_ALL);
        MF_TRY(mf_pass_plan(e->net->list[k], e->queue));
    }
    if (e->net->lists) mf_pass_live(e->net);
    return MF_OK;
}

static int open(struct mf_embedder *e, const char *folder)
{
    int pooler;

    MF_TRY(mf_language_read(folder, &e->model));
    MF_TRY(mf_safetensors_open(folder, &e->file));
    MF_TRY(mf_encoder_settle(e->file, &e->model, &pooler));
    if (e->wish.pool == MF_POOL_POOLER && !pooler)
        return mf_fail(MF_INPUT, "'%.300s' has no pooler; try: --pool mean", mf_safetensors_path(e->file));
    for (size_t i = 0; i < e->texts; ++i) MF_TRY(check_text(e, &e->text[i]));
    find_batches(e);
    return build_lists(e);
}

int mf_embedder_open(const char *folder, size_t texts, const struct mf_embed_text *text,
                     const struct mf_embed_wish *wish, struct mf_queue *queue, struct mf_embedder **embedder)
{
    struct mf_embedder *e = MF_MUST(calloc(1, sizeof *e), "an embedder");
    int rc;

    e->wish = *wish;
    e->queue = queue;
    e->texts = texts;
    e->text = text;
    rc = open(e, folder);
    *embedder = rc == MF_OK ? e : NULL;
    if (rc != MF_OK) mf_embedder_close(e);
    return rc;
}

void mf_embedder_close(struct mf_embedder *e)
{
    if (!e) return;
    mf_walk_close(e->walk);
    for (size_t k = 0; e->net && k < e->net->lists; ++k) mf_list_release(e->net->list[k], e->queue);
    if (e->net) mf_net_free(e->net);
    mf_safetensors_close(e->file);
    free(e->order);
    free(e->batch);
    free(e->list);
    mf_arena_give(e->queue->host, e->states);
    mf_arena_give(e->queue->host, e->host);
    mf_arena_give(e->queue->host, e->pooled);
    free(e);
}

const struct mf_language *mf_embedder_says(const struct mf_embedder *e) { return &e->model; }

/* -- memory -- */

static size_t pooled_bytes(const struct mf_embedder *e)
{
    return e->wish.pool == MF_POOL_POOLER ? e->most * e->model.width * sizeof *e->pooled : 0;
}

static size_t states_bytes(const struct mf_embedder *e) { return e->rows * e->model.width * sizeof *e->states; }

void mf_embedder_bytes(const struct mf_embedder *e, size_t *device, size_t *host)
{
    *device = e->net->lasting[MF_PLACE_DEVICE] + e->net->room[MF_PLACE_DEVICE];
    *host = states_bytes(e) + e->rows * sizeof *e->host + pooled_bytes(e);
}

static int take_arrays(struct mf_embedder *e)
{
    struct mf_arena *arena = e->queue->host;

    e->states = mf_arena_take(arena, states_bytes(e), "states of tokens");
    if (e->states) e->host = mf_arena_take(arena, e->rows * sizeof *e->host, "numbers of tokens");
    if (!e->host) return MF_MEMORY;
    if (pooled_bytes(e)) e->pooled = mf_arena_take(arena, pooled_bytes(e), "vectors of a pooler");
    return e->pooled || !pooled_bytes(e) ? MF_OK : MF_MEMORY;
}

/* -- walks -- */

static const struct mf_embed_text *text_of(const struct mf_embedder *e, const struct batch *b, size_t k)
{
    return &e->text[e->order[b->first + k]];
}

static void put(struct mf_embedder *e, const struct batch *b, int value, const void *from, size_t bytes)
{
    mf_place_put(e->queue, MF_PLACE_DEVICE, mf_walk_at(e->walk, b->list->list, value), from, bytes);
}

enum row { TOKENS, TYPES, POSITIONS };

/* Behind the end of a text there is no token. */
static int32_t number_of(const struct mf_embed_text *t, enum row what, size_t i)
{
    if (what == POSITIONS) return (int32_t)i;
    if (i >= t->tokens) return what == TOKENS ? -1 : 0;
    return what == TOKENS ? (int32_t)t->token[i] : t->type ? (int32_t)t->type[i] : 0;
}

static void put_rows(struct mf_embedder *e, const struct batch *b, int value, enum row what)
{
    const size_t rows = b->count * b->length;

    for (size_t r = 0; r < rows; ++r) e->host[r] = number_of(text_of(e, b, r / b->length), what, r % b->length);
    put(e, b, value, e->host, rows * sizeof *e->host);
}

static void put_inputs(struct mf_embedder *e, const struct batch *b)
{
    unsigned char *seen = (unsigned char *)e->host;

    put_rows(e, b, b->list->tokens, TOKENS);
    put_rows(e, b, b->list->types, TYPES);
    put_rows(e, b, b->list->positions, POSITIONS);
    for (size_t r = 0; r < b->count * b->length; ++r) seen[r] = r % b->length < text_of(e, b, r / b->length)->tokens;
    put(e, b, b->list->seen, seen, b->count * b->length);
    for (size_t k = 0; k < b->count; ++k) e->host[k] = (int32_t)(k * b->length);
    if (b->list->first >= 0) put(e, b, b->list->first, e->host, b->count * sizeof *e->host);
}

/* -- vectors -- */

static void pool(const struct mf_embedder *e, const struct batch *b, size_t k, double *to)
{
    const size_t width = e->model.width, tokens = text_of(e, b, k)->tokens;
    const size_t first = e->wish.pool == MF_POOL_LAST ? tokens - 1 : 0;
    const size_t count = e->wish.pool == MF_POOL_MEAN ? tokens : 1;
    const float *states = e->states + (k * b->length + first) * width;

    memset(to, 0, width * sizeof *to);
    for (size_t i = 0; i < count; ++i)
        for (size_t j = 0; j < width; ++j) to[j] += (double)states[i * width + j];
    for (size_t j = 0; j < width; ++j)
        to[j] = e->wish.pool == MF_POOL_POOLER ? tanh((double)e->pooled[k * width + j]) : to[j] / (double)count;
}

static void normalise(double *x, size_t n)
{
    double squares = 0;

    for (size_t j = 0; j < n; ++j) squares += x[j] * x[j];
    for (size_t j = 0; j < n; ++j) x[j] /= fmax(sqrt(squares), 1e-12);
}

static int tell(struct mf_embedder *e, const struct batch *b, size_t k, double *vector)
{
    const size_t width = e->model.width, text = e->order[b->first + k];
    double *to = vector + text * width;

    if (e->wish.seen) e->wish.seen(e->wish.context, text, e->states + k * b->length * width);
    pool(e, b, k, to);
    if (e->wish.normalise) normalise(to, width);
    for (size_t j = 0; j < width; ++j)
        if (!isfinite(to[j])) return mf_fail(MF_NUMERIC, "the model says nothing: its output is not finite");
    return MF_OK;
}

static int run_batch(struct mf_embedder *e, const struct batch *b, double *vector)
{
    const struct mf_backend *backend = e->queue->backend;
    const size_t width = e->model.width;

    put_inputs(e, b);
    mf_walk_run(e->walk, b->list->list);
    backend->get(e->queue, e->states, mf_walk_at(e->walk, b->list->list, b->list->states),
                 b->count * b->length * width * sizeof *e->states);
    if (b->list->pooler >= 0)
        backend->get(e->queue, e->pooled, mf_walk_at(e->walk, b->list->list, b->list->pooler),
                     b->count * width * sizeof *e->pooled);
    backend->sync(e->queue);
    for (size_t k = 0; k < b->count; ++k) MF_TRY(tell(e, b, k, vector));
    return MF_OK;
}

static int load(struct mf_embedder *e)
{
    const struct mf_weights w = {e->net, e->walk, e->list[0].list, e->queue, &e->layout, NULL, 1};

    return mf_language_load(&e->model, &w, e->file);
}

int mf_embedder_run(struct mf_embedder *e, double *vector)
{
    if (e->batches == 0) return MF_OK;
    MF_TRY(take_arrays(e));
    MF_TRY(mf_walk_open(&e->walk, e->net, e->queue, MF_WALK_PLANNED, NULL));
    MF_TRY(load(e));
    for (size_t k = 0; k < e->batches; ++k) MF_TRY(run_batch(e, &e->batch[k], vector));
    return MF_OK;
}
