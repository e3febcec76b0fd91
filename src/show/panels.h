/* Draws descriptors and measures as panels, from the rows of the registry (src/desc/shown.h) and of the measures. New
 * rows need no code here. Rank 0 only. */
#ifndef MF_SHOW_PANELS_H
#define MF_SHOW_PANELS_H

#include "src/base/json.h"
#include "src/desc/registry.h"
#include "src/show/figure.h"

/** Limits of drawn phases (or pairs) and levels of a descriptor. */
enum { MF_PANELS_PARTS = 4, MF_PANELS_LEVELS = 4 };

/** Selects values of a descriptor: a part (phase or pair) on a level of a side. */
struct mf_panel_place {
    const struct mf_descriptor *row;
    size_t part, level;
    int side;
    size_t number; /* index of the number, for a row shown as numbers */
};

/** The figure, and what it shows. */
struct mf_panels {
    struct mf_figure *figure;
    const struct mf_target *got, *want; /* want NULL: no target; else drawn as circles, matched by label */
    int ndim;                           /* of the measured field */
    size_t left;                        /* panels that were left out */
};

/** Draws every descriptor of the target in one or more rows of panels. First come the levels of every part (three
 * sides: the sides on the finest level), then cuts of windows. */
void mf_panels_descriptors(struct mf_panels *panels);

/** The same for measures: "measures" of characterize's results, those in @p which (bits 1 << row). The measures @p want
 * are NULL, or the target's, matched by label: circles, and bars beside bars. */
void mf_panels_measures(struct mf_panels *panels, unsigned which, const struct mf_json *measures,
                        const struct mf_json *want);

/** Root mean squares over the values of picture @p k of a measure that both have. They are of the target, and of the
 * difference. NAN: they have none in common. Returns 0 if neither has any. */
int mf_panels_measures_differ(size_t row, size_t k, const struct mf_json *got, const struct mf_json *want, double *size,
                              double *off);

/** The curves of one selection (of windows: cuts through them). Returns whether anything was drawn. */
int mf_panels_curves(struct mf_panels *panels, const struct mf_panel_place *place);

/** Number of its parts in a file of @p target. */
size_t mf_panels_parts(const struct mf_target *target, const struct mf_descriptor *row);

#endif
