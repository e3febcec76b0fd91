/* The devices of a training's ranks, in words. Local; texts belong to the caller. */
#ifndef MF_MOE_DEVICES_H
#define MF_MOE_DEVICES_H

#include <stddef.h>

/** Device of a rank. */
struct mf_rank_device {
    char node[96];
    char name[96]; /* of the GPU's or the processor's model */
    size_t bytes;  /* memory of the GPU; cores: 0 */
};

/** Do all ranks have the same model? */
int mf_devices_alike(size_t ranks, const struct mf_rank_device *device);

/** Lines without an end after the last. Ranks with one model give: "NVIDIA H100, 8 ranks on 2 nodes". Else a line for
 * ranks that follow each other and have the same: "ranks 0 to 3 on node1: NVIDIA H100". */
char *mf_devices_text(size_t ranks, const struct mf_rank_device *device);

/** A short name for each rank in a picture: its number. Where models differ the model is added and, if there are
 * several, the node. */
char *mf_devices_label(size_t ranks, const struct mf_rank_device *device, size_t rank);

/** Where GPUs differ in model or memory, how many there are of each: "2 x NVIDIA A100 (40 GiB), 1 x ..."; else NULL. */
char *mf_devices_differ(size_t ranks, const struct mf_rank_device *device);

#endif
