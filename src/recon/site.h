/* A candidate of the polish: a voxel, the phase that it would change to, and the bits around it in its three slices. */
#ifndef MF_RECON_SITE_H
#define MF_RECON_SITE_H

#include "kernels/labels.h"
#include "src/recon/polish.h"

/** A move of one voxel; what ranks exchange. @p order: global voxel index * phases + to, which breaks ties. */
struct mf_site {
    uint32_t at[3]; /* z, y, x */
    uint8_t from, to;
    float energy;                /* first-order estimate of the change of the loss, then the exact one */
    float change[MF_PROPERTIES]; /* of properties (mf_property_change()) */
    float rest; /* first order without Variation; later the part that the exact energy does not cover */
    uint64_t order;
};

/** Sites of one round, equal on all ranks, each with windows [sides][planes][shape.n] and their mirrors. */
struct mf_sites {
    size_t count, sides, planes; /* planes: 1 (indicator of phase 1) or 2 (phase left, phase entered) */
    struct mf_window_shape shape;
    struct mf_site *site;
    uint32_t *window, *mirror; /* [count][sides][planes][shape.n] */
};

#endif
