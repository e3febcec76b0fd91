/* Back ends in libraries of their own: opens such a library when the back end is asked for.
 * Rule: a library of another build is refused. */
#ifndef MF_KERNELS_LOAD_H
#define MF_KERNELS_LOAD_H

#include "kernels/backend.h"

/**
 * Opens the library of the cuda back end, once, and checks that it belongs to this build. MF_CUDA_LIBRARY may name it
 * by an absolute path, for tests. Else it is beside the program or libmesoforge, or where an install puts it from
 * there. The back end gets the functions that it wants by a table (kernels/host.h). Refuses with MF_DEVICE where the
 * library is not installed, does not load, or is of another build. Does not look for devices.
 */
int mf_load_cuda(const struct mf_backend **backend);

/** The library that mf_load_cuda() would open; "" when there is none. */
const char *mf_load_cuda_path(void);

#endif
