/* Phases of a reconstruction, for --log-view (src/base/phase.h). */
#ifndef MF_RECON_PHASES_H
#define MF_RECON_PHASES_H

#include "src/base/phase.h"

extern struct mf_phase mf_phase_prepare, mf_phase_descent, mf_phase_continuation, mf_phase_cut, mf_phase_polish,
    mf_phase_search, mf_phase_field, mf_phase_mean_field, mf_phase_rank, mf_phase_gather, mf_phase_swaps;

#endif
