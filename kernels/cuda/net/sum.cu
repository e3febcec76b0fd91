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
template <class T> struct repeated_body {
    enum { SUMS = 1 };
    size_t n;
    const T *dy, *a;
    T *db;
    bool add;
    __device__ void operator()(size_t row, size_t column, double *value) const
    {
        const size_t i = row * n + column;

        value[0] += double(mf_wide(dy[i])) * (a ? double(mf_wide(a[i])) : 1);
    }
    __device__ void store(size_t, size_t column, int, double sum) const
    {
        db[column] = mf_round<T>(float(add ? double(mf_wide(db[column])) + sum : sum));
    }
};

template <class T> void sum_repetitions(struct mf_queue *q, const struct mf_call *call, const T *a)
{
    const size_t all = mf_shape_count(&call->dout.shape), n = mf_shape_count(&call->din[1].shape);

    mf_columns_run(
        q, 1, all / n, n,
        repeated_body<T>{n, mf_numbers<T>(call->dout), a, mf_numbers<T>(call->din[1]), (call->add & 2) != 0});
}

/* -- add -- */

void add_forward(struct mf_queue *q, const struct mf_call *call)
{
    const size_t all = mf_shape_count(&call->out[0].shape);

    mf_by_type(call->out[0].shape.type, [&](auto number) {
        mf_places_run<decltype(number)>(
            q, all, sum_body{}, {{call->out[0].at}, {call->in[0].at}, {call->in[1].at, repeated(call->in[1], all)}});
    });
}

/* A part that is not repeated may be dout itself. */
template <class T> void move(struct mf_queue *q, const struct mf_call *call, int j)
{
    const bool add = call->add >> j & 1;

    if (!add && call->din[j].at == call->dout.at) return;
    mf_choose(add, [&](auto more) {
        mf_places_run<T>(q, mf_shape_count(&call->dout.shape), move_body<decltype(more)>{},
                         {{call->din[j].at}, {call->dout.at}});
    });
}

void add_backward(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->dout.shape.type, [&](auto number) {
        using T = decltype(number);

        if (call->din[0].at) move<T>(q, call, 0);
        if (!call->din[1].at) return;
        if (repeated(call->din[1], mf_shape_count(&call->dout.shape)))
            sum_repetitions<T>(q, call, nullptr);
        else
            move<T>(q, call, 1);
    });
}

/* -- mul -- */

template <class T> void multiply(struct mf_queue *q, bool add, void *to, size_t n, void *x, const struct mf_operand &y)
{
    mf_choose(add, [&](auto more) { mf_places_run<T>(q, n, product_body<decltype(more)>{}, {{to}, {x}, y}); });
}

void mul_forward(struct mf_queue *q, const struct mf_call *call)
{
    const size_t all = mf_shape_count(&call->out[0].shape);

    mf_by_type(call->out[0].shape.type, [&](auto number) {
        multiply<decltype(number)>(q, false, call->out[0].at, all, call->in[0].at,
                                   {call->in[1].at, repeated(call->in[1], all)});
    });
}

/* The second gradient first: the other may take the memory of dout. */
template <class T> void mul_backward_of(struct mf_queue *q, const struct mf_call *call)
{
    const size_t all = mf_shape_count(&call->dout.shape);

    if (call->din[1].at && repeated(call->din[1], all))
        sum_repetitions<T>(q, call, mf_numbers<T>(call->in[0]));
    else if (call->din[1].at)
        multiply<T>(q, call->add & 2, call->din[1].at, all, call->dout.at, {call->in[0].at});
    if (call->din[0].at)
        multiply<T>(q, call->add & 1, call->din[0].at, all, call->dout.at,
                    {call->in[1].at, repeated(call->in[1], all)});
}

void mul_backward(struct mf_queue *q, const struct mf_call *call)
{
    mf_by_type(call->dout.shape.type, [&](auto number) { mul_backward_of<decltype(number)>(q, call); });
}

} // namespace

MF_CUDA_CALLS(add, add_forward, add_backward)
MF_CUDA_CALLS(mul, mul_forward, mul_backward)
