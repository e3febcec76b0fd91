/* concat, slice and transpose on cpu. See kernels/net/arrange.c. */
#include "kernels/net/arrange.h"

#include "kernels/cpu/net/net.h"

/* -- concat and slice: rows are what the axis and all behind it span -- */

/* Numbers of a row of a tensor. */
static size_t row_of(const struct mf_call *call, const struct mf_shape *shape)
{
    return mf_extents(shape, call->attr->axis, shape->n);
}

static void concat_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t row = row_of(call, &call->out[0].shape);
    size_t at = 0;

    for (int j = 0; j < MF_INS && call->in[j].at; ++j) {
        const size_t n = row_of(call, &call->in[j].shape);

        for (size_t r = from; r < to; ++r)
            mf_cpu_move((const float *)call->in[j].at + r * n, (float *)call->out[0].at + r * row + at, n, 0);
        at += n;
    }
}

static void concat_back_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t row = row_of(call, &call->dout.shape);
    size_t at = 0;

    for (int j = 0; j < MF_INS; ++j) {
        const struct mf_shape *shape = call->din[j].shape.n ? &call->din[j].shape : &call->in[j].shape;
        const size_t n = shape->n ? row_of(call, shape) : 0;

        for (size_t r = from; call->din[j].at && r < to; ++r)
            mf_cpu_move((const float *)call->dout.at + r * row + at, (float *)call->din[j].at + r * n, n,
                        (int)(call->add >> j & 1));
        at += n;
    }
}

static void slice_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t row = row_of(call, &call->in[0].shape), n = row_of(call, &call->out[0].shape);
    const size_t at = n / call->attr->count * call->attr->first;

    for (size_t r = from; r < to; ++r)
        mf_cpu_move((const float *)call->in[0].at + r * row + at, (float *)call->out[0].at + r * n, n, 0);
}

static void slice_back_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t row = row_of(call, &call->din[0].shape), n = row_of(call, &call->dout.shape);
    const size_t at = n / call->attr->count * call->attr->first;
    float *dx = call->din[0].at;

    for (size_t r = from; r < to; ++r) {
        if (!(call->add & 1)) memset(dx + r * row, 0, row * sizeof *dx);
        mf_cpu_move((const float *)call->dout.at + r * n, dx + r * row + at, n, 1);
    }
}

/* -- transpose: rows are those of the result, [before][q] -- */

enum { STRIP = 16 }; /* rows that are written side by side: what is read stands in lines of memory */

/* Rows [first, first + n) of one matrix. */
static void strip(const struct mf_swap *s, const float *x, float *y, size_t first, size_t n, int add)
{
    const size_t k = s->behind;

    for (size_t b = 0; b < s->between; ++b)
        for (size_t i = 0; i < s->p; ++i)
            for (size_t j = first; j < first + n; ++j) {
                const float *from = x + ((i * s->between + b) * s->q + j) * k;
                float *to = y + ((j * s->between + b) * s->p + i) * k;

                if (k > 1)
                    mf_cpu_move(from, to, k, add);
                else
                    *to = add ? *to + *from : *from;
            }
}

static void transpose(const struct mf_swap *s, const float *x, float *y, size_t from, size_t to, int add)
{
    const size_t matrix = s->p * s->between * s->q * s->behind;

    for (size_t r = from, n; r < to; r += n) {
        const size_t a = r / s->q, first = r % s->q;

        n = s->q - first < to - r ? s->q - first : to - r;
        n = n < STRIP ? n : STRIP;
        strip(s, x + a * matrix, y + a * matrix, first, n, add);
    }
}

static void transpose_rows(const struct mf_call *call, size_t from, size_t to)
{
    const struct mf_swap s = mf_swap_of(call->attr, &call->in[0].shape);

    transpose(&s, call->in[0].at, call->out[0].at, from, to, 0);
}

static void transpose_back_rows(const struct mf_call *call, size_t from, size_t to)
{
    const struct mf_swap s = mf_swap_of(call->attr, &call->dout.shape);

    transpose(&s, call->dout.at, call->din[0].at, from, to, (int)(call->add & 1));
}

/* -- all of them -- */

/* Rows of what stands before the axis of @p shape. */
static void rows_before(struct mf_queue *queue, const struct mf_call *call, const struct mf_shape *shape,
                        void (*rows)(const struct mf_call *call, size_t from, size_t to))
{
    mf_cpu_rows(queue, mf_extents(shape, 0, call->attr->axis), row_of(call, shape), rows, call);
}

static void rows_behind(struct mf_queue *queue, const struct mf_call *call, const struct mf_shape *shape,
                        void (*rows)(const struct mf_call *call, size_t from, size_t to))
{
    const struct mf_swap s = mf_swap_of(call->attr, shape);

    mf_cpu_rows(queue, s.before * s.q, s.p * s.between * s.behind, rows, call);
}

#define CALLS(name, over, result, gradient)                                         \
    static void name##_forward(struct mf_queue *queue, const struct mf_call *call)  \
    {                                                                               \
        over(queue, call, &call->result, name##_rows);                              \
    }                                                                               \
    static void name##_backward(struct mf_queue *queue, const struct mf_call *call) \
    {                                                                               \
        over(queue, call, &call->gradient, name##_back_rows);                       \
    }                                                                               \
    const struct mf_op_calls mf_op_##name##_cpu = {.forward = name##_forward, .backward = name##_backward};
CALLS(concat, rows_before, out[0].shape, dout.shape)
CALLS(slice, rows_before, out[0].shape, din[0].shape)
CALLS(transpose, rows_behind, in[0].shape, dout.shape)
