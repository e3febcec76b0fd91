/* Loads VGG-19's weights from a file to every rank, and decides which descriptors and images can use them. */
#ifndef MF_DESC_VGG_WEIGHTS_H
#define MF_DESC_VGG_WEIGHTS_H

#include "io/target.h"
#include "kernels/slices/vgg.h"

/**
 * Reads a .safetensors file with "mean" [3] (of the colours, 0 to 255). For every layer of kernels/slices/vgg.h it has
 * "conv1_1.weight" [out][in][3][3] and "conv1_1.bias" [out]. Rank 0 reads it. Collective; refuses (agreed) with
 * MF_INPUT, MF_MEMORY.
 */
int mf_vgg_load(const struct mf_comm *comm, const char *path, enum mf_unit unit, struct mf_vgg **vgg);

/** Does one of the further descriptors @p more (bits 1 << enum mf_more) need VGG-19? */
int mf_vgg_wanted(unsigned more);

/** Are slices of @p micro large enough for VGG-19 on all pyramid levels with L = @p lag (0: only full resolution)? With
 * @p together all phases are used at once: are there few enough for its colours? */
int mf_vgg_feeds(const struct mf_micro *micro, size_t lag, int together);

/** The activation functions that are asked for, by their place. */
#define MF_UNIT_CHOICES "relu|gelu|silu|elu|leaky_relu"

/** The activation function at place @p asked, from 1. 0: that of @p target (NULL: not measured yet), else ReLU. */
enum mf_unit mf_vgg_unit(int asked, const struct mf_target *target);

/** Refuses (MF_INPUT) a target made with other weights than @p vgg. Not collective. */
int mf_vgg_same(const struct mf_target *target, const struct mf_vgg *vgg);

#endif
