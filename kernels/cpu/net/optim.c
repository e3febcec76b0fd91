/* Optimisers on cpu. See kernels/form/update.h. */
#include "kernels/form/update.h"

#include "kernels/cpu/net/net.h"
#include "src/base/err.h"

struct step_call {
    struct mf_call call; /* first: what mf_cpu_rows() hands on */
    struct mf_update step;
};

MF_CPU_FAST static void adam_range(const struct mf_update *step, float *p, const float *g, float *m, float *v, size_t n)
{
    const struct mf_update s = *step;

#pragma omp simd
    for (size_t i = 0; i < n; ++i) mf_update_adam(&s, p + i, g[i], m + i, v + i);
}

MF_CPU_FAST static void sgd_range(const struct mf_update *step, float *p, const float *g, float *m, size_t n)
{
    const struct mf_update s = *step;

    if (m)
#pragma omp simd
        for (size_t i = 0; i < n; ++i) mf_update_sgd(&s, p + i, g[i], m + i);
    else
#pragma omp simd
        for (size_t i = 0; i < n; ++i) mf_update_plain(&s, p + i, g[i]);
}

MF_CPU_FAST static void average_range(const struct mf_update *step, float *e, const float *p, size_t n)
{
    const struct mf_update s = *step;

#pragma omp simd
    for (size_t i = 0; i < n; ++i) mf_update_average(&s, e + i, p[i]);
}

static float *array(const struct mf_call *call, int j, size_t from)
{
    return call->in[j].at ? (float *)call->in[j].at + from : NULL;
}

static void adam_rows(const struct mf_call *call, size_t from, size_t to)
{
    adam_range(&((const struct step_call *)call)->step, array(call, 0, from), array(call, 1, from),
               array(call, 2, from), array(call, 3, from), to - from);
}

static void sgd_rows(const struct mf_call *call, size_t from, size_t to)
{
    sgd_range(&((const struct step_call *)call)->step, array(call, 0, from), array(call, 1, from), array(call, 2, from),
              to - from);
}

static void average_rows(const struct mf_call *call, size_t from, size_t to)
{
    average_range(&((const struct step_call *)call)->step, array(call, 0, from), array(call, 1, from), to - from);
}

static void adam(struct mf_queue *queue, const struct mf_call *call)
{
    const struct step_call s = {*call, mf_update_adam_of(call->attr, call->number)};

    mf_cpu_rows(queue, mf_shape_count(&call->in[0].shape), 4, adam_rows, &s.call);
}

static void adamw(struct mf_queue *queue, const struct mf_call *call)
{
    const struct step_call s = {*call, mf_update_adamw_of(call->attr, call->number)};

    mf_cpu_rows(queue, mf_shape_count(&call->in[0].shape), 4, adam_rows, &s.call);
}

static void sgd(struct mf_queue *queue, const struct mf_call *call)
{
    const struct step_call s = {*call, mf_update_sgd_of(call->attr, call->number)};

    mf_cpu_rows(queue, mf_shape_count(&call->in[0].shape), 3, sgd_rows, &s.call);
}

static void average(struct mf_queue *queue, const struct mf_call *call)
{
    const struct step_call s = {*call, mf_update_sgd_of(call->attr, call->number)};

    mf_cpu_rows(queue, mf_shape_count(&call->in[0].shape), 2, average_rows, &s.call);
}

const struct mf_op_calls mf_op_average_cpu = {.forward = average};
const struct mf_op_calls mf_op_adamw_cpu = {.forward = adamw};
const struct mf_op_calls mf_op_adam_cpu = {.forward = adam};
const struct mf_op_calls mf_op_sgd_cpu = {.forward = sgd};

/* -- square_sum: blocks of one size, whose sums are added in their order -- */

enum { BLOCK = 4096 };

static int square_plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work)
{
    (void)queue, (void)back;
    *made = NULL;
    *work = (mf_shape_count(&call->in[0].shape) + BLOCK - 1) / BLOCK * sizeof(double);
    return MF_OK;
}

MF_CPU_FAST static double block_sum(const float *x, size_t n)
{
    double sum = 0;

#pragma omp simd reduction(+ : sum)
    for (size_t i = 0; i < n; ++i) sum += (double)x[i] * (double)x[i];
    return sum;
}

static void square_blocks(const struct mf_call *call, size_t from, size_t to)
{
    const size_t n = mf_shape_count(&call->in[0].shape);

    for (size_t b = from; b < to; ++b)
        ((double *)call->work)[b] =
            block_sum((const float *)call->in[0].at + b * BLOCK, n - b * BLOCK < BLOCK ? n - b * BLOCK : BLOCK);
}

static void square_sum(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t blocks = (mf_shape_count(&call->in[0].shape) + BLOCK - 1) / BLOCK;
    double sum = 0;

    mf_cpu_rows(queue, blocks, BLOCK, square_blocks, call);
    for (size_t b = 0; b < blocks; ++b) sum += ((const double *)call->work)[b];
    *(double *)call->out[0].at = sum;
}

const struct mf_op_calls mf_op_square_sum_cpu = {.plan = square_plan, .forward = square_sum};
