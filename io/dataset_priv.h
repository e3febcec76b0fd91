/* What reading and writing of datasets share. */
#ifndef MF_IO_DATASET_PRIV_H
#define MF_IO_DATASET_PRIV_H

#include "io/dataset.h"
#include "io/h5.h"

/* Paths in the file. */
#define MF_SET_X       "/samples/x"
#define MF_SET_LABEL   "/samples/label"
#define MF_SET_REAL    "/samples/properties"
#define MF_SET_SEED    "/samples/seed"
#define MF_SET_SPLIT   "/index/split"
#define MF_SET_STATUS  "/index/status"
#define MF_SET_CRC     "/index/crc32c"
#define MF_SET_MOMENTS "/index/moments"

/** Shares of train and validation where nobody names others. */
#define MF_SPLIT_PARTS \
    {                  \
        0.8, 0.1       \
    }

/** Where samples lie. */
struct mf_dataset_places {
    uint64_t offset; /* of x, contiguous; 0: in chunks */
    struct mf_h5_chunks chunks;
    uint32_t *crc;   /* [samples] CRC-32C of every sample's x; NULL: not known */
    double *moments; /* [samples][channels][2] sums of values and of squares; NULL: not known */
};

/** Bytes of scratch memory for mf_sample_read(): compressed bytes and one inflated chunk. */
size_t mf_sample_scratch(const struct mf_dataset *set);

/** Reads x of a sample from the open @p file into @p to [set->bytes], and compares it with its checksum. Any thread may
 * call it, with its own @p scratch. MF_INPUT. */
int mf_sample_read(const struct mf_dataset *set, int file, void *scratch, size_t id, void *to);

/** Converts x of a sample to input [voxels][set->inputs]; MF_INPUT: a value that is no phase, or not finite. */
int mf_sample_input(const struct mf_dataset *set, size_t id, const void *x, float *input);

/** Sums of values and squares of an image's channels, moments [channels][2]. */
void mf_sample_moments(const size_t dims[4], int is_float, const void *x, double *moments);

#endif
