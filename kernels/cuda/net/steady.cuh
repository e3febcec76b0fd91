/* Products of few rows with a row of weights, by a warp: steady_linear, and grouped_linear with attr.steady.
 * Rule: a lane has the same terms of a sum whatever other rows there are, and wherever the arrays stand. So a row has
 * the same bits. */
#ifndef MF_KERNELS_CUDA_NET_STEADY_CUH
#define MF_KERNELS_CUDA_NET_STEADY_CUH

#include "kernels/cuda/net/rows.cuh"
#include "kernels/form/act.h"

constexpr unsigned MF_STEADY_ROWS = 4, MF_STEADY_TERMS = 8;

/** Numbers [i, i + MF_STEADY_TERMS) of a row of k, with zeros behind its end. */
template <class T> __device__ inline void mf_steady_load(const T *row, size_t i, size_t k, bool wide, float *v)
{
    if (wide) {
        mf_load<MF_STEADY_TERMS>(row + i, v);
        return;
    }
    for (unsigned j = 0; j < MF_STEADY_TERMS; ++j) v[j] = i + j < k ? mf_wide(row[i + j]) : 0;
}

/** A call. T: numbers of x [..][k] and y [..][m]. U: those of the weights, whose rows have bias and scale. */
template <class T, class U> struct mf_steady {
    size_t k, m;
    const T *x;
    const U *w;
    const float *bias, *scale;
    T *y;
    int act;
    bool wide;

    explicit mf_steady(const struct mf_call *call, const struct mf_tensor &scales)
        : k(mf_shape_last(&call->in[1].shape)), m(mf_shape_last(&call->out[0].shape)), x(mf_numbers<T>(call->in[0])),
          w(mf_numbers<U>(call->in[1])), bias(mf_floats(call->in[2])), scale(mf_floats(scales)),
          y(mf_numbers<T>(call->out[0])), act(call->attr->act),
          wide(k % MF_STEADY_TERMS == 0 && mf_aligned(x) && mf_aligned(w))
    {
    }

    /** Rows [first, end) of x, at most MF_STEADY_ROWS, by row @p line of the weights. They are column @p column of y.
     * All lanes of a warp call it. */
    __device__ void multiply(size_t first, size_t end, size_t line, size_t column, unsigned lane) const
    {
        float sum[MF_STEADY_ROWS] = {}, v[MF_STEADY_TERMS], u[MF_STEADY_TERMS];

        for (size_t i = size_t(lane) * MF_STEADY_TERMS; i < k; i += size_t(MF_CUDA_WARP) * MF_STEADY_TERMS) {
            mf_steady_load(w + line * k, i, k, wide, u);
            MF_UNROLL
            for (unsigned r = 0; r < MF_STEADY_ROWS; ++r) {
                if (first + r >= end) break;
                mf_steady_load(x + (first + r) * k, i, k, wide, v);
                for (unsigned j = 0; j < MF_STEADY_TERMS; ++j) sum[r] += v[j] * u[j];
            }
        }
        for (unsigned r = 0; r < MF_STEADY_ROWS && first + r < end; ++r) {
            const float product = mf_warp_sum(sum[r]) * (scale ? scale[line] : 1);
            const float all = product + (bias ? bias[line] : 0);

            if (lane == 0) y[(first + r) * m + column] = mf_round<T>(mf_act_value(act, all));
        }
    }
};

/** Calls @p work with numbers of the types of x and of the weights. */
template <class Work> void mf_steady_by_types(const struct mf_call *call, const Work &work)
{
    mf_by_type(call->in[0].shape.type,
               [&](auto number) { mf_by_weight(call->in[1].shape.type, [&](auto weight) { work(number, weight); }); });
}

#endif
