/* See phases.h. */
#include "src/train/phases.h"

struct mf_phase mf_phase_steps = {.name = "steps", .kind = MF_STAGE};
struct mf_phase mf_phase_scores = {.name = "scores", .kind = MF_STAGE};
struct mf_phase mf_phase_samples = {.name = "wait for samples", .kind = MF_WORK};
struct mf_phase mf_phase_tree = {.name = "sums of slots", .kind = MF_TALK};
