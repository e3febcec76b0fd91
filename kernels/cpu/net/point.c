/* add, mul, dropout, fill and accumulate on cpu. */
#include "kernels/cpu/net/net.h"

#include "kernels/cpu/net/convert.h"
#include "kernels/form/drop.h"

/* -- add -- */

/* Numbers of a for one of b. */
static size_t repeats(const struct mf_call *call)
{
    return mf_shape_count(&call->out[0].shape) / mf_shape_count(&call->in[1].shape);
}

MF_CPU_FAST static void sum_range(const float *a, const float *b, float *y, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) y[i] = a[i] + b[i];
}

/* One repetition of b after the other. */
static void add_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t n = mf_shape_count(&call->in[1].shape);
    const float *a = call->in[0].at;
    float *y = call->out[0].at;

    for (size_t r = from; r < to; ++r) sum_range(a + r * n, call->in[1].at, y + r * n, n);
}

static void add_forward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, repeats(call), mf_shape_count(&call->in[1].shape), add_rows, call);
}

/* The gradient of what was repeated is the sum of its repetitions, in their order: columns [from, to). */
static void add_columns(const struct mf_call *call, size_t from, size_t to)
{
    const size_t n = mf_shape_count(&call->din[1].shape), all = mf_shape_count(&call->dout.shape);
    const float *dy = call->dout.at;
    float *db = (float *)call->din[1].at + from;

    mf_cpu_move(dy + from, db, to - from, (int)(call->add >> 1 & 1));
    for (size_t at = n + from; at < all; at += n) mf_cpu_move(dy + at, db, to - from, 1);
}

static void add_backward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t all = mf_shape_count(&call->dout.shape);

    if (call->din[0].at) mf_cpu_move(call->dout.at, call->din[0].at, all, (int)(call->add & 1));
    if (call->din[1].at) {
        const size_t n = mf_shape_count(&call->din[1].shape);

        mf_cpu_rows(queue, n, all / n, add_columns, call);
    }
}

const struct mf_op_calls mf_op_add_cpu = {.forward = add_forward, .backward = add_backward};

/* -- mul -- */

/* y = a b, or y += a b. */
MF_CPU_FAST static void product_range(const float *a, const float *b, float *y, size_t n, int add)
{
    if (!add)
#pragma omp simd
        for (size_t i = 0; i < n; ++i) y[i] = a[i] * b[i];
    else
#pragma omp simd
        for (size_t i = 0; i < n; ++i) y[i] += a[i] * b[i];
}

static void mul_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t n = mf_shape_count(&call->in[1].shape);

    for (size_t r = from; r < to; ++r)
        product_range((const float *)call->in[0].at + r * n, call->in[1].at, (float *)call->out[0].at + r * n, n, 0);
}

static void mul_forward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, repeats(call), mf_shape_count(&call->in[1].shape), mul_rows, call);
}

static void mul_back_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t n = mf_shape_count(&call->in[1].shape);

    for (size_t r = from; r < to; ++r)
        product_range((const float *)call->dout.at + r * n, call->in[1].at, (float *)call->din[0].at + r * n, n,
                      (int)(call->add & 1));
}

static void mul_back_columns(const struct mf_call *call, size_t from, size_t to)
{
    const size_t n = mf_shape_count(&call->din[1].shape), all = mf_shape_count(&call->dout.shape);
    const float *a = call->in[0].at, *dy = call->dout.at;

    for (size_t at = from; at < all; at += n)
        product_range(dy + at, a + at, (float *)call->din[1].at + from, to - from, call->add & 2 || at >= n);
}

/* Columns first: da may take the memory of dout. */
static void mul_backward(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t all = mf_shape_count(&call->dout.shape);

    if (call->din[1].at) {
        const size_t n = mf_shape_count(&call->din[1].shape);

        mf_cpu_rows(queue, n, all / n, mul_back_columns, call);
    }
    if (call->din[0].at) {
        const size_t n = mf_shape_count(&call->in[1].shape);

        mf_cpu_rows(queue, all / n, n, mul_back_rows, call);
    }
}

const struct mf_op_calls mf_op_mul_cpu = {.forward = mul_forward, .backward = mul_backward};

/* -- dropout -- */

/* y = x / (1 - rate), or 0 with probability rate: samples [from, to). */
static void drop(const struct mf_call *call, const float *x, float *y, size_t from, size_t to)
{
    const size_t samples =
        call->out[0].shape.n || !call->dout.shape.n ? call->out[0].shape.d[0] : call->dout.shape.d[0];
    const size_t each = mf_shape_count(call->out[0].shape.n ? &call->out[0].shape : &call->dout.shape) / samples;
    const struct mf_drop d = mf_drop_of(call->attr, call->number);
    uint32_t word[4];

    for (size_t s = from; s < to; ++s)
        for (size_t i = 0; i < each; ++i) {
            if (i % 4 == 0) mf_draw_words(&d.draw, s, i / 4, word);
            y[s * each + i] = mf_drop_value(&d, word[i % 4], x[s * each + i]);
        }
}

static void drop_forward_rows(const struct mf_call *call, size_t from, size_t to)
{
    drop(call, call->in[0].at, call->out[0].at, from, to);
}

static void drop_backward_rows(const struct mf_call *call, size_t from, size_t to)
{
    drop(call, call->dout.at, call->din[0].at, from, to);
}

static void drop_forward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, call->out[0].shape.d[0], mf_shape_count(&call->out[0].shape), drop_forward_rows, call);
}

static void drop_backward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, call->dout.shape.d[0], mf_shape_count(&call->dout.shape), drop_backward_rows, call);
}

const struct mf_op_calls mf_op_dropout_cpu = {.forward = drop_forward, .backward = drop_backward};

/* -- fill -- */

static void fill(struct mf_queue *queue, const struct mf_call *call)
{
    const struct mf_tensor *y = &call->out[0];
    const size_t n = mf_shape_count(&y->shape);
    const float value = (float)(call->attr->number * (call->attr->scaled ? call->number[MF_NUMBER_LOSS_SCALE] : 1));
    uint16_t half;

    (void)queue;
    if (y->shape.type == MF_F32) {
        for (size_t i = 0; i < n; ++i) ((float *)y->at)[i] = value;
    } else {
        mf_cpu_narrow(y->shape.type, &value, &half, 1);
        for (size_t i = 0; i < n; ++i) ((uint16_t *)y->at)[i] = half;
    }
}

const struct mf_op_calls mf_op_fill_cpu = {.forward = fill};

/* -- accumulate -- */

static void accumulate_range(const struct mf_call *call, size_t from, size_t to)
{
    mf_cpu_move((const float *)call->in[1].at + from, (float *)call->in[0].at + from, to - from, 1);
}

static void accumulate(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_count(&call->in[0].shape), 1, accumulate_range, call);
}

const struct mf_op_calls mf_op_accumulate_cpu = {.forward = accumulate};
