/* The parts of the verb characterize: its options, and the output of results (characterize_out.c). */
#ifndef MF_CMD_RECON_CHARACTERIZE_H
#define MF_CMD_RECON_CHARACTERIZE_H

#include "src/base/json.h"
#include "src/cmd/accepted.h"
#include "src/cmd/cmd.h"
#include "src/recon/characterization.h"

struct mf_characterize_cmd {
    struct mf_common common;
    struct mf_texts files, exports;
    struct mf_characterization values;
    char *command; /* its text */
    int average;
    struct mf_accepted accepted;
};

/** The @p i-th of all inputs, from options and positional arguments; NULL after the last. */
const char *mf_characterize_input(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t i);

/** Measures the first input, by options that were checked, and writes nothing: for a caller that wants the numbers.
 * Collective; refuses (agreed) as the verb does. @p result, of zeros: mf_characterized_free(). */
int mf_characterize_one(struct mf_session *session, struct mf_characterize_cmd *o, struct mf_characterized *result);

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
int mf_characterized_plans(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t files,
                           const struct mf_characterized *results);

#endif
