/* Private to S2 on the cpu: one plan, two engines. Engine `lanes` is our own transform with lines in the SIMD lanes;
 * engine `fftw` takes every size.
 * Rule: both process pairs of slices or single slices. So the result of a slice does not depend on its neighbours. */
#ifndef MF_KERNELS_CPU_CORR_H
#define MF_KERNELS_CPU_CORR_H

#include "kernels/form/lag.h"
#include "kernels/slices/slices.h"

enum { MF_CORR_GROUP = 16 /* most slices whose power spectra are added in float */ };

/** One pyramid level. */
struct mf_corr_level {
    size_t nu, nv; /* pooled extents */
    size_t mu, mv; /* extents of the transform: equal, or with zero padding for the non-periodic case */
};

/** How transforms are computed. The functions need a valid plan. */
struct mf_corr_engine {
    const char *name;
    const void *text; /* the engine's own */
    /** Takes the engine's own part of the plan (plan->state). May refuse with MF_MEMORY; close() is called even
     * then. */
    int (*open)(struct mf_slice_plan *plan);
    void (*close)(struct mf_slice_plan *plan);
    /** As mf_slice_ops.eval(); here task->target may be NULL when only values are wanted. */
    void (*eval)(struct mf_slice_plan *plan, const struct mf_slice_task *task);
    /** Sums of D over groups of @p each slices (even), from the view's first slice on. Values are
     * [groups][levels][entries], and each <= MF_CORR_GROUP. It sums the power spectra first, so a group needs only one
     * inverse transform. */
    void (*total)(struct mf_slice_plan *plan, const struct mf_view *x, size_t each, float *values);
    /** Cross-correlation of every slice: values [count][levels][entries]. */
    void (*cross)(struct mf_slice_plan *plan, const struct mf_view *a, const struct mf_view *b, float *values);
};

struct mf_slice_plan {
    struct mf_slice_desc desc;
    const struct mf_corr_engine *engine;
    struct mf_arena *arena;
    int threads, deterministic;
    struct mf_corr_level *level; /* [levels] */
    size_t entries, chunk;       /* (2L-1)^2; slices, or groups, whose values are added at a time by total() */
    float *values;               /* [chunk][levels][entries] */
    void *state;
};

extern const struct mf_corr_engine mf_corr_fftw;

/** mf_slice_ops.plan() with a given engine instead of the fastest one, for tests and benchmarks. */
int mf_corr_plan(struct mf_queue *queue, const struct mf_slice_desc *desc, const struct mf_corr_engine *engine,
                 struct mf_slice_plan **out);

/** 1 / number of pairs at lag (du, dv) of a level. */
static inline double mf_corr_norm(const struct mf_slice_desc *desc, const struct mf_corr_level *level, size_t du,
                                  size_t dv)
{
    return mf_lag_norm(desc->periodic, level->nu, level->nv, du, dv);
}

#endif
