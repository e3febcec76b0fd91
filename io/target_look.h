/* Stores the properties of a micrograph (struct mf_target_look) as an attribute of its descriptor file. */
#ifndef MF_IO_TARGET_LOOK_H
#define MF_IO_TARGET_LOOK_H

#include "io/h5.h"
#include "io/target.h"

/** Are the properties plausible, or not measured at all? */
int mf_target_look_sound(const struct mf_target *target);

/** Reads the properties of a file, if it has them and this version knows as many. Not collective; MF_INPUT. */
int mf_target_look_get(struct mf_h5 *file, struct mf_target *target);

/** Writes the properties; nothing if none were measured. Not collective; MF_OUTPUT. */
int mf_target_look_put(struct mf_h5 *file, const struct mf_target_look *look);

#endif
