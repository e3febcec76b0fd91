/* Phases of descriptors, for --log-view (src/base/phase.h). */
#ifndef MF_DESC_PHASES_H
#define MF_DESC_PHASES_H

#include "src/base/phase.h"

extern struct mf_phase mf_phase_characterise, mf_phase_describe, mf_phase_s2, mf_phase_variation, mf_phase_fraction,
    mf_phase_lineal, mf_phase_two_point, mf_phase_descriptors /* several of these at once */, mf_phase_structure_tensor,
    mf_phase_vgg, mf_phase_patches, mf_phase_counting;

#endif
