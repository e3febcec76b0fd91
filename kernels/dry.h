/* Memory of machines that are not here: a back end as it would plan on another one. */
#ifndef MF_KERNELS_DRY_H
#define MF_KERNELS_DRY_H

#include "kernels/backend.h"
#include "kernels/slices/slices.h"
#include "kernels/slices/space.h"
#include "kernels/slices/strips.h"

/** Of which machine. */
struct mf_dry_kind {
    const char *simd; /* its widest vectors: "avx512", "avx2", anything else: the baseline; "": those of this one */
    int apart;        /* device memory that the host does not see, as a GPU's */
    int capability;   /* of its GPU, 10 major + minor; 0: its cores compute */
};

struct mf_backend_dry {
    struct mf_backend backend;
    struct mf_slices slices;                    /* backend.slices */
    struct mf_slice_ops corr, gpu[MF_FAMILIES]; /* what is not as in mf_backend_cpu */
    struct mf_strip_ops strips;
    int capability;
};

/**
 * The back end of such a machine: its plans take the work areas that they take there, and whatever is computed the
 * cores of this machine compute. Its queues are opened by mf_queue_dry(). To plan with, not to run.
 */
void mf_backend_dry(const struct mf_dry_kind *kind, struct mf_backend_dry *dry);
int mf_queue_dry(struct mf_queue **queue, const struct mf_backend_dry *dry, int threads, int deterministic,
                 struct mf_arena *arena, struct mf_arena *host);

/** Plans with the memory of those of the cuda back end: dry_gpu.c, dry_space.c. */
void mf_dry_gpu(struct mf_backend_dry *dry);
extern const struct mf_space_ops mf_space_dry;

/** Memory for such plans: addresses that nothing stands behind until they are touched; they read as zeros. */
extern const struct mf_mem mf_mem_dry;

#endif
