/* A network that answers questions, against PyTorch. It compares outputs, losses of ten steps, gradients of the first
 * one, and weights at the end. They are the same on any number of ranks, with all stages of ZeRO, passes and
 * recomputation. In bf16 they are near. Slots give equal bits on any number of ranks. Towers that are frozen have
 * neither gradients nor moments. The file was made by tests/data/net/make_vqa.py. */
#include "src/base/text.h"
#include "src/model/vqa.h"
#include "tests/unit/train_case.h"

enum { QUESTIONS = 14, ASKED = 10, NY = 12, NX = 16, LENGTH = 8, OBJECTS = 4, CELLS = 12, WORDS = 20 };
enum { X, TOKENS, SEEN, WORD_SHARE, OBJECT, OBJECT_SHARE, REGION, YES_NO, KIND, FINDINGS, INPUTS };
enum { HEADS = 3, MOST = QUESTIONS * NY * NX };

static const struct {
    const char *name;
    int is_whole; /* in the file */
    size_t n;     /* numbers of a question */
    struct mf_shape shape;
} all[INPUTS] = {[X] = {"x", 0, NY *NX, {MF_F32, 5, {0, 1, NY, NX, 1}}},
                 [TOKENS] = {"tokens", 1, LENGTH, {MF_I32, 2, {0, LENGTH}}},
                 [SEEN] = {"seen", 0, LENGTH, {MF_U8, 2, {0, LENGTH}}},
                 [WORD_SHARE] = {"word_share", 0, LENGTH, {MF_F32, 3, {0, 1, LENGTH}}},
                 [OBJECT] = {"object", 0, OBJECTS * 6, {MF_F32, 3, {0, OBJECTS, 6}}},
                 [OBJECT_SHARE] = {"object_share", 0, OBJECTS, {MF_F32, 3, {0, 1, OBJECTS}}},
                 [REGION] = {"region", 0, OBJECTS *CELLS, {MF_F32, 3, {0, OBJECTS, CELLS}}},
                 [YES_NO] = {"yes_no", 1, 1, {MF_I32, 1, {0}}},
                 [KIND] = {"kind", 1, 1, {MF_I32, 1, {0}}},
                 [FINDINGS] = {"findings", 0, 4, {MF_F32, 2, {0, 4}}}};
static const size_t outputs[HEADS] = {2, 5, 4};
static double number[INPUTS][MOST]; /* of all questions */
static struct mf_safetensors *file;

/* -- the file -- */

static void read_real(const char *prefix, const char *name, size_t n, float *to)
{
    char *text = mf_format("%s%s", prefix, name);
    const struct mf_safetensors_entry *entry = mf_safetensors_find(file, text);
    size_t count = 1;

    memset(to, 0, n * sizeof *to);
    for (size_t i = 0; entry && i < entry->ndim; ++i) count *= entry->dims[i];
    CHECK_SAYS(entry && count <= n && mf_safetensors_read(file, text, entry->ndim, entry->dims, to) == MF_OK, "%s: %s",
               text, mf_err_text());
    free(text);
}

static void read_questions(void)
{
    static float real[MOST];
    static int64_t whole[MOST];

    for (size_t k = 0; k < INPUTS; ++k) {
        const struct mf_safetensors_entry *entry = mf_safetensors_find(file, all[k].name);
        const size_t n = QUESTIONS * all[k].n;

        if (all[k].is_whole)
            CHECK(entry && mf_safetensors_read_whole(file, all[k].name, entry->ndim, entry->dims, whole) == MF_OK);
        else
            read_real("", all[k].name, n, real);
        for (size_t i = 0; i < n; ++i) number[k][i] = all[k].is_whole ? (double)whole[i] : (double)real[i];
    }
}

static int sample_of(void *context, size_t id, struct mf_sample *sample)
{
    (void)context;
    for (size_t i = 0; i < NY * NX; ++i) ((uint8_t *)sample->x)[i] = (uint8_t)number[X][id * NY * NX + i];
    return MF_OK;
}

static struct mf_dataset *questions_set(const struct mf_comm *comm)
{
    uint8_t split[QUESTIONS];
    const struct mf_dataset_wish wish = {
        .samples = QUESTIONS, .ndim = 2, .dims = {1, NY, NX, 1}, .phases = 2, .split = split};
    struct mf_dataset *set = NULL;

    for (size_t i = 0; i < QUESTIONS; ++i) split[i] = i < ASKED ? MF_TRAIN : MF_TEST;
    if (mf_dataset_write(comm, scratch_file("questions.h5"), &wish, NULL, sample_of, NULL) != MF_OK ||
        mf_dataset_open(comm, scratch_file("questions.h5"), &set) != MF_OK) {
        fprintf(stderr, "%s\n", mf_err_text());
        abort();
    }
    return set;
}

/* -- the task -- */

static size_t inputs(const struct mf_task *task, const size_t dims[4], size_t batch, const struct mf_arch *arch,
                     const struct mf_arch_args *args, struct mf_learn_input input[])
{
    (void)task, (void)dims, (void)arch, (void)args;
    for (size_t k = 0; k < INPUTS; ++k) {
        input[k] = k == FINDINGS ? mf_learn_reals(all[k].name, batch, all[k].n)
                   : k >= YES_NO ? mf_learn_labels(all[k].name, batch, 1)
                                 : (struct mf_learn_input){.name = all[k].name, .plain = k == X, .shape = all[k].shape};
        input[k].shape.d[0] = batch;
    }
    return INPUTS;
}

static void forward(const struct mf_task *task, struct mf_build *build, const struct mf_arch *arch,
                    const struct mf_arch_args *args, const int input[], int train, int output[])
{
    const struct mf_arch_ask in = {.x = input[X],
                                   .tokens = input[TOKENS],
                                   .seen = input[SEEN],
                                   .word_share = input[WORD_SHARE],
                                   .object = input[OBJECT],
                                   .object_share = input[OBJECT_SHARE],
                                   .region = input[REGION],
                                   .each = 1,
                                   .words = WORDS,
                                   .length = LENGTH,
                                   .objects = OBJECTS,
                                   .heads = HEADS,
                                   .outputs = outputs};

    (void)task, (void)train;
    arch->ask(build, &in, args, output);
}

static int loss(const struct mf_task *task, const struct mf_learn_loss *of)
{
    const struct mf_attr attr = {.head = of->head};
    const int in[] = {of->output, of->input[FINDINGS]};

    if (of->head < 2) return mf_learn_softmax(of, task->head[of->head].outputs, of->input[YES_NO + of->head], 0);
    return mf_build_node(of->build, MF_OP_LOGISTIC_LOSS, attr, of->name, 2, in);
}

static void fill(const struct mf_task *task, const struct mf_fill *of, size_t input, void *to)
{
    const size_t n = all[input].n;

    (void)task;
    for (size_t i = 0; i < of->batch->n * n; ++i) {
        const double v = number[input][of->batch->id[i / n] * n + i % n];

        if (all[input].shape.type == MF_I32) ((int32_t *)to)[i] = (int32_t)v;
        if (all[input].shape.type == MF_U8) ((uint8_t *)to)[i] = (uint8_t)v;
        if (all[input].shape.type == MF_F32) ((float *)to)[i] = (float)v;
    }
}

static size_t rows(const struct mf_task *task, const struct mf_dataset *set, size_t head, size_t sample)
{
    (void)task, (void)set;
    return head == 2 || number[YES_NO + head][sample] >= 0;
}

static void tally(const struct mf_task *task, const struct mf_dataset *set, size_t head, const struct mf_batch *batch,
                  size_t r, const float *output, double *count, double *sum)
{
    (void)task, (void)set, (void)head, (void)batch, (void)r, (void)output, (void)count, (void)sum;
}

static void finish(const struct mf_task *task, size_t head, const struct mf_head_scores *s, double *figure)
{
    (void)task, (void)head, (void)s, (void)figure;
}

static double merit(const struct mf_task *task, const struct mf_scores *s)
{
    (void)task;
    return -s->loss;
}

static const struct mf_learn asks = {.name = "questions",
                                     .key = "questions",
                                     .reads = MF_READS_INPUT,
                                     .inputs = inputs,
                                     .forward = forward,
                                     .loss = loss,
                                     .fill = fill,
                                     .rows = rows,
                                     .tally = tally,
                                     .finish = finish,
                                     .merit = merit};
static const struct mf_task task = {.learn = &asks,
                                    .heads = HEADS,
                                    .head = {{.name = "yes_no", .outputs = 2, .weight = 1},
                                             {.name = "kind", .outputs = 5, .weight = 1},
                                             {.name = "findings", .outputs = 4, .weight = 0.3}}};

/* -- trainers -- */

static struct mf_train_opts opts_of(size_t batch)
{
    struct mf_train_opts o = usual("vqa", OF_PLAIN, batch);

    o.args = (struct mf_arch_args){.width = 4, .depth = 2, .heads = 2, .text_width = 8, .text_depth = 2};
    o.task = &task;
    o.effective = ASKED;
    o.schedule = (struct mf_schedule){.kind = MF_SCHEDULE_COSINE, .rate = 0.01, .warmup = 2, .steps = STEPS};
    o.decay = 0.1;
    o.rate_of = "text=0.5,image.stem=0.25";
    o.plain = 1;
    o.clip = 0.5;
    return o;
}

/* Numbers of a whole weight. */
static size_t count_of(const struct mf_value *value)
{
    const struct mf_shape whole = mf_value_whole(value);

    return mf_shape_count(&whole);
}

static void open_loaded(const struct bed *b, const struct mf_comm *comm, const struct mf_dataset *set,
                        const struct mf_train_opts *o, struct mf_trainer *t)
{
    static float numbers[MOST * 2];

    trainer_open(b, comm, set, o, t);
    for (size_t v = 0; v < t->network.net->values; ++v) {
        const struct mf_value *value = &t->network.net->value[v];

        if (!mf_value_is_weight(value)) continue;
        read_real("", value->name, count_of(value), numbers);
        mf_weights_put(&t->weights, (int)v, MF_STATE_WEIGHT, numbers);
    }
    mf_weights_masters(&t->weights, 0);
}

/* Norm of the difference by the norm of what is wanted, which counts from 0.01 on. */
static void near(const char *name, const float *got, const float *want, size_t n, double most)
{
    double difference = 0, norm = 0;

    for (size_t i = 0; i < n; ++i) {
        difference += pow((double)got[i] - (double)want[i], 2);
        norm += (double)want[i] * (double)want[i];
    }
    difference = sqrt(difference) / fmax(sqrt(norm), 1e-2);
    CHECK_SAYS(difference < most, "%s differs by %.2g", name, difference);
}

static void compare_weights(const struct mf_trainer *t, double most)
{
    size_t n, at = 0;
    float *got = weights_of(t, &n), *want = malloc(n * sizeof *want);

    for (size_t v = 0; v < t->network.net->values; ++v) {
        const struct mf_value *value = &t->network.net->value[v];

        if (!mf_value_is_weight(value)) continue;
        read_real("end.", value->name, count_of(value), want);
        near(value->name, got + at, want, count_of(value), most);
        at += count_of(value);
    }
    free(want);
    free(got);
}

/* All steps: their losses, and the weights at the end. */
static void steps(struct mf_trainer *t, double loss_most, double weights_most)
{
    float got[STEPS], want[STEPS];

    for (size_t k = 0; k < STEPS; ++k) got[k] = (float)steps_until(t, k + 1).loss;
    read_real("", "losses", STEPS, want);
    near("loss", got, want, STEPS, loss_most);
    compare_weights(t, weights_most);
}

/* -- what must hold -- */

static void outputs_are(const struct mf_dataset *set, struct mf_trainer *t)
{
    struct mf_scores s;
    float want[ASKED * 5];

    CHECK_SAYS(mf_trainer_score(t, ASKED, set->id[MF_TRAIN], 1, &s) == MF_OK, "%s", mf_err_text());
    for (size_t h = 0; h < HEADS && t->comm->rank == 0; ++h) {
        char name[] = "output.0";

        name[7] = (char)('0' + h);
        read_real("", name, ASKED * outputs[h], want);
        near(name, s.head[h].output, want, ASKED * outputs[h], 3e-6);
    }
    mf_scores_free(&s);
}

/* One rank has all gradients, in one pass. Arrays of several weights have theirs. */
static void gradients_are(const struct bed *b, const struct mf_trainer *t)
{
    static float got[MOST * 2], want[MOST * 2];
    const struct mf_net *net = t->network.net;

    for (size_t v = 0; v < net->values; ++v) {
        const struct mf_value *value = &net->value[v];
        const size_t n = mf_shape_count(&value->shape);
        int of = mf_value_gradient(value), is_part = of < 0;

        if (!mf_value_is_weight(value)) continue;
        if (is_part) of = mf_value_gradient(&net->value[value->base]);
        b->device.be->get(b->device.q, got,
                          (char *)mf_walk_at(t->walk, t->network.last.list, of) + (is_part ? value->shift : 0),
                          n * sizeof *got);
        read_real("grad.", value->name, n, want);
        near(value->name, got, want, n, 1e-5);
    }
}

static void as_in_pytorch(const struct bed *b, const struct mf_dataset *set)
{
    const int alone = b->world.size == 1;

    for (int k = 0; k < (alone ? 2 : 4); ++k) {
        struct mf_train_opts o = opts_of(batch_for(&b->world, ASKED, k % 2 ? 2 : 1));
        struct mf_trainer t;

        o.stage = alone ? 0 : k;
        o.recompute = k % 2 ? MF_RECOMPUTE_BLOCKS : MF_RECOMPUTE_NONE;
        open_loaded(b, &b->world, set, &o, &t);
        if (k == 0) outputs_are(set, &t);
        if (alone && k == 0) {
            steps_until(&t, 1);
            gradients_are(b, &t);
            mf_trainer_close(&t);
            open_loaded(b, &b->world, set, &o, &t);
        }
        steps(&t, 1e-5, 1e-5);
        mf_trainer_close(&t);
    }
}

/* Every rank a stage, and two and two that share the questions. The map of the image passes stages that do not
 * read it. */
static void in_stages(const struct bed *b, const struct mf_dataset *set)
{
    const size_t ranks = (size_t)b->world.size;

    for (size_t n = 2; n <= ranks; ++n) {
        struct mf_train_opts o = opts_of((ASKED + 1) / 2 / (ranks / n));
        struct mf_trainer t;

        if (ranks % n) continue;
        o.stages = n;
        o.recompute = n == ranks ? MF_RECOMPUTE_BLOCKS : MF_RECOMPUTE_NONE;
        open_loaded(b, &b->world, set, &o, &t);
        outputs_are(set, &t);
        steps(&t, 1e-5, 1e-5);
        mf_trainer_close(&t);
    }
}

/* Ranks share layers of both towers' attention, also within two stages. */
static void in_parts(const struct bed *b, const struct mf_dataset *set)
{
    const size_t ranks = (size_t)b->world.size;

    for (size_t stages = 1; ranks % 2 == 0 && 2 * stages <= ranks; ++stages) {
        struct mf_train_opts o = opts_of((ASKED + 1) / 2 / (ranks / 2 / stages));
        struct mf_trainer t;

        o.tensor = 2;
        o.stages = stages;
        o.recompute = stages > 1 ? MF_RECOMPUTE_BLOCKS : MF_RECOMPUTE_NONE;
        open_loaded(b, &b->world, set, &o, &t);
        outputs_are(set, &t);
        steps(&t, 1e-5, 1e-5);
        mf_trainer_close(&t);
    }
}

static void in_16_bits(const struct bed *b, const struct mf_dataset *set)
{
    struct mf_train_opts o = opts_of(batch_for(&b->world, ASKED, 1));
    struct mf_trainer t;

    o.type = MF_BF16;
    o.stage = b->world.size > 1 ? 3 : 0;
    open_loaded(b, &b->world, set, &o, &t);
    steps(&t, 0.02, 0.2);
    mf_trainer_close(&t);
}

static void slots(const struct bed *b, const struct mf_dataset *set)
{
    struct mf_train_opts o = opts_of(3);
    struct mf_trainer t;
    float *one, *many;
    size_t n;

    o.slots = 4;
    o.args.dropout = 0.1;
    open_loaded(b, &b->self, set, &o, &t);
    steps_until(&t, STEPS);
    one = weights_of(&t, &n);
    mf_trainer_close(&t);
    for (int k = 0; k < 2; ++k) {
        o.stages = k ? (size_t)b->world.size : 0;
        open_loaded(b, &b->world, set, &o, &t);
        steps_until(&t, STEPS);
        many = weights_of(&t, &n);
        mf_trainer_close(&t);
        CHECK(memcmp(one, many, n * sizeof *one) == 0);
        free(many);
    }
    free(one);
}

static void frozen(const struct bed *b, const struct mf_dataset *set)
{
    static float want[MOST * 2];
    struct mf_train_opts o = opts_of(batch_for(&b->world, ASKED, 1));
    struct mf_trainer t;
    size_t n, at = 0;
    float *got;

    o.freeze = "image,text";
    o.rate_of = NULL;
    o.plain = 0; /* decay alone moves biases of keys */
    o.stage = b->world.size > 1 ? 3 : 0;
    open_loaded(b, &b->world, set, &o, &t);
    steps_until(&t, 3);
    got = weights_of(&t, &n);
    for (size_t v = 0; v < t.network.net->values; ++v) {
        const struct mf_value *value = &t.network.net->value[v];
        const size_t count = mf_shape_count(&value->shape);
        const int is_frozen = mf_name_in(value->name, o.freeze);

        if (!mf_value_is_weight(value)) continue;
        read_real("", value->name, count, want);
        CHECK_SAYS((memcmp(got + at, want, count * sizeof *want) == 0) == is_frozen, "%s", value->name);
        CHECK(!is_frozen || (mf_value_gradient(value) < 0 && !mf_weights_has(&t.weights, (int)v, MF_STATE_FIRST)));
        at += count;
    }
    free(got);
    mf_trainer_close(&t);
    o.freeze = "text.encoder.layer.0.attention.self.query";
    CHECK(mf_trainer_open(&b->world, b->device.host, b->device.q, set, &o, &t) == MF_USAGE);
    CHECK_SAYS(strstr(mf_err_text(), "query, key and value"), "%s", mf_err_text());
    mf_trainer_close(&t);
    o.rate_of = "text.encoder.layer.0.attention.self.query=0.5";
    o.freeze = NULL;
    CHECK(mf_trainer_open(&b->world, b->device.host, b->device.q, set, &o, &t) == MF_USAGE);
    CHECK_SAYS(strstr(mf_err_text(), "has one learning rate with what stands beside it in"), "%s", mf_err_text());
    mf_trainer_close(&t);
}

/* The map of the image tower has as many cells as are said, or it is refused. */
static void cells_of(const struct mf_arch_args *args, const size_t extent[2])
{
    const size_t dims[] = {1, extent[0], extent[1], 1};
    struct mf_net *net = mf_net_new();
    struct mf_build build = {.list = mf_list_new(net, "map")};
    const int x = mf_build_input(&build, "x", (struct mf_shape){MF_F32, 5, {2, 1, dims[1], dims[2], 1}});
    const struct mf_shape map = mf_build_shape(&build, mf_image_towers[args->image].map(&build, x, args));
    size_t n[2];

    CHECK(mf_arch_cells(mf_arch_find("vqa"), args, dims, n) == n[0] * n[1]);
    if (n[0] * n[1] == 0)
        CHECK(mf_build_end(&build) == MF_USAGE && strstr(mf_err_text(), "too small for this convnext"));
    else
        CHECK(map.n == 4 && map.d[1] == n[0] && map.d[2] == n[1]);
    mf_net_free(net);
}

static void cells(const struct bed *b)
{
    static const size_t extents[][2] = {{1, 9}, {12, 16}, {17, 31}};
    struct mf_arch_args args = {.width = 4, .patch = 2, .blocks = 1, .deep = 1};

    (void)b;
    for (args.image = 0; args.image < MF_IMAGES; ++args.image)
        for (args.depth = 1; args.depth <= 4; ++args.depth)
            for (size_t k = 0; k < 3; ++k) cells_of(&args, extents[k]);
}

/* @p argv[1]: the folder of the file */
int main(int argc, char **argv)
{
    struct mf_dataset *set;
    char *path;
    struct bed b;

    bed_open(&b, &argc, &argv);
    NEEDS(1, "FOLDER");
    path = mf_format("%s/vqa.safetensors", argv[1]);
    if (mf_safetensors_open(path, &file) != MF_OK) abort();
    read_questions();
    set = questions_set(&b.world);
    cells(&b);
    as_in_pytorch(&b, set);
    in_stages(&b, set);
    in_parts(&b, set);
    in_16_bits(&b, set);
    slots(&b, set);
    frozen(&b, set);
    mf_dataset_close(set);
    mf_safetensors_close(file);
    free(path);
    bed_close(&b);
    return failures != 0;
}
