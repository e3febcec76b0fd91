/* Optimisers of networks: three steps against the formulas of PyTorch in double, on one thread and three. Also fill and
 * accumulate, and sums of squares, which are not finite where a number is not. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/half.h"
#include "src/base/rng.h"
#include "tests/check.h"
#include "tests/unit/net_call.h"

enum { N = 40001, STEPS = 3 };

static const struct mf_attr attr = {.momentum = 0.8, .second = 0.95, .epsilon = 1e-6};
static const double rate = 0.01, decay = 0.1, scale = 0.5;
static const struct mf_shape flat = {.type = MF_F32, .n = 1, .d = {N}};

static double start(size_t i) { return (double)(float)mf_random_normal(1, 90, i); }
static double slope(int t, size_t i) { return (double)(float)mf_random_normal(2, (uint32_t)t, i); }

/* One step of one parameter with its moments. */
static void adam(double *p, double *m, double *v, double g, int t)
{
    *m = attr.momentum * *m + (1 - attr.momentum) * g;
    *v = attr.second * *v + (1 - attr.second) * g * g;
    *p -= rate * (*m / (1 - pow(attr.momentum, t))) / (sqrt(*v / (1 - pow(attr.second, t))) + attr.epsilon);
}

static void move(enum mf_op_id op, double *p, double *m, double *v, double g, int t)
{
    if (op == MF_OP_ADAMW) {
        *p *= 1 - rate * decay;
        adam(p, m, v, g, t);
    } else if (op == MF_OP_ADAM) {
        adam(p, m, v, g + decay * *p, t);
    } else {
        *m = attr.momentum * *m + g + decay * *p;
        *p -= rate * *m;
    }
}

static double oracle(enum mf_op_id op, size_t i)
{
    double p = start(i), m = 0, v = 0;

    for (int t = 1; t <= STEPS; ++t) move(op, &p, &m, &v, scale * slope(t, i), t);
    return p;
}

static void run(const struct device *d, enum mf_op_id op, float *out)
{
    static float x[N];
    static const float zeros[N];
    double number[MF_NUMBERS] = {0};
    struct mf_call call = {.attr = &attr};

    number[MF_NUMBER_LEARNING_RATE] = rate;
    number[MF_NUMBER_DECAY] = decay;
    number[MF_NUMBER_SCALE] = scale;
    for (size_t i = 0; i < N; ++i) x[i] = (float)start(i);
    for (int j = 0; j < (op == MF_OP_SGD ? 3 : 4); ++j)
        call.in[j] = (struct mf_tensor){device_put(d, j == 0 ? x : zeros, sizeof x), flat};
    for (int t = 1; t <= STEPS; ++t) {
        number[MF_NUMBER_STEP] = t;
        call.number = device_numbers(d, number);
        for (size_t i = 0; i < N; ++i) x[i] = (float)slope(t, i);
        d->be->put(d->q, call.in[1].at, x, sizeof x);
        carry_out(d, op, &call, 0);
    }
    for (int j = 0; j < (op == MF_OP_SGD ? 3 : 4); ++j) device_get(d, j == 0 ? out : NULL, call.in[j].at, sizeof x);
}

static void check_steps(const struct device *d, enum mf_op_id op)
{
    static float one[N], three[N];

    run(d, op, one);
    d->q->threads = 3;
    run(d, op, three);
    d->q->threads = 1;
    CHECK(memcmp(one, three, sizeof one) == 0);
    for (size_t i = 0; i < N; i += 97)
        CHECK_SAYS(fabs(one[i] - oracle(op, i)) < 2e-6, "%s: parameter %zu is %g, want %g", mf_ops[op]->name, i, one[i],
                   oracle(op, i));
}

/* With PyTorch's constants the second moment takes a thousandth of each square, to single precision. */
static void check_moments(const struct device *d)
{
    static const struct mf_attr usual = {.momentum = 0.9, .second = 0.999, .epsilon = 1e-8};
    double number[MF_NUMBERS] = {[MF_NUMBER_SCALE] = 1, [MF_NUMBER_STEP] = 1};
    struct mf_call call = {.attr = &usual, .number = device_numbers(d, number)};
    float x[4][64] = {{0}};

    for (int i = 0; i < 64; ++i) x[1][i] = (float)slope(1, (size_t)i);
    for (int j = 0; j < 4; ++j)
        call.in[j] = (struct mf_tensor){device_put(d, x[j], sizeof x[j]), {.type = MF_F32, .n = 1, .d = {64}}};
    carry_out(d, MF_OP_ADAMW, &call, 0);
    for (int j = 0; j < 4; ++j) device_get(d, x[j], call.in[j].at, sizeof x[j]);
    for (int i = 0; i < 64; ++i) {
        const double g = x[1][i];

        CHECK_NEAR(x[2][i], 0.1 * g, 2e-7 * fabs(g) * 0.1);
        CHECK_NEAR(x[3][i], 1e-3 * g * g, 2e-7 * g * g * 1e-3);
    }
}

/* fill, accumulate, and sgd without a velocity: (0.25 + x) - rate scale x. */
static void check_flat(const struct device *d)
{
    static float x[N], y[N];
    const struct mf_attr quarter = {.number = 0.25};
    double number[MF_NUMBERS] = {[MF_NUMBER_LEARNING_RATE] = rate, [MF_NUMBER_SCALE] = scale};
    struct mf_call call = {.attr = &quarter, .number = device_numbers(d, number)};

    for (size_t i = 0; i < N; ++i) x[i] = (float)slope(1, i);
    call.out[0] = (struct mf_tensor){device_put(d, NULL, sizeof x), flat};
    carry_out(d, MF_OP_FILL, &call, 0);
    call.in[0] = call.out[0];
    call.in[1] = (struct mf_tensor){device_put(d, x, sizeof x), flat};
    carry_out(d, MF_OP_ACCUMULATE, &call, 0);
    carry_out(d, MF_OP_SGD, &call, 0);
    device_get(d, y, call.in[0].at, sizeof y);
    device_get(d, NULL, call.in[1].at, 0);
    for (size_t i = 0; i < N; ++i) CHECK_NEAR(y[i], 0.25 + (double)x[i] * (1 - rate * scale), 1e-6);
}

/* A moving average of what changes: on one thread and three. */
static void check_average(const struct device *d)
{
    static float got[2][N], x[N];
    double number[MF_NUMBERS] = {0};

    for (int k = 0; k < 2; ++k) {
        struct mf_call call = {.attr = &attr, .number = device_numbers(d, number)};

        for (size_t i = 0; i < N; ++i) x[i] = (float)start(i);
        for (int j = 0; j < 2; ++j) call.in[j] = (struct mf_tensor){device_put(d, x, sizeof x), flat};
        d->q->threads = k ? 3 : 1;
        for (int t = 1; t <= STEPS; ++t) {
            for (size_t i = 0; i < N; ++i) x[i] = (float)slope(t, i);
            d->be->put(d->q, call.in[1].at, x, sizeof x);
            carry_out(d, MF_OP_AVERAGE, &call, 0);
        }
        device_get(d, NULL, call.in[1].at, 0);
        device_get(d, got[k], call.in[0].at, sizeof x);
    }
    d->q->threads = 1;
    CHECK(memcmp(got[0], got[1], sizeof x) == 0);
    for (size_t i = 0; i < N; i += 97) {
        double want = start(i);

        for (int t = 1; t <= STEPS; ++t) want = attr.momentum * want + (1 - attr.momentum) * slope(t, i);
        CHECK_NEAR(got[0][i], want, 1e-6);
    }
}

static double square_sum(const struct device *d, const float *x)
{
    struct mf_call call = {.in[0] = {device_put(d, x, N * sizeof *x), flat}};
    double sum;

    CHECK(mf_ops[MF_OP_SQUARE_SUM]->shape(&attr, &flat, &call.out[0].shape) == MF_OK);
    call.out[0].at = device_put(d, NULL, sizeof sum);
    carry_out(d, MF_OP_SQUARE_SUM, &call, 0);
    device_get(d, &sum, call.out[0].at, sizeof sum);
    device_get(d, NULL, call.in[0].at, 0);
    return sum;
}

static void check_square_sum(const struct device *d)
{
    static float x[N];
    double want = 0, one;

    for (size_t i = 0; i < N; ++i) {
        x[i] = (float)slope(1, i);
        want += (double)x[i] * (double)x[i];
    }
    one = square_sum(d, x);
    CHECK_NEAR(one, want, 1e-9 * want);
    d->q->threads = 3;
    CHECK(square_sum(d, x) == one);
    d->q->threads = 1;
    x[N - 1] = INFINITY;
    CHECK(isinf(square_sum(d, x)));
    x[N / 2] = NAN;
    CHECK(isnan(square_sum(d, x)));
}

/* Squares of small gradients are no slow numbers, on any thread. */
static void check_tiny(const struct device *d)
{
    double number[MF_NUMBERS] = {[MF_NUMBER_SCALE] = 1, [MF_NUMBER_STEP] = 1};
    struct mf_call call = {.attr = &attr, .number = device_numbers(d, number)};
    static float x[N], none[N];

    for (size_t i = 0; i < N; ++i) x[i] = 1e-20F;
    for (int j = 0; j < 4; ++j) call.in[j] = (struct mf_tensor){device_put(d, j == 1 ? x : none, sizeof x), flat};
    d->q->threads = 3;
    carry_out(d, MF_OP_ADAMW, &call, 0);
    d->q->threads = 1;
    for (int j = 0; j < 4; ++j) device_get(d, j == 3 ? x : NULL, call.in[j].at, sizeof x);
    for (size_t i = 0; i < N; i += 97) { /* by its bits: to a core that flushes, tiny numbers equal zero */
        const uint32_t bits = mf_float_bits(x[i]);

        CHECK(bits == 0 || bits >= 0x00800000);
    }
}

/* A cast has cases in net_oracle_plain.c. */
static void check_all_called(const struct device *d)
{
    static const enum mf_op_id list[] = {
#define NUMBER(NAME, name) MF_OP_##NAME,
        MF_OP_FLAT_LIST(NUMBER)
#undef NUMBER
    };

    called[MF_OP_CAST] = 1;
    check_called(d, sizeof list / sizeof *list, list);
}

int main(void)
{
    struct device d = device_open(1, 1, 0);

    check_steps(&d, MF_OP_ADAMW);
    check_steps(&d, MF_OP_ADAM);
    check_steps(&d, MF_OP_SGD);
    check_moments(&d);
    check_flat(&d);
    if (strcmp(d.be->name, "cuda") != 0) check_tiny(&d); /* slow on cores alone */
    check_average(&d);
    check_square_sum(&d);
    check_all_called(&d);
    device_close(&d);
    return failures != 0;
}
