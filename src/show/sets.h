/* Compares two sets of samples: do made ones have the statistics of real ones? The verb compare shows it. */
#ifndef MF_SHOW_SETS_H
#define MF_SHOW_SETS_H

#include <stdio.h>

#include "io/dataset.h"
#include "src/base/json.h"
#include "src/desc/set_copies.h"
#include "src/desc/set_measures.h"
#include "src/show/figure.h"
#include "src/show/show.h"

enum { MF_SETS_REAL, MF_SETS_MADE, MF_SETS };
enum { MF_SETS_CLOSEST = 3 }; /* made samples that are shown beside their nearest real one */

struct mf_sets_opts {
    long lag; /* --limit_to */
    int lag_given, periodic;
    long copies; /* made samples that are compared with the train split; below 0: as many as take half a minute */
    const char *split[MF_SETS]; /* a split, or all. NULL: validation if the set has it, else all */
};

/** Wanted volume fractions of one phase beside those of the made samples. */
struct mf_sets_wanted {
    int known;    /* the made set has a column of them */
    double r2;    /* 1 - mean square of the error over the variance of what was wanted; NAN: all want the same */
    double error; /* mean of |made - wanted| */
};

/** The nearest sample of the real train split, for samples of its validation split and for made ones. */
struct mf_sets_copies {
    size_t n[MF_SETS];                    /* samples that were compared, evenly spread; 0: none */
    uint32_t *id[MF_SETS];                /* [n] */
    struct mf_set_nearest *near[MF_SETS]; /* [n] */
    size_t nearer;                        /* made samples that are nearer than every real one */
};

/** All facts of a comparison, the same on all ranks. */
struct mf_sets {
    struct mf_dataset *set[MF_SETS];
    const char *split[MF_SETS]; /* name of what was taken */
    size_t n[MF_SETS];
    uint32_t *id[MF_SETS]; /* [n] samples, ascending */
    struct mf_set_shape shape;
    double low[MF_SET_PARTS], high[MF_SET_PARTS]; /* of values: range over both sets */
    struct mf_set_measures *of[MF_SETS];
    struct mf_set_measures *half[2]; /* of the real set */
    size_t rows;
    struct mf_set_row *row;    /* [rows] made samples beside real ones */
    struct mf_set_row *chance; /* [rows] one half of the real set beside the other; NULL: there is one real sample */
    struct mf_sets_wanted wanted[MF_SET_PARTS]; /* by phase */
    struct mf_sets_copies copies;
};

/** Are these files sets of samples? *sets: how many of them. Collective; refuses (agreed) as mf_look() does. */
int mf_sets_count(const struct mf_show *show, size_t count, const char *const *files, size_t *sets);

/**
 * Reads and measures two sets, REAL and MADE. Ranks share the samples, and results have the same bits on any number of
 * ranks. The halves divide the samples of each class at random. Where samples have pixels in common, they are the first
 * half and the second instead. Call mf_sets_free() in any case. Collective; refuses (agreed) with MF_INPUT sets that
 * cannot be compared, and a split without samples; MF_USAGE, MF_MEMORY.
 */
int mf_sets_compare(const struct mf_show *show, const struct mf_sets_opts *options, const char *const files[MF_SETS],
                    struct mf_sets *sets);
void mf_sets_free(struct mf_sets *sets);

/** The @p k made samples that are nearest to the train split, as places in copies.id: place [k]. Returns how many there
 * are. Local. */
size_t mf_sets_closest(const struct mf_sets *sets, size_t k, size_t *place);

/** Fills a sheet: real samples left, made ones right, curves of both, and the closest pairs. Rank 0; refuses as
 * mf_samples_read() does. */
int mf_sets_draw(const struct mf_show *show, const struct mf_sets *sets, struct mf_figure *figure);

/** The phase of a row, or its channel. */
size_t mf_sets_part(const struct mf_sets *sets, const struct mf_set_row *row);

/** As text, and as an object (docs/FILES.md). Rank 0. */
void mf_sets_text(FILE *to, const struct mf_sets *sets);
struct mf_json *mf_sets_json(const struct mf_sets *sets);

#endif
