/* A run on disk: what the rest of it depends on, readable on any number of ranks. Two files take turns, so the one
 * before stays whole while the next is written: NAME.ckpt-a.h5 and NAME.ckpt-b.h5 beside the output NAME.*. */
#ifndef MF_RUN_CHECKPOINT_H
#define MF_RUN_CHECKPOINT_H

#include <stdint.h>

#include "kernels/stage.h"
#include "mpi/slab.h"

#define MF_CHECKPOINT_NAME "checkpoint" /* attribute schema */

enum { MF_CHECKPOINT_SCHEMA = 4, MF_CHECKPOINT_VECTORS = 48 };

/** What is saved. Vectors and labels are this rank's parts; all else is the same on every rank. */
struct mf_checkpoint {
    const char *problem; /* lines "key: value": what a run must have in common with the one that goes on */
    struct mf_slab slab;
    size_t fields, vectors;
    const float *vector[MF_CHECKPOINT_VECTORS]; /* [fields][slab.count][ny][nx] each */
    const uint8_t *label;                       /* [slab.count][ny][nx], or NULL */
    const struct mf_stage *stage;               /* through which they are reached; NULL: they are host memory */
    size_t numbers;
    const double *number;
};

/**
 * Writes a file: temporary name, sealed (io/seal.h), flushed, renamed. @p turn: its number among the run's, the larger
 * is the newer. Collective; refuses (agreed) with MF_OUTPUT: an older file of that name is then untouched.
 */
int mf_checkpoint_write(const struct mf_comm *comm, const char *path, int64_t turn, const struct mf_checkpoint *from);

/** A checkpoint that has been opened. */
struct mf_checkpoint_in;

/** What it says of itself. number: heap of the checkpoint. */
struct mf_checkpoint_head {
    size_t dims[3], fields, vectors, numbers;
    int labels; /* it holds labels */
    const double *number;
    const char *problem;
};

/**
 * Checks the seal, unless @p checked says that this was done just now or does not matter, and opens. Collective;
 * refuses (agreed) with MF_INPUT: missing, damaged (naming where), no checkpoint, or of a newer schema; MF_MEMORY.
 */
int mf_checkpoint_open(const struct mf_comm *comm, const char *path, int checked, struct mf_checkpoint_in **in);
const struct mf_checkpoint_head *mf_checkpoint_head(const struct mf_checkpoint_in *in);
void mf_checkpoint_close(struct mf_checkpoint_in *in);

/** Vector @p i of this rank's slab; @p stage as in struct mf_checkpoint. Not collective. MF_INPUT. */
int mf_checkpoint_vector(struct mf_checkpoint_in *in, size_t i, const struct mf_slab *slab,
                         const struct mf_stage *stage, float *x);
int mf_checkpoint_label(struct mf_checkpoint_in *in, const struct mf_slab *slab, const struct mf_stage *stage,
                        uint8_t *label);

/** The two files of a run, from their seals alone. */
struct mf_checkpoint_pair {
    int64_t turn[2]; /* of a and b; -1: there is none; -2: damaged */
    int newest;      /* the one of the larger turn: 0 a, 1 b; the other may be replaced next */
};

/** Looks at the two at @p stem ("FOLDER/NAME"); a broken seal is named in a warning unless @p quiet. Collective. */
void mf_checkpoint_look(const struct mf_comm *comm, const char *stem, int quiet, struct mf_checkpoint_pair *pair);

/**
 * Opens the newest sound one, and makes it pair->newest: *in is NULL where there is none at all. A damaged one is named
 * in a warning and the other is taken; refuses with MF_INPUT when what is there is damaged. Collective.
 */
int mf_checkpoint_newest(const struct mf_comm *comm, const char *stem, struct mf_checkpoint_pair *pair,
                         struct mf_checkpoint_in **in);

/** "STEM.ckpt-a.h5" or b; the caller frees. */
char *mf_checkpoint_name(const char *stem, int which);

/** Removes one (0 a, 1 b), or both, of a run that has ended. Collective. */
void mf_checkpoint_remove_one(const struct mf_comm *comm, const char *stem, int which);
void mf_checkpoint_remove(const struct mf_comm *comm, const char *stem);

#endif
