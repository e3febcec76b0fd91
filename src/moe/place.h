/* Where experts are, on ranks that share them: by what they cost and how fast the ranks are. */
#ifndef MF_MOE_PLACE_H
#define MF_MOE_PLACE_H

#include "src/moe/graph.h"
#include "src/train/train.h"

/** How fast the slowest rank of each part of the experts multiplies matrices, @p speed [ways]. The unit is quarters of
 * the fastest part. Small differences are noise, and vanish. The same on all ranks. Collective; refuses (agreed) with
 * MF_MEMORY, MF_DEVICE. */
int mf_place_measure(const struct mf_trainer *trainer, double *speed);

/** Divides the experts among the ranks that share them; nothing, where none do. An expert costs its rows in a step, in
 * the mean of its life. A new one costs as much as the mean. The longest waiting time is short (mf_experts_share()).
 * Local.
 */
void mf_place_experts(const struct mf_graph *graph, const struct mf_trainer *trainer, size_t ways, const double *speed,
                      struct mf_experts *experts);

#endif
