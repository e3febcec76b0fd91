/* See engine.h. */
#include "src/gen/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/gen/lists.h"
#include "src/gen/pages.h"
#include "src/model/decoder_files.h"

/* A place of a request. */
struct seat {
    int taken;
    struct mf_request of;
    size_t done;    /* positions that the caches hold */
    size_t made;    /* new tokens */
    uint32_t token; /* the last one, which no list has seen yet */
};

struct mf_engine {
    struct mf_language model;
    struct mf_queue *queue;
    struct mf_gen_lists lists;
    struct mf_walk *walk;
    struct mf_layout layout;
    struct mf_pages pages;
    struct seat *seat; /* [room.requests] */
    size_t context, active;
    float *frequency; /* [head_width / 2] */
    int32_t *host;    /* of the largest input */
    float *logits;    /* [answers][vocabulary] of the largest list */
};

/* -- opening -- */

/* Angles of a position. Sources: J. Su et al., "RoFormer", arXiv:2104.09864, 2021; llama3: H. Touvron et al., "The
 * Llama 3 herd of models", arXiv:2407.21783, 2024, in the form of transformers. */
static void find_frequencies(struct mf_engine *e)
{
    const struct mf_rope *r = &e->model.rope;
    const size_t half = e->model.head_width / 2;

    e->frequency = MF_MUST(calloc(half + 1, sizeof *e->frequency), "frequencies");
    for (size_t i = 0; r->kind != MF_ROPE_NONE && i < half; ++i) {
        double f = pow(r->base, -(double)i / (double)half);
        const double turns = (double)r->original * f / (2 * 3.14159265358979323846);

        if (r->kind == MF_ROPE_LINEAR) f /= r->factor;
        if (r->kind == MF_ROPE_LLAMA3) {
            const double share = fmin(fmax((turns - r->low) / (r->high - r->low), 0), 1);

            f = share * f + (1 - share) * f / r->factor;
        }
        e->frequency[i] = (float)f;
    }
}

/* Uniform ones, which are drawn faster than normal ones of the same deviation. */
static void invent(struct mf_engine *e, const struct mf_weights *w)
{
    for (size_t v = 0; v < e->lists.net->values; ++v) {
        struct mf_weight *weight = e->lists.net->value[v].weight;

        if (!weight || weight->start != MF_START_NORMAL) continue;
        weight->start = MF_START_UNIFORM;
        weight->spread *= sqrt(3);
    }
    mf_weights_start(w, 1);
}

static int load(struct mf_engine *e, struct mf_safetensors *file)
{
    const struct mf_weights w = {e->lists.net, e->walk, e->lists.prompt[0].list, e->queue, &e->layout, NULL, 1};

    if (file) return mf_decoder_load(&e->model, &w, file);
    invent(e, &w);
    return MF_OK;
}

static int take_arrays(struct mf_engine *e)
{
    const struct mf_decoder_room *room = &e->lists.room;

    find_frequencies(e);
    mf_pages_open(&e->pages, room->requests, room->pages_each, room->pages);
    e->seat = MF_MUST(calloc(room->requests, sizeof *e->seat), "requests");
    e->host = MF_MUST(calloc(2 * e->lists.rows + 1, sizeof *e->host), "rows");
    e->logits = mf_arena_take(e->queue->host, mf_gen_lists_host(&e->model, &e->lists), "logits");
    return e->logits ? MF_OK : MF_MEMORY;
}

/* @p file: NULL: weights are random. */
static int open(struct mf_engine *e, const char *folder, const struct mf_engine_wish *wish, struct mf_safetensors *file)
{
    struct mf_gen_size size;

    if (file) MF_TRY(mf_decoder_settle(file, &e->model));
    e->context = wish->context ? wish->context : e->model.context;
    MF_TRY(mf_gen_check_context(&e->model, folder, e->context));
    size = (struct mf_gen_size){wish->requests, e->context, wish->logits, wish->pages};
    MF_TRY(mf_gen_lists_make(&e->model, &size, e->queue, &e->lists));
    MF_TRY(mf_walk_open(&e->walk, e->lists.net, e->queue, MF_WALK_PLANNED, NULL));
    MF_TRY(load(e, file));
    return take_arrays(e);
}

int mf_engine_open(const char *folder, const struct mf_engine_wish *wish, struct mf_queue *queue,
                   struct mf_engine **engine)
{
    struct mf_engine *e = MF_MUST(calloc(1, sizeof *e), "an engine");
    struct mf_safetensors *file = NULL;
    int rc = mf_language_read(folder, &e->model);

    e->queue = queue;
    if (rc == MF_OK && !wish->random) rc = mf_safetensors_open(folder, &file);
    if (rc == MF_OK) rc = open(e, folder, wish, file);
    mf_safetensors_close(file);
    *engine = rc == MF_OK ? e : NULL;
    if (rc != MF_OK) mf_engine_close(e);
    return rc;
}

void mf_engine_close(struct mf_engine *e)
{
    if (!e) return;
    mf_walk_close(e->walk);
    mf_gen_lists_free(&e->lists, e->queue);
    mf_pages_close(&e->pages);
    free(e->seat);
    free(e->frequency);
    free(e->host);
    mf_arena_give(e->queue->host, e->logits);
    free(e);
}

const struct mf_language *mf_engine_says(const struct mf_engine *e) { return &e->model; }

size_t mf_engine_context(const struct mf_engine *e) { return e->context; }

/* -- requests -- */

static int check(const struct mf_engine *e, const struct mf_request *r)
{
    if (r->tokens == 0) return mf_fail(MF_USAGE, "the prompt has no token");
    MF_ASSERT(!r->seen || e->lists.seen.rows);
    if (r->tokens + r->most > e->context)
        return mf_fail(MF_USAGE, "a prompt of %zu tokens and %zu new ones do not fit a context of %zu", r->tokens,
                       r->most, e->context);
    for (size_t i = 0; i < r->tokens; ++i)
        if (r->token[i] >= e->model.vocabulary)
            return mf_fail(MF_USAGE, "the model has no token %u; its %zu tokens begin with 0", r->token[i],
                           e->model.vocabulary);
    return MF_OK;
}

int mf_engine_add(struct mf_engine *e, const struct mf_request *r)
{
    size_t k = 0;
    const int rc = check(e, r);

    if (rc != MF_OK) return -rc;
    while (k < e->lists.room.requests && e->seat[k].taken) ++k;
    if (k == e->lists.room.requests || !mf_pages_take(&e->pages, k, mf_pages_of(r->tokens + r->most))) return 0;
    e->seat[k] = (struct seat){.taken = 1, .of = *r};
    ++e->active;
    return 1;
}

static void end(struct mf_engine *e, struct seat *s)
{
    mf_pages_give(&e->pages, (size_t)(s - e->seat));
    s->taken = 0;
    --e->active;
}

/* -- walks -- */

static void put(struct mf_engine *e, const struct mf_decoder_list *l, int value, const void *from, size_t n)
{
    mf_place_put(e->queue, MF_PLACE_DEVICE, mf_walk_at(e->walk, l->list, value), from, n * sizeof(int32_t));
}

/* A row: the token at a position of a request; seat NULL: it is blank. */
struct row {
    const struct seat *seat;
    uint32_t token;
    size_t position;
};

static int32_t place_of(const struct mf_engine *e, const struct row *r)
{
    return mf_pages_at(&e->pages, (size_t)(r->seat - e->seat), r->position / MF_KEPT_PAGE) * MF_KEPT_PAGE +
           (int32_t)(r->position % MF_KEPT_PAGE);
}

static void put_rows(struct mf_engine *e, const struct mf_decoder_list *l, const struct row *row)
{
    const size_t n = l->rows;
    int32_t *to = e->host;

    for (size_t i = 0; i < n; ++i) to[i] = row[i].seat ? (int32_t)row[i].token : -1;
    put(e, l, l->tokens, to, n);
    for (size_t i = 0; i < n; ++i) to[i] = row[i].seat ? (int32_t)(row[i].position + e->model.shift) : 0;
    put(e, l, l->positions, to, n);
    for (size_t i = 0; i < n; ++i) to[i] = row[i].seat ? place_of(e, &row[i]) : -1;
    put(e, l, l->places, to, n);
    for (size_t i = 0; i < n; ++i) {
        to[2 * i] = row[i].seat ? (int32_t)(row[i].seat - e->seat) : -1;
        to[2 * i + 1] = (int32_t)row[i].position;
    }
    put(e, l, l->who, to, 2 * n);
    put(e, l, l->pages, e->pages.page, e->lists.room.requests * e->lists.room.pages_each);
    if (l->frequencies >= 0) put(e, l, l->frequencies, e->frequency, e->model.head_width / 2);
}

static void put_choices(struct mf_engine *e, const struct mf_decoder_list *l, const struct row *row,
                        const int32_t *last)
{
    float *wish = MF_MUST(calloc(4 * l->answers, sizeof *wish), "choices");
    int32_t *number = MF_MUST(calloc(4 * l->answers, sizeof *number), "choices");

    for (size_t i = 0; i < l->answers; ++i) {
        const struct row *r = last[i] >= 0 ? &row[last[i]] : NULL;

        if (!r) continue;
        wish[4 * i] = (float)r->seat->of.choice.temperature;
        wish[4 * i + 1] = r->seat->of.choice.top_p > 0 ? (float)r->seat->of.choice.top_p : 1;
        wish[4 * i + 2] = (float)r->seat->of.choice.repetition;
        number[4 * i] = (int32_t)r->seat->of.choice.top_k;
        number[4 * i + 1] = (int32_t)r->seat->of.choice.seed;
        number[4 * i + 2] = (int32_t)r->position + 1;
        number[4 * i + 3] = (int32_t)(r->seat - e->seat);
    }
    put(e, l, l->wishes, wish, 4 * l->answers);
    put(e, l, l->numbers, number, 4 * l->answers);
    free(wish);
    free(number);
}

/* Walks a list, and brings the tokens and logits of its answers. */
static void walk(struct mf_engine *e, const struct mf_decoder_list *l, const struct row *row, const int32_t *last)
{
    const struct mf_backend *backend = e->queue->backend;
    size_t rows = 0;

    while (rows < l->rows && row[rows].seat) ++rows;
    mf_walk_numbers(e->walk)[MF_NUMBER_SAMPLES] = (double)rows; /* blank ones come last */
    put_rows(e, l, row);
    put_choices(e, l, row, last);
    put(e, l, l->last, last, l->answers);
    mf_walk_run(e->walk, l->list);
    backend->get(e->queue, e->host, mf_walk_at(e->walk, l->list, l->picked), l->answers * sizeof *e->host);
    backend->get(e->queue, e->logits, mf_walk_at(e->walk, l->list, l->logits),
                 l->answers * e->model.vocabulary * sizeof *e->logits);
    backend->sync(e->queue);
}

/* -- tokens -- */

/* The logarithm of a token's probability. */
static double probability_of(const struct mf_engine *e, const float *logits, uint32_t token)
{
    double most = -INFINITY, sum = 0;

    for (size_t i = 0; i < e->model.vocabulary; ++i) most = fmax(most, (double)logits[i]);
    for (size_t i = 0; i < e->model.vocabulary; ++i) sum += exp((double)logits[i] - most);
    return (double)logits[token] - most - log(sum);
}

static int is_finite(size_t n, const float *x)
{
    size_t i = 0;

    while (i < n && isfinite(x[i])) ++i;
    return i == n;
}

/* Answer number @p i of the last walk. */
static int tell(struct mf_engine *e, struct seat *s, size_t i)
{
    const float *logits = e->logits + i * e->model.vocabulary;

    if (!is_finite(e->model.vocabulary, logits))
        return mf_fail(MF_NUMERIC, "the model says nothing: its output is not finite");
    if (s->of.most == 0) {
        end(e, s);
        return MF_OK;
    }
    s->token = (uint32_t)e->host[i];
    ++s->made;
    if (!s->of.told(s->of.context, s->token, s->of.likely ? probability_of(e, logits, s->token) : NAN) ||
        s->made == s->of.most)
        end(e, s);
    return MF_OK;
}

/* The smallest list that holds the rest of a prompt, whatever else runs. */
static const struct mf_decoder_list *prompt_list(const struct mf_engine *e, const struct seat *s)
{
    size_t k = 0;

    if (s->of.seen) return &e->lists.seen;
    while (k + 1 < MF_GEN_PROMPTS && e->lists.prompt[k].rows < s->of.tokens - s->done) ++k;
    return &e->lists.prompt[k];
}

static int prompt(struct mf_engine *e, struct seat *s)
{
    const struct mf_decoder_list *l = prompt_list(e, s);
    const size_t count = mf_min(l->rows, s->of.tokens - s->done);
    struct row *row = MF_MUST(calloc(l->rows, sizeof *row), "rows");
    int32_t *last = MF_MUST(calloc(l->answers, sizeof *last), "rows");
    const size_t answers = s->of.seen ? count : 1;

    for (size_t i = 0; i < count; ++i) row[i] = (struct row){s, s->of.token[s->done + i], s->done + i};
    for (size_t i = 0; i < l->answers; ++i) last[i] = i < answers ? (int32_t)(s->of.seen ? i : count - 1) : -1;
    walk(e, l, row, last);
    for (size_t i = 0; s->of.seen && i < count; ++i)
        s->of.seen(s->of.context, s->done + i, e->logits + i * e->model.vocabulary);
    s->done += count;
    free(row);
    free(last);
    return s->done == s->of.tokens ? tell(e, s, answers - 1) : MF_OK;
}

static int step(struct mf_engine *e)
{
    const struct mf_decoder_list *l = e->lists.step;
    struct row *row;
    int32_t *last;
    size_t n = 0;
    int rc = MF_OK;

    while (l->rows < e->active) ++l;
    row = MF_MUST(calloc(l->rows, sizeof *row), "rows");
    last = MF_MUST(calloc(l->rows, sizeof *last), "rows");
    for (size_t k = 0; k < e->lists.room.requests; ++k)
        if (e->seat[k].taken) row[n++] = (struct row){&e->seat[k], e->seat[k].token, e->seat[k].done++};
    for (size_t i = 0; i < l->rows; ++i) last[i] = i < n ? (int32_t)i : -1;
    walk(e, l, row, last);
    for (size_t i = 0; rc == MF_OK && i < n; ++i) rc = tell(e, &e->seat[row[i].seat - e->seat], i);
    free(row);
    free(last);
    return rc;
}

int mf_engine_step(struct mf_engine *e)
{
    size_t k = 0;
    int rc;

    if (e->active == 0) return 0;
    while (k < e->lists.room.requests && !(e->seat[k].taken && e->seat[k].done < e->seat[k].of.tokens)) ++k;
    rc = k < e->lists.room.requests ? prompt(e, &e->seat[k]) : step(e);
    return rc == MF_OK ? (int)e->active : -rc;
}
