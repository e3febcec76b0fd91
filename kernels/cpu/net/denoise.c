/* blend, normal and quantise on cpu. See kernels/net/denoise.c. */
#include "kernels/cpu/net/net.h"
#include "kernels/form/normal.h"
#include "kernels/form/quantise.h"

/* y = a x + b z, or y += it. z may be NULL. */
MF_CPU_FAST static void blend_range(const float *x, const float *z, float a, float b, float *y, size_t n, int add)
{
    if (add)
#pragma omp simd
        for (size_t i = 0; i < n; ++i) y[i] += a * x[i];
    else if (z)
#pragma omp simd
        for (size_t i = 0; i < n; ++i) y[i] = a * x[i] + b * z[i];
    else
#pragma omp simd
        for (size_t i = 0; i < n; ++i) y[i] = a * x[i];
}

/* Does work for parts [first, first + n) of samples, so that threads cut within samples as well. */
static void by_sample(size_t each, size_t from, size_t to, const struct mf_call *call,
                      void (*work)(const struct mf_call *call, size_t sample, size_t first, size_t n))
{
    for (size_t at = from, n; at < to; at += n) {
        const size_t rest = each - at % each;

        n = rest < to - at ? rest : to - at;
        work(call, at / each, at, n);
    }
}

static size_t each_of(const struct mf_shape *x) { return mf_shape_count(x) / x->d[0]; }

static const float *part(const struct mf_tensor *t, size_t at) { return t->at ? (const float *)t->at + at : NULL; }

static void blend_part(const struct mf_call *call, size_t sample, size_t first, size_t n)
{
    const float *a = call->in[2].at, *b = call->in[3].at;

    blend_range(part(&call->in[0], first), part(&call->in[1], first), a[sample], b ? b[sample] : 0,
                (float *)call->out[0].at + first, n, 0);
}

static void blend_forward_range(const struct mf_call *call, size_t from, size_t to)
{
    by_sample(each_of(&call->out[0].shape), from, to, call, blend_part);
}

static void blend_forward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_count(&call->out[0].shape), 1, blend_forward_range, call);
}

static void blend_back_part(const struct mf_call *call, size_t sample, size_t first, size_t n)
{
    for (int j = 0; j < 2; ++j)
        if (call->din[j].at)
            blend_range(part(&call->dout, first), NULL, ((const float *)call->in[2 + j].at)[sample], 0,
                        (float *)call->din[j].at + first, n, (int)(call->add >> j & 1));
}

static void blend_backward_range(const struct mf_call *call, size_t from, size_t to)
{
    const struct mf_tensor *dx = call->din[0].at ? &call->din[0] : &call->din[1];
    const struct mf_tensor *a = call->in[2].at ? &call->in[2] : &call->in[3];

    by_sample(mf_shape_count(&dx->shape) / mf_shape_count(&a->shape), from, to, call, blend_back_part);
}

static void blend_backward(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_count(&call->dout.shape), 1, blend_backward_range, call);
}

const struct mf_op_calls mf_op_blend_cpu = {.forward = blend_forward, .backward = blend_backward};

/* -- normal: quads of numbers share a random call; rows are blocks of quads -- */

enum { QUADS = 64 };

MF_CPU_FAST static void normal_block(const struct mf_draw *draw, uint64_t sample, uint64_t first, float *to)
{
    const struct mf_draw d = *draw;

#pragma omp simd
    for (size_t q = 0; q < QUADS; ++q) mf_normal_four(&d, sample, first + q, to + 4 * q);
}

static size_t blocks_of(const struct mf_shape *y) { return (each_of(y) + 4 * QUADS - 1) / (4 * QUADS); }

static void normal_rows(const struct mf_call *call, size_t from, size_t to)
{
    const struct mf_draw draw = mf_normal_of(call->attr, call->number);
    const size_t each = each_of(&call->out[0].shape), blocks = blocks_of(&call->out[0].shape);
    float *y = call->out[0].at, part[4 * QUADS];

    for (size_t r = from; r < to; ++r) {
        const size_t sample = r / blocks, first = r % blocks * 4 * QUADS, rest = each - first;

        normal_block(&draw, sample, first / 4, rest < 4 * QUADS ? part : y + sample * each + first);
        if (rest < 4 * QUADS) memcpy(y + sample * each + first, part, rest * sizeof *y);
    }
}

static void normal(struct mf_queue *queue, const struct mf_call *call)
{
    const struct mf_shape *y = &call->out[0].shape;

    mf_cpu_rows(queue, y->d[0] * blocks_of(y), 16 * QUADS, normal_rows, call);
}

const struct mf_op_calls mf_op_normal_cpu = {.forward = normal};

/* -- quantise -- */

MF_CPU_FAST static void greys(const float *x, unsigned char *y, size_t n)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) y[i] = mf_quantise_grey(x[i]);
}

MF_CPU_FAST static void phases(const float *x, unsigned char *y, size_t n, size_t c)
{
    if (c == 1)
#pragma omp simd
        for (size_t i = 0; i < n; ++i) y[i] = x[i] > 0;
    else if (c == 2)
#pragma omp simd
        for (size_t i = 0; i < n; ++i) y[i] = x[2 * i + 1] > x[2 * i];
    else
        for (size_t i = 0; i < n; ++i) y[i] = mf_quantise_phase(x + i * c, c);
}

static void quantise_range(const struct mf_call *call, size_t from, size_t to)
{
    const size_t c = call->attr->levels ? 1 : mf_shape_last(&call->in[0].shape);

    if (call->attr->levels)
        greys((const float *)call->in[0].at + from, (unsigned char *)call->out[0].at + from, to - from);
    else
        phases((const float *)call->in[0].at + from * c, (unsigned char *)call->out[0].at + from, to - from, c);
}

static void quantise(struct mf_queue *queue, const struct mf_call *call)
{
    mf_cpu_rows(queue, mf_shape_count(&call->out[0].shape), call->attr->levels ? 1 : mf_shape_last(&call->in[0].shape),
                quantise_range, call);
}

const struct mf_op_calls mf_op_quantise_cpu = {.forward = quantise};
