/* HDF5 files. One object is one whole file, which one rank writes or reads. Where all ranks write a file, rank 0
 * makes everything but the values; io/rows.h writes the values. Names are paths from the root
 * ("/microstructure/phase"). Text attributes are UTF-8 of variable length, so h5py shows them as str.
 *
 * Rule: a foreign file is hostile. No plug-in is loaded, no link out of the file is followed. Every request is checked
 * before it is read. Read it inside mf_guard() (io/guard.h), so that a crash of the library becomes a refusal. */
#ifndef MF_IO_H5_H
#define MF_IO_H5_H

#include <stddef.h>
#include <stdint.h>

#include "mpi/comm.h"

struct mf_h5;

enum mf_h5_type { MF_H5_U8, MF_H5_I32, MF_H5_I64, MF_H5_F32, MF_H5_F64, MF_H5_U32, MF_H5_U64 };

enum { MF_H5_DIMS = 8 };

/** Type and extents of a dataset. */
struct mf_h5_shape {
    char kind;   /* 'u', 'i' or 'f' */
    size_t size; /* bytes of one element in memory */
    int ndim;    /* 0: a single value */
    size_t dims[MF_H5_DIMS];
    size_t offset; /* where the values begin, if they lie together in the file as in memory; 0: only the library reads
                      them */
    int plain;     /* a value is stored as in memory, except for the byte order */
    int swap;      /* the byte order is not that of memory */
    int lead;      /* rows are counted along this axis; those before it have length 1 */
};

/**
 * Call it once, before MPI starts. Then HDF5 (1.10) does not run its own shutdown, which it ties to the end of MPI.
 * After a disk is full, that shutdown closes files a second time and reads freed memory. The test tests/cli/faults.py
 * checks this. Use mf_h5_close() to close files.
 */
void mf_h5_begin(void);

/**
 * Creates (or empties) a file. Error messages call it @p name, because users do not know its temporary name @p path.
 * Not collective. Refuses with MF_OUTPUT.
 */
int mf_h5_create(const char *path, const char *name, struct mf_h5 **file);

/** Opens a file to change it, with its name for messages as above. A file of a stranger: in a guarded child. Not
 * collective. Refuses with MF_OUTPUT. */
int mf_h5_change(const char *path, const char *name, struct mf_h5 **file);

/** *is: is the open @p file HDF5? Its signature is at the start, or behind another program's user block (MATLAB: 512
 * bytes). Refuses with MF_INPUT, naming @p path, what cannot be read. */
int mf_h5_signed(int file, const char *path, int *is);

/** Opens for reading, serial. Not collective. Refuses with MF_INPUT. Fault site "io.open". */
int mf_h5_open(const char *path, struct mf_h5 **file);

/** Returns @p rc, the code of reading a file, or MF_INPUT where its disk failed. HDF5 itself reports unreadable objects
 * as absent. Only one file is observed: the last that was opened, until any file is closed. */
int mf_h5_unread(const struct mf_h5 *file, int rc);

/** Flushes, closes and frees. Refuses if anything failed: MF_OUTPUT (written) or MF_INPUT (read). */
int mf_h5_close(struct mf_h5 *file);

/* Writing: MF_OUTPUT. Missing groups of a path are made. @p object: an existing group or dataset; "/" is the root. */
int mf_h5_group(struct mf_h5 *file, const char *path);
int mf_h5_put_text(struct mf_h5 *file, const char *object, const char *name, const char *text);
int mf_h5_put_ascii(struct mf_h5 *file, const char *object, const char *name, const char *text); /* fixed length */
int mf_h5_put_texts(struct mf_h5 *file, const char *object, const char *name, size_t count, const char *const *texts);
int mf_h5_put_ints(struct mf_h5 *file, const char *object, const char *name, size_t count, const int64_t *values);
int mf_h5_put_reals(struct mf_h5 *file, const char *object, const char *name, size_t count, const double *values);
/** Unsigned numbers of 32 or 64 bits. */
int mf_h5_put_unsigned(struct mf_h5 *file, const char *object, const char *name, int bits, size_t count,
                       const uint64_t *values);
/** A second name for an object. */
int mf_h5_link(struct mf_h5 *file, const char *object, const char *second);
/** Removes a name; an object without names goes, but its space in the file stays. */
int mf_h5_remove(struct mf_h5 *file, const char *object);
/** A text as a dataset of its own; as mf_h5_write(). Fault site "io.write.text". */
int mf_h5_write_text(struct mf_h5 *file, const char *path, const char *text);
/** Creates a contiguous dataset, nothing written yet. */
int mf_h5_dataset(struct mf_h5 *file, const char *path, enum mf_h5_type type, int ndim, const size_t *dims);
/** Byte offset of a dataset's values in the file; 0: not known. */
size_t mf_h5_place(struct mf_h5 *file, const char *path);
/** Dataset and all its values at once. Fault site "io.write". */
int mf_h5_write(struct mf_h5 *file, const char *path, enum mf_h5_type type, int ndim, const size_t *dims,
                const void *from);

/** Creates a dataset in chunks of @p rows rows of axis 0, deflated by @p level; @p rows 0: contiguous. */
int mf_h5_deflated(struct mf_h5 *file, const char *path, enum mf_h5_type type, int ndim, const size_t *dims,
                   size_t rows, int level);
/** Writes the bytes of the chunk that begins with @p row, which the caller has compressed. Fault site "io.write". */
int mf_h5_write_chunk(struct mf_h5 *file, const char *path, size_t row, size_t bytes, const void *from);

/** How a dataset in chunks of whole rows lies in its file. */
struct mf_h5_chunks {
    size_t rows;  /* of a chunk; 0: the dataset is not in chunks */
    size_t count; /* of chunks */
    int deflate, shuffle;
    uint64_t (*place)[2]; /* [count] offset and bytes of a chunk; heap */
};

/* Reading: MF_INPUT. */
/** Finds the chunks of a dataset; refuses other filters, and chunks that cut a row. The time grows with the square of
 * their number. */
int mf_h5_chunks(struct mf_h5 *file, const char *path, struct mf_h5_chunks *chunks);
int mf_h5_has(struct mf_h5 *file, const char *path); /* 1: there is a link of that name, of whatever kind */
int mf_h5_has_attribute(struct mf_h5 *file, const char *object, const char *name);
/** @p text [room]; longer text is refused. */
int mf_h5_get_text(struct mf_h5 *file, const char *object, const char *name, char *text, size_t room);
/** At most @p max texts of at most room - 1 bytes into @p texts [max][room]. Sets *count. */
int mf_h5_get_texts(struct mf_h5 *file, const char *object, const char *name, size_t max, size_t room, char *texts,
                    size_t *count);
/** 1: its root says that mesoforge wrote it. */
int mf_h5_is_ours(struct mf_h5 *file);
/** At most @p max values; *count says how many there are. More are refused. */
int mf_h5_get_ints(struct mf_h5 *file, const char *object, const char *name, size_t max, int64_t *values,
                   size_t *count);
int mf_h5_get_reals(struct mf_h5 *file, const char *object, const char *name, size_t max, double *values,
                    size_t *count);
/** Kind of a dataset's values: numbers; Booleans; text, or numbers with names (an enum). */
enum mf_h5_values { MF_H5_NUMBERS, MF_H5_FLAGS, MF_H5_WORDS };
enum mf_h5_values mf_h5_values_of(struct mf_h5 *file, const char *path);
/** Shape of a dataset of numbers stored in the file itself (contiguous, chunked or compact; no external parts). */
int mf_h5_shape(struct mf_h5 *file, const char *path, struct mf_h5_shape *shape);
/** Rows [first, first + count) of axis 0 as @p type, C order (a single value: first 0, count 1). */
int mf_h5_read_rows(struct mf_h5 *file, const char *path, enum mf_h5_type type, size_t first, size_t count, void *to);
/** The same in the type the shape names, native byte order. */
int mf_h5_read_native(struct mf_h5 *file, const char *path, const struct mf_h5_shape *shape, size_t first, size_t count,
                      void *to);
/** A text dataset of at most @p max bytes; the caller frees. */
int mf_h5_read_text(struct mf_h5 *file, const char *path, size_t max, char **text);

#endif
