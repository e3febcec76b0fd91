/* See tree.h. */
#include "src/cmd/files/tree.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/array.h"
#include "io/atomic.h"
#include "io/look.h"
#include "io/names.h"
#include "io/npz.h"
#include "src/base/err.h"
#include "src/base/json.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/base/words.h"
#include "src/cmd/files/pictures.h"

#define ACTIVATIONS "/activations/"

enum { KINDS = 3, LAYERS = 64, CHANNELS = 1, HEIGHT = 2, WIDTH = 3 };

static const char *const kinds[KINDS] = {"png", "npz", "json"};

int mf_tree_parts(const char *option, const struct mf_texts *words, unsigned *parts)
{
    size_t n;
    const char **name = mf_words_names(words->count, words->at, NULL, NULL, &n);
    int rc = MF_OK;

    *parts = 0;
    for (size_t k = 0; rc == MF_OK && k < n; ++k) {
        int i = 0;

        while (i < KINDS && strcmp(name[k], kinds[i]) != 0) ++i;
        if (i == KINDS)
            rc = mf_fail(MF_USAGE, "--%s %.60s: it must be some of png, npz, json", option, name[k]);
        else
            *parts |= 1u << i;
    }
    free(name);
    return rc;
}

/* -- what is written -- */

/* A tree that is being written. */
struct writing {
    struct mf_session *session;
    const struct mf_tree *tree;
    char *name; /* of the set */
    struct mf_reader *reader;
    struct mf_span own; /* places of id that are this rank's */
    struct mf_levels levels;
    uint8_t *room; /* a picture */
    struct mf_look look;
    size_t layers;
    struct mf_array layer[LAYERS]; /* rows [channels][y][x] */
    float *row;                    /* of the largest */
};

static const char *layer_name(const struct writing *w, size_t k) { return w->layer[k].dataset + strlen(ACTIVATIONS); }

/* "FOLDER/PART/NAME/sample_000012.png" */
static char *path_of(const struct writing *w, const char *folder, const char *part, size_t id, const char *ending)
{
    return mf_format("%s%s%s/%s/sample_%06zu%s", folder, *folder ? "/" : "", part, w->name, id, ending);
}

static int open_layer(struct writing *w, const char *name)
{
    struct mf_array *a = &w->layer[w->layers];

    if (w->layers == LAYERS)
        return mf_fail(MF_INPUT, "'%s' has activations of more than %d layers", w->tree->set->path, LAYERS);
    MF_TRY(mf_array_open(w->tree->set->path, name, a));
    if (a->ndim != 4 || a->kind != 'f' || a->size != sizeof(float) || a->shape[0] != w->tree->set->samples)
        return mf_fail(MF_INPUT, "'%s': %s must be float32 [sample][channel][y][x]", w->tree->set->path, name);
    ++w->layers;
    return MF_OK;
}

static int find_layers(struct writing *w)
{
    size_t most = 0;

    for (size_t i = 0; i < w->look.set_count; ++i)
        if (strncmp(w->look.set[i].path, ACTIVATIONS, strlen(ACTIVATIONS)) == 0)
            MF_TRY(open_layer(w, w->look.set[i].path));
    for (size_t k = 0; k < w->layers; ++k) most = mf_array_row(&w->layer[k]) > most ? mf_array_row(&w->layer[k]) : most;
    w->row = MF_MUST(malloc(most * sizeof *w->row + 1), "activations");
    if (w->layers || !(w->tree->parts & MF_TREE_NPZ)) return MF_OK;
    return mf_fail(MF_USAGE, "'%s' has no activations for .npz; generate --layers NAME,... makes some",
                   w->tree->set->path);
}

/* -- one sample -- */

static int take_row(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    float *row = context;

    for (size_t k = 0; k < n; ++k) memcpy(row + at + k * stride, (const char *)values + k * sizeof *row, sizeof *row);
    return MF_OK;
}

static int put_layers(struct writing *w, size_t id, struct mf_npz *npz)
{
    for (size_t k = 0; k < w->layers; ++k) {
        const size_t extents[2] = {1, mf_array_row(&w->layer[k])};

        MF_TRY(mf_array_visit(&w->layer[k], id, 1, take_row, w->row));
        MF_TRY(mf_npz_put(npz, layer_name(w, k), 2, extents, w->row));
    }
    return MF_OK;
}

static int write_npz(struct writing *w, size_t id)
{
    char *path = path_of(w, w->tree->folder, "activations", id, ".npz");
    struct mf_npz *npz;
    int rc = mf_npz_create(path, &npz);

    if (rc == MF_OK) rc = mf_npz_close(npz, put_layers(w, id, npz));
    free(path);
    return rc;
}

/* Extents of layers, which rows of .npz do not have. */
static int write_extents(struct writing *w, size_t id)
{
    char *path = path_of(w, w->tree->folder, "activations", id, ".json");
    struct mf_json *json = mf_json_object(), *layers = mf_json_object();
    int rc;

    for (size_t k = 0; k < w->layers; ++k) {
        struct mf_json *shape = mf_json_array();

        for (int a = CHANNELS; a <= WIDTH; ++a) mf_json_int(shape, NULL, (long long)w->layer[k].shape[a]);
        mf_json_put(layers, layer_name(w, k), shape);
    }
    MF_JSON(json, "sample_id", id, "layers", layers);
    rc = mf_json_save(json, path, path);
    mf_json_free(json);
    free(path);
    return rc;
}

static int write_png(struct writing *w, size_t id)
{
    char *path = path_of(w, w->tree->folder, "images", id, ".png");
    struct mf_batch batch;
    int rc;

    mf_reader_want(w->reader, 1, &id);
    rc = mf_reader_take(w->reader, &batch);
    if (rc == MF_OK) rc = mf_pictures_write(w->tree->set, &w->levels, batch.x, w->room, path);
    mf_reader_give(w->reader, &batch);
    free(path);
    return rc;
}

/* Local. */
static int write_own(struct writing *w)
{
    const unsigned parts = w->tree->parts;

    for (size_t k = w->own.first; k < w->own.first + w->own.count; ++k) {
        const size_t id = w->tree->id[k];

        mf_comm_alive();
        if (parts & MF_TREE_PNG) MF_TRY(write_png(w, id));
        if (parts & MF_TREE_NPZ) MF_TRY(write_npz(w, id));
        if (parts & MF_TREE_NPZ && parts & MF_TREE_JSON) MF_TRY(write_extents(w, id));
    }
    return MF_OK;
}

/* -- the list -- */

/* The noise level where samples of generate began, by the options that the file keeps; NAN: it says none. */
static double sigma_of(const struct mf_look *look)
{
    static const char word[] = "conditioning-sigma: ";
    const char *at = look->options ? strstr(look->options, word) : NULL;

    return at ? strtod(at + strlen(word), NULL) : (double)NAN;
}

static struct mf_json *head_of(const struct writing *w)
{
    const struct mf_dataset *set = w->tree->set;
    struct mf_json *json = mf_json_object(), *layers = mf_json_array(), *labels = mf_json_array();

    for (size_t k = 0; k < w->layers; ++k) mf_json_text(layers, NULL, layer_name(w, k));
    for (size_t k = 0; k < w->tree->count; ++k) mf_json_int(labels, NULL, set->label ? set->label[w->tree->id[k]] : -1);
    MF_JSON(json, "model_type", w->name, "num_samples", w->tree->count, "layers", layers, "seed", w->look.seed,
            "class_labels", labels);
    mf_json_finite(json, "conditioning_sigma", sigma_of(&w->look));
    return json;
}

/* A row of the list. Paths begin at the folder. */
static struct mf_json *sample_of(const struct writing *w, size_t id)
{
    const struct mf_dataset *set = w->tree->set;
    char *image = path_of(w, "", "images", id, ".png"), *npz = path_of(w, "", "activations", id, ".npz");
    struct mf_json *json = mf_json_object();
    const int32_t label = set->label ? set->label[id] : -1;

    MF_JSON(json, "sample_id", id, "class_label", label);
    mf_json_some(json, "class_name", label < 0 ? NULL : set->class_name[label]);
    mf_json_some(json, "image_path", w->tree->parts & MF_TREE_PNG ? image : NULL);
    mf_json_some(json, "activation_path", w->tree->parts & MF_TREE_NPZ ? npz : NULL);
    mf_json_int(json, "batch_index", 0); /* the row of it in the .npz */
    for (size_t r = 0; r < set->reals; ++r)
        mf_json_real(json, set->real_name[r], (double)set->real[id * set->reals + r]);
    free(npz);
    free(image);
    return json;
}

/* Sample by sample: a list of millions needs no memory. */
static int print_list(const struct writing *w, const char *temporary, const char *path)
{
    struct mf_json *head = head_of(w);
    char *text = mf_json_string(head);
    FILE *to = fopen(temporary, "w");
    int bad;

    if (to) fprintf(to, "%.*s, \"samples\": [", (int)strlen(text) - 2, text); /* without "}\n" */
    for (size_t k = 0; to && k < w->tree->count; ++k) {
        struct mf_json *json = sample_of(w, w->tree->id[k]);
        char *one = mf_json_string(json);

        fprintf(to, "%s\n%.*s", k ? "," : "", (int)strlen(one) - 1, one);
        free(one);
        mf_json_free(json);
    }
    if (to) fprintf(to, "]}\n");
    bad = !to || ferror(to);
    if (to && fclose(to) != 0) bad = 1;
    mf_json_free(head);
    free(text);
    return bad ? mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno)) : MF_OK;
}

/* Collective. */
static int write_list(const struct writing *w)
{
    const struct mf_comm *comm = w->session->comm;
    char *path = mf_format("%s/metadata/%s/dataset_info.json", w->tree->folder, w->name);
    struct mf_atomic file;
    int rc = mf_atomic_open(comm, path, 0, &file);

    if (rc == MF_OK) rc = mf_atomic_close(comm, &file, comm->rank == 0 ? print_list(w, file.temporary, path) : MF_OK);
    free(path);
    return rc;
}

/* -- all of it -- */

static int make_folders(const struct writing *w)
{
    static const char *const part[KINDS] = {"images", "activations", "metadata"};
    int rc = MF_OK;

    for (int i = 0; rc == MF_OK && i < KINDS; ++i) {
        char *path = mf_format("%s/%s/%s", w->tree->folder, part[i], w->name);

        if (w->tree->parts >> i & 1) rc = mf_output_folder(path, "another --output");
        free(path);
    }
    return rc;
}

/* All that may fail before anything is written. Local. */
static int open(struct writing *w)
{
    const struct mf_dataset *set = w->tree->set;
    const struct mf_reader_wish reading = {.ahead = 1, .batch = 1, .raw = 1};

    if (w->tree->parts & MF_TREE_PNG) MF_TRY(mf_pictures_fit(set->path, set->ndim, set->dims[3], "leave png out"));
    MF_TRY(mf_look(set->path, &w->look));
    MF_TRY(find_layers(w));
    return mf_reader_open(set, w->session->arena, &reading, &w->reader);
}

static int find_levels(struct writing *w)
{
    const struct mf_dataset *set = w->tree->set;
    const double phases[2] = {0, set->phases - 1};
    const struct mf_pictures of = {w->session->comm, set, w->reader, w->own.count, w->tree->id + w->own.first};

    if (!(w->tree->parts & MF_TREE_PNG)) return MF_OK;
    w->room = MF_MUST(malloc(set->bytes), "a picture");
    if (set->phases && w->tree->range->count == 0) {
        w->levels = (struct mf_levels){.low = phases[0], .high = phases[1]};
        return MF_OK;
    }
    return mf_pictures_levels(&of, w->tree->range, &w->levels);
}

static int write_all(struct writing *w)
{
    const struct mf_comm *comm = w->session->comm;

    MF_TRY(mf_agree(comm, open(w)));
    MF_TRY(find_levels(w));
    MF_TRY(mf_agree(comm, comm->rank == 0 ? make_folders(w) : MF_OK));
    MF_TRY(mf_agree(comm, write_own(w)));
    return w->tree->parts & MF_TREE_JSON ? write_list(w) : MF_OK;
}

int mf_tree_write(struct mf_session *session, const struct mf_tree *tree)
{
    struct writing *w = MF_MUST(calloc(1, sizeof *w), "a tree of files");
    int rc;

    w->session = session;
    w->tree = tree;
    w->name = MF_MUST(mf_stem(tree->set->path), "a name");
    w->own = mf_cut(tree->count, (size_t)session->comm->size, (size_t)session->comm->rank);
    rc = write_all(w);
    if (rc == MF_OK && session->comm->rank == 0)
        mf_info("%zu sample%s as files in '%s'", tree->count, MF_S(tree->count), tree->folder);
    mf_reader_close(w->reader);
    mf_look_free(&w->look);
    free(w->row);
    free(w->room);
    free(w->name);
    free(w);
    return rc;
}

int mf_tree_beside(struct mf_session *session, const char *path, unsigned parts)
{
    const struct mf_reals none = {0};
    const char *slash = strrchr(path, '/');
    char *folder = slash ? mf_format("%.*s", (int)(slash == path ? 1 : slash - path), path) : mf_format(".");
    struct mf_dataset *set = NULL;
    size_t *id = NULL;
    int rc = mf_dataset_open(session->comm, path, &set);

    if (rc == MF_OK) {
        const struct mf_tree tree = {
            set, folder, parts, set->samples, id = MF_MUST(malloc((set->samples + 1) * sizeof *id), "samples"), &none};

        for (size_t i = 0; i < set->samples; ++i) id[i] = i;
        rc = mf_tree_write(session, &tree);
    }
    mf_dataset_close(set);
    free(id);
    free(folder);
    return rc;
}
