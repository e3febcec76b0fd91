/* How much of a result is a literal copy of its target. */
#ifndef MF_DESC_COPIES_H
#define MF_DESC_COPIES_H

#include "io/target.h"
#include "kernels/slices/copy.h"

struct mf_copied {
    double share;
    size_t edge; /* of the windows [pixels], the largest of all sides; 0: nobody looked */
    int sides;   /* that windows fit into; 0: share is 0 */
};

/**
 * Mean over the sides of @p got of the share of windows of its example that are found in @p want's, each by windows of
 * the edge that it asks for (kernels/slices/copy.h). Sides of less than MF_COPY_LEAST pixels, of either, say nothing.
 * Where the phases are not as many, a result of two is the indicator of the target's phase 1 or its only one. Not
 * collective; both have examples; MF_MEMORY.
 */
int mf_copies(const struct mf_target *got, const struct mf_target *want, struct mf_copied *copied);

/** Pixels of a side's example as classes: phases (@p phase < 0; what is none: 255), or @p phase and the rest. NULL
 * without memory; the caller frees. */
uint8_t *mf_example_classes(const struct mf_target_side *side, int phase);

#endif
