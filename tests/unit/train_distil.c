/* Distillation. Losses of both networks follow from formulas, where each network is looked at alone. The generator goes
 * down the slope of its loss, by differences. On any ranks, in all stages of ZeRO and over a restart the weights are
 * those of one rank. */
#include "src/train/distil.h"

#include <math.h>

#include "kernels/form/normal.h"
#include "src/base/streams.h"
#include "src/model/unet.h"
#include "src/train/learn_diffuse.h"
#include "tests/unit/train_case.h"

enum { PIXELS = EDGE * EDGE, ROW = CLASSES + 2, CYCLES = 3, TURNS = 2 };

static const double start = 2.5;

static struct mf_task teacher_of(const struct bed *b)
{
    struct mf_denoise d = {.mean = -1.2, .deviation = 1.2, .dropped = 0.5};
    const size_t column = 0;

    mf_denoise_take(&d, CLASSES, 1, 0);
    for (size_t k = 0; k < CLASSES; ++k) memcpy(d.class_name[k], b->set->class_name[k], sizeof d.class_name[k]);
    memcpy(d.column[0], b->set->real_name[0], sizeof d.column[0]);
    d.column_mean[0] = 3;
    d.column_deviation[0] = 2;
    return mf_task_diffuse(b->set, d, &column, 0);
}

static struct mf_train_opts opts_of(const struct mf_task *task, size_t batch)
{
    struct mf_train_opts o = usual("unet", OF_PLAIN, batch);

    o.task = task;
    o.args.dropout = 0;
    o.skips = 2;
    o.beside = (struct mf_beside){mf_task_score(task), TURNS, 1e-3};
    return o;
}

/* New layers give 0, and would hide what follows them. */
static void scatter(struct mf_trainer *t, uint64_t seed)
{
    const struct mf_net *net = t->network.net;
    uint64_t number = 0;

    for (size_t v = 0; v < net->values; ++v) {
        const size_t n = mf_shape_count(&net->value[v].shape);
        float *w;

        if (!mf_value_is_weight(&net->value[v])) continue;
        w = malloc(n * sizeof *w);
        for (size_t i = 0; i < n; ++i) w[i] = (float)(0.15 * mf_random_normal(seed, MF_STREAM_NOISE, number++));
        mf_weights_put(&t->weights, (int)v, MF_STATE_WEIGHT, w);
        free(w);
    }
    mf_weights_masters(&t->weights, 0);
}

/* -- by hand -- */

/* A network on cores that is looked at, and samples of the first window. */
struct looked {
    struct mf_trainer t;
    double sigma[WINDOW];
    float condition[WINDOW][ROW];
};

static void looked_open(const struct bed *b, const struct mf_task *teacher, struct looked *l)
{
    struct mf_train_opts o = opts_of(teacher, WINDOW);

    o.beside.task = NULL;
    CHECK_SAYS(mf_trainer_open(&b->self, b->cores.host, b->cores.q, b->set, &o, &l->t) == MF_OK, "%s", mf_err_text());
}

static double *numbers_of(double step)
{
    static double number[MF_NUMBERS];

    number[MF_NUMBER_SEED] = 5;
    number[MF_NUMBER_STEP] = step;
    return number;
}

/* Levels and conditions of a step. */
static void find_samples(const struct bed *b, double step, struct looked *l)
{
    for (size_t i = 0; i < WINDOW; ++i) {
        const struct mf_span one = {i, 1};
        const double place = 0.02 + 0.96 * mf_random_uniform(mf_draw_seed(numbers_of(step)), MF_STREAM_LEVEL, i);
        size_t id;
        float *c = l->condition[i];

        l->sigma[i] = pow(pow(80, 1 / 7.0) + place * (pow(0.002, 1 / 7.0) - pow(80, 1 / 7.0)), 7);
        mf_window_ids(b->set, MF_TRAIN, 5, 0, &one, &id);
        for (int32_t k = 0; k < CLASSES; ++k) c[k] = b->set->label[id] == k;
        c[CLASSES] = (b->set->real[id * COLUMNS] - 3) / 2;
        c[CLASSES + 1] = 1;
    }
}

static void noise_of(double step, unsigned stream, float z[WINDOW][PIXELS])
{
    const struct mf_attr attr = {.stream = stream};
    const struct mf_draw draw = mf_normal_of(&attr, numbers_of(step));

    for (size_t i = 0; i < WINDOW; ++i)
        for (size_t q = 0; q < PIXELS / 4; ++q) mf_normal_four(&draw, i, q, &z[i][4 * q]);
}

static float *at(struct looked *l, const char *name)
{
    return mf_walk_at(l->t.walk, l->t.network.evaluate.list, mf_network_input(&l->t.network, name));
}

/* The estimate of x0 by the network of @p l, from x with noise of level sigma[i]. NULL: all have one level. */
static void look(struct looked *l, float x[WINDOW][PIXELS], const double *sigma, double level,
                 double clean[WINDOW][PIXELS])
{
    const float *f = mf_walk_at(l->t.walk, l->t.network.evaluate.list, l->t.network.head[0].output);
    const size_t width = mf_arch_noise_width(&l->t.opts.args);

    for (size_t i = 0; i < WINDOW; ++i) {
        const double s = sigma ? sigma[i] : level;

        for (size_t p = 0; p < PIXELS; ++p) at(l, "x")[i * PIXELS + p] = x[i][p];
        at(l, "in_x")[i] = (float)(1 / sqrt(s * s + 0.25));
        at(l, "in_noise")[i] = 0;
        mf_unet_noise(log(s) / 4, width, at(l, "level") + i * width);
        memcpy(at(l, "condition") + i * ROW, l->condition[i], sizeof l->condition[i]);
    }
    mf_walk_run(l->t.walk, l->t.network.evaluate.list);
    for (size_t i = 0; i < WINDOW; ++i) {
        const double s = sigma ? sigma[i] : level, all = s * s + 0.25;

        for (size_t p = 0; p < PIXELS; ++p)
            clean[i][p] = 0.25 / all * (double)x[i][p] + 0.5 * s / sqrt(all) * (double)f[i * PIXELS + p];
    }
}

/* The generator's samples. */
static void generate(struct looked *l, double step, unsigned stream, double x[WINDOW][PIXELS])
{
    static float z[WINDOW][PIXELS];

    noise_of(step, stream, z);
    for (size_t i = 0; i < WINDOW; ++i)
        for (size_t p = 0; p < PIXELS; ++p) z[i][p] *= (float)start;
    look(l, z, NULL, start, x);
}

static void add_noise(const struct looked *l, double step, unsigned stream, double x[WINDOW][PIXELS],
                      float noisy[WINDOW][PIXELS])
{
    noise_of(step, stream, noisy);
    for (size_t i = 0; i < WINDOW; ++i)
        for (size_t p = 0; p < PIXELS; ++p) noisy[i][p] = (float)(x[i][p] + l->sigma[i] * (double)noisy[i][p]);
}

static double x[WINDOW][PIXELS], real[WINDOW][PIXELS], made[WINDOW][PIXELS];
static float noisy[WINDOW][PIXELS];

/* All three have the weights of @p from. */
static double score_loss(const struct bed *b, struct looked *l, const struct mf_trainer *from)
{
    double sum = 0;

    find_samples(b, 1, l);
    mf_weights_copy(&from->weights, NULL, &l->t.weights);
    generate(l, 1, 4, x);
    add_noise(l, 1, 2, x, noisy);
    look(l, noisy, l->sigma, 0, made);
    for (size_t i = 0; i < WINDOW; ++i)
        for (size_t p = 0; p < PIXELS; ++p)
            sum += pow(made[i][p] - x[i][p], 2) * (1 / pow(l->sigma[i], 2) + 4) / PIXELS / WINDOW;
    return sum;
}

/* @p made becomes the direction in which each sample moves; the generator's weights are those of @p from. */
static double match_loss(struct looked *l, const struct mf_trainer *from, const struct mf_trainer *score)
{
    double sum = 0;

    generate(l, 1, 3, x);
    add_noise(l, 1, 1, x, noisy);
    look(l, noisy, l->sigma, 0, real); /* the teacher's are those of the generator at the start */
    mf_weights_copy(&score->weights, NULL, &l->t.weights);
    look(l, noisy, l->sigma, 0, made);
    mf_weights_copy(&from->weights, NULL, &l->t.weights);
    for (size_t i = 0; i < WINDOW; ++i) {
        double mean = 0;

        for (size_t p = 0; p < PIXELS; ++p) mean += fabs(x[i][p] - real[i][p]) / PIXELS;
        for (size_t p = 0; p < PIXELS; ++p) {
            made[i][p] = (made[i][p] - real[i][p]) / mean;
            sum += made[i][p] * made[i][p] / 2 / PIXELS / WINDOW;
        }
    }
    return sum;
}

/* How the loss with a constant target changes along the way between two sets of weights, by differences. */
static double slope_along(struct looked *l, const float *from, const float *to, double factor)
{
    const struct mf_net *net = l->t.network.net;
    double sum = 0;

    for (int side = -1; side <= 1; side += 2) {
        size_t first = 0;

        for (size_t v = 0; v < net->values; ++v) {
            const size_t n = mf_shape_count(&net->value[v].shape);
            float *w;

            if (!mf_value_is_weight(&net->value[v])) continue;
            w = malloc(n * sizeof *w);
            for (size_t i = 0; i < n; ++i, ++first)
                w[i] = (float)((double)from[first] + side * factor * ((double)to[first] - (double)from[first]));
            mf_weights_put(&l->t.weights, (int)v, MF_STATE_WEIGHT, w);
            free(w);
        }
        generate(l, 1, 3, x);
        for (size_t i = 0; i < WINDOW; ++i)
            for (size_t p = 0; p < PIXELS; ++p) sum += side * x[i][p] * made[i][p] / (2 * factor * PIXELS * WINDOW);
    }
    return sum;
}

static void formulas(const struct bed *b, const struct mf_task *teacher, const struct mf_task *task)
{
    struct mf_train_opts o = opts_of(task, batch_for(&b->world, WINDOW, 2));
    struct mf_trainer t;
    struct mf_distil d;
    struct looked l = {.sigma = {0}};
    struct mf_step step;
    double loss = 0, length = 0, want;
    float *before, *after;
    size_t n;

    o.optimiser = MF_OP_SGD;
    o.moments = (struct mf_attr){.momentum = 0};
    o.schedule.kind = MF_SCHEDULE_CONSTANT;
    o.schedule.rate = 0.1;
    o.decay = o.clip = 0;
    o.beside.steps = 1;
    o.beside.rate = 2;
    trainer_open(b, &b->world, b->set, &o, &t);
    scatter(&t, 3);
    CHECK_SAYS(mf_distil_open(&t, &d) == MF_OK, "%s", mf_err_text());
    looked_open(b, teacher, &l);
    want = score_loss(b, &l, &t);
    CHECK_SAYS(mf_distil_stepped(&d) == MF_OK, "%s", mf_err_text());
    loss = mf_distil_loss(&d);
    CHECK_SAYS(fabs(loss / want - 1) < 1e-4, "the score network's loss is %g, not %g", loss, want);
    CHECK(isnan(mf_distil_loss(&d)));
    want = match_loss(&l, &t, &d.score);
    before = weights_of(&t, &n);
    step = steps_until(&t, 1);
    after = weights_of(&t, &n);
    CHECK_SAYS(want > 1e-4 && fabs(step.loss / want - 1) < 1e-3, "the generator's loss is %g, not %g", step.loss, want);
    for (size_t i = 0; i < n; ++i) length += pow((double)after[i] - (double)before[i], 2);
    CHECK_NEAR(sqrt(length) / step.rate, step.norm, 2e-3 * step.norm);
    want = slope_along(&l, before, after, 1e-2 / sqrt(length));
    CHECK_SAYS(fabs(want * step.rate / -length - 1) < 0.01, "the slope is %g, not %g", -length / step.rate, want);
    free(before);
    free(after);
    mf_distil_close(&d);
    mf_trainer_close(&t);
    mf_trainer_close(&l.t);
}

/* -- turns -- */

struct pair {
    struct mf_trainer t;
    struct mf_distil d;
};

static void pair_open(const struct bed *b, const struct mf_comm *comm, const struct device *device,
                      const struct mf_train_opts *o, struct pair *p)
{
    CHECK_SAYS(mf_trainer_open(comm, device->host, device->q, b->set, o, &p->t) == MF_OK, "%s", mf_err_text());
    scatter(&p->t, 3);
    CHECK_SAYS(mf_distil_open(&p->t, &p->d) == MF_OK, "%s", mf_err_text());
}

static void pair_close(struct pair *p)
{
    mf_distil_close(&p->d);
    mf_trainer_close(&p->t);
}

static void turns(struct pair *p, size_t until)
{
    while (p->t.step < until) {
        steps_until(&p->t, p->t.step + 1);
        CHECK_SAYS(mf_distil_stepped(&p->d) == MF_OK, "%s", mf_err_text());
    }
}

/* Weights of both; heap. */
static float *weights_of_both(const struct pair *p, size_t *n)
{
    size_t one, other;
    float *a = weights_of(&p->t, &one), *c = weights_of(&p->d.score, &other);

    a = realloc(a, (one + other) * sizeof *a);
    memcpy(a + one, c, other * sizeof *c);
    free(c);
    *n = one + other;
    return a;
}

static void compare(const struct pair *p, const float *want, const char *what, int number)
{
    size_t n;
    float *got = weights_of_both(p, &n);

    CHECK_SAYS(apart(n, got, want) < 1e-5, "%s %d: weights differ by %g", what, number, apart(n, got, want));
    free(got);
}

/* Where memory is the host's, the state goes through a file. */
static void restart(const struct bed *b, const struct mf_train_opts *o, struct pair *p, const float *want)
{
    struct mf_checkpoint *c = mf_checkpoint_new("a: 1\n");
    const char *path = scratch_file("state.h5");
    struct pair again;

    if (mf_apart(b->device.q)) {
        mf_checkpoint_free(c);
        return;
    }
    mf_distil_listed(&p->d, c);
    mf_trainer_keep(&p->t, "", c);
    CHECK_SAYS(mf_checkpoint_write(&b->world, path, 1, c) == MF_OK, "%s", mf_err_text());
    mf_checkpoint_free(c);
    pair_open(b, &b->world, &b->device, o, &again);
    CHECK_SAYS(mf_checkpoint_open(&b->world, path, 0, &c) == MF_OK, "%s", mf_err_text());
    mf_distil_listed(&again.d, c);
    mf_trainer_keep(&again.t, "", c);
    CHECK_SAYS(mf_checkpoint_code(c) == MF_OK, "%s", mf_err_text());
    mf_checkpoint_free(c);
    CHECK(again.d.score.step == p->d.score.step);
    turns(&again, CYCLES);
    compare(&again, want, "restarted in stage", o->stage);
    pair_close(&again);
}

static void same_weights(const struct bed *b, const struct mf_task *task)
{
    struct mf_train_opts o = opts_of(task, LEARNT);
    struct pair p;
    float *want;
    size_t n;

    o.batch = WINDOW;
    pair_open(b, &b->self, &b->cores, &o, &p);
    turns(&p, CYCLES);
    CHECK(p.d.score.step == CYCLES * TURNS);
    want = weights_of_both(&p, &n);
    pair_close(&p);
    o.batch = batch_for(&b->world, WINDOW, 2);
    for (o.stage = 0; o.stage <= 3; o.stage += b->world.size > 1 ? 1 : 4) {
        pair_open(b, &b->world, &b->device, &o, &p);
        turns(&p, CYCLES - 1);
        if (o.stage % 3 == 0) restart(b, &o, &p, want);
        turns(&p, CYCLES);
        compare(&p, want, "stage", o.stage);
        pair_close(&p);
    }
    free(want);
}

int main(int argc, char **argv)
{
    struct mf_task teacher, task;
    struct bed b;

    bed_open(&b, &argc, &argv);
    teacher = teacher_of(&b);
    task = mf_task_one_step(&teacher, start);
    formulas(&b, &teacher, &task);
    same_weights(&b, &task);
    mf_task_close(&task);
    mf_task_close(&teacher);
    bed_close(&b);
    return failures != 0;
}
