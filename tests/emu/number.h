/* Numbers of the stand-ins for libraries: f32, and two types of 16 bits, computed in double. */
#ifndef MF_EMU_NUMBER_H
#define MF_EMU_NUMBER_H

#include <cmath>
#include <cstdint>
#include <cstring>

enum kind { FLOAT, HALF, BFLOAT };

inline size_t bytes_of(kind k) { return k == FLOAT ? 4 : 2; }

/* sign, exponent, digits: those of bf16 and f16 differ in their lengths alone */
inline double number_at(kind k, const void *at, size_t i)
{
    const int digits = k == HALF ? 10 : 7, bias = k == HALF ? 15 : 127;
    uint16_t bits;
    uint64_t wide;
    float real;
    double size;

    if (k == FLOAT) {
        memcpy(&real, static_cast<const char *>(at) + i * 4, 4);
        return double(real);
    }
    memcpy(&bits, static_cast<const char *>(at) + i * 2, 2);
    const unsigned exponent = unsigned(bits & 0x7fff) >> digits, rest = bits & ((1u << digits) - 1);

    wide = uint64_t(exponent == 2u * unsigned(bias) + 1 ? 2047 : exponent + 1023 - unsigned(bias)) << 52 |
           uint64_t(rest) << (52 - digits);
    memcpy(&size, &wide, sizeof size);
    if (exponent == 0) size = rest * (k == HALF ? 0x1p-24 : 0x1p-133);
    return bits & 0x8000 ? -size : size;
}

/* Rounds to the nearest, of two to the even one. */
inline void put_number(kind k, void *at, size_t i, double x)
{
    const int digits = k == HALF ? 10 : 7, bias = k == HALF ? 15 : 127, infinite = (2 * bias + 1) << digits;
    const float real = float(x);
    int exponent = 0, bits = infinite;
    uint16_t whole;

    if (k == FLOAT) {
        memcpy(static_cast<char *>(at) + i * 4, &real, 4);
        return;
    }
    if (std::isfinite(x)) {
        (void)std::frexp(x, &exponent); /* x = f 2^exponent, f from 0.5 on; 0 has no such f */
        exponent = x == 0 || exponent + bias - 1 < 1 ? 1 : exponent + bias - 1;
        bits = int(std::nearbyint(std::ldexp(std::fabs(x), bias + digits - exponent))) + ((exponent - 1) << digits);
        if (bits > infinite) bits = infinite;
    } else if (std::isnan(x)) {
        bits = infinite + 1;
    }
    whole = uint16_t(bits | (std::signbit(x) ? 0x8000 : 0));
    memcpy(static_cast<char *>(at) + i * 2, &whole, 2);
}

#endif
