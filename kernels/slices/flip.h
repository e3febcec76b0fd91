/* Energies of single flips in binary slices, for swap polish. A window holds the neighbours of a pixel p at the lags
 * -L+1 .. L-1 as `rows` rows of `words` 32-bit words. Bit b of row k is set where pixel p + (k - L+1, b - L+1) is in
 * the phase. Spare bits and the centre are 0.
 * Rule: all arrays are in host memory and the host computes, whatever the back end. */
#ifndef MF_KERNELS_FLIP_H
#define MF_KERNELS_FLIP_H

#include <stddef.h>
#include <stdint.h>

struct mf_window_shape {
    size_t rows, words; /* 2L-1; ceil((2L-1) / 32) */
    size_t n;           /* rows * words: words of a window; a residual has 32 floats for each */
};

static inline struct mf_window_shape mf_window_shape_of(size_t lag)
{
    const size_t rows = 2 * lag - 1, words = (rows + 31) / 32;

    return (struct mf_window_shape){rows, words, rows * words};
}

/**
 * Sums of one window against a residual.
 *   linear = sum over set bits r of residual[r]
 *   count  = sum over set bits of a2[r];  both = sum over bits set in the window and in its mirror image of a2[r]
 */
struct mf_flip_sums {
    float linear, count, both;
};

struct mf_flip_ops {
    /** @p a2 [n * 32]: squared lag weights; NULL: all 1. @p mirror: the window rotated by 180 degrees. */
    void (*sums)(const struct mf_window_shape *shape, const float *residual, const float *a2, const uint32_t *window,
                 const uint32_t *mirror, struct mf_flip_sums *sums);
    /** Number of lags at which both windows a and b are set (weights a2, NULL: 1). */
    float (*overlap)(const struct mf_window_shape *shape, const float *a2, const uint32_t *a, const uint32_t *b);
    /** residual[r] += delta * a2[r] for every bit set in the window. It adds again for every bit set in the mirror. */
    void (*apply)(const struct mf_window_shape *shape, float delta, const float *a2, const uint32_t *window,
                  const uint32_t *mirror, float *residual);
    /** Rotates the window by 180 degrees about its centre (rows x (2L-1) bits). */
    void (*turn)(const struct mf_window_shape *shape, const uint32_t *window, uint32_t *mirror);
    /** One row of a window: bit b of @p row says whether label[b] is @p phase. 32 * words labels must be readable. */
    void (*row)(const struct mf_window_shape *shape, const uint8_t *label, uint8_t phase, uint32_t *row);
};

extern const struct mf_flip_ops mf_flip_cpu;

#endif
