/* Time of the kernels of S2 and Variation on a GPU, from their bytes and instructions.
 * Rule: a kernel takes the longer of its traffic beyond the caches and its arithmetic. The file docs/GPU-STATUS.md has
 * the numbers of every kernel. */
#ifndef MF_KERNELS_GPU_COST_H
#define MF_KERNELS_GPU_COST_H

#include "kernels/slices/slices.h"

/** Rates that a GPU reaches. */
struct mf_gpu_rates {
    double memory;     /* bytes per second */
    double operations; /* instructions of threads per second */
    int capability;    /* 10 major + minor */
};

struct mf_gpu_cost {
    double memory, arithmetic; /* seconds of kernels that wait for memory, for arithmetic */
    double launches;
};

/** Adds loss and gradient of @p count slices, on all levels; @p variation: with Variation of the same slices. Pure. */
void mf_gpu_cost_s2(const struct mf_slice_desc *desc, double count, int variation, const struct mf_gpu_rates *rates,
                    struct mf_gpu_cost *cost);

/** Variation by itself, with its launches. */
void mf_gpu_cost_variation(const struct mf_slice_desc *desc, double count, const struct mf_gpu_rates *rates,
                           struct mf_gpu_cost *cost);

/** Launches of S2 for so many slices of each of @p tasks, which go to the back end at once. */
double mf_gpu_launches(const struct mf_slice_desc *desc, double count, double tasks, const struct mf_gpu_rates *rates);

#endif
