/* Lists of small networks: one with skips, shared weights, dropout and views; a transformer; one of images; experts.
 * Passes are compared by their text, gradients with finite differences. Bits do not depend on the places of memory, nor
 * on what is computed again. Micro-batches add up. */
#include <dlfcn.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/phase.h"
#include "src/base/rng.h"
#include "src/net/build.h"
#include "src/net/pass.h"
#include "src/net/walk.h"
#include "tests/check.h"
#include "tests/device.h"

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

static struct mf_shape flat(size_t a, size_t b) { return (struct mf_shape){.type = MF_F32, .n = 2, .d = {a, b}}; }

/* Two residual blocks that share the weights of "fc"; a side branch that gets no gradient. */
static int skips(struct mf_build *b, int x, const struct choice *c)
{
    int side;

    x = mf_build_linear(b, "stem", mf_build_reshape(b, x, flat(c->rows, COLUMNS)), 16);
    for (int i = 0; i < 2; ++i) {
        int h;

        b->segment = i + 1;
        h = mf_build_layer_norm(b, i ? "norm1" : "norm0", x);
        h = mf_build_one(b, MF_OP_GELU, i ? "act1" : "act0", mf_build_linear(b, "fc", h, 16));
        h = mf_build_dropout(b, i ? "drop1" : "drop0", h, c->drop);
        x = mf_build_two(b, MF_OP_ADD, i ? "skip1" : "skip0", x, h);
    }
    b->segment = 0;
    side = mf_build_one(b, MF_OP_SILU, "gate", x);
    x = mf_build_two(b, MF_OP_ADD, "side", x, c->stop ? mf_build_stop(b, side) : side);
    return mf_build_linear(b, "head", mf_build_one(b, MF_OP_RELU, "act", x), CLASSES);
}

/* A block of a transformer: attention, then two layers, each with a skip. */
static int block(struct mf_build *b, int x, const struct choice *c, int i)
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
static int gate(struct mf_build *b, int x)
{
    const int turned = mf_build_transpose(b, "turned", x, 1, 2);
    const int scores = mf_build_one(b, MF_OP_SOFTMAX, "softmax", mf_build_matmul(b, "scores", x, turned, 0));
    const int mixed = mf_build_matmul(b, "mixed", scores, turned, 2);

    return mf_build_two(b, MF_OP_MUL, "gated", x, mixed);
}

/* A transformer on three tokens with learned positions. Its head sees the first token twice. */
static int transformer(struct mf_build *b, int x, const struct choice *c)
{
    int all[2];

    x = mf_build_linear(b, "stem", x, 8);
    x = mf_build_two(b, MF_OP_ADD, "placed", x, mf_build_parameter(b, "positions", flat(3, 8), MF_START_NORMAL, 0.02));
    for (int i = 0; i < 2; ++i) {
        b->segment = i + 1;
        x = block(b, x, c, i);
    }
    b->segment = 0;
    x = gate(b, x);
    all[0] = mf_build_slice(b, "first", x, 1, 0, 1);
    all[1] = x;
    x = mf_build_concat(b, "all", 2, all, 1);
    return mf_build_linear(b, "head", mf_build_reshape(b, x, flat(c->rows, 32)), CLASSES);
}

/* Images of 4 x 4 pixels: a residual block, convolutions with activations, and means. */
static int images(struct mf_build *b, int x, const struct choice *c)
{
    const struct mf_shape image = {.type = MF_F32, .n = 4, .d = {c->rows, 4, 4, 6}};
    int h;

    x = mf_build_linear(b, "stem", mf_build_reshape(b, x, flat(c->rows, COLUMNS)), 96);
    x = mf_build_reshape(b, x, image);
    b->segment = 1;
    h = mf_build_group_norm(b, "norm0", mf_build_conv(b, "conv0", x, 6, 3, 1, 1), 2);
    x = mf_build_two(b, MF_OP_ADD, "skip", x, mf_build_one(b, MF_OP_SILU, "act0", h));
    b->segment = 2;
    x = mf_build_one(b, MF_OP_RELU, "act1", mf_build_conv(b, "conv1", x, 8, 3, 1, 1));
    x = mf_build_one(b, MF_OP_SILU, "act2", mf_build_conv(b, "conv2", x, 8, 3, 2, 1));
    b->segment = 0;
    x = mf_build_one(b, MF_OP_MEAN, "mean", mf_build_one(b, MF_OP_POOL, "pool", x));
    return mf_build_linear(b, "head", x, CLASSES);
}

/* A linear layer of four experts on rows that permute sorted. */
static int of_experts(struct mf_build *b, const char *name, int x, int places, size_t k, size_t m)
{
    const struct mf_shape weight = {.type = MF_F32, .n = 3, .d = {4, m, k}};
    char words[2][16];
    int in[4] = {x, 0, 0, places};

    snprintf(words[0], sizeof words[0], "%s.weight", name);
    snprintf(words[1], sizeof words[1], "%s.bias", name);
    in[1] = mf_build_parameter(b, words[0], weight, MF_START_NORMAL, 0.3);
    in[2] = mf_build_parameter(b, words[1], flat(4, m), MF_START_NORMAL, 0.3);
    return mf_build_node(b, MF_OP_GROUPED_LINEAR, (struct mf_attr){.groups = 4}, name, 4, in);
}

static int second(const struct mf_build *b) { return b->list->node[b->list->nodes - 1].out[1]; }

/* Two of four experts for each row, with noise. */
static int experts(struct mf_build *b, int x, const struct choice *c)
{
    const struct mf_attr route = {.count = 2, .temperature = 0.7, .rate = c->drop}, sort = {.count = 4};
    int logits, weights, places, h;

    x = mf_build_linear(b, "stem", mf_build_reshape(b, x, flat(c->rows, COLUMNS)), 12);
    logits = mf_build_linear(b, "gate", x, 4);
    weights = mf_build_node(b, MF_OP_ROUTE, route, "route", 1, &logits);
    h = mf_build_node(b, MF_OP_PERMUTE, sort, "sorted", 2, (const int[]){x, second(b)});
    places = second(b);
    b->segment = 1;
    h = mf_build_one(b, MF_OP_SILU, "act0", of_experts(b, "fc1", h, places, 12, 8));
    h = mf_build_one(b, MF_OP_RELU, "act1", of_experts(b, "fc2", h, places, 8, 6));
    b->segment = 0;
    h = mf_build_node(b, MF_OP_COMBINE, (struct mf_attr){0}, "mixed", 3, (const int[]){h, weights, places});
    return mf_build_linear(b, "head", h, CLASSES);
}

enum { EXPERTS = 3, MODELS };
static int (*const models[MODELS])(struct mf_build *b, int x, const struct choice *c) = {skips, transformer, images,
                                                                                         experts};

static struct model make(const struct choice *c, struct mf_queue *queue)
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
    mf_pass_grad(m.list, m.loss, 1);
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

static void drop_model(struct model *m, struct mf_queue *queue)
{
    mf_list_release(m->list, queue);
    mf_layout_free(&m->layout);
    mf_net_free(m->net);
}

/* -- running -- */

static void put(const struct device *d, struct mf_walk *walk, const struct model *m, int v, const void *from)
{
    d->be->put(d->q, mf_walk_at(walk, m->list, v), from, mf_shape_bytes(&m->net->value[v].shape));
}

/* Parameters by their names, so that every layout has the same. */
static void start(const struct device *d, struct mf_walk *walk, const struct model *m)
{
    static float numbers[NUMBERS];

    for (size_t v = 0; v < m->net->values; ++v) {
        const struct mf_value *value = &m->net->value[v];
        uint64_t seed = 7;

        if (value->role != MF_ROLE_PARAMETER || value->gradient < 0) continue;
        for (const char *c = value->name; *c; ++c) seed = 31 * seed + (unsigned char)*c;
        for (size_t i = 0; i < mf_shape_count(&value->shape); ++i)
            numbers[i] = 0.3F * (float)mf_random_normal(seed, 1, i);
        put(d, walk, m, (int)v, numbers);
    }
}

/* Samples [first, first + rows); every fourth label does not count. */
static void feed(const struct device *d, struct mf_walk *walk, const struct model *m, size_t first, size_t rows)
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

static void set_numbers(struct mf_walk *walk, int step)
{
    double *number = mf_walk_numbers(walk);

    number[MF_NUMBER_STEP] = step;
    number[MF_NUMBER_LEARNING_RATE] = 0.01;
    number[MF_NUMBER_DECAY] = 0.01;
    number[MF_NUMBER_SCALE] = 1;
    number[MF_NUMBER_ROWS] = 6;
    number[MF_NUMBER_SEED] = 9;
}

static float loss_of(const struct device *d, struct mf_walk *walk, const struct model *m)
{
    float loss;

    d->be->get(d->q, &loss, mf_walk_at(walk, m->list, m->loss), sizeof loss);
    return loss;
}

/* The norm of all gradients. */
static double norm_of(const struct device *d, struct mf_walk *walk, const struct model *m)
{
    double square, sum = 0;

    for (size_t k = 0; k < m->layout.buckets; ++k) {
        d->be->get(d->q, &square, mf_walk_at(walk, m->list, m->square[k]), sizeof square);
        sum += square;
    }
    return sqrt(sum);
}

/* Parameters, or gradients, in the order of their names' values. Returns how many. */
static size_t gather(const struct device *d, struct mf_walk *walk, const struct model *m, int gradients, float *to)
{
    size_t n = 0;

    for (size_t v = 0; v < m->net->values; ++v) {
        const struct mf_value *value = &m->net->value[v];

        if (value->role != MF_ROLE_PARAMETER || value->gradient < 0) continue;
        d->be->get(d->q, to + n, mf_walk_at(walk, m->list, gradients ? value->gradient : (int)v),
                   mf_shape_bytes(&value->shape));
        n += mf_shape_count(&value->shape);
    }
    return n;
}

/* STEPS steps; parameters and the last loss behind them. */
static size_t train(const struct device *d, const struct choice *c, enum mf_walk_mode mode, float *result)
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

/* Launches of kernels on the emulator so far. */
static long launches(void)
{
    void *emulator = dlopen("libemu_cudart.so", RTLD_LAZY | RTLD_NOLOAD);
    const long *calls = emulator ? dlsym(emulator, "mf_emu_calls") : NULL;

    if (emulator) dlclose(emulator);
    return calls ? *calls : 0;
}

/* A device makes the calls of two steps and replays them in the third, with the numbers of that step. Where phases are
 * timed it makes all calls. */
static void check_replay(const struct device *d, const struct choice *c)
{
    static float want[NUMBERS], got[NUMBERS];
    long before = launches(), all;
    size_t n;

    mf_phases_open(1, 0);
    n = train(d, c, MF_WALK_PLANNED, want);
    mf_phases_open(0, 0);
    all = launches() - before;
    before += all;
    CHECK(train(d, c, MF_WALK_PLANNED, got) == n);
    CHECK_SAYS(memcmp(got, want, n * sizeof *got) == 0, "model %d: a replay has other bits", c->model);
    CHECK_SAYS(3 * (launches() - before) == 2 * all, "model %d: %ld launches of %ld", c->model, launches() - before,
               all);
}

/* Of a part of the model alone the third step makes fewer calls, and not none. */
static void check_replay_of_router(const struct device *d)
{
    static float want[NUMBERS], got[NUMBERS];
    struct choice c = usual;
    long before = launches(), whole, part;
    size_t n;

    c.model = EXPERTS;
    n = train(d, &c, MF_WALK_PLANNED, want);
    whole = launches() - before;
    c.scope = MF_SCOPE_GATE;
    train(d, &c, MF_WALK_PLANNED, got);
    part = launches() - before - whole;
    CHECK(memcmp(got, want, n * sizeof *got) == 0);
    CHECK_SAYS(part > whole && 2 * part < 3 * whole, "%ld launches, %ld where all is replayed", part, whole);
}

/* However memory is laid out, and whatever is computed again. */
static void check_bits(struct device *d, const struct choice *base)
{
    static float want[NUMBERS], got[NUMBERS];
    struct choice c = *base;
    const size_t n = train(d, &c, MF_WALK_PLANNED, want);

    CHECK(n > 500 && isfinite(want[n - 1]));
    for (int how = MF_RECOMPUTE_NONE; how <= MF_RECOMPUTE_BLOCKS; ++how)
        for (int fuse = 0; fuse < 2; ++fuse)
            for (int mode = 0; mode < (d->be->host_mem ? 1 : 2); ++mode) {
                c.recompute = (enum mf_recompute)how;
                c.fuse = fuse;
                CHECK(train(d, &c, (enum mf_walk_mode)mode, got) == n);
                CHECK_SAYS(memcmp(got, want, n * sizeof *got) == 0, "recompute %d, fuse %d, mode %d: other bits", how,
                           fuse, mode);
            }
    c = *base;
    c.fold = 0; /* sums in another order */
    train(d, &c, MF_WALK_PLANNED, got);
    for (size_t i = 0; i < n; ++i) CHECK_NEAR(got[i], want[i], 1e-4);
    d->q->threads = 3;
    train(d, base, MF_WALK_PLANNED, got);
    d->q->threads = 1;
    CHECK(memcmp(got, want, n * sizeof *got) == 0);
}

/* Along the gradient the loss rises by its squared norm. */
static void check_slope(const struct device *d, const struct choice *base)
{
    struct choice c = *base;
    struct model m;
    struct mf_walk *walk = NULL;
    static float x[NUMBERS], g[NUMBERS], moved[NUMBERS];
    double norm = 0, loss[2];
    size_t n;

    c.adamw = c.stop = 0; /* what is stopped has a slope, too */
    m = make(&c, d->q);
    if (mf_walk_open(&walk, m.net, d->q, MF_WALK_PLANNED, NULL) != MF_OK) abort();
    start(d, walk, &m);
    set_numbers(walk, 1);
    feed(d, walk, &m, 0, ROWS);
    mf_walk_run(walk, m.list);
    n = gather(d, walk, &m, 1, g);
    gather(d, walk, &m, 0, x);
    for (size_t i = 0; i < n; ++i) norm += (double)g[i] * g[i];
    CHECK_NEAR(norm_of(d, walk, &m), sqrt(norm), 1e-9 * sqrt(norm));
    for (int side = 0; side < 2; ++side) {
        size_t at = 0;

        for (size_t i = 0; i < n; ++i) moved[i] = x[i] + (float)((side ? 1 : -1) * 0.01 / sqrt(norm)) * g[i];
        for (size_t v = 0; v < m.net->values; ++v)
            if (m.net->value[v].role == MF_ROLE_PARAMETER && m.net->value[v].gradient >= 0) {
                put(d, walk, &m, (int)v, moved + at);
                at += mf_shape_count(&m.net->value[v].shape);
            }
        feed(d, walk, &m, 0, ROWS);
        mf_walk_run(walk, m.list);
        loss[side] = loss_of(d, walk, &m);
    }
    CHECK_NEAR((loss[1] - loss[0]) / 0.02, sqrt(norm), 2e-3 * sqrt(norm));
    mf_walk_close(walk);
    drop_model(&m, d->q);
}

/* The gradient of a batch, and of its quarters added up. */
static void check_accumulation(const struct device *d, const struct choice *base)
{
    static float whole[NUMBERS], sum[NUMBERS];
    size_t n = 0;

    for (int parts = 1; parts <= 4; parts += 3) {
        struct choice c = *base;
        struct model m;
        struct mf_walk *walk = NULL;
        double loss = 0;

        c.adamw = 0;
        c.rows = ROWS / (size_t)parts;
        c.accumulate = parts > 1;
        m = make(&c, d->q);
        if (mf_walk_open(&walk, m.net, d->q, MF_WALK_PLANNED, NULL) != MF_OK) abort();
        start(d, walk, &m);
        set_numbers(walk, 1);
        for (int k = 0; k < parts; ++k) {
            feed(d, walk, &m, (size_t)k * c.rows, c.rows);
            mf_walk_run(walk, m.list);
            loss += loss_of(d, walk, &m);
        }
        n = gather(d, walk, &m, 1, parts == 1 ? whole : sum);
        CHECK_NEAR(loss, 1.9, 1); /* of five classes */
        mf_walk_close(walk);
        drop_model(&m, d->q);
    }
    for (size_t i = 0; i < n; ++i) CHECK_NEAR(sum[i], whole[i], 2e-6);
}

/* A hunt names nobody for rows that nobody wrote. */
static void check_hunt(const struct device *d)
{
    for (int fuse = 0; fuse < 2; ++fuse) {
        struct choice c = usual;
        struct model m;
        struct mf_walk *walk = NULL;

        c.model = EXPERTS;
        c.fuse = fuse;
        m = make(&c, d->q);
        if (mf_walk_open(&walk, m.net, d->q, MF_WALK_PLANNED, NULL) != MF_OK) abort();
        start(d, walk, &m);
        set_numbers(walk, 1);
        feed(d, walk, &m, 0, ROWS);
        mf_walk_numbers(walk)[MF_NUMBER_SAMPLES] = ROWS - 3;
        mf_walk_hunt(walk, 1);
        mf_walk_run(walk, m.list);
        CHECK_SAYS(!mf_walk_bad(walk), "%s is named", mf_walk_bad(walk)->name);
        mf_walk_close(walk);
        drop_model(&m, d->q);
    }
}

/* What memory is planned: little more than what lives at one time, and less where activations are computed again. */
static void check_memory(const struct device *d)
{
    size_t room[3];

    for (int how = MF_RECOMPUTE_NONE; how <= MF_RECOMPUTE_BLOCKS; ++how) {
        struct choice c = usual;
        struct model m;

        c.recompute = (enum mf_recompute)how;
        m = make(&c, d->q);
        CHECK_SAYS((double)m.list->room[0] <= 1.1 * (double)m.list->floor[0], "room %zu, floor %zu", m.list->room[0],
                   m.list->floor[0]);
        room[how] = m.list->room[0];
        drop_model(&m, d->q);
    }
    CHECK(room[MF_RECOMPUTE_BLOCKS] <= room[MF_RECOMPUTE_NONE]);
}

/* Refusals name the node. */
static void check_refusals(void)
{
    struct mf_net *net = mf_net_new();
    struct mf_build b = {.list = mf_list_new(net, "bad")};
    int x = mf_build_input(&b, "x", flat(3, 4)), y = mf_build_input(&b, "y", flat(3, 5));

    x = mf_build_two(&b, MF_OP_ADD, "sum", x, y);
    CHECK(x == -1 && mf_build_linear(&b, "after", x, 3) == -1 && mf_build_end(&b) == MF_USAGE);
    CHECK(strstr(mf_err_text(), "node 'sum' (add): its second input") != NULL);
    mf_net_free(net);
}

/* The lists of all ways to recompute, of stage 3, and with host memory, in the text of @p path; where it differs, the
 * new text is printed. */
static void check_text(const struct device *d, const char *path)
{
    char *got, want[1 << 17];
    size_t n;
    FILE *file = open_memstream(&got, &n);

    for (int k = 0; k <= MF_RECOMPUTE_BLOCKS + 2; ++k) {
        struct choice c = usual;
        struct model m;

        if (k <= MF_RECOMPUTE_BLOCKS)
            c.recompute = (enum mf_recompute)k;
        else if (k == MF_RECOMPUTE_BLOCKS + 1)
            c.stage = 3;
        else
            c.host = 1;
        m = make(&c, d->q);
        mf_list_print(m.list, file, 1);
        drop_model(&m, d->q);
    }
    fclose(file);
    file = fopen(path, "r");
    want[file ? fread(want, 1, sizeof want - 1, file) : 0] = 0;
    if (file) fclose(file);
    CHECK_SAYS(strcmp(got, want) == 0, "%s should be:\n%s", path, got);
    free(got);
}

/* The operations of backward, of the inputs with these shapes, for the @p wanted gradients. It reads no others. */
static double cost(enum mf_op_id op, struct mf_attr attr, const struct mf_shape in[3], struct mf_shape y,
                   unsigned wanted)
{
    struct mf_net *net = mf_net_new();
    struct mf_node *node = mf_list_insert(mf_list_new(net, "cost"), 0, op, "node");
    unsigned reads, out;
    double operations;

    mf_ops[op]->reads(&attr, wanted, &reads, &out);
    node->attr = attr;
    node->back = 1;
    node->dout = mf_value_new(net, MF_ROLE_ACTIVATION, y, "dy");
    for (int i = 0; i < 3; ++i) {
        if (in[i].n && reads >> i & 1) node->in[i] = mf_value_new(net, MF_ROLE_ACTIVATION, in[i], "x");
        if (wanted >> i & 1) node->din[i] = mf_value_new(net, MF_ROLE_ACTIVATION, in[i], "dx");
    }
    operations = mf_node_operations(net, node);
    mf_net_free(net);
    return operations;
}

/* Two operations for each product and sum. */
static void check_costs(void)
{
    const struct mf_shape layer[3] = {flat(7, 5), flat(3, 5), {.type = MF_F32, .n = 1, .d = {3}}};
    const struct mf_shape packed[3] = {{MF_F32, 3, {2, 7, 18}}}, y = {MF_F32, 3, {2, 7, 6}};
    const struct mf_shape apart[3] = {y, {MF_F32, 3, {2, 7, 12}}};
    const struct mf_shape grouped[3] = {flat(7, 5), {MF_F32, 3, {2, 3, 5}}, flat(2, 3)};
    const struct mf_attr two_heads = {.heads = 2};
    const double product = 2 * 2 * 7 * 7 * 6;

    CHECK(cost(MF_OP_LINEAR, (struct mf_attr){0}, layer, flat(7, 3), 7) == 2 * 2 * 7 * 5 * 3);
    CHECK(cost(MF_OP_LINEAR, (struct mf_attr){0}, layer, flat(7, 3), 2) == 2 * 7 * 5 * 3);
    CHECK(cost(MF_OP_LINEAR, (struct mf_attr){0}, layer, flat(7, 3), 4) == 0);
    CHECK(cost(MF_OP_GROUPED_LINEAR, (struct mf_attr){.groups = 2}, grouped, flat(7, 3), 7) == 2 * 2 * 7 * 5 * 3);
    CHECK(cost(MF_OP_ATTENTION, two_heads, packed, y, 1) == 5 * product);
    CHECK(cost(MF_OP_ATTENTION, two_heads, apart, y, 3) == 5 * product);
    CHECK(cost(MF_OP_ATTENTION, two_heads, apart, y, 1) == 3 * product);
    CHECK(cost(MF_OP_ATTENTION, two_heads, apart, y, 2) == 4 * product);
}

/* @p argv[1]: the golden text */
int main(int argc, char **argv)
{
    struct device d = device_open(1, 1, 0);

    NEEDS(1, "LIST");
    if (!d.be->segment_begin) check_text(&d, argv[1]);
    for (int k = 0; k < MODELS; ++k) {
        struct choice base = usual;

        base.model = k;
        if (d.be->segment_begin) {
            check_replay(&d, &base);
            continue;
        }
        check_bits(&d, &base);
        check_slope(&d, &base);
        check_accumulation(&d, &base);
    }
    if (d.be->segment_begin) check_replay_of_router(&d);
    check_memory(&d);
    check_hunt(&d);
    check_costs();
    check_refusals();
    device_close(&d);
    return failures != 0;
}
