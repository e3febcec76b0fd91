/* The optimiser is in host memory, and activations wait there. Weights after ten steps have the bits that they have
 * without. This holds on any number of ranks, by all stages of ZeRO, with passes, recomputation and slots. A run that
 * was stopped with offload goes on without, and the reverse. Device memory holds less. So it does where ranks that
 * share layers keep pieces of what they have alike. */
#include "tests/unit/train_case.h"

static const char *const models[] = {"mlp", "cnn", "vit"};

/* Runs on cores, and on the device that is tested. */
struct both {
    struct bed plain, tested;
};

static float *run(const struct bed *b, const struct mf_train_opts *o, size_t bytes[MF_PLACES], size_t *n)
{
    struct mf_trainer t;
    float *weights;

    trainer_open(b, &b->world, b->set, o, &t);
    steps_until(&t, STEPS);
    weights = weights_of(&t, n);
    for (int p = 0; p < MF_PLACES; ++p) bytes[p] = t.network.net->lasting[p] + t.network.net->room[p];
    mf_trainer_close(&t);
    return weights;
}

/* Sanitizers and emulated devices are slow: they have some of the cases. */
static int is_slow(const struct both *b) { return SANITIZED || (b->tested.device.be->host_mem && !getenv("MF_LONG")); }

/* cuda adds in another order. */
static double tolerance(const struct both *b)
{
    return b->tested.device.be == &mf_backend_cpu || b->tested.device.be == &mf_backend_shadow ? 0 : 1e-5;
}

/* On one rank parameters are in host memory with stage 3 of ZeRO, which adds passes in another order than stage 0. */
static double tolerance_of(const struct both *b, const struct mf_train_opts *o)
{
    return b->plain.world.size == 1 && mf_train_streams(o) && !o->slots ? fmax(tolerance(b), 1e-6) : tolerance(b);
}

/* @p spill: bytes from which activations are large. */
static void same_bits(const struct both *b, struct mf_train_opts o, int offload, size_t spill)
{
    size_t with[MF_PLACES], without[MF_PLACES], n;
    float *want = run(&b->plain, &o, without, &n), *got;

    o.offload = offload;
    o.spill = spill;
    got = run(&b->tested, &o, with, &n);
    CHECK_SAYS(apart(n, got, want) <= tolerance_of(b, &o),
               "%s: %d ranks, stage %d, passes of %zu, recompute %d, offload %d, spill %zu, slots %zu: differ by %g",
               o.arch->name, b->plain.world.size, o.stage, o.batch, (int)o.recompute, offload, spill, o.slots,
               apart(n, got, want));
    CHECK(without[MF_PLACE_HOST] == 0 && with[MF_PLACE_HOST] > 0);
    CHECK_SAYS(with[MF_PLACE_DEVICE] < without[MF_PLACE_DEVICE], "%s: %zu bytes on the device, %zu without",
               o.arch->name, with[MF_PLACE_DEVICE], without[MF_PLACE_DEVICE]);
    free(want);
    free(got);
}

static void all_settings(const struct both *b)
{
    for (size_t m = 0; m < 3; ++m)
        for (int k = 0; k < 6 && trains(&b->tested, models[m]); ++k) {
            struct mf_train_opts o = usual(models[m], m != 1, batch_for(&b->plain.world, WINDOW, (size_t)1 << k % 3));

            if ((is_slow(b) || b->plain.world.size > 2) && (m + (size_t)k) % 3) continue;
            o.stage = (k + (int)m) % 4;
            o.recompute = m == 0 ? MF_RECOMPUTE_NONE : (enum mf_recompute)(k % 3);
            same_bits(b, o, 1, k > 2 ? 256 : 0);
        }
}

/* Half activations wait in host memory, too; parameters and moments there have 32 bits. */
static void half(const struct both *b)
{
    struct mf_train_opts o = usual("vit", 1, batch_for(&b->plain.world, WINDOW, 2));

    if (!trains(&b->tested, "vit") || tolerance(b) > 0) return;
    o.type = MF_BF16;
    o.recompute = MF_RECOMPUTE_CHEAP;
    for (o.stage = 0; o.stage < 4; o.stage += 3) same_bits(b, o, 1, 128);
}

static const char *some_model(const struct both *b)
{
    if (SANITIZED && tolerance(b) > 0) return "cnn"; /* emulated attention takes its time there */
    return trains(&b->tested, "vit") ? "vit" : "mlp";
}

static void others(const struct both *b)
{
    struct mf_train_opts o = usual(some_model(b), 1, batch_for(&b->plain.world, WINDOW, 1));

    same_bits(b, o, 0, 256);
    o.rate_of = "head=0.5";
    o.plain = 1;
    o.stage = 1;
    same_bits(b, o, 1, 0);
    o.optimiser = MF_OP_SGD;
    o.moments = (struct mf_attr){.momentum = 0};
    o.clip = 0;
    same_bits(b, o, 1, 0);
    o.slots = 4;
    o.batch = 4;
    same_bits(b, o, 1, 256);
}

/* -- pieces of activations -- */

/* The same bits with pieces, in less memory. */
static void same_bits_in_pieces(const struct bed *b, struct mf_train_opts o)
{
    size_t with[MF_PLACES], without[MF_PLACES], n;
    float *want = run(b, &o, without, &n), *got;

    o.partition = 1;
    got = run(b, &o, with, &n);
    CHECK_SAYS(apart(n, got, want) <= 0,
               "%s: %zu ranks share layers, %zu stages, ZeRO %d, recompute %d, type %d: pieces differ by %g",
               o.arch->name, o.tensor, o.stages, o.stage, (int)o.recompute, (int)o.type, apart(n, got, want));
    CHECK_SAYS(with[MF_PLACE_DEVICE] < without[MF_PLACE_DEVICE],
               "%zu ranks share layers, %zu stages, recompute %d, type %d: %zu bytes in pieces, %zu without", o.tensor,
               o.stages, (int)o.recompute, (int)o.type, with[MF_PLACE_DEVICE], without[MF_PLACE_DEVICE]);
    free(want);
    free(got);
}

/* Ranks that share layers cut what they have alike. Pieces of three and four ranks have padding. */
static void pieces(const struct both *b)
{
    const size_t ranks = (size_t)b->plain.world.size;
    const int is_emulated = b->tested.device.be->host_mem != NULL;

    for (int k = 0; k < 6 && ranks > 1 && trains(&b->tested, "vit"); ++k) {
        struct mf_train_opts o = usual("vit", 1, 4);

        if (is_emulated ? k != 2 : SANITIZED && k % 3 != 2) continue;
        o.args.width = 24;
        o.args.heads = is_emulated ? (long)ranks : 12;
        if (k == 3) o.args.experts = 4, o.args.top = 2, o.args.temperature = 1;
        o.tensor = ranks == 4 && k > 1 ? 2 : ranks;
        o.stages = ranks == 4 && k > 2 ? 2 : 0;
        o.args.depth = o.stages ? 8 : is_emulated ? 2 : 4;
        o.stage = o.stages ? k % 2 : k % 4;
        o.recompute = (enum mf_recompute)(k % 3);
        o.type = k < 3 ? MF_F32 : MF_BF16;
        same_bits_in_pieces(&b->tested, o);
    }
}

/* Not a number in a weight: the first node that reads it is named. Other nodes work in host memory. */
static void hunts(const struct bed *b)
{
    struct mf_train_opts o = usual("mlp", 1, batch_for(&b->world, WINDOW, 2));
    const float bad = NAN;
    const struct mf_node *node;
    struct mf_trainer t;
    int reads = 0;
    size_t v = 0;

    o.offload = 1;
    o.spill = 128;
    trainer_open(b, &b->world, b->set, &o, &t);
    while (!mf_value_is_weight(&t.network.net->value[v])) ++v;
    steps_until(&t, 2);
    mf_walk_hunt(t.walk, 1);
    steps_until(&t, 3);
    CHECK_SAYS(!mf_walk_bad(t.walk), "%s is named", mf_walk_bad(t.walk)->name);
    t.queue->backend->put(t.queue, mf_walk_at(t.walk, t.network.optimise, (int)v), &bad, sizeof bad);
    CHECK(steps_until(&t, 4).skipped == 1);
    node = mf_walk_bad(t.walk);
    for (int j = 0; node && j < MF_INS; ++j) reads |= node->in[j] == (int)v;
    CHECK_SAYS(reads, "%s is named", node ? node->name : "nothing");
    mf_trainer_close(&t);
}

/* -- checkpoints -- */

static void go_on(const struct bed *from, const struct bed *to, struct mf_train_opts o, int offload, const float *want)
{
    const char *path = scratch_file("stopped.h5");
    struct mf_trainer t;
    float *got;
    size_t n;

    o.offload = offload;
    trainer_open(from, &from->world, from->set, &o, &t);
    steps_until(&t, 4);
    save(&t, path);
    mf_trainer_close(&t);
    o.offload = !offload;
    o.stage = (o.stage + 1) % 4;
    trainer_open(to, &to->world, to->set, &o, &t);
    load(&t, path);
    steps_until(&t, STEPS);
    got = weights_of(&t, &n);
    CHECK_SAYS(apart(n, got, want) <= 1e-5, "stopped %s offload: weights differ by %g", offload ? "with" : "without",
               apart(n, got, want));
    free(got);
    mf_trainer_close(&t);
    mf_comm_barrier(&from->world);
}

static void restarts(const struct both *b)
{
    struct mf_train_opts o = usual(some_model(b), 1, batch_for(&b->plain.world, WINDOW, 2));

    for (o.stage = 0; o.stage < 4; o.stage += is_slow(b) ? 3 : 1) {
        size_t bytes[MF_PLACES], n;
        float *want = run(&b->plain, &o, bytes, &n);

        go_on(&b->tested, &b->plain, o, 1, want);
        go_on(&b->plain, &b->tested, o, 0, want);
        free(want);
    }
}

int main(int argc, char **argv)
{
    struct both b;

    bed_open(&b.tested, &argc, &argv);
    b.plain = b.tested;
    b.plain.device = b.tested.cores;
    all_settings(&b);
    others(&b);
    restarts(&b);
    half(&b);
    pieces(&b);
    hunts(&b.tested);
    bed_close(&b.tested);
    return failures != 0;
}
