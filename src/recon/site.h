/* Candidates of the polish: a voxel, the phase it would change to, and the bits around it in its three slices. */
#ifndef MF_RECON_SITE_H
#define MF_RECON_SITE_H

#include "src/recon/polish.h"

/** A move of one voxel; what ranks exchange. @p order: global voxel index * phases + to, which breaks ties. */
struct mf_site {
    uint32_t at[3]; /* z, y, x */
    uint8_t from, to;
    float energy; /* first-order estimate of the change of the loss, then the exact one */
    float rest;   /* first order without Variation; then what of it the exact energy does not cover */
    uint64_t order;
};

/** Sites of one round, equal on all ranks, each with windows [sides][planes][shape.n] and their mirrors. */
struct mf_sites {
    size_t count, sides, planes; /* planes: 1 (indicator of phase 1) or 2 (phase left, phase entered) */
    struct mf_window_shape shape;
    struct mf_site *site;
    uint32_t *window, *mirror; /* [count][sides][planes][shape.n] */
};

/** The labels around a slab, twice: with x fastest and with y fastest, with borders so that no window wraps. */
struct mf_around {
    size_t border, planes, ny, nx; /* border: L-1; extents with borders */
    uint8_t *by_x;                 /* [planes][ny][nx] */
    uint8_t *by_y;                 /* [planes][nx][ny] (volumes only) */
};

/** Takes and fills the bordered copies of @p label. Voxels outside a non-periodic field are 255. Collective. */
int mf_around_make(const struct mf_polish *polish, size_t lag, struct mf_around *around);
/** Bytes that mf_around_make() has in use at most. Not collective. */
size_t mf_around_bytes(const struct mf_polish *polish, size_t lag);
void mf_around_free(const struct mf_polish *polish, struct mf_around *around);

/** What first-order energies are made of. */
struct mf_rank_by {
    const float *g;               /* gradient of everything but Variation [fields][voxels], host */
    const double *jump[MF_SIDES]; /* [fields][slices]: change of the loss by one more jump in the slice */
    const double *self[MF_SIDES]; /* [fields][slices]: what a flip adds through zero lag beyond the gradient */
};

/**
 * The @p most best moves from phase @p from to phase @p to at interfaces of this rank's slab, by first-order energy
 * (ties: smaller order): sites without windows, sorted. Returns their number. @p sites has room for 2 * most for every
 * thread of the queue, @p count for a number of each. Not collective.
 */
size_t mf_sites_find(const struct mf_polish *polish, const struct mf_around *around, const struct mf_rank_by *by,
                     uint8_t from, uint8_t to, size_t most, struct mf_site *sites, size_t *count);

/** The bits of phase @p phase around a voxel of this rank in the slice normal to @p side. */
void mf_site_window(const struct mf_polish *polish, const struct mf_around *around, const struct mf_window_shape *shape,
                    const struct mf_site *site, size_t side, uint8_t phase, uint32_t *window);

#endif
