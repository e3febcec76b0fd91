/* See characterize.h: an image's descriptors as the mean over the image turned and mirrored. */
#include "src/desc/symmetry.h"

#include <string.h>

#include "src/base/err.h"
#include "src/desc/mean.h"

/* What is done to an image, added up. */
enum { FLIP_ROWS = 1, FLIP_COLUMNS = 2, TRANSPOSE = 4 };

enum { MIRRORED = 4, TURNED = 8 }; /* how many ways there are */

enum mf_symmetry mf_symmetry_of(const char *name)
{
    if (strcmp(name, "none") == 0) return MF_SYMMETRY_NONE;
    return strcmp(name, "mirror") == 0 ? MF_SYMMETRY_MIRROR : MF_SYMMETRY_SQUARE;
}

int mf_symmetry_check(const struct mf_micro *micro, enum mf_symmetry symmetry)
{
    if (symmetry == MF_SYMMETRY_NONE) return MF_OK;
    if (micro->ndim == 3)
        return mf_fail(MF_USAGE,
                       "--symmetry is of images, this is a volume; --isotropic gives the mean of its directions");
    if (symmetry == MF_SYMMETRY_SQUARE && micro->slab.dims[1] != micro->slab.dims[2])
        return mf_fail(MF_USAGE, "--symmetry square: the image has %zu x %zu pixels; try: --symmetry mirror",
                       micro->slab.dims[1], micro->slab.dims[2]);
    return MF_OK;
}

static void turn_array(const size_t from_extent[2], size_t size, const char *from, int how, char *to)
{
    const size_t nu = from_extent[0], nv = from_extent[1];

    for (size_t u = 0; u < nu; ++u)
        for (size_t v = 0; v < nv; ++v) {
            const size_t a = how & FLIP_ROWS ? nu - 1 - u : u, b = how & FLIP_COLUMNS ? nv - 1 - v : v;
            const size_t at = how & TRANSPOSE ? b * nu + a : a * nv + b;

            memcpy(to + at * size, from + (u * nv + v) * size, size);
        }
}

/* The rank that has the image turns it; extents and pixels turn on all. */
static void turn(const struct mf_micro *from, int how, struct mf_micro *to)
{
    const size_t *n = &from->slab.dims[1], pixels = n[0] * n[1];

    for (int axis = 0; axis < 2; ++axis) {
        to->slab.dims[1 + axis] = from->slab.dims[how & TRANSPOSE ? 2 - axis : 1 + axis];
        to->spacing[1 + axis] = from->spacing[how & TRANSPOSE ? 2 - axis : 1 + axis];
    }
    if (!from->slab.count) return;
    if (from->phase) turn_array(n, 1, (const char *)from->phase, how, (char *)to->phase);
    for (size_t f = 0; from->grey && f < (size_t)from->fields; ++f)
        turn_array(n, sizeof *from->grey, (const char *)(from->grey + f * pixels), how,
                   (char *)(to->grey + f * pixels));
}

int mf_symmetry_room(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_micro *micro,
                     struct mf_micro *turned)
{
    const size_t pixels = mf_slab_voxels(&micro->slab);

    *turned = *micro;
    turned->arena = arena;
    memset(turned->hashing, 0, sizeof turned->hashing);
    turned->phase = NULL;
    turned->grey = NULL;
    if (micro->grey)
        turned->grey = mf_arena_take(arena, pixels * (size_t)micro->fields * sizeof *turned->grey, "turned image");
    else
        turned->phase = mf_arena_take(arena, pixels, "turned image");
    return mf_agree(comm, turned->phase || turned->grey ? MF_OK : MF_MEMORY);
}

int mf_symmetry_mean(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                     struct mf_arena *arena, const struct mf_micro *micro, const struct mf_characterize_opts *opts,
                     struct mf_target *out)
{
    const int ways = opts->symmetry == MF_SYMMETRY_SQUARE ? TURNED : MIRRORED;
    struct mf_characterize_opts plain = *opts;
    struct mf_target way[TURNED] = {{0}}, mean = {0};
    struct mf_micro turned;
    int rc = mf_symmetry_room(comm, arena, micro, &turned);

    plain.symmetry = MF_SYMMETRY_NONE;
    for (int k = 0; rc == MF_OK && k < ways; ++k) {
        plain.silent = opts->silent || k > 0;
        turn(micro, k, &turned);
        rc = mf_characterize(comm, backend, queue, arena, &turned, &plain, &way[k]);
    }
    if (rc == MF_OK) rc = mf_agree(comm, mf_target_mean(way, (size_t)ways, &mean));
    if (rc == MF_OK)
        *out = mean;
    else
        mf_target_free(&mean);
    for (int k = 0; k < ways; ++k) mf_target_free(&way[k]);
    mf_micro_free(&turned);
    return rc;
}
