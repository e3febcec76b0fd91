/* Options of data import: samples as they are (data_import.c), or tiles of images (data_tiles.c). */
#ifndef MF_CMD_FILES_DATA_IMPORT_H
#define MF_CMD_FILES_DATA_IMPORT_H

#include "src/cmd/cmd.h"

struct data_import {
    struct mf_common common;
    const char *labels, *table, *threshold;
    struct mf_texts classes, unknown, columns, ignore;
    struct mf_longs tile, stride, crop;
    int crop_bar, grey_values;
    long phases, compress;
    double train, validation;
};

/** Refuses options of samples alone where --tile is given, and those of tiles where it is not. Refuses impossible
 * values: MF_USAGE. Local. */
int mf_data_tiles_check(const struct mf_session *session, const struct data_import *o);

/** Cuts the images into tiles, and writes the set, or says what it would be. Collective; refuses (agreed). */
int mf_data_tiles_run(struct mf_session *session, const struct data_import *o);

#endif
