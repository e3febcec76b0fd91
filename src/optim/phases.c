/* See phases.h. */
#include "src/optim/phases.h"

struct mf_phase mf_phase_direction = {.name = "direction", .kind = MF_WORK};
struct mf_phase mf_phase_step = {.name = "step", .kind = MF_WORK};
struct mf_phase mf_phase_pair = {.name = "pair", .kind = MF_WORK};
struct mf_phase mf_phase_adapt = {.name = "adapt", .kind = MF_WORK};
