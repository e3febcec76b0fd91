/* A run on disk: named arrays and named numbers, which any number of ranks can read. Each rank writes its own piece of
 * an array; a reader asks for any piece. Two files take turns, so that the previous one stays whole while the next is
 * written: NAME.ckpt-a.h5 and NAME.ckpt-b.h5 beside the output NAME.*.
 *
 * The rule: whatever is read is asked for by name. A missing name or another shape is a refusal that says which. */
#ifndef MF_RUN_CHECKPOINT_H
#define MF_RUN_CHECKPOINT_H

#include <stdint.h>

#include "kernels/stage.h"
#include "mpi/comm.h"
#include "src/base/type.h"

#define MF_CHECKPOINT_NAME "checkpoint" /* attribute schema */

enum { MF_CHECKPOINT_SCHEMA = 5, MF_PIECE_DIMS = 6, MF_PIECE_NAME = 1000, MF_UNCUT = -1 };

/**
 * An array, and this rank's piece of it. Of axis `cut` the piece has the rows [first, first + count), of all other axes
 * everything. Pieces do not overlap; they may differ in size and be empty. MF_UNCUT: each rank holds the whole array,
 * which is small, and rank 0's is saved.
 */
struct mf_piece {
    const char *name; /* "optimiser/point"; at most MF_PIECE_NAME letters */
    enum mf_type type;
    int ndim;
    size_t dims[MF_PIECE_DIMS]; /* of the whole array; one without numbers is not stored */
    int cut;
    size_t first, count;
    void *at;                     /* the piece in C order */
    const struct mf_stage *stage; /* for device memory: f32 or u8, planes of the axes behind `cut`; NULL: host memory */
};

/** A list of numbers and arrays: one to be saved, or one that was opened. */
struct mf_checkpoint;

/** An empty list to save. @p problem: lines "key: value" that a run must share to go on with it (problem.h). */
struct mf_checkpoint *mf_checkpoint_new(const char *problem);
/** Also of NULL. */
void mf_checkpoint_free(struct mf_checkpoint *checkpoint);

/* The same calls save and load: they take the value into the list, or fill it from the file. The first that fails stops
 * the list, and mf_checkpoint_code() says why. Names are unique. Not collective. */
void mf_checkpoint_real(struct mf_checkpoint *checkpoint, const char *name, double *value);
void mf_checkpoint_int(struct mf_checkpoint *checkpoint, const char *name, long *value);
void mf_checkpoint_flag(struct mf_checkpoint *checkpoint, const char *name, int *value);
void mf_checkpoint_text(struct mf_checkpoint *checkpoint, const char *name, char *text, size_t room);
/** Saving: memory that stays until mf_checkpoint_write() has returned. All ranks list the same arrays in the same
 * order, with `count` 0 where a rank has no rows. Loading: fills the piece. */
void mf_checkpoint_array(struct mf_checkpoint *checkpoint, const struct mf_piece *piece);
/** Is there an array of this name to load? Then its type, ndim and dims are filled in. Not collective. */
int mf_checkpoint_find(const struct mf_checkpoint *checkpoint, const char *name, struct mf_piece *shape);
/** An array of doubles that is the same on every rank. */
void mf_checkpoint_reals(struct mf_checkpoint *checkpoint, const char *name, double *values, size_t count);

/** Does the list load? */
int mf_checkpoint_loads(const struct mf_checkpoint *checkpoint);
/** MF_OK, or the first refusal while loading (MF_INPUT). */
int mf_checkpoint_code(const struct mf_checkpoint *checkpoint);
const char *mf_checkpoint_problem(const struct mf_checkpoint *checkpoint);
/** Bytes of arrays on this rank. */
double mf_checkpoint_bytes(const struct mf_checkpoint *checkpoint);

/**
 * Writes a file: temporary name, sealed (io/seal.h), flushed, renamed. @p turn: its number among the run's, the larger
 * is the newer. Numbers are those of rank 0. Collective; refuses (agreed) with MF_OUTPUT, and with MF_BROKEN where
 * ranks list different arrays. An older file of that name is then untouched.
 */
int mf_checkpoint_write(const struct mf_comm *comm, const char *path, int64_t turn, const struct mf_checkpoint *from);

/**
 * Opens a file to load from. @p checked: its seal was checked just now, or does not matter. Collective; refuses
 * (agreed) with MF_INPUT (missing, damaged, no checkpoint, of another schema) and MF_MEMORY.
 */
int mf_checkpoint_open(const struct mf_comm *comm, const char *path, int checked, struct mf_checkpoint **in);

/** The two files of a run, from their seals alone. */
struct mf_checkpoint_pair {
    int64_t turn[2]; /* of a and b; -1: there is none; -2: damaged */
    int newest;      /* the one of the larger turn: 0 a, 1 b; the other may be replaced next */
};

/** Looks at the two at @p stem ("FOLDER/NAME"); warns of a broken seal unless @p quiet. Collective. */
void mf_checkpoint_look(const struct mf_comm *comm, const char *stem, int quiet, struct mf_checkpoint_pair *pair);

/**
 * Opens the newest sound one, and makes it pair->newest: *in is NULL where there is none at all. Warns of a damaged one
 * and takes the other. Refuses (MF_INPUT) when nothing sound is left, and when the newest is of another schema.
 * Collective.
 */
int mf_checkpoint_newest(const struct mf_comm *comm, const char *stem, struct mf_checkpoint_pair *pair,
                         struct mf_checkpoint **in);

/** "STEM.ckpt-a.h5" or b; the caller frees. */
char *mf_checkpoint_name(const char *stem, int which);

/** Removes one (0 a, 1 b), or both, of a run that has ended. Collective. */
void mf_checkpoint_remove_one(const struct mf_comm *comm, const char *stem, int which);
void mf_checkpoint_remove(const struct mf_comm *comm, const char *stem);

#endif
