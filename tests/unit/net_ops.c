/* Every operation of networks: forward against plain loops in double, gradients against finite differences of those,
 * written and added to. The bits are the same on one thread and three. Arguments are operations that the back end
 * lacks. The emulated device has floats in one order of threads, and halves in the others. A long run has all. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/net/half.h"
#include "kernels/form/route.h"
#include "src/base/err.h"
#include "src/base/half.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/unit/net_call.h"
#include "tests/unit/net_ops.h"

enum { NUMBERS = 4096, MANY = 2048, SMALL = 64 };

double net_number[MF_NUMBERS] = {[MF_NUMBER_STEP] = 3,    [MF_NUMBER_SEED] = 5, [MF_NUMBER_SAMPLE] = 40,
                                 [MF_NUMBER_SAMPLES] = 5, [MF_NUMBER_ROWS] = 7, [MF_NUMBER_SCALE] = 1};

/* Type of activations and weights; how far values and gradients may be off. */
static enum mf_type type = MF_F32;
static double tolerance = 2e-6, slack = 1e-5;

/* A number as @p to can have it. */
static double rounded(double x, enum mf_type to)
{
    if (to == MF_BF16) return (double)mf_bf16_to(mf_bf16_of((float)x));
    return to == MF_F16 ? (double)mf_f16_to(mf_f16_of((float)x)) : (double)(float)x;
}

/* Inputs, weights of the outputs in the sum whose gradients are compared, and what the kernels gave. */
struct trial {
    const struct net_case *test;
    struct mf_shape from[MF_INS], out[MF_OUTS]; /* as the case has them, in the types of this trial */
    double *in[MF_INS], weight[NUMBERS];
    float value[MF_OUTS][NUMBERS], gradient[MF_INS][NUMBERS];
};

/* The sum that is differentiated. */
static double total(const struct trial *t)
{
    static double out[NUMBERS];
    double sum = 0;

    t->test->oracle(&t->test->attr, t->test->in, t->in, out);
    for (size_t i = 0; i < mf_shape_count(&t->out[0]); ++i) sum += isnan(out[i]) ? 0 : out[i] * t->weight[i];
    return sum;
}

static void set_weights(struct trial *t, uint64_t seed)
{
    static double out[NUMBERS];

    t->test->oracle(&t->test->attr, t->test->in, t->in, out);
    for (size_t i = 0; i < mf_shape_count(&t->out[0]); ++i)
        t->weight[i] = isnan(out[i]) ? NAN : rounded(mf_random_normal(seed, 99, i), t->out[0].type);
}

static void make(struct trial *t, const struct net_case *test, uint64_t seed)
{
    const struct mf_op *op = mf_ops[test->op];

    *t = (struct trial){.test = test};
    for (int j = 0; j < MF_INS; ++j) {
        t->from[j] = test->in[j];
        if (t->from[j].type == MF_F32 && !(op->f32 >> j & 1)) t->from[j].type = type;
    }
    CHECK(op->shape(&test->attr, t->from, t->out) == MF_OK);
    for (int j = 0; j < MF_OUTS; ++j)
        if (mf_shape_count(&t->out[j]) > NUMBERS) abort();
    for (int j = 0; j < MF_INS; ++j) {
        const size_t n = mf_shape_count(&test->in[j]);

        if (n > NUMBERS) abort();
        if (!test->in[j].n) continue;
        t->in[j] = malloc(n * sizeof(double));
        for (size_t i = 0; i < n; ++i) {
            t->in[j][i] = rounded(mf_random_normal(seed, 90 + (unsigned)j, i), t->from[j].type);
            if (test->in[j].type == MF_I32) t->in[j][i] = (double)(i % 5) - (i % 3 == 0); /* -1: does not count */
            if (test->in[j].type == MF_U8) t->in[j][i] = i % 4 != 1 && i / mf_shape_last(&test->in[j]) != 1;
        }
    }
    if (test->fill) test->fill(&test->attr, test->in, t->in);
    set_weights(t, seed);
}

/* Bytes by which all tensors stand behind an aligned place: views may begin anywhere. */
static size_t shift;

static void *lay(const struct device *d, const void *from, size_t bytes)
{
    char *at = (char *)device_put(d, NULL, bytes + shift) + shift;

    if (from) d->be->put(d->q, at, from, bytes);
    return at;
}

/* @p to: floats, or NULL. */
static void take_back(const struct device *d, float *to, void *at, const struct mf_shape *shape)
{
    static union {
        float real[NUMBERS];
        uint16_t half[NUMBERS];
        int32_t whole[NUMBERS];
        unsigned char byte[NUMBERS];
    } from;

    if (to) d->be->get(d->q, &from, at, mf_shape_bytes(shape));
    for (size_t i = 0; to && i < mf_shape_count(shape); ++i)
        to[i] = shape->type == MF_I32    ? (float)from.whole[i]
                : shape->type == MF_U8   ? (float)from.byte[i]
                : shape->type == MF_I8   ? (float)(int8_t)from.byte[i]
                : shape->type == MF_BF16 ? mf_bf16_to(from.half[i])
                : shape->type == MF_F16  ? mf_f16_to(from.half[i])
                                         : from.real[i];
    mf_arena_give(d->arena, (char *)at - shift);
}

static void *put(const struct device *d, const double *from, const struct mf_shape *shape)
{
    static float real[NUMBERS];
    static uint16_t half[NUMBERS];
    static int32_t whole[NUMBERS];
    static unsigned char byte[NUMBERS];
    const void *const typed[MF_TYPES] = {
        [MF_F32] = real, [MF_F16] = half, [MF_BF16] = half, [MF_I32] = whole, [MF_U8] = byte, [MF_I8] = byte};

    for (size_t i = 0; i < mf_shape_count(shape); ++i) {
        real[i] = (float)from[i];
        half[i] = shape->type == MF_BF16 ? mf_bf16_of(real[i]) : mf_f16_of(real[i]);
        whole[i] = (int32_t)from[i];
        byte[i] = (unsigned char)whole[i];
    }
    return lay(d, typed[shape->type], mf_shape_bytes(shape));
}

/* Memory for an output, which holds NaN. */
static void *put_nan(const struct device *d, const struct mf_shape *shape)
{
    static double nan[NUMBERS];

    if (shape->type == MF_I32 || shape->type == MF_U8) return lay(d, NULL, mf_shape_bytes(shape));
    for (size_t i = 0; i < NUMBERS; ++i) nan[i] = NAN;
    return put(d, nan, shape);
}

/* The gradient of a weight is f32; others have the type of their input. */
static struct mf_shape gradient_shape(const struct trial *t, int j)
{
    struct mf_shape shape = t->from[j];

    if (mf_ops[t->test->op]->shared >> j & 1) shape.type = MF_F32;
    return shape;
}

/* Forward, then backward of the wanted gradients, in separate memory. Gradients hold @p before; NaN: they are written,
 * else added to. */
static void run(struct trial *t, const struct device *d, int own, float before)
{
    const struct mf_op *op = mf_ops[t->test->op];
    struct mf_call call = {.attr = &t->test->attr, .number = device_numbers(d, net_number)}, back;
    unsigned in = 0, out = 0;
    static double fill[NUMBERS];

    for (int j = 0; j < MF_INS; ++j)
        if (t->in[j]) call.in[j] = (struct mf_tensor){put(d, t->in[j], &t->from[j]), t->from[j]};
    for (int j = 0; j < MF_OUTS; ++j)
        if (t->out[j].n) call.out[j] = (struct mf_tensor){put_nan(d, &t->out[j]), t->out[j]};
    carry_out(d, t->test->op, &call, 0);
    back = call;
    if (op->reads) op->reads(call.attr, t->test->wanted, &in, &out);
    for (int j = 0; j < MF_INS; ++j) { /* it gets what it says that it reads */
        if (!(in >> j & 1)) back.in[j] = (struct mf_tensor){0};
        if (!(t->test->wanted >> j & 1)) continue;
        for (size_t i = 0; i < NUMBERS; ++i) fill[i] = (double)before;
        back.din[j].shape = gradient_shape(t, j);
        back.din[j].at = put(d, fill, &back.din[j].shape);
        if (!isnan(before)) back.add |= 1U << j;
    }
    for (int j = 0; j < MF_OUTS; ++j)
        if (!(out >> j & 1)) back.out[j] = (struct mf_tensor){0};
    back.dout = (struct mf_tensor){put(d, t->weight, &t->out[0]), t->out[0]};
    back.own = own && op->consumes;
    if (t->test->wanted) carry_out(d, t->test->op, &back, 1);
    take_back(d, NULL, back.dout.at, &t->out[0]);
    for (int j = 0; j < MF_OUTS; ++j)
        if (call.out[j].at) take_back(d, t->value[j], call.out[j].at, &t->out[j]);
    for (int j = 0; j < MF_INS; ++j) {
        const int changed = op->modifies >> j & 1;

        if (back.din[j].at) take_back(d, t->gradient[j], back.din[j].at, &back.din[j].shape);
        if (call.in[j].at) take_back(d, changed ? t->value[0] : NULL, call.in[j].at, &t->from[j]);
    }
}

static int is_near(double value, double want, double tolerated)
{
    return isnan(want) ? isnan(value) : fabs(value - want) <= tolerated * (1 + fabs(want));
}

/* Numbers of out[0], or of the input that the operation changes instead. */
static size_t written(const struct trial *t)
{
    size_t n = mf_shape_count(&t->out[0]);

    for (int j = 0; j < MF_INS; ++j)
        if (mf_ops[t->test->op]->modifies >> j & 1) n = mf_shape_count(&t->from[j]);
    return n;
}

static void check_value(const struct trial *t, const char *name)
{
    static double want[NUMBERS];

    t->test->oracle(&t->test->attr, t->test->in, t->in, want);
    for (size_t i = 0; i < written(t); ++i)
        if (!is_near(t->value[0][i], want[i], tolerance))
            CHECK_SAYS(0, "%s: value %zu is %g, want %g", name, i, t->value[0][i], want[i]);
    if (!t->test->second) return;
    t->test->second(&t->test->attr, t->test->in, t->in, want);
    for (size_t i = 0; i < mf_shape_count(&t->out[1]); ++i)
        CHECK_SAYS(t->value[1][i] == want[i], "%s: number %zu is %g, want %g", name, i, t->value[1][i], want[i]);
}

/* Large gradients are compared in some numbers; halves, and all under sanitizers, in all but small ones. */
static size_t stride_of(size_t n)
{
    if (n > MANY) return 29;
    return type == MF_F32 && (!SANITIZED || n < SMALL) ? 1 : 7;
}

/* Computes the gradients by differences, which are exact to 1e-8. */
static void differentiate(const struct trial *t, double want[MF_INS][NUMBERS])
{
    for (int j = 0; j < MF_INS; ++j) {
        const size_t n = mf_shape_count(&t->test->in[j]);

        for (size_t i = 0; t->test->wanted >> j & 1 && i < n; i += stride_of(n)) {
            const double x = t->in[j][i], h = 1e-5;
            double up;

            want[j][i] = NAN; /* nobody reads it */
            if (isnan(x)) continue;
            t->in[j][i] = x + h;
            up = total(t);
            t->in[j][i] = x - h;
            want[j][i] = (up - total(t)) / (2 * h);
            t->in[j][i] = x;
        }
    }
}

/* The norm of the error is compared with that of the gradient. */
static void check_gradient(const struct trial *t, double want[MF_INS][NUMBERS], const char *name, double before)
{
    for (int j = 0; j < MF_INS; ++j) {
        const size_t n = mf_shape_count(&t->test->in[j]);
        double error = 0, norm = 0;

        if (!(t->test->wanted >> j & 1)) continue;
        for (size_t i = 0; i < n; i += stride_of(n)) {
            const double off = t->gradient[j][i] - before - want[j][i];

            if (isnan(want[j][i])) {
                CHECK_SAYS(before > 0 ? t->gradient[j][i] == before : isnan(t->gradient[j][i]),
                           "%s: gradient %d is written at %zu, which nobody reads", name, j, i);
                continue;
            }
            norm += want[j][i] * want[j][i];
            error += off * off;
        }
        if (gradient_shape(t, j).type != MF_F32) norm += before * before * (double)n; /* the sum is rounded */
        CHECK_SAYS(sqrt(error) <= slack * (sqrt(norm) + 0.1), "%s: gradient %d is off by %.2g of %.2g", name, j,
                   sqrt(error), sqrt(norm));
    }
}

static void free_trial(struct trial *t)
{
    for (int j = 0; j < MF_INS; ++j) free(t->in[j]);
}

static void check_test(const struct net_case *test, const struct device *d)
{
    static struct trial one, other;
    static double want[MF_INS][NUMBERS];
    const struct mf_op *op = mf_ops[test->op];

    make(&one, test, 14); /* of this one no sum rounds to the other side of relu */
    differentiate(&one, want);
    for (int own = 1; own >= 0; --own) {
        shift = own ? sizeof(float) : 0;
        run(&one, d, own, NAN);
        check_value(&one, op->name);
        check_gradient(&one, want, op->name, 0);
    }
    if (!d->be->devices) {
        other = one;
        d->q->threads = 3;
        run(&other, d, 0, NAN);
        d->q->threads = 1;
        CHECK(memcmp(one.value, other.value, sizeof one.value) == 0);
        CHECK(memcmp(one.gradient, other.gradient, sizeof one.gradient) == 0);
    }
    if ((op->adds & test->wanted) == test->wanted) {
        run(&one, d, 0, 2);
        check_gradient(&one, want, op->name, 2);
    }
    free_trial(&one);
}

/* Numbers of an operation normal: moments of a standard normal one, and the same bits in every batch. */
static void check_normal(const struct device *d)
{
    enum { EACH = 4001, SAMPLES = 5 };
    static float all[SAMPLES * EACH], one[EACH];
    const struct mf_attr attr = {.numbers = EACH};
    double sum[5] = {0};

    for (int s = -1; s < SAMPLES; ++s) { /* all, then one by one */
        double number[MF_NUMBERS] = {[MF_NUMBER_SEED] = 1, [MF_NUMBER_SAMPLE] = s < 0 ? 0 : s};
        struct mf_call call = {.attr = &attr, .number = device_numbers(d, number)};

        call.in[0].shape = (struct mf_shape){.type = MF_I32, .n = 1, .d = {s < 0 ? SAMPLES : 1}};
        CHECK(mf_ops[MF_OP_NORMAL]->shape(&attr, &call.in[0].shape, &call.out[0].shape) == MF_OK);
        call.out[0].at = device_put(d, NULL, sizeof all);
        carry_out(d, MF_OP_NORMAL, &call, 0);
        device_get(d, s < 0 ? all : one, call.out[0].at, s < 0 ? sizeof all : sizeof one);
        CHECK_SAYS(s < 0 || memcmp(one, all + s * EACH, sizeof one) == 0, "sample %d is another one alone", s);
    }
    for (size_t i = 0; i < SAMPLES * EACH; ++i)
        for (int k = 1; k <= 4; ++k) sum[k] += pow(all[i], k) / (SAMPLES * EACH);
    CHECK(fabs(sum[1]) < 0.02 && fabs(sum[2] - 1) < 0.03 && fabs(sum[3]) < 0.06 && fabs(sum[4] - 3) < 0.2);
}

/* A row of one sample and the first row of the next one differ in their noise. */
static void check_noise(void)
{
    const struct mf_attr attr = {.deviation = 1, .sample_rows = 1 << 18};
    const struct mf_noise noise = mf_noise_of(&attr, net_number);
    float next[4], four[4];

    mf_noise_four(&noise, 1, mf_noise_index(&attr, 0, 0) / 4, next);
    for (size_t row = attr.sample_rows; row /= 2;) {
        mf_noise_four(&noise, 0, mf_noise_index(&attr, row, 0) / 4, four);
        CHECK_SAYS(memcmp(four, next, sizeof four) != 0, "row %zu has the noise of another sample", row);
    }
}

static void check_refusal(const struct net_case *bad)
{
    struct mf_shape out[MF_OUTS];

    CHECK_SAYS(mf_ops[bad->op]->shape(&bad->attr, bad->in, out) == MF_USAGE, "bad shapes of %s pass: %zu x %zu, %zu",
               mf_ops[bad->op]->name, bad->in[0].d[0], bad->in[0].d[1], bad->attr.count);
}

/* Shapes that do not fit. */
static void check_refusals(void)
{
    static const struct net_case bad[] = {
        {MF_OP_ADD, NULL, {0}, 0, .in = {F(2, 5, 6), F(2, 6, 5)}},
        {MF_OP_MUL, NULL, {0}, 0, .in = {F(1, 6), F(2, 5, 6)}},
        {MF_OP_GROUP_NORM, NULL, {.groups = 2}, 0, .in = {F(3, 2, 5, 6), F(1, 6), F(1, 6), F(2, 3, 12)}},
        {MF_OP_CONV2D, NULL, {.stride = 1, .pad = 1}, 0, .in = {F(4, 2, 5, 6, 4), F(4, 4, 2, 3, 3)}},
        {MF_OP_CONV_DEPTHWISE, NULL, {.stride = 1, .pad = 1}, 0, .in = {F(4, 2, 5, 6, 4), F(4, 4, 2, 3, 3)}},
        {MF_OP_CONV_DEPTHWISE, NULL, {.stride = 1, .pad = 1}, 0, .in = {F(4, 2, 5, 6, 4), F(4, 8, 1, 3, 3)}},
        {MF_OP_CONV_DEPTHWISE, NULL, {.stride = 2, .pad = 1}, 0, .in = {F(4, 2, 5, 6, 4), F(4, 4, 1, 3, 3)}},
        {MF_OP_CONV_DEPTHWISE, NULL, {.stride = 1, .pad = 3}, 0, .in = {F(4, 2, 5, 6, 4), F(4, 4, 1, 3, 3)}},
        {MF_OP_WRAP, NULL, {.pad = 3}, 0, .in = {F(4, 2, 2, 5, 6)}},
        {MF_OP_BLEND, NULL, {0}, 0, .in = {F(2, 2, 5), F(2, 2, 5), F(1, 2)}},
        {MF_OP_BLEND, NULL, {0}, 0, .in = {F(2, 2, 5), {0}, F(1, 5)}},
        {MF_OP_MODULATE, NULL, {0}, 0, .in = {F(3, 2, 5, 6), F(2, 2, 6)}},
        {MF_OP_ATTENTION, NULL, {0}, 0, .in = {F(3, 2, 7, 18)}},
        {MF_OP_ATTENTION, NULL, {.heads = 2}, 0, .in = {F(3, 2, 7, 20)}},
        {MF_OP_ATTENTION, NULL, {.heads = 3, .kv_heads = 2}, 0, .in = {F(3, 2, 7, 21)}},
        {MF_OP_ATTENTION, NULL, {.heads = 2}, 0, .in = {F(3, 2, 7, 18), {0}, F(2, 2, 7)}},
        {MF_OP_ATTENTION, NULL, {.heads = 2}, 0, .in = {F(3, 2, 7, 6), F(3, 3, 7, 12)}},
        {MF_OP_ATTENTION, NULL, {.heads = 2, .causal = 1}, 0, .in = {F(3, 2, 7, 6), F(3, 2, 6, 12)}},
        {MF_OP_MATMUL, NULL, {0}, 0, .in = {F(2, 5, 7), F(2, 6, 4)}},
        {MF_OP_MATMUL, NULL, {0}, 0, .in = {F(3, 2, 5, 7), F(3, 3, 7, 4)}},
        {MF_OP_CONCAT, NULL, {0}, 0, .in = {F(2, 5, 7), F(2, 5, 6)}},
        {MF_OP_CONCAT, NULL, {.axis = 2}, 0, .in = {F(2, 5, 7)}},
        {MF_OP_SLICE, NULL, {.axis = 1, .first = 5, .count = 3}, 0, .in = {F(2, 5, 7)}},
        {MF_OP_SLICE, NULL, {.axis = 1}, 0, .in = {F(2, 5, 7)}},
        {MF_OP_TRANSPOSE, NULL, {.axis = 1, .other = 1}, 0, .in = {F(2, 5, 7)}},
        {MF_OP_TRANSPOSE, NULL, {.axis = 1, .other = -1}, 0, .in = {F(2, 5, 7)}},
    };

    for (size_t k = 0; k < sizeof bad / sizeof *bad; ++k) check_refusal(&bad[k]);
    for (const struct net_case *test = net_route_bad; test->in[0].n; ++test) check_refusal(test);
    for (const struct net_case *test = net_text_bad; test->in[0].n; ++test) check_refusal(test);
}

/* The arguments name the operations that the back end lacks, and no others. */
static void check_lacks(const struct device *d, int named, char **name)
{
    for (int op = 0; op < MF_OP_COUNT; ++op) {
        const int has = !mf_op_is_kernel((enum mf_op_id)op) || d->be->net->calls[op];
        int skipped = 0;

        for (int k = 0; k < named; ++k) skipped |= strcmp(name[k], mf_ops[op]->name) == 0;
        if (skipped && !has) printf("skipped: %s, which %s lacks\n", mf_ops[op]->name, d->be->name);
        CHECK_SAYS(has || skipped, "%s lacks %s", d->be->name, mf_ops[op]->name);
        CHECK_SAYS(!has || !skipped, "%s has %s: it need not be skipped", d->be->name, mf_ops[op]->name);
    }
}

/* All cases with numbers of one type. */
static void check_all(const struct device *d)
{
    static const struct net_case *const cases[] = {net_plain,   net_attention, net_arrange, net_image,
                                                   net_denoise, net_route,     net_text};

    for (size_t k = 0; k < sizeof cases / sizeof *cases; ++k)
        for (const struct net_case *test = cases[k]; test->oracle; ++test)
            if (d->be->net->calls[test->op]) check_test(test, d);
}

/* Others are flat (net_optim.c). */
static const enum mf_op_id with_cases[] = {
#define NUMBER(NAME, name) MF_OP_##NAME,
    MF_OP_TENSOR_LIST(NUMBER) MF_OP_EXPERT_LIST(NUMBER) MF_OP_TEXT_LIST(NUMBER) MF_OP_CAST
#undef NUMBER
};

int main(int argc, char **argv)
{
    const char *order = getenv("MF_EMU_ORDER");
    const int mixed = order && strcmp(order, "mixed") == 0, all = !order || getenv("MF_LONG");
    struct device d = device_open(1, 1, 0);

    check_lacks(&d, argc - 1, argv + 1);
    if (all || mixed) check_all(&d);
    mf_half_piece = 64; /* so that samples come in several pieces */
    for (enum mf_type half = MF_F16; half <= MF_BF16 && (all || !mixed); ++half) {
        type = half;
        tolerance = half == MF_F16 ? 1e-3 : 8e-3;
        slack = half == MF_F16 ? 1e-3 : 8e-3;
        check_all(&d);
    }
    check_called(&d, sizeof with_cases / sizeof *with_cases, with_cases);
    check_refusals();
    check_noise();
    check_normal(&d);
    device_close(&d);
    return failures != 0;
}
