/* grouped_linear on cuda. See kernels/net/route.c. Blocks read on the device where groups begin. A grid has the most
 * blocks that any groups need, and the others return at once. Group g has the tiles of rows from number offset[g] / 128
 * + g on. They are at least as many as its rows fill, and a group never has one of another's. */
#include "kernels/cuda/net/bias_act.cuh"
#include "kernels/cuda/net/block.cuh"
#include "kernels/cuda/net/steady.cuh"

namespace
{

constexpr unsigned LINES = MF_BLOCK_LINES;

/* A call. dw, db: nullptr: not wanted. */
template <class T> struct problem {
    const int32_t *offset; /* [groups + 1] */
    unsigned groups, experts, k, m;
    const T *x, *w;
    const float *bias;
    T *sums, *y; /* sums: nullptr: not kept */
    int act;
    const T *slope;
    T *dx;
    float *dw;
    bool wide, add_x, add_w; /* wide: 16 bytes may be loaded at once */
};

__host__ __device__ unsigned tiles_of(unsigned lines) { return (lines + LINES - 1) / LINES; }
template <class T> __device__ unsigned depths_of(unsigned terms)
{
    return (terms + mf_tile_depth<T> - 1) / mf_tile_depth<T>;
}

static_assert(LINES == MF_GPU_GROUP_LINES, "work memory is for such tiles");

unsigned row_tiles(size_t rows, unsigned groups) { return unsigned(mf_gpu_row_tiles(rows, groups)); }

/* -- groups -- */

__device__ unsigned first_tile(const int32_t *offset, unsigned group)
{
    return unsigned(offset[group]) / LINES + group;
}

/* Some rows of a group, at most LINES. */
struct span {
    unsigned group, rows;
    size_t first;
};

__device__ span span_of(const int32_t *offset, unsigned groups, unsigned tile)
{
    unsigned low = 0, high = groups;

    while (high - low > 1) {
        const unsigned middle = (low + high) / 2;

        (first_tile(offset, middle) <= tile ? low : high) = middle;
    }
    const size_t end = size_t(offset[low + 1]), before = first_tile(offset, low);
    const size_t first = tile < before ? end : size_t(offset[low]) + (tile - before) * LINES;
    const size_t rows = first < end ? end - first : 0;

    return {low, unsigned(rows < LINES ? rows : LINES), first};
}

/* -- products -- */

/* Four numbers of a row that has @p left more. */
template <class T> __device__ void give_four(const float *v, T *to, size_t left, bool wide, bool add)
{
    if (wide && add)
        mf_give<4, mf_truth<true>>(v, to);
    else if (wide)
        mf_store<4>(v, to);
    else
        for (unsigned i = 0; i < 4 && i < left; ++i) to[i] = mf_round<T>(v[i] + (add ? mf_wide(to[i]) : 0.0f));
}

/* y = act(x w' + b). Block (tile of rows, tile of columns). */
template <class T> __global__ void __launch_bounds__(MF_BLOCK_THREADS) forward_kernel(problem<T> s)
{
    MF_SHARED(T, shared);
    const unsigned across = tiles_of(s.m), column = blockIdx.x % across * LINES, columns = s.m - column;
    const span own = span_of(s.offset, s.groups, blockIdx.x / across);
    const size_t expert = own.group % s.experts;
    const T *x = s.x + own.first * s.k, *w = s.w + (expert * s.m + column) * s.k;
    unsigned left = s.k;
    mf_block_sums c = {};

    if (own.rows == 0) return;
    mf_block_product<false, true>(c, shared, depths_of<T>(s.k), own.rows, columns, s.wide,
                                  [&](mf_piece<T> *a, mf_piece<T> *b) {
                                      *a = {x, s.k, own.rows, left};
                                      *b = {w, s.k, columns, left};
                                      x += mf_tile_depth<T>;
                                      w += mf_tile_depth<T>;
                                      left -= mf_tile_depth<T>;
                                  });
    mf_block_give(c, shared, [&](unsigned row, unsigned j, float(&v)[4]) {
        const size_t at = (own.first + row) * s.m + column + j;

        if (row >= own.rows || j >= columns) return;
        for (unsigned n = 0; s.bias && n < 4 && j + n < columns; ++n) v[n] += s.bias[expert * s.m + column + j + n];
        if (s.sums) give_four(v, s.sums + at, columns - j, s.wide, false);
        for (float &number : v) number = mf_act_value(s.act, number);
        give_four(v, s.y + at, columns - j, s.wide, false);
    });
}

/* dx = slope w */
template <class T> __global__ void __launch_bounds__(MF_BLOCK_THREADS) data_kernel(problem<T> s)
{
    MF_SHARED(T, shared);
    const unsigned across = tiles_of(s.k), column = blockIdx.x % across * LINES, columns = s.k - column;
    const span own = span_of(s.offset, s.groups, blockIdx.x / across);
    const T *slope = s.slope + own.first * s.m, *w = s.w + size_t(own.group % s.experts) * s.m * s.k + column;
    unsigned left = s.m;
    mf_block_sums c = {};

    if (own.rows == 0) return;
    mf_block_product<false, false>(c, shared, depths_of<T>(s.m), own.rows, columns, s.wide,
                                   [&](mf_piece<T> *a, mf_piece<T> *b) {
                                       *a = {slope, s.m, own.rows, left};
                                       *b = {w, s.k, left, columns};
                                       slope += mf_tile_depth<T>;
                                       w += size_t(mf_tile_depth<T>) * s.k;
                                       left -= mf_tile_depth<T>;
                                   });
    mf_block_give(c, shared, [&](unsigned row, unsigned j, float(&v)[4]) {
        if (row < own.rows && j < columns)
            give_four(v, s.dx + (own.first + row) * s.k + column + j, columns - j, s.wide, s.add_x);
    });
}

/* The rows of an expert, tile after tile of terms, group after group. */
template <class T> struct rows_of {
    const problem<T> &s;
    unsigned group;
    size_t row, end; /* of the group, from the next tile on */
    __device__ rows_of(const problem<T> &of, unsigned expert) : s(of), group(expert) { enter(); }
    __device__ void enter()
    {
        row = size_t(s.offset[group < s.groups ? group : s.groups]);
        end = size_t(s.offset[group < s.groups ? group + 1 : s.groups]);
    }
    /* Goes on to a group that has rows left, if there is one. */
    __device__ void find()
    {
        for (; row >= end && group < s.groups; enter()) group += s.experts;
    }
    __device__ unsigned left() const { return unsigned(end - row); }
};

template <class T> __device__ unsigned depths_of_rows(const problem<T> &s, unsigned expert)
{
    unsigned sum = 0;

    for (unsigned g = expert; g < s.groups; g += s.experts)
        sum += depths_of<T>(unsigned(s.offset[g + 1] - s.offset[g]));
    return sum;
}

/* dw = slope' x. Block (expert, tile of rows of dw, tile of columns). */
template <class T> __global__ void __launch_bounds__(MF_BLOCK_THREADS) weights_kernel(problem<T> s)
{
    MF_SHARED(T, shared);
    const unsigned across = tiles_of(s.k), down = tiles_of(s.m), expert = blockIdx.x / (across * down);
    const unsigned line = blockIdx.x / across % down * LINES, lines = s.m - line;
    const unsigned column = blockIdx.x % across * LINES, columns = s.k - column;
    rows_of<T> rows(s, expert);
    mf_block_sums c = {};

    mf_block_product<true, false>(c, shared, depths_of_rows(s, expert), lines, columns, s.wide,
                                  [&](mf_piece<T> *a, mf_piece<T> *b) {
                                      rows.find();
                                      *a = {s.slope + rows.row * s.m + line, s.m, rows.left(), lines};
                                      *b = {s.x + rows.row * s.k + column, s.k, rows.left(), columns};
                                      rows.row += mf_tile_depth<T>;
                                  });
    mf_block_give(c, shared, [&](unsigned i, unsigned j, float(&v)[4]) {
        const size_t row = size_t(expert) * s.m + line + i;

        if (i < lines && j < columns) give_four(v, s.dw + row * s.k + column + j, columns - j, s.wide, s.add_w);
    });
}

/* A row has the same bits whatever other rows there are. Unit: a tile of rows, and a column of y. */
template <class T, class U> struct steady_body {
    mf_steady<T, U> s;
    const int32_t *offset;
    unsigned groups, experts;
    __device__ void operator()(size_t unit, unsigned lane) const
    {
        const span own = span_of(offset, groups, unsigned(unit / s.m));
        const size_t column = unit % s.m, end = own.first + own.rows;

        for (size_t r = own.first; r < end; r += MF_STEADY_ROWS)
            s.multiply(r, end, size_t(own.group % experts) * s.m + column, column, lane);
    }
};

/* -- through the activation, and the gradient of the bias -- */

constexpr unsigned WARPS = MF_CUDA_THREADS / MF_CUDA_WARP;

/* slope: nullptr: dy is the slope. part: nullptr: no bias, else [tile][m]. */
template <class T> struct descent {
    const int32_t *offset;
    unsigned groups;
    size_t m;
    int act;
    const T *seen, *dy; /* seen: what the activation's slope follows from */
    T *slope;
    double *part;
};

/* Block (tile of rows, 32 W columns): a warp has some of the rows, a lane W columns. */
template <int W, class T> __global__ void __launch_bounds__(MF_CUDA_THREADS) descent_kernel(descent<T> s)
{
    MF_SHARED(float, shared);
    constexpr unsigned COLUMNS = MF_CUDA_WARP * W;
    const unsigned lane = threadIdx.x % MF_CUDA_WARP, warp = threadIdx.x / MF_CUDA_WARP;
    const unsigned across = unsigned((s.m + COLUMNS - 1) / COLUMNS), tile = blockIdx.x / across;
    const size_t first = size_t(blockIdx.x % across) * COLUMNS, column = first + lane * W;
    const span own = span_of(s.offset, s.groups, tile);
    float sum[W] = {};

    if (own.rows == 0) return;
    for (size_t r = warp; r < own.rows && column < s.m; r += WARPS) {
        const size_t at = (own.first + r) * s.m + column;
        float v[W], seen[W];

        mf_load<W>(s.dy + at, v);
        if (s.slope) {
            mf_load<W>(s.seen + at, seen);
            for (int w = 0; w < W; ++w) v[w] = mf_wide(mf_round<T>(v[w] * mf_act_slope(s.act, seen[w])));
            mf_store<W>(v, s.slope + at);
        }
        for (int w = 0; w < W; ++w) sum[w] += v[w];
    }
    if (!s.part) return;
    for (int w = 0; w < W; ++w) shared[warp * COLUMNS + lane * W + unsigned(w)] = sum[w];
    __syncthreads();
    if (threadIdx.x >= COLUMNS || first + threadIdx.x >= s.m) return;
    double all = 0;

    for (unsigned i = 0; i < WARPS; ++i) all += double(shared[i * COLUMNS + threadIdx.x]);
    s.part[tile * s.m + first + threadIdx.x] = all;
}

/* Adds the tiles of an expert: number i of its biases. */
struct join_body {
    const int32_t *offset;
    unsigned groups, experts;
    size_t m;
    const double *part;
    float *to;
    bool add;
    __device__ void operator()(size_t i) const
    {
        double sum = add ? double(to[i]) : 0;

        for (unsigned g = unsigned(i / m); g < groups; g += experts) {
            const size_t tile = first_tile(offset, g), rows = size_t(offset[g + 1] - offset[g]);

            for (size_t t = tile; t < tile + (rows + LINES - 1) / LINES; ++t) sum += part[t * m + i % m];
        }
        to[i] = float(sum);
    }
};

/* -- calls -- */

const int32_t *offsets(const struct mf_call *call)
{
    return static_cast<const int32_t *>(call->in[3].at) + mf_shape_count(&call->in[3].shape) -
           size_t(call->attr->row_groups) - 1;
}

/* The parts of the bias's gradient stand behind the slope. */
void *parts(const struct mf_call *call) { return static_cast<char *>(call->work) + mf_gpu_act_work(call); }

template <class T> void descend(struct mf_queue *q, const struct mf_call *call, T *slope)
{
    const struct mf_shape &dy = call->dout.shape;
    const unsigned groups = unsigned(call->attr->row_groups), tiles = row_tiles(dy.d[0], groups);
    const bool bias = call->din[2].at != nullptr, act = call->attr->act != MF_ACT_NONE;
    const descent<T> s = {offsets(call),
                          groups,
                          dy.d[1],
                          call->attr->act,
                          static_cast<const T *>(mf_sums(call)),
                          mf_numbers<T>(call->dout),
                          act ? slope : nullptr,
                          bias ? static_cast<double *>(parts(call)) : nullptr};

    if (!bias && !act) return;
    mf_by_width<T>(s.m, {s.seen, s.dy, s.slope}, [&](auto width) {
        constexpr int W = decltype(width)::OF;
        constexpr unsigned COLUMNS = MF_CUDA_WARP * W;

        MF_RUN((descent_kernel<W, T>), tiles * unsigned((s.m + COLUMNS - 1) / COLUMNS), MF_CUDA_THREADS,
               COLUMNS * WARPS * sizeof(float), q, s);
    });
    if (bias) {
        const unsigned experts = unsigned(call->din[2].shape.d[0]);

        mf_each(q, experts * s.m,
                join_body{s.offset, groups, experts, s.m, s.part, mf_floats(call->din[2]), (call->add & 4) != 0});
    }
}

struct mf_shape experts_of(const struct mf_call *call)
{
    return call->in[1].shape.n ? call->in[1].shape : call->din[1].shape;
}

/* @p slope: of the sums, in backward. */
template <class T> problem<T> problem_of(const struct mf_call *call, const T *slope)
{
    const struct mf_shape w = experts_of(call);
    problem<T> s = {};

    s.offset = offsets(call);
    s.groups = unsigned(call->attr->row_groups);
    s.experts = unsigned(w.d[0]);
    s.m = unsigned(w.d[1]);
    s.k = unsigned(w.d[2]);
    s.x = mf_numbers<T>(call->in[0]);
    s.w = mf_numbers<T>(call->in[1]);
    s.bias = mf_floats(call->in[2]);
    s.sums = mf_numbers<T>(call->out[1]);
    s.y = mf_numbers<T>(call->out[0]);
    s.act = call->attr->act;
    s.slope = slope;
    s.dx = mf_numbers<T>(call->din[0]);
    s.dw = mf_floats(call->din[1]);
    s.add_x = call->add & 1;
    s.add_w = call->add & 2;
    s.wide = (s.k | s.m) % (sizeof(float4) / sizeof(T)) == 0;
    for (const void *array : {(const void *)s.x, (const void *)s.w, (const void *)s.sums, (const void *)s.y,
                              (const void *)s.slope, (const void *)s.dx, (const void *)s.dw})
        s.wide = s.wide && mf_aligned(array);
    return s;
}

template <class Kernel> void allow(Kernel *kernel, size_t shared)
{
    MF_CUDA(cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, int(shared)));
}

int plan(struct mf_queue *, const struct mf_call *call, int back, void **made, size_t *work)
{
    const struct mf_shape &y = back ? call->dout.shape : call->out[0].shape;

    *made = nullptr;
    *work = mf_gpu_grouped_work(call, back);
    mf_by_type(y.type, [&](auto number) {
        using T = decltype(number);

        allow(forward_kernel<T>, mf_block_bytes<T>);
        allow(data_kernel<T>, mf_block_bytes<T>);
        allow(weights_kernel<T>, mf_block_bytes<T>);
    });
    return MF_OK;
}

void steady(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &w = call->in[1].shape;
    const unsigned groups = unsigned(call->attr->row_groups);

    mf_steady_by_types(call, [&](auto number, auto weight) {
        const mf_steady<decltype(number), decltype(weight)> s(call, call->in[4]);

        mf_rows_run(q, row_tiles(call->in[0].shape.d[0], groups) * w.d[1],
                    steady_body<decltype(number), decltype(weight)>{s, offsets(call), groups, unsigned(w.d[0])});
    });
}

void forward(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &y = call->out[0].shape;

    if (call->attr->steady) {
        steady(q, call);
        return;
    }
    mf_by_type(y.type, [&](auto number) {
        using T = decltype(number);
        const problem<T> s = problem_of<T>(call, nullptr);

        MF_RUN(forward_kernel<T>, row_tiles(y.d[0], s.groups) * tiles_of(s.m), MF_BLOCK_THREADS, mf_block_bytes<T>, q,
               s);
    });
}

void backward(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_shape &dy = call->dout.shape;

    mf_by_type(dy.type, [&](auto number) {
        using T = decltype(number);
        void *slope = call->attr->act && !call->own ? call->work : call->dout.at;

        descend<T>(q, call, static_cast<T *>(slope));
        if (!call->din[0].at && !call->din[1].at) return;
        const problem<T> s = problem_of<T>(call, static_cast<T *>(slope));

        if (s.dx)
            MF_RUN(data_kernel<T>, row_tiles(dy.d[0], s.groups) * tiles_of(s.k), MF_BLOCK_THREADS, mf_block_bytes<T>, q,
                   s);
        if (s.dw)
            MF_RUN(weights_kernel<T>, s.experts * tiles_of(s.m) * tiles_of(s.k), MF_BLOCK_THREADS, mf_block_bytes<T>, q,
                   s);
    });
}

} // namespace

const struct mf_op_calls mf_op_grouped_linear_cuda = {plan, nullptr, forward, backward};
