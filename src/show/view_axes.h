/* The meaning of an array's axes. Files seldom state it, and one shape may mean several things. */
#ifndef MF_SHOW_VIEW_AXES_H
#define MF_SHOW_VIEW_AXES_H

#include "io/array.h"
#include "src/base/arena.h"

/** The words of --axes: one letter per axis, in order. Letters z, y, x are positions; p, q phases, pairs of phases; l
 * pyramid level. Letters d, u, v are lags along z, rows and columns of a window or matrix; e entries of a curve. */
#define MF_VIEW_WORDS "yx|zyx|yxp|zyxp|pyx|pzyx|pl|ple|pluv|pduv|ql|qle|qluv|qduv"

/** How an axis is drawn. Values with equal PART, LEVEL and PLANE form a plane. */
enum mf_view_role { MF_VIEW_PART, MF_VIEW_LEVEL, MF_VIEW_PLANE, MF_VIEW_ROW, MF_VIEW_COLUMN, MF_VIEW_ROLES };

struct mf_view_axes {
    const char *word;                      /* one of MF_VIEW_WORDS; NULL: none fits, and the array cannot be drawn */
    enum mf_view_role role[MF_ARRAY_DIMS]; /* of every axis of the array; an axis of length 1: any */
    size_t n[MF_VIEW_ROLES];               /* extents; 1 if there is no such axis */
    int guessed;                           /* guessed: phases may be pairs of phases */
};

/** Are all axes positions: an image or a volume? */
int mf_view_is_place(const struct mf_view_axes *axes);

/** "[y][x][phase]"; static. */
const char *mf_view_meaning(const char *word);

/**
 * Finds the meaning of an array's axes. Sources, in this order:
 * - @p word (NULL: not given), or the file.
 * - the values: if those along one axis sum to 1 everywhere, it is the axis of phases.
 * - the shape, as a guess; one line reports it, and what else it may be.
 *
 * With @p labels, integers are positions unless the values say otherwise. With @p places they are treated as labels,
 * because the array will be cut into phases. The user knows the file as @p file. Reads the values once if needed. Rank
 * 0; MF_USAGE (a word that does not fit), MF_INPUT.
 */
int mf_view_axes(struct mf_arena *arena, const char *file, const struct mf_array *array, const char *word, int labels,
                 int places, struct mf_view_axes *axes);

#endif
