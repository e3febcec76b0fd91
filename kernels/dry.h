/* Memory of machines that are not here: the cpu back end as it would plan on another one. */
#ifndef MF_KERNELS_DRY_H
#define MF_KERNELS_DRY_H

#include "kernels/backend.h"
#include "kernels/slices.h"

struct mf_backend_dry {
    struct mf_backend backend;
    struct mf_slice_ops corr;
};

/**
 * The cpu back end of a machine whose widest vectors are @p simd ("avx512", "avx2", anything else: the baseline; ""
 * those of this one): its plans take the work areas that they take there. @p apart: with device memory that the host
 * does not see, as a GPU's. Its queues are opened by mf_queue_dry(). To plan with, not to run.
 */
void mf_backend_dry(const char *simd, int apart, struct mf_backend_dry *dry);
int mf_queue_dry(struct mf_queue **queue, const struct mf_backend_dry *dry, int threads, int deterministic,
                 struct mf_arena *arena, struct mf_arena *host);

/** Memory for such plans: addresses that nothing stands behind until they are touched; they read as zeros. */
extern const struct mf_mem mf_mem_dry;

#endif
