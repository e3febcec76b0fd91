/* Writes a dataset by windows of samples, and goes on after an interruption: for samples that take long to make.
 *
 * The arrays are made with all their places, in PATH.partial. Every rank then writes windows of samples to these
 * places. A sample is complete when its values are on the disk and its byte of /index/status is 1. Only such samples
 * count when the same set is opened again. At the end the file is sealed and gets its name.
 *
 * Rule: a sample follows from the settings and its number alone. So the arrays do not depend on ranks or interruptions.
 */
#ifndef MF_IO_DATASET_WRITER_H
#define MF_IO_DATASET_WRITER_H

#include "io/dataset.h"
#include "io/h5.h"

/** An array with one row for each sample, beside those of every dataset: "/activations/mid", [samples][dims]. */
struct mf_writer_array {
    const char *path;
    enum mf_h5_type type;
    int ndim; /* of one row, 0 to MF_H5_DIMS - 1 */
    size_t dims[MF_H5_DIMS - 1];
};

enum { MF_WRITER_ARRAYS = 64, MF_WRITER_SETTINGS = 1 << 20 /* bytes, at most */ };

/** What the set will hold. The writer keeps the pointers until it is closed. */
struct mf_writer_wish {
    /* Without compression. A split follows from part, split_seed and the sample's number, unless split is given: so
     * more samples leave it as it is. A block of 20 samples, or of a multiple up to 1000, has exactly the shares of
     * part. A set shorter than its block may have an empty split; see filled. */
    struct mf_dataset_wish set;
    size_t arrays;
    const struct mf_writer_array *array;
    /* Lines "NAME: VALUE" of all that samples follow from. A set with others is another set. */
    const char *settings;
    size_t window;  /* samples of a window, at most */
    double seconds; /* between two flushes: an interruption loses so much work; 0: every window is flushed */
    int anew;       /* 1: a set that is there, complete or not, is replaced */
};

/** Samples [first, first + count), which one rank has made. Arrays that the set has not are ignored. */
struct mf_writer_window {
    size_t first, count;
    const void *x;          /* [count][voxels][channels] */
    const int32_t *label;   /* [count] */
    const float *real;      /* [count][reals] */
    const uint64_t *seed;   /* [count] */
    const void *const *row; /* [arrays] to [count][dims] each */
};

struct mf_writer;

/**
 * Begins the set @p path, or goes on with it. A complete set of fewer samples stays until its longer form is complete,
 * and so both need space for a while: all samples are copied. One of as many samples is left as it is.
 *
 * All memory is taken here, and all space on the disk where the file system can reserve it. @p path is locked.
 *
 * Samples of an interrupted run are compared with their checksums (/index/crc32c). Damaged ones count as missing, and a
 * line says so. Without a complete sample, PATH.partial counts as if it were not there.
 *
 * Collective; refuses (agreed) and changes nothing:
 * - MF_USAGE: a set of other settings or given splits, or of more samples. The sentence says what differs. Or settings,
 *   arrays included, of more than MF_WRITER_SETTINGS bytes. Or shares that no block of samples has exactly.
 * - MF_INPUT: what is there is no set of a writer, or is damaged. Or a split would be empty, and the wish is filled.
 * - MF_OUTPUT, MF_MEMORY. After MF_OUTPUT no file is left behind.
 */
int mf_writer_open(const struct mf_comm *comm, const char *path, const struct mf_writer_wish *wish,
                   const struct mf_provenance *provenance, struct mf_writer **writer);

/** Reads line @p name of the settings of a set, complete or not, into @p value [room]. Without such a line or such a
 * set it is "". Collective. */
void mf_writer_said(const struct mf_comm *comm, const char *path, const char *name, size_t room, char *value);

/** [samples] 1: complete when the set was opened, or written by this rank since. Ranks make samples by this, and must
 * agree on who makes which. Local. */
const uint8_t *mf_writer_status(const struct mf_writer *writer);

/** How many samples were complete when the set was opened. Local. */
size_t mf_writer_found(const struct mf_writer *writer);

/**
 * Writes a window that this rank has made. Windows do not overlap, and ranks need not write them in step. Local;
 * refuses with MF_INPUT values that a set may not hold, and with MF_OUTPUT. The sentence says where complete samples
 * are. The writer can only be closed then, so ranks agree on the code before they go on. A window that the disk did not
 * take is not complete. Fault sites "io.write", "io.flush".
 */
int mf_writer_put(struct mf_writer *writer, const struct mf_writer_window *window);

/**
 * Seals the set, in which all samples are complete, and gives it its name. Collective; refuses (agreed):
 * - MF_USAGE: samples are missing. They can still be written.
 * - MF_OUTPUT. Then PATH.partial stays, and the next mf_writer_open() goes on with it. Fault site "io.rename".
 */
int mf_writer_finish(struct mf_writer *writer);

/** Marks what was written, and ends the writer. A set that is not finished stays in PATH.partial, if a sample is
 * complete. NULL is accepted.
 * Collective; refuses (agreed) with MF_OUTPUT. */
int mf_writer_close(struct mf_writer *writer);

#endif
