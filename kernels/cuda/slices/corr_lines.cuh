/* Private to engine `lines` of S2: the tables of its launches. One launch does a step for all levels. */
#ifndef MF_KERNELS_CUDA_CORR_LINES_CUH
#define MF_KERNELS_CUDA_CORR_LINES_CUH

#include "kernels/cuda/slices/lines.cuh"

constexpr int MF_LINES_TABLE = 8; /* most levels of a table */

/** One level. Rows 2i and 2i + 1 of a slice are the real and the imaginary part of one transform: a pair. */
struct mf_lines_level {
    struct mf_corr_job j;
    struct mf_line line;
    int shift;               /* a block transforms 2^shift pairs */
    int bins, pitch;         /* frequencies of a row; numbers from pair to pair in shared memory */
    int chunk, chunks;       /* rows u of a chunk, whose products are summed separately */
    float2 *spectrum, *back; /* [slice][u][bins]: X of x; sums of H X, before that X of y or of x not continued */
    float2 *sums;            /* [slice][chunk][depth][bins]: C; chunk 0 then holds H */
};

struct mf_lines_table {
    int count;
    unsigned first[MF_LINES_TABLE + 1]; /* blocks of the levels */
    struct mf_lines_level level[MF_LINES_TABLE];
};

/** The level of a block, and the block's number there. */
__device__ inline const struct mf_lines_level &mf_lines_own(const struct mf_lines_table &t, unsigned *number)
{
    int i = 0;

    while (blockIdx.x >= t.first[i + 1]) ++i;
    *number = blockIdx.x - t.first[i];
    return t.level[i];
}

/** Fills table->first with blocks(level) of each level; returns the blocks of all. */
template <class Blocks> unsigned mf_lines_number(struct mf_lines_table *t, const Blocks &blocks)
{
    for (int i = 0; i < t->count; ++i) t->first[i + 1] = t->first[i] + blocks(t->level[i]);
    return t->first[t->count];
}

/**
 * Is a periodic line continued? Its extent has no own transform then. In a product the later row is continued by L - 1
 * pixels at both ends, and the earlier one by zeros.
 */
__host__ __device__ inline bool mf_lines_continued(const struct mf_lines_level &w)
{
    return w.j.periodic && w.line.n != w.j.nv;
}

/** What is subtracted from the pixels of a periodic slice, so that floats keep more digits of D. */
__host__ __device__ inline float mf_lines_middle(const struct mf_corr_job &j)
{
    return j.periodic && !j.y.base ? 0.5f : 0.0f;
}

/** Windows of all levels, from C to losses and H: kernels/cuda/slices/corr_window.cu. @p shared: bytes; @p swap: C is
 * of y and x. */
void mf_lines_windows_open(struct mf_queue *q);
void mf_lines_windows(struct mf_queue *q, struct mf_lines_table *t, size_t shared, int depth, int swap);

#endif
