/* Descriptors of packed slices. Packed: the pixels of a slice and of its pyramid are contiguous.
 * This module packs one slice after another, builds its pyramid, compares values with targets and returns gradients.
 * A family of descriptors adds the value and the gradient of one level; those that are MF_CPU_SHARED share them with a
 * team.
 * Rule: a result depends neither on the number of threads nor on the other slices. */
#ifndef MF_KERNELS_CPU_PACKED_H
#define MF_KERNELS_CPU_PACKED_H

#include "kernels/cpu/cpu.h"

enum { MF_CPU_FIELDS = 3 /* most fields of a family */ };

/** One level of a slice: pixel (u, v) is x[u * nv + v]. */
struct mf_cpu_level {
    size_t nu, nv;
    const float *x;
    float *g;           /* its gradient, laid out alike */
    const float *y, *z; /* families of several fields: the second and third, and their gradients; else NULL */
    float *h, *k;
};

/** A worker's part of the work: a level, its memory, and how many threads it may start. For families that process all
 * levels together it has all of them, one after the other. */
struct mf_cpu_job {
    const struct mf_slice_plan *plan;
    const struct mf_cpu_level *level;
    float *scratch; /* [plan->scratch] */
    int threads;
    size_t slot; /* index among the plan's slots; several threads: the first */
};

struct mf_cpu_family {
    /** Takes what the family needs and describes it in the plan:
     * - plan->scratch: floats of a job.
     * - plan->pair: it uses two fields (also task->y, h) and has no total().
     * - plan->field and plan->triple: it uses all fields.
     * - plan->together: value() and gradient() process all levels at once. Then d and slope are [levels][entries], and
     *   levels before desc.first take no part.
     * - plan->state: anything else, from the heap.
     *
     * May refuse with MF_MEMORY; close() is called even then. */
    int (*open)(struct mf_slice_plan *plan);
    void (*close)(struct mf_slice_plan *plan);
    /** d [entries]: D of the level. The result does not depend on job->threads. */
    void (*value)(const struct mf_cpu_job *job, double *d);
    /** level->g += sum over entries of slope [entries] times dD/dx. The scratch is as value() of all levels left it,
     * and then gradient() of coarser levels. NULL: the family has no gradient. */
    void (*gradient)(const struct mf_cpu_job *job, const double *slope);
    /** A power of 2 above all values, so that their sums are exact (form/compare.h); 0: 1. */
    double most;
    int all; /* it uses plan->field of task->fields; it has join() instead of total() */
};

struct mf_slice_plan {
    struct mf_queue *queue;
    struct mf_slice_desc desc;
    const struct mf_slice_kind *kind;
    const struct mf_cpu_family *family;
    void *state;
    int pair, triple, together;
    size_t field[MF_CPU_FIELDS]; /* families with join(): the fields used; those after the first if triple */
    size_t entries, scratch;     /* scratch: floats that a job needs */
    size_t pixels, size;         /* floats of all levels, of a slot */
    size_t slots;                /* slices processed at the same time */
    float *area;                 /* slots of [pixels] x, [pixels] g, of pairs y and h, of triples z and k, [scratch] */
    double *value;               /* [slots][levels][entries]: D, then its slopes */
};

/* The functions of mf_slice_ops; ops->family is a struct mf_cpu_family. */
int mf_cpu_packed_plan(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
                       struct mf_slice_plan **plan);
void mf_cpu_packed_free(struct mf_slice_plan *plan);
void mf_cpu_packed_eval(struct mf_slice_plan *plan, const struct mf_slice_task *task);
void mf_cpu_packed_total(struct mf_slice_plan *plan, const struct mf_view *x, double *total);
void mf_cpu_packed_join(struct mf_slice_plan *plan, const struct mf_view *fields, double *total);
void mf_cpu_packed_cross(struct mf_slice_plan *plan, const struct mf_view *x, const struct mf_view *y, double *total);

/** The table of a family of one field, of pairs, or of all fields. NOLINTBEGIN(bugprone-macro-parentheses) */
#define MF_CPU_PACKED(name, own, ...)                                        \
    const struct mf_slice_ops mf_##name##_cpu = {.kind = &mf_kind_##name,    \
                                                 .family = &own,             \
                                                 .plan = mf_cpu_packed_plan, \
                                                 .free = mf_cpu_packed_free, \
                                                 .eval = mf_cpu_packed_eval, \
                                                 __VA_ARGS__}
#define MF_CPU_OF_FIELD(name, own) MF_CPU_PACKED(name, own, .total = mf_cpu_packed_total)
#define MF_CPU_SHARED(name, own)   MF_CPU_PACKED(name, own, .total = mf_cpu_packed_total, .shares = 1)
#define MF_CPU_OF_PAIRS(name, own) MF_CPU_PACKED(name, own, .cross = mf_cpu_packed_cross)
#define MF_CPU_OF_ALL(name, own)   MF_CPU_PACKED(name, own, .join = mf_cpu_packed_join)
/* NOLINTEND(bugprone-macro-parentheses) */

/* -- framed slices: a line or pair that leaves a slice uses a plain offset -- */

enum { MF_CPU_RUN = 64 /* columns processed at a time; rows have memory for whole runs */ };

/** Pixel (u, v), -left <= v < nv + right, 0 <= u < nu + below, is base[u * stride + left + v]. */
struct mf_cpu_frame {
    size_t left, right, below;
};
static inline size_t mf_cpu_frame_stride(const struct mf_cpu_frame *f, size_t nv)
{
    return f->left + (nv + MF_CPU_RUN - 1) / MF_CPU_RUN * MF_CPU_RUN + f->right;
}
/** Floats of a framed slice. */
static inline size_t mf_cpu_frame_size(const struct mf_cpu_frame *f, size_t nu, size_t nv)
{
    return (nu + f->below) * mf_cpu_frame_stride(f, nv);
}
/** Copies a level into its frame. Beyond an edge is the opposite side (@p periodic), else 0. */
void mf_cpu_frame_fill(const struct mf_cpu_frame *f, int periodic, const struct mf_cpu_level *level, float *base);
/** The adjoint for gradients: level->g += the frame at a pixel and (periodic) at its images. */
void mf_cpu_frame_fold(const struct mf_cpu_frame *f, int periodic, const struct mf_cpu_level *level, const float *base);

#endif
