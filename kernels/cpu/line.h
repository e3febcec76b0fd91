/* Lines of the cache as vectors: 16 floats that the compiler cuts to what the instruction set has. */
#ifndef MF_KERNELS_CPU_LINE_H
#define MF_KERNELS_CPU_LINE_H

#include <stddef.h>
#include <stdint.h>

enum { MF_LINE = 16 };

#define MF_LINE_INLINE static inline __attribute__((always_inline))

typedef float mf_line __attribute__((vector_size(4 * MF_LINE)));
typedef float mf_line_any __attribute__((vector_size(4 * MF_LINE), aligned(4), may_alias));
typedef int32_t mf_line_bits __attribute__((vector_size(4 * MF_LINE)));

MF_LINE_INLINE mf_line mf_line_turn(mf_line x)
{
#ifdef __clang__
    return __builtin_shufflevector(x, x, 15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0);
#else
    return __builtin_shuffle(x, (mf_line_bits){15, 14, 13, 12, 11, 10, 9, 8, 7, 6, 5, 4, 3, 2, 1, 0});
#endif
}

/** The floats from @p at on, step 1, or before it, step -1. */
MF_LINE_INLINE mf_line mf_line_get(const float *at, int step)
{
    return step > 0 ? (mf_line) * (const mf_line_any *)at : mf_line_turn(*(const mf_line_any *)(at - MF_LINE + 1));
}

MF_LINE_INLINE void mf_line_put(mf_line x, int step, float *at)
{
    if (step > 0)
        *(mf_line_any *)at = x;
    else
        *(mf_line_any *)(at - MF_LINE + 1) = mf_line_turn(x);
}

MF_LINE_INLINE mf_line mf_line_abs(mf_line x) { return (mf_line)((mf_line_bits)x & 0x7fffffff); }

MF_LINE_INLINE mf_line mf_line_max(mf_line a, mf_line b)
{
    const mf_line_bits more = a > b;

    return (mf_line)((more & (mf_line_bits)a) | (~more & (mf_line_bits)b));
}

MF_LINE_INLINE float mf_line_sum(mf_line x)
{
    float sum = 0;

    for (size_t l = 0; l < MF_LINE; ++l) sum += x[l];
    return sum;
}

#endif
