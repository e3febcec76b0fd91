/* Optimisers on cuda: adamw, adam, sgd, and the sum of squares. See kernels/form/update.h. */
#include "kernels/form/update.h"

#include "kernels/cuda/net/net.cuh"

namespace
{

struct adam_body {
    enum { ARRAYS = 4, READS = 15, WRITES = 1 | 4 | 8 }; /* parameters, gradients, two moments */
    const struct mf_update *s;
    __device__ void operator()(float *v) const { mf_update_adam(s, v, v[1], v + 2, v + 3); }
};

struct sgd_body {
    enum { ARRAYS = 3, READS = 7, WRITES = 1 | 4 }; /* parameters, gradients, velocity */
    const struct mf_update *s;
    __device__ void operator()(float *v) const { mf_update_sgd(s, v, v[1], v + 2); }
};

struct plain_body {
    enum { ARRAYS = 2, READS = 3, WRITES = 1 };
    const struct mf_update *s;
    __device__ void operator()(float *v) const { mf_update_plain(s, v, v[1]); }
};

struct average_body {
    enum { ARRAYS = 2, READS = 3, WRITES = 1 }; /* the average, parameters */
    const struct mf_update *s;
    __device__ void operator()(float *v) const { mf_update_average(s, v, v[1]); }
};

/* The constants of a step. */
#define MF_STEP_OF(name)                                                                               \
    struct name##_of {                                                                                 \
        __device__ struct mf_update operator()(const struct mf_attr &attr, const double *number) const \
        {                                                                                              \
            return mf_update_##name##_of(&attr, number);                                               \
        }                                                                                              \
    };
MF_STEP_OF(adam)
MF_STEP_OF(adamw)
MF_STEP_OF(sgd)
#undef MF_STEP_OF

template <class Of> void adam_step(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_tensor *in = call->in;

    mf_places_run(q, mf_shape_count(&in[0].shape), adam_body{mf_once<struct mf_update>(q, call, Of())},
                  {{in[0].at}, {in[1].at}, {in[2].at}, {in[3].at}});
}

void sgd(struct mf_queue *q, const struct mf_call *call)
{
    const struct mf_update *s = mf_once<struct mf_update>(q, call, sgd_of());
    const struct mf_tensor *in = call->in;
    const size_t n = mf_shape_count(&in[0].shape);

    if (in[2].at)
        mf_places_run(q, n, sgd_body{s}, {{in[0].at}, {in[1].at}, {in[2].at}});
    else
        mf_places_run(q, n, plain_body{s}, {{in[0].at}, {in[1].at}});
}

void average(struct mf_queue *q, const struct mf_call *call)
{
    mf_places_run(q, mf_shape_count(&call->in[0].shape), average_body{mf_once<struct mf_update>(q, call, sgd_of())},
                  {{call->in[0].at}, {call->in[1].at}});
}

/* -- square_sum: W numbers at a time -- */

template <int W> struct square_body {
    enum { SUMS = 1, MAXIMA = 0 };
    size_t n;
    const float *x;
    double *out;
    __device__ void operator()(size_t i, double *value) const
    {
        const size_t at = i * W;
        float v[W];

        if (at + W <= n) {
            mf_load<W>(x + at, v);
            for (int k = 0; k < W; ++k) value[0] += double(v[k]) * double(v[k]);
        } else {
            for (size_t k = at; k < n; ++k) value[0] += double(x[k]) * double(x[k]);
        }
    }
    __device__ void store(size_t, int, double sum) const { *out = sum; }
};

void square_sum(struct mf_queue *q, const struct mf_call *call)
{
    const size_t n = mf_shape_count(&call->in[0].shape);
    const float *x = mf_floats(call->in[0]);

    mf_by_width<float>(0, {x}, [&](auto width) {
        constexpr size_t W = decltype(width)::OF;

        mf_pass_run(q, 1, (n + W - 1) / W, square_body<W>{n, x, static_cast<double *>(call->out[0].at)});
    });
}

} // namespace

MF_CUDA_CALLS(adamw, adam_step<adamw_of>, nullptr)
MF_CUDA_CALLS(adam, adam_step<adam_of>, nullptr)
MF_CUDA_CALLS(sgd, sgd, nullptr)
MF_CUDA_CALLS(square_sum, square_sum, nullptr)
MF_CUDA_CALLS(average, average, nullptr)
