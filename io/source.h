/* Samples of other programs, from which datasets are made. A source is a .npy array, an IDX file, a picture, or a
 * folder of pictures. A table may name these. Rule: everything but the samples is read and checked when it is opened.
 * Functions are local unless they say otherwise. */
#ifndef MF_IO_SOURCE_H
#define MF_IO_SOURCE_H

#include "io/dataset.h"

/** Input of the user. NULL or 0: nothing. */
struct mf_source_wish {
    const char *path;   /* .npy (sample, [z,] y, x[, channel]), IDX, a picture, or a folder of pictures */
    const char *labels; /* .npy or IDX of whole numbers */
    /* .csv that begins with a line of names. Columns: file, the pictures of a folder; label, numbers or names of
     * classes; split: train, validation, test or none. The column id, and those without a name, are left out. Any other
     * is a property */
    const char *table;
    size_t classes; /* names of classes 0, 1, ... 0: see io/labels.h */
    const char *const *class_name;
    int phases;        /* values are phases 0 .. phases-1, */
    size_t values;     /* or value[k] is phase k: phases >= values, the rest does not occur */
    const long *value; /* [values] */
    int colours;       /* pictures have three channels: red, green, blue */
    size_t unknowns;   /* labels that stand for samples of no class */
    const char *const *unknown;
    size_t columns; /* the only properties of the table; 0: all that are not ignored */
    const char *const *column;
    size_t ignored; /* columns that count as absent */
    const char *const *ignore;
    size_t files; /* without a table: the only pictures of the folder, in this order; 0: all */
    const char *const *file;
    const struct mf_crop *crop; /* of one image: the part that is read, */
    int crop_bar;               /* or what is beside its data bar */
};

struct mf_source;

/** Opens it. Refuses with MF_INPUT what cannot be read. Labels and a table have one row for each sample. Labels are in
 * range, and cells are finite numbers. */
int mf_source_open(const struct mf_source_wish *wish, struct mf_source **source);
void mf_source_close(struct mf_source *source); /* NULL is accepted */

/** Refuses (agreed) with MF_INPUT where ranks have opened different files. Collective. */
int mf_source_same(const struct mf_comm *comm, const struct mf_source *source);

/** Sets what a dataset of it holds: extents, type, names, labels, splits. They belong to the source. */
void mf_source_describe(const struct mf_source *source, struct mf_dataset_wish *wish);

/** Names of the pictures in their folder, [samples]; NULL: samples are no pictures of a folder. */
const char *const *mf_source_names(const struct mf_source *source);

/** Classes of the samples, [samples], 0 .. classes-1 or -1; NULL: none. */
const int32_t *mf_source_classes(const struct mf_source *source);

/** Says which pictures of a folder the table names twice, and how many it does not name. Warns of a table.csv that is
 * not read. MF_MEMORY. */
int mf_source_doubt(const struct mf_source *source);

/** Gives sample @p id of the struct mf_source @p source, for mf_dataset_write(). MF_INPUT. */
int mf_source_sample(void *source, size_t id, struct mf_sample *sample);

#endif
