/* Arrays, structures and targets in memory that stand for files. A caller lends them under names that begin with '@',
 * and wherever a file is named, such a name may stand. Rule: arrays are read by the rules of .npy, and structures by
 * those of this program's volumes. So what is lent and its file give the same result. */
#ifndef MF_IO_LENT_H
#define MF_IO_LENT_H

#include "io/array.h"
#include "src/base/cut.h"

struct mf_micro;
struct mf_target;

/** A lent array, structure or target. The caller keeps it, its name and its values as long as it is lent. */
struct mf_lent {
    const char *name;   /* "@image" */
    const void *values; /* of the element [0][0]... */
    char kind;          /* 'b' Boolean, 'u', 'i', 'f' */
    size_t size;        /* bytes of one element: 1, 2, 4, 8 */
    int swap;           /* its bytes are in the other order than those of this machine */
    int ndim;
    size_t shape[MF_ARRAY_DIMS];
    ptrdiff_t stride[MF_ARRAY_DIMS]; /* bytes from one element to the next along each axis; may be negative or 0 */
    int is_slab;                     /* a volume, of which only these planes are here; values: of the first of them */
    struct mf_span planes;
    const struct mf_target *target; /* NULL: an array or structure */
    const struct mf_micro *micro;   /* NULL, or of a structure: values are its phases; its labels and spacing hold */
    const struct mf_lent *next;
};

/** Sets the list of arrays that this thread may read; NULL: none. All ranks lend the same, or slabs as mf_slab_of()
 * cuts them. Local. */
void mf_lend(const struct mf_lent *list);

/** The array of this name; NULL: no such array is lent. */
const struct mf_lent *mf_lent_find(const char *name);

/** The target of this name; NULL: none is lent. */
const struct mf_target *mf_lent_target(const char *name);

/** Fills in the header of @p array if its path names a lent array; 0: it does not. */
int mf_lent_open(struct mf_array *array);

/** Its first byte if rows follow each other without gaps, in C order and this machine's byte order; else NULL. */
const char *mf_lent_whole(const struct mf_lent *lent);

/** Copies elements from number @p first on, in C order and this machine's order of bytes, to @p to. Elements of
 * a slab count from the first that is here. */
void mf_lent_copy(const struct mf_lent *lent, size_t first, size_t count, void *to);

/** The first element of its first plane in mf_lent_whole(): 0 but for a slab. [bytes] */
size_t mf_lent_begin(const struct mf_lent *lent);

/** mf_array_visit() for lent arrays. */
int mf_lent_visit(const struct mf_array *array, size_t first, size_t count, mf_array_take *take, void *context);

#endif
