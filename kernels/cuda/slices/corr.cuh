/* Private to S2 on cuda: its plan, and the table of its launches. One launch does a step for all levels of all slices,
 * of several tasks and their plans. Beside S2 the kernels do Variation of the same slices. Forward transforms read all
 * pixels anyway, and backward ones write all gradients.
 * Rule: the result of a slice depends on its pixels alone. */
#ifndef MF_KERNELS_CUDA_CORR_CUH
#define MF_KERNELS_CUDA_CORR_CUH

#include "kernels/cuda/slices/jumps.cuh"

/** An in-place transform of n points: its radices, and tables in device memory. Frequencies end in the order of the
 * radices. */
struct mf_line {
    int n, stages, radix[MF_LINE_STAGES];
    const float2 *twiddle; /* [n] exp(-2 pi i k / n) */
    const int *place;      /* [n] where frequency k ends */
};

/** A view whose strides have 32 bits, so that an address takes few instructions. */
struct mf_corr_slices {
    float *base;
    unsigned count, nu, nv, ss, su, sv;

    __device__ float *at(unsigned s, unsigned u, unsigned v) const
    {
        return base + (size_t(s) * ss + size_t(u) * su + size_t(v) * sv);
    }
    __host__ __device__ bool side_by_side() const { return ss == 1 && sv != 1; }
};

/** Targets of slices' values at one level. */
struct mf_corr_comparison {
    const float *target; /* device; NULL: only values are wanted */
    const double *scale; /* [count] queue->host; NULL: all 1 */
    double weight;
    int power;
    double *loss, *sum;    /* [blocks][slots] device; of the finest level: [count] queue->host, or NULL */
    float *values;         /* [count][stride]; NULL: not wanted */
    int64_t *tally;        /* [entries] of the finest level; NULL: not wanted */
    size_t stride, blocks; /* blocks: parts of a loss */
};

/** Variation beside S2: sums of jumps are integers, in units of 2^-40, so their order does not matter. */
struct mf_corr_variation {
    int wanted;
    struct mf_jumps jumps;
    struct mf_corr_comparison comparison;
    long long *sums; /* [count][pairs of rows][2]: along u, along v */
    float2 *slopes;  /* [count]: mf_jumps_by() of dA/dV */
};

/** One level of some slices. Rows 2i and 2i + 1 of a slice are the real and the imaginary part of one transform: a
 * pair.
 */
struct mf_corr_level {
    struct mf_corr_slices x, y; /* y: the second field of a cross-correlation, else base NULL */
    struct mf_corr_slices g;    /* base NULL: no gradient is wanted */
    int add;                    /* g +=, else g = */
    int finest, coarser;        /* coarser: levels that stand behind this one; g takes in the gradient of the next */
    int order;                  /* of launches; gradients with the same one have no memory in common */
    int nu, nv, lag, periodic;
    size_t slots;
    struct mf_corr_comparison comparison;
    struct mf_corr_variation variation;
    struct mf_line line;
    unsigned shared, window;    /* as in struct mf_corr_area; likewise: */
    int shift, bins, pitch;     /* pitch: numbers from pair to pair in shared memory */
    int chunk, chunks, depth;   /* depth: lags of all groups */
    float2 *spectrum, *back;    /* [count][u][bins]: X of x; sums of H X, before that X of y or of x not continued */
    const float2 *early, *late; /* which of them a product takes its earlier and its later row from */
    float2 *sums;               /* [count][chunk][depth][bins]: C; chunk 0 then holds H */
};

constexpr float MF_CORR_GRAIN = 1099511627776.0f; /* 2^40 */
constexpr int MF_CORR_TABLE = 16;                 /* most levels of a table */

struct mf_corr_table {
    int count;
    unsigned first[MF_CORR_TABLE + 1]; /* blocks of the levels */
    struct mf_corr_level level[MF_CORR_TABLE];
};
static_assert(sizeof(struct mf_corr_table) < 32764, "the arguments of a kernel");

struct mf_slice_plan {
    struct mf_queue *queue;
    struct mf_slice_desc desc;
    struct mf_pyramid pyramid, second; /* second: of y; the same memory, gradients and slices exchanged */
    struct mf_corr_areas areas;
    struct mf_line line[MF_PYRAMID_MAX];
    void *tables[MF_PYRAMID_MAX]; /* device: of the lines */
    double *loss;                 /* [levels][blocks][slots] device */
    float *values;                /* [chunk][levels][entries] device */
    float2 *lines;                /* device: spectra and sums of areas.slices slots, of all levels */
    long long *jumps;             /* device: sums of jumps, of all levels */
    float2 *slopes;               /* [levels][slots] device, then [levels][slots] losses of Variation */
};

/* -- corr_lines.cu -- */

/** Tables of a line; MF_MEMORY. */
int mf_corr_lines_open(struct mf_queue *q, const struct mf_corr_area *area, struct mf_line *line, void **tables);
/** Values, losses and gradients of a table's levels, whose plans have this depth and so many groups. */
void mf_corr_run(struct mf_queue *q, struct mf_corr_table *t, int depth, int groups);

/* -- corr_rows.cu: from spectra to C, from H to sums of H X -- */

void mf_corr_correlate(struct mf_queue *q, struct mf_corr_table *t, int depth, int groups);
void mf_corr_adjoint(struct mf_queue *q, struct mf_corr_table *t, int depth, int groups);

/* -- corr_window.cu: from C to losses and H; C of y and x with @p swap -- */

void mf_corr_windows_open(struct mf_queue *q);
void mf_corr_windows(struct mf_queue *q, struct mf_corr_table *t, int swap);

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
inline unsigned mf_corr_most(const struct mf_corr_table &t, unsigned mf_corr_level::*bytes)
{
    unsigned most = 0;

    for (int i = 0; i < t.count; ++i)
        if (t.level[i].*bytes > most) most = t.level[i].*bytes;
    return most;
}

__host__ __device__ inline unsigned mf_corr_pairs(const struct mf_corr_level &w) { return unsigned(w.nu + 1) / 2; }

/**
 * Is a periodic line continued? Its extent has no own transform then. In a product the later row is continued by L - 1
 * pixels at both ends, and the earlier one by zeros.
 */
__host__ __device__ inline bool mf_corr_continued(const struct mf_corr_level &w)
{
    return w.periodic && w.line.n != w.nv;
}

/** Number that is subtracted from the pixels of a periodic slice. So floats keep more digits of D. */
__host__ __device__ inline float mf_corr_middle(const struct mf_corr_level &w)
{
    return w.periodic && !w.y.base ? 0.5f : 0.0f;
}

#endif
