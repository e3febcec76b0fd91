/* Many small microstructures of several kinds, from which a network can learn to tell the kinds apart.
 * Rule: sample i depends only on the seed, the kinds and i. Volume fraction and length come from one distribution for
 * all kinds, so neither of them tells the kind. */
#ifndef MF_SYNTH_MIX_H
#define MF_SYNTH_MIX_H

#include "src/synth/synth.h"

enum { MF_SYNTH_KINDS = 8 };

struct mf_synth_mix {
    size_t kinds;
    enum mf_synth_kind kind[MF_SYNTH_KINDS];
    int ndim;
    size_t dims[3]; /* {nz, ny, nx} */
    uint64_t seed;
    double fraction[2]; /* of phase 1, uniform between these */
    double length[2];   /* uniform in its logarithm [voxels] */
    int varied;         /* a class tells less: half of each kind change phases, half of the Gaussian are stretched */
};

/** One sample. */
struct mf_synth_drawn {
    size_t kind; /* index in mix->kind */
    struct mf_synth what;
    double length;
    int changed;     /* its phases are to be changed after it is made */
    size_t shift[3]; /* by which the made field is moved around the periodic box */
};

/** Lengths that suit the extents. */
void mf_synth_mix_lengths(const size_t dims[3], double length[2]);

/** Refuses (MF_USAGE) what some sample could not be made of. Local. */
int mf_synth_mix_check(const struct mf_synth_mix *mix);

/**
 * The parameters of sample @p i. Every run of mix->kinds samples has each kind once, in random order. All have exact
 * fractions f. The length l describes the correlation at small distances. A line along an axis meets 2 f (1 - f) / l
 * interfaces per voxel on average. Every kind's radius, period or number of grains follows from that. Local.
 */
void mf_synth_draw(const struct mf_synth_mix *mix, uint64_t i, struct mf_synth_drawn *drawn);

#endif
