/* Samples of a dataset as pictures (PNG of 8 bits). */
#ifndef MF_CMD_FILES_PICTURES_H
#define MF_CMD_FILES_PICTURES_H

#include "io/dataset.h"

/** How values become levels 0 to 255 of a picture. */
struct mf_levels {
    int same;         /* they are levels already */
    double low, high; /* otherwise: of 0 and 255, and evenly between; high > low */
};

/** Refuses (MF_USAGE) a set whose samples are no pictures: they have two axes, and 1 or 3 channels. Local. */
int mf_pictures_fit(const struct mf_dataset *set);

/** Widens [*low, *high] by the values of a sample @p x. Local. */
void mf_pictures_range(const struct mf_dataset *set, const void *x, double *low, double *high);

/** Writes sample @p x as a PNG to @p path. @p room: [pixels][channels] bytes. MF_OUTPUT. Local. */
int mf_pictures_write(const struct mf_dataset *set, const struct mf_levels *levels, const void *x, uint8_t *room,
                      const char *path);

#endif
