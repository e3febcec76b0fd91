/* steady_linear on cuda. See kernels/net/text.c. A warp has a row of the weights and a few rows of x.
 * Rule: a lane has the same terms of a sum whatever other rows there are, and wherever the arrays stand. So a row has
 * the same bits. */
#include "kernels/cuda/net/rows.cuh"
#include "kernels/form/act.h"

namespace
{

constexpr unsigned ROWS = 4, TERMS = 8;

/* Numbers [i, i + TERMS) of a row of k, with zeros behind its end. */
template <class T> __device__ inline void load(const T *row, size_t i, size_t k, bool wide, float *v)
{
    if (wide) {
        mf_load<TERMS>(row + i, v);
        return;
    }
    for (unsigned j = 0; j < TERMS; ++j) v[j] = i + j < k ? mf_wide(row[i + j]) : 0;
}

template <class T, class U> struct steady_body {
    size_t rows, k, m;
    const T *x;
    const U *w;
    const float *bias, *scale;
    T *y;
    int act;
    bool wide;
    __device__ void operator()(size_t unit, unsigned lane) const
    {
        const size_t column = unit % m, first = unit / m * ROWS;
        float sum[ROWS] = {}, v[TERMS], u[TERMS];

        for (size_t i = size_t(lane) * TERMS; i < k; i += size_t(MF_CUDA_WARP) * TERMS) {
            load(w + column * k, i, k, wide, u);
            MF_UNROLL
            for (unsigned r = 0; r < ROWS; ++r) {
                if (first + r >= rows) break;
                load(x + (first + r) * k, i, k, wide, v);
                for (unsigned j = 0; j < TERMS; ++j) sum[r] += v[j] * u[j];
            }
        }
        for (unsigned r = 0; r < ROWS && first + r < rows; ++r) {
            const float product = mf_warp_sum(sum[r]) * (scale ? scale[column] : 1);
            const float all = product + (bias ? bias[column] : 0);

            if (lane == 0) y[(first + r) * m + column] = mf_round<T>(mf_act_value(act, all));
        }
    }
};

void forward(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &w = call->in[1].shape;
    const size_t rows = mf_shape_rows(&call->in[0].shape), k = w.d[1], m = w.d[0];
    const bool wide = k % TERMS == 0 && mf_aligned(call->in[0].at) && mf_aligned(call->in[1].at);

    mf_by_type(call->in[0].shape.type, [&](auto number) {
        using T = decltype(number);

        mf_by_weight(w.type, [&](auto weight) {
            using U = decltype(weight);

            mf_rows_run(q, (rows + ROWS - 1) / ROWS * m,
                        steady_body<T, U>{rows, k, m, mf_numbers<T>(call->in[0]), mf_numbers<U>(call->in[1]),
                                          mf_floats(call->in[2]), mf_floats(call->in[3]), mf_numbers<T>(call->out[0]),
                                          call->attr->act, wide});
        });
    });
}

} // namespace

MF_CUDA_CALLS(steady_linear, forward, nullptr)
