/* Measures of labelled images and volumes: exact counts that have no gradient. Each row of the table is one measure:
 * its name, how to count it, how to print it. All counts are integers, so results are equal on any number of ranks. A
 * rank holds its slab and a few planes, and for clusters also its runs. */
#ifndef MF_DESC_MEASURE_H
#define MF_DESC_MEASURE_H

#include <stdio.h>

#include "io/micro.h"
#include "kernels/backend.h"
#include "src/base/json.h"

struct mf_measure_job {
    const struct mf_comm *comm;
    struct mf_queue *queue; /* of the cpu back end: labels are in host memory */
    struct mf_arena *arena;
    const struct mf_micro *micro; /* labelled */
    int periodic;
    size_t lag; /* largest distance + 1, at most half of every edge */
};

/**
 * How some values of a measure are drawn. A path leads to them: keys separated by dots.
 * - "*" is any key, or any object of an array; an object is named by its "label" or "labels".
 * - "@key" turns an array of objects into a curve, whose abscissae are that member of the objects.
 * - "|" separates paths to values in one picture.
 *
 * Lists are drawn as curves, numbers as bars.
 */
struct mf_measure_picture {
    const char *path;
    int curves;
    const char *title;  /* added to the measure's name; "": nothing */
    const char *across; /* curves: name of the abscissa, which counts from @p first */
    const char *value;
    double first;
};

enum { MF_MEASURE_PICTURES = 3 };

/** Name of row @p i, and its MF_MEASURE_PICTURES pictures, of which unused ones have no path. NULL: no such row. */
const char *mf_measure_name(size_t i);
const struct mf_measure_picture *mf_measure_pictures(size_t i);

/** Why reconstruction cannot aim at the measure called @p name; NULL: there is no such measure. */
const char *mf_measure_why(const char *name);

/** Bits 1 << row of the measures called @p names ("all": every one). Refuses with MF_USAGE, listing all names. */
int mf_measures_find(size_t count, const char *const *names, unsigned *wanted);

/**
 * *out: [{"label": l, "surface": {...}, ...}], one member per wanted measure (docs/FILES.md), phases in order.
 * Collective; refuses (agreed) with MF_INPUT (a grey field has no phases to count), MF_MEMORY.
 */
int mf_measures_run(const struct mf_measure_job *job, unsigned wanted, struct mf_json **out);

/** The same for people. */
void mf_measures_text(FILE *to, const struct mf_json *measures);

/** Name of axis @p a; the first axis of this field, as an image has no z. */
static inline const char *mf_axis_name(int a) { return a == 0 ? "z" : a == 1 ? "y" : "x"; }
static inline int mf_axis_first(const struct mf_micro *micro) { return micro->ndim == 2; }

/* A measure called NAME is mf_measure_NAME() and mf_measure_NAME_text(), in its own file. */
#define MF_MEASURE(name)                                                                   \
    int mf_measure_##name(const struct mf_measure_job *job, struct mf_json *const *phase); \
    void mf_measure_##name##_text(FILE *to, const struct mf_json *values);
MF_MEASURE(surface)
MF_MEASURE(euler)
MF_MEASURE(clusters)
MF_MEASURE(chords)
MF_MEASURE(autocovariance)
MF_MEASURE(variogram)
MF_MEASURE(surface_correlation)
MF_MEASURE(local_fraction)
MF_MEASURE(boundaries)
MF_MEASURE(cluster_function)
MF_MEASURE(tortuosity)
#undef MF_MEASURE

#endif
