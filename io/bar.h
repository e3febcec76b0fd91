/* The data bar that a scanning electron microscope writes under a picture: a strip of one grey value with text.
 * Rule: only this module decides what a bar is, from three numbers of each row. */
#ifndef MF_IO_BAR_H
#define MF_IO_BAR_H

#include "io/array.h"
#include "io/crop.h"
#include "io/scan.h"
#include "src/base/cut.h"

enum { MF_BAR_LEVELS = 256, MF_BAR_TEXT = 120 };

/** A row, its values rounded to MF_BAR_LEVELS grey levels. */
struct mf_bar_row {
    int64_t level; /* the most frequent one */
    int64_t near;  /* pixels within some levels of it */
    int64_t jumps; /* neighbours along the row that differ by a tenth of the levels */
};

enum mf_bar { MF_BAR_NONE, MF_BAR_FOUND, MF_BAR_ALL };

/**
 * Finds the rows of an image that remain without data bars at its bottom and its top: *kept. A bar spans the width. Its
 * first row has one grey value, which is the most frequent one of all rows but lines. Some have text: pixels of other
 * values, in three strokes or more, at the top in eight. The last row has no text. Within three rows, as a pore or
 * grain hardly ends, rows differ from it at a fifth of their pixels. Or it lies beside a line. Lines and a margin
 * between a bar and the edge belong to it. MF_BAR_ALL: bars would be more than a quarter of the rows. Pure.
 */
enum mf_bar mf_bar_find(const struct mf_bar_row *row, size_t rows, size_t columns, struct mf_span *kept);

/** The same of an array of two axes, in one scan of the whole array, @p known. NULL: there is none, and values are read
 * twice. It takes 1 KiB for each row. Collective; refuses (agreed) with MF_INPUT, MF_MEMORY. */
int mf_bar_look(const struct mf_comm *comm, const struct mf_array *array, const struct mf_scan *known,
                enum mf_bar *found, struct mf_span *kept);

/** "its last 64 rows look like a data bar", by what bars leave. */
void mf_bar_text(const struct mf_array *array, struct mf_span kept, char text[MF_BAR_TEXT]);

/** The part of an image that its bars leave, which a note tells. Collective. Refuses (agreed) as mf_bar_look() does.
 * Refuses with MF_INPUT an array that is no image, and one without bars or of bars alone. */
int mf_bar_crop(const struct mf_comm *comm, const struct mf_array *array, struct mf_crop *crop);

#endif
