/* Balanced trees of patches. Similar patches stand side by side in leaves, so a search for nearest ones takes n log n
 * steps.
 * Rule: a tree depends on its points alone, not on threads or instruction sets. */
#ifndef MF_KERNELS_CPU_PATCH_TREE_H
#define MF_KERNELS_CPU_PATCH_TREE_H

#include "kernels/cpu/slices/patch.h"

enum { MF_PATCH_LEAF = 16 /* patches of a leaf, at most */, MF_PATCH_MOST = 48 /* leaves that a leaf looks at */ };

/** A node: patches below the cut on its axis are on the left. */
struct mf_patch_node {
    float cut;
    uint32_t axis;
};

/** All patches of an image. Node k, from 1 on, has the children 2k and 2k + 1; node `leaves` + i is leaf i. */
struct mf_patch_tree {
    size_t slots, count;        /* places of patches, and patches */
    size_t leaves;              /* a power of two */
    float *row;                 /* [slots][PARTS] coordinates of a patch side by side; 0 without a patch */
    float *at;                  /* [leaves][PARTS][LEAF] coordinates */
    float *few, *half;          /* [leaves][LEAF] minus half the square of the first coordinates, and of all */
    int32_t *slot;              /* [leaves][LEAF]; -1: none */
    uint64_t *key;              /* [count] while it is built; later work memory */
    struct mf_patch_node *node; /* [leaves] */
};

/** Bytes of the arrays of a tree of @p image; they follow each other from an address of 64 bytes on. */
size_t mf_patch_tree_bytes(const struct mf_patch_image *image);
/** Lays a tree of @p image over @p memory. */
void mf_patch_tree_lay(const struct mf_patch_image *image, void *memory, struct mf_patch_tree *tree);

/** Sets the coordinates of all patches of the image, and makes the tree. The workers of a team make it together. */
void mf_patch_tree_make(int threads, const struct mf_team *team, const struct mf_patch_image *image, const float *axes,
                        struct mf_patch_tree *tree);

/** The leaves that are nearest to a point [PARTS], nearest ones first by the cuts on the way to them. Returns their
 * number. It is @p most, MF_PATCH_MOST at most, or that of all. */
size_t mf_patch_tree_nearest(const struct mf_patch_tree *tree, const float *point, size_t most, uint32_t *leaf);

#endif
