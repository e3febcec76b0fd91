/* Symmetries of an image that its material has in the mean. Private to the room. */
#ifndef MF_DESC_SYMMETRY_H
#define MF_DESC_SYMMETRY_H

#include "src/desc/characterize.h"

/** Refuses (MF_USAGE) symmetries that @p micro has not: a volume, or turns of an image that is no square. Local. */
int mf_symmetry_check(const struct mf_micro *micro, enum mf_symmetry symmetry);

/** An image of the extents of @p micro, not filled; mf_micro_free() it, also after a refusal. Collective; MF_MEMORY. */
int mf_symmetry_room(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_micro *micro,
                     struct mf_micro *turned);

/** mf_characterize() of an image with opts->symmetry: the mean over all its mirror images (and turns); the example is
 * the image as it is. */
int mf_symmetry_mean(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                     struct mf_arena *arena, const struct mf_micro *micro, const struct mf_characterize_opts *opts,
                     struct mf_target *out);

#endif
