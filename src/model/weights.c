/* See weights.h. */
#include "src/model/weights.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/base/streams.h"
#include "src/base/text.h"
#include "src/model/rounded.h"
#include "src/net/build.h"

enum {
    PIECE = 1 << 16,  /* numbers made at a time */
    NARROW = 1 << 15, /* narrow numbers copied at a time */
    TAKEN = 1 << 20   /* numbers that ranks collect at a time */
};

/* Ranks with the same part of every layer. */
static const struct mf_comm *data_of(const struct mf_weights *w) { return w->data ? w->data : w->comm; }

static size_t ranks_of(const struct mf_weights *w) { return w->comm ? (size_t)data_of(w)->size : 1; }
static size_t rank_of(const struct mf_weights *w) { return w->comm ? (size_t)data_of(w)->rank : 0; }

/* Of what lasts any list says where it is. */
static void *at(const struct mf_weights *w, int v) { return mf_walk_at(w->walk, w->list, v); }

/* -- places -- */

/* The bucket of a weight; NULL: it is in none. */
static const struct mf_bucket *bucket_at(const struct mf_weights *w, int root)
{
    size_t k = 0;

    while (k < w->layout->buckets && w->layout->bucket[k].parameters != root) ++k;
    return k < w->layout->buckets ? &w->layout->bucket[k] : NULL;
}

static const struct mf_bucket *bucket_of(const struct mf_weights *w, int root)
{
    const struct mf_bucket *bucket = bucket_at(w, root);

    MF_ASSERT(bucket); /* it has a gradient */
    return bucket;
}

/* Numbers of a weight, or of its moments, that this rank has, in memory of a place. */
struct held {
    struct mf_span part;
    void *at; /* the first of them */
    enum mf_place place;
    enum mf_type type; /* MF_F32, or of 16 bits */
};

/* All of them stand in @p array, a whole bucket. */
static struct held whole_in(const struct mf_weights *w, int v, int array)
{
    size_t bytes;

    mf_value_root(w->net, v, &bytes);
    return (struct held){{0, mf_shape_count(&w->net->value[v].shape)},
                         (float *)at(w, array) + bytes / sizeof(float),
                         w->net->value[array].place,
                         MF_F32};
}

/* Those in this rank's piece of the bucket, which is @p array. Weights that nothing trains may have other types. */
static struct held piece_in(const struct mf_weights *w, int v, int array)
{
    const struct mf_bucket *bucket = bucket_of(w, mf_value_root(w->net, v, NULL));
    const enum mf_type type = w->net->value[v].shape.type;
    const size_t each = mf_type_bytes(type),
                 piece = mf_shape_bytes(&w->net->value[bucket->parameters].shape) / bucket->pieces;
    const size_t begin = bucket->piece * piece, end = begin + piece;
    size_t first, from, to; /* bytes: of the weight; from, to: of what is here */

    mf_value_root(w->net, v, &first);
    from = mf_max(first, begin);
    to = mf_min(first + mf_shape_bytes(&w->net->value[v].shape), end);
    if (from >= to) return (struct held){{0, 0}, NULL, w->net->value[array].place, type};
    return (struct held){{(from - first) / each, (to - from) / each},
                         (char *)at(w, array) + (from - begin),
                         w->net->value[array].place,
                         type};
}

static int moment_of(const struct mf_bucket *bucket, enum mf_state state)
{
    return state == MF_STATE_FIRST ? bucket->first : state == MF_STATE_SECOND ? bucket->second : bucket->average;
}

/* No gradient changes it, so it is in no bucket: every rank has all of it. */
static int is_fixed(const struct mf_weights *w, int v)
{
    return mf_value_in(&w->net->value[v], 1 << MF_SET_BALANCE | 1 << MF_SET_FROZEN | 1 << MF_SET_BORROWED);
}

static struct held held_of(const struct mf_weights *w, int v, enum mf_state state)
{
    const struct mf_bucket *bucket;

    if (mf_value_is_away(&w->net->value[v])) return (struct held){{0, 0}, NULL, MF_PLACE_HOST, MF_F32};
    bucket = bucket_at(w, mf_value_root(w->net, v, NULL));
    if (state == MF_STATE_WEIGHT && (w->layout->stage < 3 || !bucket))
        return (struct held){{0, mf_shape_count(&w->net->value[v].shape)},
                             at(w, v),
                             w->net->value[v].place,
                             w->net->value[v].shape.type};
    MF_ASSERT(bucket); /* it has a gradient */
    if (state == MF_STATE_WEIGHT) return piece_in(w, v, bucket->own_parameters);
    return (bucket->pieces > 1 ? piece_in : whole_in)(w, v, moment_of(bucket, state));
}

/* Do ranks share its layer, of which this one has a part? */
static int is_part(const struct mf_weights *w, int v)
{
    const struct mf_shard *shard = &w->net->value[v].weight->shard;

    return shard->of && shard->count && shard->group != MF_GROUP_EXPERTS;
}

static struct mf_runs runs_of(const struct mf_weights *w, int v)
{
    return is_part(w, v) ? mf_shard_runs(&w->net->value[v].weight->shard, &w->net->value[v].shape)
                         : (struct mf_runs){0};
}

/* Do ranks share the experts, of which this weight is? */
static int is_shared(const struct mf_weights *w, int v)
{
    return w->ways > 1 && mf_value_in(&w->net->value[v], 1 << MF_SET_EXPERTS);
}

/* Has a rank of those that share layers experts of its own, and so this weight or not? */
static int is_of_one(const struct mf_weights *w, int v)
{
    return w->tensor && mf_value_in(&w->net->value[v], 1 << MF_SET_EXPERTS);
}

static int is_of_another(const struct mf_weights *w, int v)
{
    const struct mf_shard *shard = &w->net->value[v].weight->shard;

    return is_of_one(w, v) && mf_value_is_away(&w->net->value[v]) && shard->group == MF_GROUP_TENSOR;
}

/* Do ranks hold different numbers? */
static int is_spread(const struct mf_weights *w, int v, enum mf_state state)
{
    if (is_fixed(w, v)) return 0;
    if (is_shared(w, v)) return 1;
    return state == MF_STATE_WEIGHT ? w->layout->stage == 3 : w->layout->stage > 0 && ranks_of(w) > 1;
}

/* Is it cut among the ranks that have the bucket? */
static int is_cut(const struct mf_weights *w, int v, enum mf_state state)
{
    if (mf_value_is_away(&w->net->value[v])) return 1;
    if (is_fixed(w, v) || (state == MF_STATE_WEIGHT && w->layout->stage < 3)) return 0;
    return bucket_of(w, mf_value_root(w->net, v, NULL))->pieces > 1;
}

/* Of what is held, what this rank gives where all ranks together give each number once, in their order. Of ranks that
 * hold the same, the first one gives. */
static struct held given_of(const struct mf_weights *w, int v, enum mf_state state)
{
    struct held held = held_of(w, v, state);

    if (is_shared(w, v) && !is_cut(w, v, state) && rank_of(w) >= w->ways) held.part.count = 0;
    return held;
}

/* Number @p i of those that are held. */
static void *number_of(const struct held *held, size_t i) { return (char *)held->at + i * mf_type_bytes(held->type); }

/* Numbers [first, first + count) of those that are held. */
static void put(struct mf_queue *queue, const struct held *held, size_t first, size_t count, const float *from)
{
    char other[NARROW * sizeof(uint16_t)];

    if (held->type == MF_F32) {
        mf_place_put(queue, held->place, number_of(held, first), from, count * sizeof *from);
        return;
    }
    for (size_t at = 0; at < count; at += NARROW) {
        const size_t n = mf_min(count - at, NARROW);

        mf_narrow(held->type, n, from + at, other);
        mf_place_put(queue, held->place, number_of(held, first + at), other, n * mf_type_bytes(held->type));
    }
}

static void get(struct mf_queue *queue, const struct held *held, size_t first, size_t count, float *to)
{
    char other[NARROW * sizeof(uint16_t)];

    if (held->type == MF_F32) {
        mf_place_get(queue, held->place, to, number_of(held, first), count * sizeof *to);
        return;
    }
    for (size_t at = 0; at < count; at += NARROW) {
        const size_t n = mf_min(count - at, NARROW);

        mf_place_get(queue, held->place, other, number_of(held, first + at), n * mf_type_bytes(held->type));
        mf_widen(held->type, n, other, to + at);
    }
}

/* -- start -- */

/* Names are hashed into the seed, so weights do not depend on their order. Numbers of 8 bits are uniform up to 127. */
static float start_of(const struct mf_weight *weight, enum mf_type type, uint64_t seed, size_t i)
{
    const double spread = type == MF_I8 ? 127 : weight->spread;

    switch (weight->start) {
    case MF_START_UNIFORM: return (float)(spread * (2 * mf_random_uniform(seed, MF_STREAM_WEIGHTS, i) - 1));
    case MF_START_NORMAL: return (float)(weight->spread * mf_random_normal(seed, MF_STREAM_WEIGHTS, i));
    default: return (float)weight->spread;
    }
}

/* Through a small room: the planner counts no second copy of weights. */
static void start_one(struct mf_queue *queue, const struct mf_value *value, uint64_t seed, const struct held *held)
{
    const struct mf_runs runs = mf_shard_runs(&value->weight->shard, &value->shape);
    const size_t n = held->part.count;
    float *numbers = MF_MUST(malloc(((n < PIECE ? n : PIECE) + 1) * sizeof *numbers), "weights on their way");

    for (size_t first = 0; first < n; first += PIECE) {
        const size_t count = n - first < PIECE ? n - first : PIECE;

        for (size_t i = 0; i < count; ++i) {
            const size_t place = held->part.first + first + i;

            numbers[i] = start_of(value->weight, value->shape.type, seed, mf_runs_place(&runs, place));
        }
        put(queue, held, first, count, numbers);
    }
    free(numbers);
}

void mf_weights_masters(const struct mf_weights *w, int to_device)
{
    const struct mf_backend *backend = w->queue->backend;

    for (size_t k = 0; k < w->layout->buckets; ++k) {
        const struct mf_bucket *bucket = &w->layout->bucket[k];
        const size_t bytes = mf_shape_bytes(&w->net->value[bucket->master].shape);

        if (bucket->master == bucket->parameters) continue;
        if (to_device)
            backend->put(w->queue, at(w, bucket->parameters), at(w, bucket->master), bytes);
        else
            backend->get(w->queue, at(w, bucket->master), at(w, bucket->parameters), bytes);
    }
    backend->sync(w->queue);
}

int mf_weights_used(const struct mf_weights *w, int v)
{
    const int root = mf_value_root(w->net, v, NULL);

    return bucket_at(w, root) || w->net->value[root].lasting;
}

void mf_weights_start(const struct mf_weights *w, uint64_t seed)
{
    for (size_t v = 0; v < w->net->values; ++v) {
        const struct mf_value *value = &w->net->value[v];
        struct held held;

        if (!mf_value_is_weight(value) || !mf_weights_used(w, (int)v)) continue;
        held = held_of(w, (int)v, MF_STATE_WEIGHT);
        start_one(w->queue, value, seed ^ mf_fnv(MF_FNV, value->name, strlen(value->name)), &held);
    }
    mf_weights_masters(w, 0);
}

/* -- states -- */

size_t mf_weights_count(const struct mf_net *net, int frozen)
{
    size_t numbers = 0;

    for (size_t v = 0; v < net->values; ++v)
        if (mf_value_is_weight(&net->value[v]) && (!frozen || mf_value_in(&net->value[v], 1 << MF_SET_FROZEN))) {
            const struct mf_shape whole = mf_value_whole(&net->value[v]);

            numbers += mf_shape_count(&whole);
        }
    return numbers;
}

/* Copies numbers to @p to. Of a layer that ranks share they are counted in this rank's part. */
static void get_own_part_of(const struct mf_weights *w, int v, enum mf_state state, struct mf_span part, float *to)
{
    const struct held held = given_of(w, v, state);
    const size_t first = part.first > held.part.first ? part.first : held.part.first;
    const size_t one = part.first + part.count, other = held.part.first + held.part.count;
    const size_t end = one < other ? one : other, count = first < end ? end - first : 0;
    void *all = NULL;

    if (count > 0) get(w->queue, &held, first - held.part.first, count, to);
    if (!is_spread(w, v, state)) return;
    MF_ASSERT(mf_comm_gather(data_of(w), to, count * sizeof *to, &all, NULL) == MF_OK); /* in the order of the ranks */
    memcpy(to, all, part.count * sizeof *to);
    free(all);
}

/* The part of a layer that a rank has, as runs in the whole. */
static struct mf_runs runs_at(const struct mf_weights *w, int v, size_t rank)
{
    const struct mf_value *value = &w->net->value[v];
    struct mf_shard shard = value->weight->shard;
    struct mf_shape shape = mf_value_whole(value);
    const struct mf_span own = mf_cut(shard.of, (size_t)w->tensor->size, rank);

    shard.first = own.first;
    shard.count = own.count;
    shape.d[shard.axis] = shape.d[shard.axis] / shard.of * own.count;
    return mf_shard_runs(&shard, &shape);
}

/* Numbers of a part that stand in @p part of the whole. */
static struct mf_span span_in(const struct mf_runs *runs, struct mf_span part)
{
    const size_t first = mf_runs_before(runs, part.first);

    return (struct mf_span){first, mf_runs_before(runs, part.first + part.count) - first};
}

/* Numbers that some ranks of @p comm have reach all. */
static void share_with(const struct mf_comm *comm, int is_here, struct mf_span part, float *to)
{
    void *all = NULL;

    MF_ASSERT(mf_comm_gather(comm, to, is_here ? part.count * sizeof *to : 0, &all, NULL) == MF_OK);
    memcpy(to, all, part.count * sizeof *to);
    free(all);
}

/* Copies a part of the numbers to @p to, on every rank of the stage that has them. */
static void get_of_stage(const struct mf_weights *w, int v, enum mf_state state, struct mf_span part, float *to)
{
    const struct mf_runs runs = runs_of(w, v);
    const struct mf_span own = runs.chunk ? span_in(&runs, part) : part;
    float *numbers;
    void *all = NULL;

    if (!runs.chunk) {
        if (!is_of_another(w, v)) get_own_part_of(w, v, state, part, to);
        if (is_of_one(w, v)) share_with(w->tensor, !is_of_another(w, v), part, to);
        return;
    }
    MF_ASSERT(w->tensor);
    numbers = MF_MUST(malloc(own.count * sizeof *numbers + 1), "weights on their way");
    get_own_part_of(w, v, state, own, numbers);
    MF_ASSERT(mf_comm_gather(w->tensor, numbers, own.count * sizeof *numbers, &all, NULL) == MF_OK);
    free(numbers);
    numbers = all;
    for (size_t r = 0; r < (size_t)w->tensor->size; ++r) {
        const struct mf_runs other = runs_at(w, v, r);
        const struct mf_span span = span_in(&other, part);

        for (size_t i = 0; i < span.count; ++i) to[mf_runs_place(&other, span.first + i) - part.first] = *numbers++;
    }
    free(all);
}

/* The same on every rank. */
static void get_part_of(const struct mf_weights *w, int v, enum mf_state state, struct mf_span part, float *to)
{
    const int is_here = !w->stages || !w->net->value[v].weight->elsewhere;

    if (is_here) get_of_stage(w, v, state, part, to);
    if (w->stages) share_with(w->stages, is_here, part, to);
}

void mf_weights_get(const struct mf_weights *w, int v, struct mf_span part, float *to)
{
    get_part_of(w, v, MF_STATE_WEIGHT, part, to);
}

int mf_weights_visit(const struct mf_weights *w, int v, void (*see)(void *context, size_t n, const float *numbers),
                     void *context)
{
    const struct held held = held_of(w, v, MF_STATE_WEIGHT);
    const size_t all = mf_shape_count(&w->net->value[v].shape);
    float *numbers;

    if (held.part.count != all) return 0;
    numbers = MF_MUST(malloc((mf_min(all, PIECE) + 1) * sizeof *numbers), "weights on their way");
    for (size_t first = 0; first < all; first += PIECE) {
        const size_t count = mf_min(all - first, PIECE);

        get(w->queue, &held, first, count, numbers);
        see(context, count, numbers);
    }
    free(numbers);
    return 1;
}

int mf_weights_here(const struct mf_weights *w, int v) { return held_of(w, v, MF_STATE_WEIGHT).part.count > 0; }

void mf_weights_put_bytes(const struct mf_weights *w, int v, struct mf_span part, const void *from)
{
    const struct held held = held_of(w, v, MF_STATE_WEIGHT);
    const size_t each = mf_type_bytes(held.type), here = held.part.first * each;
    const size_t first = mf_max(part.first, here), end = mf_min(part.first + part.count, here + held.part.count * each);

    if (first >= end) return;
    mf_place_put(w->queue, held.place, (char *)held.at + (first - here), (const char *)from + (first - part.first),
                 end - first);
}

int mf_weights_has(const struct mf_weights *w, int v, enum mf_state state)
{
    return state == MF_STATE_WEIGHT || /* all weights have one optimiser */
           (!is_fixed(w, v) && w->layout->buckets > 0 &&
            w->net->value[moment_of(&w->layout->bucket[0], state)].lasting);
}

void mf_weights_take(const struct mf_weights *w, int v, enum mf_state state, float *to)
{
    const struct mf_shape whole = mf_value_whole(&w->net->value[v]);
    const size_t all = mf_shape_count(&whole);

    for (size_t at = 0; at < all; at += TAKEN)
        get_part_of(w, v, state, (struct mf_span){at, mf_min(all - at, TAKEN)}, to + at);
}

void mf_weights_put(const struct mf_weights *w, int v, enum mf_state state, const float *from)
{
    const struct held held = held_of(w, v, state);
    const struct mf_runs runs = runs_of(w, v);
    float *own;

    if (held.part.count == 0) return;
    if (!runs.chunk) {
        put(w->queue, &held, 0, held.part.count, from + held.part.first);
        return;
    }
    own = MF_MUST(malloc(PIECE * sizeof *own), "weights on their way");
    for (size_t at = 0; at < held.part.count; at += PIECE) {
        const size_t n = mf_min(held.part.count - at, PIECE);

        for (size_t i = 0; i < n; ++i) own[i] = from[mf_runs_place(&runs, held.part.first + at + i)];
        put(w->queue, &held, at, n, own);
    }
    free(own);
}

/* A part of what is held. Ranks that have the same share it. */
static struct mf_span shared_of(const struct mf_weights *w, int v, enum mf_state state, struct mf_span held)
{
    const size_t count = mf_shape_count(&w->net->value[v].shape);
    struct mf_span part = held, of;

    if (!is_cut(w, v, state))
        part = is_shared(w, v) ? mf_cut(count, ranks_of(w) / w->ways, rank_of(w) / w->ways)
                               : mf_cut(count, ranks_of(w), rank_of(w));
    if (!w->tensor || is_part(w, v) || is_of_one(w, v)) return part;
    of = mf_cut(part.count, (size_t)w->tensor->size, (size_t)w->tensor->rank);
    return (struct mf_span){part.first + of.first, of.count};
}

/* -- parts of ranks -- */

/* With offload the weights are those of the optimiser. */
float *mf_weights_part(const struct mf_weights *w, int v, enum mf_state state, int share, struct mf_span *part,
                       struct mf_runs *runs)
{
    const struct mf_value *value = &w->net->value[v];
    struct held held = held_of(w, v, state);

    if (state == MF_STATE_WEIGHT && w->layout->stage < 3 && !mf_value_is_away(value) && !is_fixed(w, v))
        held = whole_in(w, v, bucket_of(w, mf_value_root(w->net, v, NULL))->master);
    MF_ASSERT(held.type == MF_F32); /* some weights are trained */
    *runs = runs_of(w, v);
    *part = share ? shared_of(w, v, state, held.part) : held.part;
    return part->count ? number_of(&held, part->first - held.part.first) : NULL;
}
