/* What the axes of an array are: a file of numbers seldom says it, and one shape is the picture of several things. */
#ifndef MF_SHOW_VIEW_AXES_H
#define MF_SHOW_VIEW_AXES_H

#include "io/array.h"
#include "src/base/arena.h"

/** The words of --axes: a letter for every axis, in their order. z, y, x: places; p, q: phases, pairs of phases; l:
 * levels of the pyramid; d, u, v: lags along z, rows and columns of a window or matrix; e: entries of a curve. */
#define MF_VIEW_WORDS "yx|zyx|yxp|zyxp|pyx|pzyx|pl|ple|pluv|pduv|ql|qle|qluv|qduv"

/** What an axis is drawn as. The values of a plane are those of equal PART, LEVEL and PLANE. */
enum mf_view_role { MF_VIEW_PART, MF_VIEW_LEVEL, MF_VIEW_PLANE, MF_VIEW_ROW, MF_VIEW_COLUMN, MF_VIEW_ROLES };

struct mf_view_axes {
    const char *word;                      /* of MF_VIEW_WORDS; NULL: none fits, and it cannot be drawn */
    enum mf_view_role role[MF_ARRAY_DIMS]; /* of every axis of the array; of one value: any */
    size_t n[MF_VIEW_ROLES];               /* extents, 1 where there is none */
    int guessed;                           /* nobody said so, and phases may be pairs of them */
};

/** Are they places alone: an image or a volume? */
int mf_view_is_place(const struct mf_view_axes *axes);

/** "[y][x][phase]"; static. */
const char *mf_view_meaning(const char *word);

/**
 * As @p word says (NULL: nobody does), or the file; else as the values say (those of one axis sum to 1 everywhere:
 * phases) or as the shape lets guess, and what was made of it, and what else it may be, is told in one line. @p labels:
 * whole numbers, places unless the values say otherwise; @p places: as of labels (it will be cut into phases). @p file:
 * what the user calls it. Reads the values once where they may say something. Rank 0; MF_USAGE (a word that does not
 * fit), MF_INPUT.
 */
int mf_view_axes(struct mf_arena *arena, const char *file, const struct mf_array *array, const char *word, int labels,
                 int places, struct mf_view_axes *axes);

#endif
