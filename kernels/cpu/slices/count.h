/* Counts on slices of labels (kernels/slices/count.h) as a family of the cpu back end.
 * Rule: a pixel belongs to the phase where its value is above one half. */
#ifndef MF_KERNELS_CPU_COUNT_H
#define MF_KERNELS_CPU_COUNT_H

#include "kernels/cpu/slices/packed.h"
#include "kernels/slices/count.h"

struct mf_cpu_count {
    struct mf_cpu_family family; /* first: the plan has its address */
    const struct mf_count *count;
};

int mf_cpu_count_open(struct mf_slice_plan *plan);
void mf_cpu_count_close(struct mf_slice_plan *plan);
void mf_cpu_count_value(const struct mf_cpu_job *job, double *d);

/** Defines the family of @p counts. @p below: a power of 2 above all values.
 * NOLINTNEXTLINE(bugprone-macro-parentheses) */
#define MF_CPU_COUNT(counts, below)                                                            \
    {                                                                                          \
        {mf_cpu_count_open, mf_cpu_count_close, mf_cpu_count_value, NULL, below, 0}, &(counts) \
    }

#endif
