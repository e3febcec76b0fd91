/* Predictions of a trained model for files and datasets: infer KIND, a verb for each kind of task. */
#ifndef MF_CMD_LEARN_INFER_H
#define MF_CMD_LEARN_INFER_H

#include "src/cmd/cmd.h"
#include "src/train/learn.h"

struct mf_infer_cmd {
    struct mf_common common;
    const char *threshold, *dataset, *map;
    struct mf_longs labels;
    long batch, stages;
};

extern const struct mf_opt *const mf_infer_tables[];

#define MF_INFER_TEXT                                                                                                  \
    "Reads what characterize reads (.npy, PNG, TIFF, our HDF5, VTK, NRRD, DREAM.3D), and datasets, of which every "    \
    "sample is predicted. A file that is larger than the samples of the training is cut into tiles of their size. "    \
    "The last tile of a row ends with the file, so it may overlap the one before. The mean over the tiles is "         \
    "printed. A smaller file is refused. A model of images reads .npy, PNG and TIFF of grey values; of "               \
    "several channels .npy [y][x][channel]. One line warns of images of another scale than those of the training, as " \
    "16 bits for 8. --output writes a table. Ranks share files and samples. A file that is refused is named and left " \
    "out; the others are predicted, and the exit status is 3.\n\n"                                                     \
    "A model that is too large for a rank is cut: --pp 2 makes two ranks a pipeline, and --map says which has which "  \
    "part. All ranks get the same answers as one.\n\n"

/** Refuses options (MF_USAGE) of verb @p verb. Local. */
int mf_infer_check(const struct mf_session *session, const void *options, const char *verb);

/** Predicts, by a model of kind @p learn. Collective; refuses (agreed). */
int mf_infer_run(struct mf_session *session, void *options, const struct mf_learn *learn);

#endif
