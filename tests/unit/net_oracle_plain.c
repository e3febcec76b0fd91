/* Oracles and cases of the first operations: linear, activations, sums, layer norm, losses, dropout. */
#include <math.h>

#include "src/base/rng.h"
#include "src/base/streams.h"
#include "tests/unit/net_ops.h"

double net_act(int kind, double x)
{
    if (kind == MF_ACT_RELU) return x > 0 ? x : 0;
    if (kind == MF_ACT_SILU) return x / (1 + exp(-x));
    if (kind == MF_ACT_GELU_TANH) return 0.5 * x * (1 + tanh(sqrt(2 / acos(-1)) * (x + 0.044715 * x * x * x)));
    if (kind == MF_ACT_GELU) return 0.5 * x * (1 + erf(x / sqrt(2)));
    return x;
}

static void linear(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t k = shape[1].d[1], m = shape[1].d[0], rows = mf_shape_rows(&shape[0]);

    for (size_t r = 0; r < rows; ++r)
        for (size_t i = 0; i < m; ++i) {
            double sum = in[2] ? in[2][i] : 0;

            for (size_t j = 0; j < k; ++j) sum += in[0][r * k + j] * in[1][i * k + j];
            out[r * m + i] = net_act(attr->act, sum);
        }
}

static void point(int kind, const struct mf_shape shape[], double *const in[], double *out)
{
    for (size_t i = 0; i < mf_shape_count(&shape[0]); ++i) out[i] = net_act(kind, in[0][i]);
}

#define POINT(name, KIND)                                                                                        \
    static void name(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out) \
    {                                                                                                            \
        (void)attr;                                                                                              \
        point(KIND, shape, in, out);                                                                             \
    }
POINT(relu, MF_ACT_RELU)
POINT(cast, MF_ACT_NONE)
POINT(silu, MF_ACT_SILU)
POINT(gelu, MF_ACT_GELU)
POINT(gelu_tanh, MF_ACT_GELU_TANH)

static void add(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[0]); ++i) out[i] = in[0][i] + in[1][i % mf_shape_count(&shape[1])];
}

static void layer_norm(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const double epsilon = attr->epsilon > 0 ? attr->epsilon : 1e-5;
    const size_t d = mf_shape_last(&shape[0]);

    for (size_t r = 0; r < mf_shape_rows(&shape[0]); ++r) {
        const double *x = in[0] + r * d;
        double mean = 0, squares = 0;

        for (size_t i = 0; i < d; ++i) mean += x[i] / (double)d;
        for (size_t i = 0; i < d; ++i) squares += (x[i] - mean) * (x[i] - mean) / (double)d;
        for (size_t i = 0; i < d; ++i) out[r * d + i] = (x[i] - mean) / sqrt(squares + epsilon) * in[1][i] + in[2][i];
    }
}

static void softmax_loss(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t n = shape[0].d[1];

    *out = 0;
    for (size_t r = 0; r < shape[0].d[0]; ++r) {
        double sum = 0;

        if (in[1][r] < 0) continue;
        for (size_t i = 0; i < n; ++i) sum += exp(in[0][r * n + i]);
        for (size_t i = 0; i < n; ++i) {
            const double target = attr->smoothing / (double)n + (i == (size_t)in[1][r] ? 1 - attr->smoothing : 0);

            *out -= target * (in[0][r * n + i] - log(sum)) / net_number[MF_NUMBER_ROWS];
        }
    }
}

static void squared_loss(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t n = mf_shape_count(&shape[0]);

    (void)attr;
    *out = 0;
    for (size_t i = 0; i < n; ++i) {
        const size_t each = n / shape[0].d[0];
        const double square = isnan(in[1][i]) ? 0 : (in[0][i] - in[1][i]) * (in[0][i] - in[1][i]);

        *out += square * (in[2] ? in[2][i / each] : 1) / net_number[MF_NUMBER_ROWS] / (double)each;
    }
}

/* Some targets do not count. */
static void squared_mask(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[1]); i += 4) in[1][i] = NAN;
}

static void logistic_loss(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t n = mf_shape_count(&shape[0]);

    (void)attr;
    *out = 0;
    for (size_t i = 0; i < n; ++i)
        if (!isnan(in[1][i]))
            *out += (log(1 + exp(in[0][i])) - in[1][i] * in[0][i]) / net_number[MF_NUMBER_ROWS] /
                    (double)(n / shape[0].d[0]);
}

/* Yes, no, or neither; some logits are large. */
static void logistic_target(const struct mf_attr *attr, const struct mf_shape shape[], double *in[])
{
    (void)attr;
    for (size_t i = 0; i < mf_shape_count(&shape[0]); ++i) {
        in[1][i] = i % 3 == 2 ? NAN : (double)(i % 3);
        if (i % 5 == 0) in[0][i] *= 40;
    }
}

/* The same random numbers as the operation. That it drops a quarter is checked in net_ops.c. */
static void dropout(const struct mf_attr *attr, const struct mf_shape shape[], double *const in[], double *out)
{
    const size_t samples = shape[0].d[0], each = mf_shape_count(&shape[0]) / samples;
    uint32_t four[4];

    for (size_t s = 0; s < samples; ++s)
        for (size_t i = 0; i < each; ++i) {
            mf_random4(5 + (3ULL << 32), MF_STREAM_DROPOUT + attr->stream, (40 + s) << 32 | i / 4, four);
            out[s * each + i] =
                four[i % 4] < attr->probability * 4294967296.0 ? 0 : in[0][s * each + i] / (1 - attr->probability);
        }
}

const struct net_case net_plain[] = {
    {MF_OP_LINEAR, linear, {0}, 7, .in = {F(2, 7, 5), F(2, 3, 5), F(1, 3)}},
    {MF_OP_LINEAR, linear, {0}, 3, .in = {F(3, 2, 3, 9), F(2, 17, 9)}},
    {MF_OP_LINEAR, linear, {.act = MF_ACT_RELU}, 7, .in = {F(2, 7, 5), F(2, 6, 5), F(1, 6)}},
    {MF_OP_LINEAR, linear, {.act = MF_ACT_SILU}, 7, .in = {F(2, 7, 5), F(2, 6, 5), F(1, 6)}},
    {MF_OP_LINEAR, linear, {.act = MF_ACT_GELU}, 7, .in = {F(2, 7, 5), F(2, 6, 5), F(1, 6)}},
    {MF_OP_LINEAR, linear, {.act = MF_ACT_GELU}, 6, .in = {F(2, 33, 20), F(2, 31, 20), F(1, 31)}},
    {MF_OP_LINEAR, linear, {.act = MF_ACT_GELU_TANH}, 7, .in = {F(2, 7, 5), F(2, 6, 5), F(1, 6)}},
    {MF_OP_LINEAR, linear, {.act = MF_ACT_GELU_TANH}, 7, .in = {F(2, 7, 5), F(2, 8, 5), F(1, 8)}},
    {MF_OP_RELU, relu, {0}, 1, .in = {F(2, 7, 19)}},
    {MF_OP_CAST, cast, {.type = MF_F32}, 1, .in = {F(2, 7, 19)}},
    {MF_OP_SILU, silu, {0}, 1, .in = {F(2, 7, 19)}},
    {MF_OP_GELU, gelu, {0}, 1, .in = {F(2, 7, 19)}},
    {MF_OP_GELU_TANH, gelu_tanh, {0}, 1, .in = {F(2, 7, 19)}},
    {MF_OP_ADD, add, {0}, 3, .in = {F(2, 5, 6), F(2, 5, 6)}},
    {MF_OP_ADD, add, {0}, 3, .in = {F(3, 4, 3, 5), F(2, 3, 5)}},
    {MF_OP_ADD, add, {0}, 3, .in = {F(2, 700, 5), F(1, 5)}},
    {MF_OP_ADD, add, {0}, 3, .in = {F(2, 6, 8), F(1, 8)}},
    {MF_OP_LAYER_NORM, layer_norm, {0}, 7, .in = {F(3, 2, 5, 21), F(1, 21), F(1, 21)}},
    {MF_OP_LAYER_NORM, layer_norm, {0}, 6, .in = {F(2, 9, 4), F(1, 4), F(1, 4)}},
    {MF_OP_LAYER_NORM, layer_norm, {0}, 7, .in = {F(2, 5, 140), F(1, 140), F(1, 140)}},
    {MF_OP_LAYER_NORM, layer_norm, {0}, 7, .in = {F(2, 400, 6), F(1, 6), F(1, 6)}},
    {MF_OP_LAYER_NORM, layer_norm, {.epsilon = 0.5}, 7, .in = {F(2, 5, 20), F(1, 20), F(1, 20)}},
    {MF_OP_LAYER_NORM, layer_norm, {.epsilon = 1e-12}, 7, .in = {F(2, 5, 24), F(1, 24), F(1, 24)}},
    {MF_OP_SOFTMAX_LOSS, softmax_loss, {0}, 1, .in = {F(2, 7, 11), {MF_I32, 1, {7}}}},
    {MF_OP_SOFTMAX_LOSS, softmax_loss, {.smoothing = 0.1}, 1, .in = {F(2, 7, 11), {MF_I32, 1, {7}}}},
    {MF_OP_SOFTMAX_LOSS, softmax_loss, {.smoothing = 0.1}, 1, .in = {F(2, 5, 140), {MF_I32, 1, {5}}}},
    {MF_OP_SQUARED_LOSS, squared_loss, {0}, 3, .in = {F(2, 7, 3), F(2, 7, 3)}},
    {MF_OP_SQUARED_LOSS, squared_loss, {0}, 1, .in = {F(2, 7, 3), F(2, 7, 3)}},
    {MF_OP_SQUARED_LOSS, squared_loss, {0}, 2, .in = {F(2, 7, 3), F(2, 7, 3)}},
    {MF_OP_SQUARED_LOSS, squared_loss, {0}, 3, .in = {F(4, 3, 2, 4, 5), F(4, 3, 2, 4, 5), F(1, 3)}},
    {MF_OP_SQUARED_LOSS, squared_loss, {0}, 1, .in = {F(2, 7, 9), F(2, 7, 9), F(1, 7)}, .fill = squared_mask},
    {MF_OP_LOGISTIC_LOSS, logistic_loss, {0}, 1, .in = {F(2, 7, 9), F(2, 7, 9)}, .fill = logistic_target},
    {MF_OP_LOGISTIC_LOSS, logistic_loss, {0}, 1, .in = {F(1, 63), F(1, 63)}, .fill = logistic_target},
    {MF_OP_DROPOUT, dropout, {.probability = 0.25, .stream = 3}, 1, .in = {F(2, 6, 16)}},
    {MF_OP_DROPOUT, dropout, {.probability = 0.25, .stream = 3}, 1, .in = {F(3, 6, 7, 9)}},
    {0}};
