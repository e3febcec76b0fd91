/* Cross-correlations of two fields of slices, D(r) = mean over p of x(p) y(p + r). They are computed as sums, because
 * windows are small compared with slices. */
#include "kernels/cuda/slices/lags.cuh"

namespace
{

/* All lags of the window, rows du. */
struct window {
    int lag, count;
    __device__ void operator()(int i, int *du, int *dv) const
    {
        const int side = 2 * lag - 1;

        *du = i / side - lag + 1;
        *dv = i % side - lag + 1;
    }
};

mf_lags<window> work_of(const struct mf_packed_job *job)
{
    const int lag = int(job->desc->lag);

    return {{lag, int(job->entries)},
            job->at.nu,
            job->at.nv,
            job->desc->periodic,
            job->count,
            job->at.x,
            job->at.y,
            job->value,
            job->stride};
}

void value(const struct mf_packed_job *job) { mf_lags_values(job->q, work_of(job), 1); }

/* dA/dx(p) = sum over r of c(r) y(p + r), dA/dy(p) = sum over r of c(r) x(p - r) */
void gradient(const struct mf_packed_job *job)
{
    mf_lags_gradient<true, false>(job->q, work_of(job), 1, job->at.g);
    mf_lags_gradient<false, true>(job->q, work_of(job), 1, job->at.h);
}

} // namespace

static constexpr struct mf_packed_family pairs = {&mf_packed_cross, nullptr, value, gradient};

MF_PACKED_OPS(mf_cross_cuda, mf_kind_cross, nullptr, mf_packed_total_pairs, nullptr, pairs);
