/* See phases.h. */
#include "src/recon/phases.h"

struct mf_phase mf_phase_prepare = {.name = "prepare", .kind = MF_STAGE};
struct mf_phase mf_phase_descent = {.name = "descent", .kind = MF_STAGE};
struct mf_phase mf_phase_continuation = {.name = "continuation", .kind = MF_STAGE};
struct mf_phase mf_phase_cut = {.name = "cut", .kind = MF_STAGE};
struct mf_phase mf_phase_polish = {.name = "polish", .kind = MF_STAGE};
struct mf_phase mf_phase_search = {.name = "patch search", .kind = MF_WORK};
struct mf_phase mf_phase_field = {.name = "field terms", .kind = MF_WORK};
struct mf_phase mf_phase_rank = {.name = "polish: rank", .kind = MF_WORK};
struct mf_phase mf_phase_gather = {.name = "polish: gather", .kind = MF_WORK};
struct mf_phase mf_phase_mean_field = {.name = "mean field", .kind = MF_WORK};
struct mf_phase mf_phase_swaps = {.name = "polish: swaps", .kind = MF_WORK};
