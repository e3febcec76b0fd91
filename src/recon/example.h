/* The example of a target as fields: what terms by example compare slices with. */
#ifndef MF_RECON_EXAMPLE_H
#define MF_RECON_EXAMPLE_H

#include "io/target.h"

/**
 * Indicators of the example of @p side, averaged over cells of 2^level x 2^level pixels: @p x [phases][example_nu >>
 * level][example_nv >> level], from @p arena. One phase is the target's phase 1, or its only one. Refuses with MF_INPUT
 * (there is no example), MF_MEMORY.
 */
int mf_example_fields(struct mf_arena *arena, const struct mf_target *target, const struct mf_target_side *side,
                      size_t phases, size_t level, float **x);

#endif
