/* Facts that an HDF5 file states of itself: provenance, convergence, its arrays. Verbs info and view show them. */
#ifndef MF_IO_LOOK_H
#define MF_IO_LOOK_H

#include "io/h5.h"
#include "io/micro.h"

enum { MF_LOOK_SETS = 200, MF_LOOK_PATH = 256, MF_LOOK_WHY = 200 };

struct mf_look_set {
    char path[MF_LOOK_PATH];
    struct mf_h5_shape shape; /* kind 0: it cannot be read */
    char why[MF_LOOK_WHY];    /* then the reason */
};

struct mf_look {
    char schema[MF_NAME_TEXT]; /* "" a file of a stranger */
    char creator[MF_NAME_TEXT], created[MF_NAME_TEXT], command[MF_NAME_TEXT], hash[MF_HASH_TEXT];
    long version, seed;
    char *options;            /* heap; "" none */
    char *results;            /* JSON text, heap; NULL none */
    size_t convergence_count; /* rows of convergence: evaluation, seconds, loss */
    double *convergence;      /* [convergence_count][3], heap; NULL none */
    size_t set_count, sets;   /* how many of set[] are used; how many there are */
    struct mf_look_set set[MF_LOOK_SETS];
};

/** @p is: whether it is HDF5 at all (mf_recognise()); 0 of what cannot be opened, whose opening then says why. */
int mf_look_is_h5(const char *path, int *is);

/** Calls @p see for every dataset; for a guarded child. */
void mf_look_sets(struct mf_h5 *file, void (*see)(void *context, const char *path, const struct mf_h5_shape *shape),
                  void *context);

/** Looks, in a guarded child. Not collective. MF_INPUT, MF_MEMORY; @p look is set only on success. */
int mf_look(const char *path, struct mf_look *look);
void mf_look_free(struct mf_look *look);

/** Is it a dataset of samples, of ours or of another program that lays it out alike? */
int mf_look_is_dataset(const struct mf_look *look);

#endif
