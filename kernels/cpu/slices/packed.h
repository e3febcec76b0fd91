/* Descriptors of packed slices. Packed: the pixels of a slice and of its pyramid are contiguous.
 * This module packs one slice after another, builds its pyramid, compares values with targets and returns gradients.
 * A family of descriptors adds the value and the gradient of one level.
 * Rule: a result depends neither on the number of threads nor on the other slices. */
#ifndef MF_KERNELS_CPU_PACKED_H
#define MF_KERNELS_CPU_PACKED_H

#include "kernels/cpu/cpu.h"

enum { MF_CPU_FIELDS = 3 /* most that a family looks at */ };

/** One level of a slice: pixel (u, v) is x[u * nv + v]. */
struct mf_cpu_level {
    size_t nu, nv;
    const float *x;
    float *g;           /* its gradient, laid out alike */
    const float *y, *z; /* of families of several fields: the second and third, and their gradients; else NULL */
    float *h, *k;
};

/** One worker's view of the work: a level (or all of them, one behind the other, of families that take them together),
 * memory for itself, and how many threads it may start. */
struct mf_cpu_job {
    const struct mf_slice_plan *plan;
    const struct mf_cpu_level *level;
    float *scratch; /* [plan->scratch] */
    int threads;
    size_t slot; /* which of the plan's; threads more than one: the first */
};

struct mf_cpu_family {
    /** Sets plan->scratch, plan->pair where it looks at two fields (task->y, h as well; no total()), or plan->field and
     * plan->triple where it looks at all fields, plan->together where value() and gradient() take all levels at once (d
     * and slope [levels][entries], of which those before desc.first have no part in it), and takes what else the family
     * needs (plan->state, from the heap). May refuse with MF_MEMORY; close() is called then too. */
    int (*open)(struct mf_slice_plan *plan);
    void (*close)(struct mf_slice_plan *plan);
    /** d [entries]: D of the level. The result does not depend on job->threads. */
    void (*value)(const struct mf_cpu_job *job, double *d);
    /** level->g += sum over entries of slope [entries] times dD/dx. The scratch is as value() of all
     * levels, and then gradient() of coarser ones, left it. NULL: the family has no gradient. */
    void (*gradient)(const struct mf_cpu_job *job, const double *slope);
    /** A power of 2 that values stay below, so that sums of them are exact (form/compare.h); 0: 1. */
    double most;
    int all; /* it looks at plan->field of task->fields; no total(), but join() */
};

struct mf_slice_plan {
    struct mf_queue *queue;
    struct mf_slice_desc desc;
    const struct mf_slice_kind *kind;
    const struct mf_cpu_family *family;
    void *state;
    int pair, triple, together;
    size_t field[MF_CPU_FIELDS]; /* of families with a join(): which of the fields; those behind the first if triple */
    size_t entries, scratch;     /* scratch: floats that a job needs */
    size_t pixels, size;         /* floats of all levels, of a slot */
    size_t slots;                /* slices worked on at the same time */
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

/** The table of a family: of one field, of pairs of them, of all. NOLINTBEGIN(bugprone-macro-parentheses) */
#define MF_CPU_PACKED(name, own, ...)                                        \
    const struct mf_slice_ops mf_##name##_cpu = {.kind = &mf_kind_##name,    \
                                                 .family = &own,             \
                                                 .plan = mf_cpu_packed_plan, \
                                                 .free = mf_cpu_packed_free, \
                                                 .eval = mf_cpu_packed_eval, \
                                                 __VA_ARGS__}
#define MF_CPU_OF_FIELD(name, own) MF_CPU_PACKED(name, own, .total = mf_cpu_packed_total)
#define MF_CPU_OF_PAIRS(name, own) MF_CPU_PACKED(name, own, .cross = mf_cpu_packed_cross)
#define MF_CPU_OF_ALL(name, own)   MF_CPU_PACKED(name, own, .join = mf_cpu_packed_join)
/* NOLINTEND(bugprone-macro-parentheses) */

/* -- slices with a frame around them, so that a line or pair that leaves a slice is an offset like any other -- */

enum { MF_CPU_RUN = 64 /* columns worked on at a time: rows have room for whole runs */ };

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
/** Copies a level into its frame: @p periodic, what lies beyond an edge is the other side's, else 0. */
void mf_cpu_frame_fill(const struct mf_cpu_frame *f, int periodic, const struct mf_cpu_level *level, float *base);
/** The way back of a gradient: level->g += what the frame holds at a pixel and (periodic) at its images. */
void mf_cpu_frame_fold(const struct mf_cpu_frame *f, int periodic, const struct mf_cpu_level *level, const float *base);

#endif
