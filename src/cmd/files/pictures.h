/* Samples of a dataset as pictures (PNG of 8 bits). */
#ifndef MF_CMD_FILES_PICTURES_H
#define MF_CMD_FILES_PICTURES_H

#include "io/dataset.h"
#include "src/base/opt.h"

/** How values become levels 0 to 255 of a picture. */
struct mf_levels {
    int same;         /* they are levels already */
    double low, high; /* otherwise: of 0 and 255, and evenly between; high > low */
};

/** Samples that become pictures. The reader gives raw samples, and has room for one. */
struct mf_pictures {
    const struct mf_comm *comm;
    const struct mf_dataset *set;
    struct mf_reader *reader;
    size_t count;     /* of this rank */
    const size_t *id; /* [count] */
};

/** Refuses (MF_USAGE) samples of @p file that are no pictures, and says what to do. Pictures have two axes, and 1 or 3
 * channels. Local. */
int mf_pictures_fit(const char *file, int ndim, size_t channels, const char *remedy);

/** Finds levels. @p range {low, high} is that of the user. Without it bytes and phases are levels already, and reals
 * have the range of all values, which a line tells. Collective; refuses (agreed) as mf_reader_take() does. */
int mf_pictures_levels(const struct mf_pictures *pictures, const struct mf_reals *range, struct mf_levels *levels);

/** Writes sample @p x as a PNG to @p path. @p room: [pixels][channels] bytes. MF_OUTPUT. Local. */
int mf_pictures_write(const struct mf_dataset *set, const struct mf_levels *levels, const void *x, uint8_t *room,
                      const char *path);

#endif
