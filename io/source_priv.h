/* Shared by the parts of a source: samples (source.c), and the columns and labels beside them (source_table.c,
 * source_labels.c, source_pictures.c). */
#ifndef MF_IO_SOURCE_PRIV_H
#define MF_IO_SOURCE_PRIV_H

#include "io/array.h"
#include "io/idx.h"
#include "io/source.h"
#include "io/table.h"

struct mf_source {
    const struct mf_source_wish *wish;
    enum { ARRAY, IDX, PICTURES } form;
    struct mf_array array;
    struct mf_idx idx;
    struct mf_table table;
    size_t samples, dims[4], values; /* values of one sample */
    int ndim, is_float;
    char kind; /* of the first picture's values */
    int bits;  /* of one of them in its file */
    size_t classes, reals;
    char **class_name; /* heap, each too */
    char **real_name;  /* borrowed from the table */
    int32_t *label;    /* [samples] or NULL */
    const char **mark; /* [marks] labels of --unknown; heap */
    size_t marks;
    char *marked;      /* [marks] 1: samples have that label */
    float *real;       /* [samples][reals] or NULL */
    uint8_t *split;    /* [samples] or NULL */
    char *wanted;      /* [table.columns] 1: --columns names it */
    char *ignored;     /* [table.columns] 1: --ignore names it */
    char **listed;     /* [samples] pictures of a folder without a table; heap, each too */
    const char **file; /* [samples] of pictures, borrowed */
    char *path;        /* of the picture that is read */
};

/** Refuses the file @p path if it has not one row for each sample: MF_INPUT. */
int mf_source_rows(const struct mf_source *s, const char *path, size_t rows);

/** Which columns the user names: MF_INPUT, MF_USAGE. It comes before all that asks for columns. */
int mf_source_chosen(struct mf_source *s);

/** The column of the table that has this name and is not ignored; else the number of columns. */
size_t mf_source_column(const struct mf_source *s, const char *name);

/** Column file of the table: names of pictures, which stay in their folder. MF_INPUT. */
int mf_source_files(struct mf_source *s);

/** The same without a table: all pictures of the folder itself, in the order of their names. MF_INPUT. */
int mf_source_listed(struct mf_source *s);

/** Properties and splits of the table. MF_INPUT. */
int mf_source_columns(struct mf_source *s);

/** Labels of the table, or of the file of labels; names of classes. MF_INPUT, MF_USAGE. */
int mf_source_labels(struct mf_source *s);

#endif
