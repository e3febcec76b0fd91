/* A Markov chain of annealing: it makes steps one after the other, among the voxels of one sublattice. Chains of
 * different sublattices run at the same time, for each changes the residuals of its own slices alone. */
#ifndef MF_RECON_CHAIN_H
#define MF_RECON_CHAIN_H

#include "src/recon/anneal.h"
#include "src/recon/sublattice.h"
#include "src/recon/swap.h"
#include "src/recon/tally.h"

enum { MF_CHAIN_NUMBERS = 8 };

/** What a turn of a chain has come to. */
struct mf_chain_turn {
    double change;   /* of the loss */
    long steps;      /* made */
    long rejected;   /* of this chain in a row, up to now */
    size_t accepted; /* of this turn */
};

struct mf_chain {
    const struct mf_anneal_opts *opts;
    struct mf_arena *arena;
    struct mf_sublattice sublattice;
    struct mf_swap swap;               /* two sites of its own; slices are everybody's */
    int windows;                       /* S2 or Variation have a weight */
    const struct mf_tally *tally;      /* NULL: no term is a count */
    struct mf_tally_change counts;     /* of this step */
    double weight[MF_CLASSES], offset; /* of voxels by their foreign neighbours */
    uint64_t seed;
    int64_t (*move)[2]; /* [most steps of a turn]: voxels swapped, in order; NULL: nobody asks */
    /* of the turn */
    long number, stride; /* of the next step, in the whole run; from one step to the next */
    long patience;
    double loss;        /* when it began */
    double temperature; /* of the next step */
    double factor;      /* from one step's to the next one's */
    struct mf_chain_turn turn;
    double random[MF_CHAIN_NUMBERS]; /* of this step, in [0,1) */
};

/** What all chains work with. */
struct mf_chain_shared {
    const struct mf_anneal_opts *opts;
    struct mf_arena *arena;
    struct mf_mutable *field;
    const struct mf_partition *partition;
    const struct mf_swap *swap; /* its slices; its sites say how many windows there are */
    const struct mf_tally *tally;
    uint64_t seed;
    int told; /* other ranks are told what was swapped */
};

/** Chain @p number, with turns of at most @p most steps. MF_MEMORY; close accepts half a one. */
int mf_chain_open(struct mf_chain *chain, const struct mf_chain_shared *shared, size_t number, long most);
void mf_chain_close(struct mf_chain *chain);

/** Its first step is number @p step of the run, the loss @p loss; steps of all chains take turns. @p rejected: of all
 * chains in a row before. */
void mf_chain_begin(struct mf_chain *chain, long step, double loss, long rejected);

/** Makes at most @p most steps. */
void mf_chain_run(struct mf_chain *chain, long most);

/** Swaps what this chain has swapped on another rank: turn.accepted of chain->move. */
void mf_chain_repeat(struct mf_chain *chain);

/** Why no step of number @p step is made; NULL: one is. */
const char *mf_chain_ended(const struct mf_anneal_opts *opts, long step, double loss, int idle, double temperature);

/** T of step number @p step. */
double mf_chain_temperature(const struct mf_anneal_opts *opts, long step);

#endif
