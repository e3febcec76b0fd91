/* After the cut, makes as much of every phase span the volume as in the target; two-point correlations hardly see that.
 * Separate clusters are joined by the shortest ways between them, or clusters are parted at their necks. The output is
 * a list of voxels with prescribed phases ("pins"). A new cut at the same volume fractions then changes the voxels
 * whose grey value is least certain. */
#ifndef MF_RECON_CONNECT_H
#define MF_RECON_CONNECT_H

#include "io/micro.h"
#include "kernels/labels.h"
#include "src/recon/reach.h"

struct mf_connect {
    const struct mf_comm *comm;
    struct mf_arena *arena;
    struct mf_slab slab;
    int phases;
    double aim[MF_PHASES_MAX][3]; /* share of a phase that spans along z, y, x; below 0: nobody knows */
    const uint8_t *label;         /* [own voxels] */
    const uint8_t *fixed;         /* [own voxels]: what is not MF_LABEL_OPEN stays as it is; or NULL */
    uint64_t open[MF_PHASES_MAX]; /* voxels of each phase that are not fixed, on all ranks */
    /* what has come of it */
    struct mf_change *pin; /* [pins] of this rank; the first [sorted] by voxel, those of this look behind them */
    size_t pins, sorted;
    uint64_t pinned[MF_PHASES_MAX]; /* on all ranks */
    double share[MF_PHASES_MAX][3]; /* what spans now, of phases with an aim */
    long joined, parted;            /* ways that were laid, necks that were cut */
    int full;                       /* there was more to do at the last look, and no room for its pins */
    /* its own */
    struct mf_reach reach;
    struct mf_cluster *list;
    size_t count, most;
    struct mf_way *way;
    uint32_t *parent;
    uint8_t *body, *cut; /* of what is parted: [2 own voxels], [parts] */
    int64_t *known;
};

/** Takes memory from connect->arena; the members above pin are the caller's. Local; MF_MEMORY; close accepts half a
 * one. */
int mf_connect_open(struct mf_connect *connect);
void mf_connect_close(struct mf_connect *connect);

/** Looks at the labels. *more: there are new pins, and labels are to be made anew with all of them. The same on any
 * number of ranks. Collective; refuses (agreed) with MF_MEMORY, MF_INPUT. */
int mf_connect_look(struct mf_connect *connect, int *more);

/** Finds what spans now, and asks for nothing. Collective; refuses (agreed) with MF_MEMORY, MF_INPUT. */
int mf_connect_measure(struct mf_connect *connect);

/** Says what was done and how near it came; where that is not near, why. @p more: of the last look. */
void mf_connect_tell(const struct mf_connect *connect, int more);

#endif
