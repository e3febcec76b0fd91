/* Optimisers on cpu.
 *
 * adamw (Loshchilov, Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2), with momentum a and
 * second b:
 *
 *   m = a m + (1 - a) g,  v = b v + (1 - b) g^2,  p = p (1 - rate decay) - rate m' / (sqrt(v') + epsilon)
 *
 * with m' = m / (1 - a^t), v' = v / (1 - b^t) at step t. adam: g + decay p is the gradient, p keeps its size. sgd:
 * m = a m + g + decay p,  p = p - rate m. */
#include <math.h>

#include "kernels/cpu/net/net.h"
#include "src/base/err.h"

struct step {
    struct mf_call call; /* first: what mf_cpu_rows() hands on */
    float keep, decay, rate, root, scale, momentum, epsilon;
    float first, second; /* 1 - a, 1 - b, subtracted in double: in single precision they are wrong by 1e-5 */
};

MF_CPU_FAST static void adam_range(const struct step *s, float *p, const float *g, float *m, float *v, size_t n)
{
    const float keep = s->keep, decay = s->decay, rate = s->rate, root = s->root, scale = s->scale;
    const float first = s->first, second = s->second, epsilon = s->epsilon;

#pragma omp simd
    for (size_t i = 0; i < n; ++i) {
        const float slope = g[i] * scale + decay * p[i];

        m[i] += first * (slope - m[i]);
        v[i] += second * (slope * slope - v[i]);
        p[i] = p[i] * keep - rate * m[i] / (sqrtf(v[i]) * root + epsilon);
    }
}

MF_CPU_FAST static void sgd_range(const struct step *s, float *p, const float *g, float *m, size_t n)
{
    const float decay = s->decay, rate = s->rate, scale = s->scale, momentum = s->momentum;

    if (!m) {
#pragma omp simd
        for (size_t i = 0; i < n; ++i) p[i] -= rate * (g[i] * scale + decay * p[i]);
        return;
    }
#pragma omp simd
    for (size_t i = 0; i < n; ++i) {
        m[i] = momentum * m[i] + g[i] * scale + decay * p[i];
        p[i] -= rate * m[i];
    }
}

static float *array(const struct mf_call *call, int j, size_t from)
{
    return call->in[j].at ? (float *)call->in[j].at + from : NULL;
}

static void adam_rows(const struct mf_call *call, size_t from, size_t to)
{
    adam_range((const struct step *)call, array(call, 0, from), array(call, 1, from), array(call, 2, from),
               array(call, 3, from), to - from);
}

static void sgd_rows(const struct mf_call *call, size_t from, size_t to)
{
    sgd_range((const struct step *)call, array(call, 0, from), array(call, 1, from), array(call, 2, from), to - from);
}

/* What all optimisers take from the call. */
static struct step step_of(const struct mf_call *call)
{
    const double *number = call->number;

    return (struct step){.call = *call,
                         .keep = 1,
                         .decay = (float)number[MF_NUMBER_DECAY],
                         .rate = (float)number[MF_NUMBER_LEARNING_RATE],
                         .scale = (float)number[MF_NUMBER_SCALE],
                         .momentum = (float)call->attr->momentum,
                         .first = (float)(1 - call->attr->momentum),
                         .second = (float)(1 - call->attr->second),
                         .epsilon = (float)call->attr->epsilon};
}

static struct step adam_step(const struct mf_call *call)
{
    const double *number = call->number;
    struct step s = step_of(call);

    s.rate = (float)(number[MF_NUMBER_LEARNING_RATE] / (1 - pow(call->attr->momentum, number[MF_NUMBER_STEP])));
    s.root = (float)(1 / sqrt(1 - pow(call->attr->second, number[MF_NUMBER_STEP])));
    return s;
}

static void adam(struct mf_queue *queue, const struct mf_call *call)
{
    const struct step s = adam_step(call);

    mf_cpu_rows(queue, mf_shape_count(&call->in[0].shape), 4, adam_rows, &s.call);
}

static void adamw(struct mf_queue *queue, const struct mf_call *call)
{
    struct step s = adam_step(call);

    s.keep = (float)(1 - call->number[MF_NUMBER_LEARNING_RATE] * call->number[MF_NUMBER_DECAY]);
    s.decay = 0;
    mf_cpu_rows(queue, mf_shape_count(&call->in[0].shape), 4, adam_rows, &s.call);
}

static void sgd(struct mf_queue *queue, const struct mf_call *call)
{
    const struct step s = step_of(call);

    mf_cpu_rows(queue, mf_shape_count(&call->in[0].shape), 3, sgd_rows, &s.call);
}

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
