/* Writes and reads the bytes of a volume with as little code as possible. Benchmarks compare this program's files with
 * it. */
#ifndef MF_IO_BARE_H
#define MF_IO_BARE_H

#include <stdint.h>

#include "mpi/slab.h"

/**
 * Writes one contiguous HDF5 dataset "phase", to which every rank writes its slab. With @p durable it writes another
 * name (@p path and ".tmp"), flushes, renames, and flushes the folder. Not @p durable: the system flushes when it
 * likes. Collective; MF_OUTPUT (agreed).
 */
int mf_bare_h5_write(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, int durable,
                     const uint8_t *phase);
/** Reads it back; MF_INPUT (agreed). */
int mf_bare_h5_read(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, uint8_t *phase);

/** Writes only the bytes, every rank its slab at its place, and flushes. Collective; MF_OUTPUT (agreed). */
int mf_bare_write(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, const uint8_t *phase);
/** Reads them back; MF_INPUT (agreed). */
int mf_bare_read(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, uint8_t *phase);

#endif
