/* linear on cpu. See kernels/net/linear.c. */
#include <stdlib.h>

#include "kernels/cpu/net/bias_act.h"
#include "kernels/cpu/net/net.h"
#include "kernels/cpu/net/product.h"
#include "src/base/err.h"

/* -- bf16 -- */

/* Products: forward; or the gradients of x and w. */
struct plan {
    struct mf_product *forward, *data, *weights;
};

static void release(void *made)
{
    struct plan *p = made;

    mf_product_close(p->forward);
    mf_product_close(p->data);
    mf_product_close(p->weights);
    free(p);
}

static int open_forward(struct mf_queue *queue, const struct mf_call *call, struct plan *p)
{
    const size_t k = call->in[1].shape.d[1], m = call->in[1].shape.d[0];
    const struct mf_product_wish wish = {.tb = 1,
                                         .bias = call->in[2].shape.n > 0,
                                         .relu = call->attr->act == MF_ACT_RELU,
                                         .m = mf_shape_rows(&call->in[0].shape),
                                         .n = m,
                                         .k = k,
                                         .lda = k,
                                         .ldb = k,
                                         .ldc = m,
                                         .type = call->out[0].shape.type};

    return mf_product_open(&p->forward, &wish, 1, queue->threads);
}

static int open_backward(struct mf_queue *queue, const struct mf_call *call, struct plan *p)
{
    const size_t m = mf_shape_last(&call->dout.shape), rows = mf_shape_rows(&call->dout.shape);
    const struct mf_shape *dx = &call->din[0].shape, *dw = &call->din[1].shape;

    if (dx->n) {
        const size_t k = call->in[1].shape.d[1];
        const struct mf_product_wish wish = {
            .add = call->add & 1, .m = rows, .n = k, .k = m, .lda = m, .ldb = k, .ldc = k, .type = dx->type};

        MF_TRY(mf_product_open(&p->data, &wish, 1, queue->threads));
    }
    if (dw->n) {
        const size_t k = dw->d[1];
        const struct mf_product_wish wish = {.ta = 1,
                                             .add = call->add >> 1 & 1,
                                             .m = m,
                                             .n = k,
                                             .k = rows,
                                             .lda = m,
                                             .ldb = k,
                                             .ldc = k,
                                             .type = dw->type};

        MF_TRY(mf_product_open(&p->weights, &wish, 1, queue->threads));
    }
    return MF_OK;
}

static size_t work_of(const struct plan *p)
{
    const struct mf_product *const one[] = {p->forward, p->data, p->weights};
    size_t most = 0;

    for (int i = 0; i < 3; ++i)
        if (one[i] && mf_product_work(one[i]) > most) most = mf_product_work(one[i]);
    return most;
}

/* Backward through the activation works in dout, or else at the beginning of work memory. */
static int plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work)
{
    struct plan *p;
    int rc;

    *made = NULL;
    *work = back ? mf_bias_act_work(call) : 0;
    if ((back ? call->dout : call->in[0]).shape.type == MF_F32) return MF_OK;
    p = MF_MUST(calloc(1, sizeof *p), "products");
    rc = back ? open_backward(queue, call, p) : open_forward(queue, call, p);
    if (rc != MF_OK) {
        release(p);
        return rc;
    }
    *made = p;
    *work += work_of(p);
    return MF_OK;
}

/* The product adds the bias and does relu; other activations keep what they get. */
static void forward_half(struct mf_queue *queue, const struct mf_call *call)
{
    const struct plan *p = call->plan;

    mf_product_run(p->forward, call->in[0].at, call->in[1].at, call->out[call->out[1].at ? 1 : 0].at, call->in[2].at,
                   call->work);
    if (call->out[1].at) mf_bias_act_forward(queue, call, NULL);
}

static void backward_half(struct mf_queue *queue, const struct mf_call *call)
{
    const struct plan *p = call->plan;
    const void *slope = mf_bias_act_backward(queue, call);
    char *work = (char *)call->work + mf_bias_act_work(call);

    if (p->data) mf_product_run(p->data, slope, call->in[1].at, call->din[0].at, NULL, work);
    if (p->weights) mf_product_run(p->weights, slope, call->in[0].at, call->din[1].at, NULL, work);
    mf_bias_backward(queue, call, slope);
}

/* -- f32 -- */

static void forward_f32(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t k = call->in[1].shape.d[1], m = call->in[1].shape.d[0], rows = mf_shape_rows(&call->in[0].shape);
    float *sum = call->out[1].at ? call->out[1].at : call->out[0].at;
    const struct mf_gemm product = {.tb = 1,
                                    .m = rows,
                                    .n = m,
                                    .k = k,
                                    .a = call->in[0].at,
                                    .lda = k,
                                    .b = call->in[1].at,
                                    .ldb = k,
                                    .c = sum,
                                    .ldc = m};

    mf_cpu_gemm(queue, &product);
    mf_bias_act_forward(queue, call, call->in[2].at);
}

static void backward_f32(struct mf_queue *queue, const struct mf_call *call)
{
    const size_t m = mf_shape_last(&call->dout.shape), rows = mf_shape_rows(&call->dout.shape);
    const float *slope = mf_bias_act_backward(queue, call);

    if (call->din[0].at) {
        const size_t k = call->in[1].shape.d[1];
        const struct mf_gemm product = {.add = call->add & 1,
                                        .m = rows,
                                        .n = k,
                                        .k = m,
                                        .a = slope,
                                        .lda = m,
                                        .b = call->in[1].at,
                                        .ldb = k,
                                        .c = call->din[0].at,
                                        .ldc = k};

        mf_cpu_gemm(queue, &product);
    }
    if (call->din[1].at) {
        const size_t k = call->din[1].shape.d[1];
        const struct mf_gemm product = {.ta = 1,
                                        .add = call->add >> 1 & 1,
                                        .m = m,
                                        .n = k,
                                        .k = rows,
                                        .a = slope,
                                        .lda = m,
                                        .b = call->in[0].at,
                                        .ldb = k,
                                        .c = call->din[1].at,
                                        .ldc = k};

        mf_cpu_gemm(queue, &product);
    }
    mf_bias_backward(queue, call, slope);
}

static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    (call->plan ? forward_half : forward_f32)(queue, call);
}

static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    (call->plan ? backward_half : backward_f32)(queue, call);
}

const struct mf_op_calls mf_op_linear_cpu = {
    .plan = plan, .release = release, .forward = forward, .backward = backward};
