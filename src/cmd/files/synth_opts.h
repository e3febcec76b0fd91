/* The options of synth, and the parameters that follow from them. */
#ifndef MF_CMD_FILES_SYNTH_OPTS_H
#define MF_CMD_FILES_SYNTH_OPTS_H

#include "src/base/json.h"
#include "src/cmd/cmd.h"
#include "src/synth/synth.h"

struct synth_opts {
    struct mf_common common;
    const char *kind;
    struct mf_longs size;
    long extent[3]; /* z, y, x; 0: not given */
    long phases;
    struct mf_reals fraction;
    int exact;
    struct mf_reals spacing;
    const char *unit, *list;
    double correlation_length;
    struct mf_reals stretch;
    double radius, gap, stick, crack_length;
    const char *orientation;
    int overlap;
    long grains;
    double grain_size, period;
    struct mf_reals normal;
    double waviness, wavelength;
    struct mf_reals cell;
    long samples, questions, compress;
    struct mf_texts kinds;
    struct mf_reals fractions, lengths, conductivity;
};

extern const struct mf_opt mf_synth_opts[];

/**
 * Converts the options to parameters, with @p spacing {z, y, x}. Refuses with MF_USAGE options that the kind does not
 * use, and sizes that contradict each other. Refuses too many or too few numbers, and impossible parameters. Not
 * collective.
 */
int mf_synth_wish(const struct synth_opts *opts, const struct mf_options *options, struct mf_synth *wish,
                  double spacing[3]);

/** An option that was given and describes one microstructure, not a dataset; NULL: there is none. Local. */
const char *mf_synth_of_one(const struct mf_options *options);

/** The extents: wish->ndim, wish->dims. MF_USAGE. Local. */
int mf_synth_size(const struct synth_opts *opts, const struct mf_options *options, struct mf_synth *wish);

/** The kind of a word of --kind (MF_USAGE: there is none), and the word of a kind. Local. */
int mf_synth_kind_of(const char *word, enum mf_synth_kind *kind);
const char *mf_synth_kind_word(enum mf_synth_kind kind);

/** Adds the parameters that the kind uses as members of @p at. */
void mf_synth_wish_json(const struct mf_synth *wish, struct mf_json *at);

#endif
