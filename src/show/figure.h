/* A figure that grows panel by panel and owns what is in it. Rank 0 only; without memory it ends the job. */
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
    const char *map; /* colours of images, NULL: the standard */
    int bare;        /* images without axes */
    size_t left;     /* panels that there could have been as well */
};

/** Memory that lives as long as the figure, cleared. */
void *mf_figure_keep(struct mf_figure *figure, size_t bytes);
/** A text that does. */
const char *mf_figure_text(struct mf_figure *figure, const char *format, ...) __attribute__((format(printf, 2, 3)));

/** The next panel, empty. Valid until the next one. */
struct mf_panel *mf_figure_next(struct mf_figure *figure);

/** Leaves the rest of the row empty. */
void mf_figure_end_row(struct mf_figure *figure);

/** How many panels from @p first on are not empty. */
size_t mf_figure_drawn(const struct mf_figure *figure, size_t first);

/** What is drawn, and where: {"panels", "left_out", "drawn": [{"title", "box": [left, top, width, height]}]} into @p
 * to; pixels of a picture that has a title. */
void mf_figure_json(const struct mf_figure *figure, int has_title, struct mf_json *to);

void mf_figure_free(struct mf_figure *figure);

/** A picture's axes: names of rows and columns, and the edge of a pixel along them. */
struct mf_frame {
    const char *row, *column, *unit; /* unit "": pixels; NULL: they are no lengths */
    double step[2];                  /* {row, column} */
};

/** A picture of labels, copied. @p names: NULL or [phases]. */
void mf_figure_phases(struct mf_figure *figure, const char *title, const struct mf_frame *frame, size_t rows,
                      size_t columns, const uint8_t *phase, int phases, const char *const *names);

/** A picture of values, copied. */
void mf_figure_values(struct mf_figure *figure, const char *title, const struct mf_frame *frame, size_t rows,
                      size_t columns, const double *values);

/** S2 of one phase, side and level of @p got as a map. @p whose: before the title, or NULL; @p ndim: of what was
 * characterised. */
void mf_figure_map(struct mf_figure *figure, const char *whose, const struct mf_target *got, int ndim, int side,
                   int phase, size_t level);

/**
 * S2 curves of one side: with up to two phases one of them along both axes, else the radial mean of every phase. @p
 * want: NULL, or what they should be (circles; phases found by label), with the rms difference in the title.
 */
void mf_figure_curves(struct mf_figure *figure, const struct mf_target *got, const struct mf_target *want, int ndim,
                      int side);

/** Pictures of labels get the scale of the largest where they are in one unit, but none less than a third of its own.
 */
void mf_figure_one_scale(struct mf_figure *figure);

/** Loss against evaluations, [rows][3] as in the file. @p binarise: evaluations before binarisation, 0: not known.
 * @p ended: the last row is of the binary field, and drawn as a point. */
void mf_figure_convergence(struct mf_figure *figure, const double *rows, size_t count, double binarise, int ended);

/** The phase to show where there are two at most. */
int mf_main_phase(const struct mf_target *target);

#endif
