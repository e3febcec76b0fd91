/* Dry back ends: they stand for another machine, to plan a run and not to run it.
 * Rule: its plans take the same bytes as plans on that machine. */
#ifndef MF_KERNELS_DRY_H
#define MF_KERNELS_DRY_H

#include "kernels/backend.h"
#include "kernels/slices/slices.h"
#include "kernels/slices/space.h"
#include "kernels/slices/strips.h"

/** The other machine. */
struct mf_dry_kind {
    const char *simd; /* its widest vectors: "avx512", "avx2", other: baseline; "": this machine's */
    int apart;        /* its device memory is not the host's, as on a GPU */
    int capability;   /* of its GPU, 10 major + minor; 0: its cores compute */
};

struct mf_backend_dry {
    struct mf_backend backend;
    struct mf_slices slices;                    /* backend.slices */
    struct mf_slice_ops corr, gpu[MF_FAMILIES]; /* where it differs from mf_backend_cpu */
    struct mf_strip_ops strips;
    struct mf_op_table net; /* of a GPU */
    int capability;
};

/**
 * Fills the back end of such a machine; mf_queue_dry() opens its queues. Its plans take the same work areas as there.
 * They cannot run.
 */
void mf_backend_dry(const struct mf_dry_kind *kind, struct mf_backend_dry *dry);
int mf_queue_dry(struct mf_queue **queue, const struct mf_backend_dry *dry, int threads, int deterministic,
                 struct mf_arena *arena, struct mf_arena *host);

/** Plans that take the same memory as the cuda back end: dry_gpu.c, dry_space.c. Those of networks are gpu_dry.c, where
 * libraries may take less. */
void mf_dry_gpu(struct mf_backend_dry *dry);
void mf_dry_gpu_net(struct mf_op_table *table);
extern const struct mf_space_ops mf_space_dry;

/** Memory for such plans: address space that gets pages only when touched, and reads as zeros. */
extern const struct mf_mem mf_mem_dry;

#endif
