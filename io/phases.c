/* See phases.h. */
#include "io/phases.h"

struct mf_phase mf_phase_read = {.name = "read", .kind = MF_STAGE};
struct mf_phase mf_phase_write = {.name = "write", .kind = MF_STAGE};
