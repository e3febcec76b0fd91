/* MF_HD marks a formula that gcc and nvcc both compile.
 * Rule: a formula is written once; every back end writes its own loop around it. */
#ifndef MF_KERNELS_FORM_HD_H
#define MF_KERNELS_FORM_HD_H

/* MF_EACH is a loop over a constant number of things side by side, which becomes vector code.
 * NOLINTBEGIN(bugprone-macro-parentheses): w is a name */
#ifdef __CUDACC__
#define MF_HD         static __host__ __device__ __forceinline__
#define MF_EACH(w, n) for (int w = 0; w < (n); ++w)
#else
#define MF_HD         static inline __attribute__((always_inline))
#define MF_EACH(w, n) _Pragma("omp simd") for (int w = 0; w < (n); ++w)
#endif
/* NOLINTEND(bugprone-macro-parentheses) */

#endif
