/* conv2d on cpu. See kernels/net/conv.c. */
#include <stdlib.h>

#include "kernels/cpu/net/bias_act.h"
#include "kernels/cpu/net/conv_pass.h"
#include "kernels/cpu/net/net.h"
#include "src/base/err.h"

/* Forward, or one or both gradients. */
struct plan {
    struct mf_conv_pass *forward, *data, *weights;
    size_t turned; /* bytes of the weights that data reads, if they are not the call's */
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

/* With stride 1 the gradient of the images is itself a convolution: of dout, by weights that are turned. The library is
 * faster at that than at its own gradient. */
static int open_data(struct mf_queue *queue, const struct mf_call *call, struct plan *p, size_t *work)
{
    const size_t *w = call->in[1].shape.d;
    const struct mf_attr attr = {.stride = 1, .pad = (int)w[2] - 1 - call->attr->pad};
    struct mf_call turned = {.attr = &attr, .in = {call->dout, call->in[1]}, .out = {call->din[0]}};

    if (call->attr->stride > 1 || attr.pad < 0 || w[2] != w[3])
        return open_pass(queue, call, MF_CONV_DATA, &p->data, work);
    turned.in[1].shape.d[0] = w[1];
    turned.in[1].shape.d[1] = w[0];
    p->turned = mf_whole_lines(mf_shape_bytes(&call->in[1].shape));
    return open_pass(queue, &turned, MF_CONV_FORWARD, &p->data, work);
}

static int open_all(struct mf_queue *queue, const struct mf_call *call, int back, struct plan *p, size_t *work)
{
    if (!back) return open_pass(queue, call, MF_CONV_FORWARD, &p->forward, work);
    if (call->din[0].shape.n) MF_TRY(open_data(queue, call, p, work));
    if (call->din[1].shape.n) MF_TRY(open_pass(queue, call, MF_CONV_WEIGHTS, &p->weights, work));
    return MF_OK;
}

/* Work memory: the gradient before the activation, turned weights, then what the passes need. */
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
    if (back) *work += mf_bias_act_work(call) + p->turned;
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

struct turn {
    struct mf_call call; /* first: what mf_cpu_rows() hands on */
    void *to;
};

/* to [c][o][window, the last first] = w [o][c][window], for channels [from, end). */
#define TURN(type)                                                                                 \
    static void turn_##type(const struct mf_call *call, size_t from, size_t end)                   \
    {                                                                                              \
        const size_t *d = call->in[1].shape.d, window = d[2] * d[3];                               \
        const type *w = call->in[1].at;                                                            \
        type *to = ((const struct turn *)call)->to;                                                \
                                                                                                   \
        for (size_t c = from; c < end; ++c)                                                        \
            for (size_t o = 0; o < d[0]; ++o)                                                      \
                for (size_t k = 0; k < window; ++k)                                                \
                    to[(c * d[0] + o) * window + window - 1 - k] = w[(o * d[1] + c) * window + k]; \
    }
TURN(float)
TURN(uint16_t)

static void data_backward(struct mf_queue *queue, const struct mf_call *call, void *slope, char *work)
{
    const struct plan *p = call->plan;
    const struct turn turn = {*call, work};
    const int half = call->in[1].shape.type != MF_F32;
    const size_t *d = call->in[1].shape.d;

    if (!p->turned) {
        mf_conv_pass_run(p->data, call->din[0].at, call->in[1].at, slope, NULL, work);
        return;
    }
    mf_cpu_rows(queue, d[1], d[0] * d[2] * d[3], half ? turn_uint16_t : turn_float, &turn.call);
    mf_conv_pass_run(p->data, slope, turn.to, call->din[0].at, NULL, work + p->turned);
}

static void backward(struct mf_queue *queue, const struct mf_call *call)
{
    const struct plan *p = call->plan;
    void *slope = mf_bias_act_backward(queue, call);
    char *work = (char *)call->work + mf_bias_act_work(call);

    if (p->data) data_backward(queue, call, slope, work);
    if (p->weights) mf_conv_pass_run(p->weights, call->in[0].at, call->din[1].at, slope, NULL, work);
    mf_bias_backward(queue, call, slope);
}

const struct mf_op_calls mf_op_conv2d_cpu = {
    .plan = plan, .release = release, .forward = forward, .backward = backward};
