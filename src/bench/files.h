/* How fast a volume is written to disk and read back: this program's files, plain HDF5, plain bytes. */
#ifndef MF_BENCH_FILES_H
#define MF_BENCH_FILES_H

#include "src/base/arena.h"
#include "src/bench/clock.h"

/* The fourth method, MF_BENCH_OTHER. Written: plain HDF5 without fsync. Read: this program's file, waiting for its
 * SHA-256. */
enum { MF_BENCH_OWN, MF_BENCH_H5, MF_BENCH_RAW, MF_BENCH_OTHER, MF_BENCH_METHODS };

struct mf_bench_files {
    size_t bytes;
    struct mf_bench_time write[MF_BENCH_METHODS], read[MF_BENCH_METHODS];
    size_t wrong; /* bytes that differ after reading, over all ranks and methods */
};

/**
 * Measures with labels of n x n x n voxels, one byte each, in temporary files in @p folder.
 *
 * Writing is the same for all methods: under another name, fsync, rename, fsync of the folder. This program's file has
 * its metadata, its seal and the .xdmf.
 *
 * Reading comes most likely from the page cache, into memory from the arena. Plain HDF5 uses it too, because malloc's
 * memory may have small pages. This program also checks the seal and counts the labels. In one more measurement it
 * waits for the SHA-256, which a run computes beside other work. Collective; MF_MEMORY, MF_OUTPUT, MF_INPUT (agreed).
 */
int mf_bench_files(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_bench_enough *enough,
                   const char *folder, size_t n, struct mf_bench_files *result);

#endif
