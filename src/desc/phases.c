/* See phases.h. */
#include "src/desc/phases.h"

struct mf_phase mf_phase_characterise = {.name = "characterise", .kind = MF_STAGE};
struct mf_phase mf_phase_describe = {.name = "describe", .kind = MF_STAGE};
struct mf_phase mf_phase_s2 = {.name = "S2", .kind = MF_WORK};
struct mf_phase mf_phase_variation = {.name = "Variation", .kind = MF_WORK};
struct mf_phase mf_phase_fraction = {.name = "volume fractions", .kind = MF_WORK};
struct mf_phase mf_phase_lineal = {.name = "lineal paths", .kind = MF_WORK};
struct mf_phase mf_phase_two_point = {.name = "soft correlations", .kind = MF_WORK};
struct mf_phase mf_phase_structure_tensor = {.name = "structure tensor", .kind = MF_WORK};
struct mf_phase mf_phase_vgg = {.name = "VGG-19", .kind = MF_WORK};
struct mf_phase mf_phase_patches = {.name = "patches", .kind = MF_WORK};
struct mf_phase mf_phase_descriptors = {.name = "descriptors", .kind = MF_WORK};
struct mf_phase mf_phase_counting = {.name = "counts", .kind = MF_WORK};
