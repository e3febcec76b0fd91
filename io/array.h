/* An array of numbers in a file of any format that we read: its header, and its values row by row in bounded pieces.
 * Rule: foreign formats (PNG, TIFF, HDF5, NRRD, VTK) are decoded in a guarded child process. .npy and raw values are
 * read here. All functions are local. */
#ifndef MF_IO_ARRAY_H
#define MF_IO_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "io/micro.h"

enum { MF_ARRAY_DIMS = 8, MF_DATASET_TEXT = 512, MF_UNSCALED_TEXT = 160 };

enum mf_format { MF_NPY, MF_PNG, MF_TIFF, MF_HDF5, MF_NRRD, MF_VTK };

/** How values lie in a file: as in memory, but for their byte order; as only a library knows; or as io/decode.h says,
 * VTK's behind their size or in compressed blocks. */
enum mf_coding { MF_PLAIN, MF_LIBRARY, MF_GZIP, MF_ASCII, MF_BASE64, MF_BASE64_ZLIB, MF_ZLIB };

/** What a user is to know of how an image was read. */
enum mf_said {
    MF_SAID_ALPHA = 1,   /* an alpha channel that is opaque everywhere is left out */
    MF_SAID_WHITE = 2,   /* white-is-zero: values are turned over */
    MF_SAID_REDUCED = 4, /* smaller copies of its pages are left out */
    MF_SAID_TURNED = 8   /* it wants to be shown turned or mirrored, which it is not */
};

struct mf_array {
    const char *path; /* borrowed */
    enum mf_format format;
    char kind;   /* 'b' Boolean, 'u', 'i', 'f' */
    size_t size; /* bytes of one element: 1, 2, 4, 8; as 'f' also 2 */
    int ndim;
    size_t shape[MF_ARRAY_DIMS]; /* all > 0 */
    size_t bytes;                /* of the file */
    /* .npy, HDF5, NRRD, VTK */
    size_t offset;
    int swap, fortran;
    enum mf_axes axes;
    enum mf_coding coding;
    int wide;                   /* sizes have 64 bits */
    char data[MF_DATASET_TEXT]; /* the file in which the values lie; "": path. bytes is of that */
    /* HDF5, VTK */
    char dataset[MF_DATASET_TEXT];
    int cells;  /* [z][y][x][1] of DREAM.3D's; a single plane is an image */
    int lead;   /* axes of one value in the file before the first of shape */
    int matlab; /* MATLAB wrote it: its first axis is the last one here */
    int ours;   /* the file says that mesoforge wrote it */
    int own;    /* a volume by our schema: what follows is known */
    int phases;
    int64_t label[MF_PHASES_MAX];
    char name[MF_PHASES_MAX][MF_NAME_TEXT];
    int scaled; /* what follows is known: */
    double spacing[3];
    char unit[MF_UNIT_TEXT];
    char unscaled[MF_UNSCALED_TEXT]; /* why the file's spacing is not to be believed; "": it is */
    int said;                        /* images: enum mf_said */
};

/** Called with @p n elements in native byte order; element k is number at + k * stride (C order) of the rows asked for.
 */
typedef int mf_array_take(void *context, const void *values, size_t n, size_t at, size_t stride);

/**
 * Recognises the format by its first bytes and reads the header; sizes are checked against the length of the file.
 * @p dataset: array of an HDF5 file, NULL: ours. Refuses with MF_INPUT; MF_USAGE: one of a file that has no names.
 * Fault site "io.open".
 */
int mf_array_open(const char *path, const char *dataset, struct mf_array *array);

/** Leaves out axes of one value, as long as two others stay: of arrays whose axes nobody has named. */
void mf_array_squeeze(struct mf_array *array);

/** Is there something to read of what a user gives (mf_array_split())? MF_INPUT: no, or in no format that is known. */
int mf_array_there(const char *given);

/**
 * What a user gives where a field is read: a file, or FILE:ARRAY, an array of a file that holds several. *file: heap;
 * *array: what stands behind the colon in @p given, NULL: nothing does. Names of files may have colons too.
 */
void mf_array_split(const char *given, char **file, const char **array);

/** The other file in which the values of @p path lie, where its header stands alone; "" where none does. */
void mf_array_apart(const char *path, char data[MF_DATASET_TEXT]);

/**
 * Visits rows [first, first + count) along axis 0 (of a stack: pages), every element once, in pieces of at most
 * 512 KiB. Stops at the first refusal of @p take and passes it on. MF_INPUT. Fault site "io.read".
 */
int mf_array_visit(const struct mf_array *array, size_t first, size_t count, mf_array_take *take, void *context);

/** Says in the log, on rank 0, how an image was read where that is no matter of course. */
void mf_array_say(const struct mf_array *array);

/** Elements in one row along axis 0. */
size_t mf_array_row(const struct mf_array *array);

/** What is no label: an unsigned value beyond the range of labels. */
#define MF_NO_LABEL INT64_MAX

/** Elements as integers (not of 'f'; unsigned values beyond the range become MF_NO_LABEL) or as reals. */
void mf_array_ints(const struct mf_array *array, const void *values, size_t n, int64_t *out);
void mf_array_reals(const struct mf_array *array, const void *values, size_t n, double *out);

/** The whole array as reals in C order, at most @p max elements; the caller frees. MF_INPUT, MF_MEMORY. */
int mf_array_load(const struct mf_array *array, size_t max, double **values);

#endif
