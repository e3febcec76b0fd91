/* linear on cuda: three products. See kernels/net/linear.c. */
#include "kernels/cuda/net/linear.cuh"

#include <stdlib.h>

#include "kernels/cuda/net/bias_act.cuh"
#include "kernels/cuda/net/net.cuh"
#include "kernels/cuda/net/product.cuh"

namespace
{

/* Forward, or one or both gradients. */
struct plan {
    struct mf_product *forward, *data, *weights;
    size_t front; /* bytes of the bias in the type of y, or of the gradient of the sums, before what products need */
};

size_t columns(const struct mf_shape &weights) { return mf_shape_count(&weights) / weights.d[0]; }

/* The library's gelu is the approximation. It stores what the gelu gets, if the call keeps that. */
int epilogue_of(const struct mf_call *call)
{
    const int bias = call->in[2].shape.n ? MF_LT_BIAS : 0, keep = call->out[1].shape.n ? MF_LT_AUX : 0;

    if (call->attr->act == MF_ACT_RELU) return bias | MF_LT_RELU;
    if (call->attr->act == MF_ACT_GELU_TANH) return bias | MF_LT_GELU | keep;
    return bias;
}

bool has_act(const struct mf_product *product)
{
    return (mf_product_epilogue(product) & (MF_LT_RELU | MF_LT_GELU)) != 0;
}

/* y = x w' */
int plan_forward(struct mf_queue *q, const struct mf_call *call, struct plan *p)
{
    const struct mf_shape &y = call->out[0].shape, &w = call->in[1].shape;
    const struct mf_product_of of = {.ta = false,
                                     .tb = true,
                                     .add = false,
                                     .m = mf_shape_rows(&y),
                                     .n = w.d[0],
                                     .k = columns(w),
                                     .batch = 1,
                                     .type = w.type,
                                     .result = y.type,
                                     .epilogue = epilogue_of(call)};

    return mf_product_new(q, &of, &p->forward);
}

/* The library adds a bias of the type of y. */
void *bias_of(struct mf_queue *q, const struct mf_call *call, const struct plan *p)
{
    struct mf_call as = {};

    if (!p->front || !(mf_product_epilogue(p->forward) & MF_LT_BIAS)) return call->in[2].at;
    as.in[0] = call->in[2];
    as.out[0] = {call->work, call->in[2].shape};
    as.out[0].shape.type = call->out[0].shape.type;
    mf_op_cast_cuda.forward(q, &as);
    return call->work;
}

/* dx = dy w */
int plan_data(struct mf_queue *q, const struct mf_call *call, struct plan *p)
{
    const struct mf_shape &dy = call->dout.shape, &w = call->in[1].shape;
    const struct mf_product_of of = {.ta = false,
                                     .tb = false,
                                     .add = (call->add & 1) != 0,
                                     .m = mf_shape_rows(&dy),
                                     .n = columns(w),
                                     .k = w.d[0],
                                     .batch = 1,
                                     .type = dy.type,
                                     .result = call->din[0].shape.type,
                                     .epilogue = 0};

    return mf_product_new(q, &of, &p->data);
}

/* dw = dy' x, and the sums of dy's columns, if they need not be added to others */
int plan_weights(struct mf_queue *q, const struct mf_call *call, struct plan *p)
{
    const struct mf_shape &dy = call->dout.shape, &dw = call->din[1].shape;
    const struct mf_product_of of = {.ta = true,
                                     .tb = false,
                                     .add = (call->add & 2) != 0,
                                     .m = dw.d[0],
                                     .n = columns(dw),
                                     .k = mf_shape_rows(&dy),
                                     .batch = 1,
                                     .type = dy.type,
                                     .result = dw.type,
                                     .epilogue = call->din[2].shape.n && !(call->add & 4) ? MF_LT_BIAS_GRAD : 0};

    return mf_product_new(q, &of, &p->weights);
}

int plan_back(struct mf_queue *q, const struct mf_call *call, struct plan *p)
{
    if (call->din[0].shape.n) MF_TRY(plan_data(q, call, p));
    if (call->din[1].shape.n) MF_TRY(plan_weights(q, call, p));
    return MF_OK;
}

} // namespace

int mf_linear_plan(struct mf_queue *q, const struct mf_call *call, int back, void **made, size_t *work)
{
    struct plan *p = static_cast<struct plan *>(MF_MUST(calloc(1, sizeof *p), "a linear operation"));
    const int rc = back ? plan_back(q, call, p) : plan_forward(q, call, p);

    p->front = mf_gpu_linear_front(call, back);
    if (rc != MF_OK) {
        mf_linear_release(p);
        return rc;
    }
    *work = 0;
    for (const struct mf_product *product : {p->forward, p->data, p->weights})
        if (mf_product_work(product) > *work) *work = mf_product_work(product);
    *work += p->front;
    *made = p;
    return MF_OK;
}

void mf_linear_release(void *made)
{
    struct plan *p = static_cast<struct plan *>(made);

    mf_product_free(p->forward);
    mf_product_free(p->data);
    mf_product_free(p->weights);
    free(p);
}

void mf_linear_forward(struct mf_queue *q, const struct mf_call *call)
{
    const struct plan *p = static_cast<struct plan *>(call->plan);
    const struct mf_product *product = p->forward;
    const bool act = has_act(product);

    mf_product_run(q, product, call->in[0].at, call->in[1].at, act ? call->out[0].at : mf_sums(call),
                   {bias_of(q, call, p), call->out[1].at}, static_cast<char *>(call->work) + p->front);
    if (!(mf_product_epilogue(product) & MF_LT_BIAS)) mf_bias_forward(q, call);
    if (!act) mf_act_forward(q, call);
}

void mf_linear_backward(struct mf_queue *q, const struct mf_call *call)
{
    const struct plan *p = static_cast<struct plan *>(call->plan);
    void *slope = mf_act_backward(q, call), *work = static_cast<char *>(call->work) + p->front;

    if (p->data) mf_product_run(q, p->data, slope, call->in[1].at, call->din[0].at, {}, work);
    if (p->weights)
        mf_product_run(q, p->weights, slope, call->in[0].at, call->din[1].at, {call->din[2].at, nullptr}, work);
    if (!p->weights || !(mf_product_epilogue(p->weights) & MF_LT_BIAS_GRAD)) mf_bias_backward(q, call, slope);
}

const struct mf_op_calls mf_op_linear_cuda = {mf_linear_plan, mf_linear_release, mf_linear_forward, mf_linear_backward};
