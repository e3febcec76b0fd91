/* A Markov chain of annealing: a sequence of steps among the voxels of one sublattice. Chains of different sublattices
 * run at the same time, because each changes only the residuals of its own slices. */
#ifndef MF_RECON_CHAIN_H
#define MF_RECON_CHAIN_H

#include "src/recon/anneal.h"
#include "src/recon/sublattice.h"
#include "src/recon/swap.h"
#include "src/recon/tally.h"

enum { MF_CHAIN_NUMBERS = 8 };

/** Result of one turn of a chain. */
struct mf_chain_turn {
    double change;   /* of the loss */
    long steps;      /* made */
    long rejected;   /* consecutive rejected steps of this chain so far */
    size_t accepted; /* in this turn */
};

struct mf_chain {
    const struct mf_anneal_opts *opts;
    struct mf_arena *arena;
    struct mf_sublattice sublattice;
    struct mf_swap swap;               /* two sites of its own; the slices are shared */
    int windows;                       /* S2 or Variation have a weight */
    const struct mf_tally *tally;      /* NULL: no term is a count */
    struct mf_tally_change counts;     /* of this step */
    double weight[MF_CLASSES], offset; /* weights of voxels by their number of foreign neighbours */
    uint64_t seed;
    int64_t (*move)[2]; /* [most steps of a turn]: swapped voxels, in order; NULL: not wanted */
    /* of the turn */
    long number, stride; /* number of the next step in the whole run; difference from one step to the next */
    long patience;
    double loss;        /* at the begin of the turn */
    double temperature; /* of the next step */
    double factor;      /* factor from one step to the next */
    struct mf_chain_turn turn;
    double random[MF_CHAIN_NUMBERS]; /* of this step, in [0,1) */
};

/** What all chains share. */
struct mf_chain_shared {
    const struct mf_anneal_opts *opts;
    struct mf_arena *arena;
    struct mf_mutable *field;
    const struct mf_partition *partition;
    const struct mf_swap *swap; /* its slices; its sites say how many windows there are */
    const struct mf_tally *tally;
    uint64_t seed;
    int told; /* swaps are sent to other ranks */
};

/** Opens chain @p number, with at most @p most steps in a turn. MF_MEMORY; mf_chain_close() accepts an incomplete
 * one. */
int mf_chain_open(struct mf_chain *chain, const struct mf_chain_shared *shared, size_t number, long most);
void mf_chain_close(struct mf_chain *chain);

/** Begins a turn: its first step is number @p step of the run, and the loss is @p loss. Step numbers alternate between
 * the chains. @p rejected: consecutive rejected steps of all chains before. */
void mf_chain_begin(struct mf_chain *chain, long step, double loss, long rejected);

/** Makes at most @p most steps. */
void mf_chain_run(struct mf_chain *chain, long most);

/** Repeats the swaps that this chain made on another rank: turn.accepted of chain->move. */
void mf_chain_repeat(struct mf_chain *chain);

/** The reason why step number @p step is not made; NULL: it is made. */
const char *mf_chain_ended(const struct mf_anneal_opts *opts, long step, double loss, int idle, double temperature);

/** T of step number @p step. */
double mf_chain_temperature(const struct mf_anneal_opts *opts, long step);

#endif
