/* Writes the values of a file, all ranks side by side; rank 0 has made everything else.
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
 * Opens the file and calls @p put, which writes this rank's values by mf_rows_put(). Ranks other than 0 then flush
 * their values. The flush in mf_atomic_close() is rank 0's, and another host keeps data of its own.
 *
 * @p seen: checksums of values in memory, so that they need not be read back. It is begun here for a file of @p end
 * bytes; the caller ends it in any case. NULL: the file gets no seal. Local: agree on the code. MF_OUTPUT, MF_MEMORY.
 */
int mf_rows_write(const struct mf_comm *comm, const struct mf_atomic *file, uint64_t end, struct mf_seal_seen *seen,
                  int (*put)(struct mf_rows *rows, const void *context), const void *context);

#endif
