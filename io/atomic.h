/* Atomic files: a file appears whole or not at all.
 * Rule: it is written under a temporary name in its folder, agreed by all ranks, flushed to disk, and renamed over the
 * old file. */
#ifndef MF_IO_ATOMIC_H
#define MF_IO_ATOMIC_H

#include "mpi/comm.h"

struct mf_atomic {
    char *path;      /* the name asked for */
    char *temporary; /* what to write until then, in the same folder */
};

/** Refuses (MF_OUTPUT) when the disk of @p path has less than @p bytes free, or this process may not write a file of so
 * many (ulimit -f), naming both. Not collective. */
int mf_atomic_room(const char *path, size_t bytes);

/** Refuses (MF_OUTPUT) a @p path that is a folder, or in a folder that takes no new file or no name as long. Not
 * collective. */
int mf_atomic_reaches(const char *path);

/** The same, and one that is locked by another run. */
int mf_atomic_may(const char *path);

/** Is it one file that both names would be given to, once there, however they are spelled? Not collective. */
int mf_atomic_same(const char *one, const char *other);

/**
 * Makes an empty temporary file beside @p path. @p bytes: about how many will be written, compared with the free space
 * first (0: not known). Collective: rank 0 touches the disk, all ranks get the names. Refuses (agreed) with MF_OUTPUT:
 * the folder is missing or not writable, @p path is not a plain file or its name too long, too little space (naming
 * needed and free bytes), or a limit of some rank's process on the size of files. On success mf_atomic_close() must
 * follow. Names of an output that this run has locked (io/lock.h) are as below. Fault site "io.create".
 */
int mf_atomic_open(const struct mf_comm *comm, const char *path, size_t bytes, struct mf_atomic *file);

/**
 * The same for a name that only one run at a time writes: its temporary has always the same name, and one that a killed
 * run left behind is used again instead of staying for ever.
 */
int mf_atomic_open_alone(const struct mf_comm *comm, const char *path, size_t bytes, struct mf_atomic *file);

/**
 * Reserves disk blocks for @p bytes of the temporary file without changing its length, so that a full disk is found
 * before anything is written (no effect where the file system cannot). Not collective. Refuses with MF_OUTPUT.
 */
int mf_atomic_reserve(const struct mf_atomic *file, size_t bytes);

/**
 * Ends it: agrees on the ranks' codes; if all are MF_OK, flushes to disk and renames, else removes the temporary and
 * leaves an old file as it was. Only where the folder cannot be flushed in the end does the new file stand all the
 * same, and the sentence says so. Frees the names. Collective; returns the agreed code. Fault site "io.rename".
 */
int mf_atomic_close(const struct mf_comm *comm, struct mf_atomic *file, int code);

/**
 * The same of a file and of another in its folder that is of use only with it, and must not cost it: the disk is waited
 * for once for both. @p beside: the rank's code of the other one, which is zeros where it could not be
 * opened. *stands: @p file is there and whole, and what is
 * refused is the other one. Collective.
 */
int mf_atomic_close_both(const struct mf_comm *comm, struct mf_atomic *file, int code, struct mf_atomic *other,
                         int beside, int *stands);

/**
 * Writes all of @p bytes at @p offset. Not collective. Refuses with MF_OUTPUT naming @p path. Fault site "io.write".
 */
int mf_write_at(int descriptor, const char *path, const void *from, size_t bytes, size_t offset);

/** open() with @p flags; what is not a plain file is refused, without waiting for it. Not collective. Refuses with
 * MF_INPUT naming @p path, @p file is then -1. */
int mf_open_plain(const char *path, int flags, int *file);

/** Reads @p bytes at @p offset, or as many as there are. Not collective. Refuses with MF_INPUT naming @p path. */
int mf_read_some(int descriptor, const char *path, void *to, size_t bytes, uint64_t offset, size_t *got);

/** The same; that there are fewer is refused. */
int mf_read_at(int descriptor, const char *path, void *to, size_t bytes, uint64_t offset);

#endif
