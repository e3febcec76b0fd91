/* Reading images, and tiles of them. See tiles.h; tiles_cut.c divides them. */
#include "io/tiles.h"

#include <stdlib.h>
#include <string.h>

#include "io/array.h"
#include "io/bar.h"
#include "io/notes.h"
#include "io/same_file.h"
#include "io/source.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"

/* Facts of an image as numbers, so that ranks can add them up. */
enum fact { HEIGHT, WIDTH, PHASES, IS_FLOAT, FACTS };

struct mf_tiles {
    const struct mf_tiles_wish *wish;
    struct mf_comm self;
    struct mf_arena *arena;
    int64_t (*fact)[FACTS];  /* [images] */
    struct mf_tile_cut *cut; /* [images] */
    size_t *first;           /* [images + 1] samples before an image's */
    uint8_t *split;          /* [samples] */
    size_t left;
    int phases, is_float;
    size_t loaded; /* the image in memory; images: none */
    char *values;  /* its values [height][width], from the arena */
};

/* ---- one image ---- */

static int refuse_axes(const char *image) { return mf_fail(MF_INPUT, "'%s' is no image of two axes", image); }

static int load_phases(struct mf_tiles *t, const char *image, int64_t fact[FACTS])
{
    struct mf_micro micro;

    MF_TRY(mf_micro_read(&t->self, t->arena, image, t->wish->read, &micro));
    if (micro.ndim != 2) {
        mf_micro_free(&micro);
        return refuse_axes(image);
    }
    fact[HEIGHT] = (int64_t)micro.slab.dims[1];
    fact[WIDTH] = (int64_t)micro.slab.dims[2];
    fact[PHASES] = micro.phases;
    t->values = (char *)micro.phase;
    micro.phase = NULL;
    mf_micro_free(&micro);
    return MF_OK;
}

static size_t pixel_bytes(const struct mf_tiles *t, int is_float)
{
    return (is_float ? sizeof(float) : 1) * (t->wish->channels ? (size_t)t->wish->channels : 1);
}

static int take_image(struct mf_tiles *t, struct mf_source *source, const char *image, int64_t fact[FACTS])
{
    struct mf_dataset_wish is = {0};

    mf_source_describe(source, &is);
    if (is.samples != 1 || is.ndim != 2 || is.dims[3] != (size_t)t->wish->channels) return refuse_axes(image);
    fact[HEIGHT] = (int64_t)is.dims[1];
    fact[WIDTH] = (int64_t)is.dims[2];
    fact[IS_FLOAT] = is.is_float;
    t->values = mf_arena_take(t->arena, is.dims[1] * is.dims[2] * pixel_bytes(t, is.is_float), "image");
    if (!t->values) return MF_MEMORY;
    return mf_source_sample(source, 0, &(struct mf_sample){.x = t->values});
}

static int load_image(struct mf_tiles *t, const char *image, int64_t fact[FACTS])
{
    const struct mf_source_wish wish = {.path = image,
                                        .colours = t->wish->channels > 1,
                                        .crop = t->wish->read->crop,
                                        .crop_bar = t->wish->read->crop_bar};
    struct mf_source *source;
    int rc;

    MF_TRY(mf_source_open(&wish, &source));
    rc = take_image(t, source, image, fact);
    mf_source_close(source);
    return rc;
}

static void unload(struct mf_tiles *t)
{
    mf_arena_give(t->arena, t->values);
    t->values = NULL;
    t->loaded = t->wish->images;
}

/* Image @p i, and what is known of it. Local. */
static int load(struct mf_tiles *t, size_t i, int64_t fact[FACTS])
{
    const char *image = t->wish->image[i];

    unload(t);
    MF_TRY(t->wish->channels ? load_image(t, image, fact) : load_phases(t, image, fact));
    t->loaded = i;
    return MF_OK;
}

/* ---- all of them ---- */

/* Every rank looks at some. Local. */
static int look(const struct mf_comm *comm, struct mf_tiles *t)
{
    for (size_t i = (size_t)comm->rank; i < t->wish->images; i += (size_t)comm->size) MF_TRY(load(t, i, t->fact[i]));
    return MF_OK;
}

static int check_types(const struct mf_tiles *t)
{
    for (size_t i = 1; i < t->wish->images; ++i)
        if (t->fact[i][IS_FLOAT] != t->fact[0][IS_FLOAT])
            return mf_fail(MF_INPUT,
                           "'%s' and '%s' have values of different types, which are no one scale; save all "
                           "images in one type",
                           t->wish->image[0], t->wish->image[i]);
    return MF_OK;
}

static int check_phases(struct mf_tiles *t)
{
    const int wanted = t->wish->phases;
    size_t most = 0;

    for (size_t i = 1; i < t->wish->images; ++i)
        if (t->fact[i][PHASES] > t->fact[most][PHASES]) most = i;
    t->phases = (int)t->fact[most][PHASES];
    if (wanted && t->phases > wanted)
        return mf_fail(MF_INPUT, "'%s' has %d phases, more than --phases %d", t->wish->image[most], t->phases, wanted);
    if (wanted) t->phases = wanted;
    if (t->phases > 1) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has one phase alone: nothing is to be learnt from it", t->wish->image[most]);
}

/* The splits of the samples, image by image. */
static int lay(struct mf_tiles *t)
{
    uint8_t *to;

    for (size_t i = 0; i < t->wish->images; ++i) {
        t->first[i + 1] = t->first[i] + t->cut[i].tiles;
        t->left += t->cut[i].left;
    }
    MF_TRY(MF_ROOM(t->split, t->first[t->wish->images] + 1, "the splits of the tiles"));
    to = t->split;
    for (size_t i = 0; i < t->wish->images; ++i)
        for (int k = 0; k < MF_SPLITS; ++k) {
            const size_t n = t->cut[i].block[k].count[0] * t->cut[i].block[k].count[1];

            memset(to, k, n);
            to += n;
        }
    return MF_OK;
}

/* Local; without a refusal the same on all ranks. */
static int divide(struct mf_tiles *t)
{
    const size_t n = t->wish->images;
    size_t(*extent)[2];
    int rc;

    MF_TRY(t->wish->channels ? check_types(t) : check_phases(t));
    MF_TRY(MF_ROOM(extent, n + 1, "the extents of %zu images", n));
    for (size_t i = 0; i < n; ++i)
        for (int a = 0; a < 2; ++a) extent[i][a] = (size_t)t->fact[i][HEIGHT + a];
    t->is_float = (int)t->fact[0][IS_FLOAT];
    rc = mf_tiles_cut(t->wish, (const size_t(*)[2])extent, t->cut);
    if (rc == MF_OK) rc = lay(t);
    free(extent);
    return rc;
}

static int same_files(const struct mf_comm *comm, const struct mf_tiles_wish *wish)
{
    for (size_t i = 0; i < wish->images; ++i) {
        const char *array;
        char *file;
        int rc;

        mf_array_split(wish->image[i], &file, &array);
        rc = mf_same_file(comm, file);
        free(file);
        MF_TRY(rc);
    }
    return MF_OK;
}

/* Local. */
static int take_memory(struct mf_tiles *t, size_t n)
{
    MF_TRY(MF_ROOM(t->fact, n + 1, "%zu images", n));
    MF_TRY(MF_ROOM(t->cut, n + 1, "%zu images", n));
    return MF_ROOM(t->first, n + 1, "%zu images", n);
}

/* Looks at all images. Collective. */
static int look_at_all(const struct mf_comm *comm, struct mf_tiles *t)
{
    int rc;

    MF_TRY(mf_agree(comm, take_memory(t, t->wish->images)));
    MF_TRY(same_files(comm, t->wish));
    if (t->wish->images > 1) mf_notes_begin();
    rc = mf_agree(comm, look(comm, t));
    mf_notes_end(comm);
    MF_TRY(rc);
    mf_comm_sum_int(comm, t->wish->images * FACTS, &t->fact[0][0]);
    return mf_agree(comm, divide(t));
}

int mf_tiles_open(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_tiles_wish *wish,
                  struct mf_tiles **tiles)
{
    struct mf_tiles *t = MF_MUST(calloc(1, sizeof *t), "tiles");
    int rc;

    t->wish = wish;
    t->arena = arena;
    t->loaded = wish->images;
    mf_comm_self(&t->self);
    rc = look_at_all(comm, t);
    if (rc != MF_OK)
        mf_tiles_close(t);
    else
        *tiles = t;
    return rc;
}

void mf_tiles_close(struct mf_tiles *t)
{
    if (!t) return;
    unload(t);
    free(t->fact);
    free(t->cut);
    free(t->first);
    free(t->split);
    free(t);
}

void mf_tiles_describe(const struct mf_tiles *t, struct mf_dataset_wish *wish)
{
    wish->samples = t->first[t->wish->images];
    wish->ndim = 2;
    wish->dims[0] = 1;
    wish->dims[3] = t->wish->channels ? (size_t)t->wish->channels : 1;
    memcpy(wish->dims + 1, t->wish->tile, sizeof t->wish->tile);
    wish->is_float = t->is_float;
    wish->phases = t->phases;
    wish->split = t->split;
}

size_t mf_tiles_left(const struct mf_tiles *t) { return t->left; }

/* ---- tiles ---- */

/* First pixel {y, x} of tile @p k of an image. */
static void find(const struct mf_tiles *t, const struct mf_tile_cut *cut, size_t k, size_t pixel[2])
{
    const struct mf_tile_block *block = cut->block;

    for (; k >= block->count[0] * block->count[1]; ++block) k -= block->count[0] * block->count[1];
    pixel[0] = (block->first[0] + k / block->count[1]) * t->wish->stride[0];
    pixel[1] = (block->first[1] + k % block->count[1]) * t->wish->stride[1];
}

/* An image that was read before says nothing anew. */
static int load_again(struct mf_tiles *t, size_t i)
{
    int64_t fact[FACTS] = {0};
    int rc;

    if (t->loaded == i) return MF_OK;
    mf_log_hush(1);
    mf_notes_begin();
    rc = load(t, i, fact);
    mf_notes_drop();
    mf_log_hush(0);
    if (rc == MF_OK && memcmp(fact, t->fact[i], sizeof fact) != 0)
        return mf_fail(MF_INPUT, "'%s' was changed while it was read", t->wish->image[i]);
    return rc;
}

int mf_tiles_take(struct mf_tiles *t, size_t id, void *x, size_t *image)
{
    const size_t size = pixel_bytes(t, t->is_float), *tile = t->wish->tile;
    size_t pixel[2], i = 0;

    while (id >= t->first[i + 1]) ++i;
    MF_TRY(load_again(t, i));
    find(t, &t->cut[i], id - t->first[i], pixel);
    for (size_t y = 0; y < tile[0]; ++y)
        memcpy((char *)x + y * tile[1] * size,
               t->values + ((pixel[0] + y) * (size_t)t->fact[i][WIDTH] + pixel[1]) * size, tile[1] * size);
    *image = i;
    return MF_OK;
}
