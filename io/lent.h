/* Arrays in memory that stand for files. A caller lends them under names that begin with '@', and wherever a file is
 * named, such a name may stand.
 * Rule: they are read by the rules of .npy, so a lent array and its file give the same result. */
#ifndef MF_IO_LENT_H
#define MF_IO_LENT_H

#include "io/array.h"

/** A lent array. The caller keeps it, its name and its values as long as it is lent. */
struct mf_lent {
    const char *name;   /* "@image" */
    const void *values; /* of the element [0][0]... */
    char kind;          /* 'b' Boolean, 'u', 'i', 'f' */
    size_t size;        /* bytes of one element: 1, 2, 4, 8 */
    int swap;           /* its bytes are in the other order than those of this machine */
    int ndim;
    size_t shape[MF_ARRAY_DIMS];
    ptrdiff_t stride[MF_ARRAY_DIMS]; /* bytes from one element to the next along each axis; may be negative or 0 */
    const struct mf_lent *next;
};

/** Sets the list of arrays that this thread may read; NULL: none. All ranks lend the same. Local. */
void mf_lend(const struct mf_lent *list);

/** The array of this name; NULL: no such array is lent. */
const struct mf_lent *mf_lent_find(const char *name);

/** Fills in the header of @p array if its path names a lent array; 0: it does not. */
int mf_lent_open(struct mf_array *array);

/** Its first byte if rows follow each other without gaps, in C order and this machine's byte order; else NULL. */
const char *mf_lent_whole(const struct mf_lent *lent);

/** mf_array_visit() for lent arrays. */
int mf_lent_visit(const struct mf_array *array, size_t first, size_t count, mf_array_take *take, void *context);

#endif
