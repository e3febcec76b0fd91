/* A checkpoint: named arrays and named numbers on disk, which any number of ranks can read. Each rank writes its own
 * piece of an array; a reader asks for any piece. Two files alternate, NAME.ckpt-a.h5 and NAME.ckpt-b.h5 beside the
 * output NAME.*. So the previous one stays complete while the next is written.
 *
 * Rule: whatever is read is asked for by name. A missing name or another shape is refused, and the sentence says
 * which. */
#ifndef MF_RUN_CHECKPOINT_H
#define MF_RUN_CHECKPOINT_H

#include <stdint.h>

#include "kernels/stage.h"
#include "mpi/comm.h"
#include "src/base/type.h"

#define MF_CHECKPOINT_NAME "checkpoint" /* value of the attribute schema */

enum { MF_CHECKPOINT_SCHEMA = 5, MF_PIECE_DIMS = 6, MF_PIECE_NAME = 1000, MF_UNCUT = -1 };

/**
 * An array, and this rank's piece of it. The piece has the rows [first, first + count) of axis `cut`, and all of the
 * other axes. Pieces do not overlap; they may differ in size and be empty. MF_UNCUT: each rank holds the whole array,
 * which is small, and rank 0's is saved.
 *
 * The numbers of a piece need not follow each other in an array of one axis. Number i of a part is number
 * i / chunk * stride + from + i % chunk of the array. Then `first` and `count` are of the part.
 */
struct mf_piece {
    const char *name; /* "optimiser/point"; at most MF_PIECE_NAME letters */
    enum mf_type type;
    int ndim;
    size_t dims[MF_PIECE_DIMS]; /* of the whole array; an empty array is not stored */
    int cut;
    size_t first, count;
    size_t chunk, stride, from;   /* chunk 0: rows follow each other */
    void *at;                     /* the piece in C order */
    const struct mf_stage *stage; /* for device memory: f32 or u8, planes of the axes after `cut`; NULL: host memory */
};

/** A list of numbers and arrays, to save or to load. */
struct mf_checkpoint;

/** An empty list to save. The lines "key: value" of @p problem (problem.h) are those that a run must share to continue
 * from it. */
struct mf_checkpoint *mf_checkpoint_new(const char *problem);
/** Frees a list; NULL is accepted. */
void mf_checkpoint_free(struct mf_checkpoint *checkpoint);

/* The same calls save and load: they take the value into the list, or fill it from the file. The first failure ends all
 * later work on the list; mf_checkpoint_code() returns it. Names are unique. Not collective. */
void mf_checkpoint_real(struct mf_checkpoint *checkpoint, const char *name, double *value);
void mf_checkpoint_int(struct mf_checkpoint *checkpoint, const char *name, long *value);
void mf_checkpoint_flag(struct mf_checkpoint *checkpoint, const char *name, int *value);
void mf_checkpoint_text(struct mf_checkpoint *checkpoint, const char *name, char *text, size_t room);
/** Saving: the memory must live until mf_checkpoint_write() has returned. All ranks list the same arrays in the same
 * order; a rank without rows has `count` 0. Loading: fills the piece. */
void mf_checkpoint_array(struct mf_checkpoint *checkpoint, const struct mf_piece *piece);
/** Does the file have an array of this name? If so, its type, ndim and dims are filled in. Not collective. */
int mf_checkpoint_find(const struct mf_checkpoint *checkpoint, const char *name, struct mf_piece *shape);
/** An array of doubles that is the same on every rank. */
void mf_checkpoint_reals(struct mf_checkpoint *checkpoint, const char *name, double *values, size_t count);

/** Does the list load? */
int mf_checkpoint_loads(const struct mf_checkpoint *checkpoint);
/** Ends all later work on the list: the caller failed with @p rc, and keeps the sentence. */
void mf_checkpoint_refuse(struct mf_checkpoint *checkpoint, int rc);
/** MF_OK, or the first refusal while loading (MF_INPUT, or the caller's). */
int mf_checkpoint_code(const struct mf_checkpoint *checkpoint);
const char *mf_checkpoint_problem(const struct mf_checkpoint *checkpoint);
/** Bytes of arrays on this rank. */
double mf_checkpoint_bytes(const struct mf_checkpoint *checkpoint);

/**
 * Writes a file under a temporary name, seals it (io/seal.h), flushes and renames it. Its number within the run is @p
 * turn; the newer file has the larger one. Numbers are those of rank 0. Collective; refuses (agreed) with MF_OUTPUT, or
 * with MF_BROKEN if ranks list different arrays. An older file of that name is then untouched.
 */
int mf_checkpoint_write(const struct mf_comm *comm, const char *path, int64_t turn, const struct mf_checkpoint *from);

/**
 * Opens a file to load from. @p checked: its seal was just checked, or does not matter. Collective; refuses (agreed)
 * with MF_INPUT (missing, damaged, no checkpoint, of another schema) and MF_MEMORY.
 */
int mf_checkpoint_open(const struct mf_comm *comm, const char *path, int checked, struct mf_checkpoint **in);

/** The two files of a run, from their seals alone. */
struct mf_checkpoint_pair {
    int64_t turn[2]; /* numbers of a and b; -1: missing; -2: damaged */
    int newest;      /* the file with the larger number: 0 a, 1 b; the other is replaced next */
};

/** Reads the seals of both files of @p stem ("FOLDER/NAME"); warns of a broken seal unless @p quiet. Collective. */
void mf_checkpoint_look(const struct mf_comm *comm, const char *stem, int quiet, struct mf_checkpoint_pair *pair);

/**
 * Opens the newest undamaged file and sets pair->newest; *in is NULL if neither file exists. Warns of a damaged one and
 * takes the other. Refuses (MF_INPUT) if both are damaged, or if the newest has another schema. Collective.
 */
int mf_checkpoint_newest(const struct mf_comm *comm, const char *stem, struct mf_checkpoint_pair *pair,
                         struct mf_checkpoint **in);

/** The stem of a run's checkpoints: the path of its output without the ending. The caller frees. Local. */
char *mf_checkpoint_stem(const char *output);

/** "STEM.ckpt-a.h5" or b; the caller frees. */
char *mf_checkpoint_name(const char *stem, int which);

/** Refuses (MF_OUTPUT) a file that is no checkpoint, not even a damaged one, and that a run would replace. No file is
 * MF_OK. Not collective. */
int mf_checkpoint_may(const char *path);

/** Removes one file (0 a, 1 b), or both, of a run that has ended. Collective. */
void mf_checkpoint_remove_one(const struct mf_comm *comm, const char *stem, int which);
void mf_checkpoint_remove(const struct mf_comm *comm, const char *stem);

#endif
