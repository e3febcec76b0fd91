/* Small microstructures of every kind for the tests of synth: odd, prime, flat and cubic extents. */
#ifndef MF_TESTS_SYNTH_CASE_H
#define MF_TESTS_SYNTH_CASE_H

#include "src/synth/synth.h"

/** A wish with sensible parameters for every kind; @p phases of equal fractions. */
static struct mf_synth wish(enum mf_synth_kind kind, size_t nz, size_t ny, size_t nx, int phases)
{
    struct mf_synth w = {.kind = kind, .ndim = nz > 1 ? 3 : 2, .dims = {nz, ny, nx}, .phases = phases, .seed = 7};

    for (int p = 0; p < phases; ++p) w.fraction[p] = 1.0 / phases;
    w.length[0] = w.length[1] = w.length[2] = 2;
    w.radius = 3;
    w.stick = 4;
    w.lie = MF_LIE_RANDOM;
    w.grains = 17;
    w.period = 8;
    w.normal[0] = nz > 1;
    w.normal[1] = 1;
    w.normal[2] = 0.5;
    w.wavelength = 9;
    w.cell[0] = w.cell[1] = w.cell[2] = 4;
    if (kind == MF_SYNTH_HARD_SPHERES) {
        for (int p = 1; p < phases; ++p) w.fraction[p] = 0.25 / (phases - 1);
        w.fraction[0] = 0.75;
    }
    return w;
}

#endif
