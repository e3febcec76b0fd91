/* See engine.h. */
#include "src/gen/engine.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/gen/turn.h"
#include "src/model/kept_type.h"
#include "src/model/language_files.h"

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

/* Factors of weights of 8 bits, which are up to 127. */
static void invent_scale(const struct mf_weights *w, int v, float scale)
{
    const size_t n = mf_shape_count(&w->net->value[v].shape);
    float *all = MF_MUST(malloc((n + 1) * sizeof *all), "weights on their way");

    for (size_t i = 0; i < n; ++i) all[i] = scale;
    mf_weights_put_bytes(w, v, (struct mf_span){0, n * sizeof *all}, all);
    free(all);
}

/* Uniform ones, which are drawn faster than normal ones of the same deviation. Other stages' weights have no memory. */
static void invent(struct mf_engine *e, const struct mf_weights *w)
{
    const struct mf_net *net = e->lists.net;

    for (size_t v = 0; v < net->values; ++v) {
        const int is_here = mf_weights_used(w, (int)v);
        struct mf_weight *weight = net->value[v].weight;

        if (!weight || weight->start != MF_START_NORMAL) continue;
        weight->start = MF_START_UNIFORM;
        weight->spread *= sqrt(3);
        if (is_here && weight->set == MF_SET_BORROWED) invent_scale(w, (int)v, (float)weight->spread / 127);
    }
    mf_weights_start(w, 1);
}

/* @p file: NULL: weights are random. */
static int load(struct mf_engine *e, struct mf_safetensors *file)
{
    const struct mf_weights w = {.net = e->lists.net,
                                 .walk = e->walk,
                                 .list = e->lists.prompt[0].list,
                                 .queue = e->queue,
                                 .layout = &e->lists.streamed,
                                 .ways = 1};

    if (file) return mf_language_load(&e->model, &w, file);
    invent(e, &w);
    return MF_OK;
}

static int take_arrays(struct mf_engine *e)
{
    const struct mf_decoder_room *room = &e->lists.room;

    find_frequencies(e);
    mf_pages_open(&e->pages, room->requests, room->pages_each, room->pages);
    e->seat = MF_MUST(calloc(room->requests, sizeof *e->seat), "requests");
    e->turn = MF_MUST(calloc(e->cut.ways.stages, sizeof *e->turn), "turns");
    e->host = MF_MUST(calloc(2 * e->lists.rows + 1, sizeof *e->host), "rows");
    e->logits = mf_arena_take(e->queue->host, mf_gen_lists_host(&e->model, &e->lists), "logits");
    return e->logits ? MF_OK : MF_MEMORY;
}

static int agree(const struct mf_engine_wish *wish, int rc) { return wish->comm ? mf_agree(wish->comm, rc) : rc; }

/* All of the model that a rank needs, but the weights. */
static int make(struct mf_engine *e, const struct mf_gen_size *size, const struct mf_gen_grid *grid)
{
    MF_TRY(mf_gen_cut_find(&e->model, size, grid, e->queue, &e->cut));
    return mf_gen_lists_make(&e->model, size, &e->cut.ways, e->queue, &e->lists);
}

static int open_file(struct mf_engine *e, const char *folder, int random, struct mf_safetensors **file)
{
    MF_TRY(mf_language_read(folder, &e->model));
    if (!random) {
        MF_TRY(mf_safetensors_open(folder, file));
        MF_TRY(mf_decoder_settle(*file, &e->model));
    }
    if (e->context == 0) e->context = e->model.context;
    return mf_gen_check_context(&e->model, folder, e->context);
}

/* Ranks that fail do so together. */
static int open_all(struct mf_engine *e, const char *folder, const struct mf_engine_wish *wish,
                    struct mf_safetensors **file)
{
    const struct mf_gen_grid grid = {
        wish->comm,    wish->tensor ? wish->tensor : 1, wish->stages ? wish->stages : 1, wish->map, wish->zero,
        wish->streamed};
    struct mf_walk_memory memory;
    struct mf_gen_size size;

    MF_TRY(agree(wish, open_file(e, folder, wish->random, file)));
    if (*file && wish->comm) MF_TRY(mf_safetensors_same(wish->comm, *file));
    e->model.weights = wish->weights;
    e->model.kept = wish->kept;
    size = (struct mf_gen_size){wish->requests, e->context, wish->logits, wish->pages};
    MF_TRY(agree(wish, make(e, &size, &grid)));
    mf_kept_type_say(&e->model, e->lists.net);
    MF_TRY(mf_gen_ranks_open(&e->ranks, &grid, &e->cut.ways, &e->lists, e->queue, &memory));
    MF_TRY(agree(wish, mf_walk_open(&e->walk, e->lists.net, e->queue, MF_WALK_PLANNED, &memory)));
    if (e->ranks.stages.arrays) mf_walk_exchange(e->walk, mf_arrays_exchanges(e->ranks.stages.arrays));
    MF_TRY(agree(wish, load(e, *file)));
    return agree(wish, take_arrays(e));
}

int mf_engine_open(const char *folder, const struct mf_engine_wish *wish, struct mf_queue *queue,
                   struct mf_engine **engine)
{
    struct mf_engine *e = MF_MUST(calloc(1, sizeof *e), "an engine");
    struct mf_safetensors *file = NULL;
    int rc;

    e->queue = queue;
    e->context = wish->context;
    rc = open_all(e, folder, wish, &file);
    mf_safetensors_close(file);
    *engine = rc == MF_OK ? e : NULL;
    if (rc != MF_OK) mf_engine_close(e);
    return rc;
}

void mf_engine_close(struct mf_engine *e)
{
    if (!e) return;
    while (e->turn && e->ended < e->begun) { /* who told an answer waits until it was heard */
        struct mf_turn *t = &e->turn[e->ended++ % e->cut.ways.stages];

        mf_turn_end(e, t);
        mf_turn_free(t);
    }
    mf_gen_ranks_close(&e->ranks);
    mf_walk_close(e->walk);
    mf_gen_lists_free(&e->lists, e->queue);
    mf_gen_cut_free(&e->cut);
    mf_pages_close(&e->pages);
    free(e->turn);
    free(e->seat);
    free(e->frequency);
    free(e->host);
    mf_arena_give(e->queue->host, e->logits);
    free(e);
}

const struct mf_language *mf_engine_says(const struct mf_engine *e) { return &e->model; }

size_t mf_engine_context(const struct mf_engine *e) { return e->context; }

struct mf_json *mf_engine_map(const struct mf_engine *e)
{
    const struct mf_device_map *placed = &e->cut.placement;
    const struct mf_gen_ways *ways = &e->cut.ways;
    struct mf_json *map = mf_json_object();

    for (size_t i = 0; i < placed->parts; ++i) {
        const int on_cores = ways->has_cores && placed->device[i] == ways->cores;
        char *rank = mf_format("rank:%zu", placed->device[i] * ways->tensor.ranks);

        mf_json_text(map, e->cut.parts.part[i].name,
                     ways->stages > 1 ? rank : (on_cores ? "cpu" : e->queue->backend->name));
        free(rank);
    }
    if (placed->parts == 0) mf_json_text(map, "", e->queue->backend->name);
    return map;
}

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
    e->seat[k] = (struct mf_seat){.taken = 1, .of = *r};
    ++e->active;
    return 1;
}

static void end(struct mf_engine *e, struct mf_seat *s)
{
    mf_pages_give(&e->pages, (size_t)(s - e->seat));
    s->taken = 0;
    --e->active;
}

void mf_engine_drop(struct mf_engine *e, const void *context)
{
    for (size_t k = 0; k < e->lists.room.requests; ++k) {
        struct mf_seat *s = &e->seat[k];

        if (!s->taken || s->of.context != context) continue;
        if (s->waits)
            s->dropped = 1;
        else
            end(e, s);
    }
}

size_t mf_engine_active(const struct mf_engine *e) { return e->active; }

size_t mf_engine_pages(const struct mf_engine *e, size_t *all)
{
    *all = e->pages.pages;
    return e->pages.pages - e->pages.left;
}

/* -- turns -- */

/* An answer for a request. */
static int tell(struct mf_engine *e, struct mf_seat *s, const struct mf_answer *a)
{
    if (s->dropped) {
        end(e, s);
        return MF_OK;
    }
    if (!a->is_finite) {
        if (!s->of.lost) return mf_fail(MF_NUMERIC, "the model says nothing: its output is not finite");
        s->of.lost(s->of.context);
        end(e, s);
        return MF_OK;
    }
    if (s->of.most == 0) {
        end(e, s);
        return MF_OK;
    }
    s->token = a->token;
    ++s->made;
    if (!s->of.told(s->of.context, s->token, a->log_probability) || s->made == s->of.most) end(e, s);
    return MF_OK;
}

static void show(struct mf_engine *e, const struct mf_turn *t)
{
    const struct mf_request *of = &e->seat[t->seat[0]].of;

    for (size_t i = 0; i < t->answers; ++i) of->seen(of->context, t->first + i, e->logits + i * e->model.vocabulary);
}

/* Ends the oldest turn. */
static int end_turn(struct mf_engine *e)
{
    struct mf_turn *t = &e->turn[e->ended++ % e->cut.ways.stages];
    int rc = MF_OK;

    mf_turn_end(e, t);
    if (t->sees) show(e, t);
    for (size_t i = t->sees ? t->answers - 1 : 0; rc == MF_OK && i < t->answers; ++i) {
        struct mf_seat *s = &e->seat[t->seat[i]];

        s->waits = 0;
        if (!t->sees || t->ends) rc = tell(e, s, &t->answer[i]);
    }
    mf_turn_free(t);
    return rc;
}

/* The smallest list that holds the rest of a prompt, whatever else runs. */
static const struct mf_decoder_list *prompt_list(const struct mf_engine *e, const struct mf_seat *s)
{
    size_t k = 0;

    if (s->of.seen) return &e->lists.seen;
    while (k + 1 < MF_GEN_PROMPTS && e->lists.prompt[k].rows < s->of.tokens - s->done) ++k;
    return &e->lists.prompt[k];
}

/* A chunk of a prompt. Only the last one has an answer, but for prompts that are seen. */
static void prompt(struct mf_engine *e, struct mf_seat *s)
{
    const struct mf_decoder_list *l = prompt_list(e, s);
    const size_t count = mf_min(l->rows, s->of.tokens - s->done);
    struct mf_row *row = MF_MUST(calloc(l->rows, sizeof *row), "rows");
    int32_t *last = MF_MUST(calloc(l->answers, sizeof *last), "rows");
    struct mf_turn turn = {.list = l, .sees = s->of.seen != NULL, .first = s->done};

    turn.ends = s->done + count == s->of.tokens;
    turn.answers = turn.sees ? count : (size_t)turn.ends;
    turn.seat = MF_MUST(calloc(turn.answers + 1, sizeof *turn.seat), "rows");
    for (size_t i = 0; i < count; ++i) row[i] = (struct mf_row){s, s->of.token[s->done + i], s->done + i};
    for (size_t i = 0; i < turn.answers; ++i) turn.seat[i] = (size_t)(s - e->seat);
    for (size_t i = 0; i < l->answers; ++i) last[i] = i < turn.answers ? (int32_t)(turn.sees ? i : count - 1) : -1;
    s->waits = turn.answers > 0;
    mf_turn_begin(e, &turn, row, last);
    s->done += count;
    free(row);
    free(last);
}

/* Requests that can take a step now. Each stage of a pipeline has a share of all. */
static size_t find_steps(const struct mf_engine *e, struct mf_row *row)
{
    const size_t stages = e->cut.ways.stages, most = (e->active + stages - 1) / stages;
    size_t n = 0;

    for (size_t k = 0; k < e->lists.room.requests && n < most; ++k) {
        const struct mf_seat *s = &e->seat[k];

        if (s->taken && !s->waits && s->done >= s->of.tokens) row[n++] = (struct mf_row){s, s->token, s->done};
    }
    return n;
}

/* A step of them: 1. 0: there are none. */
static int step(struct mf_engine *e)
{
    const struct mf_decoder_list *l = e->lists.step;
    struct mf_row *row = MF_MUST(calloc(e->lists.rows + 1, sizeof *row), "rows");
    struct mf_turn turn = {.answers = find_steps(e, row)};
    int32_t *last;

    if (turn.answers > 0) {
        while (l->rows < turn.answers) ++l;
        turn.list = l;
        turn.seat = MF_MUST(calloc(turn.answers, sizeof *turn.seat), "rows");
        last = MF_MUST(calloc(l->rows, sizeof *last), "rows");
        for (size_t i = 0; i < l->rows; ++i) last[i] = i < turn.answers ? (int32_t)i : -1;
        for (size_t i = 0; i < turn.answers; ++i) {
            struct mf_seat *s = &e->seat[row[i].seat - e->seat];

            turn.seat[i] = (size_t)(s - e->seat);
            s->waits = 1;
            ++s->done;
        }
        mf_turn_begin(e, &turn, row, last);
        free(last);
    }
    free(row);
    return turn.answers > 0;
}

/* Begins what can be done now: 1. 0: all requests wait for answers. */
static int begin(struct mf_engine *e)
{
    for (size_t k = 0; k < e->lists.room.requests; ++k) {
        struct mf_seat *s = &e->seat[k];

        if (!s->taken || s->waits || s->done >= s->of.tokens) continue;
        prompt(e, s);
        return 1;
    }
    return step(e);
}

/* As many turns are under way as a pipeline has stages. One whose logits are seen is ended at once. */
int mf_engine_step(struct mf_engine *e)
{
    const size_t stages = e->cut.ways.stages;
    int began, sees, rc = MF_OK;

    if (e->active == 0) return 0;
    began = begin(e);
    sees = e->begun > e->ended && e->turn[(e->begun - 1) % stages].sees;
    while (rc == MF_OK && e->begun > e->ended && (!began || sees || e->begun - e->ended == stages)) {
        rc = end_turn(e);
        began = 1;
    }
    return rc == MF_OK ? (int)e->active : -rc;
}
