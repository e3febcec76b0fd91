/* data info, data split, data verify: what is in a dataset, how it is divided, and is it sound? */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/seal.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/text.h"
#include "src/cmd/files/data.h"
#include "src/cmd/files/questions_tell.h"

int mf_data_one(const struct mf_session *session, const char *verb)
{
    const char *const *words;

    if (mf_arguments(session, &words) == 1) return MF_OK;
    return mf_fail(MF_USAGE, "no file; try: mesoforge %s FILE", verb);
}

int mf_data_part(double train, double validation)
{
    if (train >= 0 && validation >= 0 && train + validation <= 1 + 1e-9) return MF_OK;
    return mf_fail(MF_USAGE, "--train %g and --validation %g are no shares of 1", train, validation);
}

static const char *file_of(const struct mf_session *session)
{
    const char *const *words;

    (void)mf_arguments(session, &words);
    return words[0];
}

/* ---- info ---- */

struct data_info {
    struct mf_common common;
};

static const struct mf_opt *const info_tables[] = {mf_common_opts, NULL};

static int check_info(const struct mf_session *session, void *options)
{
    (void)options;
    return mf_data_one(session, "data info");
}

static int run_info(struct mf_session *session, void *options)
{
    (void)options;
    return mf_data_report(session, file_of(session), NULL);
}

const struct mf_cmd mf_cmd_data_info = {
    .name = "data info",
    .summary = "describe a dataset",
    .synopsis = "SET.h5 [--json]",
    .text = "Says how many samples of which extents a dataset has, its classes, properties and splits, the mean and "
            "deviation of images, and a hash of its contents: the same samples have the same hash. If it has "
            "questions, says how many each type has in train, validation and test, its head, and its answers.\n"
            "\n"
            "  mesoforge data info micro.h5\n",
    .tables = info_tables,
    .size = sizeof(struct data_info),
    .positional_max = 1,
    .check = check_info,
    .run = run_info,
    .in_library = 1,
};

/* ---- split ---- */

struct data_split {
    struct mf_common common;
    double train, validation;
};

static const struct mf_opt split_rows[] = {MF_DATA_PART_ROWS(data_split), MF_OPT_END};
static const struct mf_opt *const split_tables[] = {split_rows, mf_common_opts, NULL};

static int check_split(const struct mf_session *session, void *options)
{
    const struct data_split *o = options;

    MF_TRY(mf_data_one(session, "data split"));
    return mf_data_part(o->train, o->validation);
}

/* Samples of a set that is open, one by one. */
struct copying {
    const struct mf_dataset *set;
    struct mf_reader *reader;
};

static int copy_sample(void *context, size_t id, struct mf_sample *sample)
{
    const struct copying *c = context;
    const struct mf_dataset *set = c->set;
    struct mf_batch batch;
    int rc;

    mf_reader_want(c->reader, 1, &id);
    rc = mf_reader_take(c->reader, &batch);
    if (rc == MF_OK) memcpy(sample->x, batch.x, set->bytes);
    mf_reader_give(c->reader, &batch);
    if (set->label) sample->label = set->label[id];
    if (set->real) memcpy(sample->real, set->real + id * set->reals, set->reals * sizeof *set->real);
    if (set->seed) sample->seed = set->seed[id];
    return rc;
}

/* The same set with other splits. Collective. */
static int write_again(struct mf_session *session, const struct data_split *o, const struct mf_dataset *set,
                       const char *path)
{
    const struct mf_reader_wish reading = {.ahead = 1, .batch = 1, .raw = 1};
    const char **classes = MF_MUST(calloc(set->classes + 1, sizeof *classes), "names");
    const char **reals = MF_MUST(calloc(set->reals + 1, sizeof *reals), "names");
    char *options = mf_options_yaml(mf_options_of(session));
    const struct mf_provenance from = {
        .command = "data split", .options = options, .input_hash = "", .seed = o->common.seed};
    struct mf_dataset_wish wish = {.samples = set->samples,
                                   .ndim = set->ndim,
                                   .is_float = set->is_float,
                                   .phases = set->phases,
                                   .classes = set->label ? set->classes : 0,
                                   .class_name = classes,
                                   .reals = set->reals,
                                   .real_name = reals,
                                   .seeded = set->seed != NULL,
                                   .compress = set->compressed ? 6 : 0,
                                   .part = {o->train, o->validation},
                                   .split_seed = (uint64_t)o->common.seed,
                                   .filled = 1};
    struct copying copying = {.set = set};
    int rc;

    memcpy(wish.dims, set->dims, sizeof wish.dims);
    for (size_t c = 0; c < set->classes; ++c) classes[c] = set->class_name[c];
    for (size_t r = 0; r < set->reals; ++r) reals[r] = set->real_name[r];
    rc = mf_agree(session->comm, mf_reader_open(set, session->arena, &reading, &copying.reader));
    if (rc == MF_OK) rc = mf_dataset_write(session->comm, path, &wish, &from, copy_sample, &copying);
    mf_reader_close(copying.reader);
    free(classes);
    free(reals);
    free(options);
    return rc;
}

static int run_split(struct mf_session *session, void *options)
{
    const struct data_split *o = options;
    const char *in = file_of(session), *out = o->common.output ? o->common.output : in;
    struct mf_dataset *set = NULL;
    int rc;

    MF_TRY(mf_session_may_write(session, o->common.output, ".h5"));
    MF_TRY(mf_dataset_open(session->comm, in, &set));
    if (set->overlaps)
        rc = mf_fail(MF_INPUT,
                     "the samples of '%s' overlap, and other splits would share pixels; try: data import --tile with "
                     "--train and --validation",
                     in);
    else if (set->asks)
        rc = mf_fail(MF_INPUT,
                     "'%s' has questions, which belong to its splits; make it again with another --seed: mesoforge "
                     "synth --questions",
                     in);
    else if (!o->common.dry_run)
        rc = write_again(session, o, set, out);
    else
        rc = mf_agree(session->comm, session->comm->rank == 0 ? mf_data_counted(session, out, set->samples) : MF_OK);
    mf_dataset_close(set);
    return rc == MF_OK && !o->common.dry_run ? mf_data_report(session, out, NULL) : rc;
}

const struct mf_cmd mf_cmd_data_split = {
    .name = "data split",
    .summary = "divide a dataset into train, validation and test",
    .synopsis = "SET.h5 [--train 0.8] [--validation 0.1] [--seed N] [--output OTHER.h5]",
    .text = "Divides the samples at random by --seed, every class alike; the rest is the test split. The file is "
            "written again under its name, or under --output, with new checksums: an old one stays until the new one "
            "is complete. A split that would be empty is refused, unless its share is 0.\n"
            "\n"
            "  mesoforge data split micro.h5 --train 0.7 --validation 0.15 --seed 3\n",
    .tables = split_tables,
    .size = sizeof(struct data_split),
    .positional_max = 1,
    .check = check_split,
    .run = run_split,
    .writes = 1,
    .in_library = 1,
};

/* ---- verify ---- */

static int check_verify(const struct mf_session *session, void *options)
{
    (void)options;
    return mf_data_one(session, "data verify");
}

/* Every sample is read and converted, which checks its checksum and values. Ranks share the work. */
static int read_all(struct mf_session *session, const struct mf_dataset *set)
{
    const struct mf_reader_wish wish = {.ahead = 2, .batch = 16, .input = 1, .threads = session->threads > 1};
    const struct mf_span own = mf_cut(set->samples, (size_t)session->comm->size, (size_t)session->comm->rank);
    struct mf_reader *reader = NULL;
    int rc = mf_reader_open(set, session->arena, &wish, &reader);

    for (size_t at = 0; rc == MF_OK && at < own.count; at += wish.batch) {
        const size_t n = own.count - at < wish.batch ? own.count - at : wish.batch;
        struct mf_batch batch;
        size_t id[16];

        for (size_t k = 0; k < n; ++k) id[k] = own.first + at + k;
        mf_reader_want(reader, n, id);
        rc = mf_reader_take(reader, &batch);
        mf_reader_give(reader, &batch);
        mf_comm_alive();
    }
    mf_reader_close(reader);
    return rc;
}

/* A file of another program has no seal, which is no fault. */
static int check_seal(const struct mf_session *session, const struct mf_dataset *set, const char **said)
{
    enum mf_seal_state state;
    char text[MF_ERR_TEXT];

    MF_TRY(mf_seal_look(session->comm, set->path, &state, text));
    *said = state == MF_SEAL_WHOLE ? "sound" : "sound, without checksums of the file";
    return state == MF_SEAL_BROKEN || (state == MF_SEAL_NONE && set->ours) ? mf_fail(MF_INPUT, "%s", text) : MF_OK;
}

/* Rank 0. @p questions NULL: there are none. */
static int tell_sound(const struct mf_session *session, const struct mf_dataset *set,
                      const struct mf_questions *questions, const char *said)
{
    struct mf_json *json;
    int rc;

    if (!mf_common_of(session)->json) {
        printf("%s: %s (dataset of %zu sample%s)\n", set->path, said, set->samples, MF_S(set->samples));
        if (questions) mf_questions_tell(set, questions, NULL);
        return MF_OK;
    }
    json = mf_json_object();
    mf_json_text(json, "file", set->path);
    mf_json_bool(json, "sound", 1);
    MF_JSON(json, "samples", set->samples, "hash", set->hash);
    if (questions) mf_questions_tell(set, questions, json);
    rc = mf_json_write(json, stdout);
    mf_json_free(json);
    return rc;
}

static int run_verify(struct mf_session *session, void *options)
{
    struct mf_questions *questions = NULL;
    struct mf_dataset *set = NULL;
    const char *said = "";
    int rc;

    (void)options;
    MF_TRY(mf_dataset_open(session->comm, file_of(session), &set));
    rc = set->asks ? mf_questions_open(session->comm, set, &questions) : MF_OK;
    if (rc == MF_OK) rc = mf_agree(session->comm, read_all(session, set));
    if (rc == MF_OK) rc = check_seal(session, set, &said);
    if (rc == MF_OK && session->comm->rank == 0) rc = tell_sound(session, set, questions, said);
    mf_questions_close(questions);
    mf_dataset_close(set);
    return mf_agree(session->comm, rc);
}

const struct mf_cmd mf_cmd_data_verify = {
    .name = "data verify",
    .summary = "check every sample of a dataset",
    .synopsis = "SET.h5 [--json]",
    .text = "Checks that labels are classes, that properties are finite, and that all arrays have one row for each "
            "sample. Reads every sample, compares it with its checksum, and its values with the phases. Compares the "
            "file with its seal. The first wrong sample is named, with exit status 3. Ranks share the reading. Checks "
            "questions, too: each has a text and one answer, of the head of its type. Says how many questions have "
            "which answer.\n"
            "\n"
            "  mesoforge data verify micro.h5\n",
    .tables = info_tables,
    .size = sizeof(struct data_info),
    .positional_max = 1,
    .check = check_verify,
    .run = run_verify,
    .in_library = 1,
};
