/* The part of cuFFT that kernels/cuda uses, on FFTW. See cuda_runtime.h. */
#ifndef MF_EMU_CUFFT_H
#define MF_EMU_CUFFT_H

#include <cuda_runtime.h>

#define CUFFT_VER_MAJOR 12
#define CUFFT_FORWARD   (-1)
#define CUFFT_INVERSE   1

typedef int cufftHandle;
typedef float2 cufftComplex;
enum cufftResult { CUFFT_SUCCESS = 0, CUFFT_INVALID_PLAN = 1, CUFFT_ALLOC_FAILED = 2, CUFFT_INVALID_VALUE = 4 };
enum cufftType { CUFFT_C2C = 0x29 };

extern "C" {
cufftResult cufftCreate(cufftHandle *plan);
cufftResult cufftDestroy(cufftHandle plan);
cufftResult cufftSetAutoAllocation(cufftHandle plan, int automatic);
cufftResult cufftMakePlanMany(cufftHandle plan, int rank, int *n, int *inembed, int istride, int idist, int *onembed,
                              int ostride, int odist, cufftType type, int batch, size_t *bytes);
cufftResult cufftSetWorkArea(cufftHandle plan, void *work);
cufftResult cufftSetStream(cufftHandle plan, cudaStream_t stream);
cufftResult cufftExecC2C(cufftHandle plan, cufftComplex *in, cufftComplex *out, int direction);
}

#endif
