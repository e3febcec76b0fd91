/* Summary of a training of experts, in a text that people read: performance_summary.txt. Rank 0. */
#ifndef MF_MOE_SUMMARY_H
#define MF_MOE_SUMMARY_H

#include <stddef.h>

#include "src/moe/devices.h"
#include "src/moe/grow.h"

struct mf_summary_column {
    const char *name;
    double r2;
};

/** Texts may be NULL, numbers NAN: nothing is known. */
struct mf_summary {
    const char *mode, *strategy, *precision; /* "multi_gpu", "expert_parallel", "bf16" */
    const char *compiled;                    /* what runs compiled, and how */
    const char *tuned;                       /* what became of trials of algorithms; NULL: there were none */
    size_t devices;
    const struct mf_rank_device *device; /* in the order of the ranks */
    long batch, accumulation, effective; /* samples of a micro-batch of a rank; micro-batches; samples of a step */
    long experts[2];                     /* at the start, at the end */
    long changes[MF_CHANGES];
    long steps;
    double epochs, seconds, epoch_seconds; /* epoch_seconds: their mean */
    double samples_per_second;
    const char *score; /* what the model is judged by: "accuracy", "R2" */
    const char *split; /* on which samples: "test" */
    double value;
    size_t columns;                   /* that are predicted; 0: classes */
    struct mf_summary_column *column; /* [columns]; value is the mean of their R2 */
};

/** Writes lines "key  value" to a file that appears whole or not at all. MF_OUTPUT. */
int mf_summary_write(const struct mf_summary *summary, const char *path);

#endif
