/* concat, slice and transpose on cuda. See kernels/net/arrange.c. */
#include "kernels/net/arrange.h"

#include "kernels/cuda/net/net.cuh"

namespace
{

/* -- concat and slice: a dense array is a band of columns of a wider one -- */

/* Rows of what stands before the axis. */
struct band {
    size_t rows, n, row, at; /* columns of the band, of the wider array; first column of the band */
};

template <int W, class Add, class T> struct band_body {
    struct band b;
    bool out; /* from the band to the dense array */
    T *wide, *dense;
    __device__ void operator()(size_t i) const
    {
        T *inside = wide + i * W / b.n * b.row + b.at + i * W % b.n, *other = dense + i * W;

        mf_move<W, Add>(out ? inside : other, out ? other : inside);
    }
};

void move(struct mf_queue *q, const struct band &b, bool out, bool add, const struct mf_tensor &wide,
          const struct mf_tensor &dense)
{
    mf_by_type(dense.shape.type, [&](auto number) {
        using T = decltype(number);

        mf_choose(add, [&](auto more) {
            mf_by_width<T>(b.n | b.row | b.at, {wide.at, dense.at}, [&](auto width) {
                constexpr int W = decltype(width)::OF;

                mf_each(q, b.rows * b.n / W,
                        band_body<W, decltype(more), T>{b, out, mf_numbers<T>(wide), mf_numbers<T>(dense)});
            });
        });
    });
}

size_t row_of(const struct mf_call *call, const struct mf_shape &shape)
{
    return mf_extents(&shape, call->attr->axis, shape.n);
}

size_t rows_of(const struct mf_call *call, const struct mf_shape &shape)
{
    return mf_extents(&shape, 0, call->attr->axis);
}

void concat(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &all = call->out[0].shape;
    struct band b = {rows_of(call, all), 0, row_of(call, all), 0};

    for (int j = 0; j < MF_INS && call->in[j].at; ++j, b.at += b.n) {
        b.n = row_of(call, call->in[j].shape);
        move(q, b, false, false, call->out[0], call->in[j]);
    }
}

void concat_back(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &all = call->dout.shape;
    struct band b = {rows_of(call, all), 0, row_of(call, all), 0};

    for (int j = 0; j < MF_INS; ++j, b.at += b.n) {
        const struct mf_shape &shape = call->din[j].shape.n ? call->din[j].shape : call->in[j].shape;

        b.n = shape.n ? row_of(call, shape) : 0;
        if (call->din[j].at) move(q, b, true, call->add >> j & 1, call->dout, call->din[j]);
    }
}

struct band slice_of(const struct mf_call *call, const struct mf_shape &wide, const struct mf_shape &dense)
{
    const size_t n = row_of(call, dense);

    return {rows_of(call, dense), n, row_of(call, wide), n / call->attr->count * call->attr->first};
}

void slice(struct mf_queue *q, const struct mf_call *call)
{
    move(q, slice_of(call, call->in[0].shape, call->out[0].shape), true, false, call->in[0], call->out[0]);
}

void slice_back(struct mf_queue *q, const struct mf_call *call)
{
    const bool add = call->add & 1;
    const struct mf_tensor &dx = call->din[0];

    if (!add) MF_CUDA(cudaMemsetAsync(dx.at, 0, mf_shape_bytes(&dx.shape), mf_cuda_of(q)->stream));
    move(q, slice_of(call, dx.shape, call->dout.shape), false, add, dx, call->dout);
}

/* -- transpose -- */

constexpr unsigned TILE = 32, LINES = MF_CUDA_THREADS / TILE;

template <class T> struct tiles {
    struct mf_swap s; /* behind = 1 */
    size_t down, across;
    const T *x;
    T *y;
};

/* Block (x, y): tile x of matrix y, by way of shared memory. So both sides are read and written in lines. */
template <class Add, class T> __global__ void __launch_bounds__(MF_CUDA_THREADS) tile_kernel(tiles<T> all)
{
    MF_SHARED(float, tile);
    const struct mf_swap &s = all.s;
    const unsigned lane = threadIdx.x % TILE, line = threadIdx.x / TILE;
    const size_t tile_of = blockIdx.x % (all.down * all.across), matrix = blockIdx.x / (all.down * all.across);
    const size_t a = matrix / s.between, b = matrix % s.between;
    const size_t p = tile_of / all.across * TILE, q = tile_of % all.across * TILE;

    for (unsigned i = line; i < TILE && p + i < s.p; i += LINES)
        if (q + lane < s.q)
            tile[i * (TILE + 1) + lane] = mf_wide(all.x[((a * s.p + p + i) * s.between + b) * s.q + q + lane]);
    __syncthreads();
    for (unsigned j = line; j < TILE && q + j < s.q; j += LINES)
        if (p + lane < s.p)
            mf_give<1, Add>(tile + lane * (TILE + 1) + j, all.y + ((a * s.q + q + j) * s.between + b) * s.p + p + lane);
}

/* Numbers behind both axes stay together. */
template <int W, class Add, class T> struct swap_body {
    struct mf_swap s;
    const T *x;
    T *y;
    __device__ void operator()(size_t i) const
    {
        const size_t k = i * W % s.behind, row = i * W / s.behind; /* row: [before][q][between][p] */
        const size_t p = row % s.p, b = row / s.p % s.between, q = row / s.p / s.between % s.q;
        const size_t a = row / s.p / s.between / s.q;

        mf_move<W, Add>(x + (((a * s.p + p) * s.between + b) * s.q + q) * s.behind + k, y + i * W);
    }
};

template <class Add, class T> void swap_axes(struct mf_queue *q, const struct mf_swap &s, const T *x, T *y)
{
    const size_t n = s.before * s.p * s.between * s.q * s.behind;

    if (n == 0) return;
    if (s.behind == 1) {
        const tiles<T> all = {s, (s.p + TILE - 1) / TILE, (s.q + TILE - 1) / TILE, x, y};

        MF_RUN((tile_kernel<Add, T>), unsigned(s.before * s.between * all.down * all.across), MF_CUDA_THREADS,
               TILE * (TILE + 1) * sizeof(float), q, all);
        return;
    }
    mf_by_width<T>(s.behind, {x, y}, [&](auto width) {
        constexpr int W = decltype(width)::OF;

        mf_each(q, n / W, swap_body<W, Add, T>{s, x, y});
    });
}

void turn(struct mf_queue *q, const struct mf_call *call, const struct mf_tensor &from, const struct mf_tensor &to,
          bool add)
{
    mf_by_type(from.shape.type, [&](auto number) {
        using T = decltype(number);

        mf_choose(add, [&](auto more) {
            swap_axes<decltype(more), T>(q, mf_swap_of(call->attr, &from.shape), mf_numbers<T>(from),
                                         mf_numbers<T>(to));
        });
    });
}

void transpose(struct mf_queue *q, const struct mf_call *call) { turn(q, call, call->in[0], call->out[0], false); }
void transpose_back(struct mf_queue *q, const struct mf_call *call)
{
    turn(q, call, call->dout, call->din[0], call->add & 1);
}

} // namespace

MF_CUDA_CALLS(concat, concat, concat_back)
MF_CUDA_CALLS(slice, slice, slice_back)
MF_CUDA_CALLS(transpose, transpose, transpose_back)
