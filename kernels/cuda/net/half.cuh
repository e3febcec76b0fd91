/* Numbers of 16 bits on cuda: types of arrays. Kernels load and store them; all arithmetic is that of float. */
#ifndef MF_KERNELS_CUDA_NET_HALF_CUH
#define MF_KERNELS_CUDA_NET_HALF_CUH

#include "kernels/cuda/queue.cuh"
#include "src/base/half.h"

struct mf_f16 {
    uint16_t bits;
};
struct mf_bf16 {
    uint16_t bits;
};

/** A weight of 8 bits, without its scale. */
struct mf_i8 {
    int8_t bits;
};

__device__ inline float mf_wide(float x) { return x; }
__device__ inline float mf_wide(mf_i8 x) { return float(x.bits); }
__device__ inline float mf_wide(mf_bf16 x)
{
#ifdef __CUDACC__
    return __uint_as_float(uint32_t(x.bits) << 16);
#else
    return mf_bf16_to(x.bits);
#endif
}
__device__ inline float mf_wide(mf_f16 x)
{
#ifdef __CUDACC__
    float wide;

    asm("cvt.f32.f16 %0, %1;" : "=f"(wide) : "h"(x.bits));
    return wide;
#else
    return mf_f16_to(x.bits);
#endif
}

/** Rounds to the nearest number of the type. */
template <class T> __device__ inline T mf_round(float x);
template <> __device__ inline float mf_round<float>(float x) { return x; }
template <> __device__ inline mf_bf16 mf_round<mf_bf16>(float x)
{
#ifdef __CUDACC__
    mf_bf16 y;

    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
#else
    return {mf_bf16_of(x)};
#endif
}
template <> __device__ inline mf_f16 mf_round<mf_f16>(float x)
{
#ifdef __CUDACC__
    mf_f16 y;

    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(y.bits) : "f"(x));
    return y;
#else
    return {mf_f16_of(x)};
#endif
}

/** Calls @p work with a number of the type of arrays: f32, bf16 or f16. Weights may be i8, too. */
template <class Work> void mf_by_type(enum mf_type type, const Work &work)
{
    MF_ASSERT(type == MF_F32 || type == MF_BF16 || type == MF_F16);
    if (type == MF_BF16)
        work(mf_bf16());
    else if (type == MF_F16)
        work(mf_f16());
    else
        work(float());
}
template <class Work> void mf_by_weight(enum mf_type type, const Work &work)
{
    if (type == MF_I8)
        work(mf_i8());
    else
        mf_by_type(type, work);
}

#endif
