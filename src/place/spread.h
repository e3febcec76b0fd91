/* Cuts a chain of parts into runs, one for each of some devices. Private to the room. */
#ifndef MF_PLACE_SPREAD_H
#define MF_PLACE_SPREAD_H

#include "src/place/chain.h"
#include "src/place/device_map.h"

/** Runs of a chain, in its order. */
struct mf_spread {
    size_t runs, *device, *end; /* [runs] */
    double most;                /* largest share of a device's free memory that is taken */
    size_t begin;               /* parts in front of it have no device; 0: all have one */
};

/**
 * Cuts the chain into runs on different ones of @p n devices, numbers @p use. The largest share that a device takes of
 * its free memory is the smallest possible. Among such cuts there are the fewest runs, and then the most neighbours
 * that are linked. Where nothing fits, the runs hold as many of the last parts as possible. The caller ends with
 * mf_spread_free().
 *
 * Exact up to 16 devices of different sizes and any number of equal ones; links up to 10 devices. More of them stand in
 * the given order, or from large to small.
 */
void mf_spread(const struct mf_place_chain *chain, const struct mf_place_devices *devices, size_t n, const size_t *use,
               struct mf_spread *to);
void mf_spread_free(struct mf_spread *to);

#endif
