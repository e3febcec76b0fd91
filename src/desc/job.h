/* One characterisation in progress: its input, its options, and the parts that compute its descriptors. Private to
 * src/desc. */
#ifndef MF_DESC_JOB_H
#define MF_DESC_JOB_H

#include "kernels/stage.h"
#include "src/desc/characterize.h"

struct mf_job {
    const struct mf_comm *comm;
    const struct mf_backend *backend;
    struct mf_queue *queue;
    struct mf_arena *arena;
    const struct mf_micro *micro;
    const struct mf_characterize_opts *opts;
    struct mf_target *out; /* sides allocated, values zero; one side per normal */
    int first;             /* phase of the microstructure that is phase 0 of out */
    int exact;             /* level 0 is counted, not computed by transforms */
    int dry;               /* memory is taken and freed, but not touched */
};

/** Extents {nu, nv} of slices normal to @p normal, and their number. */
static inline void mf_slice_extents(const size_t dims[3], int normal, size_t *nu, size_t *nv, size_t *slices)
{
    *nu = dims[mf_slice_u((size_t)normal)];
    *nv = dims[mf_slice_v((size_t)normal)];
    *slices = dims[normal];
}

/** Level 0 of a labelled field by counting (exact.c). Collective, agreed. */
int mf_exact(const struct mf_job *job);

/** An example for every side of a labelled field: its middle slice (example.c). Collective, agreed. */
int mf_example(const struct mf_job *job);

/** The descriptors of the volume as a whole (whole.c). Collective, agreed. */
int mf_whole(const struct mf_job *job);

/** The indicator of out's phase @p phase, or the grey field itself. Array @p x is memory for it; NULL: a grey field can
 * be used in place. The stage @p stage is one of planes. */
float *mf_job_indicator(const struct mf_job *job, const struct mf_stage *stage, int phase, float *x);

/** Means over slices by the kernels (slice_means.c), for all levels, except level 0 if that was counted. */
int mf_slice_means(const struct mf_job *job);

/** Jumps of one phase between neighbours, over the whole volume (jumps.c). */
struct mf_jumps {
    int64_t all[3];     /* along z, y, x */
    int64_t face[3][3]; /* [along][axis]: those whose coordinate along axis is 0 */
};

/**
 * Counts jumps of the phases first .. first + count - 1. The pair across the periodic border belongs to the last plane,
 * row or column. It is left out when not @p periodic. Collective, agreed: MF_MEMORY.
 */
int mf_jumps_count(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_micro *micro, int periodic,
                   int first, int count, struct mf_jumps *jumps);

/** Variation averaged over the slices normal to @p normal: the jumps of a labelled field per pixel. */
double mf_jumps_variation(const struct mf_jumps *jumps, const size_t dims[3], int normal, int periodic, int seam);

#endif
