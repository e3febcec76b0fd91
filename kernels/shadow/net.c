/* Operations of networks on the shadow: see shadow.h. All of them by one wrapper. */
#include "kernels/net/ops.h"

#include "kernels/shadow/shadow.h"
#include "src/base/err.h"

typedef void one_call(struct mf_queue *queue, const struct mf_call *call);

static void run(struct mf_queue *q, const struct mf_call *call, enum mf_op_id op, one_call *work)
{
    const void *at[2 * MF_INS + MF_OUTS + 2];
    size_t n = 0;

    for (int i = 0; i < MF_INS; ++i) {
        at[n++] = call->in[i].at;
        at[n++] = call->din[i].at;
    }
    for (int i = 0; i < MF_OUTS; ++i) at[n++] = call->out[i].at;
    at[n++] = call->dout.at;
    at[n++] = call->work;
    mf_shadow_device(mf_ops[op]->name, n, at);
    mf_shadow_enter();
    work(mf_shadow_inner(q), call);
    mf_shadow_leave();
}

static int plan(struct mf_queue *q, const struct mf_call *call, int back, void **made, size_t *work, enum mf_op_id op)
{
    const struct mf_op_calls *calls = mf_backend_cpu.net->calls[op];

    *made = NULL;
    *work = 0;
    return calls->plan ? calls->plan(mf_shadow_inner(q), call, back, made, work) : MF_OK;
}

#define CALLS(NAME, name)                                                                                       \
    static int name##_plan(struct mf_queue *q, const struct mf_call *call, int back, void **made, size_t *work) \
    {                                                                                                           \
        return plan(q, call, back, made, work, MF_OP_##NAME);                                                   \
    }                                                                                                           \
    static void name##_release(void *made) { mf_backend_cpu.net->calls[MF_OP_##NAME]->release(made); }          \
    static void name##_forward(struct mf_queue *q, const struct mf_call *call)                                  \
    {                                                                                                           \
        run(q, call, MF_OP_##NAME, mf_backend_cpu.net->calls[MF_OP_##NAME]->forward);                           \
    }                                                                                                           \
    static void name##_backward(struct mf_queue *q, const struct mf_call *call)                                 \
    {                                                                                                           \
        run(q, call, MF_OP_##NAME, mf_backend_cpu.net->calls[MF_OP_##NAME]->backward);                          \
    }                                                                                                           \
    static const struct mf_op_calls name##_calls = {name##_plan, name##_release, name##_forward, name##_backward};
MF_OP_LIST(CALLS)

const struct mf_op_table mf_net_shadow = {{
#define ROW(NAME, name) [MF_OP_##NAME] = &name##_calls,
    MF_OP_LIST(ROW)
#undef ROW
}};
