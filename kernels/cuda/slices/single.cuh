/* Descriptors with one number per level (interface density, volume fraction): sums over the pixels of a slice, their
 * comparison with the target, and gradients.
 *
 * A slice is cut into bands of pixels in the order (u, v). The i-th pixel of a band belongs to class i % CLASSES. A
 * class is added pixel by pixel, classes by a tree, bands in order, all in double.
 * Rule: the layout of slices decides which thread adds a class, never the order. The bits of a slice depend on its
 * pixels alone. */
#ifndef MF_KERNELS_CUDA_SINGLE_CUH
#define MF_KERNELS_CUDA_SINGLE_CUH

#include "kernels/cuda/slices/slice.cuh"

enum {
    MF_SINGLE_CLASSES = 128,
    MF_SINGLE_LANES = 32,   /* slices of a block whose slices lie side by side */
    MF_SINGLE_THREADS = 256 /* of such a block */
};

/** The numbers of a plan's slices. */
struct mf_single {
    struct mf_slice_desc desc;
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

int mf_single_open(struct mf_single *p, struct mf_queue *q, const struct mf_slice_desc *desc);
void mf_single_close(struct mf_single *p, struct mf_queue *q);

/** Compares all levels: writes task->sum, task->values and the slopes. */
void mf_single_compare(const struct mf_single *p, struct mf_queue *q, const struct mf_slice_task *task);

/** total [levels] += the values of the first @p count slices. */
void mf_single_total(const struct mf_single *p, struct mf_queue *q, size_t count, double *total);

/** The same of the slices of @p x, for the table. */
template <void (*Values)(struct mf_slice_plan *, const struct mf_view *)>
void mf_single_totals(struct mf_slice_plan *plan, const struct mf_view *x, double *sum)
{
    Values(plan, x);
    mf_single_total(&plan->single, plan->queue, x->count, sum);
}

__host__ __device__ inline double *mf_single_part(const struct mf_single &p, size_t l, size_t s)
{
    return p.part + (l * p.desc.count_max + s) * p.bands;
}

/* Class c of a band: term(x of the slice, u, v) of every CLASSES-th pixel. */
template <class Term>
__device__ inline double mf_single_class(const Term &term, const float *x, size_t nv, size_t from, size_t to)
{
    const size_t rows = MF_SINGLE_CLASSES / nv, columns = MF_SINGLE_CLASSES % nv;
    size_t u = from / nv, v = from % nv;
    double sum = 0.0;

    for (; from < to; from += MF_SINGLE_CLASSES) {
        sum += term(x, u, v);
        u += rows;
        v += columns;
        if (v < nv) continue;
        v -= nv;
        ++u;
    }
    return sum;
}

/* Block (s, band) with a thread for every class. */
template <class Term> __global__ void mf_single_rows(struct mf_single p, size_t l, struct mf_view x, Term term)
{
    MF_SHARED(double, shared);
    const size_t band = blockIdx.y * size_t(MF_SINGLE_BAND), pixels = x.nu * x.nv;
    const size_t to = pixels - band < MF_SINGLE_BAND ? pixels : band + MF_SINGLE_BAND;
    const double sum =
        mf_block_sum(mf_single_class(term, x.base + blockIdx.x * x.ss, x.nv, band + threadIdx.x, to), shared);

    if (threadIdx.x == 0) mf_single_part(p, l, blockIdx.x)[blockIdx.y] = sum;
}

/* Block (group of slices, band): a lane for every slice, a warp adds some classes. */
template <class Term> __global__ void mf_single_lanes(struct mf_single p, size_t l, struct mf_view x, Term term)
{
    MF_SHARED(double, shared); /* [CLASSES][LANES] */
    const unsigned lane = threadIdx.x % MF_SINGLE_LANES, warp = threadIdx.x / MF_SINGLE_LANES;
    const unsigned warps = MF_SINGLE_THREADS / MF_SINGLE_LANES;
    const size_t band = blockIdx.y * size_t(MF_SINGLE_BAND), pixels = x.nu * x.nv;
    const size_t to = pixels - band < MF_SINGLE_BAND ? pixels : band + MF_SINGLE_BAND;
    const size_t s = blockIdx.x * size_t(MF_SINGLE_LANES) + lane;

    for (unsigned c = warp; c < MF_SINGLE_CLASSES; c += warps)
        shared[c * MF_SINGLE_LANES + lane] =
            s < x.count ? mf_single_class(term, x.base + s * x.ss, x.nv, band + c, to) : 0.0;
    for (unsigned half = MF_SINGLE_CLASSES / 2; half; half /= 2) {
        __syncthreads();
        for (unsigned c = warp; c < half; c += warps)
            shared[c * MF_SINGLE_LANES + lane] += shared[(c + half) * MF_SINGLE_LANES + lane];
    }
    if (warp == 0 && s < x.count) mf_single_part(p, l, s)[blockIdx.y] = shared[lane];
}

/** part of level l: the sums of term over the slices of x, which is that level. */
template <class Term>
void mf_single_sum(struct mf_single *p, struct mf_queue *q, size_t l, const struct mf_view &x, const Term &term)
{
    const unsigned bands = unsigned((x.nu * x.nv + MF_SINGLE_BAND - 1) / MF_SINGLE_BAND);

    if (!x.count) return;
    p->filled[l] = bands;
    if (mf_side_by_side(&x))
        MF_RUN(mf_single_lanes<Term>, dim3(unsigned((x.count + MF_SINGLE_LANES - 1) / MF_SINGLE_LANES), bands),
               MF_SINGLE_THREADS, sizeof(double[MF_SINGLE_CLASSES][MF_SINGLE_LANES]), q, *p, l, x, term);
    else
        MF_RUN(mf_single_rows<Term>, dim3(unsigned(x.count), bands), MF_SINGLE_CLASSES,
               sizeof(double[MF_SINGLE_CLASSES]), q, *p, l, x, term);
}

#endif
