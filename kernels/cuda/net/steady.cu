/* steady_linear on cuda. See kernels/net/text.c. A warp has a row of the weights and a few rows of x. */
#include "kernels/cuda/net/steady.cuh"

namespace
{

template <class T, class U> struct steady_body {
    mf_steady<T, U> s;
    size_t rows;
    __device__ void operator()(size_t unit, unsigned lane) const
    {
        const size_t column = unit % s.m;

        s.multiply(unit / s.m * MF_STEADY_ROWS, rows, column, column, lane);
    }
};

void forward(struct mf_queue *q, const struct mf_call *call)
{
    const size_t rows = mf_shape_rows(&call->in[0].shape), m = call->in[1].shape.d[0];

    mf_steady_by_types(call, [&](auto number, auto weight) {
        const mf_steady<decltype(number), decltype(weight)> s(call, call->in[3]);

        mf_rows_run(q, (rows + MF_STEADY_ROWS - 1) / MF_STEADY_ROWS * m,
                    steady_body<decltype(number), decltype(weight)>{s, rows});
    });
}

} // namespace

MF_CUDA_CALLS(steady_linear, forward, nullptr)
