/* Packs labels into bits. */
#ifndef MF_KERNELS_CPU_PACK_H
#define MF_KERNELS_CPU_PACK_H

#include <stdint.h>

/** Bit i: label[i] == phase, for 16 labels. */
#ifdef __SSE2__
#include <emmintrin.h>

static inline uint32_t mf_pack16(const uint8_t *label, uint8_t phase)
{
    const __m128i equal = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)label), _mm_set1_epi8((char)phase));

    return (uint32_t)_mm_movemask_epi8(equal);
}
#else
static inline uint32_t mf_pack16(const uint8_t *label, uint8_t phase)
{
    uint32_t word = 0;

    for (unsigned i = 0; i < 16; ++i) word |= (uint32_t)(label[i] == phase) << i;
    return word;
}
#endif

#endif
