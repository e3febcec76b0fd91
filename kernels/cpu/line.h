/* Vectors of 16 floats, one cache line. The compiler splits them into the registers of the instruction set. */
#ifndef MF_KERNELS_CPU_LINE_H
#define MF_KERNELS_CPU_LINE_H

#include <stddef.h>
#include <stdint.h>

enum { MF_LINE = 16 };

#define MF_LINE_INLINE static inline __attribute__((always_inline))

typedef float mf_line __attribute__((vector_size(4 * MF_LINE)));
typedef float mf_line_any __attribute__((vector_size(4 * MF_LINE), aligned(4), may_alias));
typedef int32_t mf_line_bits __attribute__((vector_size(4 * MF_LINE)));

MF_LINE_INLINE mf_line mf_line_get(const float *at) { return (mf_line) * (const mf_line_any *)at; }

MF_LINE_INLINE mf_line mf_line_abs(mf_line x) { return (mf_line)((mf_line_bits)x & 0x7fffffff); }

MF_LINE_INLINE mf_line mf_line_max(mf_line a, mf_line b)
{
    const mf_line_bits more = a > b;

    return (mf_line)((more & (mf_line_bits)a) | (~more & (mf_line_bits)b));
}

#endif
