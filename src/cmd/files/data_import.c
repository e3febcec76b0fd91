/* data import: arrays, IDX files and pictures become a dataset. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/names.h"
#include "io/notes.h"
#include "io/source.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/base/utf8.h"
#include "src/cmd/files/data.h"
#include "src/cmd/files/data_asked.h"
#include "src/cmd/files/data_import.h"

static const struct mf_opt rows[] = {
    MF_OPT(data_import, "tile", tile, MF_LONGS, NULL,
           "HEIGHT WIDTH [pixels]: cuts images into overlapping samples of that size"),
    MF_OPT(data_import, "stride", stride, MF_LONGS, NULL,
           "of tiles: from one to the next along y and x [pixels] (a quarter of a tile)"),
    MF_OPT(data_import, "threshold", threshold, MF_TEXT, NULL,
           "of tiles: binarise grey input: otsu, or phase 1 above this value"),
    MF_OPT(data_import, "grey-values", grey_values, MF_FLAG, NULL, "of tiles: keep grey values, make no phases"),
    MF_OPT(data_import, "colours", colours, MF_FLAG, NULL,
           "PNG and TIFF become images of three channels: red, green, blue; grey has three equal ones"),
    MF_ALIAS("colors", "colours"),
    MF_OPT(data_import, "crop", crop, MF_LONGS, NULL, "of tiles: Y X HEIGHT WIDTH [pixels]: the part that is read"),
    MF_OPT(data_import, "crop-bar", crop_bar, MF_FLAG, NULL,
           "of tiles: finds the data bar at the bottom or the top of an image, and cuts it off"),
    MF_OPT(data_import, "labels", labels, MF_TEXT, NULL,
           "class of every sample: .npy, an IDX file, or a table; or values that are phases 0, 1, ..., as 0,255"),
    MF_OPT(data_import, "table", table, MF_TEXT, NULL,
           "columns file (pictures), label, split; others are properties [.csv]"),
    MF_ALIAS("properties", "table"),
    MF_OPT(data_import, "questions", questions, MF_TEXT, NULL,
           "questions about the images: columns image, question, answer, question_type [.csv, .json, .jsonl]"),
    MF_OPT(data_import, "scenes", scenes, MF_TEXT, NULL,
           "of questions: objects and findings of the images [.json, .jsonl], or findings [.csv]"),
    MF_OPT(data_import, "question-types", question_types, MF_TEXT, NULL,
           "of questions: which head answers which type, and its answers [.yaml, .json]"),
    MF_OPT(data_import, "vocabulary", vocabulary, MF_TEXT, NULL,
           "of questions: tokens, a line each (words of the train split, and characters) [.txt]"),
    MF_OPT(data_import, "columns", columns, MF_TEXTS, NULL, "the only properties of the table (all)"),
    MF_OPT(data_import, "ignore", ignore, MF_TEXTS, NULL, "columns of the table that are left out"),
    MF_OPT(data_import, "classes", classes, MF_TEXTS, NULL,
           "names of classes 0, 1, ... (the labels themselves); of tiles: the class of each image"),
    MF_OPT(data_import, "unknown", unknown, MF_TEXTS, NULL, "labels of samples whose class is not known"),
    MF_OPT(data_import, "phases", phases, MF_LONG, "0", "values are phases 0, 1, ..., so many; 0: it is an image"),
    MF_OPT(data_import, "compress", compress, MF_LONG, "0", "deflate the samples: level 1 to 9; 0: not"),
    MF_DATA_PART_ROWS(data_import),
    MF_OPT_END};

static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

static int is_table(const char *path)
{
    return path && (mf_ends_with(path, ".csv") || mf_ends_with(path, ".tsv") || mf_ends_with(path, ".txt"));
}

int mf_data_import_values(const char *text, long *label, size_t *count)
{
    *count = 0;
    for (const char *at = text; at; at = *at ? at + 1 : NULL) {
        char *end;

        if (*count == MF_PHASES_MAX) return mf_fail(MF_USAGE, "--labels names more than %d phases", MF_PHASES_MAX);
        label[(*count)++] = strtol(at, &end, 10);
        if (end == at || (*end && *end != ','))
            return mf_fail(MF_USAGE, "--labels: values that are phases 0, 1, ... are written as 0,255, not '%s'", text);
        at = end;
    }
    return MF_OK;
}

/* "0,255" are values that are phases, if no file has this name. */
static int is_values(const char *text)
{
    return text && strchr(text, ',') && text[strspn(text, "0123456789,-")] == '\0' && access(text, F_OK) != 0;
}

static int check_columns(const struct data_import *o)
{
    const int table = o->table || is_table(o->labels);

    if (!table && (o->columns.count || o->ignore.count))
        return mf_fail(MF_USAGE, "--%s names columns, and there is no --table",
                       o->columns.count ? "columns" : "ignore");
    return MF_OK;
}

static int check_classes(const struct data_import *o)
{
    for (size_t k = 0; k < o->classes.count; ++k) {
        if (!*o->classes.at[k]) return mf_fail(MF_USAGE, "--classes: name %zu is empty", k + 1);
        if (mf_utf8_wrong(o->classes.at[k])) return mf_fail(MF_USAGE, "--classes: name %zu is not UTF-8", k + 1);
    }
    return MF_OK;
}

static int check(const struct mf_session *session, void *options)
{
    struct data_import *o = options;

    MF_TRY(mf_data_tiles_check(session, o));
    MF_TRY(mf_data_part(o->train, o->validation));
    MF_TRY(check_classes(o));
    MF_TRY(check_columns(o));
    MF_TRY(mf_data_asked_check(o));
    if (o->table && is_table(o->labels))
        return mf_fail(MF_USAGE, "--labels and --table are both tables; give one of them, with a column label");
    if (o->phases < 0 || o->phases == 1 || o->phases > MF_PHASES_MAX)
        return mf_fail(MF_USAGE, "--phases must be 2 to %d, or 0, not %ld", MF_PHASES_MAX, o->phases);
    if (!o->tile.count && is_values(o->labels)) MF_TRY(mf_data_import_values(o->labels, o->value, &o->values));
    if (o->values && o->phases && (size_t)o->phases < o->values)
        return mf_fail(MF_USAGE, "--labels %s are %zu phases, more than --phases %ld", o->labels, o->values, o->phases);
    if (o->values && o->colours)
        return mf_fail(MF_USAGE, "--labels %s are no colours; leave them or --colours out", o->labels);
    if (o->phases && o->colours) return mf_fail(MF_USAGE, "--phases are no colours; leave it or --colours out");
    if (o->compress < 0 || o->compress > 9) return mf_fail(MF_USAGE, "--compress must be 0 to 9, not %ld", o->compress);
    return MF_OK;
}

static struct mf_source_wish wish_of(const struct data_import *o, const char *path)
{
    const int in_table = is_table(o->labels);

    return (struct mf_source_wish){.path = path,
                                   .labels = in_table || o->values ? NULL : o->labels,
                                   .table = in_table ? o->labels : o->table,
                                   .classes = o->classes.count,
                                   .class_name = o->classes.at,
                                   .phases = o->phases ? (int)o->phases : (int)o->values,
                                   .values = o->values,
                                   .value = o->value,
                                   .colours = o->colours,
                                   .unknowns = o->unknown.count,
                                   .unknown = o->unknown.at,
                                   .columns = o->columns.count,
                                   .column = o->columns.at,
                                   .ignored = o->ignore.count,
                                   .ignore = o->ignore.at};
}

/* All ranks have opened it. Collective. */
static int import(struct mf_session *session, const struct data_import *o, struct mf_source *source,
                  struct mf_data_asked *asked, const char *path)
{
    struct mf_dataset_wish wish = {
        .compress = (int)o->compress, .part = {o->train, o->validation}, .split_seed = (uint64_t)o->common.seed};
    char *options = mf_options_yaml(mf_options_of(session));
    const struct mf_provenance from = {
        .command = "data import", .options = options, .input_hash = "", .seed = o->common.seed};
    int rc;

    mf_source_describe(source, &wish);
    wish.filled = mf_given(session, "train") || mf_given(session, "validation");
    rc = mf_agree(session->comm, mf_data_asked_place(asked, source, &wish));
    mf_notes_begin();
    if (rc == MF_OK) rc = mf_dataset_write(session->comm, path, &wish, &from, mf_data_asked_sample, asked);
    mf_notes_end(session->comm);
    free(options);
    MF_TRY(rc);
    MF_TRY(mf_agree(session->comm, session->comm->rank == 0 ? mf_source_doubt(source) : MF_OK));
    return mf_data_report(session, path, NULL);
}

/* Rank 0. */
static int count(const struct mf_session *session, const struct mf_data_asked *asked, size_t samples, const char *path)
{
    struct mf_json *json;
    int rc;

    if (!asked->import || !mf_common_of(session)->json) MF_TRY(mf_data_counted(session, path, samples));
    if (!asked->import) return MF_OK;
    json = mf_common_of(session)->json ? mf_json_object() : NULL;
    if (json) MF_JSON(json, "file", path, "samples", samples);
    if (json) mf_json_bool(json, "dry_run", 1);
    mf_data_asked_tell(asked, samples, json);
    rc = json ? mf_json_write(json, stdout) : MF_OK;
    mf_json_free(json);
    return rc;
}

static int dry_run(const struct mf_session *session, const struct data_import *o, struct mf_source *source,
                   struct mf_data_asked *asked, const char *path)
{
    struct mf_dataset_wish wish = {.part = {o->train, o->validation}, .split_seed = (uint64_t)o->common.seed};

    mf_source_describe(source, &wish);
    MF_TRY(mf_agree(session->comm, mf_data_asked_place(asked, source, &wish)));
    MF_TRY(mf_agree(session->comm, session->comm->rank == 0 ? mf_source_doubt(source) : MF_OK));
    return mf_agree(session->comm, session->comm->rank == 0 ? count(session, asked, wish.samples, path) : MF_OK);
}

/* Collective. */
static int work(struct mf_session *session, const struct data_import *o, const char *in, const char *path)
{
    struct mf_source_wish wish = wish_of(o, in);
    struct mf_source *source = NULL;
    struct mf_data_asked asked;
    int rc = mf_data_asked_begin(session, o, &wish, &asked);

    if (rc == MF_OK) rc = mf_agree(session->comm, mf_source_open(&wish, &source));
    if (rc == MF_OK) rc = mf_source_same(session->comm, source);
    if (rc == MF_OK)
        rc = o->common.dry_run ? dry_run(session, o, source, &asked, path) : import(session, o, source, &asked, path);
    mf_source_close(source);
    mf_data_asked_end(&asked);
    return rc;
}

static int run(struct mf_session *session, void *options)
{
    const struct data_import *o = options;
    const char *const *words;
    char *stem, *path;
    int rc;

    if (o->tile.count) return mf_data_tiles_run(session, o);
    (void)mf_arguments(session, &words);
    MF_TRY(mf_session_may_write(session, o->common.output, ".h5"));
    stem = MF_MUST(mf_stem(words[0]), "a file name");
    rc = mf_session_path(session, stem, ".h5", &path);
    free(stem);
    MF_TRY(rc);
    rc = mf_session_spares(session, path, 7,
                           (const char *const[]){words[0], o->labels, o->table, o->questions, o->scenes,
                                                 o->question_types, o->vocabulary});
    if (rc == MF_OK) rc = work(session, o, words[0], path);
    free(path);
    return rc;
}

/* Printed as it stands, so lines end before column 80. */
/* clang-format off */
static const char text[] =
    "Makes a dataset (.h5) for training from one of these:\n"
    "\n"
    "  an array .npy [sample][y][x], [sample][z][y][x], and with a last axis of\n"
    "    channels; up to four values along the last of four axes are channels;\n"
    "  an IDX file, plain or .gz, as MNIST has them;\n"
    "  a folder of PNG or TIFF of one size; --table names them in column file, and\n"
    "    without it they are those of the folder itself, in the order of names;\n"
    "  one image: .npy [y][x], PNG or TIFF.\n"
    "\n"
    "Whole numbers must be 0 to 255 and are stored as bytes, others as float32.\n"
    "With --phases they are phases, else images; --labels 0,255 says which values\n"
    "are phases 0 and 1. Pictures are grey unless --colours keeps three channels.\n"
    "\n"
    "Else --labels has the class of every sample: a whole number, or -1: not known.\n"
    "Classes are the numbers that occur, in ascending order; with --classes, numbers\n"
    "are places of names. --unknown names labels that stand for no class, such as\n"
    "255. Commas separate names in options (--classes a,b), unless a label or column\n"
    "has a comma in its name.\n"
    "\n"
    "A --table in UTF-8 has a line of names, then a line for every sample. Column\n"
    "label holds numbers or names of classes; empty and NA are not known. split\n"
    "holds train, validation, test or none. id, and columns without a name, are\n"
    "left out; every other column is a property. --columns A,B takes these\n"
    "properties alone, --ignore C leaves columns out. Commas, semicolons or tabs\n"
    "separate the cells. Without splits --seed divides the samples at random,\n"
    "every class alike.\n"
    "\n"
    "--questions FILE adds questions about the images: a table with columns image,\n"
    "question, answer and question_type, and maybe split and grade. Or JSON with\n"
    "such keys, a list of objects or one in each line. Without a table the pictures\n"
    "of the folder are those that questions name. Types of questions have heads; we\n"
    "know some, --question-types FILE names others, and lists answers. --scenes FILE\n"
    "has boxes of objects and findings of the images. Images of two phases without\n"
    "boxes get their largest components. docs/FILES.md has the forms.\n"
    "\n"
    "It refuses labels and tables without one row for each sample, labels that\n"
    "are no whole numbers, values that are not finite, and files that end too\n"
    "early. --dry-run checks labels, tables and questions, and reads no values of\n"
    "samples.\n"
    "\n"
    "--tile cuts micrographs into overlapping samples instead: a few of them are\n"
    "enough. Give any number of images, or folders of them. Values become phases\n"
    "as characterize makes them (--threshold, --labels 0,255), unless\n"
    "--grey-values or --colours keeps them. Properties are those of synth\n"
    "--num-samples, without length. Every image is cut into a part for each split,\n"
    "and tiles of two splits share no pixel; a line says how many are left out\n"
    "between them. An image without room for this goes to one split as a whole.\n"
    "--classes A,B names the class of each image.\n"
    "\n"
    "Examples:\n"
    "  mesoforge data import steel.png --tile 32 32 --stride 8 --threshold otsu\n"
    "  mesoforge data import x.npy --labels y.npy --phases 2 --output set.h5\n"
    "  mesoforge data import train-images-idx3-ubyte.gz \\\n"
    "      --labels train-labels-idx1-ubyte.gz --output mnist.h5\n"
    "  mesoforge data import pictures/ --table pictures/table.csv --output set.h5\n"
    "  mesoforge data import pictures/ --colours --output set.h5\n"
    "  mesoforge data import pictures/ --questions asked.csv --scenes boxes.jsonl\n";
/* clang-format on */

const struct mf_cmd mf_cmd_data_import = {
    .name = "data import",
    .summary = "make a dataset of arrays, IDX files or pictures",
    .synopsis = "FILE.npy|IDX|FOLDER|IMAGE ... [--labels FILE] [--table FILE.csv] [--tile H W] [--output SET.h5]",
    .text = text,
    .tables = tables,
    .size = sizeof(struct data_import),
    .positional_max = 4096,
    .check = check,
    .run = run,
    .writes = 1,
    .in_library = 1,
};
