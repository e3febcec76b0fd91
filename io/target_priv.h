/* The arrays of a descriptor file, as they are written and read. Private to the files of io/target. */
#ifndef MF_IO_TARGET_PRIV_H
#define MF_IO_TARGET_PRIV_H

#include "io/target.h"

enum { MF_TARGET_PATH = 32, MF_TARGET_EXAMPLE = 4, MF_TARGET_FIXED = 5, MF_TARGET_PARTS = MF_TARGET_FIXED + MF_MORE };

/** One array of a side. */
struct mf_target_part {
    const char *name;
    double **at;
    size_t count;
    int ndim;
    size_t dims[4];
    double least, most; /* range of its values, with a margin for rounding */
    int whole;          /* its values are integers */
    const char *axes;
};

/** All arrays that a side may have, with extents from @p side. at: where the pointers to them are. */
void mf_target_parts(const struct mf_target *t, struct mf_target_side *side,
                     struct mf_target_part part[MF_TARGET_PARTS]);

extern const char *const mf_target_whole_paths[MF_WHOLE];

/** An array of the volume as a whole. */
struct mf_target_part mf_target_whole(const struct mf_target *t, int which, double **at);

/** "/z/s2"; @p name NULL: "/z". A single side is "/all". */
void mf_target_path(const struct mf_target *t, int side, const char *name, char path[MF_TARGET_PATH]);

#endif
