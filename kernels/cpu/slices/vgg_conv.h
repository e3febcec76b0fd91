/* The 3 x 3 convolutions of VGG-19 on the cores, with bias and activation.
 * Pixels are rows of channels. Maps of at most four channels are matrix products; others use Winograd's method
 * (winograd.h).
 * Rule: the result does not depend on the number of threads. */
#ifndef MF_KERNELS_CPU_VGG_CONV_H
#define MF_KERNELS_CPU_VGG_CONV_H

#include "kernels/cpu/slices/tile.h"
#include "kernels/form/unit.h"
#include "kernels/slices/slices.h"

enum { MF_CPU_VGG_CONV_WIDEST = 512 /* most channels */ };

/** A map of nu x nv pixels, each of so many channels. A framed map has two more rows and columns. */
struct mf_cpu_map {
    size_t nu, nv, channels;
    int framed;
    float *at;
};

/** The channels of pixel p. @p origin: row and column of pixel (0, 0) in the frame of a framed map. */
static inline float *mf_cpu_map_pixel(const struct mf_cpu_map *m, size_t origin, size_t p)
{
    const size_t u = p / m->nv, v = p % m->nv;

    return m->at + (m->framed ? (u + origin) * (m->nv + 2) + v + origin : p) * m->channels;
}

/** to(p) = sum over taps of w times x(p + tap), for several maps of the same weights. With a bias:
 * to(p) = unit(that sum + bias). */
struct mf_cpu_vgg_conv {
    mf_cpu_rows *rows;
    enum mf_unit unit;
    size_t maps;
    struct mf_cpu_map x[MF_PYRAMID_MAX], to[MF_PYRAMID_MAX]; /* x: framed; to: as many pixels, not x itself */
    const float *w, *bias;                                   /* w: [panels][9][channels of x][32] */
    float *sum[MF_PYRAMID_MAX];                              /* inputs of the unit, laid out as to; NULL: not kept */
    size_t origin;                                           /* of to */
    int threads;
    float *work; /* [threads][mf_cpu_vgg_conv_floats()] */
};

/** Floats of working memory that one thread needs. */
size_t mf_cpu_vgg_conv_floats(void);

/** The result does not depend on threads. */
void mf_cpu_vgg_convolve(const struct mf_cpu_vgg_conv *k);

#endif
