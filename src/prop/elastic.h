/* Effective stiffness of a periodic voxel volume or image, and what follows from it.
 * Displacements live on a grid of one of two schemes (kernels/elastic.h). Conjugate gradients solve for them, with the
 * response of a homogeneous medium by Fourier transforms as preconditioner (A. Brisard and L. Dormieux 2010; M.
 * Schneider, Acta Mech. 232, 2021). The energy is the stiffness, and the iteration stops on it. An image is one voxel
 * deep and repeats, which is plane strain. Rule: results have the same bits on any number of ranks and threads.
 * Voigt's order is xx, yy, zz, yz, xz, xy; shear strains are angles. */
#ifndef MF_PROP_ELASTIC_H
#define MF_PROP_ELASTIC_H

#include "io/micro.h"
#include "kernels/backend.h"
#include "mpi/comm.h"

enum { MF_ELASTIC_STEPS = 2000 };

enum mf_elastic_scheme { MF_ELASTIC_STAGGERED, MF_ELASTIC_ROTATED };

/** A cubic phase whose axes are those of the volume; isotropic: 2 C44 = C11 - C12. A void has 0. */
struct mf_elastic_phase {
    double c11, c12, c44;
};

struct mf_elastic_opts {
    enum mf_elastic_scheme scheme;
    double tolerance; /* of the energy of each load case, relative */
    struct mf_elastic_phase phase[MF_PHASES_MAX];
};

struct mf_elastic {
    double c[6][6];  /* in the unit of the phases */
    double left[6];  /* estimate of how far a diagonal entry would still fall */
    size_t steps[6]; /* iterations */
};

/** Isotropic constants. Local. */
struct mf_elastic_phase mf_elastic_isotropic(double young, double poisson);

/** Refuses (MF_USAGE) phases that are not stable, have too large a contrast, or are all voids. Local. */
int mf_elastic_check(size_t n, const struct mf_elastic_phase *phase);

/**
 * The stiffness of a microstructure with labels, whose cubic cells or boxes have edges micro->spacing. Arrays of the
 * size of the volume come from @p arena: about 120 bytes per voxel, on several ranks 130; images take 350. Works on
 * cores; @p queue has their threads. Collective; refuses (agreed) with MF_MEMORY, MF_NUMERIC (no convergence, NaN).
 */
int mf_elastic(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena, const struct mf_micro *micro,
               const struct mf_elastic_opts *opts, struct mf_elastic *out);

/** A dry run: takes from @p arena what mf_elastic() takes, and frees it. It touches none of it, and reads only extents
 * and spacing of @p micro. Refuses likewise. */
int mf_elastic_measure(const struct mf_comm *comm, struct mf_queue *queue, struct mf_arena *arena,
                       const struct mf_micro *micro, const struct mf_elastic_opts *opts);

/** Isotropic moduli: of a volume (3 dimensions), or of the plane xy of an image. In a plane K is (C11 + C12) / 2, E is
 * 4 K G / (K + G), nu is (K - G) / (K + G). */
struct mf_elastic_moduli {
    double bulk, shear, young, poisson;
};

/** The moduli nearest to @p c, by the squares of differences over all directions. The rest of c, relative, is
 * *distance. An image has both in its plane. Local. */
struct mf_elastic_moduli mf_elastic_nearest(int ndim, const double c[6][6], double *distance);

/** Bounds of K and G from fractions alone. */
struct mf_elastic_bounds {
    struct mf_elastic_moduli voigt, reuss;
    struct mf_elastic_moduli hashin_low, hashin_high; /* Hashin and Shtrikman 1963, of isotropic phases; else NAN */
};

/** These bounds follow from @p n phases. Local. */
struct mf_elastic_bounds mf_elastic_bounds(int ndim, size_t n, const double *fraction,
                                           const struct mf_elastic_phase *phase);

#endif
