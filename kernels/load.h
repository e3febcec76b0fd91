/* Back ends in libraries of their own: opens such a library when the back end is asked for.
 * Rule: a library of another build is refused. */
#ifndef MF_KERNELS_LOAD_H
#define MF_KERNELS_LOAD_H

#include "kernels/backend.h"

/**
 * Opens the library of the cuda back end, once, and checks that it belongs to this program. It is looked for as
 * MF_CUDA_LIBRARY (a whole path, for tests), beside the program, and in ../lib/mesoforge from there. Refuses with
 * MF_DEVICE: not installed, does not load, of another build. Says nothing of devices.
 */
int mf_load_cuda(const struct mf_backend **backend);

/** The library that mf_load_cuda() would open; "" when there is none. */
const char *mf_load_cuda_path(void);

#endif
