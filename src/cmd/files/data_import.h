/* Options of data import: samples as they are (data_import.c), or tiles of images (data_tiles.c). */
#ifndef MF_CMD_FILES_DATA_IMPORT_H
#define MF_CMD_FILES_DATA_IMPORT_H

#include "io/dataset.h"
#include "src/cmd/cmd.h"

struct data_import {
    struct mf_common common;
    const char *labels, *table, *threshold, *questions, *scenes, *question_types, *vocabulary;
    struct mf_texts classes, unknown, columns, ignore;
    struct mf_longs tile, stride, crop;
    int crop_bar, grey_values, colours;
    long phases, compress;
    double train, validation;
    size_t values; /* that are phases 0, 1, ..., as --labels names them; without --tile */
    long value[MF_PHASES_MAX];
};

/** Reads "0,128,255", values that are phases 0, 1, ..., to label [MF_PHASES_MAX]. MF_USAGE. Local. */
int mf_data_import_values(const char *text, long *label, size_t *count);

/** Refuses options of samples alone where --tile is given, and those of tiles where it is not. Refuses impossible
 * values: MF_USAGE. Local. */
int mf_data_tiles_check(const struct mf_session *session, const struct data_import *o);

/** Cuts the images into tiles, and writes the set, or says what it would be. Collective; refuses (agreed). */
int mf_data_tiles_run(struct mf_session *session, const struct data_import *o);

#endif
