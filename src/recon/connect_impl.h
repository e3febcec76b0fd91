/* What joining clusters (connect.c) and cutting them (part.c) share: the list of pinned voxels, and the number of
 * voxels of a phase that span. Private to these two. */
#ifndef MF_RECON_CONNECT_IMPL_H
#define MF_RECON_CONNECT_IMPL_H

#include <math.h>

#include "src/desc/clusters.h"
#include "src/recon/connect.h"

enum { MF_PART_NUMBERS = 9 };

/** Voxels of a phase that span. */
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

/** How many more voxels may be pinned to phase @p to, on all ranks. Half of its free voxels are left to the grey
 * field. */
uint64_t mf_connect_room(const struct mf_connect *connect, uint8_t to);

/** Must a voxel keep its label: is it fixed, or pinned before this batch? */
int mf_connect_holds(const struct mf_connect *connect, uint64_t voxel);

/** Adds a pin, unless its voxel must keep its label. A voxel occurs at most once in a batch. */
void mf_connect_pin(struct mf_connect *connect, struct mf_change new);

/** Ends a batch of pins to @p phase. Returns their number on all ranks. Collective. */
uint64_t mf_connect_pinned(struct mf_connect *connect, uint8_t phase);

/* -- part.c -- */

/** While a phase spans too much, cuts off parts of its spanning clusters at their necks. connect->list has its
 * clusters; the own planes of connect->reach are marked with them. Collective, agreed: MF_MEMORY, MF_INPUT. */
int mf_connect_part(struct mf_connect *connect, struct mf_account *is, int *more);

#endif
