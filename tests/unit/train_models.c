/* Networks against PyTorch: logits, loss and gradients of a batch, and weights after ten steps of the optimiser. They
 * run in one pass or in several, with and without recomputation. The files were made by tests/data/net/make.py. */
#include <math.h>
#include <string.h>

#include "src/base/text.h"
#include "src/train/learn_classify.h"
#include "src/train/learn_regress.h"
#include "src/train/network.h"
#include "src/train/schedule.h"
#include "tests/device.h"

enum { SAMPLES = 20, BATCH = 8, STEPS = 10, MOST = 1 << 14, NUMBERS = 1 << 10 };

static const char *folder;

struct sample_case {
    const char *arch;
    int classify;
    struct mf_arch_args args;
    size_t dims[4], outputs;
};

static const struct sample_case cases[] = {
    {"mlp", 0, {.width = 24, .depth = 3}, {1, 5, 7, 2}, 3},
    {"cnn", 1, {.width = 10, .depth = 2}, {1, 13, 18, 2}, 5},
    {"vit", 1, {.width = 16, .depth = 2, .heads = 2, .patch = 4}, {1, 8, 12, 3}, 5},
    {"moe", 1, {.width = 12, .depth = 1, .experts = 3, .top = 2, .temperature = 0.8}, {1, 5, 7, 2}, 5},
    {"convnext", 1, {.width = 6, .depth = 3, .blocks = 1, .deep = 2, .patch = 3}, {1, 24, 27, 1}, 5},
};

struct run {
    const struct device *d;
    const struct sample_case *c;
    struct mf_network network;
    struct mf_walk *walk;
    struct mf_safetensors *file;
    size_t micro, numbers; /* passes of a step; of a sample */
    float x[SAMPLES * NUMBERS], target[SAMPLES * 8];
    int64_t label[SAMPLES];
};

static void make_network(struct run *r, enum mf_recompute recompute)
{
    struct mf_task task =
        r->c->classify ? mf_task_classes(r->c->outputs, NULL, 0.1) : mf_task_plain(&mf_learn_regress, r->c->outputs);
    const struct mf_network_wish wish = {
        .arch = mf_arch_find(r->c->arch),
        .args = r->c->args,
        .task = task,
        .dims = {r->c->dims[0], r->c->dims[1], r->c->dims[2], r->c->dims[3]},
        .batch = BATCH / r->micro,
        .micro = r->micro,
        .ranks = 1,
        .recompute = recompute,
        .optimiser = MF_OP_ADAMW,
        .moments = {.momentum = 0.9, .second = 0.999, .epsilon = 1e-4},
        .bucket = 1 << 13,
    };

    if (mf_network_make(&wish, r->d->q, &r->network) != MF_OK) abort();
    mf_task_close(&task);
    if (mf_walk_open(&r->walk, r->network.net, r->d->q, MF_WALK_PLANNED, NULL) != MF_OK) abort();
}

/* -- the file -- */

static void read_array(struct run *r, const char *prefix, const char *name, size_t ndim, const size_t *dims, float *to)
{
    char *text = mf_format("%s%s", prefix, name);

    CHECK_SAYS(mf_safetensors_read(r->file, text, ndim, dims, to) == MF_OK, "%s: %s", r->c->arch, mf_err_text());
    free(text);
}

static void read_samples(struct run *r)
{
    const size_t *d = r->c->dims;

    r->numbers = d[1] * d[2] * d[3];
    read_array(r, "", "x", 4, (const size_t[]){SAMPLES, d[1], d[2], d[3]}, r->x);
    if (r->c->classify)
        CHECK(mf_safetensors_read_whole(r->file, "target", 1, (const size_t[]){SAMPLES}, r->label) == MF_OK);
    else
        read_array(r, "", "target", 2, (const size_t[]){SAMPLES, r->c->outputs}, r->target);
}

static void load_weights(struct run *r)
{
    static float numbers[MOST];

    for (size_t v = 0; v < r->network.net->values; ++v) {
        const struct mf_value *value = &r->network.net->value[v];

        if (!mf_value_is_weight(value)) continue;
        read_array(r, "", value->name, (size_t)value->shape.n, value->shape.d, numbers);
        r->d->be->put(r->d->q, mf_walk_at(r->walk, r->network.last.list, (int)v), numbers,
                      mf_shape_bytes(&value->shape));
    }
}

/* -- comparing -- */

/* Norm of the difference by the norm of what is wanted; @p least: of a norm that counts. */
static void compare(const struct run *r, const char *what, const float *got, const float *want, size_t n, double least)
{
    double difference = 0, norm = 0;

    for (size_t i = 0; i < n; ++i) {
        difference += ((double)got[i] - want[i]) * ((double)got[i] - want[i]);
        norm += (double)want[i] * want[i];
    }
    difference = sqrt(difference) / fmax(sqrt(norm), least);
    CHECK_SAYS(difference < 3e-6, "%s, %zu passes: %s differs by %.2g", r->c->arch, r->micro, what, difference);
}

/* Compares all weights: their gradients ("grad.") or themselves ("end."). A gradient of 0 is rounding. */
static void compare_all(struct run *r, const char *prefix)
{
    static float got[MOST], want[MOST];
    const struct mf_net *net = r->network.net;
    const int slopes = strcmp(prefix, "grad.") == 0;

    for (size_t v = 0; v < net->values; ++v) {
        const struct mf_value *value = &net->value[v];
        const int is_part = slopes && mf_value_gradient(value) < 0; /* of the weights of all experts */
        int of = (int)v;

        if (!mf_value_is_weight(value)) continue;
        if (slopes) of = mf_value_gradient(is_part ? &net->value[value->base] : value);
        read_array(r, prefix, value->name, (size_t)value->shape.n, value->shape.d, want);
        r->d->be->get(r->d->q, got,
                      (char *)mf_walk_at(r->walk, r->network.last.list, of) + (is_part ? value->shift : 0),
                      mf_shape_bytes(&value->shape));
        compare(r, value->name, got, want, mf_shape_count(&value->shape), 1e-2);
    }
}

/* -- steps -- */

static void put(const struct run *r, const struct mf_list *list, int value, const void *from, size_t bytes)
{
    r->d->be->put(r->d->q, mf_walk_at(r->walk, list, value), from, bytes);
}

static void feed(struct run *r, const struct mf_list *list, size_t step, size_t micro)
{
    const size_t rows = BATCH / r->micro;
    float x[BATCH * NUMBERS], target[BATCH * 8];
    int32_t label[BATCH];

    for (size_t row = 0; row < rows; ++row) {
        const size_t sample = (step * BATCH + micro * rows + row) % SAMPLES;

        memcpy(x + row * r->numbers, r->x + sample * r->numbers, r->numbers * sizeof *x);
        memcpy(target + row * r->c->outputs, r->target + sample * r->c->outputs, r->c->outputs * sizeof *target);
        label[row] = (int32_t)r->label[sample];
    }
    mf_walk_numbers(r->walk)[MF_NUMBER_SAMPLES] = (double)rows;
    put(r, list, r->network.input[0].value, x, rows * r->numbers * sizeof *x);
    if (r->c->classify)
        put(r, list, r->network.input[1].value, label, rows * sizeof *label);
    else
        put(r, list, r->network.input[1].value, target, rows * r->c->outputs * sizeof *target);
}

static double number_of(const struct run *r, const struct mf_list *list, int value)
{
    double wide = 0;
    float single = 0;
    const int is_wide = r->network.net->value[value].shape.type == MF_F64;

    r->d->be->get(r->d->q, is_wide ? (void *)&wide : &single, mf_walk_at(r->walk, list, value),
                  is_wide ? sizeof wide : sizeof single);
    return is_wide ? wide : single;
}

/* Forward and backward. Returns the loss. */
static double passes(struct run *r, size_t step)
{
    double loss = 0;

    for (size_t m = 0; m < r->micro; ++m) {
        const struct mf_pass_list *pass = m + 1 == r->micro ? &r->network.last
                                          : m == 0          ? &r->network.first
                                                            : &r->network.inner;

        feed(r, pass->list, step, m);
        mf_walk_run(r->walk, pass->list);
        loss += number_of(r, pass->list, pass->loss[0]);
    }
    return loss;
}

static void optimise(struct run *r, size_t step)
{
    const struct mf_schedule schedule = {.kind = MF_SCHEDULE_COSINE, .rate = 0.01, .warmup = 2, .steps = STEPS};
    double *number = mf_walk_numbers(r->walk), square = 0;

    mf_walk_run(r->walk, r->network.reduce);
    for (size_t k = 0; k < r->network.layout.buckets; ++k)
        square += number_of(r, r->network.reduce, r->network.norm[k]);
    number[MF_NUMBER_LEARNING_RATE] = mf_schedule_rate(&schedule, step);
    number[MF_NUMBER_STEP] = (double)step + 1;
    number[MF_NUMBER_SCALE] = fmin(1, 0.5 / sqrt(square));
    number[MF_NUMBER_DECAY] = 0.1;
    mf_walk_run(r->walk, r->network.optimise);
}

static void compare_output(struct run *r)
{
    const size_t n = r->c->outputs;
    float got[BATCH * 8], want[BATCH * 8];

    if (r->micro > 1) return;
    feed(r, r->network.evaluate.list, 0, 0);
    mf_walk_run(r->walk, r->network.evaluate.list);
    r->d->be->get(r->d->q, got, mf_walk_at(r->walk, r->network.evaluate.list, r->network.head[0].output),
                  BATCH * n * sizeof *got);
    read_array(r, "", "logits", 2, (const size_t[]){BATCH, n}, want);
    compare(r, "output", got, want, BATCH * n, 0);
}

static void check(const struct device *d, const struct sample_case *c, size_t micro, enum mf_recompute recompute)
{
    static struct run run;
    char *path = mf_format("%s/%s.safetensors", folder, c->arch);
    float want[STEPS] = {0}, loss[STEPS];

    run = (struct run){.d = d, .c = c, .micro = micro};
    if (mf_safetensors_open(path, &run.file) != MF_OK) abort();
    make_network(&run, recompute);
    read_samples(&run);
    load_weights(&run);
    mf_walk_numbers(run.walk)[MF_NUMBER_ROWS] = BATCH;
    compare_output(&run);
    for (size_t step = 0; step < STEPS; ++step) {
        loss[step] = (float)passes(&run, step);
        if (step == 0) compare_all(&run, "grad.");
        optimise(&run, step);
    }
    read_array(&run, "", "losses", 1, (const size_t[]){STEPS}, want);
    compare(&run, "loss", loss, want, STEPS, 0);
    compare_all(&run, "end.");
    mf_safetensors_close(run.file);
    mf_walk_close(run.walk);
    mf_network_free(&run.network);
    free(path);
}

/* @p argv[1]: the folder of the files */
int main(int argc, char **argv)
{
    struct device d = device_open(1, 1, 0);

    NEEDS(1, "FOLDER");
    folder = argv[1];
    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) {
        check(&d, &cases[k], 1, MF_RECOMPUTE_NONE);
        check(&d, &cases[k], 4, MF_RECOMPUTE_BLOCKS);
    }
    device_close(&d);
    return failures != 0;
}
