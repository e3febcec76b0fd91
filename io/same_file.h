/* Do all ranks read one file? Nodes may have copies of their own under the same name, which differ.
 * Rule: a file that all ranks share costs no read of its values; of copies each is read once. */
#ifndef MF_IO_SAME_FILE_H
#define MF_IO_SAME_FILE_H

#include "mpi/comm.h"

/**
 * Refuses (agreed) with MF_INPUT where ranks see different bytes under the name @p path. Refuses also where only some
 * ranks see a file of that name. One that no rank sees is left to its reader. Ranks that see the same inode with the
 * same times share one file. Their copies are compared by CRC-32C of blocks, which these ranks divide among themselves.
 * For a sealed file (io/seal.h) the seal's checksum is enough. Reads nothing where all ranks share the file.
 * Collective.
 */
int mf_same_file(const struct mf_comm *comm, const char *path);

#endif
