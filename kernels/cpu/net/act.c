/* Activations on cpu: pointwise operations, and the ranges that fused operations use. */
#include "kernels/cpu/net/act.h"

#include "kernels/cpu/net/net.h"
#include "kernels/form/act.h"

/* Forward and backward of one activation on a range of numbers. */
#define RANGE(NAME, name)                                                                                \
    MF_CPU_FAST static void name##_forward(const float *x, float *y, size_t n)                           \
    {                                                                                                    \
        _Pragma("omp simd") for (size_t i = 0; i < n; ++i) y[i] = mf_act_value(NAME, x[i]);              \
    }                                                                                                    \
    MF_CPU_FAST static void name##_backward(const float *seen, const float *dy, float *dx, size_t n)     \
    {                                                                                                    \
        _Pragma("omp simd") for (size_t i = 0; i < n; ++i) dx[i] = mf_act_slope(NAME, seen[i]) * dy[i];  \
    }                                                                                                    \
    MF_CPU_FAST static void name##_backward_add(const float *seen, const float *dy, float *dx, size_t n) \
    {                                                                                                    \
        _Pragma("omp simd") for (size_t i = 0; i < n; ++i) dx[i] += mf_act_slope(NAME, seen[i]) * dy[i]; \
    }
RANGE(MF_ACT_RELU, relu)
RANGE(MF_ACT_SILU, silu)
RANGE(MF_ACT_GELU, gelu)
RANGE(MF_ACT_GELU_TANH, gelu_tanh)

void mf_act_forward(int act, const float *x, float *y, size_t n)
{
    if (act == MF_ACT_RELU) relu_forward(x, y, n);
    if (act == MF_ACT_SILU) silu_forward(x, y, n);
    if (act == MF_ACT_GELU) gelu_forward(x, y, n);
    if (act == MF_ACT_GELU_TANH) gelu_tanh_forward(x, y, n);
}

void mf_act_backward(int act, const float *seen, const float *dy, float *dx, size_t n, int add)
{
    if (act == MF_ACT_RELU) (add ? relu_backward_add : relu_backward)(seen, dy, dx, n);
    if (act == MF_ACT_SILU) (add ? silu_backward_add : silu_backward)(seen, dy, dx, n);
    if (act == MF_ACT_GELU) (add ? gelu_backward_add : gelu_backward)(seen, dy, dx, n);
    if (act == MF_ACT_GELU_TANH) (add ? gelu_tanh_backward_add : gelu_tanh_backward)(seen, dy, dx, n);
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
OPERATION(MF_ACT_GELU_TANH, gelu_tanh)
