/* Activations on cpu: pointwise operations, and the ranges that fused operations use. */
#include "kernels/cpu/net/act.h"

#include <math.h>

#include "kernels/cpu/net/net.h"

/* The normal distribution Phi(x); erf by Abramowitz and Stegun, Handbook of Mathematical Functions, 7.1.26 (1.5e-7). */
static inline float normal(float x)
{
    const float z = fabsf(x) * 0.70710678F, t = 1 / (1 + 0.3275911F * z);
    const float poly =
        t * (0.254829592F + t * (-0.284496736F + t * (1.421413741F + t * (-1.453152027F + t * 1.061405429F))));
    const float tail = 0.5F * poly * mf_exp(-z * z);

    return x < 0 ? tail : 1 - tail;
}

static inline float gelu(float x) { return x * normal(x); }
static inline float gelu_slope(float x) { return normal(x) + x * 0.39894228F * mf_exp(-0.5F * x * x); }
static inline float logistic(float x) { return 1 / (1 + mf_exp(-x)); }
static inline float silu(float x) { return x * logistic(x); }

static inline float silu_slope(float x)
{
    const float s = logistic(x);

    return s * (1 + x * (1 - s));
}

static inline float relu(float x) { return x > 0 ? x : 0; }
static inline float relu_slope(float y) { return y > 0 ? 1 : 0; }

/* Forward and backward of one activation on a range of numbers. */
#define RANGE(name)                                                                                      \
    MF_CPU_FAST static void name##_forward(const float *x, float *y, size_t n)                           \
    {                                                                                                    \
        _Pragma("omp simd") for (size_t i = 0; i < n; ++i) y[i] = name(x[i]);                            \
    }                                                                                                    \
    MF_CPU_FAST static void name##_backward(const float *seen, const float *dy, float *dx, size_t n)     \
    {                                                                                                    \
        _Pragma("omp simd") for (size_t i = 0; i < n; ++i) dx[i] = name##_slope(seen[i]) * dy[i];        \
    }                                                                                                    \
    MF_CPU_FAST static void name##_backward_add(const float *seen, const float *dy, float *dx, size_t n) \
    {                                                                                                    \
        _Pragma("omp simd") for (size_t i = 0; i < n; ++i) dx[i] += name##_slope(seen[i]) * dy[i];       \
    }
RANGE(relu)
RANGE(silu)
RANGE(gelu)

void mf_act_forward(int act, const float *x, float *y, size_t n)
{
    if (act == MF_ACT_RELU) relu_forward(x, y, n);
    if (act == MF_ACT_SILU) silu_forward(x, y, n);
    if (act == MF_ACT_GELU) gelu_forward(x, y, n);
}

void mf_act_backward(int act, const float *seen, const float *dy, float *dx, size_t n, int add)
{
    if (act == MF_ACT_RELU) (add ? relu_backward_add : relu_backward)(seen, dy, dx, n);
    if (act == MF_ACT_SILU) (add ? silu_backward_add : silu_backward)(seen, dy, dx, n);
    if (act == MF_ACT_GELU) (add ? gelu_backward_add : gelu_backward)(seen, dy, dx, n);
}

/* -- as operations -- */

struct act_call {
    struct mf_call call; /* first: what mf_cpu_rows() hands on */
    int act;
};

static void forward_range(const struct mf_call *call, size_t from, size_t to)
{
    mf_act_forward(((const struct act_call *)call)->act, (const float *)call->in[0].at + from,
                   (float *)call->out[0].at + from, to - from);
}

static void backward_range(const struct mf_call *call, size_t from, size_t to)
{
    const int act = ((const struct act_call *)call)->act;
    const float *seen = act == MF_ACT_RELU ? call->out[0].at : call->in[0].at;

    mf_act_backward(act, seen + from, (const float *)call->dout.at + from, (float *)call->din[0].at + from, to - from,
                    (int)(call->add & 1));
}

static void go(struct mf_queue *queue, const struct mf_call *call, int act, int back)
{
    const struct act_call one = {*call, act};

    mf_cpu_rows(queue, mf_shape_count(back ? &call->dout.shape : &call->out[0].shape), 1,
                back ? backward_range : forward_range, &one.call);
}

#define OPERATION(NAME, name)                                                                                      \
    static void name##_call(struct mf_queue *queue, const struct mf_call *call) { go(queue, call, NAME, 0); }      \
    static void name##_call_back(struct mf_queue *queue, const struct mf_call *call) { go(queue, call, NAME, 1); } \
    const struct mf_op_calls mf_op_##name##_cpu = {.forward = name##_call, .backward = name##_call_back};
OPERATION(MF_ACT_RELU, relu)
OPERATION(MF_ACT_SILU, silu)
OPERATION(MF_ACT_GELU, gelu)
