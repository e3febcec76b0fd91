/* adamw on cpu (Loshchilov, Hutter, "Decoupled weight decay regularization", ICLR 2019, algorithm 2; constants as
 * PyTorch):
 *
 *   m = 0.9 m + 0.1 g,  v = 0.999 v + 0.001 g^2,  p = p (1 - rate decay) - rate m' / (sqrt(v') + 1e-8)
 *
 * with m' = m / (1 - 0.9^t), v' = v / (1 - 0.999^t) at step t. */
#include <math.h>

#include "kernels/cpu/net/net.h"
#include "src/base/err.h"

struct adamw {
    struct mf_call call; /* first: what mf_cpu_rows() hands on */
    float keep, rate, root, scale;
};

MF_CPU_FAST static void range(const struct adamw *a, float *p, const float *g, float *m, float *v, size_t n)
{
    const float keep = a->keep, rate = a->rate, root = a->root, scale = a->scale;

#pragma omp simd
    for (size_t i = 0; i < n; ++i) {
        const float slope = g[i] * scale;

        m[i] += 0.1F * (slope - m[i]);
        v[i] += 0.001F * (slope * slope - v[i]);
        p[i] = p[i] * keep - rate * m[i] / (sqrtf(v[i]) * root + 1e-8F);
    }
}

static void rows(const struct mf_call *call, size_t from, size_t to)
{
    range((const struct adamw *)call, (float *)call->in[0].at + from, (const float *)call->in[1].at + from,
          (float *)call->in[2].at + from, (float *)call->in[3].at + from, to - from);
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    const double *number = call->number, step = number[MF_NUMBER_STEP], rate = number[MF_NUMBER_LEARNING_RATE];
    const struct adamw a = {.call = *call,
                            .keep = (float)(1 - rate * number[MF_NUMBER_DECAY]),
                            .rate = (float)(rate / (1 - pow(0.9, step))),
                            .root = (float)(1 / sqrt(1 - pow(0.999, step))),
                            .scale = (float)number[MF_NUMBER_SCALE]};

    mf_cpu_rows(queue, mf_shape_count(&call->in[0].shape), 4, rows, &a.call);
}

const struct mf_op_calls mf_op_adamw_cpu = {.forward = forward};

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
