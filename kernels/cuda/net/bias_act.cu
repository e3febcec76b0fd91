/* See bias_act.cuh. Activations are the operations of act.cu. */
#include "kernels/cuda/net/bias_act.cuh"

#include "kernels/cuda/net/rows.cuh"

namespace
{

struct bias_body {
    enum { ARRAYS = 2, READS = 3, WRITES = 1, F32 = 2 }; /* sums, bias */
    __device__ void operator()(float *v) const { v[0] += v[1]; }
};

template <class T> struct columns_body {
    enum { SUMS = 1 };
    size_t n;
    const T *slope;
    float *to;
    bool add;
    __device__ void operator()(size_t row, size_t column, double *value) const
    {
        value[0] += double(mf_wide(slope[row * n + column]));
    }
    __device__ void store(size_t, size_t column, int, double sum) const
    {
        to[column] = float(add ? double(to[column]) + sum : sum);
    }
};

const struct mf_op_calls *act_of(const struct mf_call *call)
{
    switch (call->attr->act) {
    case MF_ACT_RELU: return &mf_op_relu_cuda;
    case MF_ACT_SILU: return &mf_op_silu_cuda;
    case MF_ACT_GELU: return &mf_op_gelu_cuda;
    case MF_ACT_GELU_TANH: return &mf_op_gelu_tanh_cuda;
    default: return nullptr;
    }
}

} // namespace

void mf_bias_forward(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &y = call->out[0].shape;

    if (!call->in[2].at) return;
    mf_by_type(y.type, [&](auto number) {
        mf_places_run<decltype(number)>(q, mf_shape_count(&y), bias_body{},
                                        {{mf_sums(call)}, {call->in[2].at, mf_shape_last(&y)}});
    });
}

void mf_act_forward(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_op_calls *act = act_of(call);
    struct mf_call as = {};

    as.in[0] = {mf_sums(call), call->out[0].shape};
    as.out[0] = call->out[0];
    if (act) act->forward(q, &as);
}

void *mf_act_backward(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_op_calls *act = act_of(call);
    struct mf_call as = {};

    if (!act) return call->dout.at;
    as.in[0] = as.out[0] = {mf_sums(call), call->dout.shape};
    as.dout = call->dout;
    as.din[0] = {call->own ? call->dout.at : call->work, call->dout.shape};
    act->backward(q, &as);
    return as.din[0].at;
}

void mf_bias_backward(struct mf_queue *q, const struct mf_call *call, const void *slope)
{
    const size_t rows = mf_shape_rows(&call->dout.shape), n = mf_shape_last(&call->dout.shape);

    if (!call->din[2].at) return;
    mf_by_type(call->dout.shape.type, [&](auto number) {
        using T = decltype(number);

        mf_columns_run(
            q, 1, rows, n,
            columns_body<T>{n, static_cast<const T *>(slope), mf_floats(call->din[2]), (call->add & 4) != 0});
    });
}
