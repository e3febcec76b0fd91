/* A network of ours reads phases from a file, or the channels of an image. A larger file is cut into tiles of the
 * network's size. The last tile of an axis ends with the axis, so it may overlap the one before. Functions are local.
 */
#ifndef MF_CMD_LEARN_FIELD_H
#define MF_CMD_LEARN_FIELD_H

#include "io/micro.h"
#include "src/base/opt.h"
#include "src/cmd/learn/intensity.h"
#include "src/model/card.h"

struct mf_field_wish {
    const struct mf_model_card *card;
    const char *threshold, *dataset; /* NULL: none; as options of infer */
    const struct mf_longs *labels;
    struct mf_arena *arena;
};

struct mf_field {
    size_t dims[3];     /* of the file */
    size_t along[3];    /* tiles along each axis */
    size_t tiles;       /* of the file */
    const void *values; /* a byte for each phase, or floats of an image's channels */

    /* one of them has the values */
    float *image;
    struct mf_micro micro;
};

/** Refuses options that the model cannot have: phases of an image, another number of labels. MF_USAGE. */
int mf_field_check(const struct mf_field_wish *wish);

/** Bytes of a tile. */
size_t mf_field_tile(const struct mf_model_card *card);

/** Refuses files other than .npy, PNG and TIFF, and those with more than @p most values as @p card reads them. It reads
 * a header. MF_INPUT. */
int mf_field_limit(const struct mf_model_card *card, const char *path, size_t most);

/** Reads FILE or FILE:ARRAY, which is number @p place of many. Adds an image of another scale than the training's to
 * @p shift. Refuses with MF_INPUT, MF_USAGE, MF_MEMORY. mf_field_free() in any case. */
int mf_field_read(const struct mf_field_wish *wish, size_t place, const char *file, struct mf_intensity_shift *shift,
                  struct mf_field *field);
void mf_field_free(struct mf_field *field);

/** Copies tile number @p k, of mf_field_tile() bytes. */
void mf_field_cut(const struct mf_model_card *card, const struct mf_field *field, size_t k, void *tile);

/** Adds the answer about a tile to @p sum [outputs]; makes means of the sums of all tiles. Tiles come in their order.
 */
void mf_field_add(size_t outputs, const float *answer, double *sum);
void mf_field_mean(size_t outputs, size_t tiles, const double *sum, float *mean);

#endif
