/* Descriptors of packed slices. Packed: the pixels of a slice are contiguous, and slices follow one another.
 * This module packs a chunk of slices, builds their pyramids, compares values with targets and returns gradients.
 * A family of descriptors adds the values and the gradient of one level.
 * Rule: the kernels treat all slices of a chunk together, and no slice's result depends on another slice. */
#ifndef MF_KERNELS_CUDA_PACKED_CUH
#define MF_KERNELS_CUDA_PACKED_CUH

#include "kernels/cuda/slices/slice.cuh"

/** One level of a chunk: pixel (u, v) of slice s is x[(s * nu + u) * nv + v]. */
struct mf_packed_level {
    int nu, nv;
    const float *x, *y, *z; /* families of several fields: the second and third; else NULL */
    float *g, *h, *k;       /* their gradients, laid out alike */
};

/** A level of a chunk, and the work area of a family. */
struct mf_packed_job {
    struct mf_queue *q;
    const struct mf_slice_desc *desc;
    struct mf_packed_level at;
    size_t level, count, pixels; /* count: slices; pixels: of one */
    double *value;               /* D of slice s, or the slopes scale dA/dD: value[s * stride + entry] */
    size_t stride, entries;
    float *scratch;    /* memory->scratch() for each of the slices */
    const void *table; /* what fill() made, on the device */
};

/** Copies the slices of any view into packed ones. */
void mf_packed_gather(struct mf_queue *q, const struct mf_view &x, const struct mf_view &packed);
/** g += packed, in the layout of g. */
void mf_packed_scatter(struct mf_queue *q, const struct mf_view &g, const struct mf_view &packed);

struct mf_packed_family {
    const struct mf_packed_memory *memory;
    /** Makes the table in host memory; NULL: there is none. May refuse with MF_MEMORY. */
    int (*fill)(const struct mf_slice_desc *desc, void *table);
    /** Writes D of the level. */
    void (*value)(const struct mf_packed_job *job);
    /** at.g (and at.h, at.k) += sum over entries of slope times dD/dx. NULL: the family has no gradient. */
    void (*gradient)(const struct mf_packed_job *job);
    /** Makes what a plan holds beside its arrays; NULL: nothing. May refuse. */
    int (*open)(struct mf_queue *queue, const struct mf_slice_desc *desc) = nullptr;
    void (*close)(struct mf_queue *queue, const struct mf_slice_desc *desc) = nullptr;
    /** A power of 2 above all values, so that their sums are exact (form/compare.h). */
    double most = 1;
};

/* The functions of mf_slice_ops; ops->family is a struct mf_packed_family. */
int mf_packed_plan(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
                   struct mf_slice_plan **plan);
void mf_packed_free(struct mf_slice_plan *plan);
void mf_packed_eval(struct mf_slice_plan *plan, const struct mf_slice_task *task);
void mf_packed_total(struct mf_slice_plan *plan, const struct mf_view *x, double *total);
void mf_packed_total_pairs(struct mf_slice_plan *plan, const struct mf_view *x, const struct mf_view *y, double *total);
void mf_packed_join(struct mf_slice_plan *plan, const struct mf_view *fields, double *total);

/** The table of a family with a gradient, with total(), cross() or join(). NOLINTBEGIN(bugprone-macro-parentheses) */
#define MF_PACKED_OPS(table, of_kind, of_one, of_two, of_all, own) \
    const struct mf_slice_ops table = {                            \
        .kind = &of_kind,                                          \
        .family = &own,                                            \
        .shares = 0,                                               \
        .plan = mf_packed_plan,                                    \
        .free = mf_packed_free,                                    \
        .eval = mf_packed_eval,                                    \
        .total = of_one,                                           \
        .cross = of_two,                                           \
        .join = of_all,                                            \
        .pull = nullptr,                                           \
        .match = nullptr,                                          \
        .memory = nullptr,                                         \
        .cost = nullptr,                                           \
    }
/* NOLINTEND(bugprone-macro-parentheses) */

/** Sum of a warp's values in a fixed order, in its first lane. */
template <class T> __device__ inline T mf_warp_sum(T value)
{
    for (unsigned half = MF_CUDA_WARP / 2; half; half /= 2) value += __shfl_down_sync(0xffffffffu, value, half);
    return value;
}

#endif
