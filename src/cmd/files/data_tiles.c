/* data import --tile: images become datasets of overlapping tiles. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "io/names.h"
#include "io/tiles.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/cmd/files/data.h"
#include "src/cmd/files/data_import.h"
#include "src/cmd/files/properties.h"
#include "src/cmd/micrograph.h"
#include "src/cmd/output.h"

enum { TILE_LEAST = 8, TILE_MOST = 1 << 14, STRIDES = 4 /* in a tile, where nobody says how many */ };

/* ---- options ---- */

/* One or two values as {y, x}. */
static int read_pair(const char *word, const struct mf_longs *list, long least, long most, size_t pair[2])
{
    if (list->count != 1 && list->count != 2)
        return mf_fail(MF_USAGE, "--%s takes one value or two, HEIGHT WIDTH [pixels], not %zu", word, list->count);
    for (size_t a = 0; a < 2; ++a) {
        const long value = list->at[a < list->count ? a : 0];

        if (value < least || value > most)
            return mf_fail(MF_USAGE, "--%s must be %ld to %ld, not %ld", word, least, most, value);
        pair[a] = (size_t)value;
    }
    return MF_OK;
}

static int read_extents(const struct data_import *o, size_t tile[2], size_t stride[2])
{
    MF_TRY(read_pair("tile", &o->tile, TILE_LEAST, TILE_MOST, tile));
    for (int a = 0; a < 2; ++a) stride[a] = tile[a] / STRIDES;
    return o->stride.count ? read_pair("stride", &o->stride, 1, TILE_MOST, stride) : MF_OK;
}

/* An option of the list that was given; NULL: none. */
static const char *given(const struct mf_session *session, const char *const *words)
{
    for (; *words; ++words)
        if (mf_given(session, *words)) return *words;
    return NULL;
}

static int check_values(const struct mf_session *session, const struct data_import *o)
{
    static const char *const of_phases[] = {"threshold", "labels", "phases", NULL};
    const char *word = given(session, of_phases);
    long label[MF_PHASES_MAX];
    size_t count;

    if (o->grey_values && o->colours) return mf_fail(MF_USAGE, "--grey-values and --colours: leave one of them out");
    if ((o->grey_values || o->colours) && word)
        return mf_fail(MF_USAGE, "--%s makes phases, and --%s; leave one of them out", word,
                       o->colours ? "colours keeps colours" : "grey-values keeps grey values");
    return o->labels ? mf_data_import_values(o->labels, label, &count) : MF_OK;
}

int mf_data_tiles_check(const struct mf_session *session, const struct data_import *o)
{
    static const char *const of_tiles[] = {"stride", "threshold", "crop", "crop-bar", "grey-values", NULL};
    static const char *const of_others[] = {"table", "columns", "ignore", "unknown", NULL};
    const char *word = given(session, o->tile.count ? of_others : of_tiles), *const * files;
    size_t tile[2], stride[2];

    if (word && !o->tile.count) return mf_fail(MF_USAGE, "--%s is for tiles of images; it needs --tile", word);
    if (!o->tile.count && mf_arguments(session, &files) > 1)
        return mf_fail(MF_USAGE, "one file or folder holds all samples; several images are cut by --tile");
    if (!o->tile.count) return mf_data_one(session, "data import");
    if (word) return mf_fail(MF_USAGE, "--%s is for samples that are no tiles; leave it or --tile out", word);
    if (mf_arguments(session, &files) == 0)
        return mf_fail(MF_USAGE, "no image; try: mesoforge data import IMAGE --tile 32 32");
    MF_TRY(read_extents(o, tile, stride));
    MF_TRY(mf_crop_check(&o->crop, o->crop_bar));
    return check_values(session, o);
}

/* ---- images ---- */

/* Names of files, each on the heap. */
struct names {
    size_t count;
    char **at;
};

static void add(struct names *names, char *one)
{
    names->at = MF_MUST(realloc(names->at, (names->count + 1) * sizeof *names->at), "names of files");
    names->at[names->count++] = one;
}

static void free_names(struct names *names)
{
    for (size_t i = 0; i < names->count; ++i) free(names->at[i]);
    free(names->at);
}

/* The images of a folder, in the order of their names' bytes. */
static int add_folder(struct names *names, const char *folder)
{
    char **name;
    size_t n;

    MF_TRY(mf_names_in(folder, 1, &n, &name));
    for (size_t i = 0; i < n; ++i) {
        add(names, mf_format("%s%s%s", folder, mf_ends_with(folder, "/") ? "" : "/", name[i]));
        free(name[i]);
    }
    free(name);
    return MF_OK;
}

/* Lists the names of the user; a folder stands for its images. */
static int list(const struct mf_session *session, struct names *names)
{
    const char *const *words;
    const size_t n = mf_arguments(session, &words);
    struct stat is;

    for (size_t i = 0; i < n; ++i)
        if (stat(words[i], &is) == 0 && S_ISDIR(is.st_mode))
            MF_TRY(add_folder(names, words[i]));
        else
            add(names, mf_format("%s", words[i]));
    return MF_OK;
}

/* Rank 0's list on all ranks. Collective. */
static int list_all(const struct mf_session *session, struct names *names)
{
    const struct mf_comm *comm = session->comm;
    size_t count;

    MF_TRY(mf_agree(comm, comm->rank == 0 ? list(session, names) : MF_OK));
    count = names->count;
    mf_comm_bcast(comm, 0, &count, sizeof count);
    for (size_t i = 0; i < count; ++i) {
        char *one = mf_comm_text(comm, comm->rank == 0 ? names->at[i] : NULL);

        if (comm->rank == 0)
            free(one);
        else
            add(names, one);
    }
    return MF_OK;
}

/* ---- classes ---- */

/* Classes of the images: names in the order in which they come first, and the place of each image's. */
struct classes {
    struct names name;
    int32_t *of; /* [images] */
};

static int32_t class_of(struct names *name, const char *word, size_t length)
{
    for (size_t k = 0; k < name->count; ++k)
        if (strlen(name->at[k]) == length && strncmp(name->at[k], word, length) == 0) return (int32_t)k;
    add(name, mf_format("%.*s", (int)length, word));
    return (int32_t)name->count - 1;
}

static int sort_images(const struct data_import *o, size_t images, struct classes *classes)
{
    size_t n = 0;

    MF_TRY(MF_ROOM(classes->of, images + 1, "the classes of %zu images", images));
    for (size_t i = 0; i < o->classes.count; ++i)
        for (const char *at = o->classes.at[i], *end; at; at = *end ? end + 1 : NULL) {
            end = strchrnul(at, ',');
            if (end == at) return mf_fail(MF_USAGE, "--classes: name %zu is empty", n + 1);
            if (end - at >= MF_REAL_TEXT)
                return mf_fail(MF_USAGE, "--classes: '%.80s' has more than %d bytes", at, MF_REAL_TEXT - 1);
            if (n < images) classes->of[n] = class_of(&classes->name, at, (size_t)(end - at));
            ++n;
        }
    if (n == images || n == 0) return MF_OK;
    return mf_fail(MF_USAGE, "--classes names the class of each image in turn: %zu name%s for %zu image%s", n, MF_S(n),
                   images, MF_S(images));
}

/* ---- samples ---- */

struct cutting {
    struct mf_session *session;
    struct mf_tiles *tiles;
    struct mf_dataset_wish wish;
    struct mf_properties properties; /* of phases */
    const int32_t *class_of;
};

static const char *const grey_names[] = {"mean", "deviation"};
static const char *const colour_names[] = {"mean_red",        "deviation_red", "mean_green",
                                           "deviation_green", "mean_blue",     "deviation_blue"};

static double value_of(const struct mf_dataset_wish *wish, const void *x, size_t i)
{
    return wish->is_float ? (double)((const float *)x)[i] : ((const uint8_t *)x)[i];
}

/* Mean and deviation of each channel. */
static void measure_image(const struct mf_dataset_wish *wish, const void *x, float *real)
{
    const size_t n = wish->dims[1] * wish->dims[2], channels = wish->dims[3];

    for (size_t c = 0; c < channels; ++c) {
        double sum = 0, squares = 0, mean;

        for (size_t i = 0; i < n; ++i) sum += value_of(wish, x, i * channels + c);
        mean = sum / (double)n;
        for (size_t i = 0; i < n; ++i) {
            const double by = value_of(wish, x, i * channels + c) - mean;

            squares += by * by;
        }
        *real++ = (float)mean;
        *real++ = (float)sqrt(squares / (double)n);
    }
}

static int make(void *context, size_t id, struct mf_sample *sample)
{
    struct cutting *c = context;
    size_t image;

    MF_TRY(mf_tiles_take(c->tiles, id, sample->x, &image));
    sample->label = c->class_of[image];
    if (c->wish.phases) return mf_properties_of(&c->properties, c->wish.dims, sample->x, sample->real);
    measure_image(&c->wish, sample->x, sample->real);
    return MF_OK;
}

/* ---- the set ---- */

static int write_set(struct cutting *c, const struct data_import *o, const char *path)
{
    char *options = mf_options_yaml(mf_options_of(c->session));
    const struct mf_provenance from = {
        .command = "data import", .options = options, .input_hash = "", .seed = o->common.seed};
    const char **names = NULL;
    int rc;

    if (c->wish.phases) {
        mf_properties_begin(c->session, 2, c->wish.dims, c->wish.phases, 0, 0, &c->properties);
        names = MF_MUST(calloc(c->properties.columns, sizeof *names), "names of properties");
        for (size_t r = 0; r < c->properties.columns; ++r) names[r] = c->properties.name[r];
    }
    c->wish.reals = names ? c->properties.columns : 2 * c->wish.dims[3];
    c->wish.real_name = names ? names : o->colours ? colour_names : grey_names;
    rc = mf_dataset_write(c->session->comm, path, &c->wish, &from, make, c);
    mf_properties_end(&c->properties);
    free(names);
    free(options);
    MF_TRY(rc);
    return mf_data_report(c->session, path, NULL);
}

/* All is read and divided. Collective. */
static int finish(struct cutting *c, const struct data_import *o, const struct classes *classes, const char *path)
{
    const size_t left = mf_tiles_left(c->tiles);
    const struct mf_comm *comm = c->session->comm;

    mf_tiles_describe(c->tiles, &c->wish);
    c->class_of = classes->of;
    c->wish.classes = classes->name.count;
    c->wish.class_name = (const char *const *)classes->name.at;
    c->wish.compress = (int)o->compress;
    if (left)
        mf_info("%zu tile%s between two splits %s left out: tiles of two splits share no pixel", left, MF_S(left),
                left == 1 ? "is" : "are");
    if (!o->common.dry_run) return write_set(c, o, path);
    return mf_agree(comm, comm->rank == 0 ? mf_data_counted(c->session, path, c->wish.samples) : MF_OK);
}

static int cut(struct mf_session *session, const struct data_import *o, const struct names *images,
               const struct classes *classes, const char *path)
{
    struct cutting c = {.session = session};
    long label[MF_PHASES_MAX];
    struct mf_crop crop;
    char *command = mf_command_typed(session);
    struct mf_micro_read read = {.threshold = o->threshold,
                                 .labels = label,
                                 .crop = mf_crop_of(&o->crop, &crop),
                                 .crop_bar = o->crop_bar,
                                 .command = command,
                                 .remedy = "try: --colours, or convert it to grey",
                                 .unhashed = 1};
    struct mf_tiles_wish wish = {.images = images->count,
                                 .image = (const char *const *)images->at,
                                 .part = {o->train, o->validation},
                                 .channels = o->colours ? 3 : o->grey_values,
                                 .phases = (int)o->phases,
                                 .read = &read};
    int rc = read_extents(o, wish.tile, wish.stride);

    if (rc == MF_OK && o->labels) rc = mf_data_import_values(o->labels, label, &read.label_count);
    if (rc == MF_OK) rc = mf_tiles_open(session->comm, session->arena, &wish, &c.tiles);
    c.wish.overlaps = wish.stride[0] < wish.tile[0] || wish.stride[1] < wish.tile[1];
    if (rc == MF_OK) rc = finish(&c, o, classes, path);
    mf_tiles_close(c.tiles);
    free(command);
    return rc;
}

int mf_data_tiles_run(struct mf_session *session, const struct data_import *o)
{
    struct names images = {0, NULL};
    struct classes classes = {{0, NULL}, NULL};
    char *stem = NULL, *path = NULL;
    int rc = list_all(session, &images);

    if (rc == MF_OK) rc = sort_images(o, images.count, &classes);
    if (rc == MF_OK) rc = mf_session_may_write(session, o->common.output, ".h5");
    if (rc == MF_OK) stem = MF_MUST(mf_stem(images.at[0]), "a file name");
    if (rc == MF_OK) rc = mf_session_path(session, stem, ".h5", &path);
    if (rc == MF_OK) rc = mf_session_spares(session, path, images.count, (const char *const *)images.at);
    if (rc == MF_OK) rc = cut(session, o, &images, &classes, path);
    free(stem);
    free(path);
    free(classes.of);
    free_names(&classes.name);
    free_names(&images);
    return rc;
}
