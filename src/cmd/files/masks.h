/* Activations of a file that stand in the place of those of a network: generate --mask FILE. The file is HDF5, such as
 * a set of generate --layers. For each masked layer it has an array /activations/NAME, float32 [rows][channels][y][x]
 * or [rows][all of them]. One row is for all samples, else row i is for sample i. */
#ifndef MF_CMD_FILES_MASKS_H
#define MF_CMD_FILES_MASKS_H

#include "mpi/comm.h"
#include "src/base/opt.h"
#include "src/model/card.h"
#include "src/model/unet.h"

struct mf_masks {
    size_t count;
    struct mf_unet_tap *layer; /* [count] in the order of execution */
    size_t *rows;              /* [count] */
    uint64_t *place;           /* [count] where the rows begin in the file */
    const char *path;
    int file;   /* open */
    float *row; /* of the largest layer */
};

/** Opens the masks of @p path for samples 0 to @p samples - 1. NULL: there are none. The option @p words names layers.
 * Where it was not given, they are all of the network's that the file has. The caller closes in every case. Collective;
 * refuses (agreed):
 * - MF_USAGE: a layer that the network has not, or that is named twice.
 * - MF_INPUT: a file without the layers, or with other extents or rows. */
int mf_masks_open(const struct mf_comm *comm, const char *path, const struct mf_model_card *card,
                  const struct mf_texts *words, size_t samples, struct mf_masks *masks);
void mf_masks_close(struct mf_masks *masks);

/** Reads *values [channels][y][x] of layer @p k for sample @p i. They stay until the next call. Local; MF_INPUT. */
int mf_masks_read(struct mf_masks *masks, size_t k, size_t i, const float **values);

/** Logs which layers are masked, on rank 0. */
void mf_masks_say(const struct mf_masks *masks);

#endif
