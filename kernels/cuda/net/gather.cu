/* gather and keep on cuda. See kernels/net/text.c. */
#include "kernels/cuda/net/rows.cuh"

namespace
{

template <int W, class U, class T> struct value_body {
    size_t n, width;
    const U *table;
    const int32_t *number;
    const float *scale; /* of the rows, or none */
    T *y;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        const bool there = number[row] >= 0 && size_t(number[row]) < n;
        const U *from = table + (there ? size_t(number[row]) * width : 0);
        const float factor = there && scale ? scale[number[row]] : 1;

        mf_lane<W>(width, lane, [&](size_t i) {
            float v[W] = {};

            if (there) mf_load<W>(from + i, v);
            for (int w = 0; w < W; ++w) v[w] *= factor;
            mf_store<W>(v, y + row * width + i);
        });
    }
};

/* A row of the table: those of dout come in their order. */
template <int W, class T> struct slope_body {
    size_t rows, width;
    const int32_t *number;
    const T *dy;
    float *table;
    bool add;
    __device__ void sum(size_t row, const T *from, unsigned lane) const
    {
        mf_lane<W>(width, lane, [&](size_t i) {
            float v[W];

            mf_load<W>(from + i, v);
            mf_give<W, mf_truth<true>>(v, table + row * width + i);
        });
    }
    __device__ void operator()(size_t row, unsigned lane) const
    {
        if (!add)
            mf_lane<W>(width, lane, [&](size_t i) {
                const float zero[W] = {};

                mf_store<W>(zero, table + row * width + i);
            });
        for (size_t first = 0; first < rows; first += MF_CUDA_WARP) {
            const int own = first + lane < rows && number[first + lane] == int32_t(row);

            if (mf_warp_sum(own) == 0) continue;
            for (unsigned k = 0; k < MF_CUDA_WARP; ++k)
                if (__shfl_sync(0xffffffffu, own, int(k))) sum(row, dy + (first + k) * width, lane);
        }
    }
};

template <class U, class T> void forward_as(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &table = call->in[0].shape;
    const U *from = mf_numbers<U>(call->in[0]);
    T *y = mf_numbers<T>(call->out[0]);

    mf_by_width<T>(table.d[1], {from, y}, [&](auto width) {
        mf_rows_run(q, call->out[0].shape.d[0],
                    value_body<decltype(width)::OF, U, T>{table.d[0], table.d[1], from,
                                                          mf_numbers<int32_t>(call->in[1]), mf_floats(call->in[2]), y});
    });
}

void forward(struct mf_queue *q, const struct mf_call *call)
{
    const enum mf_type type = call->in[0].shape.type;

    if (type == call->out[0].shape.type)
        mf_by_type(type, [&](auto number) { forward_as<decltype(number), decltype(number)>(q, call); });
    else
        mf_by_weight(type, [&](auto number) { forward_as<decltype(number), float>(q, call); });
}

void backward(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &dy = call->dout.shape;
    const int32_t *number = mf_numbers<int32_t>(call->in[1]);
    float *table = mf_floats(call->din[0]);

    mf_by_type(dy.type, [&](auto type) {
        using T = decltype(type);
        const T *from = mf_numbers<T>(call->dout);

        mf_by_width<T>(dy.d[1], {from, table}, [&](auto width) {
            mf_rows_run(
                q, call->din[0].shape.d[0],
                slope_body<decltype(width)::OF, T>{dy.d[0], dy.d[1], number, from, table, (call->add & 1) != 0});
        });
    });
}

/* -- keep -- */

template <int W, class T> struct keep_body {
    size_t slots, width;
    const T *x;
    const int32_t *place;
    T *cache;
    __device__ void operator()(size_t row, unsigned lane) const
    {
        if (place[row] < 0 || size_t(place[row]) >= slots) return;
        T *to = cache + size_t(place[row]) * width;

        mf_lane<W>(width, lane, [&](size_t i) {
            float v[W];

            mf_load<W>(x + row * width + i, v);
            mf_store<W>(v, to + i);
        });
    }
};

void keep(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &cache = call->in[1].shape;

    /* Whole numbers move as f32, bit by bit. */
    mf_by_type(cache.type == MF_I32 ? MF_F32 : cache.type, [&](auto type) {
        using T = decltype(type);
        const T *x = mf_numbers<T>(call->in[0]);
        T *to = mf_numbers<T>(call->in[1]);

        mf_by_width<T>(cache.d[1], {x, to}, [&](auto width) {
            mf_rows_run(
                q, mf_shape_rows(&call->in[0].shape),
                keep_body<decltype(width)::OF, T>{cache.d[0], cache.d[1], x, mf_numbers<int32_t>(call->in[2]), to});
        });
    });
}

} // namespace

MF_CUDA_CALLS(gather, forward, backward)
MF_CUDA_CALLS(keep, keep, nullptr)
