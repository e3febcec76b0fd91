/* Training comes to the same weights on any number of ranks, stage of ZeRO and number of passes. So it does where the
 * last window of an epoch is small, or a rank has no rows. Samples may have no label. It may go on from a checkpoint.
 * Gradients that are not finite on one rank change nothing on any. */
#include "src/train/replicas.h"
#include "src/train/saved.h"
#include "tests/unit/train_balance.h"
#include "tests/unit/train_same.h"

static const char *const models[] = {"mlp", "cnn", "vit"};

static void any_ranks(const struct bed *b)
{
    for (size_t m = 0; m < 3; ++m) {
        struct mf_train_opts o = usual(models[m], m != 1, 1);

        if (!wants(b, models[m])) continue;
        same_weights(b, o, !few(b), "windows of 13");
        if (m > 0) continue;
        o.effective = 1; /* most ranks never have a row, and some steps have none */
        same_weights(b, o, 0, "windows of 1");
        o.effective = 97; /* more than there are */
        o.optimiser = MF_OP_SGD;
        o.moments = (struct mf_attr){.momentum = 0.9};
        same_weights(b, o, 0, "an epoch in a window");
        o.effective = (size_t)1 << 40; /* of which no pass is made in vain */
        o.moments.momentum = 0;
        o.readers = 3;
        same_weights(b, o, 0, "no moments");
    }
}

/* In one pass, and without clipping, stage 3 adds the same numbers in the same order as stage 0. But NCCL chooses the
 * order. */
static void same_bits(const struct bed *b)
{
    for (size_t m = 0; m < 3; ++m) {
        struct mf_train_opts o = usual(models[m], m != 2, batch_for(&b->world, WINDOW, 1));
        struct mf_trainer t;
        float *want = NULL;
        size_t n;

        if (!wants(b, models[m])) continue;
        o.clip = 0;
        o.args.depth = m == 1 ? 1 : 4;
        for (int k = 0; k < 4; ++k) {
            o.stage = k == 0 ? 0 : 3;
            o.recompute = k == 0 ? MF_RECOMPUTE_NONE : (enum mf_recompute)(k - 1);
            trainer_open(b, &b->world, b->set, &o, &t);
            steps_until(&t, STEPS);
            if (k == 0)
                want = weights_of(&t, &n);
            else
                compare("the same sums", &t, want, o.recompute == MF_RECOMPUTE_NONE && !b->world.transport ? 0 : 1e-6);
            mf_trainer_close(&t);
        }
        free(want);
    }
}

/* One number of one rank is enough; a last bit is only told. */
static void replicas(const struct bed *b)
{
    for (int stage = 0; stage < 4; stage += few(b) ? 3 : 1) {
        struct mf_train_opts o = usual("mlp", 1, batch_for(&b->world, WINDOW, 1));
        const int several = b->world.size > 1 && stage < 3;
        struct mf_trainer t;
        float number[24];
        int v;

        o.stage = stage;
        trainer_open(b, &b->world, b->set, &o, &t);
        steps_until(&t, 2);
        CHECK(mf_replicas_compare(&t) == MF_OK);
        v = mf_value_find(t.network.net, "layers.1.bias");
        mf_weights_take(&t.weights, v, MF_STATE_WEIGHT, number);
        CHECK(!t.rounds);
        for (int k = 0; k < 2; ++k) {
            const float was = number[3];

            number[3] = k ? -2 * was : nextafterf(was, 9);
            if (b->world.rank == b->world.size - 1) mf_weights_put(&t.weights, v, MF_STATE_WEIGHT, number);
            CHECK(mf_replicas_compare(&t) == (k && several ? MF_NUMERIC : MF_OK) && t.rounds == several);
            CHECK(!k || !several ||
                  strstr(mf_err_text(), "after step 2 the parameter 'layers.1.bias' is not the same"));
            mf_err_clear();
        }
        mf_trainer_close(&t);
    }
}

/* Nothing to learn from: no loss, no gradient, and finite weights. */
static void no_labels(const struct bed *b)
{
    struct mf_dataset *set = bed_set(&b->world, "none.h5", 1);
    const struct mf_train_opts o = usual("mlp", 1, batch_for(&b->world, WINDOW, 2));
    struct mf_scores scores;
    struct mf_step step;
    struct mf_trainer t;
    size_t n;
    float *weights;

    trainer_open(b, &b->world, set, &o, &t);
    step = steps_until(&t, STEPS);
    CHECK(step.rows == 0 && step.loss == 0 && step.norm == 0 && t.skipped == 0);
    weights = weights_of(&t, &n);
    for (size_t i = 0; i < n; ++i) CHECK(isfinite(weights[i]));
    CHECK(mf_trainer_score(&t, set->count[MF_TEST], set->id[MF_TEST], 0, &scores) == MF_OK);
    CHECK(scores.rows == 0 && isnan(scores.loss) && isnan(mf_classify_accuracy(&scores.head[0])));
    mf_scores_free(&scores);
    free(weights);
    mf_trainer_close(&t);
    mf_dataset_close(set);
}

/* The mean is over samples with a label: other samples may join the window, and nothing changes. */
static void means(const struct bed *b)
{
    struct mf_train_opts o = usual("mlp", 1, WINDOW);
    struct mf_window window;
    struct mf_trainer t;
    struct mf_scores scores;
    struct mf_step step;
    uint32_t id[WINDOW];
    size_t n = 0, labelled = 0;

    o.args.dropout = 0;
    o.task = &bed_task[OF_PLAIN];
    trainer_open(b, &b->self, b->set, &o, &t);
    window = mf_window_of(LEARNT, WINDOW, 0);
    for (size_t i = 0; i < WINDOW; ++i) {
        const struct mf_span one = {window.first + i, 1};
        size_t at;

        mf_window_ids(b->set, MF_TRAIN, o.seed, 0, &one, &at);
        id[n++] = (uint32_t)at;
        labelled += b->set->label[at] >= 0;
    }
    CHECK(mf_trainer_score(&t, n, id, 0, &scores) == MF_OK);
    step = steps_until(&t, 1);
    CHECK(scores.rows == labelled && step.rows == labelled && labelled < WINDOW);
    CHECK_NEAR(step.loss, scores.loss, 1e-6);
    CHECK_NEAR(step.loss, log(CLASSES), 0.3);
    mf_scores_free(&scores);
    mf_trainer_close(&t);
}

/* -- checkpoints -- */

static const char *some_model(const struct bed *b) { return wants(b, "cnn") ? "cnn" : "mlp"; }

/* Goes on from @p path on @p comm; the weights at the end must be @p want. */
static void go_on(const struct bed *b, const struct mf_comm *comm, struct mf_train_opts o, const char *path,
                  const float *want, double tolerance)
{
    struct mf_trainer t;

    ++o.seed; /* of weights that are replaced, not of samples */
    trainer_open(b, comm, b->set, &o, &t);
    t.opts.seed = --o.seed;
    mf_walk_numbers(t.walk)[MF_NUMBER_SEED] = (double)o.seed;
    load(&t, path);
    CHECK(t.step == 4);
    steps_until(&t, STEPS);
    compare("restart", &t, want, tolerance);
    mf_trainer_close(&t);
}

static void restarts(const struct bed *b, enum mf_op_id optimiser, double momentum)
{
    const char *path = scratch_file("some.h5"), *alone = scratch_file("alone.h5");
    struct mf_train_opts o = usual(some_model(b), 1, batch_for(&b->world, WINDOW, 2)), other = o;
    struct mf_trainer t;

    o.optimiser = optimiser;
    o.moments.momentum = momentum;
    other = o;
    for (o.stage = 0; o.stage < 4; ++o.stage) {
        float *want;
        size_t n;

        trainer_open(b, &b->world, b->set, &o, &t);
        steps_until(&t, 4);
        save(&t, path);
        steps_until(&t, STEPS);
        want = weights_of(&t, &n);
        mf_trainer_close(&t);
        go_on(b, &b->world, o, path, want, 0);
        other.stage = (o.stage + 3) % 4;
        other.batch = batch_for(&b->world, WINDOW, 4);
        go_on(b, &b->world, other, path, want, 1e-5);
        other.batch = WINDOW;
        go_on(b, &b->self, other, path, want, 1e-5);

        mf_comm_barrier(&b->world);
        if (b->world.rank == 0) {
            trainer_open(b, &b->self, b->set, &other, &t);
            steps_until(&t, 4);
            save(&t, alone);
            mf_trainer_close(&t);
        }
        mf_comm_barrier(&b->world);
        go_on(b, &b->world, o, alone, want, 1e-5);
        free(want);
    }
}

/* With slots the same to the bit on any number of ranks, also behind a restart. */
static void slots(const struct bed *b)
{
    const char *path = scratch_file("slots.h5");

    for (size_t m = 0; m < 3; ++m) {
        struct mf_train_opts o = usual(models[m], m != 2, 4);
        struct mf_trainer t;
        float *want;
        size_t n;

        if (!wants(b, models[m])) continue;
        o.slots = 4;
        trainer_open(b, &b->self, b->set, &o, &t);
        steps_until(&t, STEPS);
        want = weights_of(&t, &n);
        mf_trainer_close(&t);
        trainer_open(b, &b->world, b->set, &o, &t);
        steps_until(&t, 4);
        save(&t, path);
        steps_until(&t, STEPS);
        compare("slots", &t, want, 0);
        mf_trainer_close(&t);
        go_on(b, &b->self, o, path, want, 0);
        free(want);
    }
}

/* -- files of weights -- */

static void files(const struct bed *b, const char *model, int stage, size_t tensor)
{
    const char *path = scratch_file("model.safetensors");
    struct mf_train_opts o = usual(model, 0, 4), got = o;
    size_t n;
    struct mf_trainer t, again;
    struct mf_model_card saved;
    struct mf_task task;
    struct mf_json *card;
    float *want;

    o.stage = stage;
    o.tensor = tensor;
    got.stage = 3 - stage;
    trainer_open(b, &b->world, b->set, &o, &t);
    steps_until(&t, 2);
    want = weights_of(&t, &n);
    card = mf_saved_card(&t, NULL);
    CHECK(mf_saved_write(&t, path, card) == MF_OK);
    CHECK(mf_saved_write(&t, "/nowhere/model.safetensors", card) == MF_OUTPUT);
    mf_json_free(card);
    CHECK_SAYS(mf_model_card_open(path, &saved) == MF_OK, "%s", mf_err_text());
    CHECK_SAYS(mf_task_load(&saved, &task) == MF_OK, "%s", mf_err_text());
    CHECK_SAYS(mf_task_fit(&task, &saved, b->set) == MF_OK, "%s", mf_err_text());
    CHECK(saved.arch == o.arch && saved.args.width == o.args.width && mf_task_same(&task, o.task));
    got.task = &task;
    ++got.seed;
    trainer_open(b, &b->world, b->set, &got, &again);
    CHECK_SAYS(mf_saved_load(&saved, &again) == MF_OK, "%s", mf_err_text());
    compare("file", &again, want, 0);
    for (size_t c = 0; c < COLUMNS; ++c) CHECK(mf_regress_mean(&task, c) == mf_regress_mean(o.task, c));
    mf_trainer_close(&again);
    ++got.args.width;
    CHECK(mf_trainer_open(&b->world, b->device.host, b->device.q, b->set, &got, &again) != MF_OK ||
          (mf_saved_load(&saved, &again) == MF_INPUT && strstr(mf_err_text(), "the model's [")));
    mf_trainer_close(&again);
    mf_task_close(&task);
    mf_model_card_close(&saved);
    mf_trainer_close(&t);
    free(want);
    mf_comm_barrier(&b->world);
}

/* -- ranks that share every layer -- */

static struct mf_train_opts sharing(size_t tensor)
{
    struct mf_train_opts o = usual("vit", 1, 4);

    o.args.heads = 4;
    o.tensor = tensor;
    return o;
}

/* A checkpoint has whole arrays: it goes on with as many sharers, with none, and the other way. */
static void other_ways(const struct bed *b, size_t tensor, int stage)
{
    const char *path = scratch_file("parts.h5");
    struct mf_train_opts o = sharing(tensor), plain = sharing(0);
    struct mf_scores scores, alone;
    struct mf_trainer t;
    float *want;
    size_t n;

    o.stage = stage;
    plain.stage = 3 - stage;
    trainer_open(b, &b->world, b->set, &o, &t);
    steps_until(&t, 4);
    save(&t, path);
    steps_until(&t, STEPS);
    want = weights_of(&t, &n);
    CHECK(mf_trainer_score(&t, b->set->count[MF_TEST], b->set->id[MF_TEST], 0, &scores) == MF_OK);
    mf_trainer_close(&t);
    go_on(b, &b->world, o, path, want, 0);
    go_on(b, &b->world, plain, path, want, 1e-5);
    plain.stage = 0;
    trainer_open(b, &b->self, b->set, &plain, &t);
    load(&t, path);
    mf_comm_barrier(&b->world);
    if (b->world.rank == 0) save(&t, path);
    mf_comm_barrier(&b->world);
    steps_until(&t, STEPS);
    compare("alone", &t, want, 1e-5);
    CHECK(mf_trainer_score(&t, b->set->count[MF_TEST], b->set->id[MF_TEST], 0, &alone) == MF_OK);
    CHECK_NEAR(scores.loss, alone.loss, 1e-5);
    mf_trainer_close(&t);
    go_on(b, &b->world, o, path, want, 1e-5);
    mf_scores_free(&scores);
    mf_scores_free(&alone);
    free(want);
}

/* A number that differs where others have it, too: a whole parameter, or the same part of one. */
static void replicas_of_parts(const struct bed *b, size_t tensor)
{
    static const char *const names[] = {"norm.bias", "blocks.0.mlp.fc1.bias"};
    const size_t same[] = {(size_t)b->world.size, (size_t)b->world.size / tensor};
    struct mf_train_opts o = sharing(tensor);
    struct mf_trainer t;

    trainer_open(b, &b->world, b->set, &o, &t);
    for (int k = 0; k < 2; ++k) {
        const int v = mf_value_find(t.network.net, names[k]);
        float number[32];

        CHECK(mf_replicas_compare(&t) == MF_OK);
        mf_weights_take(&t.weights, v, MF_STATE_WEIGHT, number);
        for (int i = 0; i < 8; ++i) number[i] += 1;
        if (b->world.rank == 0) mf_weights_put(&t.weights, v, MF_STATE_WEIGHT, number);
        CHECK(mf_replicas_compare(&t) == (same[k] > 1 ? MF_NUMERIC : MF_OK));
        mf_err_clear();
        mf_weights_put(&t.weights, v, MF_STATE_WEIGHT, number);
    }
    mf_trainer_close(&t);
}

/* Two by two, and four. */
static void shared_layers(const struct bed *b)
{
    for (size_t tensor = 2; wants(b, "vit") && tensor <= (size_t)b->world.size; tensor *= 2) {
        if ((size_t)b->world.size % tensor) continue;
        same_weights(b, sharing(tensor), 0, "shared layers");
        other_ways(b, tensor, tensor == 2 ? 2 : 0);
        files(b, "vit", 1, 2);
        replicas_of_parts(b, tensor);
    }
}

/* -- stages of a pipeline -- */

/* Every rank a stage, two and two that share samples, and two stages of two that share layers. Slots have the bits of
 * one rank. */
static void pipelines(const struct bed *b)
{
    const size_t ranks = (size_t)b->world.size;

    for (size_t m = 0; ranks > 1 && m < 3; ++m) {
        struct mf_train_opts o = usual(models[m], m != 1, 2), tree;
        const char *path = scratch_file("stages.h5");
        struct mf_step last;
        struct mf_trainer t;
        float *want;
        size_t n;

        if (!wants(b, models[m])) continue;
        o.args.depth = 4;
        if (m == 1) o.args.depth = 2;
        o.recompute = (enum mf_recompute)m;
        o.stages = ranks;
        if (m == 1 && ranks > 3) continue; /* it has three parts */
        want = reference(b, b->set, &o, STEPS, &last);
        trainer_open(b, &b->world, b->set, &o, &t);
        steps_until(&t, 3);
        slow_stage(&t);
        last = steps_until(&t, 4);
        save(&t, path);
        steps_until(&t, STEPS);
        compare("stages", &t, want, 1e-5);
        mf_trainer_close(&t);
        o.stages = 0;
        go_on(b, &b->self, o, path, want, 1e-5);
        tree = o;
        tree.slots = 4;
        tree.batch = 4;
        free(want);
        trainer_open(b, &b->self, b->set, &tree, &t);
        steps_until(&t, STEPS);
        want = weights_of(&t, &n);
        mf_trainer_close(&t);
        tree.stages = ranks;
        trainer_open(b, &b->world, b->set, &tree, &t);
        steps_until(&t, 3);
        slow_stage(&t);
        steps_until(&t, STEPS);
        compare("stages with slots", &t, want, 0);
        mf_trainer_close(&t);
        free(want);
        if (ranks != 4) continue;
        want = reference(b, b->set, &o, STEPS, &last);
        for (int k = 0; k < 2; ++k) { /* with others that have the same part, or share its layers */
            o.stages = 2;
            o.stage = 1 - k;
            o.tensor = k && m == 2 ? 2 : 0;
            trainer_open(b, &b->world, b->set, &o, &t);
            steps_until(&t, 3);
            slow_stage(&t);
            steps_until(&t, STEPS);
            compare("two stages", &t, want, 1e-5);
            CHECK(mf_replicas_compare(&t) == MF_OK);
            mf_trainer_close(&t);
        }
        free(want);
    }
}

/* Two parts with one weight. */
static int tied(struct mf_build *build, int x, const struct mf_arch_args *args, size_t outputs)
{
    const struct mf_shape all = mf_build_shape(build, x);
    const size_t numbers = mf_shape_count(&all) / all.d[0];

    (void)args;
    x = mf_build_reshape(build, x, (struct mf_shape){.n = 2, .d = {all.d[0], numbers}});
    for (int k = 0; k < 2; ++k) {
        const struct mf_shape square = {.type = MF_F32, .n = 2, .d = {numbers, numbers}};
        const int w = mf_build_parameter(build, "same", square, MF_START_UNIFORM, 0.1);

        mf_build_segment(build, 1);
        x = mf_build_node(build, MF_OP_LINEAR, (struct mf_attr){0}, k ? "second" : "first", 2, (const int[]){x, w});
    }
    mf_build_segment(build, 0);
    return mf_build_linear(build, "head", x, outputs);
}

static void refused_ties(const struct bed *b)
{
    const struct mf_arch model = {.name = "tied", .forward = tied};
    struct mf_train_opts o = usual("mlp", 1, 4);
    struct mf_trainer t;

    o.arch = &model;
    o.stages = 3;
    if (b->world.size != 3) return;
    CHECK_SAYS(mf_trainer_open(&b->world, b->device.host, b->device.q, b->set, &o, &t) == MF_USAGE &&
                   strstr(mf_err_text(), "stages 0 and 1 both have the weight 'same'"),
               "%s", mf_err_text());
    mf_trainer_close(&t);
    mf_err_clear();
}

/* Heads, ranks, and networks that cannot be shared. */
static void refused_parts_of_layers(const struct bed *b)
{
    static const struct {
        const char *model, *says;
        long heads;
    } wrong[] = {{"vit", "--tp 2 does not divide --heads 1; try: --tp 1", 1},
                 {"mlp", "--arch mlp has no layers that ranks share", 0}};

    for (size_t k = 0; k < 2; ++k) {
        struct mf_train_opts o = usual(wrong[k].model, 1, 4);
        struct mf_trainer t;

        o.args.heads = wrong[k].heads;
        o.tensor = 2;
        CHECK_SAYS(mf_trainer_open(&b->world, b->device.host, b->device.q, b->set, &o, &t) == MF_USAGE &&
                       strstr(mf_err_text(), wrong[k].says),
                   "%s", mf_err_text());
        mf_trainer_close(&t);
    }
    mf_err_clear();
}

/* -- what is not finite -- */

static void poison(const struct mf_trainer *t, float value, float *was)
{
    const struct mf_layout *layout = &t->network.layout;
    const struct mf_value *values = t->network.net->value;
    size_t k = 0;
    void *at;

    for (size_t i = 1; i < layout->buckets; ++i) /* a large one: its pieces are not padding alone */
        if (values[layout->bucket[i].parameters].shape.d[0] > values[layout->bucket[k].parameters].shape.d[0]) k = i;
    at = mf_walk_at(t->walk, t->network.optimise, layout->bucket[k].own_parameters);
    t->queue->backend->get(t->queue, was, at, sizeof *was);
    t->queue->backend->sync(t->queue);
    t->queue->backend->put(t->queue, at, &value, sizeof value);
    t->queue->backend->sync(t->queue);
}

/* A weight of the last rank is not a number in one step. That step is skipped everywhere, then all goes on. */
static void not_finite(const struct bed *b, float bad)
{
    struct mf_train_opts o = usual("mlp", 1, batch_for(&b->world, WINDOW, 2));
    const int last = b->world.rank + 1 == b->world.size;

    for (o.stage = 0; o.stage < 4; ++o.stage) {
        struct mf_trainer t;
        struct mf_step step;
        float was, *want, *got, *of_first;
        size_t n;

        trainer_open(b, &b->world, b->set, &o, &t);
        steps_until(&t, 3);
        want = weights_of(&t, &n);
        if (last) poison(&t, bad, &was);
        step = steps_until(&t, 4);
        CHECK(step.skipped && t.skipped == 1 && t.step == 4);
        if (last) poison(&t, was, &was);
        got = weights_of(&t, &n);
        CHECK(apart(n, got, want) == 0);
        free(want);
        free(got);
        step = steps_until(&t, STEPS);
        CHECK(!step.skipped && t.skipped == 1 && isfinite(step.loss));
        got = weights_of(&t, &n);
        of_first = memcpy(malloc(n * sizeof *got), got, n * sizeof *got);
        mf_comm_bcast(&b->world, 0, of_first, n * sizeof *got);
        CHECK(apart(n, got, of_first) == 0);
        free(got);
        free(of_first);
        mf_trainer_close(&t);
    }
}

int main(int argc, char **argv)
{
    struct bed b;

    bed_open(&b, &argc, &argv);
    any_ranks(&b);
    same_bits(&b);
    replicas(&b);
    no_labels(&b);
    means(&b);
    restarts(&b, MF_OP_ADAMW, 0.9);
    if (!few(&b)) restarts(&b, MF_OP_SGD, 0);
    slots(&b);
    files(&b, some_model(&b), 0, 0);
    files(&b, some_model(&b), 3, 0);
    shared_layers(&b);
    refused_ties(&b);
    refused_parts_of_layers(&b);
    balanced();
    pipelines(&b);
    not_finite(&b, NAN);
    if (!few(&b)) not_finite(&b, INFINITY);
    bed_close(&b);
    return failures != 0;
}
