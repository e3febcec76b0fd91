/* The natural logarithm without calls and branches, so that loops become vector code. */
#ifndef MF_KERNELS_FORM_LOG_H
#define MF_KERNELS_FORM_LOG_H

#include <math.h>
#include <stdint.h>
#include <string.h>

#include "kernels/form/hd.h"

/** log(x) of a positive normal number, to 1e-7 of itself or of 1. x is 2^k m, with m within a factor of sqrt(2) of 1.
 * The series of log(m) = 2 artanh((m - 1) / (m + 1)) does the rest. */
MF_HD float mf_log(float x)
{
    float m, s, z;
    uint32_t bits;
    int32_t k;

    memcpy(&bits, &x, sizeof bits);
    k = (int32_t)(bits - 0x3f3504f3u) >> 23; /* sqrt(1 / 2) */
    bits -= (uint32_t)k << 23;
    memcpy(&m, &bits, sizeof m);
    s = (m - 1) / (m + 1);
    z = s * s;
    s = 2 * s + 2 * s * z * (1.0f / 3 + z * (1.0f / 5 + z * (1.0f / 7 + z * (1.0f / 9))));
    return (float)k * 0.693359375f + (s - (float)k * 2.12194440e-4f); /* ln 2 in two parts */
}

#endif
