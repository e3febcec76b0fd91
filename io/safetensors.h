/* Named arrays in .safetensors files. A file has eight bytes with the length of the header, then the header, then the
 * bytes of the arrays. The header is JSON with the type, extents and place of every array. Large models are split: an
 * index in JSON says which file holds which array. Rule: a foreign file is hostile. All of the header is checked when
 * the file is opened, before any array gets memory. */
#ifndef MF_IO_SAFETENSORS_H
#define MF_IO_SAFETENSORS_H

#include <stddef.h>
#include <stdint.h>

#include "mpi/comm.h"
#include "src/base/cut.h"
#include "src/base/type.h"

enum { MF_SAFETENSORS_DIMS = 8 };

struct mf_safetensors;

/** An array of a file. */
struct mf_safetensors_entry {
    const char *name;  /* UTF-8 */
    enum mf_type type; /* in the file; MF_TYPES: one that this program has not */
    size_t ndim;       /* 0: one number */
    size_t dims[MF_SAFETENSORS_DIMS];
    /* Writing: the numbers, int64_t for MF_I64, else float; or, with get(), whatever that copies numbers from. Reading:
     * NULL, both. */
    const void *data;
    void (*get)(const void *data, size_t first, size_t count, void *to);
};

/**
 * Opens a file, the index of a split model, or a folder. A folder stands for its "model.safetensors", else for its
 * "model.safetensors.index.json". One that has only a pickle is refused. Refuses with MF_INPUT, naming the fault. Not
 * collective.
 */
int mf_safetensors_open(const char *path, struct mf_safetensors **file);
void mf_safetensors_close(struct mf_safetensors *file);

/** The file that such a path stands for; the caller frees. */
char *mf_safetensors_where(const char *path);

/** Path of its file; of a split model that of the first part. */
const char *mf_safetensors_path(const struct mf_safetensors *file);

/** Refuses (agreed) with MF_INPUT where ranks have opened different files. Collective. */
int mf_safetensors_same(const struct mf_comm *comm, const struct mf_safetensors *file);

/** All arrays in the order of their names; the file owns them. */
const struct mf_safetensors_entry *mf_safetensors_list(const struct mf_safetensors *file, size_t *count);

/** An array by its name; NULL: there is none. */
const struct mf_safetensors_entry *mf_safetensors_find(const struct mf_safetensors *file, const char *name);

/** The text of @p key in the file's metadata, owned by the file; NULL: there is none. A split model gives that of its
 * first file that has one. */
const char *mf_safetensors_metadata(const struct mf_safetensors *file, const char *key);

/** Reads array @p name of type F32, F16 or BF16 into @p to. It must have exactly these extents. Its values need not be
 * finite. MF_INPUT. */
int mf_safetensors_read(struct mf_safetensors *file, const char *name, size_t ndim, const size_t *dims, float *to);

/** Reads a part of an array of these types into @p to [rows.count][columns.count]. No other byte is read. Rows are
 * along the first axis; all other axes are columns. The part lies within the array. MF_INPUT. */
int mf_safetensors_read_block(struct mf_safetensors *file, const struct mf_safetensors_entry *entry,
                              struct mf_span rows, struct mf_span columns, float *to);

/** The same as mf_safetensors_read() for whole numbers: types I64, I32, U8. */
int mf_safetensors_read_whole(struct mf_safetensors *file, const char *name, size_t ndim, const size_t *dims,
                              int64_t *to);

/**
 * Writes a file, with the layout of the reference implementation: larger types first, then by name. Types are F32, F16,
 * BF16 (rounded to nearest, ties to even) and I64. The file appears whole or not at all. Not collective.
 *
 * @param metadata  keys and texts in turn, then NULL; or NULL
 * @param entries   [n] in any order; names differ
 *
 * Refuses with MF_OUTPUT.
 */
int mf_safetensors_write(const char *path, const char *const *metadata, size_t n,
                         const struct mf_safetensors_entry *entries);

/**
 * The same, split into files of at most @p most bytes of arrays; a larger array has a file of its own.
 * "model.safetensors" becomes "model-00001-of-00003.safetensors", ... and "model.safetensors.index.json". A model that
 * fits in one file is written to @p path. Arrays are split in the order of @p entries. Removes what an earlier model of
 * this name had instead: the index, or the single file.
 */
int mf_safetensors_write_split(const char *path, const char *const *metadata, size_t n,
                               const struct mf_safetensors_entry *entries, uint64_t most);

#endif
