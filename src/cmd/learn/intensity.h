/* Compares the intensities of images with those from which a model learnt. On images of another scale a network is
 * wrong, and sure of itself. Rule: many files give one warning. */
#ifndef MF_CMD_LEARN_INTENSITY_H
#define MF_CMD_LEARN_INTENSITY_H

#include "mpi/comm.h"
#include "src/base/err.h"
#include "src/model/card.h"

/** Intensities of a file. */
struct mf_intensity {
    const char *file, *type; /* type: "uint16" */
    int whole;               /* they are whole numbers */
    struct mf_channel channel[MF_CHANNELS_MAX];
};

/** Files of this rank whose intensities are not those of the training: how many, and the first one's facts. Its number
 * among all files is place. */
struct mf_intensity_shift {
    size_t files, place;
    char file[MF_ERR_TEXT / 2], text[MF_ERR_TEXT / 2];
};

/** Measures values [n][channels]. Local. */
void mf_intensity_measure(size_t n, size_t channels, const float *values, struct mf_intensity *intensity);

/**
 * Compares a file with the train split of the model. Adds it to @p shift in any of these cases:
 * - its mean is more than three deviations away;
 * - its values leave the range by more than a quarter of that range;
 * - its deviation is above four times the training's, or below a tenth; a range below a tenth makes that a fifth;
 * - it has two values alone.
 * A few whole numbers where the model read grey values are phases: refused with MF_INPUT. Calls are in the order of
 * places. Local.
 */
int mf_intensity_compare(const struct mf_model_card *card, size_t place, const struct mf_intensity *intensity,
                         struct mf_intensity_shift *shift);

/** The same of samples @p id [n] of a set. */
int mf_intensity_compare_set(const struct mf_model_card *card, size_t place, const struct mf_dataset *set, size_t n,
                             const uint32_t *id, struct mf_intensity_shift *shift);

/** Warns of the shifts of all ranks. Collective; MF_MEMORY, agreed. */
int mf_intensity_warn(const struct mf_comm *comm, const struct mf_intensity_shift *own);

#endif
