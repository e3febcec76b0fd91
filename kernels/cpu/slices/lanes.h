/* Shared by the engine `lanes` (corr_lanes.c) and its text (lanes_text.c). The text is compiled for several vector
 * widths and instruction sets; the engine picks one when the program runs.
 *
 * A pair of slices (a, b) is transformed as a + ib. W lines stand side by side in the W lanes of a vector. A "cell" is
 * W complex numbers: a vector of real parts and one of imaginary parts.
 *
 *   plane [vb][zs]       cells: lanes are W columns v, the rows u follow one another
 *   spectrum [2 blocks][xs]  cells: lanes are W rows, the columns v follow one another. Block 2k holds rows
 *                        u = kW .. kW+W-1, block 2k+1 rows -u in the same lanes, so that a frequency and its mirror
 *                        image meet without a shuffle. Row 0 is its own mirror: its place in block 1 holds row mu/2.
 *   window [wb][mu]      cells: lanes are W lags dv, the rows u follow one another
 *
 * Only forward transforms exist. The inverse exchanges real and imaginary parts before and after one. */
#ifndef MF_KERNELS_CPU_LANES_H
#define MF_KERNELS_CPU_LANES_H

#include "kernels/cpu/slices/corr.h"

enum { MF_LINE_PASSES = 32, MF_LANES_PAIRS = 8 /* most pairs of a batch */ };

/** One-dimensional transform of n cells: radices, and for each pass w^(pk), p < m, k = 1 .. r-1 (re, im). */
struct mf_line {
    size_t n, passes;
    size_t radix[MF_LINE_PASSES];
    size_t in, out; /* parts of the first and last pass that contain lags, at either end; 0: not used */
    float *twiddle[MF_LINE_PASSES];
    float *roots[MF_LINE_PASSES]; /* of a radix without a butterfly of its own: w^j, j < r */
};

/** Prepares transforms of @p n cells. Transforms may use only the lags below @p lag at either end, as input or as
 * output. With @p registers the machine has 32 vectors. Refuses with MF_MEMORY; close it even then. */
int mf_line_open(struct mf_line *line, size_t n, size_t lag, int registers);
void mf_line_close(struct mf_line *line);

/** A level of the pyramid in cells, kept in the plan. */
struct mf_lanes_level {
    size_t nu, nv, mu, mv;
    size_t vb, zs;          /* blocks of columns that hold pixels; cells from one to the next */
    size_t slots, blocks;   /* rows u >= 0 with a mirror image or a position beside one; blocks of them */
    size_t xs;              /* cells from block to block of the spectrum */
    size_t wb, lag;         /* blocks of lags */
    size_t plane, spectrum; /* sizes [cells] */
    size_t energy;          /* offset of the level's energy [vectors] */
    const struct mf_line *along_u, *along_v;
    const float *norm;   /* [2L-1][wb W]: factor from the transforms' result to a correlation; 0 beyond the lags */
    const float *target; /* [2L-1][wb W], minus `middle`; 0 beyond the lags */
    double middle;       /* asymptotic value of the target (lag.h) */
};

/** Work area of one thread. Threads that share a batch share all but the lines. */
struct mf_lanes_area {
    float *plane;    /* [pairs][levels] planes */
    float *spectrum; /* of one pair and level */
    float *window;
    float *energy;  /* [levels] sums of |spectrum|^2, real [2 blocks][xs] */
    double *sums;   /* [wb][2] */
    float *line[5]; /* [longest line] each; 0 and 1 belong to the transform */
};

/** One batch: pairs first, first + 1, ... of a task, or one slice of each of two fields. */
struct mf_lanes_job {
    size_t levels, from; /* from: finest level transformed */
    const struct mf_lanes_level *level;
    const struct mf_slice_task *task;
    const struct mf_view *other; /* second field of a cross-correlation; NULL: none */
    float *total;                /* out: [levels][entries] the sum of D over the batch; NULL: not wanted */
    size_t together;             /* total: pairs gathered at a time */
    size_t entries;
    size_t first, pairs;
    size_t part, parts; /* this thread of those that share the batch; they meet at barriers */
};

struct mf_lanes_text {
    size_t width; /* W */
    void (*batch)(const struct mf_lanes_job *job, const struct mf_lanes_area *area);
};

extern const struct mf_lanes_text mf_lanes_text_4, mf_lanes_text_8, mf_lanes_text_16;

/** Engines of the vector widths. Only those that this machine can run may be planned with. 8 and 16 exist only on
 * x86-64. */
extern const struct mf_corr_engine mf_corr_lanes4, mf_corr_lanes8, mf_corr_lanes16;

/** The widest of them that this machine can run. */
const struct mf_corr_engine *mf_corr_lanes(void);

#endif
