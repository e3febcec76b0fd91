/* Convolutions of 3 x 3 pixels of maps whose pixels are rows of channels, by points (winograd.h) or, of up to
 * four channels, by the definition as a product of matrices, with the unit behind them. */
#ifndef MF_KERNELS_CPU_CONV_H
#define MF_KERNELS_CPU_CONV_H

#include "kernels/cpu/slices/tile.h"
#include "kernels/form/unit.h"
#include "kernels/slices/slices.h"

enum { MF_CPU_CONV_WIDEST = 512 /* most channels */ };

/** A map of some pixels with some channels each; in a frame of two more rows and columns, or without one. */
struct mf_cpu_map {
    size_t nu, nv, channels;
    int framed;
    float *at;
};

/** Channels of pixel p; @p origin: of a frame, where its pixel (0, 0) is. */
static inline float *mf_cpu_map_pixel(const struct mf_cpu_map *m, size_t origin, size_t p)
{
    const size_t u = p / m->nv, v = p % m->nv;

    return m->at + (m->framed ? (u + origin) * (m->nv + 2) + v + origin : p) * m->channels;
}

/** to(p) = sum over taps of x(frame's p + tap) times w, of some maps with the same weights; with a bias, the unit of
 * that and the bias. */
struct mf_cpu_conv {
    mf_cpu_rows *rows;
    enum mf_unit unit;
    size_t maps;
    struct mf_cpu_map x[MF_PYRAMID_MAX], to[MF_PYRAMID_MAX]; /* x in a frame; to of as many pixels, anything but x */
    const float *w, *bias;                                   /* w: [panels][9][channels of x][32] */
    float *sum[MF_PYRAMID_MAX];                              /* of the unit, laid out as to; NULL: not kept */
    size_t origin;                                           /* of to */
    int threads;
    float *work; /* [threads][mf_cpu_conv_floats()] */
};

/** What a thread needs for points, of 64 to 512 channels. */
size_t mf_cpu_conv_floats(void);

/** The result does not depend on threads. */
void mf_cpu_convolve(const struct mf_cpu_conv *k);

#endif
