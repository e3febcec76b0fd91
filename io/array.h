/* Reads arrays of numbers from a file of any known format. First comes the header, then the values row by row in
 * bounded pieces.
 * Rule: a guarded child process decodes foreign formats (PNG, TIFF, HDF5, NRRD, VTK). This process reads .npy and raw
 * values. All functions are local. */
#ifndef MF_IO_ARRAY_H
#define MF_IO_ARRAY_H

#include <stddef.h>
#include <stdint.h>

#include "io/micro.h"

enum { MF_ARRAY_DIMS = 8, MF_DATASET_TEXT = 512, MF_UNSCALED_TEXT = 160, MF_NO_DATA = 8 };

enum mf_format { MF_NPY, MF_PNG, MF_TIFF, MF_HDF5, MF_NRRD, MF_VTK, MF_NO_FORMAT };

/** How a file stores values. MF_PLAIN: as in memory, except for the byte order. MF_LIBRARY: only a library can read
 * them. MF_LENT: it is no file (io/lent.h). Others: see io/decode.h; VTK writes a size before the values, or stores
 * compressed blocks. */
enum mf_coding { MF_PLAIN, MF_LIBRARY, MF_LENT, MF_GZIP, MF_ASCII, MF_BASE64, MF_BASE64_ZLIB, MF_ZLIB };

/** Facts about how an image was read that the user is told. */
enum mf_array_said {
    MF_SAID_ALPHA = 1,      /* an alpha channel that is opaque everywhere is ignored */
    MF_SAID_WHITE = 2,      /* white-is-zero: values are inverted */
    MF_SAID_REDUCED = 4,    /* reduced copies of its pages are ignored */
    MF_SAID_TURNED = 8,     /* its tag asks viewers to rotate or mirror it, which is ignored */
    MF_SAID_LOSSY = 16,     /* its compression may have changed values */
    MF_SAID_PALETTE = 32,   /* values are the grey levels of its palette */
    MF_SAID_SCALED = 64,    /* a calibration of its values is ignored */
    MF_SAID_GREY = 128,     /* three colours that are equal everywhere are one value */
    MF_SAID_FEW = 256,      /* planes that nothing describes are so few that they may be channels */
    MF_SAID_UNTURNED = 512, /* HDF5: white-is-zero, which is ignored */
    MF_SAID_GHOSTS = 1024   /* VTK: cells that it marks as hidden or doubled count */
};

/** Values that a file itself declares to be no data: one value, or all outside a range. */
struct mf_no_data {
    char by[16]; /* attribute or tag */
    double low, high;
    int outside;
};

struct mf_array {
    const char *path;           /* borrowed */
    const struct mf_lent *lent; /* MF_LENT: the array in memory; it counts as .npy */
    enum mf_format format;
    char kind;   /* 'b' Boolean, 'u', 'i', 'f' */
    size_t size; /* bytes of one element: 1, 2, 4, 8; as 'f' also 2 */
    int ndim;
    size_t shape[MF_ARRAY_DIMS]; /* all > 0 */
    size_t bytes;                /* of the file */
    int cropped;                 /* shape is that of a part of an image (io/crop.h), and the following is known */
    size_t whole[2], corner[2];  /* extents of the image, and where in it the part begins {y, x} */
    /* .npy, HDF5, NRRD, VTK */
    size_t offset;
    int swap, fortran;
    enum mf_axes axes;
    enum mf_coding coding;
    int wide;                   /* sizes have 64 bits */
    char data[MF_DATASET_TEXT]; /* the file that holds the values, to which bytes refers; "": path */
    /* HDF5, VTK */
    char dataset[MF_DATASET_TEXT];
    int cells;  /* [z][y][x][1] of DREAM.3D's; a single plane is an image */
    int lead;   /* the file has so many axes of length 1 before the first of shape */
    int only;   /* nobody named it: the file has no other */
    int matlab; /* MATLAB wrote it: its first axis is the last one here */
    int ours;   /* the file says that mesoforge wrote it */
    int own;    /* a volume in the schema of this program: the following is known */
    int phases;
    int64_t label[MF_PHASES_MAX];
    char name[MF_PHASES_MAX][MF_NAME_TEXT];
    int scaled; /* the following is known */
    double spacing[3];
    char unit[MF_UNIT_TEXT];
    char unscaled[MF_UNSCALED_TEXT]; /* why the file's spacing is not used; "": it is */
    int said;                        /* images: enum mf_array_said */
    int colours;                     /* images: colours are not refused, and their red is the value */
    int channels;                    /* images: 3: the last axis is red, green and blue; 0: one value for each pixel */
    const char *remedy; /* images: what to do about refused colours; NULL: convert them to grey. Borrowed */
    int bits;           /* images: of a grey level in the file, 1 to 64 */
    char stored;        /* HDF5: the kind as stored, where an attribute (_Unsigned) says another; 0: kind */
    int declared;
    struct mf_no_data no_data[MF_NO_DATA];
};

/** Receives @p n elements in native byte order. Element k has the number at + k * stride (C order) in the rows asked
 * for. */
typedef int mf_array_take(void *context, const void *values, size_t n, size_t at, size_t stride);

/**
 * Recognises the format by its first bytes and reads the header. Checks sizes against the length of the file. @p
 * dataset: array of an HDF5 file; NULL: that of our schema. Refuses with MF_INPUT; with MF_USAGE a @p dataset of a file
 * without names. Fault site "io.open".
 */
int mf_array_open(const char *path, const char *dataset, struct mf_array *array);

/** Drops axes of length 1, as long as two others remain. For arrays whose axes have no stated meaning. */
void mf_array_squeeze(struct mf_array *array);

/** Does the file that a user gives (mf_array_split()) exist, in a known format? Refuses with MF_INPUT if not. */
int mf_array_there(const char *given);

/** Refuses formats other than .npy, PNG and TIFF, for images, samples and their labels: MF_INPUT. */
int mf_array_may_sample(const char *path);

/**
 * Splits an input name of the user: a file, or FILE:ARRAY for one array of several. Sets *file (heap) to the file. Sets
 * *array to the text behind the colon in @p given, or NULL. Names of files may contain colons too.
 */
void mf_array_split(const char *given, char **file, const char **array);

/** The other file that holds the values of @p path, where @p path is a header only; else "". */
void mf_array_apart(const char *path, char data[MF_DATASET_TEXT]);

/**
 * Visits rows [first, first + count) along axis 0 (of a stack: pages). Every element comes once, in pieces of at most
 * 512 KiB. Stops at the first refusal of @p take and passes it on. MF_INPUT. Fault site "io.read".
 */
int mf_array_visit(const struct mf_array *array, size_t first, size_t count, mf_array_take *take, void *context);

/** Notes (io/notes.h) how an array was read if that is unusual. Whoever takes its values calls it. */
void mf_array_say(const struct mf_array *array);

/** The same after a refusal (rc) of its values: what may explain that, and nothing that only all values show. Returns
 * @p rc. */
int mf_array_explain(const struct mf_array *array, int rc);

/** Writes numpy's name of the type: "uint16", "bool". Returns @p text. */
enum { MF_TYPE_TEXT = 16 };
const char *mf_array_type(char kind, size_t size, char text[MF_TYPE_TEXT]);

/** Refuses values that a compression may have changed where they are to be labels: MF_INPUT. */
int mf_array_may_label(const struct mf_array *array);

/** Adds what the file declares to be no data: a value, or all outside [low, high]. */
void mf_array_declare_value(struct mf_array *array, const char *by, double value);
void mf_array_declare_range(struct mf_array *array, const char *by, double low, double high);

/** Which entry of no_data has this value; -1: none. */
int mf_array_declared(const struct mf_array *array, double value);

/** Notes how many values there are of each entry of no_data, and what to do (@p then). */
void mf_array_say_declared(const struct mf_array *array, const int64_t count[MF_NO_DATA], const char *then);

/** Elements in one row along axis 0. */
size_t mf_array_row(const struct mf_array *array);

/** Stands for a value that is no label: an unsigned value beyond the range of labels. */
#define MF_NO_LABEL INT64_MAX

/** Elements as integers (not of 'f'; unsigned values beyond the range become MF_NO_LABEL) or as reals. */
void mf_array_ints(const struct mf_array *array, const void *values, size_t n, int64_t *out);
void mf_array_reals(const struct mf_array *array, const void *values, size_t n, double *out);

/** The whole array as reals in C order, at most @p max elements; the caller frees. MF_INPUT, MF_MEMORY. */
int mf_array_load(const struct mf_array *array, size_t max, double **values);

#endif
