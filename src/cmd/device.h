/* Where a run computes: the back end that --device names or that is best here, and which of its devices each rank
 * takes. */
#ifndef MF_CMD_DEVICE_H
#define MF_CMD_DEVICE_H

#include "src/cmd/cmd.h"

/**
 * Sets session->backend and *device, this rank's. For auto: a GPU where the verb computes, the cuda back end is
 * installed and every rank can have a device, else the cores; one line says which and why. Collective; refuses (agreed)
 * with MF_USAGE (no such name), MF_DEVICE (not installed, no device, a device that is not there or is another rank's).
 */
int mf_device_choose(struct mf_session *session, int *device);

/** Did --device auto take a GPU that nobody named? */
int mf_device_is_free(const struct mf_session *session);

/**
 * After a refusal that is about the device: may the run go on on the cores, as nobody asked for the GPU? Says so and
 * why in one line, and forgets the refusal. Not collective.
 */
int mf_device_may_leave(const struct mf_session *session);

#endif
