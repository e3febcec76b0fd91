/* Chooses where a run computes: the back end, from --device or automatically, and each rank's device. */
#ifndef MF_SESSION_DEVICE_H
#define MF_SESSION_DEVICE_H

#include "src/session/session.h"

/**
 * Sets session->backend, and *device, this rank's device. For auto it is a GPU if three conditions hold. The verb
 * computes, the cuda back end is installed, and every rank can have one. Else the cores. One line reports choice and
 * reason. Collective. Refuses (agreed) with MF_USAGE (no such name) or MF_DEVICE. MF_DEVICE: not installed, no device,
 * a device that does not exist or belongs to another rank.
 */
int mf_device_choose(struct mf_session *session, int *device);

/** Did --device auto choose a GPU, without the user naming one? */
int mf_device_is_free(const struct mf_session *session);

/**
 * After a refusal because of the device: may the run continue on the cores? It may if the user did not ask for the GPU.
 * If so, reports that in one line and clears the refusal. Not collective.
 */
int mf_device_may_leave(const struct mf_session *session);

#endif
