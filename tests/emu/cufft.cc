/* See cufft.h. A plan wants a work area, and spoils it, so that one that is missing or shared too freely is seen. */
#include "tests/emu/cufft.h"

#include <fftw3.h>

#include <map>

namespace
{

struct plan {
    int nu, nv, batch, automatic;
    cudaStream_t stream;
    float *work;
    fftwf_plan forward, inverse;
};

/* As large as the transforms: what kernels/slices/areas.c counts with. */
size_t work_bytes(const plan &p) { return size_t(p.batch) * size_t(p.nu) * size_t(p.nv) * sizeof(float2); }

std::map<cufftHandle, plan> &plans = *new std::map<cufftHandle, plan>;
int next;

bool known(cufftHandle h) { return plans.count(h) != 0; }

} // namespace

extern "C" {

cufftResult cufftCreate(cufftHandle *h)
{
    *h = ++next;
    plans[*h] = plan{0, 0, 0, 1, nullptr, nullptr, nullptr, nullptr};
    return CUFFT_SUCCESS;
}

cufftResult cufftDestroy(cufftHandle h)
{
    if (!known(h)) return CUFFT_INVALID_PLAN;
    if (plans[h].forward) fftwf_destroy_plan(plans[h].forward);
    if (plans[h].inverse) fftwf_destroy_plan(plans[h].inverse);
    plans.erase(h);
    return CUFFT_SUCCESS;
}

cufftResult cufftSetAutoAllocation(cufftHandle h, int automatic)
{
    if (!known(h)) return CUFFT_INVALID_PLAN;
    plans[h].automatic = automatic;
    return CUFFT_SUCCESS;
}

cufftResult cufftMakePlanMany(cufftHandle h, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                              int ostride, int odist, cufftType type, int batch, size_t *bytes)
{
    if (!known(h)) return CUFFT_INVALID_PLAN;
    if (rank != 2 || inembed || onembed || istride != 1 || ostride != 1 || idist != n[0] * n[1] || odist != idist ||
        type != CUFFT_C2C || batch < 1 || plans[h].automatic)
        return CUFFT_INVALID_VALUE;
    plan &p = plans[h];
    auto *z = fftwf_alloc_complex(size_t(batch) * size_t(idist));

    if (!z) return CUFFT_ALLOC_FAILED;
    p.nu = n[0];
    p.nv = n[1];
    p.batch = batch;
    p.forward = fftwf_plan_many_dft(2, n, batch, z, nullptr, 1, idist, z, nullptr, 1, idist, FFTW_FORWARD,
                                    FFTW_ESTIMATE | FFTW_UNALIGNED);
    p.inverse = fftwf_plan_many_dft(2, n, batch, z, nullptr, 1, idist, z, nullptr, 1, idist, FFTW_BACKWARD,
                                    FFTW_ESTIMATE | FFTW_UNALIGNED);
    fftwf_free(z);
    *bytes = work_bytes(p);
    return p.forward && p.inverse ? CUFFT_SUCCESS : CUFFT_ALLOC_FAILED;
}

cufftResult cufftSetWorkArea(cufftHandle h, void *work)
{
    if (!known(h)) return CUFFT_INVALID_PLAN;
    plans[h].work = static_cast<float *>(work);
    return CUFFT_SUCCESS;
}

cufftResult cufftSetStream(cufftHandle h, cudaStream_t stream)
{
    if (!known(h)) return CUFFT_INVALID_PLAN;
    plans[h].stream = stream;
    return CUFFT_SUCCESS;
}

cufftResult cufftExecC2C(cufftHandle h, cufftComplex *in, cufftComplex *out, int direction)
{
    if (!known(h) || !plans[h].work || !plans[h].stream || in != out) return CUFFT_INVALID_PLAN;
    const plan p = plans[h];

    mf_emu_enqueue(p.stream, [=]() {
        auto *z = reinterpret_cast<fftwf_complex *>(in);

        memset(p.work, 0xff, work_bytes(p));
        fftwf_execute_dft(direction == CUFFT_FORWARD ? p.forward : p.inverse, z, z);
    });
    return CUFFT_SUCCESS;
}
}
