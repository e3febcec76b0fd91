/* How fast a volume reaches the disk and comes back: our files, bare HDF5, bare bytes. */
#ifndef MF_BENCH_FILES_H
#define MF_BENCH_FILES_H

#include "src/base/arena.h"
#include "src/bench/clock.h"

/* The fourth way: written, bare HDF5 that leaves the flushing to the system; read, ours and its SHA-256 waited for. */
enum { MF_BENCH_OWN, MF_BENCH_H5, MF_BENCH_RAW, MF_BENCH_OTHER, MF_BENCH_WAYS };

struct mf_bench_files {
    size_t bytes;
    struct mf_bench_time write[MF_BENCH_WAYS], read[MF_BENCH_WAYS];
    size_t wrong; /* bytes that came back otherwise, over all ranks and ways */
};

/**
 * Labels of n x n x n voxels, one byte each, in files in @p folder that are gone afterwards. Written, all alike: under
 * another name, to the disk (fsync), renamed, the folder flushed; ours with all that it says about itself, its seal and
 * the .xdmf. Read, most likely from the page cache, into memory that is taken for it (the arena's, also for HDF5
 * alone: malloc's may lie on small pages); ours with its seal checked and its labels counted, and once more with its
 * SHA-256 waited for, which in a run goes on beside what follows. Collective; MF_MEMORY, MF_OUTPUT, MF_INPUT (agreed).
 */
int mf_bench_files(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_bench_enough *enough,
                   const char *folder, size_t n, struct mf_bench_files *result);

#endif
