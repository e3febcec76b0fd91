/* Shared by plans of strips (strips.c) and their text (strips_text.c). The text is compiled for several instruction
 * sets, as in lanes.h. W slices occupy the W lanes of a vector; a cell is W complex numbers. */
#ifndef MF_KERNELS_CPU_STRIPS_H
#define MF_KERNELS_CPU_STRIPS_H

#include "kernels/cpu/slices/lanes.h"
#include "kernels/form/jump.h"
#include "kernels/slices/strips.h"

/** A level of the pyramid. */
struct mf_strip_level {
    size_t nu, nv, mv, rows; /* extents; extent of the transform; own rows */
    size_t half, zs;         /* frequencies mv / 2 + 1; cells from one to the next in a spectrum */
    const struct mf_line *along;
    const float *norm; /* [L][2L-1]: factor from sums of products to a correlation */
    double cu, cv;     /* contribution of a unit jump along u, along v */
};

/** Work area of one thread. */
struct mf_strip_area {
    float *spectrum;                 /* [half][zs] cells */
    float *products;                 /* [half][L] cells: of rows, or factors of lags */
    float *line[4];                  /* cells; 0 and 1 belong to the transform, 2 is one of its longest radix */
    float *pair[2];                  /* pairs of rows, the last and the one before */
    float *gradient[MF_PYRAMID_MAX]; /* [level][rows][nv] vectors */
    float *out;                      /* [rows] cells */
};

struct mf_strip_job {
    const struct mf_strip_desc *desc;
    const struct mf_strip_level *level; /* [levels] */
    const struct mf_strip_rows *rows;   /* [levels] */
    size_t first, count;                /* slices, W at most */
    size_t block;                       /* own rows of level 0 that are processed together */
    struct mf_jump jump;
    double middle[MF_PYRAMID_MAX]; /* asymptotic value of the target (lag.h) */
    float *sums;                   /* of these slices: [levels][entries], MF_STRIP_LANES apart */
    float *g;
    size_t su;
};

struct mf_strip_text {
    size_t width; /* W */
    void (*values)(const struct mf_strip_job *job, const struct mf_strip_area *area);
    void (*gradient)(const struct mf_strip_job *job, const struct mf_strip_area *area);
};

/** 8 and 16 exist only on x86-64. */
extern const struct mf_strip_text mf_strip_text_4, mf_strip_text_8, mf_strip_text_16;

/** The text with vectors as wide as those of an engine of S2 (lanes.h). */
const struct mf_strip_text *mf_strip_text_for(const struct mf_corr_engine *lanes);

#endif
