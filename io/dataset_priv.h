/* Shared by the reader and the writer of datasets. */
#ifndef MF_IO_DATASET_PRIV_H
#define MF_IO_DATASET_PRIV_H

#include <stdio.h>

#include "io/dataset.h"
#include "io/h5.h"

#define MF_SET_X        "/samples/x"
#define MF_SET_SAID     "settings"        /* attribute of the table of real values: what each column follows from */
#define MF_SET_SETTINGS "/index/settings" /* text of a writer by windows: what samples follow from, and the arrays */

/** The arrays beside x, with a row for every sample. MF_PART_CRC: CRC-32C of its x. MF_PART_MOMENTS: sums of values and
 * of squares of each channel, of images; MF_PART_RANGE: least and largest value of each channel. */
enum mf_set_part {
    MF_PART_LABEL,
    MF_PART_REAL,
    MF_PART_SEED,
    MF_PART_SPLIT,
    MF_PART_STATUS,
    MF_PART_CRC,
    MF_PART_MOMENTS,
    MF_PART_RANGE,
    MF_PARTS
};

static const struct mf_set_part_kind {
    const char *path;
    enum mf_h5_type type;
    size_t size;  /* bytes of a value */
    int is_table; /* several values in a row */
} mf_set_parts[MF_PARTS] = {{"/samples/label", MF_H5_I32, 4, 0}, {"/samples/properties", MF_H5_F32, 4, 1},
                            {"/samples/seed", MF_H5_U64, 8, 0},  {"/index/split", MF_H5_U8, 1, 0},
                            {"/index/status", MF_H5_U8, 1, 0},   {"/index/crc32c", MF_H5_U32, 4, 0},
                            {"/index/moments", MF_H5_F64, 8, 1}, {"/index/range", MF_H5_F32, 4, 1}};

/** Shares of train and validation where nobody names others. */
#define MF_SPLIT_PARTS \
    {                  \
        0.8, 0.1       \
    }

/** Where samples lie. */
struct mf_dataset_places {
    uint64_t offset; /* of x, contiguous; 0: in chunks */
    struct mf_h5_chunks chunks;
    void *array[MF_PARTS];      /* to which the public members point; NULL: none */
    uint64_t part[MF_PARTS][2]; /* their first and end byte in the file; {0, 0}: not known */
    const uint32_t *crc;        /* [samples] */
    double *moments;            /* [samples][channels][2] */
    float *range;               /* the same; NULL: not known */
};

enum { MF_SET_TAIL = 32 };

/** The part of an open file before the arrays. */
struct mf_set_head {
    uint64_t samples, classes, offset, rows, chunks;
    size_t dims[4];
    uint64_t columns[MF_PARTS]; /* of the arrays beside x; 0: there is none */
    uint64_t at[MF_PARTS];      /* where they begin in the file; 0: not known */
    int32_t ndim, is_float, phases, deflate, shuffle, ours;
    int32_t overlaps;
    int32_t asks;              /* it has questions */
    int32_t grows;             /* a writer by windows made it */
    int32_t named, changed;    /* x says what its axes are; a set of ours has no seal */
    double mark;               /* a label that often says: not known (io/labels.h); -1: none */
    uint8_t tail[MF_SET_TAIL]; /* the last bytes of the file, which of a sealed one are a checksum of it */
};

/** Bytes of an array beside x. */
static inline size_t mf_set_part_bytes(const struct mf_set_head *h, int part)
{
    return h->samples * h->columns[part] * mf_set_parts[part].size;
}

/** What lies in the file of a set, and where. */
struct mf_set_layout {
    size_t bytes;                             /* of one sample's x */
    size_t rows;                              /* samples of a chunk */
    uint64_t x_at;                            /* where x begins; 0: it is compressed */
    uint64_t columns[MF_PARTS], at[MF_PARTS]; /* of the arrays beside it: values in a row, and where they begin */
};

/** Sizes of what @p wish says; places are not known yet. Local. */
void mf_set_lay(const struct mf_dataset_wish *wish, struct mf_set_layout *lay);

/** Bytes of a row of an array beside x, and of all that a sample has. Local. */
size_t mf_set_part_row(const struct mf_set_layout *lay, int part);
size_t mf_set_row(const struct mf_set_layout *lay);

/** Makes the arrays of a set without their values, and finds their places. Not collective. MF_OUTPUT. */
int mf_set_make(struct mf_h5 *file, const struct mf_dataset_wish *wish, struct mf_set_layout *lay);

/** Refuses with MF_INPUT a sample that readers of the set would refuse. @p label counts where there are classes, and
 * real [wish->reals]. Local. */
int mf_set_check_sample(const struct mf_dataset_wish *wish, size_t id, const void *x, int32_t label, const float *real);

/** Refuses with MF_INPUT an empty split in @p split [samples], if the wish says so. Local. */
int mf_set_check_filled(const struct mf_dataset_wish *w, const uint8_t *split);

/** Reads the facts of a file, but no samples, and sends them. They are the head, names of classes and of real values,
 * chunks, arrays. For a guarded child. MF_INPUT. */
int mf_dataset_send(const char *path, FILE *to);

/** Bytes of scratch memory for mf_sample_read(): compressed bytes and one inflated chunk. */
size_t mf_sample_scratch(const struct mf_dataset *set);

/** Reads x of a sample from the open @p file into @p to [set->bytes], and compares it with its checksum. Any thread may
 * call it, with a @p scratch of its own. MF_INPUT. */
int mf_sample_read(const struct mf_dataset *set, int file, void *scratch, size_t id, void *to);

/** Compares with the seal what the file holds beside the samples. A damaged block that holds a damaged sample is no
 * fault of its arrays: readers refuse that sample. Sets *changed, and warns, if a set of ours has no seal. Not
 * collective; MF_INPUT naming the arrays of the block. */
int mf_dataset_check(const struct mf_dataset *set, int *changed);

/** Warns where samples without names of axes are volumes of so few planes that they may be channels. Local. */
void mf_sample_doubt_planes(const char *path, int ndim, const size_t dims[4]);

/** Variance and mean of channel @p c in the items @p id [n]. 0: the values are equal, or differ by less than 1e-6 of
 * their mean, which is too little to measure. */
double mf_dataset_variance(const struct mf_dataset *set, size_t c, size_t n, const uint32_t *id, double *mean);

/** Sums of values and of squares of an image's channels: moments [channels][2]; least and largest value: range
 * [channels][2]. */
void mf_sample_moments(const size_t dims[4], int is_float, const void *x, double *moments, float *range);

#endif
