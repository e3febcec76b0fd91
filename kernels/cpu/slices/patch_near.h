/* Nearest patches between two trees, in n log n steps: most of them exactly, the others nearly.
 * Rule: a search reads what the last one found, and writes elsewhere. So the result depends on no order, and on no
 * number of threads. */
#ifndef MF_KERNELS_CPU_PATCH_NEAR_H
#define MF_KERNELS_CPU_PATCH_NEAR_H

#include "kernels/cpu/slices/patch_tree.h"

/** The patches of an image, and the nearest patches of another one. */
struct mf_patch_side {
    const struct mf_patch_image *image;
    const struct mf_patch_tree *tree;
    int32_t *match; /* [slots] in: any patches of the other image, as from the last search; out: the nearest ones */
    float *far;     /* [slots] in: squared distances to them at the last search; out: now */
    int32_t *found; /* [slots] work */
};

/** Squared distance between patches of two images. */
float mf_patch_apart(const struct mf_patch_side *own, int32_t slot, const struct mf_patch_side *other, int32_t match);

/** Where a search begins. The nearest of the last match and the shifted matches of the neighbours goes to found, and
 * its distance to far. The distance is negative (also -0) if the match has moved away. */
void mf_patch_begin(int threads, const struct mf_team *team, const struct mf_patch_side *own,
                    const struct mf_patch_side *other);

/**
 * Finds the nearest patches in both directions. The patches of a leaf look at the leaves of the other tree that are
 * nearest to their mean. These are a few, or many in turn (by @p number), or many if matches of several have moved
 * away. They begin with the last match, and with the shifted matches of their neighbours (Barnes and others,
 * "PatchMatch", 2009). Results of one direction serve the other. The workers of a team share the rows and the leaves.
 *
 * @param number  of the search, from 0 on; in search 0 all look at many leaves
 */
void mf_patch_near(int threads, const struct mf_team *team, size_t number, const struct mf_patch_side *slice,
                   const struct mf_patch_side *example);

#endif
