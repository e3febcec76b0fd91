/* Finds the candidates of the polish: moves of voxels with the best first-order energies. The volume stays on the
 * devices. Only the best moves of all ranks, and the bits around them, are copied to the host. */
#ifndef MF_RECON_CANDIDATES_H
#define MF_RECON_CANDIDATES_H

#include "src/recon/site.h"

struct mf_candidates {
    const struct mf_polish *polish;
    struct mf_window_shape shape;
    size_t most; /* moves of a kind, over all ranks */
    struct mf_labels labels;
    struct mf_moves moves;
    uint8_t *halo, *edges;                   /* labels of neighbouring planes: device, and mirror */
    double *table, *values;                  /* of first-order energies: device, and mirror */
    double *jump[MF_SIDES], *self[MF_SIDES]; /* [fields][slices]: pointers into the mirror, for the caller */
    int64_t *room;
    struct mf_pick *pick; /* [most] */
    float *rest;          /* [most] */
};

/** Takes its memory from the queue's arenas, for windows of @p lag. Refuses with MF_MEMORY; mf_candidates_close()
 * accepts an incomplete one. */
int mf_candidates_open(struct mf_candidates *candidates, const struct mf_polish *polish, size_t lag, size_t most);
void mf_candidates_close(struct mf_candidates *candidates);

/** Additional bytes of queue->host that mf_candidates_update() uses for a short time. Not collective. */
size_t mf_candidates_staged(const struct mf_candidates *candidates);

/** Call it after labels, or jump and self, have changed. Copies planes of other ranks and the tables to the device.
 * Collective; refuses (agreed) with MF_MEMORY. */
int mf_candidates_update(struct mf_candidates *candidates);

/**
 * Finds the best moves from phase @p from to phase @p to at interfaces of the volume, by first-order energy (ties:
 * smaller order). It finds at most candidates->most, over all ranks. This rank's are written, sorted, to site [most],
 * and the bits around them to window [most][sides][planes][shape.n] (queue->host). Returns their number. polish->x is
 * scratch. Collective.
 */
size_t mf_candidates_find(struct mf_candidates *candidates, uint8_t from, uint8_t to, struct mf_site *site,
                          uint32_t *window);

#endif
