/* What was seen of a micrograph (struct mf_target_look), as an attribute of its descriptor file. */
#ifndef MF_IO_TARGET_LOOK_H
#define MF_IO_TARGET_LOOK_H

#include "io/h5.h"
#include "io/target.h"

/** Nobody has looked, or these are numbers that somebody can have seen. */
int mf_target_look_sound(const struct mf_target *target);

/** Its numbers as they stand in a file, if it has them, as many as this version sees. Not collective; MF_INPUT. */
int mf_target_look_get(struct mf_h5 *file, struct mf_target *target);

/** Nothing where nobody looked. Not collective; MF_OUTPUT. */
int mf_target_look_put(struct mf_h5 *file, const struct mf_target_look *look);

#endif
