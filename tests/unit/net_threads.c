/* Operations of networks that are large enough for several threads. The bits are the same on one to four threads,
 * whatever the sizes. The oracles of net_ops.c are too small for that. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "src/base/half.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/device.h"
#include "tests/unit/net_ops.h"

enum { MOST = 1 << 16, THREADS = 4 };

double net_number[MF_NUMBERS] = {
    [MF_NUMBER_LEARNING_RATE] = 0.01, [MF_NUMBER_STEP] = 3,   [MF_NUMBER_SEED] = 5, [MF_NUMBER_ROWS] = 7,
    [MF_NUMBER_SCALE] = 0.7,          [MF_NUMBER_DECAY] = 0.1};

/* Everything that a call wrote. */
struct result {
    float in[MF_INS][MOST], out[MF_OUTS][MOST], din[MF_INS][MOST];
};

/* An array of @p shape in @p tensor: random numbers of a stream. All are positive where a root is taken of them. */
static void put(const struct device *d, const struct mf_shape *shape, unsigned stream, int positive,
                struct mf_tensor *tensor)
{
    static union {
        float real[MOST];
        uint16_t half[MOST];
        int32_t whole[MOST];
    } x;

    if (shape->n == 0) return;
    CHECK(mf_shape_count(shape) <= MOST);
    for (size_t i = 0; i < mf_shape_count(shape); ++i) {
        const double r = mf_random_normal(1, stream, i);

        if (shape->type == MF_I32)
            x.whole[i] = (int32_t)(i % 5) - 1;
        else if (shape->type == MF_BF16)
            x.half[i] = mf_bf16_of((float)r);
        else
            x.real[i] = (float)(positive ? r * r : r);
    }
    *tensor = (struct mf_tensor){device_put(d, &x, mf_shape_bytes(shape)), *shape};
}

static void take(const struct device *d, const struct mf_tensor *tensor, float *to)
{
    if (tensor->at) device_get(d, to, tensor->at, mf_shape_bytes(&tensor->shape));
}

static void carry_out(const struct device *d, enum mf_op_id op, struct mf_call *call, int back)
{
    const struct mf_op_calls *calls = d->be->net->calls[op];
    size_t work = 0;

    call->plan = NULL;
    if (calls->plan) CHECK(calls->plan(d->q, call, back, &call->plan, &work) == MF_OK);
    call->work = device_put(d, NULL, work);
    (back ? calls->backward : calls->forward)(d->q, call);
    device_get(d, NULL, call->work, 0);
    if (call->plan) calls->release(call->plan);
}

/* With all inputs that may have 16 bits of bf16, if @p half. */
static struct net_case typed(const struct net_case *test, int half)
{
    struct net_case made = *test;

    for (int j = 0; half && j < MF_INS; ++j)
        if (made.in[j].type == MF_F32 && !(mf_ops[test->op]->f32 >> j & 1)) made.in[j].type = MF_BF16;
    return made;
}

/* Forward; then backward of all wanted gradients, which are added to if they can be. */
static void run(const struct device *d, const struct net_case *test, struct result *result)
{
    const struct mf_op *op = mf_ops[test->op];
    struct mf_call call = {.attr = &test->attr, .number = net_number};
    struct mf_shape out[MF_OUTS] = {0};

    memset(result, 0, sizeof *result);
    CHECK(op->shape(&test->attr, test->in, out) == MF_OK);
    for (unsigned j = 0; j < MF_INS; ++j) put(d, &test->in[j], 90 + j, !test->wanted && j == 3, &call.in[j]);
    for (unsigned j = 0; j < MF_OUTS; ++j) put(d, &out[j], 80 + j, 0, &call.out[j]);
    carry_out(d, test->op, &call, 0);
    if (test->wanted) {
        call.add = op->adds & test->wanted;
        for (unsigned j = 0; j < MF_INS; ++j)
            if (test->wanted >> j & 1) {
                struct mf_shape shape = test->in[j];

                if (op->shared >> j & 1) shape.type = MF_F32;
                put(d, &shape, 70 + j, 0, &call.din[j]);
            }
        put(d, &out[0], 60, 0, &call.dout);
        carry_out(d, test->op, &call, 1);
        take(d, &call.dout, NULL);
    }
    for (int j = 0; j < MF_INS; ++j) {
        take(d, &call.in[j], result->in[j]);
        take(d, &call.din[j], result->din[j]);
    }
    for (int j = 0; j < MF_OUTS; ++j) take(d, &call.out[j], result->out[j]);
}

static void check_test(const struct device *d, const struct net_case *test)
{
    static struct result one, other;

    d->q->threads = 1;
    run(d, test, &one);
    for (int threads = 2; threads <= THREADS; ++threads) {
        d->q->threads = threads;
        run(d, test, &other);
        CHECK_SAYS(memcmp(&one, &other, sizeof one) == 0, "%s of %zu numbers (%s): other bits on %d threads",
                   mf_ops[test->op]->name, mf_shape_count(&test->in[0]), mf_type_name(test->in[0].type), threads);
    }
}

/* Pointwise operations and optimisers of arrays of @p n numbers: threads cut them anywhere. */
static void check_points(const struct device *d, size_t n)
{
    const struct net_case cases[] = {
        {MF_OP_ADAMW,
         NULL,
         {.momentum = 0.9, .second = 0.999, .epsilon = 1e-8},
         0,
         .in = {F(1, n), F(1, n), F(1, n), F(1, n)}},
        {MF_OP_ADAM,
         NULL,
         {.momentum = 0.9, .second = 0.999, .epsilon = 1e-8},
         0,
         .in = {F(1, n), F(1, n), F(1, n), F(1, n)}},
        {MF_OP_SGD, NULL, {.momentum = 0.9}, 0, .in = {F(1, n), F(1, n), F(1, n)}},
        {MF_OP_SGD, NULL, {0}, 0, .in = {F(1, n), F(1, n)}},
        {MF_OP_ACCUMULATE, NULL, {0}, 0, .in = {F(1, n), F(1, n)}},
        {MF_OP_AVERAGE, NULL, {.momentum = 0.98}, 0, .in = {F(1, n), F(1, n)}},
        {MF_OP_RELU, NULL, {0}, 1, .in = {F(2, 1, n)}},
        {MF_OP_SILU, NULL, {0}, 1, .in = {F(2, 1, n)}},
        {MF_OP_GELU, NULL, {0}, 1, .in = {F(2, 1, n)}},
        {MF_OP_GELU_TANH, NULL, {0}, 1, .in = {F(2, 1, n)}},
        {MF_OP_ADD, NULL, {0}, 3, .in = {F(2, 1, n), F(1, n)}},
        {MF_OP_MUL, NULL, {0}, 3, .in = {F(2, 1, n), F(1, n)}},
        {MF_OP_BLEND, NULL, {0}, 3, .in = {F(2, 1, n), F(2, 1, n), F(1, 1), F(1, 1)}},
        {MF_OP_SQUARED_LOSS, NULL, {0}, 3, .in = {F(2, 1, n), F(2, 1, n)}},
    };

    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k) check_test(d, &cases[k]);
}

/* Operations of rows: threads cut between them. */
static const struct net_case rows[] = {
    {MF_OP_LINEAR, NULL, {.act = MF_ACT_RELU}, 7, .in = {F(2, 601, 17), F(2, 59, 17), F(1, 59)}},
    {MF_OP_LINEAR, NULL, {.act = MF_ACT_SILU}, 7, .in = {F(2, 601, 17), F(2, 59, 17), F(1, 59)}},
    {MF_OP_LINEAR, NULL, {.act = MF_ACT_GELU}, 7, .in = {F(2, 601, 17), F(2, 59, 17), F(1, 59)}},
    {MF_OP_LINEAR, NULL, {.act = MF_ACT_GELU_TANH}, 7, .in = {F(2, 601, 17), F(2, 59, 17), F(1, 59)}},
    {MF_OP_LINEAR, NULL, {.act = MF_ACT_GELU}, 7, .in = {F(2, 80, 17), F(2, 700, 17), F(1, 700)}},
    {MF_OP_LINEAR, NULL, {0}, 7, .in = {F(2, 620, 33), F(2, 80, 33), F(1, 80)}},
    {MF_OP_CONV2D, NULL, {.stride = 1, .pad = 1}, 7, .in = {F(4, 24, 11, 13, 16), F(4, 18, 16, 3, 3), F(1, 18)}},
    {MF_OP_CONV2D, NULL, {.stride = 1, .pad = 1}, 7, .in = {F(4, 24, 11, 13, 16), F(4, 16, 16, 3, 3), F(1, 16)}},
    {MF_OP_CONV2D,
     NULL,
     {.stride = 1, .pad = 1, .act = MF_ACT_SILU},
     7,
     .in = {F(4, 24, 19, 13, 5), F(4, 7, 5, 3, 3), F(1, 7)}},
    {MF_OP_CONV2D, NULL, {.stride = 2, .pad = 0}, 7, .in = {F(4, 31, 19, 13, 5), F(4, 9, 5, 3, 3), F(1, 9)}},
    {MF_OP_CONV_DEPTHWISE, NULL, {.stride = 1, .pad = 3}, 7, .in = {F(4, 35, 9, 11, 18), F(4, 18, 1, 7, 7), F(1, 18)}},
    {MF_OP_CONV_DEPTHWISE, NULL, {.stride = 1, .pad = 1}, 7, .in = {F(4, 2, 19, 21, 72), F(4, 72, 1, 3, 3), F(1, 72)}},
    {MF_OP_GROUP_NORM, NULL, {.groups = 3, .act = MF_ACT_SILU}, 7, .in = {F(4, 11, 19, 13, 15), F(1, 15), F(1, 15)}},
    {MF_OP_LAYER_NORM, NULL, {0}, 7, .in = {F(2, 601, 71), F(1, 71), F(1, 71)}},
    {MF_OP_RMS_NORM, NULL, {.epsilon = 1e-6}, 3, .in = {F(2, 601, 71), F(1, 71)}},
    {MF_OP_ADD, NULL, {0}, 3, .in = {F(3, 23, 41, 37), F(2, 41, 37)}},
    {MF_OP_MUL, NULL, {0}, 3, .in = {F(3, 23, 41, 37), F(2, 41, 37)}},
    {MF_OP_MUL, NULL, {0}, 3, .in = {F(2, 601, 71), F(1, 71)}},
    {MF_OP_SOFTMAX, NULL, {0}, 1, .in = {F(2, 601, 71)}},
    {MF_OP_SQUARED_LOSS, NULL, {0}, 3, .in = {F(2, 91, 601), F(2, 91, 601), F(1, 91)}},
    {MF_OP_MATCH_LOSS, NULL, {0}, 1, .in = {F(2, 91, 601), F(2, 91, 601), F(2, 91, 601)}},
    {MF_OP_LOGISTIC_LOSS, NULL, {0}, 1, .in = {F(2, 91, 601), F(2, 91, 601)}},
    {MF_OP_SOFTMAX_LOSS, NULL, {.smoothing = 0.1}, 1, .in = {F(2, 4001, 9), {MF_I32, 1, {4001}}}},
    {MF_OP_GROUP_NORM,
     NULL,
     {.groups = 3, .act = MF_ACT_SILU},
     15,
     .in = {F(4, 11, 19, 13, 15), F(1, 15), F(1, 15), F(2, 11, 30)}},
    {MF_OP_MODULATE, NULL, {0}, 3, .in = {F(4, 11, 19, 13, 15), F(2, 11, 30)}},
    {MF_OP_POOL, NULL, {0}, 1, .in = {F(4, 11, 19, 13, 15)}},
    {MF_OP_UPSAMPLE, NULL, {0}, 1, .in = {F(4, 5, 17, 13, 13)}},
    {MF_OP_WRAP, NULL, {.pad = 1}, 1, .in = {F(4, 11, 17, 13, 15)}},
    {MF_OP_MEAN, NULL, {0}, 1, .in = {F(4, 11, 19, 13, 15)}},
    {MF_OP_ATTENTION, NULL, {.heads = 3}, 1, .in = {F(3, 11, 61, 63)}},
    {MF_OP_ATTENTION, NULL, {.heads = 4, .kv_heads = 2, .causal = 1}, 3, .in = {F(3, 11, 61, 28), F(3, 11, 61, 28)}},
    {MF_OP_MATMUL, NULL, {0}, 3, .in = {F(3, 11, 61, 37), F(3, 11, 37, 53)}},
    {MF_OP_TRANSPOSE, NULL, {.axis = 0, .other = 1}, 1, .in = {F(3, 61, 37, 17)}},
    {MF_OP_NORMAL, NULL, {.numbers = 7001}, 0, .in = {F(1, 9)}},
    {MF_OP_QUANTISE, NULL, {.levels = 256}, 0, .in = {F(2, 601, 71)}},
    {MF_OP_QUANTISE, NULL, {0}, 0, .in = {F(3, 61, 71, 2)}},
    {MF_OP_ROPE, NULL, {.heads = 3}, 1, .in = {F(2, 601, 72), {MF_I32, 1, {601}}, F(1, 12)}},
    {MF_OP_GATED, NULL, {0}, 1, .in = {F(2, 601, 72)}},
    {MF_OP_PICK, NULL, {0}, 0, .in = {F(2, 40, 1007), F(2, 40, 4), {MF_I32, 2, {40, 5}}}},
    {MF_OP_GATHER, NULL, {0}, 1, .in = {F(2, 4, 1071), {MF_I32, 1, {40}}}},
    {MF_OP_DROPOUT, NULL, {.probability = 0.25, .stream = 3}, 1, .in = {F(2, 601, 71)}},
};

int main(void)
{
    static const size_t sizes[] = {MF_CPU_SERIAL + 1, 33007, 52139};
    struct device d = device_open(1, 1, 0);

    for (size_t k = 0; k < sizeof sizes / sizeof *sizes; ++k) check_points(&d, sizes[k]);
    for (size_t k = 0; k < sizeof rows / sizeof *rows; ++k)
        for (int half = 0; half < 2; ++half) {
            const struct net_case test = typed(&rows[k], half);

            check_test(&d, &test);
        }
    device_close(&d);
    return failures != 0;
}
