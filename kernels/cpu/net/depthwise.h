/* conv_depthwise on cpu: sums of windows, in vectors of channels (depthwise_text.c), and what calls them (depthwise.c).
 * Rule: an output, and a sum of weights, adds its terms in an order that shapes alone decide. */
#ifndef MF_KERNELS_CPU_NET_DEPTHWISE_H
#define MF_KERNELS_CPU_NET_DEPTHWISE_H

#include <stddef.h>

/** A call in f32: y [images][rows'][columns'][c] from x [images][rows][columns][c]. */
struct mf_depthwise {
    size_t images, rows, columns, c; /* of x */
    size_t y_rows, y_columns;
    size_t kh, kw, up, left; /* the window, and the padding above and on the left */
    const float *x;
    const float *w;    /* [kh][kw][c] */
    const float *bias; /* [c]; NULL: none */
    float *y;
    int add;         /* to what y holds */
    const float *dy; /* of the shape of y */
    float *sums;     /* [kh][kw][c] */
};

/** The same text for vectors of 4, 8 and 16 numbers. */
struct mf_depthwise_text {
    /** Rows [from, to) of y, counted over all images. */
    void (*rows)(const struct mf_depthwise *d, size_t from, size_t to);
    /** Adds to the sums of channels [from, to) what these images give: the products of x and dy. */
    void (*weights)(const struct mf_depthwise *d, size_t from, size_t to);
};

extern const struct mf_depthwise_text mf_depthwise_text_4, mf_depthwise_text_8, mf_depthwise_text_16;

#endif
