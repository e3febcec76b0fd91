/* What the parts of a writer of datasets share: dataset_writer.c writes samples; dataset_writer_file.c makes, reads and
 * lengthens the file. */
#ifndef MF_IO_DATASET_WRITER_PRIV_H
#define MF_IO_DATASET_WRITER_PRIV_H

#include "io/dataset_priv.h"
#include "io/dataset_writer.h"
#include "io/lock.h"
#include "io/seal.h"
#include "src/base/cut.h"

enum { MF_WRITER_PENDING = 256 };

/** A file of a set: its samples, and where its arrays begin. */
struct mf_writer_file {
    size_t samples;
    struct mf_set_layout lay;
    uint64_t row_at[MF_WRITER_ARRAYS];
};

struct mf_writer {
    const struct mf_comm *comm;
    const struct mf_writer_wish *wish;
    char *path, *partial;
    char *settings; /* of the wish, and its arrays */
    struct mf_lock lock;
    struct mf_writer_file file;
    size_t row_bytes[MF_WRITER_ARRAYS];
    int descriptor; /* of PATH.partial, which is open for writing; -1: not */
    int complete;   /* PATH has all samples already */
    int failed;
    uint8_t *status;                           /* [samples] */
    size_t found, own, marked;                 /* complete when it was opened; written by this rank since, and marked */
    struct mf_span pending[MF_WRITER_PENDING]; /* windows that are written, but not marked */
    size_t pendings;
    struct mf_seal_seen
        seen[1 + MF_WRITER_ARRAYS]; /* of x and the arrays; their places of checksums are those of [0] */
    double flushed;                 /* when the last flush ended */
    void *part[MF_PARTS];           /* what the writer itself finds in a window: checksums, moments, ranges */
};

/** Settings and arrays as text; the caller frees. Local. */
char *mf_writer_text(const struct mf_writer_wish *wish);

/** Refuses with MF_USAGE shares that no block of samples has exactly. Local. */
int mf_writer_check_shares(const struct mf_dataset_wish *set);

/**
 * Has @p path samples of a writer? *is 1: it has settings, and a sample is complete; 0: no, or there is no file. Local.
 * Refuses with MF_INPUT what is not a sound HDF5 file.
 */
int mf_writer_owns(const char *path, int *is);

/**
 * Finds out what there is of the set: *from is the file that has it (PATH.partial, PATH, or NULL), @p file its places,
 * w->status [file->samples] what is complete. Collective; refuses (agreed) as mf_writer_open() does.
 */
int mf_writer_find(struct mf_writer *w, const char **from, struct mf_writer_file *file);

/** Makes PATH.partial with the samples of @p from (NULL: none), whose places are @p old. w->file gets the new places.
 * Collective; MF_OUTPUT, MF_INPUT, agreed. */
int mf_writer_make(struct mf_writer *w, const char *from, const struct mf_writer_file *old,
                   const struct mf_provenance *provenance);

#endif
