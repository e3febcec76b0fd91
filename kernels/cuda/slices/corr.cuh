/* Private to S2 on cuda: its plan, and the tables of its launches. One launch does a step for all levels.
 * Rule: the result of a slice depends on its pixels alone. */
#ifndef MF_KERNELS_CUDA_CORR_CUH
#define MF_KERNELS_CUDA_CORR_CUH

#include "kernels/cuda/slices/slice.cuh"

/** An in-place transform of n points: its radices, and tables in device memory. Frequencies end in the order of the
 * radices. */
struct mf_line {
    int n, stages, radix[MF_LINE_STAGES];
    const float2 *twiddle; /* [n] exp(-2 pi i k / n) */
    const int *place;      /* [n] where frequency k ends */
};

/** One level of some slices. Rows 2i and 2i + 1 of a slice are the real and the imaginary part of one transform: a
 * pair.
 */
struct mf_corr_level {
    struct mf_view x, y;      /* y: the second field of a cross-correlation, else base NULL */
    struct mf_view g, coarse; /* base NULL: no gradient; none of a coarser level */
    int add;                  /* g +=, else g = */
    int nu, nv, lag, periodic, power;
    const float *target; /* [(2L-1)^2] device; NULL: only values are wanted */
    const double *scale; /* [count] queue->host; NULL: all 1 */
    double weight;
    double *loss;  /* [blocks][count_max] device: of the rows of the window that a block compares */
    float *values; /* [count][stride]; NULL: not wanted */
    size_t stride, count_max;
    struct mf_line line;
    int shift, bins, pitch;     /* as in struct mf_corr_area; numbers from pair to pair in shared memory */
    int chunk, chunks, depth;   /* depth: lags of all groups */
    float2 *spectrum, *back;    /* [slice][u][bins]: X of x; sums of H X, before that X of y or of x not continued */
    const float2 *early, *late; /* which of them a product takes its earlier and its later row from */
    float2 *sums;               /* [slice][chunk][depth][bins]: C; chunk 0 then holds H */
};

constexpr int MF_CORR_TABLE = 8; /* most levels of a table */

struct mf_corr_table {
    int count;
    unsigned first[MF_CORR_TABLE + 1]; /* blocks of the levels */
    struct mf_corr_level level[MF_CORR_TABLE];
};

struct mf_slice_plan {
    struct mf_queue *queue;
    struct mf_slice_desc desc;
    struct mf_pyramid pyramid;
    struct mf_corr_areas areas;
    struct mf_line line[MF_PYRAMID_MAX];
    void *tables[MF_PYRAMID_MAX]; /* device: of the lines */
    double *loss;                 /* [levels][blocks][count_max] device */
    float *values;                /* [chunk][levels][entries] device */
    float2 *lines;                /* device: spectra and sums of areas.slices slices, of all levels */
};

/* -- corr_lines.cu -- */

/** Tables of a line; MF_MEMORY. */
int mf_corr_lines_open(struct mf_queue *q, const struct mf_corr_area *area, struct mf_line *line, void **tables);
/** Values, losses, and all of the gradients but the last transform. @p level [levels] */
void mf_corr_compare(struct mf_slice_plan *plan, const struct mf_corr_level *level);
/** Adds the gradient of level @p l. */
void mf_corr_gradient(struct mf_slice_plan *plan, size_t l, const struct mf_corr_level &level);

/* -- corr_window.cu: from C to losses and H; C of y and x with @p swap -- */

void mf_corr_windows_open(struct mf_queue *q);
void mf_corr_windows(struct mf_slice_plan *plan, struct mf_corr_table *t, int swap);

/** The level of a block, and the block's number there. */
__device__ inline const struct mf_corr_level &mf_corr_own(const struct mf_corr_table &t, unsigned *number)
{
    int i = 0;

    while (blockIdx.x >= t.first[i + 1]) ++i;
    *number = blockIdx.x - t.first[i];
    return t.level[i];
}

/** Fills table->first with blocks(level) of each level; returns the blocks of all. */
template <class Blocks> unsigned mf_corr_number(struct mf_corr_table *t, const Blocks &blocks)
{
    for (int i = 0; i < t->count; ++i) t->first[i + 1] = t->first[i] + blocks(t->level[i]);
    return t->first[t->count];
}

/** The most shared memory of a level. */
inline size_t mf_corr_shared(const struct mf_slice_plan *plan, size_t mf_corr_area::*bytes)
{
    size_t most = 0;

    for (size_t l = plan->desc.first; l < plan->desc.levels; ++l)
        if (plan->areas.level[l].*bytes > most) most = plan->areas.level[l].*bytes;
    return most;
}

/**
 * Is a periodic line continued? Its extent has no own transform then. In a product the later row is continued by L - 1
 * pixels at both ends, and the earlier one by zeros.
 */
__host__ __device__ inline bool mf_corr_continued(const struct mf_corr_level &w)
{
    return w.periodic && w.line.n != w.nv;
}

/** What is subtracted from the pixels of a periodic slice, so that floats keep more digits of D. */
__host__ __device__ inline float mf_corr_middle(const struct mf_corr_level &w)
{
    return w.periodic && !w.y.base ? 0.5f : 0.0f;
}

#endif
