/* See mlp.h. */
#include "src/train/mlp.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/text.h"

struct mf_mlp {
    struct mf_mlp_wish wish;
    struct mf_queue *queue;
    struct mf_network network;
    struct mf_walk *walk;
    struct mf_weights weights;
    float *row, *target; /* of a batch */
    size_t steps;        /* since it got its weights */
};

/* -- the network -- */

static int forward(struct mf_build *build, int x, const struct mf_arch_args *args, size_t outputs)
{
    const struct mf_shape all = mf_build_shape(build, x);

    x = mf_build_reshape(build, x, (struct mf_shape){.n = 2, .d = {all.d[0], mf_shape_count(&all) / all.d[0]}});
    for (long i = 0; i <= args->depth; ++i) {
        char *name = mf_format("fc%ld", i + 1), *act = mf_format("act%ld", i + 1);

        x = mf_build_linear(build, name, x, i < args->depth ? (size_t)args->width : outputs);
        if (i < args->depth) x = mf_build_one(build, MF_OP_RELU, act, x);
        free(name);
        free(act);
    }
    return x;
}

static const struct mf_arch layers = {.name = "layers", .forward = forward};

/* -- what it learns -- */

static size_t reals(const struct mf_task *task, const size_t dims[4], size_t batch, const struct mf_arch *arch,
                    const struct mf_arch_args *args, struct mf_learn_input input[])
{
    (void)arch, (void)args;
    input[0] = mf_learn_samples(dims, batch);
    input[1] = mf_learn_reals("target", batch, task->head[0].outputs);
    return 2;
}

static size_t labels(const struct mf_task *task, const size_t dims[4], size_t batch, const struct mf_arch *arch,
                     const struct mf_arch_args *args, struct mf_learn_input input[])
{
    (void)task, (void)arch, (void)args;
    input[0] = mf_learn_samples(dims, batch);
    input[1] = mf_learn_labels("target", batch, 1);
    return 2;
}

static int squared(const struct mf_task *task, const struct mf_learn_loss *of)
{
    (void)task;
    return mf_learn_squared(of, of->input[1]);
}

static int softmax(const struct mf_task *task, const struct mf_learn_loss *of)
{
    return mf_learn_softmax(of, task->head[0].outputs, of->input[1], 0);
}

static const struct mf_learn learns[] = {{.inputs = reals, .loss = squared}, {.inputs = labels, .loss = softmax}};

struct mf_mlp_wish mf_mlp_expert(const struct mf_network *n, size_t batch)
{
    const struct mf_value *value = n->net->value;
    const struct mf_routing *r = &n->routing;

    return (struct mf_mlp_wish){.batch = batch,
                                .columns = mf_shape_last(&value[r->given].shape),
                                .width = mf_shape_last(&value[r->inner].shape),
                                .depth = r->layers - 1,
                                .outputs = mf_shape_last(&value[r->outputs].shape)};
}

struct mf_network_wish mf_mlp_network(const struct mf_mlp_wish *w)
{
    enum { BUCKET = 1 << 20 };

    return (struct mf_network_wish){
        .arch = &layers,
        .args = {.width = (long)w->width, .depth = (long)w->depth},
        .task = mf_task_plain(&learns[w->labelled != 0], w->outputs),
        .dims = {1, 1, 1, w->columns},
        .batch = w->batch,
        .micro = 1,
        .ranks = 1,
        .compile = MF_COMPILE_FUSE,
        .optimiser = MF_OP_ADAM,
        .moments = {.momentum = 0.9, .second = 0.999, .epsilon = 1e-6}, /* above rounding: what is known stays */
        .bucket = BUCKET};
}

int mf_mlp_open(const struct mf_mlp_wish *wish, struct mf_queue *queue, struct mf_mlp **mlp)
{
    const struct mf_network_wish network = mf_mlp_network(wish);
    struct mf_mlp *l = MF_MUST(calloc(1, sizeof *l), "a small network");
    double *number;

    *mlp = l;
    l->wish = *wish;
    l->queue = queue;
    MF_TRY(mf_network_make(&network, queue, &l->network));
    MF_TRY(mf_walk_open(&l->walk, l->network.net, queue, MF_WALK_PLANNED, NULL));
    l->weights = mf_network_weights(&l->network, l->walk, NULL);
    l->row = MF_MUST(calloc(wish->batch * wish->columns, sizeof *l->row), "rows of a batch");
    l->target = MF_MUST(calloc(wish->batch * wish->outputs, sizeof *l->target), "targets of a batch");
    number = mf_walk_numbers(l->walk);
    number[MF_NUMBER_LOSS_SCALE] = number[MF_NUMBER_SCALE] = 1;
    return MF_OK;
}

void mf_mlp_close(struct mf_mlp *l)
{
    if (!l) return;
    mf_walk_close(l->walk);
    mf_network_free(&l->network);
    free(l->row);
    free(l->target);
    free(l);
}

/* -- weights -- */

/* Number @p k of them, by its name. */
static int weight_of(const struct mf_mlp *l, size_t k)
{
    char *name = mf_format("fc%zu.%s", k / 2 + 1, k % 2 ? "bias" : "weight");
    const int v = mf_value_find(l->network.net, name);

    free(name);
    MF_ASSERT(v >= 0);
    return v;
}

void mf_mlp_put(struct mf_mlp *l, float *const *weight)
{
    for (size_t k = 0; k < 2 * (l->wish.depth + 1); ++k) {
        const int v = weight_of(l, k);
        float *zeros = MF_MUST(calloc(mf_shape_count(&l->network.net->value[v].shape), sizeof *zeros), "moments");

        mf_weights_put(&l->weights, v, MF_STATE_WEIGHT, weight[k]);
        mf_weights_put(&l->weights, v, MF_STATE_FIRST, zeros);
        mf_weights_put(&l->weights, v, MF_STATE_SECOND, zeros);
        free(zeros);
    }
    mf_weights_masters(&l->weights, 0);
    l->steps = 0;
}

void mf_mlp_get(const struct mf_mlp *l, float *const *weight)
{
    for (size_t k = 0; k < 2 * (l->wish.depth + 1); ++k)
        mf_weights_take(&l->weights, weight_of(l, k), MF_STATE_WEIGHT, weight[k]);
}

/* -- steps -- */

/* Rows behind the last one do not count. */
static void give(struct mf_mlp *l, const struct mf_network_input *input, size_t n, const void *const *row, float *room)
{
    const size_t bytes = mf_shape_bytes(&input->of.shape), each = bytes / l->wish.batch;

    for (size_t r = 0; r < n; ++r) memcpy((char *)room + r * each, row[r], each);
    for (size_t i = n * each / sizeof *room; i < bytes / sizeof *room; ++i)
        memcpy(&room[i], &input->of.blank, sizeof input->of.blank);
    mf_place_put(l->queue, MF_PLACE_DEVICE, mf_walk_at(l->walk, l->network.last.list, input->value), room, bytes);
}

double mf_mlp_step(struct mf_mlp *l, size_t n, const float *const *row, const void *const *target, double rate)
{
    const struct mf_pass_list *last = &l->network.last;
    double *number = mf_walk_numbers(l->walk);
    float loss;

    give(l, &l->network.input[0], n, (const void *const *)row, l->row);
    give(l, &l->network.input[1], n, target, l->target);
    number[MF_NUMBER_SAMPLES] = number[MF_NUMBER_ROWS] = (double)n;
    number[MF_NUMBER_STEP] = (double)++l->steps;
    number[MF_NUMBER_LEARNING_RATE] = rate;
    mf_walk_run(l->walk, last->list);
    mf_place_get(l->queue, MF_PLACE_DEVICE, &loss, mf_walk_at(l->walk, last->list, last->loss[0]), sizeof loss);
    mf_walk_run(l->walk, l->network.reduce);
    mf_walk_run(l->walk, l->network.optimise);
    l->queue->backend->sync(l->queue);
    return (double)loss;
}
