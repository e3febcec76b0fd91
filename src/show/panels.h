/* Descriptors and measures as panels, by the rows of the registry (src/desc/shown.h) and of the measures: what is added
 * there is drawn without a line here. Rank 0 only. */
#ifndef MF_SHOW_PANELS_H
#define MF_SHOW_PANELS_H

#include "src/base/json.h"
#include "src/desc/registry.h"
#include "src/show/figure.h"

/** No more phases (or pairs of them) and levels of a descriptor are drawn. */
enum { MF_PANELS_PARTS = 4, MF_PANELS_LEVELS = 4 };

/** Which values of a descriptor: of a part (phase or pair) on a level of a side. */
struct mf_panel_place {
    const struct mf_descriptor *row;
    size_t part, level;
    int side;
    size_t number; /* of a row that is shown as numbers: which one */
};

/** What is drawn into, and of what. */
struct mf_panels {
    struct mf_figure *figure;
    const struct mf_target *got, *want; /* want NULL: nothing to compare with; circles, by labels */
    int ndim;                           /* of what was characterised */
    size_t left;                        /* panels that were left out */
};

/** A row of panels or several for every descriptor that the target has: for every part its levels (of three sides:
 * these, on the finest level), then cuts of windows. */
void mf_panels_descriptors(struct mf_panels *panels);

/** The same of measures: "measures" of what characterize says, of those in @p which (bits 1 << row). @p want: NULL, or
 * what they should be, of the same labels: circles, and bars beside bars. */
void mf_panels_measures(struct mf_panels *panels, unsigned which, const struct mf_json *measures,
                        const struct mf_json *want);

/** Root mean squares over the values of picture @p k of a measure that both have: of what they should be, and of the
 * difference; NAN: they have none in common. 0: neither has any. */
int mf_panels_measures_differ(size_t row, size_t k, const struct mf_json *got, const struct mf_json *want, double *size,
                              double *off);

/** The curves of one place (of windows: cuts through them); the bars of a number of every part.
 * Returns whether there was anything to draw. */
int mf_panels_curves(struct mf_panels *panels, const struct mf_panel_place *place);
int mf_panels_numbers(struct mf_panels *panels, const struct mf_panel_place *place);

/** Its parts in a file of @p target. */
size_t mf_panels_parts(const struct mf_target *target, const struct mf_descriptor *row);

#endif
