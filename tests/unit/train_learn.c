/* A task that no file of src/train knows: images to images, by two heads. One predicts the negative of an image. The
 * other tells phases of pixels apart, of which a mask leaves some out, or all of an image. A further
 * input is a hint, which only a network of the task's own reads. It trains, scores, checkpoints, restarts and
 * saves itself on any number of ranks. */
#include "src/train/loop.h"
#include "tests/unit/train_case.h"

enum { PIXELS = EDGE * EDGE, PHASES = 2 };
enum { X, NEGATIVE, PHASE, HINT, INPUTS };
enum { VALUES, PIXEL_PHASES, HEADS };

static const double half = 0.5; /* weight of the second head */

/* -- the task -- */

/* Every fifth image has no mask at all, so that heads have different rows. */
static int counts(size_t sample, size_t pixel) { return sample % 5 != 2 && (sample * 7 + pixel * 3) % 4 != 0; }

static size_t inputs(const struct mf_task *task, const size_t dims[4], size_t batch, const struct mf_arch *arch,
                     const struct mf_arch_args *args, struct mf_learn_input input[])
{
    (void)task, (void)arch, (void)args;
    input[X] = mf_learn_samples(dims, batch);
    input[NEGATIVE] = mf_learn_reals("negative", batch, PIXELS);
    input[PHASE] = mf_learn_labels("phase", batch, PIXELS);
    input[HINT] = (struct mf_learn_input){.name = "hint", .shape = {.n = 2, .d = {batch, CLASSES}}};
    return INPUTS;
}

static int loss(const struct mf_task *task, const struct mf_learn_loss *of)
{
    (void)task;
    if (of->head == VALUES) return mf_learn_squared(of, of->input[NEGATIVE]);
    return mf_learn_softmax(of, PHASES, of->input[PHASE], 0);
}

static void fill(const struct mf_task *task, const struct mf_fill *of, size_t input, void *to)
{
    const struct mf_batch *batch = of->batch;

    (void)task;
    for (size_t i = 0; input != HINT && i < batch->n * PIXELS; ++i) {
        const float x = batch->input[i];

        if (input == NEGATIVE) ((float *)to)[i] = 1 - x;
        if (input == PHASE) ((int32_t *)to)[i] = counts(batch->id[i / PIXELS], i % PIXELS) ? (int32_t)x : -1;
    }
    for (size_t i = 0; input == HINT && i < batch->n * CLASSES; ++i)
        ((float *)to)[i] = batch->id[i / CLASSES] % CLASSES == i % CLASSES;
}

static size_t rows(const struct mf_task *task, const struct mf_dataset *set, size_t head, size_t sample)
{
    size_t n = 0;

    (void)task, (void)set;
    if (head == VALUES) return 1;
    for (size_t p = 0; p < PIXELS; ++p) n += (size_t)counts(sample, p);
    return n;
}

static int is_right(const float *output, size_t pixel, float x)
{
    return (output[PHASES * pixel + 1] > output[PHASES * pixel]) == (x > 0);
}

static void tally(const struct mf_task *task, const struct mf_dataset *set, size_t head, const struct mf_batch *batch,
                  size_t r, const float *output, double *count, double *sum)
{
    (void)task, (void)set;
    for (size_t p = 0; p < PIXELS; ++p) {
        const float x = batch->input[r * PIXELS + p];
        const double off = (double)output[p] - (1 - (double)x);

        if (head == VALUES)
            *sum += off * off / PIXELS;
        else if (counts(batch->id[r], p))
            *count += is_right(output, p, x);
    }
}

static void finish(const struct mf_task *task, size_t head, const struct mf_head_scores *s, double *figure)
{
    (void)task;
    *figure = (head == VALUES ? *s->sum : *s->count) / s->rows;
}

static double merit(const struct mf_task *task, const struct mf_scores *s)
{
    (void)task;
    return *s->head[PIXEL_PHASES].figure - *s->head[VALUES].figure;
}

static void tell(const struct mf_task *task, double value, FILE *to)
{
    (void)task;
    fprintf(to, "merit %.3f", value);
}

static void put(const struct mf_task *task, const struct mf_scores *s, struct mf_json *to)
{
    for (size_t h = 0; h < HEADS; ++h) mf_json_real(to, task->head[h].name, *s->head[h].figure);
}

static void save_card(const struct mf_task *task, struct mf_json *card)
{
    mf_json_int(card, "images", (long long)task->heads);
}

static const struct mf_learn images = {.name = "images",
                                       .key = "images",
                                       .reads = MF_READS_INPUT,
                                       .inputs = inputs,
                                       .loss = loss,
                                       .fill = fill,
                                       .rows = rows,
                                       .tally = tally,
                                       .finish = finish,
                                       .merit = merit,
                                       .merit_key = "val_merit",
                                       .tell = tell,
                                       .put = put,
                                       .save = save_card};

/* The same, by two small networks of its own instead of a model. The second one takes the hint. */
static void two_networks(const struct mf_task *task, struct mf_build *build, const struct mf_arch *model,
                         const struct mf_arch_args *args, const int input[], int train, int output[])
{
    const size_t batch = mf_build_shape(build, input[X]).d[0];
    const int x = mf_build_reshape(build, input[X], (struct mf_shape){.n = 2, .d = {batch, PIXELS}});

    (void)model, (void)args, (void)train;
    for (size_t h = 0; h < HEADS; ++h) {
        int y = mf_build_linear(build, h ? "second.in" : "first.in", x, 16);

        if (h) y = mf_build_two(build, MF_OP_ADD, "hinted", y, mf_build_linear(build, "hint", input[HINT], 16));
        y = mf_build_one(build, MF_OP_RELU, h ? "second.act" : "first.act", y);
        output[h] = mf_build_linear(build, h ? "second.out" : "first.out", y, task->head[h].outputs);
    }
}

static struct mf_task task_of(const struct mf_learn *learn)
{
    return (struct mf_task){
        .learn = learn,
        .heads = HEADS,
        .head = {{.name = "negative", .outputs = PIXELS, .weight = 1, .sums = 1, .figures = 1},
                 {.name = "phases", .outputs = PHASES * PIXELS, .weight = half, .counts = 1, .figures = 1}}};
}

/* -- losses by hand -- */

static double square(const float *output, const float *x)
{
    double sum = 0;

    for (size_t p = 0; p < PIXELS; ++p) sum += pow((double)output[p] - (1 - (double)x[p]), 2) / PIXELS;
    return sum;
}

static double entropy(const float *output, const float *x, size_t sample)
{
    double sum = 0;

    for (size_t p = 0; p < PIXELS; ++p) {
        const float *y = output + PHASES * p;

        if (counts(sample, p)) sum += log(1 + exp((double)(x[p] > 0 ? y[0] - y[1] : y[1] - y[0])));
    }
    return sum;
}

/* Makes a sample by a known function. */
static void sample_of(size_t id, float x[PIXELS])
{
    uint8_t made[PIXELS];
    float real[COLUMNS];
    struct mf_sample sample = {.x = made, .real = real};

    CHECK(bed_sample(NULL, id, &sample) == MF_OK);
    for (size_t p = 0; p < PIXELS; ++p) x[p] = made[p];
}

/* Losses and figures of both heads. */
static void compare_scores(const struct mf_scores *s, const uint32_t *id)
{
    double sum[HEADS] = {0}, all[HEADS] = {0}, right = 0;

    for (size_t i = 0; i < s->samples; ++i) {
        const float *phases = s->head[PIXEL_PHASES].output + i * PHASES * PIXELS;
        float x[PIXELS];

        sample_of(id[i], x);
        sum[VALUES] += square(s->head[VALUES].output + i * PIXELS, x);
        sum[PIXEL_PHASES] += entropy(phases, x, id[i]);
        for (size_t h = 0; h < HEADS; ++h) all[h] += (double)rows(NULL, NULL, h, id[i]);
        for (size_t p = 0; p < PIXELS; ++p) right += counts(id[i], p) && is_right(phases, p, x[p]);
    }
    for (size_t h = 0; h < HEADS; ++h) {
        CHECK(s->head[h].rows == all[h]);
        CHECK_NEAR(s->head[h].loss, sum[h] / all[h], 1e-5);
    }
    CHECK_NEAR(*s->head[VALUES].figure, sum[VALUES] / all[VALUES], 1e-5);
    CHECK_NEAR(*s->head[PIXEL_PHASES].figure, right / all[PIXEL_PHASES], 1e-12);
    CHECK(apart(PIXELS, s->head[VALUES].output, s->head[PIXEL_PHASES].output) > 0);
    CHECK_NEAR(s->loss, s->head[VALUES].loss + half * s->head[PIXEL_PHASES].loss, 1e-12);
}

static struct mf_scores scores_of(struct mf_trainer *t, size_t n, const uint32_t *id)
{
    struct mf_scores s;

    CHECK_SAYS(mf_trainer_score(t, n, id, 1, &s) == MF_OK, "%s", mf_err_text());
    return s;
}

/* -- steps -- */

static struct mf_train_opts opts_of(const struct mf_task *task, size_t batch)
{
    struct mf_train_opts o = usual("mlp", OF_PLAIN, batch);

    o.task = task;
    o.args.dropout = 0;
    return o;
}

/* The samples of the first window, in any order. */
static void first_window(const struct bed *b, uint64_t seed, uint32_t id[WINDOW])
{
    for (size_t i = 0; i < WINDOW; ++i) {
        const struct mf_span one = {i, 1};
        size_t at;

        mf_window_ids(b->set, MF_TRAIN, seed, 0, &one, &at);
        id[i] = (uint32_t)at;
    }
}

/* A step has the loss of its window. It goes down the slope of that sum: by the rate times the squared norm. */
static void slope(const struct bed *b, const struct mf_task *task)
{
    struct mf_train_opts o = opts_of(task, batch_for(&b->world, WINDOW, 2));
    struct mf_scores before, after;
    struct mf_trainer t;
    struct mf_step step;
    uint32_t id[WINDOW];

    o.optimiser = MF_OP_SGD;
    o.moments = (struct mf_attr){.momentum = 0};
    o.schedule.kind = MF_SCHEDULE_CONSTANT;
    o.schedule.rate = 1e-3;
    o.decay = o.clip = 0;
    first_window(b, o.seed, id);
    trainer_open(b, &b->world, b->set, &o, &t);
    before = scores_of(&t, WINDOW, id);
    if (b->world.rank == 0) compare_scores(&before, id);
    step = steps_until(&t, 1);
    after = scores_of(&t, WINDOW, id);
    CHECK_NEAR(step.loss, before.loss, 1e-5);
    for (size_t h = 0; h < HEADS; ++h) {
        CHECK(step.head_rows[h] == (size_t)before.head[h].rows);
        CHECK_NEAR(step.head_loss[h], before.head[h].loss, 1e-5);
    }
    CHECK_NEAR((before.loss - after.loss) / (step.rate * step.norm * step.norm), 1, 0.02);
    mf_scores_free(&before);
    mf_scores_free(&after);
    mf_trainer_close(&t);
}

/* Ranks, passes, slots and stages of ZeRO come to the weights of one rank in one pass. */
static void same_weights(const struct bed *b, const struct mf_task *task)
{
    struct mf_train_opts o = opts_of(task, batch_for(&b->world, WINDOW, 2));
    struct mf_step last, step;
    float *want = reference(b, b->set, &o, STEPS, &last);

    for (o.stage = 0; o.stage <= 3; ++o.stage) {
        struct mf_trainer t;
        float *got;
        size_t n;

        trainer_open(b, &b->world, b->set, &o, &t);
        step = steps_until(&t, STEPS);
        got = weights_of(&t, &n);
        CHECK_NEAR(step.loss, last.loss, 1e-5);
        CHECK_SAYS(apart(n, got, want) < 1e-5, "stage %d: weights differ by %g", o.stage, apart(n, got, want));
        free(got);
        mf_trainer_close(&t);
    }
    free(want);
}

/* -- a whole run -- */

struct training {
    const struct bed *b;
    const struct mf_train_opts *opts;
    size_t fails;   /* at this step; 0: never */
    float *weights; /* [n] at the end; the caller frees */
    size_t n;
    struct mf_trainer t; /* open while it works */
};

static int may_write(void *context, struct mf_run *run)
{
    (void)context, (void)run;
    return MF_OK;
}

static int name(void *context, struct mf_run *run)
{
    const struct training *l = context;

    snprintf(run->problem, sizeof run->problem, "images");
    return mf_loop_spares(run, "task: images\n", l->b->set, l->opts);
}

static int stepped(void *context, struct mf_loop *loop, const struct mf_step *step)
{
    const struct training *l = context;

    (void)step;
    return loop->trainer->step == l->fails ? mf_fail(MF_BROKEN, "a fault") : MF_OK;
}

static int work(void *context, struct mf_run *run, struct mf_json **results)
{
    struct training *l = context;
    struct mf_loop loop = {.trainer = &l->t, .run = run, .problem = "task: images\n", .stepped = stepped, .grown = l};
    int rc;

    trainer_open(l->b, &l->b->world, l->b->set, l->opts, &l->t);
    rc = mf_loop_run(&loop, results);
    if (rc == MF_OK) l->weights = weights_of(&l->t, &l->n);
    mf_trainer_close(&l->t);
    return rc;
}

/* Heap: the weights of the best epoch; NULL where it fails. */
static float *run_until(const struct bed *b, const struct mf_train_opts *opts, const char *output, size_t fails,
                        int restart, struct mf_json **results, size_t *n)
{
    static const struct mf_run_client client = {may_write, name, mf_loop_results, work};
    struct training l = {.b = b, .opts = opts, .fails = fails};
    struct mf_run run = {.comm = &b->world,
                         .output = output,
                         .part = "part",
                         .parts = 1,
                         .keeper = {.every_steps = 2, .restart = restart}};
    const int rc = mf_run_do(&run, &client, &l, results);

    CHECK_SAYS(rc == (fails ? MF_BROKEN : MF_OK), "%d: %s", rc, mf_err_text());
    mf_err_clear();
    *n = l.n;
    return l.weights;
}

/* The scores in the file are those of its weights. */
static void compare_file(const struct bed *b, struct mf_train_opts o, const char *path)
{
    const size_t n = b->set->count[MF_TEST];
    const struct mf_json *test;
    struct mf_model_card saved;
    struct mf_scores s;
    struct mf_trainer t;

    ++o.seed;
    trainer_open(b, &b->world, b->set, &o, &t);
    CHECK_SAYS(mf_model_card_open(path, &saved) == MF_OK, "%s", mf_err_text());
    CHECK(mf_json_get_int(saved.json, "images") == HEADS);
    CHECK_SAYS(mf_saved_load(&saved, &t) == MF_OK, "%s", mf_err_text());
    s = scores_of(&t, n, b->set->id[MF_TEST]);
    test = mf_json_get(mf_json_get(saved.json, "results"), "test");
    CHECK_NEAR(s.loss, mf_json_get_real(test, "loss"), 1e-5);
    CHECK_NEAR(*s.head[VALUES].figure, mf_json_get_real(test, "negative"), 1e-5);
    CHECK_NEAR(*s.head[PIXEL_PHASES].figure, mf_json_get_real(test, "phases"), 1e-9);
    mf_scores_free(&s);
    mf_model_card_close(&saved);
    mf_trainer_close(&t);
}

/* Metrics have the losses of both heads. Rank 0. */
static void compare_metrics(void)
{
    char text[1 << 14] = "";
    FILE *from = fopen(scratch_file("metrics.jsonl"), "r");

    CHECK(from && fread(text, 1, sizeof text - 1, from) > 0);
    if (from) (void)fclose(from);
    CHECK(strstr(text, "\"loss_phases\"") && strstr(text, "\"val_loss_negative\""));
}

/* A run that breaks off goes on from its checkpoint, and ends as the one that did not. */
static void runs(const struct bed *b, const struct mf_task *task)
{
    struct mf_train_opts o = opts_of(task, batch_for(&b->world, WINDOW, 2));
    struct mf_json *whole = NULL, *parts = NULL;
    char one[512], two[512];
    float *want, *got;
    size_t n;

    snprintf(one, sizeof one, "%s", scratch_file("one.safetensors"));
    snprintf(two, sizeof two, "%s", scratch_file("two.safetensors"));
    o.skips = 3;
    want = run_until(b, &o, one, 0, 0, &whole, &n);
    CHECK(run_until(b, &o, two, 7, 0, &parts, &n) == NULL);
    got = run_until(b, &o, two, 0, 1, &parts, &n);
    if (want && got) CHECK(apart(n, got, want) < 1e-5);
    if (b->world.rank == 0) {
        compare_metrics();
        CHECK_NEAR(mf_json_get_real(mf_json_get(whole, "test"), "loss"),
                   mf_json_get_real(mf_json_get(parts, "test"), "loss"), 1e-5);
        CHECK(mf_json_get_int(parts, "best_epoch") == mf_json_get_int(whole, "best_epoch"));
    }
    compare_file(b, o, two);
    mf_comm_barrier(&b->world);
    mf_json_free(whole);
    mf_json_free(parts);
    free(want);
    free(got);
}

int main(int argc, char **argv)
{
    const struct mf_task task = task_of(&images);
    struct mf_learn own = images;
    struct mf_task other;
    struct bed b;

    own.forward = two_networks;
    other = task_of(&own);
    bed_open(&b, &argc, &argv);
    slope(&b, &task);
    slope(&b, &other);
    same_weights(&b, &other);
    same_weights(&b, &task);
    runs(&b, &task);
    bed_close(&b);
    return failures != 0;
}
