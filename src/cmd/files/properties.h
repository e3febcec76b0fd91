/* Properties of samples: what our measures find in small fields of phases, as the columns of a dataset.
 * Rule: the columns depend on phases and extents alone, so sets of the same extents have the same ones. */
#ifndef MF_CMD_FILES_PROPERTIES_H
#define MF_CMD_FILES_PROPERTIES_H

#include "io/dataset.h"
#include "src/cmd/cmd.h"
#include "src/prop/sample.h"

enum { MF_PROPERTY_LAGS = 5 };

struct mf_properties {
    struct mf_session *session;
    struct mf_comm self;
    unsigned measures;
    int ndim, phases;
    int periodic; /* pairs of voxels cross the border */
    int length;   /* there is a column length, which the caller knows */
    size_t lags;  /* of S2 that fit into half of every extent */
    size_t columns;
    mf_name *name; /* [columns]; heap */
    struct mf_conduct_columns conduct;
    size_t conducts; /* how many of the last columns are conductivities */
    char *said;      /* what these follow from; NULL: there are none. Heap */
};

/**
 * Sets the columns of samples of @p dims {nz, ny, nx}. Two phases have volume_fraction, [length,] interface_density,
 * percolates_x, straightness_x, s2_R of phase 1. They have matrix_straightness_x of phase 0. With more phases the names
 * of phases 1, 2, ... end in _1, _2, ... Local.
 */
void mf_properties_begin(struct mf_session *session, int ndim, const size_t dims[3], int phases, int periodic,
                         int length, struct mf_properties *properties);
/** Adds columns conductivity_z, conductivity_y, conductivity_x (images: y, x) between plates, of phases with these
 * conductivities. Local. */
void mf_properties_conduct(struct mf_properties *properties, size_t n, const double *k);

void mf_properties_end(struct mf_properties *properties);

/** Measures the sample @p micro, which this rank has alone: real [columns]. Volume fractions and interfaces are per
 * voxel and per pair of voxels. Local; MF_MEMORY. */
int mf_properties_measure(const struct mf_properties *properties, struct mf_micro *micro, double length, float *real);

/** The same of phases @p phase [nz][ny][nx], @p dims {nz, ny, nx}, without a length. */
int mf_properties_of(const struct mf_properties *properties, const size_t dims[3], uint8_t *phase, float *real);

#endif
