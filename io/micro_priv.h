/* Private to reading a microstructure: micro_read.c decides what the values mean, micro_load.c moves them into the
 * slab. */
#ifndef MF_IO_MICRO_PRIV_H
#define MF_IO_MICRO_PRIV_H

#include "io/array.h"
#include "io/hash.h"
#include "io/micro.h"
#include "io/onehot.h"
#include "io/scan.h"
#include "io/seal.h"

/* Everything known while a file is read. */
struct mf_reading {
    const struct mf_comm *comm;
    struct mf_arena *arena;
    const struct mf_micro_read *read;
    struct mf_array array;
    struct mf_scan scan;
    struct mf_micro *micro;
    enum mf_phase_axis axis; /* phases stand side by side along it */
    int binary;              /* a threshold was given */
    double threshold;
    double stray; /* a value that is no label, when there is one */
    int64_t strays;
    int64_t left_out;             /* voxels under the mask */
    int64_t count[MF_PHASES_MAX]; /* voxels of every phase that count */
    int phase_of[256];            /* of one-byte elements; -1: none */
    int64_t bytes[256];           /* how often each occurs in this rank's slab */
    struct mf_scan_share part;    /* the slab: its rows in the file, and the mask over it */
    struct mf_seal_seen seen;     /* of a file of ours */
};

/** Are its values those of an indicator field, and wanted as such? Not collective. */
int mf_reading_is_indicator(const struct mf_reading *reading);

/** Local: an indicator field of one phase, or of all phases along their axis. */
int mf_reading_grey(struct mf_reading *reading);

/** Local: the slab as phases, of an array that has 1 for a voxel's phase and 0 for the others. */
int mf_reading_onehot(struct mf_reading *reading);

/** Local: lays the array over the ranks. */
void mf_reading_lay(struct mf_reading *reading);

/** Local: the slab of one-byte elements, in the only pass over them. What a seal says of them needs no other; how long
 * a file is that has values of ours says nothing of how much there is to be seen. */
int mf_reading_bytes(struct mf_reading *reading);

/** Local: the slab as phases, once it is known what values mean. */
int mf_reading_phases(struct mf_reading *reading);

#endif
