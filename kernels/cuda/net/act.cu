/* Activations on cuda: relu, silu, gelu, gelu_tanh. */
#include "kernels/cuda/net/net.cuh"
#include "kernels/form/act.h"

namespace
{

struct value_body {
    enum { ARRAYS = 2, READS = 2, WRITES = 1 }; /* y, x */
    int act;
    __device__ void operator()(float *v) const { v[0] = mf_act_value(act, v[1]); }
};

template <class Add> struct slope_body {
    enum { ARRAYS = 3, READS = Add::IS ? 7 : 6, WRITES = 1 }; /* dx, what the slope follows from, dy */
    int act;
    __device__ void operator()(float *v) const { mf_put<Add>(mf_act_slope(act, v[1]) * v[2], v); }
};

void forward(struct mf_queue *q, const struct mf_call *call, int act)
{
    mf_by_type(call->out[0].shape.type, [&](auto number) {
        mf_places_run<decltype(number)>(q, mf_shape_count(&call->out[0].shape), value_body{act},
                                        {{call->out[0].at}, {call->in[0].at}});
    });
}

void backward(struct mf_queue *q, const struct mf_call *call, int act)
{
    void *seen = act == MF_ACT_RELU ? call->out[0].at : call->in[0].at;

    mf_by_type(call->dout.shape.type, [&](auto number) {
        mf_choose(call->add & 1, [&](auto add) {
            mf_places_run<decltype(number)>(q, mf_shape_count(&call->dout.shape), slope_body<decltype(add)>{act},
                                            {{call->din[0].at}, {seen}, {call->dout.at}});
        });
    });
}

template <int ACT> void value(struct mf_queue *q, const struct mf_call *call) { forward(q, call, ACT); }
template <int ACT> void slope(struct mf_queue *q, const struct mf_call *call) { backward(q, call, ACT); }

} // namespace

MF_CUDA_CALLS(relu, value<MF_ACT_RELU>, slope<MF_ACT_RELU>)
MF_CUDA_CALLS(silu, value<MF_ACT_SILU>, slope<MF_ACT_SILU>)
MF_CUDA_CALLS(gelu, value<MF_ACT_GELU>, slope<MF_ACT_GELU>)
MF_CUDA_CALLS(gelu_tanh, value<MF_ACT_GELU_TANH>, slope<MF_ACT_GELU_TANH>)
