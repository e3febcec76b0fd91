/* Descriptors with one number per level (interface density, volume fraction). They are sums over the pixels of a slice,
 * with a comparison with the target, and gradients.
 *
 * A slice is cut into bands of pixels in the order (u, v). The i-th pixel of a band belongs to class i % CLASSES. A
 * class is added pixel by pixel, classes by a tree, bands likewise, all in double. Bands are short, so that few slices
 * give blocks to all multiprocessors.
 * Rule: the layout of slices decides which thread adds a class, never the order. The bits of a slice depend on its
 * pixels alone. */
#ifndef MF_KERNELS_CUDA_SINGLE_CUH
#define MF_KERNELS_CUDA_SINGLE_CUH

#include "kernels/cuda/slices/slice.cuh"

enum {
    MF_SINGLE_CLASSES = MF_CUDA_WARP,
    MF_SINGLE_LANES = MF_CUDA_WARP, /* slices of a block whose slices lie side by side */
    MF_SINGLE_WARPS = 8             /* of a block */
};

/** The numbers of a plan's slices. */
struct mf_single {
    struct mf_slice_desc desc;       /* count_max: slices at a time */
    size_t bands;                    /* most bands of a level */
    unsigned filled[MF_PYRAMID_MAX]; /* those of each level */
    double *part;                    /* [levels][count_max][bands] device */
    double *slope;                   /* [levels][count_max] device: scale dA/dD */
};

/** A plan of such a descriptor. */
struct mf_slice_plan {
    struct mf_queue *queue;
    struct mf_single single;
    struct mf_pyramid pyramid; /* all zero: the descriptor needs no pooled slices */
};

/** The table's plan(), with or without @p pooled slices. */
int mf_single_plan(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc, int pooled,
                   struct mf_slice_plan **plan);
void mf_single_free(struct mf_slice_plan *plan);

int mf_single_open(struct mf_single *p, struct mf_queue *q, const struct mf_slice_desc *desc, int pooled);
void mf_single_close(struct mf_single *p, struct mf_queue *q);

/** Compares all levels: writes task->sum, task->values and the slopes, adds to task->tally. */
void mf_single_compare(const struct mf_single *p, struct mf_queue *q, const struct mf_slice_task *task);

/** total [levels] += the values of the first @p count slices. */
void mf_single_total(const struct mf_single *p, struct mf_queue *q, size_t count, double *total);

/** The same of the slices of @p x, for the table. */
template <void (*Values)(struct mf_slice_plan *, const struct mf_view *)>
void mf_single_totals(struct mf_slice_plan *plan, const struct mf_view *x, double *sum)
{
    for (size_t at = 0; at < x->count; at += plan->single.desc.count_max) {
        const struct mf_view part = mf_view_part(x, at, plan->single.desc.count_max);

        Values(plan, &part);
        mf_single_total(&plan->single, plan->queue, part.count, sum);
    }
}

__host__ __device__ inline double *mf_single_part(const struct mf_single &p, size_t l, size_t s)
{
    return p.part + (l * p.desc.count_max + s) * p.bands;
}

/* EACH classes of a band, the first one's pixels from `from` on, the others APART pixels later. It adds term(x of the
 * slice, u, v) of every CLASSES-th pixel. Classes are independent, so their loads are on their way at once. */
template <int EACH, int APART, class Term>
__device__ inline void mf_single_classes(const Term &term, const float *x, size_t nv, size_t from, size_t to,
                                         double *sum)
{
    const unsigned rows = unsigned(MF_SINGLE_CLASSES / nv), columns = unsigned(MF_SINGLE_CLASSES % nv);
    unsigned u[EACH], v[EACH];

    MF_UNROLL
    for (int k = 0; k < EACH; ++k) {
        sum[k] = 0.0;
        u[k] = unsigned((from + size_t(k * APART)) / nv);
        v[k] = unsigned((from + size_t(k * APART)) % nv);
    }
    for (; from < to; from += MF_SINGLE_CLASSES) {
        MF_UNROLL
        for (int k = 0; k < EACH; ++k) {
            if (from + size_t(k * APART) < to) sum[k] += term(x, u[k], v[k]);
            u[k] += rows;
            v[k] += columns;
            if (v[k] < nv) continue;
            v[k] -= unsigned(nv);
            ++u[k];
        }
    }
}

/* Sum of a warp's values in the order of the tree; lane 0 gets it. */
__device__ inline double mf_single_tree(double sum)
{
    for (unsigned half = MF_CUDA_WARP / 2; half; half /= 2) sum += __shfl_down_sync(0xffffffffu, sum, half);
    return sum;
}

/* Block (s, some bands): a warp for every band, a lane for every class. */
template <class Term> __global__ void mf_single_rows(struct mf_single p, size_t l, struct mf_view x, Term term)
{
    const unsigned each = (p.filled[l] + MF_SINGLE_WARPS - 1) / MF_SINGLE_WARPS, lane = threadIdx.x % MF_CUDA_WARP;
    const unsigned s = blockIdx.x / each, band = blockIdx.x % each * MF_SINGLE_WARPS + threadIdx.x / MF_CUDA_WARP;
    const size_t pixels = x.nu * x.nv, length = mf_single_band(pixels), from = band * length;
    const size_t to = pixels < from + length ? pixels : from + length;

    double sum;

    if (band >= p.filled[l]) return;
    mf_single_classes<1, 0>(term, x.base + s * x.ss, x.nv, from + lane, to, &sum);
    sum = mf_single_tree(sum);
    if (lane == 0) mf_single_part(p, l, s)[band] = sum;
}

/* Block (group of slices, band): a lane for every slice. Warp w adds the classes w, w + 8, w + 16, w + 24, and joins
 * them as the tree does. */
template <class Term> __global__ void mf_single_lanes(struct mf_single p, size_t l, struct mf_view x, Term term)
{
    enum { EACH = int(MF_SINGLE_CLASSES) / int(MF_SINGLE_WARPS) };
    MF_SHARED(double, shared); /* [WARPS][LANES] */
    const unsigned lane = threadIdx.x % MF_SINGLE_LANES, warp = threadIdx.x / MF_SINGLE_LANES;
    const unsigned band = blockIdx.x % p.filled[l];
    const size_t pixels = x.nu * x.nv, length = mf_single_band(pixels), from = band * length;
    const size_t to = pixels < from + length ? pixels : from + length;
    const size_t s = blockIdx.x / p.filled[l] * size_t(MF_SINGLE_LANES) + lane;
    double sum[EACH] = {};

    if (s < x.count) mf_single_classes<EACH, MF_SINGLE_WARPS>(term, x.base + s * x.ss, x.nv, from + warp, to, sum);
    MF_UNROLL
    for (unsigned half = EACH / 2; half; half /= 2) {
        MF_UNROLL
        for (unsigned k = 0; k < half; ++k) sum[k] += sum[k + half];
    }
    shared[threadIdx.x] = sum[0];
    for (unsigned half = MF_SINGLE_WARPS / 2; half; half /= 2) {
        __syncthreads();
        if (warp < half) shared[threadIdx.x] += shared[threadIdx.x + half * MF_SINGLE_LANES];
    }
    if (warp == 0 && s < x.count) mf_single_part(p, l, s)[band] = shared[lane];
}

/** part of level l: the sums of term over the slices of x, which is that level. */
template <class Term>
void mf_single_sum(struct mf_single *p, struct mf_queue *q, size_t l, const struct mf_view &x, const Term &term)
{
    const size_t pixels = x.nu * x.nv, length = mf_single_band(pixels);
    const unsigned bands = unsigned((pixels + length - 1) / length), count = unsigned(x.count);
    const unsigned threads = unsigned(MF_SINGLE_WARPS) * MF_CUDA_WARP;

    if (!count) return;
    MF_ASSERT(bands <= p->bands);
    p->filled[l] = bands;
    if (mf_side_by_side(&x))
        MF_RUN(mf_single_lanes<Term>, (count + MF_SINGLE_LANES - 1) / MF_SINGLE_LANES * bands, threads,
               sizeof(double) * threads, q, *p, l, x, term);
    else
        MF_RUN(mf_single_rows<Term>, count * ((bands + MF_SINGLE_WARPS - 1) / MF_SINGLE_WARPS), threads, 0, q, *p, l, x,
               term);
}

#endif
