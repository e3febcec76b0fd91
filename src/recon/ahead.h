/* One chain of annealing on all ranks. Where few steps are accepted, most of them leave everything as it is: the next
 * ones can be looked at before they are made. Every rank looks at its share of them, the first that any rank would
 * accept is made by all, and what was looked at behind it is forgotten. The steps are those of the chain by itself,
 * whatever the number of ranks. */
#ifndef MF_RECON_AHEAD_H
#define MF_RECON_AHEAD_H

#include "mpi/comm.h"
#include "src/recon/chain.h"

struct mf_ahead {
    const struct mf_comm *comm;
    struct mf_arena *arena;
    int64_t *note;     /* [ranks][2]: what each has found */
    double tell, step; /* seconds that ranks take to tell each other, and a step takes: rank 0's */
    long each;         /* steps that a rank looks at before it tells; 0: one rank makes all steps, it is quicker */
    int measured;
};

/** Local; MF_MEMORY; close accepts half a one. */
int mf_ahead_open(struct mf_ahead *ahead, const struct mf_comm *comm, struct mf_arena *arena);
void mf_ahead_close(struct mf_ahead *ahead);

/** Chooses ahead->each for steps of which @p accepted of the last @p steps were accepted, by what it takes. It changes
 * no result. Collective. */
void mf_ahead_choose(struct mf_ahead *ahead, long steps, size_t accepted);

/** As mf_chain_run(), ahead->each steps at a time on every rank. Collective. */
void mf_ahead_run(struct mf_ahead *ahead, struct mf_chain *chain, long most);

#endif
