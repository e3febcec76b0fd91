/* Small networks and their training: one with skips, shared weights, dropout and views; a transformer; one of images;
 * experts. Lists of networks in text files. */
#ifndef MF_TESTS_NET_CASE_H
#define MF_TESTS_NET_CASE_H

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/net/build.h"
#include "src/net/pass.h"
#include "src/net/walk.h"
#include "tests/check.h"
#include "tests/device.h"
#include "tests/unit/list_text.h"

enum { ROWS = 8, COLUMNS = 12, CLASSES = 5, STEPS = 3, NUMBERS = 4096, BUCKETS = 16, LARGE = 512 };

struct choice {
    size_t rows;
    enum mf_recompute recompute;
    int fuse, fold, adamw, accumulate, stop;
    double drop;
    int model;           /* its number in models[] */
    int stage;           /* of ZeRO, on the second of two ranks; such a list is not walked */
    enum mf_scope scope; /* of what is replayed */
    int host; /* the optimiser is in host memory, and activations of LARGE bytes wait there; nor is this one */
};

static const struct choice usual = {.rows = ROWS, .fuse = 1, .fold = 1, .adamw = 1, .stop = 1, .drop = 0.2};

struct model {
    struct mf_net *net;
    struct mf_list *list;
    int x, label, loss, square[BUCKETS];
    struct mf_layout layout;
};

static inline struct mf_shape flat(size_t a, size_t b)
{
    return (struct mf_shape){.type = MF_F32, .n = 2, .d = {a, b}};
}

/* Two residual blocks that share the weights of "fc"; a side branch that gets no gradient. */
static inline int skips(struct mf_build *b, int x, const struct choice *c)
{
    int side;

    x = mf_build_linear(b, "stem", mf_build_reshape(b, x, flat(c->rows, COLUMNS)), 16);
    for (int i = 0; i < 2; ++i) {
        int h;

        mf_build_segment(b, 1);
        h = mf_build_layer_norm(b, i ? "norm1" : "norm0", x);
        h = mf_build_one(b, MF_OP_GELU, i ? "act1" : "act0", mf_build_linear(b, "fc", h, 16));
        h = mf_build_dropout(b, i ? "drop1" : "drop0", h, c->drop);
        x = mf_build_two(b, MF_OP_ADD, i ? "skip1" : "skip0", x, h);
    }
    mf_build_segment(b, 0);
    side = mf_build_one(b, MF_OP_SILU, "gate", x);
    x = mf_build_two(b, MF_OP_ADD, "side", x, c->stop ? mf_build_stop(b, side) : side);
    return mf_build_linear(b, "head", mf_build_one(b, MF_OP_RELU, "act", x), CLASSES);
}

/* A block of a transformer: attention, then two layers, each with a skip. */
static inline int block(struct mf_build *b, int x, const struct choice *c, int i)
{
    int h = mf_build_linear(b, i ? "qkv1" : "qkv0", mf_build_layer_norm(b, i ? "norm2" : "norm0", x), 24);

    h = mf_build_attention(b, i ? "attention1" : "attention0", h, -1, -1, (struct mf_attr){.heads = 2, .causal = i});
    x = mf_build_two(b, MF_OP_ADD, i ? "skip2" : "skip0", x, mf_build_linear(b, i ? "out1" : "out0", h, 8));
    h = mf_build_linear(b, i ? "up1" : "up0", mf_build_layer_norm(b, i ? "norm3" : "norm1", x), 16);
    h = mf_build_one(b, MF_OP_GELU_TANH, i ? "act1" : "act0", h);
    h = mf_build_dropout(b, i ? "drop1" : "drop0", mf_build_linear(b, i ? "down1" : "down0", h, 8), c->drop);
    return mf_build_two(b, MF_OP_ADD, i ? "skip3" : "skip1", x, h);
}

/* Attention by single operations, as a gate. */
static inline int gate(struct mf_build *b, int x)
{
    const int turned = mf_build_transpose(b, "turned", x, 1, 2);
    const int scores = mf_build_one(b, MF_OP_SOFTMAX, "softmax", mf_build_matmul(b, "scores", x, turned, 0));
    const int mixed = mf_build_matmul(b, "mixed", scores, turned, 2);

    return mf_build_two(b, MF_OP_MUL, "gated", x, mixed);
}

/* A parameter in another shape, read twice. */
static inline int placed(struct mf_build *b, int x, const struct choice *c)
{
    const struct mf_shape line = {.type = MF_F32, .n = 1, .d = {3 * 8}};
    const int all = mf_build_parameter(b, "positions", line, MF_START_NORMAL, 0.02);
    const int at = mf_build_reshape(b, all, flat(3, 8));

    x = mf_build_two(b, MF_OP_ADD, "placed", x, at);
    return mf_build_two(b, MF_OP_MUL, "scaled", x, c->stop ? mf_build_stop(b, at) : at);
}

/* A transformer on three tokens with learned positions. Its head sees the first token twice. */
static inline int transformer(struct mf_build *b, int x, const struct choice *c)
{
    int all[2];

    x = placed(b, mf_build_linear(b, "stem", x, 8), c);
    for (int i = 0; i < 2; ++i) {
        mf_build_segment(b, 1);
        x = block(b, x, c, i);
    }
    mf_build_segment(b, 0);
    x = gate(b, x);
    all[0] = mf_build_slice(b, "first", x, 1, 0, 1);
    all[1] = x;
    x = mf_build_concat(b, "all", 2, all, 1);
    return mf_build_linear(b, "head", mf_build_reshape(b, x, flat(c->rows, 32)), CLASSES);
}

/* Images of 4 x 4 pixels: a residual block, convolutions with activations, and means. */
static inline int images(struct mf_build *b, int x, const struct choice *c)
{
    const struct mf_shape image = {.type = MF_F32, .n = 4, .d = {c->rows, 4, 4, 6}};
    int h;

    x = mf_build_linear(b, "stem", mf_build_reshape(b, x, flat(c->rows, COLUMNS)), 96);
    x = mf_build_reshape(b, x, image);
    mf_build_segment(b, 1);
    h = mf_build_group_norm(b, "norm0", mf_build_conv(b, "conv0", x, 6, 3, 1, 1), 2);
    x = mf_build_two(b, MF_OP_ADD, "skip", x, mf_build_one(b, MF_OP_SILU, "act0", h));
    mf_build_segment(b, 1);
    x = mf_build_one(b, MF_OP_RELU, "act1", mf_build_conv(b, "conv1", x, 8, 3, 1, 1));
    x = mf_build_one(b, MF_OP_SILU, "act2", mf_build_conv(b, "conv2", x, 8, 3, 2, 1));
    mf_build_segment(b, 0);
    x = mf_build_one(b, MF_OP_MEAN, "mean", mf_build_one(b, MF_OP_POOL, "pool", x));
    return mf_build_linear(b, "head", x, CLASSES);
}

/* A linear layer of four experts on rows that permute sorted. */
static inline int of_experts(struct mf_build *b, const char *name, int x, int places, size_t k, size_t m)
{
    const struct mf_shape weight = {.type = MF_F32, .n = 3, .d = {4, m, k}};
    char words[2][16];
    int in[4] = {x, 0, 0, places};

    snprintf(words[0], sizeof words[0], "%s.weight", name);
    snprintf(words[1], sizeof words[1], "%s.bias", name);
    in[1] = mf_build_parameter(b, words[0], weight, MF_START_NORMAL, 0.3);
    in[2] = mf_build_parameter(b, words[1], flat(4, m), MF_START_NORMAL, 0.3);
    return mf_build_node(b, MF_OP_GROUPED_LINEAR, (struct mf_attr){.row_groups = 4}, name, 4, in);
}

static inline int second(const struct mf_build *b) { return b->list->node[b->list->nodes - 1].out[1]; }

/* Two of four experts for each row, with noise. */
static inline int experts(struct mf_build *b, int x, const struct choice *c)
{
    const struct mf_attr route = {.choices = 2, .temperature = 0.7, .deviation = c->drop}, sort = {.experts = 4};
    int logits, weights, places, h;

    x = mf_build_linear(b, "stem", mf_build_reshape(b, x, flat(c->rows, COLUMNS)), 12);
    logits = mf_build_linear(b, "gate", x, 4);
    weights = mf_build_node(b, MF_OP_ROUTE, route, "route", 1, &logits);
    h = mf_build_node(b, MF_OP_PERMUTE, sort, "sorted", 2, (const int[]){x, second(b)});
    places = second(b);
    mf_build_segment(b, 1);
    h = mf_build_one(b, MF_OP_SILU, "act0", of_experts(b, "fc1", h, places, 12, 8));
    h = mf_build_one(b, MF_OP_RELU, "act1", of_experts(b, "fc2", h, places, 8, 6));
    mf_build_segment(b, 0);
    h = mf_build_node(b, MF_OP_COMBINE, (struct mf_attr){0}, "mixed", 3, (const int[]){h, weights, places});
    return mf_build_linear(b, "head", h, CLASSES);
}

/* Noise on images of 4 x 4 pixels, a residual block that a linear layer modulates, and half the pixels and back. */
static inline int denoiser(struct mf_build *b, int x, const struct choice *c)
{
    const struct mf_shape image = {.type = MF_F32, .n = 4, .d = {c->rows, 4, 4, 6}};
    const int row = mf_build_reshape(b, x, flat(c->rows, COLUMNS)), st = mf_build_linear(b, "affine", row, 12);
    const int first = mf_build_slice(b, "first", row, 1, 0, 1), last = mf_build_slice(b, "last", row, 1, 11, 1);
    int h;

    x = mf_build_reshape(b, mf_build_linear(b, "stem", row, 96), image);
    x = mf_build_blend(b, "noisy", x, mf_build_normal(b, "noise", x, image, 0), first, last);
    mf_build_segment(b, 1);
    h = mf_build_two(b, MF_OP_MODULATE, "modulated", mf_build_group_norm(b, "norm", x, 2), st);
    h = mf_build_conv_periodic(b, "conv", mf_build_one(b, MF_OP_SILU, "act", h), 6, 3, 1, 1);
    x = mf_build_two(b, MF_OP_ADD, "skip", x, h);
    mf_build_segment(b, 0);
    x = mf_build_one(b, MF_OP_UPSAMPLE, "up", mf_build_one(b, MF_OP_POOL, "down", x));
    return mf_build_linear(b, "head", mf_build_one(b, MF_OP_MEAN, "mean", x), CLASSES);
}

enum { EXPERTS = 3, DENOISER, MODELS };
static int (*const models[MODELS])(struct mf_build *b, int x, const struct choice *c) = {skips, transformer, images,
                                                                                         experts, denoiser};

static inline struct model make(const struct choice *c, struct mf_queue *queue)
{
    struct model m = {.net = mf_net_new()};
    struct mf_build b = {.list = mf_list_new(m.net, "train")};

    m.list = b.list;
    m.x = mf_build_input(&b, "x", (struct mf_shape){.type = MF_F32, .n = 3, .d = {c->rows, 3, COLUMNS / 3}});
    m.label = mf_build_input(&b, "label", (struct mf_shape){.type = MF_I32, .n = 1, .d = {c->rows}});
    m.loss = mf_build_two(&b, MF_OP_SOFTMAX_LOSS, "loss", models[c->model](&b, m.x, c), m.label);
    CHECK(mf_build_end(&b) == MF_OK);
    m.net->value[m.loss].kept = 1;
    if (c->fuse) mf_pass_fuse(m.list, c->recompute, MF_SCOPE_ALL);
    mf_pass_grad(m.list, 1, &m.loss, 1);
    mf_pass_recompute(m.list, c->recompute, c->stage == 3);
    if (c->fold) mf_pass_fold(m.list);
    mf_pass_spill(m.list, c->host ? LARGE : 0);
    m.layout = (struct mf_layout){.stage = c->stage, .offload = c->host, .pieces = 2, .piece = 1};
    mf_pass_layout(m.list, 1, 1024, &m.layout);
    mf_pass_clear(m.list, &m.layout);
    mf_pass_send(m.list, &m.layout);
    if (c->stage) mf_pass_reduce(m.list, &m.layout, 1);
    mf_pass_fetch(m.list, &m.layout);
    CHECK(m.layout.buckets <= BUCKETS);
    mf_pass_norm(m.list, &m.layout, m.square);
    if (c->adamw) mf_pass_optimise(m.list, &m.layout, MF_OP_ADAMW, NULL);
    mf_pass_bring(m.list, &m.layout);
    if (c->accumulate) mf_pass_accumulate(m.list);
    for (size_t k = 0; !c->adamw && k < m.layout.buckets; ++k) m.net->value[m.layout.bucket[k].gradients].kept = 1;
    CHECK(mf_pass_plan(m.list, queue) == MF_OK);
    mf_pass_live(m.net);
    return m;
}

static inline void drop_model(struct model *m, struct mf_queue *queue)
{
    mf_list_release(m->list, queue);
    mf_layout_free(&m->layout);
    mf_net_free(m->net);
}

/* -- running -- */

static inline void put(const struct device *d, struct mf_walk *walk, const struct model *m, int v, const void *from)
{
    d->be->put(d->q, mf_walk_at(walk, m->list, v), from, mf_shape_bytes(&m->net->value[v].shape));
}

/* Parameters by their names, so that every layout has the same. */
static inline void start(const struct device *d, struct mf_walk *walk, const struct model *m)
{
    static float numbers[NUMBERS];

    for (size_t v = 0; v < m->net->values; ++v) {
        const struct mf_value *value = &m->net->value[v];
        uint64_t seed = 7;

        if (mf_value_gradient(value) < 0) continue;
        for (const char *c = value->name; *c; ++c) seed = 31 * seed + (unsigned char)*c;
        for (size_t i = 0; i < mf_shape_count(&value->shape); ++i)
            numbers[i] = 0.3F * (float)mf_random_normal(seed, 1, i);
        put(d, walk, m, (int)v, numbers);
    }
}

/* Samples [first, first + rows); every fourth label does not count. */
static inline void feed(const struct device *d, struct mf_walk *walk, const struct model *m, size_t first, size_t rows)
{
    float x[ROWS * COLUMNS];
    int32_t label[ROWS];

    for (size_t r = 0; r < rows; ++r) {
        label[r] = (int32_t)((first + r) % 4 == 3 ? -1 : (int)((first + r) * 3 % CLASSES));
        for (size_t i = 0; i < COLUMNS; ++i)
            x[r * COLUMNS + i] = (float)mf_random_normal(3, 2, (first + r) * COLUMNS + i);
    }
    put(d, walk, m, m->x, x);
    put(d, walk, m, m->label, label);
    mf_walk_numbers(walk)[MF_NUMBER_SAMPLE] = (double)first;
    mf_walk_numbers(walk)[MF_NUMBER_SAMPLES] = (double)rows;
}

static inline void set_numbers(struct mf_walk *walk, int step)
{
    double *number = mf_walk_numbers(walk);

    number[MF_NUMBER_STEP] = step;
    number[MF_NUMBER_LEARNING_RATE] = 0.01;
    number[MF_NUMBER_DECAY] = 0.01;
    number[MF_NUMBER_SCALE] = 1;
    number[MF_NUMBER_ROWS] = 6;
    number[MF_NUMBER_SEED] = 9;
}

static inline float loss_of(const struct device *d, struct mf_walk *walk, const struct model *m)
{
    float loss;

    d->be->get(d->q, &loss, mf_walk_at(walk, m->list, m->loss), sizeof loss);
    return loss;
}

/* The norm of all gradients. */
static inline double norm_of(const struct device *d, struct mf_walk *walk, const struct model *m)
{
    double square, sum = 0;

    for (size_t k = 0; k < m->layout.buckets; ++k) {
        d->be->get(d->q, &square, mf_walk_at(walk, m->list, m->square[k]), sizeof square);
        sum += square;
    }
    return sqrt(sum);
}

/* Parameters, or gradients, in the order of their names' values. Returns how many. */
static inline size_t gather(const struct device *d, struct mf_walk *walk, const struct model *m, int gradients,
                            float *to)
{
    size_t n = 0;

    for (size_t v = 0; v < m->net->values; ++v) {
        const struct mf_value *value = &m->net->value[v];

        if (mf_value_gradient(value) < 0) continue;
        d->be->get(d->q, to + n, mf_walk_at(walk, m->list, gradients ? mf_value_gradient(value) : (int)v),
                   mf_shape_bytes(&value->shape));
        n += mf_shape_count(&value->shape);
    }
    return n;
}

/* STEPS steps; parameters and the last loss behind them. */
static inline size_t train(const struct device *d, const struct choice *c, enum mf_walk_mode mode, float *result)
{
    struct model m = make(c, d->q);
    struct mf_walk *walk = NULL;
    size_t n;

    if (mf_walk_open(&walk, m.net, d->q, mode, NULL) != MF_OK) abort();
    start(d, walk, &m);
    mf_walk_replay(walk, 1, c->scope);
    for (int step = 1; step <= STEPS; ++step) {
        set_numbers(walk, step);
        feed(d, walk, &m, 0, c->rows);
        mf_walk_run(walk, m.list);
    }
    n = gather(d, walk, &m, 0, result);
    result[n++] = loss_of(d, walk, &m);
    mf_walk_close(walk);
    drop_model(&m, d->q);
    return n;
}

#endif
