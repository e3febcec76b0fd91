/* The list of a checkpoint, private to checkpoint.c and checkpoint_file.c. */
#ifndef MF_RUN_CHECKPOINT_PRIV_H
#define MF_RUN_CHECKPOINT_PRIV_H

#include "io/h5.h"
#include "src/run/checkpoint.h"

enum mf_number_kind { MF_NUMBER_REAL, MF_NUMBER_INT, MF_NUMBER_TEXT };

struct mf_number {
    char *name, *text;
    enum mf_number_kind kind;
    double real;
    int64_t whole;
};

struct mf_checkpoint {
    char *problem;
    struct mf_number *number; /* to save */
    size_t numbers;
    struct mf_piece *piece; /* to save; names are copies */
    size_t pieces;
    struct mf_h5 *file; /* to load from, or NULL */
    int descriptor;     /* the same file; < 0: none */
    char *path;
    int code;    /* the first refusal while loading */
    int foreign; /* it is of another schema */
};

/** A piece as [outer][rows][inner] numbers of `size` bytes, of which [first, first + count) rows are here. */
struct mf_piece_rows {
    size_t outer, rows, inner, first, count, size;
};
struct mf_piece_rows mf_piece_rows(const struct mf_piece *piece);

/** The row of the array that row @p z of the piece is. *left becomes at most as many as follow each other from there.
 */
size_t mf_piece_row(const struct mf_piece *piece, size_t z, size_t *left);

/** As mf_checkpoint_open(). *foreign: the refusal is that the file is of another schema. */
int mf_checkpoint_open_checked(const struct mf_comm *comm, const char *path, int checked, struct mf_checkpoint **in,
                               int *foreign);

/** Fills a piece from the file. Not collective; MF_INPUT. */
int mf_piece_load(const struct mf_checkpoint *checkpoint, const struct mf_piece *piece);

#endif
