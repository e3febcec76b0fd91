/* gather and keep on cpu. See kernels/net/text.c. */
#include "kernels/cpu/net/convert.h"
#include "kernels/cpu/net/net.h"

/* Rows of f32 from a table of another type. */
static void wide_rows(const struct mf_call *call, size_t from, size_t to)
{
    const struct mf_shape *table = &call->in[0].shape;
    const size_t width = table->d[1], bytes = width * mf_type_bytes(table->type);
    const int32_t *number = call->in[1].at;
    const float *scale = call->in[2].at;

    for (size_t r = from; r < to; ++r) {
        float *y = (float *)call->out[0].at + r * width;

        if (number[r] < 0 || (size_t)number[r] >= table->d[0]) {
            memset(y, 0, width * sizeof *y);
            continue;
        }
        mf_cpu_widen(table->type, (const char *)call->in[0].at + (size_t)number[r] * bytes, y, width);
        for (size_t i = 0; scale && i < width; ++i) y[i] *= scale[number[r]];
    }
}

static void forward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t n = call->in[0].shape.d[0];
    const size_t bytes = call->in[0].shape.d[1] * mf_type_bytes(call->in[0].shape.type);
    const int32_t *number = call->in[1].at;

    for (size_t r = from; r < to; ++r) {
        char *y = (char *)call->out[0].at + r * bytes;

        if (number[r] >= 0 && (size_t)number[r] < n)
            memcpy(y, (const char *)call->in[0].at + (size_t)number[r] * bytes, bytes);
        else
            memset(y, 0, bytes);
    }
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    const int same = call->in[0].shape.type == call->out[0].shape.type;

    mf_cpu_rows(queue, call->out[0].shape.d[0], call->out[0].shape.d[1], same ? forward_rows : wide_rows, call);
}

/* to [n] += from [n] of @p type. */
static void add_row(enum mf_type type, const char *from, float *to, size_t n)
{
    enum { CHUNK = 1024 };
    float wide[CHUNK];

    for (size_t i = 0; i < n; i += CHUNK) {
        const size_t part = i + CHUNK < n ? CHUNK : n - i;

        mf_cpu_widen(type, from + i * mf_type_bytes(type), wide, part);
        mf_cpu_move(wide, to + i, part, 1);
    }
}

/* Rows [from, to) of the table: those of dout come in their order. */
static void backward_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t rows = call->dout.shape.d[0], width = call->dout.shape.d[1];
    const enum mf_type type = call->dout.shape.type;
    const int32_t *number = call->in[1].at;
    float *table = call->din[0].at;

    if (!(call->add & 1)) memset(table + from * width, 0, (to - from) * width * sizeof *table);
    for (size_t r = 0; r < rows; ++r)
        if (number[r] >= 0 && (size_t)number[r] >= from && (size_t)number[r] < to)
            add_row(type, (const char *)call->dout.at + r * width * mf_type_bytes(type),
                    table + (size_t)number[r] * width, width);
}

static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, call->din[0].shape.d[0], call->din[0].shape.d[1], backward_rows, call);
}

const struct mf_op_calls mf_op_gather_cpu = {.forward = forward, .backward = backward};

/* -- keep -- */

static void keep_rows(const struct mf_call *call, size_t from, size_t to)
{
    const size_t slots = call->in[1].shape.d[0];
    const size_t bytes = call->in[1].shape.d[1] * mf_type_bytes(call->in[1].shape.type);
    const int32_t *place = call->in[2].at;

    for (size_t r = from; r < to; ++r)
        if (place[r] >= 0 && (size_t)place[r] < slots)
            memcpy((char *)call->in[1].at + (size_t)place[r] * bytes, (const char *)call->in[0].at + r * bytes, bytes);
}

static void keep(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_rows(&call->in[0].shape), mf_shape_last(&call->in[0].shape), keep_rows, call);
}

const struct mf_op_calls mf_op_keep_cpu = {.forward = keep};
