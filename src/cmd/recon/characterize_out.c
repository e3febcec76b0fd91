/* See characterize.h: what becomes of results. */
#include "src/cmd/recon/characterize.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/array.h"
#include "io/names.h"
#include "io/phases.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/log_view.h"
#include "src/cmd/recon/exchange.h"
#include "src/desc/mean.h"
#include "src/desc/measure.h"
#include "src/show/describe.h"

const char *mf_characterize_input(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t i)
{
    const char *const *words;

    if (i < o->files.count) return o->files.at[i];
    return i - o->files.count < mf_arguments(session, &words) ? words[i - o->files.count] : NULL;
}

/** Results of the run for the file: {"measures": [...]}; NULL without measures. Caller frees. */
static char *results_text(const struct mf_characterized *result)
{
    struct mf_json *all;
    char *measures, *text;

    if (!result->measures) return NULL;
    measures = mf_json_string(result->measures);
    all = mf_json_object();
    mf_json_put(all, "measures", mf_json_parse(measures));
    text = mf_json_string(all);
    mf_json_free(all);
    free(measures);
    return text;
}

/** The picture beside a file of descriptors; caller frees. */
static char *picture_of(const char *path)
{
    const size_t stem = strlen(path) - (mf_ends_with(path, ".h5") ? 3 : 0);
    char *picture;

    if (asprintf(&picture, "%.*s.png", (int)stem, path) < 0) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory");
    return picture;
}

/** All that is read, the mask last; caller frees. */
static const char **inputs_of(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t *count)
{
    const char **inputs;
    size_t n = 0;

    while (mf_characterize_input(session, o, n)) ++n;
    inputs = MF_MUST(malloc((n + 1) * sizeof *inputs), "a list");
    for (size_t i = 0; i < n; ++i) inputs[i] = mf_characterize_input(session, o, i);
    inputs[n] = o->values.mask;
    *count = n + 1;
    return inputs;
}

/** Neither a file nor its picture is one of those that are read. */
static int spare_inputs(const struct mf_session *session, const struct mf_characterize_cmd *o, const char *path)
{
    size_t n;
    const char **inputs = inputs_of(session, o, &n);
    char *picture = picture_of(path);
    int rc = mf_session_spares(session, path, n, inputs);

    if (rc == MF_OK) rc = mf_session_spares(session, picture, n, inputs);
    if (rc == MF_OK) rc = mf_session_spares(session, path, 1, &o->values.gram_weights);
    free(picture);
    free(inputs);
    return rc;
}

int mf_characterized_path(const struct mf_session *session, const char *file, char **path)
{
    char *base = MF_MUST(mf_stem(file), "a name");
    int rc = mf_session_path(session, base, "_characterization.h5", path);

    free(base);
    return rc;
}

/** Collective. A failure of a picture beside a file of descriptors does not cost the file. A line says that the file is
 * there. */
static int draw(const struct mf_session *session, const struct mf_characterized *result, const char *file,
                const char *path, const char *picture)
{
    char why[MF_ERR_TEXT];
    int rc = MF_OK;

    if (session->comm->rank == 0) rc = mf_describe_plot(picture, &result->target, file, result->ndim);
    if (rc != MF_OK) {
        snprintf(why, sizeof why, "%s", mf_err_text());
        rc = mf_fail(rc, "%.700s; the descriptors, '%.200s', are complete", why, path);
    }
    return mf_agree(session->comm, rc);
}

static int write_files(const struct mf_session *session, const struct mf_characterize_cmd *o,
                       const struct mf_characterized *result, const char *file)
{
    char *path = NULL, *picture = NULL, *options = mf_options_yaml(mf_options_of(session));
    char *results = results_text(result);
    struct mf_provenance from = {.command = "characterize",
                                 .options = options,
                                 .json = results,
                                 .input_hash = result->target.hash,
                                 .seed = session->settings.seed};
    MF_PHASE(&mf_phase_write);
    int rc = mf_characterized_path(session, file, &path);

    if (rc == MF_OK) rc = spare_inputs(session, o, path);
    if (rc == MF_OK) rc = mf_target_save(session->comm, path, &result->target, &from);
    if (rc == MF_OK) {
        picture = picture_of(path);
        rc = draw(session, result, file, path, picture);
    }
    if (rc == MF_OK) mf_info("wrote %s and %s", path, picture);
    if (rc == MF_OK) rc = mf_export(session, &o->exports, o->values.compat, &result->target);
    free(picture);
    free(path);
    free(options);
    free(results);
    return rc;
}

/** Text on standard output, or an element of @p array that is printed later. */
static void show(const struct mf_session *session, struct mf_characterized *result, const char *file,
                 struct mf_json *array)
{
    if (session->comm->rank != 0) return;
    if (mf_common_of(session)->json) {
        mf_json_put(array, NULL, mf_characterized_json(result, file));
        return;
    }
    mf_describe_text(stdout, &result->target, file, result->ndim, result->dims);
    if (result->measures) mf_measures_text(stdout, result->measures);
}

int mf_characterized_print(const struct mf_session *session, const struct mf_json *array, int many)
{
    size_t n = mf_json_count(array);
    struct mf_json *last = n ? mf_json_item(array, n - 1) : NULL;
    int rc = MF_OK;

    MF_TRY(mf_log_view_json(session, last));
    if (session->comm->rank == 0) rc = mf_json_write(many ? array : last, stdout);
    return mf_agree(session->comm, rc);
}

int mf_characterized_save(const struct mf_session *session, const struct mf_characterize_cmd *o,
                          struct mf_characterized *result, const char *file, struct mf_json *array)
{
    MF_TRY(write_files(session, o, result, file));
    show(session, result, file, array);
    return MF_OK;
}

int mf_characterized_average(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t files,
                             const struct mf_characterized *results, struct mf_json *array)
{
    struct mf_characterized mean = results[0];
    const struct mf_target **targets = MF_MUST(malloc(files * sizeof(*targets)), "a list");
    int rc;

    for (size_t i = 0; i < files; ++i) targets[i] = &results[i].target;
    rc = mf_agree(session->comm, mf_target_mean(targets, files, NULL, &mean.target));
    free(targets);
    MF_TRY(rc);
    rc = mf_characterized_save(session, o, &mean, mf_characterize_input(session, o, 0), array);
    mf_target_free(&mean.target);
    return rc;
}

static struct mf_json *plan_json(const struct mf_characterized *of, const char *file)
{
    static const char *const names[] = {"field", "packed", "indicator", "arena", "device"};
    struct mf_json *plan = mf_json_object(), *shape = mf_json_array(), *sizes = mf_json_object();
    const size_t *bytes = of->plan.bytes;

    mf_json_bool(plan, "dry_run", 1);
    mf_json_text(plan, "file", file);
    for (int a = 3 - of->ndim; a < 3; ++a) mf_json_int(shape, NULL, (long long)of->dims[a]);
    MF_JSON(plan, "shape", shape, "lag", of->plan.lag, "levels", of->plan.levels);
    for (int i = 0; i < (bytes[4] ? 5 : 4); ++i) mf_json_int(sizes, names[i], (long long)bytes[i]);
    mf_json_put(plan, "bytes", sizes);
    return plan;
}

int mf_characterized_plans(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t files,
                           const struct mf_characterized *results)
{
    struct mf_json *all = mf_json_array();
    int rc = MF_OK;

    for (size_t i = 0; i < files; ++i)
        if (results[i].plan.levels)
            mf_json_put(all, NULL, plan_json(&results[i], mf_characterize_input(session, o, i)));
    if (session->comm->rank == 0) rc = mf_json_write(files > 1 ? all : mf_json_item(all, 0), stdout);
    mf_json_free(all);
    return rc;
}

/** The last of many that become one is not found missing when the others have been measured. */
static int all_there(size_t count, const char *const *inputs)
{
    for (size_t i = 0; i < count; ++i)
        if (inputs[i]) MF_TRY(mf_array_there(inputs[i]));
    return MF_OK;
}

/** The file of descriptors that is named after @p file, and its picture, before anything is measured. */
static int check_made(const struct mf_session *session, const char *file)
{
    char *path = NULL, *picture = NULL;
    int rc = mf_characterized_path(session, file, &path);

    if (rc == MF_OK) rc = mf_session_may_write(session, path, ".h5");
    if (rc == MF_OK) picture = picture_of(path);
    if (rc == MF_OK) rc = mf_session_may_write(session, picture, ".png");
    if (rc == MF_OK) rc = mf_session_may_accompany(session, path, picture);
    free(picture);
    free(path);
    return rc;
}

int mf_characterize_may_write(const struct mf_session *session, const struct mf_characterize_cmd *o, size_t files)
{
    size_t n;
    const char **inputs = inputs_of(session, o, &n);
    const size_t first = o->average || files == 1 ? 0 : files; /* else only the mask */
    int rc = mf_agree(session->comm, all_there(n - first, inputs + first));

    if (rc == MF_OK) rc = mf_session_may_write(session, mf_common_of(session)->output, ".h5");
    if (rc == MF_OK && mf_common_of(session)->output) rc = spare_inputs(session, o, mf_common_of(session)->output);
    if (rc == MF_OK) rc = mf_exports_may(session, &o->exports, n, inputs);
    free(inputs);
    MF_TRY(rc);
    for (size_t i = 1; !o->average && i < files; ++i)
        for (size_t j = 0; j < i; ++j) {
            char *a = MF_MUST(mf_stem(mf_characterize_input(session, o, j)), "a name");
            char *b = MF_MUST(mf_stem(mf_characterize_input(session, o, i)), "a name");
            int same = strcmp(a, b) == 0;

            free(a);
            free(b);
            if (same)
                return mf_fail(MF_USAGE,
                               "the results of '%s' and '%s' would have the same name; characterise one by one",
                               mf_characterize_input(session, o, j), mf_characterize_input(session, o, i));
        }
    for (size_t i = 0; !session->settings.dry_run && i < (o->average ? 1 : files); ++i)
        MF_TRY(check_made(session, mf_characterize_input(session, o, i)));
    return MF_OK;
}
