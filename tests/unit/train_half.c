/* Training with activations of 16 bits, and compiled in other ways. Weights stay near those of f32, whatever ranks,
 * passes and stages of ZeRO. Blocks that are computed again, or more threads, change no bit. Activations that are
 * computed again apart from their product read rounded sums. Too large a scale of the loss halves on all ranks alike,
 * and costs steps but no weight. The walk names the node whose numbers are not finite first. */
#include "tests/unit/train_case.h"

enum { WINDOW_OF_SCALE = 3 };

static const char *const models[] = {"mlp", "cnn", "vit"};

static float *weights_after(const struct bed *b, const struct mf_comm *comm, const struct mf_train_opts *o, size_t *n)
{
    struct mf_trainer t;
    float *weights;

    trainer_open(b, comm, b->set, o, &t);
    steps_until(&t, STEPS);
    CHECK(t.skipped == 0);
    weights = weights_of(&t, n);
    mf_trainer_close(&t);
    return weights;
}

/* A step of adamw moves a weight by about the learning rate, wherever its gradient points. */
static void near(const struct bed *b, const char *model, enum mf_type type, double tolerance)
{
    struct mf_train_opts o = usual(model, 1, batch_for(&b->world, WINDOW, 2));
    struct mf_step last;
    float *want, *got;
    size_t n;

    if (strcmp(model, "mlp") == 0) o.moments.epsilon = 1e-3;
    want = reference(b, b->set, &o, STEPS, &last);
    o.type = type;
    if (type == MF_F16) o.scale = (struct mf_scale_opts){1024, 1, 1000, 1};
    for (o.stage = 0; o.stage < 4; o.stage += SANITIZED ? 3 : 1) {
        got = weights_after(b, &b->world, &o, &n);
        CHECK_SAYS(apart(n, want, got) <= tolerance, "%s, %s, stage %d: weights differ by %g", model,
                   mf_type_name(type), o.stage, apart(n, want, got));
        free(got);
    }
    free(want);
}

/* In stage 3 backward reads copies of weights that are made behind its beginning: none is kept from forward. */
static void copies(const struct bed *b)
{
    struct mf_train_opts o = usual("vit", 1, WINDOW);
    struct mf_network_wish wish;
    struct mf_network n;
    size_t seed = 0, read = 0;

    o.type = MF_BF16;
    o.stage = 3;
    wish = mf_train_wish(b->set, &o, 2, 1);
    CHECK(mf_network_make(&wish, b->device.q, &n) == MF_OK);
    while (n.last.list->node[seed].op != MF_OP_FILL) ++seed;
    for (size_t i = 0; i < seed; ++i) {
        const struct mf_node *cast = &n.last.list->node[i];

        if (cast->op != MF_OP_CAST || n.net->value[cast->in[0]].role != MF_ROLE_PARAMETER) continue;
        for (size_t k = 0; k < n.last.list->nodes; ++k)
            for (int j = 0; j < MF_INS; ++j)
                if (n.last.list->node[k].in[j] == cast->out[0]) {
                    CHECK(k < seed);
                    ++read;
                }
    }
    CHECK(read > 0);
    mf_network_free(&n);
}

static void same_bits(const struct bed *b, const char *model)
{
    struct mf_train_opts o = usual(model, 1, WINDOW);
    float *want, *got;
    size_t n;

    o.type = MF_BF16;
    want = weights_after(b, &b->self, &o, &n);
    o.recompute = MF_RECOMPUTE_CHEAP;
    got = weights_after(b, &b->self, &o, &n);
    CHECK_SAYS(apart(n, want, got) <= 3e-3, "%s: weights differ by %g", model, apart(n, want, got));
    free(got);
    o.recompute = MF_RECOMPUTE_BLOCKS;
    got = weights_after(b, &b->self, &o, &n);
    CHECK_SAYS(memcmp(want, got, n * sizeof *got) == 0, "%s: blocks computed again change bits", model);
    free(got);
    o.recompute = MF_RECOMPUTE_NONE;
    b->device.q->threads = 3;
    got = weights_after(b, &b->self, &o, &n);
    b->device.q->threads = 1;
    CHECK_SAYS(memcmp(want, got, n * sizeof *got) == 0, "%s: threads change bits", model);
    free(got);
    free(want);
}

/* Joined or apart, replayed or not, f32 has the same bits. */
static void compiled(const struct bed *b, const char *model)
{
    struct mf_train_opts o = usual(model, 1, batch_for(&b->world, WINDOW, 2));
    float *want, *got;
    size_t n;

    want = weights_after(b, &b->world, &o, &n);
    for (o.compile = MF_COMPILE_FUSE; o.compile <= MF_COMPILE_NONE; ++o.compile) {
        got = weights_after(b, &b->world, &o, &n);
        CHECK_SAYS(memcmp(want, got, n * sizeof *got) == 0, "%s: compile %d changes bits", model, (int)o.compile);
        free(got);
    }
    free(want);
}

/* 2^32 is too much for f16: the scale halves until gradients fit, and then doubles after a window. */
static void scale_moves(const struct bed *b)
{
    struct mf_train_opts o = usual("mlp", 1, batch_for(&b->world, WINDOW, 2));
    double value, before = INFINITY;
    int clean = 0;
    struct mf_trainer t;
    struct mf_step step;

    o.type = MF_F16;
    o.scale = (struct mf_scale_opts){4294967296.0, 1, WINDOW_OF_SCALE, 2};
    o.schedule.steps = 100;
    trainer_open(b, &b->world, b->set, &o, &t);
    step = steps_until(&t, 1);
    CHECK(step.skipped == 2 && t.scale.value == 4294967296.0); /* patience */
    step = steps_until(&t, 2);
    CHECK(step.skipped == 2 && t.scale.value == 2147483648.0);
    while (t.scale.value <= before && t.step < 90) { /* until it grows */
        before = t.scale.value;
        step = steps_until(&t, t.step + 1);
        clean = step.skipped ? 0 : clean + 1;
        CHECK(t.scale.lost == (long)t.skipped && (t.scale.value > before) == (clean == WINDOW_OF_SCALE));
    }
    CHECK(t.scale.value == 2 * before);
    value = t.scale.value;
    mf_comm_max(&b->world, 1, &value);
    CHECK(value == t.scale.value);
    mf_trainer_close(&t);
}

/* Not a number on the last rank: all skip, all halve. At the least scale the step counts against the network. */
static void one_rank(const struct bed *b)
{
    const int last = b->world.rank + 1 == b->world.size;
    struct mf_train_opts o = usual("mlp", 1, batch_for(&b->world, WINDOW, 2));
    const float bad = NAN;
    struct mf_trainer t;
    struct mf_step step;
    size_t v = 0;

    o.type = MF_F16;
    o.scale = (struct mf_scale_opts){2, 1, 1000, 1};
    trainer_open(b, &b->world, b->set, &o, &t);
    while (!mf_value_is_weight(&t.network.net->value[v])) ++v;
    steps_until(&t, 2);
    CHECK(t.scale.value == 2 && t.skipped == 0);
    if (last) t.queue->backend->put(t.queue, mf_walk_at(t.walk, t.network.optimise, (int)v), &bad, sizeof bad);
    step = steps_until(&t, 3);
    CHECK(step.skipped == 2 && t.scale.value == 1);
    mf_walk_hunt(t.walk, 1);
    step = steps_until(&t, 4);
    CHECK(step.skipped == 1 && t.scale.value == 1 && t.scale.lost == 1);
    if (last)
        CHECK_SAYS(mf_walk_bad(t.walk) && strstr(mf_walk_bad(t.walk)->name, t.network.net->value[v].name),
                   "%s is named", mf_walk_bad(t.walk) ? mf_walk_bad(t.walk)->name : "nothing");
    mf_trainer_close(&t);
}

/* The answers of a network to a sample, whose weights are at their start. *bytes: of these. */
static float *answers_of(const struct bed *b, const struct mf_network_wish *wish, size_t *n, size_t *bytes)
{
    static float x[WINDOW * EDGE * EDGE];
    struct mf_network net;
    struct mf_walk *walk = NULL;
    struct mf_weights weights;
    float *answer;

    CHECK(mf_network_make(wish, b->device.q, &net) == MF_OK);
    if (mf_walk_open(&walk, net.net, b->device.q, MF_WALK_PLANNED, NULL) != MF_OK) abort();
    weights = mf_network_weights(&net, walk, &b->self);
    mf_weights_start(&weights, 3);
    for (size_t i = 0; i < sizeof x / sizeof *x; ++i) x[i] = (float)mf_random_normal(3, 2, i);
    b->device.be->put(b->device.q, mf_walk_at(walk, net.evaluate.list, net.input[0].value), x, sizeof x);
    mf_walk_run(walk, net.evaluate.list);
    *n = WINDOW * net.head[0].numbers;
    *bytes = net.net->lasting[MF_PLACE_DEVICE];
    answer = calloc(*n, sizeof *answer);
    b->device.be->get(b->device.q, answer, mf_walk_at(walk, net.evaluate.list, net.head[0].output),
                      *n * sizeof *answer);
    b->device.be->sync(b->device.q);
    mf_walk_close(walk);
    mf_network_free(&net);
    return answer;
}

/* Weights that nothing trains have 16 bits in memory. They are what a training casts them to. */
static void narrow(const struct bed *b, const char *model, enum mf_type type)
{
    struct mf_train_opts o = usual(model, 1, WINDOW);
    struct mf_network_wish wish;
    float *want, *got;
    size_t n, bytes[2];

    o.type = type;
    o.stage = 0;
    wish = mf_train_wish(b->set, &o, 1, 0);
    wish.micro = 1;
    want = answers_of(b, &wish, &n, &bytes[0]);
    CHECK(isfinite(*want) && *want != 0);
    wish.micro = 0;
    got = answers_of(b, &wish, &n, &bytes[1]);
    CHECK_SAYS(memcmp(want, got, n * sizeof *got) == 0, "%s: weights in %s change answers by %g", model,
               mf_type_name(type), apart(n, want, got));
    wish.type = MF_F32;
    free(got);
    got = answers_of(b, &wish, &n, &bytes[0]);
    CHECK_SAYS(5 * bytes[1] < 4 * bytes[0], "%s: %zu bytes last, and %zu in f32", model, bytes[1], bytes[0]);
    free(want);
    free(got);
}

int main(int argc, char **argv)
{
    struct bed b;

    bed_open(&b, &argc, &argv);
    for (size_t m = 0; m < sizeof models / sizeof *models; ++m) {
        near(&b, models[m], MF_BF16, 3e-3);
        near(&b, models[m], MF_F16, 1e-3);
        same_bits(&b, models[m]);
        compiled(&b, models[m]);
        narrow(&b, models[m], MF_BF16);
        narrow(&b, models[m], MF_F16);
    }
    copies(&b);
    scale_moves(&b);
    one_rank(&b);
    bed_close(&b);
    return failures != 0;
}
