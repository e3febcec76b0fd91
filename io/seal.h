/* A seal at the end of a file: checksums of its blocks, so that damage is found and located.
 * Rule: HDF5 never sees it, because it stands behind the end of the HDF5 file.
 *
 *   uint32 crc[blocks]   CRC-32C of every block of 1 MiB of the file before the seal (the last may be shorter)
 *   footer, 32 bytes     "MFSEAL01", uint64 bytes of the file before the seal, uint32 blocks, uint32 bytes of a block,
 *                        uint32 mark (of a checkpoint: its number; else 0), uint32 CRC-32C of the list and of the
 *                        footer up to here
 *
 * Numbers are little-endian. */
#ifndef MF_IO_SEAL_H
#define MF_IO_SEAL_H

#include <stddef.h>
#include <stdint.h>

#include "mpi/comm.h"
#include "src/base/crc.h"

enum { MF_SEAL_BLOCK = 1 << 20 };

/** Checksums of blocks of a file that are in memory anyway, fed from front to back. */
struct mf_seal_seen {
    uint64_t at; /* the next byte, if reading continues without a gap */
    uint32_t crc;
    int begun;       /* crc is of the block of `at`, from its first byte on */
    size_t blocks;   /* places in crc_of */
    int64_t *crc_of; /* [blocks] of those that were complete; 0: others; heap */
};

/** For the first @p bytes of a file. Not collective. MF_MEMORY. */
int mf_seal_see_begin(struct mf_seal_seen *seen, uint64_t bytes);
/** Adds bytes to the checksums, and also to @p look (NULL: not wanted). */
void mf_seal_see(struct mf_seal_seen *seen, const void *from, size_t bytes, uint64_t offset, struct mf_crc_look *look);
void mf_seal_see_end(struct mf_seal_seen *seen);

/**
 * Seals a file that all ranks have finished writing. The ranks share the work of reading back what no rank has @p seen
 * (NULL: everything). Error messages call the file @p name. The caller's number @p mark is what mf_seal_mark() returns.
 * Collective; refuses (agreed) with MF_OUTPUT.
 */
int mf_seal_write(const struct mf_comm *comm, const char *path, const char *name, uint32_t mark,
                  const struct mf_seal_seen *seen);

/** The mark of a sealed file. Only the seal itself is checked. Not collective. MF_INPUT. */
int mf_seal_mark(const char *path, uint32_t *mark);

/** The checksum of all checksums in the seal: files with other contents have another one. The same. */
int mf_seal_sum(const char *path, uint32_t *sum);

/**
 * Is every byte what was sealed? Refuses (agreed) with MF_INPUT, naming the first damaged bytes. A file without a seal
 * is refused too (cut short, or never sealed), and *sealed is 0. The pointer @p sealed may be NULL. Collective.
 */
int mf_seal_check(const struct mf_comm *comm, const char *path, int *sealed);

enum mf_seal_state { MF_SEAL_WHOLE, MF_SEAL_NONE, MF_SEAL_BROKEN };

/**
 * The state of a file's seal, without a refusal. @p text [MF_ERR_TEXT]: what is wrong; "": nothing. Collective; refuses
 * (agreed) with MF_MEMORY.
 */
int mf_seal_look(const struct mf_comm *comm, const char *path, enum mf_seal_state *state, char *text);

/**
 * Compares with the seal the blocks that are not wholly within bytes @p from to @p to. Sets @p bad {first, end} to the
 * bytes of the first one that differs; {0, 0}: none. Sets *sealed as above; 0 is no refusal here. Not collective.
 * MF_INPUT: the seal is broken; MF_MEMORY.
 */
int mf_seal_around(const char *path, uint64_t from, uint64_t to, int *sealed, uint64_t bad[2]);

/**
 * For files that are read though somebody may have edited them. Warns once where a seal does not hold. Warns also where
 * a file that is @p ours (it says that mesoforge wrote it) has no seal. Blocks in @p seen need not be read again (no
 * block seen by two ranks); NULL: none. Collective; refuses (agreed) with MF_MEMORY.
 */
int mf_seal_warn(const struct mf_comm *comm, const char *path, int ours, const struct mf_seal_seen *seen);

/**
 * Passes on @p rc, the code of reading a file. If it is MF_INPUT and the file's seal does not hold, the sentence first
 * says that the file is damaged. Reads nothing if nothing was refused. Not collective.
 */
int mf_seal_explain(int rc, const char *path);

#endif
