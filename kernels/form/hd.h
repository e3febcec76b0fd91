/* Formulas that gcc and nvcc both read: each is written once, every back end writes its own loop around it. */
#ifndef MF_KERNELS_FORM_HD_H
#define MF_KERNELS_FORM_HD_H

#ifdef __CUDACC__
#define MF_HD static __host__ __device__ __forceinline__
#else
#define MF_HD static inline __attribute__((always_inline))
#endif

#endif
