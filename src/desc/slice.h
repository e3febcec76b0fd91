/* Takes one slice out of a volume, as an image of its own. */
#ifndef MF_DESC_SLICE_H
#define MF_DESC_SLICE_H

#include "io/micro.h"

/**
 * Slice @p index normal to @p normal of a volume as an image. It has the labels, names and unit of the volume. Rows and
 * columns are as kernels/slices/view.h orders them. Arrays come from @p arena. Collective; refuses (agreed) with
 * MF_MEMORY.
 */
int mf_slice_take(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_micro *volume,
                  enum mf_normal normal, size_t index, struct mf_micro *slice);

/**
 * The same for one array (elements of @p size bytes) of a volume's slab. Every rank gets a dense copy in *to, and calls
 * free() on it, also after a refusal. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_slice_gather(const struct mf_comm *comm, const struct mf_slab *slab, enum mf_normal normal, size_t index,
                    size_t size, const void *from, void **to);

/** The k-th of @p n slices that represent all @p extent: the middle of the k-th of n equal parts. */
static inline size_t mf_slice_spread(size_t extent, size_t n, size_t k) { return (2 * k + 1) * extent / (2 * n); }

#endif
