/* Private to spread*.c: the search for runs of a chain, from its end to its begin. */
#ifndef MF_PLACE_SPREAD_IMPL_H
#define MF_PLACE_SPREAD_IMPL_H

#include "src/place/spread.h"

/** Devices with equal free memory. */
struct mf_spread_kind {
    double free;
    size_t count, stride, *device; /* stride: in the numbers of states; device [count] ascending */
    size_t *begin;                 /* [parts + 1] of the longest run that ends there, + 1; 0: not looked for */
};

/** A state says how many devices of each kind have runs. */
struct mf_spread_search {
    const struct mf_place_chain *chain;
    const struct mf_place_devices *devices;
    size_t n;
    const size_t *use;
    double share; /* a run takes at most this share of its device's free memory */
    size_t kinds, states;
    struct mf_spread_kind *kind;
    size_t *kind_of; /* [devices] */
    size_t *begin;   /* [states] the smallest begin of runs up to the chain's end */
};

/** The begin of the longest run on a device of this kind that ends before @p end. */
size_t mf_spread_begin(const struct mf_spread_search *search, size_t kind, size_t end);

/** Appends a run on @p device that begins with @p from and ends at @p least or behind it. It takes about the share that
 * all devices left would take. @p left: their free memory, with this one's. Returns its end. */
size_t mf_spread_put(const struct mf_spread_search *search, size_t device, size_t from, size_t least, double left,
                     struct mf_spread *to);

/** Runs on the devices in the order of @p order [n]. The first: the smallest begin. The second puts the fewest runs
 * that have this begin. */
size_t mf_spread_ordered(const struct mf_spread_search *search, const size_t *order);
void mf_spread_ordered_put(const struct mf_spread_search *search, const size_t *order, struct mf_spread *to);

/** Puts @p runs runs from part @p from on, of which most neighbours are linked. So many runs do, and fewer do not. */
void mf_spread_linked(const struct mf_spread_search *search, size_t runs, size_t from, struct mf_spread *to);

#endif
