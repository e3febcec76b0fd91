/* steady_linear on cpu: products of rows with weights, in vectors (steady_text.c), and what calls them (steady.c).
 * Rule: a sum has a part for each lane of a vector. A lane adds its terms in their order. So a sum has the same bits
 * whatever other rows there are, and on any number of threads. */
#ifndef MF_KERNELS_CPU_NET_STEADY_H
#define MF_KERNELS_CPU_NET_STEADY_H

#include <stddef.h>

#include "src/base/type.h"

/** Rows are multiplied in blocks. Few rows are one block, and weights come straight from memory. For many rows a panel
 * of weights stands in the caches as f32, CHUNK numbers of each at a time. LANES: most of all instruction sets. */
enum { MF_STEADY_FEW = 4, MF_STEADY_PANEL = 24, MF_STEADY_CHUNK = 1024, MF_STEADY_LANES = 16 };

/** The call in f32. */
struct mf_steady {
    size_t rows, k, m;
    enum mf_type type; /* of the weights: f32, bf16, f16 or i8 */
    const char *w;     /* [m][k] */
    const float *x;    /* [rows][k] */
    float *packed;     /* [blocks][step / lanes][rows of a block][lanes]: x with zeros behind it */
    size_t step;       /* k with padding to vectors of any width */
    float *y;          /* [rows][m] */
};

/** Rows of a block. */
static inline size_t mf_steady_block(const struct mf_steady *s)
{
    return s->rows < 3 ? s->rows : (size_t)MF_STEADY_FEW;
}

static inline size_t mf_steady_blocks(const struct mf_steady *s)
{
    return (s->rows + mf_steady_block(s) - 1) / mf_steady_block(s);
}

/** Numbers of memory of one thread: a panel, and sums of a chunk that the next one goes on with. */
static inline size_t mf_steady_panel(const struct mf_steady *s)
{
    if (s->rows <= MF_STEADY_FEW) return 0;
    return MF_STEADY_PANEL * ((s->step < MF_STEADY_CHUNK ? s->step : MF_STEADY_CHUNK) +
                              (s->k > MF_STEADY_CHUNK ? MF_STEADY_FEW * mf_steady_blocks(s) * MF_STEADY_LANES : 0));
}

/** The same text for vectors of 4, 8 and 16 numbers. */
struct mf_steady_text {
    /** Packs blocks [from, to). */
    void (*pack)(const struct mf_steady *s, size_t from, size_t to);
    /** All rows times the weights of columns [from, to). @p panel: as above. A part begins at a multiple of the panel,
     * or of 8 for few rows. */
    void (*multiply)(const struct mf_steady *s, size_t from, size_t to, float *panel);
};

extern const struct mf_steady_text mf_steady_text_4, mf_steady_text_8, mf_steady_text_16;

#endif
