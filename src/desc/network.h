/* The weights of VGG-19 from a file to every rank. */
#ifndef MF_DESC_NETWORK_H
#define MF_DESC_NETWORK_H

#include "kernels/slices/vgg.h"
#include "mpi/comm.h"

/**
 * Reads a .safetensors file with "mean" [3] (of the colours, 0 to 255) and, for every layer of kernels/slices/vgg.h,
 * "conv1_1.weight" [out][in][3][3] and "conv1_1.bias" [out]. Rank 0 reads it. Collective; refuses (agreed) with
 * MF_INPUT, MF_MEMORY.
 */
int mf_network_load(const struct mf_comm *comm, const char *path, enum mf_unit unit, struct mf_vgg **vgg);

#endif
