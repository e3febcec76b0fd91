/* The state of a run of annealing, and what it takes. Private to the annealing. */
#ifndef MF_RECON_ANNEAL_IMPL_H
#define MF_RECON_ANNEAL_IMPL_H

#include "src/recon/ahead.h"
#include "src/recon/anneal.h"
#include "src/recon/polish_impl.h"
#include "src/recon/spread.h"

/* One chain has rounds of so many steps at least. */
enum { MF_ANNEAL_ROUND = 65536 };

struct mf_anneal {
    const struct mf_anneal_opts *opts;
    struct mf_polish *polish;
    uint64_t seed;
    struct mf_polish_work work;
    struct mf_mutable field;
    struct mf_tally tally;
    struct mf_deal deal;
    struct mf_chain chain[MF_POOLS_MAX];
    struct mf_ahead ahead;   /* of one chain on several ranks */
    struct mf_spread spread; /* of several chains on several ranks */
    int counted;             /* the tally is that of the labels */
    uint8_t *label, *fixed;  /* this rank's planes of polish->label and polish->fixed, as the host sees them */
    uint8_t *plane;          /* [ny][nx]: of another rank's; NULL: there is none */
    uint8_t *picked;         /* [ny][nx] at most: of a plane of fixed what a pool has of it; NULL: nobody asks */
    int64_t *packed;         /* [pools][mf_anneal_width()]: what every chain has done; NULL: nobody is told */
    long quota;              /* steps of a chain in a turn */
    double loss;
    long steps, accepted, rejected; /* rejected: in a row */
};

/* A chain's numbers, as ranks add them up: struct mf_chain_turn, and so many of its moves at a time. */
enum mf_anneal_number { MF_TOLD_CHANGE, MF_TOLD_STEPS, MF_TOLD_REJECTED, MF_TOLD_ACCEPTED, MF_TOLD_MOVES };

size_t mf_anneal_piece(const struct mf_anneal *a);
size_t mf_anneal_width(const struct mf_anneal *a);

/** Voxels of a plane normal to z. */
static inline size_t mf_anneal_plane(const struct mf_anneal *a) { return a->field.dims[1] * a->field.dims[2]; }

static inline int mf_anneal_alone(const struct mf_anneal *a) { return a->polish->comm->size == 1; }

/** Does no rank have the whole field? */
static inline int mf_anneal_spread(const struct mf_anneal *a) { return !mf_anneal_alone(a) && a->deal.pools > 1; }

/** Chain i is rank i's, chain i + ranks too, ... */
static inline int mf_anneal_own(const struct mf_anneal *a, size_t i)
{
    return i % (size_t)a->polish->comm->size == (size_t)a->polish->comm->rank;
}

/** One chain is everybody's, so that all may look at its steps. */
static inline int mf_anneal_here(const struct mf_anneal *a, size_t i)
{
    return !mf_anneal_spread(a) || mf_anneal_own(a, i);
}

/** Takes everything that a run needs. Collective; refuses (agreed); close accepts half a one. */
int mf_anneal_open(struct mf_anneal *a);
void mf_anneal_close(struct mf_anneal *a);

#endif
