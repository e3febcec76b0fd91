/* All lists of a training give the same bits in memory that is planned and in memory that is checked. Seven errors,
 * planted in the lists, are noticed. The checked walk finds them, other bits do, or the slope of the loss. Ranks with
 * different experts start the same exchanges in the same order. */
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "src/base/rng.h"
#include "src/net/walk.h"
#include "src/train/learn_classify.h"
#include "src/train/network.h"
#include "tests/device.h"

enum { EDGE = 8, BATCH = 3, MICRO = 3, CLASSES = 3, STEPS = 3, NUMBERS = 1 << 16, LARGE = 128 };

/* -- a model with a skip, dropout and a layer that is used twice -- */

static int twice(struct mf_build *b, int x, const struct mf_arch_args *args, size_t outputs)
{
    const struct mf_shape all = mf_build_shape(b, x), row = {.n = 2, .d = {all.d[0], mf_shape_count(&all) / all.d[0]}};

    x = mf_build_linear(b, "stem", mf_build_reshape(b, x, row), 16);
    for (int i = 0; i < 2; ++i) {
        int h;

        mf_build_segment(b, 1);
        h = mf_build_layer_norm(b, i ? "norm1" : "norm0", x);
        h = mf_build_one(b, MF_OP_GELU, i ? "act1" : "act0", mf_build_linear(b, "shared", h, 16));
        h = mf_build_linear(b, i ? "out1" : "out0", mf_build_dropout(b, i ? "drop1" : "drop0", h, args->dropout), 16);
        x = mf_build_two(b, MF_OP_ADD, i ? "skip1" : "skip0", x, h);
    }
    mf_build_segment(b, 0);
    return mf_build_linear(b, "head", x, outputs);
}

static const struct mf_arch model = {.name = "twice", .forward = twice};

/* It removes noise, and the level of the noise follows from the samples. */
static int denoiser(struct mf_build *b, int x, const struct mf_arch_args *args, size_t outputs)
{
    const struct mf_arch *unet = mf_arch_find("unet");
    const struct mf_shape all = mf_build_shape(b, x), row = {.n = 2, .d = {all.d[0], mf_shape_count(&all) / all.d[0]}};
    const int flat = mf_build_reshape(b, x, row), level = mf_build_linear(b, "level", flat, mf_arch_noise_width(args));

    x = unet->denoise(b, &(struct mf_arch_denoise){x, level, flat}, args);
    return mf_build_linear(b, "head", mf_build_reshape(b, x, row), outputs);
}

static struct mf_arch removes_noise = {.name = "denoiser", .forward = denoiser};

static struct mf_task task;

static struct mf_network_wish usual(void)
{
    return (struct mf_network_wish){.arch = &model,
                                    .args = {.dropout = 0.2},
                                    .task = task,
                                    .dims = {1, EDGE, EDGE, 1},
                                    .batch = BATCH,
                                    .micro = MICRO,
                                    .ranks = 1,
                                    .optimiser = MF_OP_ADAMW,
                                    .moments = {.momentum = 0.9, .second = 0.999, .epsilon = 1e-6},
                                    .bucket = 2048};
}

/* -- running -- */

struct run {
    struct device *d;
    struct mf_network *n;
    struct mf_walk *walk;
};

/* The row behind the last sample does not count. */
static void feed(const struct run *r, const struct mf_pass_list *pass, size_t first, size_t rows)
{
    float x[BATCH * EDGE * EDGE];
    int32_t label[BATCH];
    struct mf_queue *q = r->d->q;

    for (size_t i = 0; i < sizeof x / sizeof *x; ++i) x[i] = (float)mf_random_normal(3, 2, first * EDGE * EDGE + i);
    for (size_t i = 0; i < BATCH; ++i) label[i] = i < rows ? (int32_t)((first + i) % CLASSES) : -1;
    q->backend->put(q, mf_walk_at(r->walk, pass->list, r->n->input[0].value), x, sizeof x);
    q->backend->put(q, mf_walk_at(r->walk, pass->list, r->n->input[1].value), label, sizeof label);
    mf_walk_numbers(r->walk)[MF_NUMBER_SAMPLE] = (double)first;
}

/* Computes the gradients of a step. Returns its loss. */
static double pass_all(const struct run *r, size_t micro)
{
    double loss = 0;

    mf_walk_numbers(r->walk)[MF_NUMBER_ROWS] = (double)(micro * BATCH - 1);
    for (size_t m = 0; m < micro; ++m) {
        const struct mf_pass_list *pass = m + 1 == micro ? &r->n->last : m == 0 ? &r->n->first : &r->n->inner;

        feed(r, pass, m * BATCH, m + 1 == micro ? BATCH - 1 : BATCH);
        mf_walk_run(r->walk, pass->list);
        loss += (double)*(float *)mf_walk_at(r->walk, pass->list, pass->loss[0]);
    }
    mf_walk_run(r->walk, r->n->reduce);
    return loss;
}

/* In stage 3 the own pieces hold the weights; here there is one piece. */
static float *weight_at(const struct run *r, int v)
{
    const struct mf_layout *layout = &r->n->layout;
    size_t shift, k = 0;
    const int root = mf_value_root(r->n->net, v, &shift);

    if (layout->stage < 3) return mf_walk_at(r->walk, r->n->last.list, v);
    while (layout->bucket[k].parameters != root) ++k;
    return (float *)mf_walk_at(r->walk, r->n->last.list, layout->bucket[k].own_parameters) + shift / sizeof(float);
}

static size_t gather(const struct run *r, int gradients, float *to)
{
    size_t n = 0;

    for (size_t v = 0; v < r->n->net->values; ++v) {
        const struct mf_value *value = &r->n->net->value[v];

        if (!mf_value_is_weight(value)) continue;
        memcpy(to + n,
               gradients ? mf_walk_at(r->walk, r->n->last.list, mf_value_gradient(value))
                         : (void *)weight_at(r, (int)v),
               mf_shape_bytes(&value->shape));
        n += mf_shape_count(&value->shape);
    }
    return n;
}

static void scatter(const struct run *r, const float *from)
{
    for (size_t v = 0; v < r->n->net->values; ++v) {
        const struct mf_value *value = &r->n->net->value[v];

        if (!mf_value_is_weight(value)) continue;
        memcpy(weight_at(r, (int)v), from, mf_shape_bytes(&value->shape));
        from += mf_shape_count(&value->shape);
    }
    for (size_t k = 0; r->n->layout.offload && k < r->n->layout.buckets; ++k) {
        const struct mf_bucket *bucket = &r->n->layout.bucket[k];

        if (r->n->layout.stage == 3) continue; /* there is none */
        memcpy(mf_walk_at(r->walk, r->n->optimise, bucket->master),
               mf_walk_at(r->walk, r->n->last.list, bucket->parameters),
               mf_shape_bytes(&r->n->net->value[bucket->master].shape));
    }
}

static void open_run(struct run *r, enum mf_walk_mode mode)
{
    static float start[NUMBERS];
    double *number;

    if (mf_walk_open(&r->walk, r->n->net, r->d->q, mode, NULL) != MF_OK) abort();
    number = mf_walk_numbers(r->walk);
    number[MF_NUMBER_LEARNING_RATE] = number[MF_NUMBER_DECAY] = 0.01;
    number[MF_NUMBER_SCALE] = number[MF_NUMBER_STEP] = 1;
    number[MF_NUMBER_SEED] = 9;
    for (size_t i = 0; i < NUMBERS; ++i) start[i] = 0.2F * (float)mf_random_normal(7, 1, i);
    scatter(r, start);
}

/* Takes STEPS steps and evaluates. @p result: the weights, then the losses. */
static size_t train(struct device *d, struct mf_network *n, size_t micro, enum mf_walk_mode mode, float *result)
{
    struct run r = {d, n, NULL};
    float loss[STEPS + 1];
    size_t count;

    open_run(&r, mode);
    for (int step = 0; step < STEPS; ++step) {
        mf_walk_numbers(r.walk)[MF_NUMBER_STEP] = step + 1;
        loss[step] = (float)pass_all(&r, micro);
        mf_walk_run(r.walk, n->optimise);
    }
    feed(&r, &n->evaluate, 50, BATCH);
    mf_walk_run(r.walk, n->evaluate.list);
    loss[STEPS] = *(float *)mf_walk_at(r.walk, n->evaluate.list, n->evaluate.loss[0]);
    count = gather(&r, 0, result);
    memcpy(result + count, loss, sizeof loss);
    mf_walk_close(r.walk);
    return count + STEPS + 1;
}

/* The checked walk runs in a process of its own, and leaves its result here. */
static float *checked_result;

enum outcome { SAME, OTHER, NOT_A_NUMBER, ENDED };

static enum outcome checked(struct device *d, struct mf_network *n, size_t micro, size_t count, const float *planned)
{
    const pid_t child = fork();
    int status = 0;

    if (child == 0) {
        if (!freopen("/dev/null", "w", stderr)) _exit(1); /* of a sanitizer */
        train(d, n, micro, MF_WALK_CHECKED, checked_result);
        _exit(0);
    }
    waitpid(child, &status, 0);
    if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) return ENDED;
    for (size_t i = 0; i < count; ++i)
        if (isnan(checked_result[i])) return NOT_A_NUMBER;
    return memcmp(planned, checked_result, count * sizeof *planned) == 0 ? SAME : OTHER;
}

/* The slope of the loss along the gradient of one weight's numbers [from, to), beside its norm. */
static double slope(const struct run *r, const float *x, const float *g, size_t from, size_t to, double *norm)
{
    static float moved[NUMBERS];
    double loss[2], square = 0;

    for (size_t i = from; i < to; ++i) square += (double)g[i] * g[i];
    *norm = sqrt(square);
    memcpy(moved, x, sizeof moved);
    for (int side = 0; side < 2; ++side) {
        for (size_t i = from; i < to; ++i) moved[i] = x[i] + (float)((side ? 0.01 : -0.01) / (*norm + 1e-9)) * g[i];
        scatter(r, moved);
        loss[side] = pass_all(r, MICRO);
    }
    return (loss[1] - loss[0]) / 0.02;
}

/* The largest relative error of the slope by a weight. */
static double slope_error(struct device *d, struct mf_network *n)
{
    static float x[NUMBERS], g[NUMBERS];
    struct run r = {d, n, NULL};
    double worst = 0;
    size_t from = 0;

    open_run(&r, MF_WALK_PLANNED);
    pass_all(&r, MICRO);
    gather(&r, 1, g);
    gather(&r, 0, x);
    for (size_t v = 0; v < n->net->values; ++v) {
        const size_t to = from + mf_shape_count(&n->net->value[v].shape);
        double norm, got;

        if (!mf_value_is_weight(&n->net->value[v])) continue;
        got = slope(&r, x, g, from, to, &norm);
        worst = fmax(worst, fabs(got - norm) / (norm + 1e-2));
        from = to;
    }
    mf_walk_close(r.walk);
    return worst;
}

/* -- errors -- */

static struct mf_node *node_of(struct mf_list *list, const char *name, int back)
{
    for (size_t i = 0; i < list->nodes; ++i)
        if (list->node[i].back == back && strcmp(list->node[i].name, name) == 0) return &list->node[i];
    fprintf(stderr, "no node '%s'\n", name);
    abort();
}

/* Backward's input lies where the next layer writes. */
static void lifetime(struct mf_network *n)
{
    struct mf_list *list = n->last.list;
    const int a = mf_value_root(n->net, node_of(list, "norm0", 0)->out[0], NULL);
    const int b = mf_value_root(n->net, node_of(list, "norm1", 0)->out[0], NULL);

    list->at[b] = list->at[a];
}

/* The last micro-batch writes a gradient over that of the others. */
static void add_flag(struct mf_network *n) { node_of(n->last.list, "head", 1)->add = 0; }

/* One of two uses gives no gradient. */
static void shared_weight(struct mf_network *n)
{
    for (size_t k = 0; k < 3; ++k) node_of(n->net->list[k], "shared", 1)->din[1] = -1;
}

/* A norm writes over its input, which backward reads. */
static void alias(struct mf_network *n)
{
    struct mf_node *norm = node_of(n->inner.list, "norm1", 0);

    n->net->value[norm->out[0]].base = norm->in[0];
}

/* A gradient is added to what nobody wrote. */
static void nothing_there(struct mf_network *n)
{
    struct mf_node *out = node_of(n->first.list, "out1", 1);

    out->add |= 1;
}

/* Backward of a layer reads the input of another one. */
static void wrong_operand(struct mf_network *n)
{
    for (size_t k = 0; k < 3; ++k)
        node_of(n->net->list[k], "out1", 1)->in[0] = node_of(n->net->list[k], "out0", 0)->in[0];
}

/* A weight ends behind its bucket. */
static void overrun(struct mf_network *n)
{
    size_t last = 0;

    for (size_t v = 0; v < n->net->values; ++v)
        if (mf_value_is_weight(&n->net->value[v]) && n->net->value[v].shift >= n->net->value[last].shift) last = v;
    n->net->value[last].shift = mf_shape_bytes(&n->net->value[n->net->value[last].base].shape);
}

static const struct error {
    const char *name;
    void (*plant)(struct mf_network *n);
    enum outcome wanted;
    int slope; /* the slope notices it */
} errors[] = {{"none", NULL, SAME, 0},
              {"lifetime", lifetime, OTHER, 0},
              {"add flag", add_flag, SAME, 1},
              {"shared weight", shared_weight, SAME, 1},
              {"alias", alias, NOT_A_NUMBER, 0},
              {"nothing there", nothing_there, NOT_A_NUMBER, 0},
              {"wrong operand", wrong_operand, SAME, 1},
              {"overrun", overrun, ENDED, 0}};

static void plant(struct device *d, const struct error *e)
{
    static float planned[NUMBERS];
    const struct mf_network_wish wish = usual();
    struct mf_network n;
    enum outcome got;
    double off;
    size_t count;

    CHECK(mf_network_make(&wish, d->q, &n) == MF_OK);
    if (e->plant) e->plant(&n);
    memset(planned, 0, sizeof planned);
    count = e->wanted == ENDED ? 0 : train(d, &n, MICRO, MF_WALK_PLANNED, planned);
    got = checked(d, &n, MICRO, count, planned);
    CHECK_SAYS(got == e->wanted, "%s: the checked walk came to %d, not %d", e->name, (int)got, (int)e->wanted);
    if (e->wanted == SAME) {
        off = slope_error(d, &n);
        CHECK_SAYS(e->slope ? !(off < 0.01) : off < 0.001, "%s: the slope is off by %g", e->name, off);
    }
    mf_network_free(&n);
}

/* -- every model -- */

/* @p host: the optimiser is in host memory, and activations wait there. */
static void same_bits(struct device *d, const struct mf_arch *m, enum mf_recompute how, size_t micro, int stage,
                      int host)
{
    static float planned[NUMBERS];
    struct mf_network_wish wish = usual();
    struct mf_network n;
    size_t count;
    enum outcome got;

    wish.arch = m;
    wish.args = (struct mf_arch_args){.dropout = 0.2, .width = 8, .depth = 1};
    if (m->standard.heads) wish.args.heads = 2;
    if (m->standard.patch) wish.args.patch = 4;
    if (m == &removes_noise) wish.args.patch = wish.args.depth = 2;
    if (m != &model) CHECK(mf_arch_complete(m, &wish.args) == MF_OK);
    wish.recompute = how;
    wish.micro = micro;
    wish.stage = stage;
    wish.offload = host;
    wish.spill = host ? LARGE : 0;
    CHECK_SAYS(mf_network_make(&wish, d->q, &n) == MF_OK, "%s", mf_err_text());
    CHECK(mf_weights_count(n.net, 0) < NUMBERS - STEPS - 1);
    count = train(d, &n, micro, MF_WALK_PLANNED, planned);
    CHECK(isfinite(planned[count - 1]));
    got = checked(d, &n, micro, count, planned);
    CHECK_SAYS(got == SAME, "%s, recompute %d, %zu passes, stage %d, host %d: the checked walk came to %d", m->name,
               (int)how, micro, stage, host, (int)got);
    mf_network_free(&n);
}

static void same_bits_always(struct device *d, const struct mf_arch *m)
{
    for (int how = 0; how <= MF_RECOMPUTE_BLOCKS; ++how)
        for (int host = 0; host < 2; ++host)
            same_bits(d, m, (enum mf_recompute)how, (size_t)how + 1, how == 1 ? 2 : 3 * (how == 2), host);
}

/* -- ranks that share experts -- */

enum { SHARING = 2, UNEVEN = 7 /* experts, of which the second rank has six */, WORDS = 1 << 14 };

/* Exchanges of a list among ranks of different experts, in its order: one stream of a GPU has them all. */
static void say_starts(const struct mf_list *list, char *text)
{
    size_t n = strlen(text);

    for (size_t i = 0; list && i < list->nodes && n + 100 < WORDS; ++i) {
        const struct mf_node *node = &list->node[i];
        const int all = node->op == MF_OP_START && node->attr.group == MF_GROUP_ALL;

        if (all || node->op == MF_OP_TRADE || node->op == MF_OP_TRADE_BACK)
            n += (size_t)snprintf(text + n, WORDS - n, "%.90s\n", node->name);
    }
}

static void starts_of(struct device *d, const char *name, int stage, size_t bucket, size_t rank, char *text)
{
    static const double cost[UNEVEN] = {6, 1, 1, 1, 1, 1, 1};
    struct mf_network_wish wish = usual();
    struct mf_experts experts;
    struct mf_network n;

    mf_experts_first(&experts, UNEVEN);
    mf_experts_share(&experts, SHARING, rank, cost, NULL);
    wish.arch = mf_arch_find(name);
    wish.args = (struct mf_arch_args){.width = 8, .depth = 3, .experts = UNEVEN, .list = &experts};
    if (wish.arch->standard.heads) wish.args.heads = 2;
    if (wish.arch->standard.patch) wish.args.patch = 4;
    CHECK(mf_arch_complete(wish.arch, &wish.args) == MF_OK);
    wish.ranks = SHARING;
    wish.rank = rank;
    wish.stage = stage;
    wish.bucket = bucket;
    CHECK_SAYS(mf_network_make(&wish, d->q, &n) == MF_OK, "%s", mf_err_text());
    *text = '\0';
    say_starts(n.first.list, text);
    say_starts(n.inner.list, text);
    say_starts(n.last.list, text);
    say_starts(n.optimise, text);
    say_starts(n.evaluate.list, text);
    mf_network_free(&n);
}

static void same_starts(struct device *d, const char *name)
{
    static char text[SHARING][WORDS];

    for (int stage = 0; stage <= 3; ++stage)
        for (size_t bucket = 256; bucket <= 1 << 16; bucket *= 2) {
            for (size_t r = 0; r < SHARING; ++r) starts_of(d, name, stage, bucket, r, text[r]);
            CHECK(strstr(text[0], "experts.there"));
            CHECK_SAYS(strcmp(text[0], text[1]) == 0, "%s, stage %d, buckets of %zu: ranks start other exchanges", name,
                       stage, bucket);
        }
}

int main(void)
{
    struct device d = device_open(1, 1, 0);

    if (d.be->host_mem) return 77; /* a checked walk wants memory of the host */
    checked_result = mmap(NULL, NUMBERS * sizeof(float), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (checked_result == MAP_FAILED) abort();
    task = mf_task_classes(CLASSES, NULL, 0.1);
    for (size_t k = 0; k < sizeof errors / sizeof *errors; ++k) plant(&d, &errors[k]);
    removes_noise.standard = mf_arch_find("unet")->standard;
    for (size_t k = 0; mf_archs[k]; ++k) same_bits_always(&d, mf_archs[k]->forward ? mf_archs[k] : &removes_noise);
    for (int stage = 2; stage <= 3; ++stage)
        for (int host = 0; host < 2; ++host) same_bits(&d, &model, MF_RECOMPUTE_BLOCKS, MICRO, stage, host);
    munmap(checked_result, NUMBERS * sizeof(float));
    same_starts(&d, "moe");
    same_starts(&d, "vit");
    mf_task_close(&task);
    device_close(&d);
    return failures != 0;
}
