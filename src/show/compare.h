/* Compares two microstructures: what the verb compare measures, and how it is shown. */
#ifndef MF_SHOW_COMPARE_H
#define MF_SHOW_COMPARE_H

#include "io/target.h"
#include "kernels/slices/vgg.h"
#include "src/base/json.h"
#include "src/base/lists.h"
#include "src/desc/copies.h"
#include "src/desc/texture.h"
#include "src/show/figure.h"
#include "src/show/show.h"

struct mf_compare_opts {
    const char *threshold;
    struct mf_longs labels;
    struct mf_texts descriptors;
    struct mf_reals conductivity; /* of the phases; none: it is not compared */
    long lag, slices;
    int lag_given, periodic;
    const struct mf_crop *crop; /* NULL, or the part of the target that is read; crop_bar: what its data bar leaves */
    int crop_bar;
    const char *command; /* that was typed, for hints about the target */
    struct mf_vgg *vgg;  /* NULL: descriptors that need a network are left out */
};

/** Measures of whole fields with numbers in the table: surface, euler, clusters, chords. */
unsigned mf_compare_counted(void);

/** Measurements of one microstructure; the same on all ranks, except micro. */
struct mf_compared {
    const char *file;
    int described;           /* it is a descriptor file: its example slices are used */
    struct mf_micro micro;   /* of a descriptor file: only shape and phases */
    struct mf_target target; /* S2, Variation, volume fractions, examples; of volumes also S2_3D and CrossS2_3D */
    struct mf_texture texture[3][MF_PHASES_MAX];
    size_t taken[3];          /* slices used for texture; 0: none of that normal */
    float conductivity[3];    /* along z, y, x, between plates; NAN: not known */
    struct mf_json *measures; /* of the whole field, lengths in pixels: those of mf_compare_counted() and
                                 mf_compare_measures(). described: NULL */
};

/** A result against its target, by the normals of the result's slices. */
struct mf_comparison {
    const struct mf_compared *want, *got;
    int sides, periodic; /* periodic: measurements continue across borders */
    struct mf_texture_off off[3];
    struct mf_copied copied[3]; /* share NAN: not known */
    double score, copy;         /* means over the sides; NAN: slices are too small, or not known */
};

/** The side of the target for the result's @p side; an image has one. */
static inline int mf_compare_want_side(const struct mf_comparison *c, int side)
{
    return c->want->micro.ndim == 3 ? side : 0;
}

/** Reads one; a descriptor file only if it is the @p first. Collective; refuses (agreed) as reading does, and with
 * MF_INPUT. Call mf_compared_free() in any case. */
int mf_compare_read(const struct mf_show *show, const struct mf_compare_opts *options, const char *file, int first,
                    struct mf_compared *one);

/** Measures one that was read, in the same way as @p want (NULL: it is the target itself). Collective; refuses (agreed)
 * as mf_characterize() does. */
int mf_compare_describe(const struct mf_show *show, const struct mf_compare_opts *options,
                        const struct mf_compared *want, struct mf_compared *one);

void mf_compared_free(struct mf_compared *one);

/** --descriptor_types: refuses (MF_USAGE) unknown names, and those that cannot be compared. Local. */
int mf_compare_more_check(const struct mf_compare_opts *options);

/** Descriptors of @p micro to measure besides S2, Variation and volume fractions (MF_WANTS_..). It is what a descriptor
 * file @p want has, else what the options say. It includes descriptors that need a network, whether there is one or
 * not. */
unsigned mf_compare_more(const struct mf_compare_opts *options, const struct mf_backend *backend,
                         const struct mf_compared *want, const struct mf_micro *micro);

/** Are descriptors and measures requested by name, and not by "all", "quick" or those of a file? */
int mf_compare_names(const struct mf_compare_opts *options, const struct mf_compared *want);
/** Are they requested by "all"? */
int mf_compare_is_all(const struct mf_compare_opts *options);

enum { MF_COMPARE_ROWS = 32 };

/** Root mean squares of the target and of the difference, over all labels; NAN: no values. */
struct mf_compare_row {
    char name[64];
    double want, off;
};

/** Number of rows of further descriptors of one side, and of measures of whole fields. The same as text, with a
 * head. */
size_t mf_compare_more_rows(const struct mf_comparison *comparison, int side,
                            struct mf_compare_row rows[MF_COMPARE_ROWS]);
size_t mf_compare_measure_rows(const struct mf_comparison *comparison, struct mf_compare_row rows[MF_COMPARE_ROWS]);
void mf_compare_more_text(FILE *to, const struct mf_comparison *comparison, int side);
void mf_compare_measures_text(FILE *to, const struct mf_comparison *comparison);

/** Rows as {name: {"rms", "error"}}, as lines. */
struct mf_json *mf_compare_rows_json(size_t count, const struct mf_compare_row *rows);
void mf_compare_rows_text(FILE *to, size_t count, const struct mf_compare_row *rows);

/** Measures that are compared besides mf_compare_counted() (bits 1 << row of measure.h). */
unsigned mf_compare_measures(const struct mf_compare_opts *options);

/** Is one of these requested by name? */
int mf_compare_names_measures(const struct mf_compare_opts *options);

/** Are whole fields compared: two images, or two volumes? */
int mf_compare_has_field(const struct mf_comparison *comparison);

/** A name, and relative errors of the labels (or one for all); NAN: no value. */
struct mf_compare_error {
    const char *name;
    double of[MF_PHASES_MAX];
};

/** Errors of the table's lines, in order. They are of numbers of a side, of numbers of whole fields, of rows (whose
 * names @p keep owns). They return the number, at most MF_COMPARE_ROWS. */
size_t mf_compare_side_errors(const struct mf_comparison *comparison, int side, struct mf_compare_error *errors);
size_t mf_compare_field_errors(const struct mf_comparison *comparison, struct mf_compare_error *errors);
size_t mf_compare_rows_errors(size_t count, const struct mf_compare_row *rows, struct mf_figure *keep,
                              struct mf_compare_error *errors);

/** Is a further descriptor in the table? */
int mf_compare_more_has(const struct mf_comparison *comparison, int side, size_t row);

/** Fills rank 0's figure: for each direction both slices, errors as bars, and all curves in common axes. Collective;
 * refuses as mf_figure_slice() does. */
int mf_compare_draw(const struct mf_show *show, struct mf_figure *figure, const struct mf_comparison *comparison);

/** One element of "results" (docs/FILES.md). */
struct mf_json *mf_compare_json(const struct mf_comparison *comparison);

/** The same as text. */
void mf_compare_text(FILE *to, const struct mf_comparison *comparison);

#endif
