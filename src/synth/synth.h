/* Generators of synthetic microstructures with known statistics: periodic, of any extents, in two or three
 * dimensions.
 * Rule: a voxel's label depends only on the seed and its global position. So the bytes are equal on any number of ranks
 * and threads. Lengths are in voxels; voxel i is centred at i + 1/2. An axis of one voxel adds nothing to a distance.
 */
#ifndef MF_SYNTH_SYNTH_H
#define MF_SYNTH_SYNTH_H

#include <stdint.h>

#include "io/micro.h"

enum mf_synth_kind {
    MF_SYNTH_GAUSSIAN,     /* Gaussian random field, cut at one or more levels */
    MF_SYNTH_SPHERES,      /* spheres (discs) of one radius that may overlap */
    MF_SYNTH_HARD_SPHERES, /* spheres that may not overlap: random sequential addition */
    MF_SYNTH_FIBRES,       /* cylinders along an axis, or capsules in a plane or in space */
    MF_SYNTH_VORONOI,      /* grains: the voxels nearest to each seed */
    MF_SYNTH_LAMELLAE,     /* layers, plane or wavy */
    MF_SYNTH_CHECKERBOARD,
    MF_SYNTH_CRACKS /* bent cracks of one width: polylines in a plane, chains of discs in space */
};

/** Directions of fibres: along an axis, in planes normal to z, or in space. */
enum mf_synth_lie { MF_LIE_Z, MF_LIE_Y, MF_LIE_X, MF_LIE_PLANAR, MF_LIE_RANDOM };

/** Parameters of a generator. Members that a kind does not name are ignored. */
struct mf_synth {
    enum mf_synth_kind kind;
    int ndim;                       /* 2: dims[0] is 1 */
    size_t dims[3];                 /* {nz, ny, nx} */
    int phases;                     /* 2 .. MF_PHASES_MAX */
    double fraction[MF_PHASES_MAX]; /* of every phase, sum 1; a checkerboard uses them only with exact */
    int exact;                      /* volume fractions exact to one voxel */
    uint64_t seed;
    double length[3];            /* gaussian: correlation length l along z, y, x; covariance exp(-r^2 / (2 l^2)) */
    double radius;               /* spheres, hard spheres, fibres; half the width of cracks */
    double gap;                  /* hard spheres, fibres along an axis: least distance between surfaces */
    double stick;                /* fibres in a plane or in space: length of the straight part; cracks: their length */
    enum mf_synth_lie lie;       /* fibres */
    int overlap;                 /* fibres along an axis: may they overlap */
    size_t grains;               /* voronoi: number of seeds */
    double period, normal[3];    /* lamellae: of all phases together, and their direction {z, y, x} (any length) */
    double waviness, wavelength; /* lamellae: rms displacement along the normal, and its wavelength */
    double cell[3];              /* checkerboard: edge of a cell */
};

/** A sphere (half 0), a capsule about a straight line (half: half its length), or a Voronoi seed (radius 0). Flat: what
 * is nearer than radius to a plane disc of radius half. */
struct mf_synth_object {
    double centre[3];    /* {z, y, x}, 0 <= centre < dims */
    double direction[3]; /* unit vector of the line, or normal to the disc */
    double half, radius;
    int flat;
    int phase;
};

/** Properties of the generated microstructure. */
struct mf_synth_facts {
    int64_t voxels[MF_PHASES_MAX];
    double fraction[MF_PHASES_MAX];
    size_t objects; /* 0 if the kind has none */
    struct mf_synth_object *object;
    double period;          /* lamellae: after fitting it into the periodic box */
    size_t cells[3];        /* checkerboard: cells along z, y, x after fitting */
    struct mf_arena *arena; /* object comes from it */
};

/**
 * Refuses impossible parameters with MF_USAGE and one sentence. For hard objects the sentence gives the largest volume
 * fraction that random sequential addition reaches. Not collective.
 */
int mf_synth_check(const struct mf_synth *what);

/**
 * Makes a microstructure: micro->phase [own planes][ny][nx] with labels 0 .. phases-1, spacing 1, no unit.
 *
 * A kind gives every voxel a real value. It is a Gaussian field's value, a distance (positive inside objects), or the
 * position in the period of lamellae. Phases lie between cuts of that value; more than two phases of objects are shells
 * around them. With what->exact the cuts are the values with the right number of voxels below them over all ranks. Ties
 * are in the order of the voxels' global index. Objects then grow or shrink together by a fraction of a voxel. Between
 * Voronoi grains every wall moves by the same difference of distances.
 *
 * Memory: 1 byte per voxel of the slab, and 8 more during the work for Gaussian fields and with exact. Collective;
 * refuses (agreed) with MF_USAGE, MF_MEMORY.
 */
int mf_synth_make(const struct mf_comm *comm, struct mf_arena *arena, int threads, const struct mf_synth *what,
                  struct mf_micro *micro, struct mf_synth_facts *facts);
void mf_synth_facts_free(struct mf_synth_facts *facts);

/** Volume (area, length) of a capsule with @p axes dimensions: a ball of @p radius when @p half is 0. */
double mf_synth_measure(int axes, double radius, double half);

/** The number x with P(normal < x) = @p p, 0 < p < 1. */
double mf_synth_quantile(double p);

#endif
