/* Annealing of a volume on several ranks: none of them has all of it. Between turns the labels stand in slabs. For a
 * turn every rank gets the slices of its pools, what stands in them and what is counted of them; what its chains have
 * changed goes back to the slabs, and to whose the slice is in the next turn. Chain i is rank i's, chain i + ranks too,
 * ...; slices belong to one pool each, so no two ranks change what the other has. */
#ifndef MF_RECON_SPREAD_H
#define MF_RECON_SPREAD_H

#include "mpi/slab.h"
#include "src/recon/chain.h"

/** What of a slice travels: its residuals and jumps, its counts. */
enum { MF_SPREAD_WINDOWS, MF_SPREAD_COUNTS, MF_SPREAD_KINDS };

/** What it works on; all borrowed. */
struct mf_spread_parts {
    const struct mf_comm *comm;
    struct mf_arena *arena;
    struct mf_slab slab;
    const struct mf_deal *deal;
    struct mf_mutable *field;
    struct mf_chain *chain; /* [pools]: this rank's are open */
    struct mf_swap *swap;   /* NULL: nothing of its slices is needed */
    struct mf_tally *tally; /* NULL: nothing is counted */
    size_t fields;
    int threads;
    uint8_t *label;       /* [this rank's planes][ny][nx] */
    const uint8_t *fixed; /* the same: where this is not MF_LABEL_OPEN the label stays; NULL: nowhere, on all ranks */
};

/** A plane that has come: where its bytes stand in what was got. */
struct mf_parcel {
    size_t z, at;
};

struct mf_spread {
    struct mf_spread_parts with;
    int owner[MF_POOLS_MAX];
    size_t run, groups;            /* so many planes travel at a time of every groups-th rank */
    size_t room;                   /* bytes of slices that travel at a time */
    uint8_t *turned;               /* [threads][nx][ny]: a plane of labels whose rows go along y */
    size_t (*begin)[MF_POOLS_MAX]; /* [run]: where in what is sent that of a plane begins, for ranks that have chains */
    struct mf_parcel *parcel;      /* [planes that come at a time] */
    char *out, *in;
    size_t *sent, *got, *at;                    /* [ranks]: bytes for them, from them; where they stand */
    uint8_t *last[MF_SIDES];                    /* [slices]: the rank that has had its labels in the last turn */
    uint8_t **free[MF_SIDES];                   /* [slices of this rank]: places for those that come */
    size_t come[MF_SIDES][MF_POOLS_MAX];        /* slices that a rank has not had */
    uint16_t *known[MF_SPREAD_KINDS][MF_SIDES]; /* [slices]: a bit for each rank that has it as it is */
};

/** How many slices normal to @p side pools of rank @p rank have. Local. */
size_t mf_spread_slices_of(const struct mf_comm *comm, const struct mf_deal *deal, size_t side, int rank);

/** Takes its memory. Local; MF_MEMORY; close accepts half a one. */
int mf_spread_open(struct mf_spread *spread, const struct mf_spread_parts *with);
void mf_spread_close(struct mf_spread *spread);

/** Forgets which labels are where. Local; on all ranks. */
void mf_spread_begin(struct mf_spread *spread);

/** The slices of this rank's pools as they are dealt now, with their labels and pins. Collective. */
void mf_spread_labels(struct mf_spread *spread);

/** Everything else of them, from whoever had them last. Collective. */
void mf_spread_slices(struct mf_spread *spread);

/** Of this @p kind every rank has all slices; only whose they are has. Local. */
void mf_spread_known(struct mf_spread *spread, int kind);
void mf_spread_own(struct mf_spread *spread, int kind);

/** What chain @p number has swapped in this turn: @p moves of them. Local; on all ranks. */
void mf_spread_moved(struct mf_spread *spread, size_t number, size_t moves, const int64_t *move);

/* -- for those two files alone -- */

/** Whose a pool is. */
static inline int mf_spread_owner(const struct mf_spread *s, size_t pool) { return s->owner[pool]; }

/** Bytes of a slice of this kind; 0: nothing travels. */
size_t mf_spread_bytes(const struct mf_spread *spread, int kind);

/** Where what is for ranks, or from them, begins when each has so many bytes: into spread->at. */
void mf_spread_places(struct mf_spread *spread, const size_t *bytes);

#endif
