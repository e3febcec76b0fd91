/* See data.h. */
#include "src/cmd/files/data.h"

#include <stdio.h>
#include <stdlib.h>

#include "io/dataset_doubt.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/cmd/files/questions_tell.h"

/* How many samples have each class: [splits + 1][classes], the last row of all samples. The caller frees. */
static size_t *count_classes(const struct mf_dataset *set)
{
    size_t *count = MF_MUST(calloc((MF_SPLITS + 1) * (set->classes + 1), sizeof *count), "a count");

    for (size_t i = 0; set->label && i < set->samples; ++i) {
        if (set->label[i] < 0) continue;
        ++count[MF_SPLITS * set->classes + (size_t)set->label[i]];
        if (set->split[i] < MF_SPLITS) ++count[set->split[i] * set->classes + (size_t)set->label[i]];
    }
    return count;
}

static struct mf_json *classes_of(const struct mf_dataset *set, const size_t *count)
{
    struct mf_json *classes = mf_json_object();

    for (size_t c = 0; c < set->classes; ++c) mf_json_int(classes, set->class_name[c], (long long)count[c]);
    return classes;
}

static void put(const struct mf_dataset *set, const size_t *count, struct mf_json *json)
{
    struct mf_json *shape = mf_json_array(), *names = mf_json_array(), *splits = mf_json_object();
    struct mf_json *divided = mf_json_object();

    for (int a = 3 - set->ndim; a < 3; ++a) mf_json_int(shape, NULL, (long long)set->dims[a]);
    for (size_t r = 0; r < set->reals; ++r) mf_json_text(names, NULL, set->real_name[r]);
    for (size_t k = 0; k < MF_SPLITS; ++k) {
        mf_json_int(splits, mf_split_names[k], (long long)set->count[k]);
        mf_json_put(divided, mf_split_names[k], classes_of(set, count + k * set->classes));
    }
    MF_JSON(json, "format", "hdf5", "kind", MF_SCHEMA_DATASET, "samples", set->samples, "shape", shape, "channels",
            set->dims[3], "type", set->is_float ? "float32" : "uint8", "phases", set->phases, "classes",
            classes_of(set, count + MF_SPLITS * set->classes), "classes_of_splits", divided, "properties", names,
            "splits", splits, "hash", set->hash);
    if (set->phases) return;
    mf_json_reals(json, "mean", set->mean, set->dims[3]);
    mf_json_reals(json, "deviation", set->deviation, set->dims[3]);
}

enum { SHOWN = 20 };

static void print_classes(const struct mf_dataset *set, const char *what, const size_t *count)
{
    printf("  %-14s", what);
    for (size_t c = 0; c < set->classes && c < SHOWN; ++c)
        printf("%s%s %zu", c ? ", " : "", set->class_name[c], count[c]);
    printf("%s\n", set->classes > SHOWN ? ", .." : "");
}

static void print_channels(const char *what, size_t channels, const double *value)
{
    printf("%s", what);
    for (size_t c = 0; c < channels && c < SHOWN; ++c) printf(" %.6g", value[c]);
    if (channels > SHOWN) printf(" ..");
}

static void print_values(const struct mf_dataset *set)
{
    print_channels("  values:       mean", set->dims[3], set->mean);
    print_channels(", deviation", set->dims[3], set->deviation);
    printf("%s\n", set->dims[3] > 1 ? " (of each channel)" : "");
}

static void print(const struct mf_dataset *set, const size_t *count)
{
    printf("%s: dataset of %zu sample%s, ", set->path, set->samples, MF_S(set->samples));
    for (int a = 3 - set->ndim; a < 3; ++a) printf("%s%zu", a > 3 - set->ndim ? " x " : "", set->dims[a]);
    if (set->phases)
        printf(" voxels of %d phases\n", set->phases);
    else
        printf(" pixels of %zu channel%s, %s\n", set->dims[3], MF_S(set->dims[3]), set->is_float ? "float32" : "uint8");
    if (set->reals) printf("  properties:   ");
    for (size_t r = 0; r < set->reals && r < SHOWN; ++r) printf("%s%s", r ? ", " : "", set->real_name[r]);
    if (set->reals) printf("%s\n", set->reals > SHOWN ? ", .." : "");
    printf("  splits:       train %zu, validation %zu, test %zu%s\n", set->count[MF_TRAIN], set->count[MF_VALIDATION],
           set->count[MF_TEST], set->split_given ? "" : " (the default: the file has none)");
    if (set->classes) print_classes(set, "classes:", count + MF_SPLITS * set->classes);
    if (set->classes) print_classes(set, "  train:", count + MF_TRAIN * set->classes);
    if (set->classes) print_classes(set, "  validation:", count + MF_VALIDATION * set->classes);
    if (set->classes) print_classes(set, "  test:", count + MF_TEST * set->classes);
    if (!set->phases) print_values(set);
    printf("  hash:         %.16s\n", set->hash);
}

void mf_data_tell(const struct mf_dataset *set, const struct mf_questions *questions, struct mf_json *json)
{
    size_t *count = count_classes(set);

    if (json)
        put(set, count, json);
    else
        print(set, count);
    free(count);
    if (questions) mf_questions_tell(set, questions, json);
}

int mf_data_counted(const struct mf_session *session, const char *path, size_t samples)
{
    struct mf_json *json;
    int rc;

    if (!mf_common_of(session)->json) {
        printf("%s: %zu sample%s%s\n", path, samples, MF_S(samples),
               session->settings.dry_run ? ", nothing is written" : "");
        return MF_OK;
    }
    json = mf_json_object();
    if (session->settings.dry_run) mf_json_bool(json, "dry_run", 1);
    MF_JSON(json, "file", path, "samples", samples);
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

static void add(void *context, const char *key, const struct mf_json *value)
{
    mf_json_put(context, key, mf_json_copy(value));
}

/* Warns of what a training should not learn from. */
static int doubt(const struct mf_dataset *set)
{
    mf_doubt_classes(set);
    mf_doubt_splits(set);
    mf_doubt_channels(set);
    MF_TRY(mf_doubt_scales(set));
    mf_doubt_reals(set, set->reals, NULL);
    return MF_OK;
}

int mf_data_report(const struct mf_session *session, const char *path, const struct mf_json *more)
{
    struct mf_dataset *set = NULL;
    struct mf_questions *questions = NULL;
    struct mf_json *json = NULL;
    int rc;

    MF_TRY(mf_dataset_open(session->comm, path, &set));
    rc = set->asks ? mf_questions_open(session->comm, set, &questions) : MF_OK;
    if (rc != MF_OK) {
        mf_dataset_close(set);
        return rc;
    }
    if (session->comm->rank == 0 && mf_common_of(session)->json) {
        json = mf_json_object();
        mf_json_text(json, "file", path);
    }
    if (session->comm->rank == 0) mf_data_tell(set, questions, json);
    if (!more) rc = doubt(set);
    if (json) {
        MF_JSON(json, "seconds", mf_now() - session->start, "ranks", session->comm->size);
        if (more) mf_json_each(more, add, json);
        if (rc == MF_OK) rc = mf_json_write(json, stdout);
        mf_json_free(json);
    }
    mf_questions_close(questions);
    mf_dataset_close(set);
    return mf_agree(session->comm, rc);
}
