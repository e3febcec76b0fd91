/* add and mul on cuda. The second operand, of n numbers, is repeated. */
#include "kernels/cuda/net/rows.cuh"

namespace
{

size_t repeated(const struct mf_tensor &b, size_t all)
{
    const size_t n = mf_shape_count(&b.shape);

    return n < all ? n : 0;
}

struct sum_body {
    enum { ARRAYS = 3, READS = 6, WRITES = 1 }; /* y, a, b */
    __device__ void operator()(float *v) const { v[0] = v[1] + v[2]; }
};

template <class Add> struct move_body {
    enum { ARRAYS = 2, READS = Add::IS ? 3 : 2, WRITES = 1 }; /* to, from */
    __device__ void operator()(float *v) const { mf_put<Add>(v[1], v); }
};

template <class Add> struct product_body {
    enum { ARRAYS = 3, READS = Add::IS ? 7 : 6, WRITES = 1 }; /* to, two factors */
    __device__ void operator()(float *v) const { mf_put<Add>(v[1] * v[2], v); }
};

/* The gradient of what was repeated is the sum over its repetitions. a: NULL for add. */
struct repeated_body {
    enum { SUMS = 1 };
    size_t n;
    const float *dy, *a;
    float *db;
    bool add;
    __device__ void operator()(size_t row, size_t column, double *value) const
    {
        const size_t i = row * n + column;

        value[0] += a ? double(dy[i]) * double(a[i]) : double(dy[i]);
    }
    __device__ void store(size_t, size_t column, int, double sum) const
    {
        db[column] = float(add ? double(db[column]) + sum : sum);
    }
};

void sum_repetitions(struct mf_queue *q, const struct mf_call *call, const float *a)
{
    const size_t all = mf_shape_count(&call->dout.shape), n = mf_shape_count(&call->din[1].shape);

    mf_columns_run(q, 1, all / n, n,
                   repeated_body{n, mf_floats(call->dout), a, mf_floats(call->din[1]), (call->add & 2) != 0});
}

/* -- add -- */

void add_forward(struct mf_queue *q, const struct mf_call *call)
{
    const size_t all = mf_shape_count(&call->out[0].shape);

    mf_places_run(
        q, all, sum_body{},
        {{mf_floats(call->out[0])}, {mf_floats(call->in[0])}, {mf_floats(call->in[1]), repeated(call->in[1], all)}});
}

/* What is not repeated may be dout itself. */
void move(struct mf_queue *q, const struct mf_call *call, int j)
{
    const bool add = call->add >> j & 1;

    if (!add && call->din[j].at == call->dout.at) return;
    mf_choose(add, [&](auto more) {
        mf_places_run(q, mf_shape_count(&call->dout.shape), move_body<decltype(more)>{},
                      {{mf_floats(call->din[j])}, {mf_floats(call->dout)}});
    });
}

void add_backward(struct mf_queue *q, const struct mf_call *call)
{
    if (call->din[0].at) move(q, call, 0);
    if (!call->din[1].at) return;
    if (repeated(call->din[1], mf_shape_count(&call->dout.shape)))
        sum_repetitions(q, call, nullptr);
    else
        move(q, call, 1);
}

/* -- mul -- */

void multiply(struct mf_queue *q, bool add, float *to, size_t n, float *x, const struct mf_operand &y)
{
    mf_choose(add, [&](auto more) { mf_places_run(q, n, product_body<decltype(more)>{}, {{to}, {x}, y}); });
}

void mul_forward(struct mf_queue *q, const struct mf_call *call)
{
    const size_t all = mf_shape_count(&call->out[0].shape);

    multiply(q, false, mf_floats(call->out[0]), all, mf_floats(call->in[0]),
             {mf_floats(call->in[1]), repeated(call->in[1], all)});
}

/* The second gradient first: the other may take the memory of dout. */
void mul_backward(struct mf_queue *q, const struct mf_call *call)
{
    const size_t all = mf_shape_count(&call->dout.shape);
    float *dy = mf_floats(call->dout);

    if (call->din[1].at && repeated(call->din[1], all))
        sum_repetitions(q, call, mf_floats(call->in[0]));
    else if (call->din[1].at)
        multiply(q, call->add & 2, mf_floats(call->din[1]), all, dy, {mf_floats(call->in[0])});
    if (call->din[0].at)
        multiply(q, call->add & 1, mf_floats(call->din[0]), all, dy,
                 {mf_floats(call->in[1]), repeated(call->in[1], all)});
}

} // namespace

MF_CUDA_CALLS(add, add_forward, add_backward)
MF_CUDA_CALLS(mul, mul_forward, mul_backward)
