/* Averages descriptors over the symmetries that the material has in the mean. Private to src/desc. */
#ifndef MF_DESC_SYMMETRY_H
#define MF_DESC_SYMMETRY_H

#include "src/desc/characterize.h"

/** Refuses (MF_USAGE) symmetries that @p micro has not: turns of what is no square or cube. Local. */
int mf_symmetry_check(const struct mf_micro *micro, enum mf_symmetry symmetry);

/** Room for @p micro turned: of its extents, not filled; mf_micro_free() it, also after a refusal. Collective;
 * MF_MEMORY. */
int mf_symmetry_room(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_micro *micro,
                     struct mf_micro *turned);

/** mf_characterize() with opts->symmetry: the mean over all mirror images (and turns, of a volume then one side); the
 * example is that of the field as it is. */
int mf_symmetry_mean(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                     struct mf_arena *arena, const struct mf_micro *micro, const struct mf_characterize_opts *opts,
                     struct mf_target *out);

#endif
