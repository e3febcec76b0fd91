/* Writes and reads the bytes of a volume by the shortest program. Benchmarks compare our own files with it. */
#ifndef MF_IO_BARE_H
#define MF_IO_BARE_H

#include <stdint.h>

#include "mpi/slab.h"

/**
 * One contiguous dataset "phase" of HDF5, every rank its slab. @p durable: as our own files, under another name first
 * (@p path and ".tmp"), flushed to disk, renamed, the folder flushed; else written, and the system flushes when it
 * likes. Collective; MF_OUTPUT (agreed).
 */
int mf_bare_h5_write(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, int durable,
                     const uint8_t *phase);
/** Reads it back; MF_INPUT (agreed). */
int mf_bare_h5_read(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, uint8_t *phase);

/** The bytes alone, every rank its slab at its place, as durable. Collective; MF_OUTPUT (agreed). */
int mf_bare_write(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, const uint8_t *phase);
/** Reads them back; MF_INPUT (agreed). */
int mf_bare_read(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, uint8_t *phase);

#endif
