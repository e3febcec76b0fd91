/* A seal at the end of a file: checksums of its blocks, so that damage is found and named.
 * Rule: HDF5 never sees it, because it stands behind the end of the HDF5 file.
 *
 *   uint32 crc[blocks]   CRC-32C of every block of 1 MiB of the file before the seal (the last may be shorter)
 *   footer, 32 bytes     "MFSEAL01", uint64 bytes of the file before the seal, uint32 blocks, uint32 bytes of a block,
 *                        uint32 mark (of a checkpoint: its turn; else 0), uint32 CRC-32C of the list and of the footer
 * up to here. Numbers are little-endian. */
#ifndef MF_IO_SEAL_H
#define MF_IO_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "mpi/comm.h"
#include "src/base/crc.h"

enum { MF_SEAL_BLOCK = 1 << 20 };

/** Checksums of the blocks of a file that somebody has in memory anyway, from front to back. */
struct mf_seal_seen {
    uint64_t at; /* the next byte, if reading goes on without a gap */
    uint32_t crc;
    int begun;       /* crc is of the block of `at`, from its first byte on */
    size_t blocks;   /* places in crc_of */
    int64_t *crc_of; /* [blocks] of those that were seen whole; 0: others; heap */
};

/** For the first @p bytes of a file. Not collective. MF_MEMORY. */
int mf_seal_see_begin(struct mf_seal_seen *seen, uint64_t bytes);
/** Adds the bytes to @p look, too (NULL: nobody asks). */
void mf_seal_see(struct mf_seal_seen *seen, const void *from, size_t bytes, uint64_t offset, struct mf_crc_look *look);
void mf_seal_see_end(struct mf_seal_seen *seen);

/**
 * Seals a file that all ranks have finished writing. What of it no rank has @p seen (NULL: all of it) they read back
 * together, each its share. @p name: what sentences call it. @p mark: a number of the caller's, to be had without
 * reading the file. Collective; refuses (agreed) with MF_OUTPUT.
 */
int mf_seal_write(const struct mf_comm *comm, const char *path, const char *name, uint32_t mark,
                  const struct mf_seal_seen *seen);

/** The mark of a sealed file; of its bytes only the seal itself is checked. Not collective. MF_INPUT. */
int mf_seal_mark(const char *path, uint32_t *mark);

/**
 * Is every byte what was sealed? Refuses (agreed) with MF_INPUT: the file has no seal (cut short, or never sealed:
 * *sealed is 0 then), or names the first damaged bytes. @p sealed may be NULL. Collective.
 */
int mf_seal_check(const struct mf_comm *comm, const char *path, int *sealed);

enum mf_seal_state { MF_SEAL_WHOLE, MF_SEAL_NONE, MF_SEAL_BROKEN };

/**
 * How it is with the seal of a file, without a refusal. @p text [MF_ERR_TEXT]: what is wrong, "" where nothing is.
 * Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_seal_look(const struct mf_comm *comm, const char *path, enum mf_seal_state *state, char *text);

/**
 * For files that are read though they may have been edited: one warning where a seal does not hold, and where there is
 * none and the file is @p ours (it says that mesoforge wrote it). @p seen: blocks that need not be read again (no block
 * seen by two ranks); NULL: none. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_seal_doubt(const struct mf_comm *comm, const char *path, int ours, const struct mf_seal_seen *seen);

/**
 * Passes on @p rc, of what was read of the file: a refusal with MF_INPUT says first that the file is damaged where it
 * ends in a seal that does not hold. Not collective; nothing is read where nothing was refused.
 */
int mf_seal_blame(int rc, const char *path);

#endif
