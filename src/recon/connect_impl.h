/* What joining clusters (connect.c) and parting them (part.c) have in common: the list of pinned voxels, and how many
 * voxels of a phase span. Private to these two. */
#ifndef MF_RECON_CONNECT_IMPL_H
#define MF_RECON_CONNECT_IMPL_H

#include <math.h>

#include "src/desc/clusters.h"
#include "src/recon/connect.h"

enum { MF_PART_NUMBERS = 9 };

/** What of a phase spans, in voxels. */
struct mf_account {
    uint8_t phase;
    int64_t voxels;
    double spans[3], wanted[3];
};

static inline double mf_account_miss(const double spans[3], const double wanted[3])
{
    return fabs(spans[0] - wanted[0]) + fabs(spans[1] - wanted[1]) + fabs(spans[2] - wanted[2]);
}

/* -- connect.c -- */

/** Most pins of a volume, of all phases and ranks. */
size_t mf_connect_pins_most(const struct mf_connect *connect);

/** How many more voxels may be pinned to phase @p to, on all ranks: half of what is open of it are left to the grey
 * field. */
uint64_t mf_connect_room(const struct mf_connect *connect, uint8_t to);

/** Does a voxel stay as it is: fixed, or pinned since before this batch? */
int mf_connect_holds(const struct mf_connect *connect, uint64_t voxel);

/** A pin more, unless its voxel is held; no voxel twice in a batch. */
void mf_connect_pin(struct mf_connect *connect, struct mf_change new);

/** The end of a batch of pins to @p phase. Returns how many there were on all ranks. Collective. */
uint64_t mf_connect_pinned(struct mf_connect *connect, uint8_t phase);

/* -- part.c -- */

/** Parts what hangs on spanning clusters of a phase by necks, while less shall span. connect->list are its clusters,
 * which the own planes of connect->reach are marked with. Collective, agreed: MF_MEMORY, MF_INPUT. */
int mf_connect_part(struct mf_connect *connect, struct mf_account *is, int *more);

#endif
