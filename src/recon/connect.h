/* After the cut, makes the same fraction of every phase span the volume as in the target; two-point correlations hardly
 * depend on that. It joins separate clusters by the shortest paths between them, or cuts clusters at their necks. The
 * output is a list of voxels with prescribed phases ("pins"). A new cut at the same volume fractions then changes the
 * voxels whose grey value is least certain. */
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
    double aim[MF_PHASES_MAX][3]; /* fraction of a phase that shall span along z, y, x; below 0: not known */
    const uint8_t *label;         /* [own voxels] */
    const uint8_t *fixed;         /* [own voxels]: labels that stay; MF_LABEL_OPEN: free; or NULL */
    uint64_t open[MF_PHASES_MAX]; /* voxels of each phase that are not fixed, on all ranks */
    /* the result */
    struct mf_change *pin; /* [pins] of this rank; the first [sorted] by voxel, then those of the current call */
    size_t pins, sorted;
    uint64_t pinned[MF_PHASES_MAX]; /* on all ranks */
    double share[MF_PHASES_MAX][3]; /* fraction that spans now, of phases with an aim */
    long joined, parted;            /* paths added, necks cut */
    int full;                       /* the last call found more to do, but no space for its pins */
    /* private */
    struct mf_reach reach;
    struct mf_cluster *list;
    size_t count, most;
    struct mf_way *way;
    uint32_t *parent;
    uint8_t *body, *cut; /* of clusters to cut: [2 own voxels], [parts] */
    int64_t *known;
};

/** Takes memory from connect->arena; the caller sets the members above pin. Local; MF_MEMORY; mf_connect_close()
 * accepts an incomplete one. */
int mf_connect_open(struct mf_connect *connect);
void mf_connect_close(struct mf_connect *connect);

/** Examines the labels. *more: there are new pins, and labels must be computed again with all of them. The same on any
 * number of ranks. Collective; refuses (agreed) with MF_MEMORY, MF_INPUT. */
int mf_connect_look(struct mf_connect *connect, int *more);

/** Measures what spans now, without new pins. Collective; refuses (agreed) with MF_MEMORY, MF_INPUT. */
int mf_connect_measure(struct mf_connect *connect);

/** Reports what was done and the remaining difference; if that is large, also the reason. @p more: of the last call. */
void mf_connect_tell(const struct mf_connect *connect, int more);

#endif
