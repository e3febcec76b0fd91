/* The architectures one by one, for registry.c alone; others use mf_archs[]. */
#ifndef MF_MODEL_ARCHS_H
#define MF_MODEL_ARCHS_H

#include "src/model/registry.h"

extern const struct mf_arch mf_arch_mlp, mf_arch_cnn, mf_arch_moe, mf_arch_vit, mf_arch_unet, mf_arch_unet_periodic,
    mf_arch_adm, mf_arch_convnext, mf_arch_vqa;

/** The body of cnn without the means: x [n][1][ny][nx][c] -> [n][rows][columns][width 2^(depth - 1)]. Refuses more than
 * 16 stages, by the builder. */
int mf_cnn_map(struct mf_build *build, int x, size_t width, long depth, double dropout);

/** An extent of that map, for one of the image. */
size_t mf_cnn_extent(size_t extent, long depth);

/** The body of cnn: x [n][1][ny][nx][c] -> means over pixels [n][width 2^(depth - 1)]. */
int mf_cnn_features(struct mf_build *build, int x, size_t width, long depth, double dropout);

/** The body of convnext: x [n][1][ny][nx][c] -> its last feature map [n][rows][columns][width 2^(depth - 1)]. It is
 * what forward_features of timm gives, which has no norm behind it. Refuses, by the builder, images without a pixel
 * there, and more than 16 stages. */
int mf_convnext_map(struct mf_build *build, int x, const struct mf_arch_args *args);

/** An extent of that map, for one of the image. */
size_t mf_convnext_extent(size_t extent, const struct mf_arch_args *args);

#endif
