/* How much of a result is a literal copy of its target. */
#ifndef MF_DESC_COPIES_H
#define MF_DESC_COPIES_H

#include "io/target.h"
#include "kernels/slices/copy.h"

struct mf_copied {
    double share;
    double common; /* the share that two halves of the target have in common */
    size_t edge;   /* of the windows [pixels], the largest of all sides; 0: not measured */
    int sides;     /* number of sides that windows fit into; 0: share is 0 */
};

/**
 * Share of windows of @p got's example that also occur in @p want's example, averaged over the sides. Each side chooses
 * the edge of its windows (kernels/slices/copy.h). Sides with less than MF_COPY_LEAST pixels are ignored. If the
 * numbers of phases differ, a result of two phases is compared with the target's phase 1. A target of one phase has
 * only that. Both have examples. Not collective; MF_MEMORY, MF_STOPPED.
 */
int mf_copies(const struct mf_target *got, const struct mf_target *want, struct mf_copied *copied);

/** The share that agrees by chance: a whole target has twice as many windows as its half. */
double mf_copied_by_chance(const struct mf_copied *copied);

/** The share of the rest that is copied, 0 to 1. */
double mf_copied_beyond(const struct mf_copied *copied);

/** Pixels of a side's example as classes. @p phase < 0: the phases, and 255 for none. Else: @p phase, and the rest.
 * NULL without memory; the caller frees. */
uint8_t *mf_example_classes(const struct mf_target_side *side, int phase);

#endif
