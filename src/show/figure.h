/* A figure that grows panel by panel and owns its contents. Rank 0 only; without memory it ends the job. */
#ifndef MF_SHOW_FIGURE_H
#define MF_SHOW_FIGURE_H

#include "io/plot.h"
#include "io/target.h"
#include "src/base/json.h"

struct mf_figure {
    struct mf_panel *panel;
    size_t count, room, columns;
    void **owned;
    size_t owned_count, owned_room;
    const char *map; /* colour map of images; NULL: the default */
    int bare;        /* images without axes */
    size_t left;     /* panels that were left out */
};

/** Memory that lives as long as the figure, cleared. */
void *mf_figure_keep(struct mf_figure *figure, size_t bytes);
/** A text that lives as long as the figure. */
const char *mf_figure_text(struct mf_figure *figure, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** The next panel, empty. Valid until the next one. */
struct mf_panel *mf_figure_next(struct mf_figure *figure);

/** Leaves the rest of the row empty. */
void mf_figure_end_row(struct mf_figure *figure);

/** Number of panels from @p first on that are not empty. */
size_t mf_figure_drawn(const struct mf_figure *figure, size_t first);

/** Writes what is drawn, and where, into @p to: {"panels", "left_out", "drawn": [{"title", "box": [left, top, width,
 * height]}]}. Boxes are in pixels; @p has_title: the picture has a title. */
void mf_figure_json(const struct mf_figure *figure, int has_title, struct mf_json *to);

/** Writes it as a PNG, and frees it. MF_OUTPUT. */
int mf_figure_write(const char *path, const char *title, struct mf_figure *figure);

void mf_figure_free(struct mf_figure *figure);

/** Axes of a picture: names of rows and columns, and the size of a pixel. */
struct mf_frame {
    const char *row, *column, *unit; /* unit "": pixels; NULL: no lengths */
    double step[2];                  /* {row, column} */
};

/** A picture of labels, copied. @p names: NULL or [phases]. */
void mf_figure_phases(struct mf_figure *figure, const char *title, const struct mf_frame *frame, size_t rows,
                      size_t columns, const uint8_t *phase, int phases, const char *const *names);

/** A picture of values, copied. */
void mf_figure_values(struct mf_figure *figure, const char *title, const struct mf_frame *frame, size_t rows,
                      size_t columns, const double *values);

/** S2 of one phase, side and level of @p got as a map. The text @p whose is put before the title, or NULL. The measured
 * field has @p ndim axes. */
void mf_figure_map(struct mf_figure *figure, const char *whose, const struct mf_target *got, int ndim, int side,
                   int phase, size_t level);

/**
 * S2 curves of one side. With up to two phases: one phase along both axes. Else: the radial mean of every phase. With
 * the target @p want (or NULL) it draws circles, phases matched by label. The title then has the rms difference.
 */
void mf_figure_curves(struct mf_figure *figure, const struct mf_target *got, const struct mf_target *want, int ndim,
                      int side);

/** Gives pictures of labels the scale of the largest, if all have one unit. None shrinks below a third of its own
 * scale. */
void mf_figure_one_scale(struct mf_figure *figure);

/** Loss against evaluations, [rows][3] as in the file. There were @p binarise evaluations before binarisation, 0: not
 * known. With @p ended the last row is of the binary field, and is drawn as a point. */
void mf_figure_convergence(struct mf_figure *figure, const double *rows, size_t count, double binarise, int ended);

/** The phase to show if there are at most two. */
int mf_main_phase(const struct mf_target *target);

#endif
