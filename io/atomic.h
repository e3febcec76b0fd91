/* Atomic files: a file appears whole or not at all.
 * Rule: it is written under a temporary name in its folder, which all ranks agree on. Then it is flushed to disk and
 * renamed over the old file. */
#ifndef MF_IO_ATOMIC_H
#define MF_IO_ATOMIC_H

#include "mpi/comm.h"

struct mf_atomic {
    char *path;      /* the name asked for */
    char *temporary; /* what to write until then, in the same folder */
};

/** Refuses with MF_OUTPUT when the disk of @p path has less than @p bytes free. Refuses also when ulimit -f forbids a
 * file of that size. The sentence names both sizes. Not collective. */
int mf_atomic_room(const char *path, size_t bytes);

/** Refuses with MF_OUTPUT a @p path that is no plain file. Refuses also a folder that accepts no new file, or no name
 * of that length. Not collective. */
int mf_atomic_reaches(const char *path);

/** The same; also refuses a file that another run has locked. */
int mf_atomic_may(const char *path);

/** Would both names be the same file, however they are spelled? The files need not exist. Not collective. */
int mf_atomic_same(const char *one, const char *other);

/**
 * Makes an empty temporary file beside @p path, after a check of the free space. About @p bytes will be written (0: not
 * known). Rank 0 touches the disk, all ranks get the names. On success mf_atomic_close() must follow. For names of an
 * output that this run has locked (io/lock.h), it does what mf_atomic_open_alone() does.
 *
 * Collective; refuses (agreed) with MF_OUTPUT:
 * - The folder does not exist or is not writable.
 * - @p path is not a plain file, or its name is too long.
 * - There is too little space; the sentence names needed and free bytes.
 * - A rank's process may not write a file of that size.
 *
 * Fault site "io.create".
 */
int mf_atomic_open(const struct mf_comm *comm, const char *path, size_t bytes, struct mf_atomic *file);

/**
 * The same for a name that only one run at a time writes. The temporary file always has the same name, so a run reuses
 * one that a killed run left behind.
 */
int mf_atomic_open_alone(const struct mf_comm *comm, const char *path, size_t bytes, struct mf_atomic *file);

/** The same, with the temporary file PATH.partial, which users may look into while it grows. One that a killed run left
 * behind is replaced. */
int mf_atomic_open_partial(const struct mf_comm *comm, const char *path, size_t bytes, struct mf_atomic *file);

/**
 * Reserves disk blocks for @p bytes of the temporary file without changing its length. So a full disk is found before
 * anything is written. Has no effect where the file system cannot do it. Not collective. Refuses with MF_OUTPUT.
 */
int mf_atomic_reserve(const struct mf_atomic *file, size_t bytes);

/**
 * Agrees on the ranks' codes. If all are MF_OK, flushes the temporary file to disk and renames it. Otherwise removes it
 * and leaves an old file as it was. If only the last flush, of the folder, fails, the new file stays and the sentence
 * says so. Frees the names. Collective; returns the agreed code. Fault site "io.rename".
 */
int mf_atomic_close(const struct mf_comm *comm, struct mf_atomic *file, int code);

/** Flushes the complete file @p temporary, and renames it to @p path. Without success it stays. Not collective;
 * MF_OUTPUT. Fault site "io.rename". */
int mf_atomic_settle(const char *temporary, const char *path);

/**
 * Closes a file together with a companion in its folder. The companion is useless without the file, and its failure
 * must not harm the file. Both are flushed in one wait. The code @p beside is the rank's code for the companion, which
 * is zeros if it could not be opened. Sets *stands if @p file is complete, and only the companion was refused.
 * Collective.
 */
int mf_atomic_close_both(const struct mf_comm *comm, struct mf_atomic *file, int code, struct mf_atomic *other,
                         int beside, int *stands);

/**
 * Writes all of @p bytes at @p offset. Not collective. Refuses with MF_OUTPUT naming @p path. Fault site "io.write".
 */
int mf_write_at(int descriptor, const char *path, const void *from, size_t bytes, size_t offset);

/** Calls open() with @p flags. Refuses what is not a plain file, without waiting for it: MF_INPUT naming @p path, *file
 * is then -1. Not collective. */
int mf_open_plain(const char *path, int flags, int *file);

/** Reads @p bytes at @p offset, or as many as there are. Not collective. Refuses with MF_INPUT naming @p path. */
int mf_read_some(int descriptor, const char *path, void *to, size_t bytes, uint64_t offset, size_t *got);

/** The same; refuses if there are fewer. */
int mf_read_at(int descriptor, const char *path, void *to, size_t bytes, uint64_t offset);

#endif
