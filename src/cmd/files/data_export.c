/* data export: a dataset becomes an array, or pictures, with a table beside them that data import reads. */
#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/npy.h"
#include "io/rows.h"
#include "io/table.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/cmd/files/data.h"
#include "src/cmd/files/pictures.h"
#include "src/cmd/files/questions_write.h"
#include "src/cmd/files/tree.h"

struct data_export {
    struct mf_common common;
    const char *split;
    struct mf_reals range;
    struct mf_texts tree;
    unsigned parts; /* of the tree */
};

static const struct mf_opt rows[] = {
    MF_CHOICE_TEXT(data_export, "split", split, "all", "all|train|validation|test", "which samples"),
    MF_OPT(data_export, "range", range, MF_REALS, NULL,
           "of pictures: LOW HIGH: values that become black and white (bytes and phases: as they are; reals: the "
           "least and the largest)"),
    MF_OPT(data_export, "tree", tree, MF_TEXTS, NULL,
           "png,npz,json: instead FOLDER/images/NAME, activations/NAME and metadata/NAME, as generate --export"),
    MF_OPT_END};
static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

/* Part to export. */
struct out {
    struct mf_session *session;
    const struct mf_dataset *set;
    struct mf_reader *reader;
    size_t count;
    size_t *id; /* [count] */
    struct mf_span own;
    const char *path; /* of the array, or the folder */
    int pictures;
    struct mf_levels levels;
    uint8_t *room; /* a picture */
    size_t header; /* bytes of the array's */
    char text[MF_NPY_HEADER];
};

static int check(const struct mf_session *session, void *options)
{
    struct data_export *o = options;

    MF_TRY(mf_data_one(session, "data export"));
    if (!o->common.output) return mf_fail(MF_USAGE, "no output; try: --output x.npy, or --output FOLDER/ for pictures");
    if (o->range.count && (o->range.count != 2 || !(o->range.at[0] < o->range.at[1]) || !isfinite(o->range.at[0]) ||
                           !isfinite(o->range.at[1])))
        return mf_fail(MF_USAGE, "--range takes two values, LOW HIGH, and the first is the smaller one");
    MF_TRY(mf_tree_parts("tree", &o->tree, &o->parts));
    if (o->parts && mf_ends_with(o->common.output, ".npy"))
        return mf_fail(MF_USAGE, "--tree fills a folder; try: --output FOLDER/");
    if (o->range.count && mf_ends_with(o->common.output, ".npy"))
        return mf_fail(MF_USAGE, "--range is for pictures, and an array keeps values as they are; leave it out");
    return MF_OK;
}

static int take(struct out *o, size_t k, struct mf_batch *batch)
{
    mf_reader_want(o->reader, 1, &o->id[k]);
    return mf_reader_take(o->reader, batch);
}

/* ---- an array ---- */

static void head(struct out *o)
{
    const struct mf_dataset *s = o->set;
    size_t shape[5] = {o->count};
    int n = 1;

    for (int a = 3 - s->ndim; a < 3; ++a) shape[n++] = s->dims[a];
    if (s->dims[3] > 1) shape[n++] = s->dims[3];
    o->header = mf_npy_header(s->is_float ? "<f4" : "|u1", n, shape, MF_AXES_UNSAID, o->text);
}

static int put_array(struct mf_rows *to, const void *context)
{
    struct out *o = (struct out *)(uintptr_t)context;

    if (o->own.first == 0) MF_TRY(mf_rows_put(to, o->text, o->header, 0));
    for (size_t k = o->own.first; k < o->own.first + o->own.count; ++k) {
        struct mf_batch batch;
        int rc = take(o, k, &batch);

        if (rc == MF_OK) rc = mf_rows_put(to, batch.x, o->set->bytes, o->header + k * o->set->bytes);
        mf_reader_give(o->reader, &batch);
        MF_TRY(rc);
    }
    return MF_OK;
}

static int write_array(struct out *o)
{
    const struct mf_comm *comm = o->session->comm;
    struct mf_atomic file;

    head(o);
    MF_TRY(mf_atomic_open(comm, o->path, o->header + o->count * o->set->bytes, &file));
    return mf_atomic_close(comm, &file, mf_rows_write(comm, &file, 0, NULL, put_array, o));
}

/* ---- pictures ---- */

/* Local. */
static int write_pictures(struct out *o)
{
    int rc = MF_OK;

    for (size_t k = o->own.first; rc == MF_OK && k < o->own.first + o->own.count; ++k) {
        char *path = mf_format("%s/%08zu.png", o->path, o->id[k]);
        struct mf_batch batch;

        rc = take(o, k, &batch);
        if (rc == MF_OK) rc = mf_pictures_write(o->set, &o->levels, batch.x, o->room, path);
        mf_reader_give(o->reader, &batch);
        free(path);
    }
    return rc;
}

/* ---- the table ---- */

static void put(FILE *to, const char *text)
{
    fputc(',', to);
    mf_table_put(to, text);
}

static int print_table(const struct out *o, const char *temporary, const char *path)
{
    const struct mf_dataset *s = o->set;
    FILE *to = fopen(temporary, "w");
    int bad;

    if (!to) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    fprintf(to, "id%s%s,split", o->pictures ? ",file" : "", s->label ? ",label" : "");
    for (size_t r = 0; r < s->reals; ++r) put(to, s->real_name[r]);
    for (size_t k = 0; k < o->count; ++k) {
        const size_t id = o->id[k];

        fprintf(to, "\n%zu", id);
        if (o->pictures) fprintf(to, ",%08zu.png", id);
        if (s->label) put(to, s->label[id] < 0 ? "" : s->class_name[s->label[id]]);
        fprintf(to, ",%s", s->split[id] < MF_SPLITS ? mf_split_names[s->split[id]] : "none");
        for (size_t r = 0; r < s->reals; ++r) fprintf(to, ",%.9g", (double)s->real[id * s->reals + r]);
    }
    fprintf(to, "\n");
    bad = ferror(to);
    if (fclose(to) != 0 || bad) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    return MF_OK;
}

static int write_table(const struct out *o)
{
    const struct mf_comm *comm = o->session->comm;
    char *path =
        o->pictures ? mf_format("%s/table.csv", o->path) : mf_format("%.*s.csv", (int)strlen(o->path) - 4, o->path);
    struct mf_atomic file;
    int rc = mf_atomic_open(comm, path, 0, &file);

    if (rc == MF_OK) rc = mf_atomic_close(comm, &file, comm->rank == 0 ? print_table(o, file.temporary, path) : MF_OK);
    free(path);
    return rc;
}

/* Collective. */
static int write_questions(const struct out *o)
{
    const struct mf_comm *comm = o->session->comm;
    struct mf_questions *questions;
    struct mf_questions_out out = {
        .set = o->set, .path = o->path, .pictures = o->pictures, .count = o->count, .id = o->id};
    int rc;

    if (!o->set->asks) return MF_OK;
    MF_TRY(mf_questions_open(comm, o->set, &questions));
    out.questions = questions;
    rc = mf_questions_write(comm, &out);
    mf_questions_close(questions);
    return rc;
}

/* ---- all of it ---- */

/* Local. */
static int choose(struct out *o, const char *split)
{
    const int all = strcmp(split, "all") == 0;

    MF_TRY(MF_ROOM(o->id, o->set->samples, "the samples of '%.300s'", o->set->path));
    for (size_t i = 0; i < o->set->samples; ++i)
        if (all || (o->set->split[i] < MF_SPLITS && strcmp(mf_split_names[o->set->split[i]], split) == 0))
            o->id[o->count++] = i;
    o->own = mf_cut(o->count, (size_t)o->session->comm->size, (size_t)o->session->comm->rank);
    return o->count ? MF_OK : mf_fail(MF_INPUT, "'%s' has no sample in its %s split", o->set->path, split);
}

/* Collective. */
static int export(struct out *o, const struct mf_reals *range)
{
    const struct mf_comm *comm = o->session->comm;
    const struct mf_reader_wish reading = {.ahead = 1, .batch = 1, .raw = 1};
    struct mf_pictures of = {.comm = comm, .set = o->set, .count = o->own.count, .id = o->id + o->own.first};

    MF_TRY(mf_agree(comm, mf_reader_open(o->set, o->session->arena, &reading, &o->reader)));
    of.reader = o->reader;
    if (!o->pictures) {
        MF_TRY(write_array(o));
        MF_TRY(write_table(o));
        return write_questions(o);
    }
    MF_TRY(mf_agree(comm, mf_pictures_fit(o->set->path, o->set->ndim, o->set->dims[3], "try: --output x.npy")));
    MF_TRY(mf_pictures_levels(&of, range, &o->levels));
    MF_TRY(mf_agree(comm, MF_ROOM(o->room, o->set->bytes, "a picture")));
    MF_TRY(mf_agree(comm, comm->rank == 0 ? mf_output_folder(o->path, "another --output") : MF_OK));
    MF_TRY(mf_agree(comm, write_pictures(o)));
    MF_TRY(write_table(o));
    return write_questions(o);
}

static int export_tree(const struct out *o, const struct data_export *e)
{
    const struct mf_tree tree = {o->set, o->path, e->parts, o->count, o->id, &e->range};

    if (o->set->asks && o->session->comm->rank == 0)
        mf_warn("'%s' has questions, which --tree does not write", o->set->path);
    return mf_tree_write(o->session, &tree);
}

static int run(struct mf_session *session, void *options)
{
    const struct data_export *e = options;
    const char *const *words;
    struct mf_dataset *set = NULL;
    struct out o = {.session = session, .path = e->common.output, .pictures = !mf_ends_with(e->common.output, ".npy")};
    int rc;

    (void)mf_arguments(session, &words);
    MF_TRY(mf_session_spares(session, o.path, 1, words));
    MF_TRY(mf_dataset_open(session->comm, words[0], &set));
    o.set = set;
    rc = mf_agree(session->comm, choose(&o, e->split));
    if (rc == MF_OK && !e->common.dry_run) rc = e->parts ? export_tree(&o, e) : export(&o, &e->range);
    if (rc == MF_OK && session->comm->rank == 0) rc = mf_data_counted(session, o.path, o.count);
    rc = mf_agree(session->comm, rc);
    mf_reader_close(o.reader);
    mf_dataset_close(set);
    free(o.room);
    free(o.id);
    return rc;
}

const struct mf_cmd mf_cmd_data_export = {
    .name = "data export",
    .summary = "write a dataset as an array, or as pictures",
    .synopsis = "SET.h5 --output x.npy|FOLDER [--split train]",
    .text =
        "Writes the samples as one array (.npy), or as PNG in a folder, and beside them a table (.csv) of classes, "
        "splits and properties. data import reads both again, with --classes in the same order (colours: with "
        "--colours). Pictures have 8 bits and 1 or 3 channels. Phases are stored as they are, so they look dark; "
        "with --range 0 1 two phases are black and white. Images of real values get one scale for all.\n"
        "\n"
        "Questions about the samples become questions.csv, scenes.jsonl (objects and findings), question_types.json "
        "and vocab.txt, of an array x.questions.csv and so on. data import reads them again.\n"
        "\n"
        "--tree png,npz,json makes the files of DMD2's programs instead: FOLDER/images/NAME/sample_000000.png, "
        "activations/NAME/sample_000000.npz (a row of numbers for each layer) and "
        "metadata/NAME/dataset_info.json, the list of all. NAME is that of the set. Phases are spread from black "
        "to white.\n"
        "\n"
        "  mesoforge data export micro.h5 --output x.npy\n"
        "  mesoforge data import x.npy --table x.csv --phases 2 --output again.h5\n"
        "  mesoforge data export micro.h5 --split test --output pictures/\n"
        "  mesoforge data export made.h5 --range 0 1 --output pictures/\n"
        "  mesoforge data import x.npy --table x.csv --questions x.questions.csv \\\n"
        "      --scenes x.scenes.jsonl --question-types x.question_types.json \\\n"
        "      --vocabulary x.vocab.txt --phases 2 --output again.h5\n",
    .tables = tables,
    .size = sizeof(struct data_export),
    .positional_max = 1,
    .check = check,
    .run = run,
    .writes = 1,
    .in_library = 1,
};
