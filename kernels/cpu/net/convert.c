/* See convert.h; the operation cast. */
#include "kernels/cpu/net/convert.h"

#include "kernels/cpu/net/net.h"
#include "src/base/half.h"

#define RANGES(type)                                                                        \
    MF_CPU_WIDE static void widen_##type(const uint16_t *from, float *to, size_t n)         \
    {                                                                                       \
        _Pragma("omp simd") for (size_t i = 0; i < n; ++i) to[i] = mf_##type##_to(from[i]); \
    }                                                                                       \
    MF_CPU_WIDE static void narrow_##type(const float *from, uint16_t *to, size_t n)        \
    {                                                                                       \
        _Pragma("omp simd") for (size_t i = 0; i < n; ++i) to[i] = mf_##type##_of(from[i]); \
    }
RANGES(bf16)
RANGES(f16)

MF_CPU_WIDE static void widen_i8(const int8_t *from, float *to, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) to[i] = (float)from[i];
}

void mf_cpu_widen(enum mf_type type, const void *from, float *to, size_t n)
{
    if (type == MF_F32)
        mf_cpu_move(from, to, n, 0);
    else if (type == MF_I8)
        widen_i8(from, to, n);
    else
        (type == MF_BF16 ? widen_bf16 : widen_f16)(from, to, n);
}

void mf_cpu_narrow(enum mf_type type, const float *from, void *to, size_t n)
{
    if (type == MF_F32)
        mf_cpu_move(from, to, n, 0);
    else
        (type == MF_BF16 ? narrow_bf16 : narrow_f16)(from, to, n);
}

/* -- over threads: in[0] becomes out[0], of which one is f32 -- */

static void range(const struct mf_call *call, size_t from, size_t to)
{
    const enum mf_type type = call->in[0].shape.type;
    const char *x = call->in[0].at;
    char *y = call->out[0].at;

    x += from * mf_type_bytes(type);
    y += from * mf_type_bytes(call->out[0].shape.type);
    if (call->out[0].shape.type == MF_F32)
        mf_cpu_widen(type, x, (float *)(void *)y, to - from);
    else
        mf_cpu_narrow(call->out[0].shape.type, (const float *)(const void *)x, y, to - from);
}

static void convert(const struct mf_queue *queue, struct mf_tensor from, struct mf_tensor to, size_t n)
{
    const struct mf_call call = {.in = {from}, .out = {to}};

    mf_cpu_rows(queue, n, 1, range, &call);
}

void mf_cpu_widen_all(const struct mf_queue *queue, enum mf_type type, const void *from, float *to, size_t n)
{
    convert(queue, (struct mf_tensor){(void *)from, {.type = type}}, (struct mf_tensor){to, {.type = MF_F32}}, n);
}

void mf_cpu_narrow_all(const struct mf_queue *queue, enum mf_type type, const float *from, void *to, size_t n)
{
    convert(queue, (struct mf_tensor){(void *)from, {.type = MF_F32}}, (struct mf_tensor){to, {.type = type}}, n);
}

/* -- cast -- */

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    convert(queue, call->in[0], call->out[0], mf_shape_count(&call->out[0].shape));
}

/* din += dout, a chunk at a time. */
static void add_range(const struct mf_call *call, size_t from, size_t to)
{
    enum { CHUNK = 1024 };
    const enum mf_type type = call->dout.shape.type, own = call->din[0].shape.type;
    float x[CHUNK], sum[CHUNK];

    for (size_t i = from; i < to; i += CHUNK) {
        const size_t n = i + CHUNK < to ? CHUNK : to - i;
        char *at = (char *)call->din[0].at + i * mf_type_bytes(own);

        mf_cpu_widen(type, (const char *)call->dout.at + i * mf_type_bytes(type), x, n);
        mf_cpu_widen(own, at, sum, n);
        mf_cpu_move(x, sum, n, 1);
        mf_cpu_narrow(own, sum, at, n);
    }
}

static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t n = mf_shape_count(&call->dout.shape);

    if (call->add & 1)
        mf_cpu_rows(queue, n, 1, add_range, call);
    else
        convert(queue, call->dout, call->din[0], n);
}

const struct mf_op_calls mf_op_cast_cpu = {.forward = forward, .backward = backward};
