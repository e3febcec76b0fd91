/* A library that looks like a back end of another build. */
#include "kernels/backend.h"

extern const struct mf_backend mf_backend_cuda;
const struct mf_backend mf_backend_cuda = {.name = "cuda", .abi = MF_BACKEND_ABI, .build = "0.0.1"};
