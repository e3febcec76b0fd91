/* conv2d on cpu. See kernels/net/conv.c. */
#include <stdlib.h>

#include "kernels/cpu/net/bias_act.h"
#include "kernels/cpu/net/conv_pass.h"
#include "kernels/cpu/net/net.h"
#include "src/base/err.h"

/* Forward, or one or both gradients. */
struct plan {
    struct mf_conv_pass *forward, *data, *weights;
};

static void release(void *made)
{
    struct plan *p = made;

    mf_conv_pass_close(p->forward);
    mf_conv_pass_close(p->data);
    mf_conv_pass_close(p->weights);
    free(p);
}

/* Opens a pass; the passes of a call share their work memory. */
static int open_pass(struct mf_queue *queue, const struct mf_call *call, enum mf_conv_kind kind,
                     struct mf_conv_pass **pass, size_t *work)
{
    MF_TRY(mf_conv_pass_open(pass, kind, call, queue->threads));
    if (mf_conv_pass_work(*pass) > *work) *work = mf_conv_pass_work(*pass);
    return MF_OK;
}

static int open_all(struct mf_queue *queue, const struct mf_call *call, int back, struct plan *p, size_t *work)
{
    if (!back) return open_pass(queue, call, MF_CONV_FORWARD, &p->forward, work);
    if (call->din[0].shape.n) MF_TRY(open_pass(queue, call, MF_CONV_DATA, &p->data, work));
    if (call->din[1].shape.n) MF_TRY(open_pass(queue, call, MF_CONV_WEIGHTS, &p->weights, work));
    return MF_OK;
}

/* Work memory: the gradient before the activation, then what the passes need. */
static int plan(struct mf_queue *queue, const struct mf_call *call, int back, void **made, size_t *work)
{
    struct plan *p = MF_MUST(calloc(1, sizeof *p), "a convolution");
    int rc;

    *work = 0;
    rc = open_all(queue, call, back, p, work);
    if (rc != MF_OK) {
        release(p);
        return rc;
    }
    if (back) *work += mf_bias_act_work(call);
    *made = p;
    return MF_OK;
}

/* The pass adds the bias and does relu; other activations keep what they get. */
static void forward(struct mf_queue *queue, const struct mf_call *call)
{
    const struct plan *p = call->plan;

    mf_conv_pass_run(p->forward, call->in[0].at, call->in[1].at, call->out[call->out[1].at ? 1 : 0].at, call->in[2].at,
                     call->work);
    if (call->out[1].at) mf_bias_act_forward(queue, call, NULL);
}

static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    const struct plan *p = call->plan;
    float *slope = mf_bias_act_backward(queue, call);
    void *work = (char *)call->work + mf_bias_act_work(call);

    if (p->data) mf_conv_pass_run(p->data, call->din[0].at, call->in[1].at, slope, NULL, work);
    if (p->weights) mf_conv_pass_run(p->weights, call->in[0].at, call->din[1].at, slope, NULL, work);
    mf_bias_backward(queue, call, slope);
}

const struct mf_op_calls mf_op_conv2d_cpu = {
    .plan = plan, .release = release, .forward = forward, .backward = backward};
