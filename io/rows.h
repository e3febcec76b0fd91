/* Values of a file, written by all ranks side by side; rank 0 has made everything else.
 * Rule: the functions are local. The ranks then agree on their codes, so that no rank waits for one that failed. */
#ifndef MF_IO_ROWS_H
#define MF_IO_ROWS_H

#include <stdint.h>

#include "io/atomic.h"
#include "io/seal.h"

struct mf_rows;

/** Writes @p bytes at @p offset of the file. Local; MF_OUTPUT. Fault site "io.write". */
int mf_rows_put(struct mf_rows *rows, const void *from, size_t bytes, uint64_t offset);

/**
 * Opens the file, has @p put write this rank's values by mf_rows_put() and, on all ranks but 0, sees them on the disk:
 * rank 0's last word to it (mf_atomic_close()) is of the whole file, and another host keeps what it has not said.
 * @p seen: begun here for a file of @p end bytes, as what is in memory need not be read back for its checksum; to be
 * ended by the caller in any case. NULL: the file gets no seal. Local: agree on the code. MF_OUTPUT, MF_MEMORY.
 */
int mf_rows_write(const struct mf_comm *comm, const struct mf_atomic *file, uint64_t end, struct mf_seal_seen *seen,
                  int (*put)(struct mf_rows *rows, const void *context), const void *context);

#endif
