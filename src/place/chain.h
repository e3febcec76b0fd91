/* A run of neighbouring parts on one device, and its bytes. Private to the room. */
#ifndef MF_PLACE_CHAIN_H
#define MF_PLACE_CHAIN_H

#include "src/place/parts.h"

struct mf_place_chain {
    size_t parts;
    size_t *own, *work; /* [parts] bytes: of arrays that no other part touches; of work memory */
    size_t *first;      /* [parts + 1] the shared arrays of part p are shared[first[p]] .. */
    struct mf_place_chain_shared {
        size_t before, behind; /* the nearest other part: its number + 1, or 0; its number, or parts */
        size_t bytes;
    } * shared;
};

/** @p apart [parts]: parts that cost nothing, because they are elsewhere; NULL: none. The second frees. */
void mf_place_chain_make(const struct mf_parts *parts, const unsigned char *apart, struct mf_place_chain *chain);
void mf_place_chain_free(struct mf_place_chain *chain);

/** Bytes of the parts from @p from up to @p end, without it. */
size_t mf_place_chain_bytes(const struct mf_place_chain *chain, size_t from, size_t end);

/** The end of the longest run in so many bytes of room that begins with @p from. The second: the begin of the longest
 * one in front of @p end. */
size_t mf_place_chain_end(const struct mf_place_chain *chain, size_t from, double room);
size_t mf_place_chain_begin(const struct mf_place_chain *chain, size_t end, double room);

#endif
