/* Mixtures of experts come to the same weights on any number of ranks, stage of ZeRO and number of passes. Meanwhile
 * experts are born, merge and go. A network that is made anew with the same experts goes on as if nothing had happened.
 * A new expert learns from its first step on. */
#include "src/train/carry.h"
#include "src/train/saved.h"
#include "tests/unit/moe_case.h"

/* Options of moe_case.h, with balance biases. */
static struct mf_train_opts balanced(const char *model, size_t batch)
{
    struct mf_train_opts o = mixture(model, batch);

    o.args.balance = 0.05;
    return o;
}

static void rebuild(struct mf_trainer *t, const struct mf_experts *experts, long merged, long into)
{
    struct mf_carry *carry = NULL;

    CHECK_SAYS(mf_carry_take(t, &carry) == MF_OK, "%s", mf_err_text());
    if (merged >= 0) mf_carry_merge(carry, into, merged, 3, 1);
    CHECK_SAYS(mf_trainer_rebuild(t, experts, carry) == MF_OK, "%s", mf_err_text());
    mf_carry_free(carry);
}

/* After 3 steps an expert is born, after 5 two become one, after 7 one goes, and their order changes. */
static struct mf_step live(struct mf_trainer *t)
{
    struct mf_experts experts = t->experts;

    steps_until(t, 3);
    experts.id[experts.count++] = 7;
    rebuild(t, &experts, -1, -1);
    steps_until(t, 5);
    experts.id[1] = experts.id[--experts.count]; /* 7 takes the place of 1, which becomes a part of 2 */
    rebuild(t, &experts, 1, 2);
    steps_until(t, 7);
    --experts.count;
    experts.id[0] = 2;
    experts.id[2] = 0;
    rebuild(t, &experts, -1, -1);
    return steps_until(t, STEPS);
}

static float *alone(const struct bed *b, struct mf_train_opts o, size_t *n, struct mf_step *last)
{
    struct mf_trainer t;
    float *weights;

    o.batch = WINDOW;
    o.ways = o.stages = o.tensor = 0;
    CHECK_SAYS(mf_trainer_open(&b->self, b->cores.host, b->cores.q, b->set, &o, &t) == MF_OK, "%s", mf_err_text());
    *last = live(&t);
    CHECK(t.experts.count == 3 && t.experts.id[0] == 2 && t.experts.id[1] == 7 && t.experts.id[2] == 0);
    weights = weights_of(&t, n);
    mf_trainer_close(&t);
    return weights;
}

/* The life of one rank, @p weights [n] and @p want, on all. */
static void same_life(const struct bed *b, const struct mf_train_opts *o, size_t n, const float *weights,
                      const struct mf_step *want)
{
    struct mf_trainer t;
    struct mf_step got;
    float *have;
    size_t m;

    trainer_open(b, &b->world, b->set, o, &t);
    got = live(&t);
    have = weights_of(&t, &m);
    CHECK_SAYS(m == n && apart(n, have, weights) <= 1e-5,
               "%s, ZeRO %d, %d ranks, of which %zu share experts, %zu layers, of %zu stages: %zu weights differ by %g",
               o->arch->name, o->stage, b->world.size, o->ways, o->tensor, o->stages, m, apart(n, have, weights));
    CHECK_NEAR(got.loss, want->loss, 1e-5);
    CHECK_NEAR(got.norm, want->norm, 1e-4 * (1 + want->norm));
    CHECK_NEAR(got.uncertainty, want->uncertainty, 1e-5);
    CHECK(got.sent == want->sent);
    free(have);
    mf_trainer_close(&t);
}

/* An emulated device is slow: it has some of the cases. */
static int has_all(const struct bed *b) { return !b->device.be->host_mem || getenv("MF_LONG"); }

/* @p ways: ranks that share the experts. Where not all cases are, each model has two of the stages of ZeRO. */
static void same_lives(const struct bed *b, const char *model, int ways)
{
    struct mf_train_opts o = balanced(model, 1);
    struct mf_step want;
    size_t n;
    float *weights = alone(b, o, &n, &want);
    const int is_moe = strcmp(model, "moe") == 0;

    o.ways = (size_t)ways;
    for (o.stage = 0; o.stage < 4; ++o.stage) {
        if (!has_all(b) && is_moe != (o.stage == 0 || o.stage == 3)) continue;
        o.batch = batch_for(&b->world, WINDOW, o.stage % 2 ? 2 : 1);
        same_life(b, &o, n, weights, &want);
    }
    free(weights);
}

/* Ranks that share layers and experts, in stages. Is it also for moe? */
static const struct {
    int ranks;
    size_t tensor, stages, ways;
    int zero, moe;
} crews[] = {{2, 1, 2, 0, 0, 1}, {2, 2, 1, 0, 2, 1}, {3, 3, 1, 0, 0, 0}, {3, 1, 3, 0, 0, 1},
             {4, 1, 2, 0, 1, 0}, {4, 2, 2, 0, 0, 1}, {4, 2, 1, 0, 3, 0}, {4, 2, 1, 2, 0, 0},
             {4, 2, 1, 2, 2, 0}, {4, 2, 1, 2, 3, 0}, {4, 1, 2, 2, 0, 1}};

static void same_lives_of_crews(const struct bed *b, const char *model)
{
    struct mf_train_opts o = balanced(model, 3);
    const int is_moe = strcmp(model, "moe") == 0;
    struct mf_step want;
    float *weights;
    size_t n;

    o.args.features = MF_FEATURES_CNN;
    if (strcmp(model, "vit") == 0)
        o.args.depth = b->world.size, o.args.width = WIDTH,
        o.args.heads = !has_all(b)          ? b->world.size
                       : b->world.size == 4 ? 4
                                            : 6;
    weights = alone(b, o, &n, &want);
    for (size_t k = 0; k < sizeof crews / sizeof *crews; ++k) {
        if (crews[k].ranks != b->world.size || (is_moe && !crews[k].moe)) continue;
        o.tensor = crews[k].tensor;
        o.stages = crews[k].stages;
        o.ways = crews[k].ways;
        o.stage = crews[k].zero;
        o.partition = 1;
        same_life(b, &o, n, weights, &want);
    }
    free(weights);
}

/* Weights and moments are carried over to the bit. */
static void nothing_changes(const struct bed *b)
{
    const struct mf_train_opts o = balanced("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_trainer t, u;
    float *want, *got;
    size_t n;

    trainer_open(b, &b->world, b->set, &o, &t);
    trainer_open(b, &b->world, b->set, &o, &u);
    steps_until(&t, STEPS);
    steps_until(&u, 5);
    rebuild(&u, &u.experts, -1, -1);
    steps_until(&u, STEPS);
    want = weights_of(&t, &n);
    got = weights_of(&u, &n);
    CHECK(apart(n, want, got) == 0);
    free(want);
    free(got);
    mf_trainer_close(&t);
    mf_trainer_close(&u);
}

/* Every sample goes to every expert, so that the new one has rows. */
static void newborn(const struct bed *b)
{
    struct mf_train_opts o = balanced("moe", batch_for(&b->world, WINDOW, 1));
    struct mf_experts experts;
    struct mf_trainer t;
    float *before, *after;
    size_t n;

    o.args.top = EXPERTS;
    trainer_open(b, &b->world, b->set, &o, &t);
    steps_until(&t, 2);
    experts = t.experts;
    experts.id[experts.count++] = 9;
    experts.id[0] = 8; /* and another in place of the first */
    rebuild(&t, &experts, -1, -1);
    before = weights_of(&t, &n);
    steps_until(&t, 5);
    after = weights_of(&t, &n);
    for (size_t v = 0, at = 0; v < t.network.net->values; ++v) {
        const struct mf_value *value = &t.network.net->value[v];

        if (!mf_value_is_weight(value)) continue;
        if (strstr(value->name, "experts.9.") || strstr(value->name, "experts.8."))
            CHECK_SAYS(apart(mf_shape_count(&value->shape), before + at, after + at) > 0, "%s does not move",
                       value->name);
        at += mf_shape_count(&value->shape);
    }
    CHECK(t.load[EXPERTS + 2] > 0);
    free(before);
    free(after);
    mf_trainer_close(&t);
}

/* Padding is not routed: the loads are those of the window. */
static void loads(const struct bed *b)
{
    const struct mf_train_opts o = balanced("moe", batch_for(&b->world, WINDOW, 2) + 1);
    struct mf_trainer t;
    double sum = 0;

    trainer_open(b, &b->world, b->set, &o, &t);
    steps_until(&t, 1);
    for (size_t e = 0; e < EXPERTS; ++e) sum += t.load[e];
    CHECK(sum == 2 * WINDOW && t.load[EXPERTS + 1] == WINDOW);
    mf_trainer_close(&t);
}

/* Experts have a hidden layer, and their router has one; what is joined changes no bit. */
static void parts(const struct bed *b)
{
    static const size_t want[] = {[MF_SCOPE_ALL] = 2, [MF_SCOPE_EXPERTS] = 1, [MF_SCOPE_GATE] = 1};
    struct mf_train_opts o = balanced("moe", batch_for(&b->world, WINDOW, 1));
    float *weights[3];
    size_t n;

    o.args.features = MF_FEATURES_NONE;
    o.args.depth = 1;
    for (o.scope = MF_SCOPE_ALL; o.scope <= MF_SCOPE_GATE; ++o.scope) {
        struct mf_trainer t;

        trainer_open(b, &b->world, b->set, &o, &t);
        CHECK_SAYS(t.network.joined == want[o.scope], "part %d: %zu joined", (int)o.scope, t.network.joined);
        steps_until(&t, STEPS);
        weights[o.scope] = weights_of(&t, &n);
        CHECK(apart(n, weights[o.scope], weights[0]) == 0);
        mf_trainer_close(&t);
    }
    for (int k = 0; k < 3; ++k) free(weights[k]);
}

static int copies; /* between the host and the device */
static const struct mf_backend *copies_by;

static void counted_get(struct mf_queue *q, void *host, const void *device, size_t bytes)
{
    ++copies;
    copies_by->get(q, host, device, bytes);
}

static void counted_put(struct mf_queue *q, void *device, const void *host, size_t bytes)
{
    ++copies;
    copies_by->put(q, device, host, bytes);
}

/* Copies of a step, of a network with so many mixtures. */
static int copies_of(const struct bed *b, long depth)
{
    struct mf_train_opts o = balanced("vit", WINDOW);
    struct mf_backend counts = *b->device.q->backend;
    struct mf_trainer t;

    o.args.depth = depth;
    trainer_open(b, &b->self, b->set, &o, &t);
    CHECK(mf_trainer_mixtures(&t) == (size_t)depth);
    steps_until(&t, 2);
    copies_by = b->device.q->backend;
    counts.get = counted_get;
    counts.put = counted_put;
    t.queue->backend = &counts;
    copies = 0;
    steps_until(&t, 3);
    t.queue->backend = copies_by;
    mf_trainer_close(&t);
    return copies;
}

/* Arrays of all mixtures that the host reads and writes stand side by side. */
static void few_copies(const struct bed *b)
{
    const int one = copies_of(b, 1), four = copies_of(b, 4);

    if (b->world.rank == 0) printf("%d copies a step\n", four);
    CHECK_SAYS(one == four, "%d copies a step with one mixture, %d with four", one, four);
}

/* An evaluation is of the network that learns: without noise and smoothing a step has the loss of its samples. */
static void evaluation(const struct bed *b, const char *model)
{
    struct mf_train_opts o = mixture(model, batch_for(&b->world, LEARNT, 1));
    struct mf_scores scores;
    struct mf_trainer t;
    struct mf_step step;

    o.args.noise = 0;
    o.task = &bed_task[OF_PLAIN];
    o.args.temperature = 0.3;
    o.effective = LEARNT;
    trainer_open(b, &b->world, b->set, &o, &t);
    steps_until(&t, 2);
    CHECK(mf_trainer_score(&t, LEARNT, b->set->id[MF_TRAIN], 0, &scores) == MF_OK);
    step = steps_until(&t, 3);
    CHECK_SAYS(fabs(step.loss - scores.loss) < 1e-5, "%s: a loss of %g in evaluation, of %g in training", model,
               scores.loss, step.loss);
    mf_scores_free(&scores);
    mf_trainer_close(&t);
}

/* Two networks whose blocks have the same numbers, each with mixtures of its own. */
static int towers(struct mf_build *build, int x, const struct mf_arch_args *args, size_t outputs)
{
    const struct mf_arch *vit = mf_arch_find("vit");
    int y[2];

    for (int k = 0; k < 2; ++k) {
        build->network = k ? "right" : "left";
        y[k] = vit->forward(build, x, args, outputs);
    }
    build->network = NULL;
    return mf_build_two(build, MF_OP_ADD, "sum", y[0], y[1]);
}

/* Each has its own counts of rows, and its own blocks in what is computed again and gathered. */
static void two_towers(const struct bed *b, int ways)
{
    const struct mf_arch model = {.name = "towers", .forward = towers};
    struct mf_train_opts o = balanced("vit", batch_for(&b->world, WINDOW, 1));
    struct mf_trainer t;
    struct mf_step last;
    float *want, *got;
    size_t n;

    o.arch = &model;
    o.args.depth = 2;
    want = reference(b, b->set, &o, STEPS, &last);
    o.ways = (size_t)ways;
    o.stage = 3;
    o.recompute = MF_RECOMPUTE_BLOCKS;
    trainer_open(b, &b->world, b->set, &o, &t);
    CHECK_NEAR(steps_until(&t, STEPS).loss, last.loss, 1e-5);
    got = weights_of(&t, &n);
    CHECK_SAYS(apart(n, got, want) <= 1e-5, "two towers, %d of %d ranks share experts: weights differ by %g", ways,
               b->world.size, apart(n, got, want));
    mf_trainer_close(&t);
    free(want);
    free(got);
}

int main(int argc, char **argv)
{
    struct bed b;

    bed_open(&b, &argc, &argv);
    for (int ways = 1; ways <= 3 && ways <= b.world.size; ++ways) {
        if (b.world.size % ways) continue;
        same_lives(&b, "moe", ways);
        same_lives(&b, "vit", ways);
        if (has_all(&b) || ways == b.world.size) two_towers(&b, ways);
    }
    if (has_all(&b)) same_lives_of_crews(&b, "moe");
    same_lives_of_crews(&b, "vit");
    nothing_changes(&b);
    newborn(&b);
    loads(&b);
    parts(&b);
    few_copies(&b);
    evaluation(&b, "moe");
    evaluation(&b, "vit");
    bed_close(&b);
    return failures != 0;
}
