/* A small volume of two phases, its descriptors, and options that aim at them: for recon_objective and recon_solve. */
#ifndef MF_TESTS_RECON_CASE_H
#define MF_TESTS_RECON_CASE_H

#include <string.h>

#include "src/base/rng.h"
#include "src/desc/characterize.h"
#include "src/recon/objective.h"
#include "tests/device.h"

enum { EDGE = 8, LAG = 3, VOXELS = EDGE * EDGE * EDGE };

/* Two balls that wrap around. */
static inline uint8_t case_label(size_t z, size_t y, size_t x)
{
    static const int centre[2][3] = {{1, 2, 3}, {5, 6, 6}};

    for (int b = 0; b < 2; ++b) {
        const int at[3] = {(int)z, (int)y, (int)x};
        int far = 0;

        for (int a = 0; a < 3; ++a) {
            int d = abs(at[a] - centre[b][a]);

            d = d > EDGE / 2 ? EDGE - d : d;
            far += d * d;
        }
        if (far <= 6) return 1;
    }
    return 0;
}

static inline void case_target(const struct mf_comm *comm, struct device *d, int periodic, struct mf_target *target)
{
    static const size_t dims[3] = {EDGE, EDGE, EDGE};
    const struct mf_characterize_opts opts = {
        .lag = LAG, .levels = 1, .periodic = periodic, .whole = 1U << MF_WHOLE_S2, .steady = 1, .silent = 1};
    struct mf_micro micro = {.ndim = 3, .phases = 2, .label = {0, 1}, .spacing = {1, 1, 1}};
    uint8_t phase[VOXELS];

    micro.slab = mf_slab_of(comm, dims, comm->rank);
    micro.arena = d->arena;
    micro.phase = phase;
    for (size_t i = 0; i < mf_slab_voxels(&micro.slab); ++i) {
        const size_t all = micro.slab.first * EDGE * EDGE + i;

        phase[i] = case_label(all / (EDGE * EDGE), all / EDGE % EDGE, all % EDGE);
    }
    CHECK(mf_characterize(comm, d->be, d->q, d->arena, &micro, &opts, target) == MF_OK);
}

/* S2 and Variation. */
static inline struct mf_objective_opts case_objective(enum mf_norm norm, int periodic, int multiphase)
{
    struct mf_objective_opts o = {.terms = 2, .norm = norm, .periodic = periodic, .multiphase = multiphase};

    o.term[0] = (struct mf_term){&mf_descriptors[MF_S2], 1, 0};
    o.term[1] = (struct mf_term){&mf_descriptors[MF_VARIATION], 5, 0};
    for (int l = 0; l < MF_LEVELS_MAX; ++l) o.level_weight[l] = 1;
    for (int p = 0; p < MF_PHASES_MAX; ++p) o.phase_weight[p] = 1;
    o.levels_max = 1;
    return o;
}

#endif
