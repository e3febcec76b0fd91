/* See embedder.h. */
#include "src/gen/embedder.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/room.h"
#include "src/model/encoder.h"
#include "src/model/language_files.h"
#include "src/net/pass.h"
#include "src/net/walk.h"

enum { ROWS = 512 /* of a list, where texts are shorter */, STEP = 8 /* lengths are multiples of it */ };

struct mf_embedder {
    struct mf_language model;
    struct mf_embed_wish wish;
    struct mf_queue *queue;
    struct mf_safetensors *file;
    struct mf_net *net;
    struct mf_encoder_list *list; /* [lists] one for each size of a batch */
    size_t lists;
    size_t rows, most; /* of the largest list, and texts of the one that has most */
    struct mf_walk *walk;
    struct mf_layout layout;
    float *states; /* [rows][width] */
    int32_t *host; /* [rows] */
    float *pooled; /* [most][width]; NULL: no pooler is wanted */
};

/* Texts of this rank, by length. */
struct order {
    size_t texts, *text, *length; /* [texts] */
};

/* -- opening -- */

size_t mf_embedder_length(const struct mf_embedder *e, size_t tokens)
{
    return mf_min((tokens + STEP - 1) / STEP * STEP, e->model.context);
}

void mf_embed_cut(struct mf_tokens *tokens, size_t longest, const struct mf_tokenizer *tokenizer)
{
    const uint32_t last = tokens->at[tokens->count - 1];

    tokens->count = longest;
    if (tokenizer && mf_tokenizer_is_special(tokenizer, last)) tokens->at[longest - 1] = last;
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

/* Ranks deal out the texts by length. So each has as many long ones. */
static int order_of(const struct mf_embedder *e, size_t texts, const struct mf_embed_text *text, struct order *o)
{
    const size_t ranks = mf_max(e->wish.ranks, 1);
    size_t *pair;

    *o = (struct order){.texts = 0};
    MF_TRY(MF_ROOM(o->text, texts + 1, "the order of %zu texts", texts));
    MF_TRY(MF_ROOM(o->length, texts + 1, "the lengths of %zu texts", texts));
    MF_TRY(MF_ROOM(pair, 2 * texts + 1, "the lengths of %zu texts", texts));
    for (size_t i = 0; i < texts; ++i) {
        pair[2 * i] = mf_embedder_length(e, text[i].tokens);
        pair[2 * i + 1] = i;
    }
    qsort(pair, texts, 2 * sizeof *pair, by_length);
    for (size_t i = e->wish.rank; i < texts; i += ranks) {
        o->length[o->texts] = pair[2 * i];
        o->text[o->texts++] = pair[2 * i + 1];
    }
    free(pair);
    return MF_OK;
}

static void free_order(struct order *o)
{
    free(o->text);
    free(o->length);
}

/* Texts of one length from number @p i on. */
static size_t equals(const struct order *o, size_t i)
{
    size_t n = 1;

    while (i + n < o->texts && o->length[i + n] == o->length[i]) ++n;
    return n;
}

static size_t full(size_t length) { return mf_max(ROWS / length, 1); }

static int add_list(struct mf_embedder *e, size_t length, size_t texts)
{
    e->list = MF_MUST(realloc(e->list, (e->lists + 1) * sizeof *e->list), "lists");
    e->rows = mf_max(e->rows, texts * length);
    e->most = mf_max(e->most, texts);
    return mf_encoder_build(&e->model, e->net, "texts", texts, length, e->wish.pool == MF_POOL_POOLER,
                            &e->list[e->lists++]);
}

/* Full batches of each length, and one of the rest. */
static int add_known(struct mf_embedder *e, const struct order *o)
{
    for (size_t i = 0, n; i < o->texts; i += n) {
        const size_t length = o->length[i], most = full(length);

        n = equals(o, i);
        if (n >= most) MF_TRY(add_list(e, length, most));
        if (n % most) MF_TRY(add_list(e, length, n % most));
    }
    return MF_OK;
}

/* So few lists are enough. A step takes at least half of the texts that wait, or of a full batch. */
static int add_any(struct mf_embedder *e, size_t longest)
{
    for (size_t tokens = 1; tokens <= longest; tokens += STEP) {
        const size_t length = mf_embedder_length(e, tokens);
        size_t texts = 1;

        while (2 * texts <= full(length)) texts *= 2;
        for (; texts > 0; texts /= 2) MF_TRY(add_list(e, length, texts));
    }
    return MF_OK;
}

static int plan_lists(struct mf_embedder *e)
{
    for (size_t k = 0; k < e->net->lists; ++k) {
        mf_pass_fuse(e->net->list[k], MF_RECOMPUTE_NONE, MF_SCOPE_ALL);
        MF_TRY(mf_pass_plan(e->net->list[k], e->queue));
    }
    if (e->net->lists) mf_pass_live(e->net);
    return MF_OK;
}

static int read_folder(struct mf_embedder *e, const char *folder)
{
    int pooler;

    MF_TRY(mf_language_read(folder, &e->model));
    MF_TRY(mf_safetensors_open(folder, &e->file));
    MF_TRY(mf_encoder_settle(e->file, &e->model, &pooler));
    if (e->wish.pool == MF_POOL_POOLER && !pooler)
        return mf_fail(MF_INPUT, "'%.300s' has no pooler; try: --pool mean", mf_safetensors_path(e->file));
    return MF_OK;
}

static int open_known(struct mf_embedder *e, const char *folder, size_t texts, const struct mf_embed_text *text)
{
    struct order o;
    int rc;

    MF_TRY(read_folder(e, folder));
    for (size_t i = 0; i < texts; ++i) MF_TRY(check_text(e, &text[i]));
    rc = order_of(e, texts, text, &o);
    if (rc == MF_OK) rc = add_known(e, &o);
    free_order(&o);
    return rc == MF_OK ? plan_lists(e) : rc;
}

static int open_any(struct mf_embedder *e, const char *folder, size_t longest)
{
    MF_TRY(read_folder(e, folder));
    MF_TRY(add_any(e, longest));
    return plan_lists(e);
}

static struct mf_embedder *new_embedder(const struct mf_embed_wish *wish, struct mf_queue *queue)
{
    struct mf_embedder *e = MF_MUST(calloc(1, sizeof *e), "an embedder");

    e->wish = *wish;
    e->queue = queue;
    e->net = mf_net_new();
    return e;
}

/* Gives *embedder, if it could be opened. */
static int give(struct mf_embedder *e, int rc, struct mf_embedder **embedder)
{
    *embedder = rc == MF_OK ? e : NULL;
    if (rc != MF_OK) mf_embedder_close(e);
    return rc;
}

int mf_embedder_open(const char *folder, size_t texts, const struct mf_embed_text *text,
                     const struct mf_embed_wish *wish, struct mf_queue *queue, struct mf_embedder **embedder)
{
    struct mf_embedder *e = new_embedder(wish, queue);

    return give(e, open_known(e, folder, texts, text), embedder);
}

int mf_embedder_open_any(const char *folder, size_t longest, const struct mf_embed_wish *wish, struct mf_queue *queue,
                         struct mf_embedder **embedder)
{
    struct mf_embedder *e = new_embedder(wish, queue);

    return give(e, open_any(e, folder, longest), embedder);
}

void mf_embedder_close(struct mf_embedder *e)
{
    if (!e) return;
    mf_walk_close(e->walk);
    for (size_t k = 0; k < e->net->lists; ++k) mf_list_release(e->net->list[k], e->queue);
    mf_net_free(e->net);
    mf_safetensors_close(e->file);
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

int mf_embedder_load(struct mf_embedder *e)
{
    struct mf_weights w = {.net = e->net, .queue = e->queue, .layout = &e->layout, .ways = 1};

    if (e->lists == 0) return MF_OK;
    MF_TRY(take_arrays(e));
    MF_TRY(mf_walk_open(&e->walk, e->net, e->queue, MF_WALK_PLANNED, NULL));
    w.walk = e->walk;
    w.list = e->list[0].list;
    return mf_language_load(&e->model, &w, e->file);
}

/* -- walks -- */

/* Texts that go through together. */
struct batch {
    const struct mf_encoder_list *list;
    const struct mf_embed_text *const *text; /* [list->texts] */
};

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
    const size_t length = b->list->length, rows = b->list->texts * length;

    for (size_t r = 0; r < rows; ++r) e->host[r] = number_of(b->text[r / length], what, r % length);
    put(e, b, value, e->host, rows * sizeof *e->host);
}

static void put_inputs(struct mf_embedder *e, const struct batch *b)
{
    const size_t length = b->list->length, texts = b->list->texts, rows = texts * length;
    unsigned char *seen = (unsigned char *)e->host;

    put_rows(e, b, b->list->tokens, TOKENS);
    put_rows(e, b, b->list->types, TYPES);
    put_rows(e, b, b->list->positions, POSITIONS);
    for (size_t r = 0; r < rows; ++r) seen[r] = r % length < b->text[r / length]->tokens;
    put(e, b, b->list->seen, seen, rows);
    for (size_t k = 0; k < texts; ++k) e->host[k] = (int32_t)(k * length);
    if (b->list->first >= 0) put(e, b, b->list->first, e->host, texts * sizeof *e->host);
}

/* -- vectors -- */

static void pool(const struct mf_embedder *e, const struct batch *b, size_t k, double *to)
{
    const size_t width = e->model.width, tokens = b->text[k]->tokens;
    const size_t first = e->wish.pool == MF_POOL_LAST ? tokens - 1 : 0;
    const size_t count = e->wish.pool == MF_POOL_MEAN ? tokens : 1;
    const float *states = e->states + (k * b->list->length + first) * width;

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

static void tell(const struct mf_embedder *e, const struct batch *b, size_t k, double *vector)
{
    const size_t width = e->model.width;

    if (e->wish.seen) e->wish.seen(e->wish.context, b->text[k], e->states + k * b->list->length * width);
    pool(e, b, k, vector);
    if (b->text[k]->normalise) normalise(vector, width);
}

static void run_batch(struct mf_embedder *e, const struct batch *b, double *const *vector)
{
    const struct mf_backend *backend = e->queue->backend;
    const struct mf_encoder_list *l = b->list;
    const size_t width = e->model.width;

    put_inputs(e, b);
    mf_walk_run(e->walk, l->list);
    backend->get(e->queue, e->states, mf_walk_at(e->walk, l->list, l->states),
                 l->texts * l->length * width * sizeof *e->states);
    if (l->pooler >= 0)
        backend->get(e->queue, e->pooled, mf_walk_at(e->walk, l->list, l->pooler),
                     l->texts * width * sizeof *e->pooled);
    backend->sync(e->queue);
    for (size_t k = 0; k < l->texts; ++k) tell(e, b, k, vector[k]);
}

/* The list for most of so many texts; NULL: none was planned. */
static const struct mf_encoder_list *list_for(const struct mf_embedder *e, size_t length, size_t texts)
{
    const struct mf_encoder_list *best = NULL;

    for (const struct mf_encoder_list *l = e->list; l < e->list + e->lists; ++l)
        if (l->length == length && l->texts <= texts && (!best || l->texts > best->texts)) best = l;
    return best;
}

size_t mf_embedder_most(const struct mf_embedder *e) { return e->most; }

size_t mf_embedder_count(const struct mf_embedder *e, size_t length, size_t waiting)
{
    const struct mf_encoder_list *l = list_for(e, length, waiting);

    return l ? l->texts : 0;
}

int mf_embedder_step(struct mf_embedder *e, size_t count, const struct mf_embed_text *const *text,
                     double *const *vector)
{
    struct batch b = {.text = text};

    for (size_t k = 0; k < count; ++k) MF_TRY(check_text(e, text[k]));
    b.list = list_for(e, mf_embedder_length(e, text[0]->tokens), count);
    MF_ASSERT(b.list && b.list->texts == count);
    run_batch(e, &b, vector);
    return MF_OK;
}

static int is_finite(const double *x, size_t n)
{
    for (size_t j = 0; j < n; ++j)
        if (!isfinite(x[j])) return 0;
    return 1;
}

/* Texts from number @p i of the order on. Their rows are far from each other. */
static int run_some(struct mf_embedder *e, const struct order *o, size_t i, size_t count,
                    const struct mf_embed_text *text, double *vector)
{
    const size_t width = e->model.width;
    const struct mf_embed_text **of = MF_MUST(malloc(count * sizeof *of), "a batch");
    double **to = MF_MUST(malloc(count * sizeof *to), "a batch");
    int rc;

    for (size_t k = 0; k < count; ++k) {
        of[k] = &text[o->text[i + k]];
        to[k] = vector + o->text[i + k] * width;
    }
    rc = mf_embedder_step(e, count, of, to);
    for (size_t k = 0; rc == MF_OK && k < count; ++k)
        if (!is_finite(to[k], width)) rc = mf_fail(MF_NUMERIC, "the model says nothing: its output is not finite");
    free(of);
    free(to);
    return rc;
}

int mf_embedder_run(struct mf_embedder *e, size_t texts, const struct mf_embed_text *text, double *vector)
{
    struct order o;
    int rc = order_of(e, texts, text, &o);

    for (size_t i = 0, count; rc == MF_OK && i < o.texts; i += count) {
        count = mf_embedder_count(e, o.length[i], equals(&o, i));
        MF_ASSERT(count > 0);
        rc = run_some(e, &o, i, count, text, vector);
    }
    free_order(&o);
    return rc;
}
