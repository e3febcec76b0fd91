/* Warnings about a dataset before training: classes, channels and columns from which nothing is learnt. */
#ifndef MF_IO_DATASET_DOUBT_H
#define MF_IO_DATASET_DOUBT_H

#include "io/dataset.h"

/** Warns of classes without a sample in the train split. Local. */
void mf_doubt_classes(const struct mf_dataset *set);

/** Warns where the split looks like marks of the train split, 1 and 0: these are validation and train. Local. */
void mf_doubt_splits(const struct mf_dataset *set);

/** Warns of channels of images that are constant in the train split. Local. */
void mf_doubt_channels(const struct mf_dataset *set);

/** Warns of images whose values span far less than those of all others. Examples are masks of 0 and 1 beside grey
 * values to 255, or 12 bits beside 16. MF_MEMORY. Local. */
int mf_doubt_scales(const struct mf_dataset *set);

/** Warns of real values that are constant in the train split: of @p columns columns, NULL: the first ones. Local. */
void mf_doubt_reals(const struct mf_dataset *set, size_t columns, const size_t *column);

#endif
