/* Averages descriptors over the symmetries of a material. Private to src/desc. */
#ifndef MF_DESC_SYMMETRY_H
#define MF_DESC_SYMMETRY_H

#include "src/desc/characterize.h"

/** Refuses (MF_USAGE) symmetries that @p micro cannot have: quarter turns of what is no square or cube. Local. */
int mf_symmetry_check(const struct mf_micro *micro, enum mf_symmetry symmetry);

/** Takes memory for a rotated copy of @p micro, with its extents; not filled. Call mf_micro_free(), also after a
 * refusal. Collective; MF_MEMORY. */
int mf_symmetry_room(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_micro *micro,
                     struct mf_micro *turned);

/** mf_characterize() with opts->symmetry: the mean over all mirror images and, for square, quarter turns. A volume with
 * turns gives one side. The example is that of the original field. */
int mf_symmetry_mean(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                     struct mf_arena *arena, const struct mf_micro *micro, const struct mf_characterize_opts *opts,
                     struct mf_target *out);

#endif
