/* Phases of a training, for --log-view (src/base/phase.h). */
#ifndef MF_TRAIN_PHASES_H
#define MF_TRAIN_PHASES_H

#include "src/base/phase.h"

extern struct mf_phase mf_phase_steps, mf_phase_scores, mf_phase_samples, mf_phase_tree;

#endif
