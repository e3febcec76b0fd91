/* Bytes of made samples. See kernels/net/denoise.c. */
#ifndef MF_KERNELS_FORM_QUANTISE_H
#define MF_KERNELS_FORM_QUANTISE_H

#include <stddef.h>

#include "kernels/form/hd.h"

/** A grey value; 0 where x is not a number. */
MF_HD unsigned char mf_quantise_grey(float x)
{
    const float grey = (x + 1) * 127.5f;

    return (unsigned char)(int)(grey > 0 ? (grey < 255 ? grey : 255) : 0);
}

/** The phase of a pixel with @p c channels. */
MF_HD unsigned char mf_quantise_phase(const float *x, size_t c)
{
    size_t most = 0;

    if (c == 1) return x[0] > 0;
    for (size_t k = 1; k < c; ++k) most = x[k] > x[most] ? k : most;
    return (unsigned char)most;
}

#endif
