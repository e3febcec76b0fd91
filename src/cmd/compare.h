/* Two microstructures beside each other: what compare measures of them, and how it is shown. */
#ifndef MF_CMD_COMPARE_H
#define MF_CMD_COMPARE_H

#include "io/target.h"
#include "src/base/json.h"
#include "src/cmd/cmd.h"
#include "src/desc/texture.h"

/** What is measured of one; the same on all ranks but for micro. */
struct mf_compared {
    const char *file;
    struct mf_micro micro;
    struct mf_target target; /* S2, Variation, volume fractions, examples */
    struct mf_texture texture[3][MF_PHASES_MAX];
    size_t taken[3];          /* slices that texture is of; 0: none of that normal */
    struct mf_json *measures; /* of the whole field, lengths in pixels: surface, euler, clusters, chords */
};

/** One against the other, by the normals of the result's slices. */
struct mf_comparison {
    const struct mf_compared *want, *got;
    int sides;
    struct mf_texture_off off[3];
    double copied[3];
    double score, copy; /* means over the sides; score NAN: slices are too small */
};

/** The side of the target that the result's @p side is compared with: an image has one. */
static inline int mf_compare_want_side(const struct mf_comparison *c, int side)
{
    return c->want->micro.ndim == 3 ? side : 0;
}

/** One element of "results" (docs/FILES.md). */
struct mf_json *mf_compare_json(const struct mf_comparison *comparison);

/** The same for people. */
void mf_compare_text(FILE *to, const struct mf_comparison *comparison);

#endif
