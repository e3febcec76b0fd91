/* See rounded.h. */
#include "src/model/rounded.h"

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "src/base/half.h"

static void round_row(size_t n, const float *from, int8_t *to, float *scale)
{
    float most = 0;

    for (size_t i = 0; i < n; ++i) most = fmaxf(most, fabsf(from[i]));
    *scale = most / 127;
    for (size_t i = 0; i < n; ++i) to[i] = (int8_t)(most > 0 ? lrintf(from[i] / most * 127) : 0);
}

void mf_narrow(enum mf_type type, size_t n, const float *from, void *to)
{
    int8_t *whole = to;
    uint16_t *half = to;

    for (size_t i = 0; i < n; ++i) switch (type) {
        case MF_I8: whole[i] = (int8_t)lrintf(from[i]); break;
        case MF_BF16: half[i] = mf_bf16_of(from[i]); break;
        default: half[i] = mf_f16_of(from[i]);
        }
}

void mf_widen(enum mf_type type, size_t n, const void *from, float *to)
{
    const int8_t *whole = from;
    const uint16_t *half = from;

    for (size_t i = 0; i < n; ++i)
        to[i] = type == MF_I8 ? (float)whole[i] : type == MF_BF16 ? mf_bf16_to(half[i]) : mf_f16_to(half[i]);
}

size_t mf_rounded(enum mf_type type, size_t rows, size_t columns, const float *from, void *to, float *scale)
{
    const size_t n = rows * columns;
    const uint16_t *half = to;
    size_t fit = 0;

    if (type == MF_I8)
        for (size_t r = 0; r < rows; ++r) round_row(columns, from + r * columns, (int8_t *)to + r * columns, scale + r);
    else if (type == MF_F32)
        memcpy(to, from, n * sizeof *from);
    else
        mf_narrow(type, n, from, to);
    if (type != MF_BF16 && type != MF_F16) return n;
    while (fit < n && isfinite(type == MF_BF16 ? mf_bf16_to(half[fit]) : mf_f16_to(half[fit]))) ++fit;
    return fit;
}
