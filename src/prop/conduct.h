/* Effective conductivity of a voxel volume or an image, and what follows from it.
 * Two-point fluxes flow between the centres of voxels; the conductance of a face is the harmonic mean of both voxels.
 * Conjugate gradients with one cycle of multigrid solve for the potential. The energy is the conductivity, and the
 * iteration stops on it. Rule: results have the same bits on any number of ranks and threads. */
#ifndef MF_PROP_CONDUCT_H
#define MF_PROP_CONDUCT_H

#include "io/micro.h"
#include "kernels/backend.h"
#include "mpi/comm.h"

enum {
    MF_CONDUCT_STEPS = 500,
    MF_CONDUCT_ALIKE = 32 * 32 * 32, /* volumes of at most so many voxels are solved by all ranks alike */
    /* Memory moves so many bytes per voxel in the time of an iteration, by runs on one core: */
    MF_CONDUCT_TRAFFIC_COUNTS = 220, /* conductivities 0 and 1 alone, voxels are cubes */
    MF_CONDUCT_TRAFFIC_FACES = 370   /* others */
};

/** Where the potential is given. */
enum mf_conduct_boundary {
    MF_CONDUCT_PLATES,   /* on plates at the outer faces of the first and last voxels */
    MF_CONDUCT_PERIODIC, /* nowhere: the volume repeats, with a mean gradient */
    MF_CONDUCT_CENTRES   /* on plates through the centres of the first and last voxels */
};

/** Potential and flux at the centres of this rank's voxels: planes [first, first + count) of the volume. Ranks that
 * solve alike give all of them to rank 0. */
struct mf_conduct_fields {
    int axis; /* of the potential difference */
    size_t first, count;
    float *potential; /* [count][ny][nx] 0 to 1; NAN where nothing flows */
    float *flux;      /* [count][ny][nx][3] along x, y, z: conductivity times gradient, whose mean is 1 along the axis.
                         So the mean of the flux is the conductivity. Voxels on plates through centres have none */
};

struct mf_conduct_opts {
    enum mf_conduct_boundary boundary;
    int sides_periodic;      /* plates and centres: the other axes are joined; else no flux leaves through them */
    double tolerance;        /* of the conductivity, relative */
    double k[MF_PHASES_MAX]; /* of each phase, in units of the largest */
    int (*take)(void *context,
                const struct mf_conduct_fields *fields); /* NULL, or what sees the solution; collective */
    void *context;
    int heeds; /* the host of a library may stop it: MF_STOPPED */
};

/** Refuses (MF_USAGE) conductivities of --conductivity that none can have, or whose contrast is too large. Local. */
int mf_conduct_check(size_t n, const double *k);

/** Conduction along one axis, in units of the largest conductivity. */
struct mf_conduct {
    double k;                         /* 0: no way through */
    double column[3];                 /* periodic: mean fluxes along z, y, x under a gradient along the axis */
    double carries;                   /* fraction of the voxels that carry flux */
    double left;                      /* estimate of what the iteration has left of k, relative */
    double spread;                    /* of the fluxes through all planes: largest minus smallest, relative */
    size_t steps;                     /* iterations */
    double history[MF_CONDUCT_STEPS]; /* k after each */
};

/**
 * Solves for conduction along @p axis (0: z, 1: y, 2: x) of a microstructure with labels. The axis has two voxels or
 * more, for MF_CONDUCT_CENTRES three. Arrays of the size of the volume come from queue->arena and @p arena (host
 * memory). They take 22 to 27 bytes per voxel where conductivities are 0 and 1 and voxels are cubes, else 37 to 45.
 * Voxels that are no cubes take up to 62. Thin volumes take more, as the layer around them counts as well.
 * Collective; refuses (agreed) with MF_MEMORY, MF_NUMERIC (no convergence, NaN), MF_INPUT (too many voxels on a rank).
 */
int mf_conduct(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena, const struct mf_micro *micro,
               int axis, const struct mf_conduct_opts *opts, struct mf_conduct *out);

/** A dry run on cores: takes from the arenas what mf_conduct() takes where something conducts, and frees it. It touches
 * none of it, and reads only extents, spacing and phases of @p micro. Refuses likewise. */
int mf_conduct_measure(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                       const struct mf_micro *micro, int axis, const struct mf_conduct_opts *opts);

/** Bounds of the conductivity from the fractions alone. */
struct mf_conduct_bounds {
    double series, parallel;        /* Wiener */
    double hashin_low, hashin_high; /* Hashin and Shtrikman, of an isotropic structure in @p ndim dimensions */
};

/** From fractions and conductivities of @p n phases. Local. */
struct mf_conduct_bounds mf_conduct_bounds(int ndim, size_t n, const double *fraction, const double *k);

#endif
