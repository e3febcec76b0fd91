/* Numbers of 16 bits: F16 (IEEE 754 half precision) and BF16 (the upper half of a float). Rule: conversions from float
 * round to the nearest value, ties to even. */
#ifndef MF_BASE_HALF_H
#define MF_BASE_HALF_H

#include <stdint.h>
#include <string.h>

static inline uint32_t mf_float_bits(float value)
{
    uint32_t bits;

    memcpy(&bits, &value, sizeof bits);
    return bits;
}

static inline float mf_bits_float(uint32_t bits)
{
    float value;

    memcpy(&value, &bits, sizeof value);
    return value;
}

/** NaN stays NaN. Too large a value becomes infinite. */
static inline uint16_t mf_bf16_of(float value)
{
    const uint32_t bits = mf_float_bits(value);

    if ((bits & 0x7FFFFFFF) > 0x7F800000) return (uint16_t)(bits >> 16 | 0x40);
    return (uint16_t)((bits + 0x7FFF + (bits >> 16 & 1)) >> 16);
}

static inline float mf_bf16_to(uint16_t half) { return mf_bits_float((uint32_t)half << 16); }

/** The same for F16, whose values below 2^-14 have fewer digits. */
static inline uint16_t mf_f16_of(float value)
{
    const uint32_t bits = mf_float_bits(value), sign = bits >> 16 & 0x8000, size = bits & 0x7FFFFFFF;

    if (size > 0x7F800000) return (uint16_t)(sign | 0x7E00);
    if (size >= 0x47800000) return (uint16_t)(sign | 0x7C00); /* from 65536 on */
    /* The last digit of 0.5 is 2^-24, the unit of such small values: the sum is rounded to it. */
    if (size < 0x38800000) return (uint16_t)(sign | (mf_float_bits(mf_bits_float(size) + 0.5F) - 0x3F000000));
    return (uint16_t)(sign | (size - 0x38000000 + 0xFFF + (size >> 13 & 1)) >> 13);
}

static inline float mf_f16_to(uint16_t half)
{
    const uint32_t sign = (uint32_t)(half & 0x8000) << 16, size = half & 0x7FFF;

    if (size >= 0x7C00) return mf_bits_float(sign | 0x7F800000 | size << 13);
    if (size < 0x400) return mf_bits_float(sign | mf_float_bits((float)size * 0x1p-24F));
    return mf_bits_float(sign | (size + 0x1C000) << 13);
}

#endif
