/* Phases of optimisers, for --log-view (src/base/phase.h). */
#ifndef MF_OPTIM_PHASES_H
#define MF_OPTIM_PHASES_H

#include "src/base/phase.h"

extern struct mf_phase mf_phase_direction, mf_phase_step, mf_phase_pair, mf_phase_adapt;

#endif
