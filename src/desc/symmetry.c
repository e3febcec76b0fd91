/* See characterize.h: descriptors averaged over the rotated and mirrored image or volume.
 *
 * If only slices of a volume are measured, 4 of its 8 mirror images are enough. These have no axis or two axes
 * mirrored. They show every slice mirrored in all 4 ways. The two orders of axes that rotate every slice are enough,
 * out of 6. */
#include "src/desc/symmetry.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/desc/mean.h"
#include "src/desc/slice.h"

/* Changes of an image, added up. */
enum { FLIP_ROWS = 1, FLIP_COLUMNS = 2, TRANSPOSE = 4 };

enum { MIRRORED = 4, TURNED = 8, WAYS = 48 }; /* how many ways there are: of an image, of a cube */

/* Old axes in the order of the new ones, and mirrored axes (bits 1 << axis). The axes that slices show stand first. */
static const int order[6][3] = {{0, 1, 2}, {2, 1, 0}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}};
static const int mirrored[8] = {0, 3, 5, 6, 1, 2, 4, 7};

int mf_symmetry_check(const struct mf_micro *micro, enum mf_symmetry symmetry)
{
    const size_t *n = micro->slab.dims;
    const double *d = micro->spacing;

    if (symmetry < MF_SYMMETRY_SQUARE) return MF_OK;
    if (n[1] != n[2] && micro->ndim == 2)
        return mf_fail(
            MF_USAGE, "--symmetry: quarter turns need a square, the image has %zu x %zu pixels; try: --symmetry mirror",
            n[1], n[2]);
    if (micro->ndim == 3 && (n[0] != n[1] || n[1] != n[2]))
        return mf_fail(
            MF_USAGE,
            "--symmetry: quarter turns need a cube, the volume has %zu x %zu x %zu voxels; try: --symmetry mirror",
            n[0], n[1], n[2]);
    if (mf_lengths_differ(d[1], d[2]) && micro->ndim == 2)
        return mf_fail(MF_USAGE,
                       "--symmetry: quarter turns need square pixels, these are %g x %g; try: --symmetry mirror", d[1],
                       d[2]);
    if (micro->ndim == 3 && (mf_lengths_differ(d[0], d[1]) || mf_lengths_differ(d[1], d[2])))
        return mf_fail(MF_USAGE,
                       "--symmetry: quarter turns need cubic voxels, these are %g x %g x %g; try: --symmetry mirror",
                       d[0], d[1], d[2]);
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

/* Rotates one array of a volume. A new plane is an old slice: all ranks gather it, and one keeps it. Collective. */
static int turn_planes(const struct mf_comm *comm, const struct mf_slab *slab, const int axis[3], int mirror,
                       size_t size, const void *from, char *to)
{
    const size_t *n = slab->dims, nz = n[axis[0]];
    const int u = axis[1] < axis[2] ? axis[1] : axis[2], v = axis[1] + axis[2] - u;
    const int how =
        (mirror >> u & 1 ? FLIP_ROWS : 0) | (mirror >> v & 1 ? FLIP_COLUMNS : 0) | (u == axis[1] ? 0 : TRANSPOSE);

    for (size_t k = 0; k < nz; ++k) {
        void *plane;
        int rc = mf_slice_gather(comm, slab, (enum mf_normal)axis[0], mirror >> axis[0] & 1 ? nz - 1 - k : k, size,
                                 from, &plane);

        if (rc == MF_OK && k >= slab->first && k < slab->first + slab->count)
            turn_array((const size_t[2]){n[u], n[v]}, size, plane, how, to + (k - slab->first) * n[u] * n[v] * size);
        free(plane);
        MF_TRY(rc);
    }
    return MF_OK;
}

/* The same of a volume: where axes change places it is a cube, and the slabs stay. Collective. */
static int turn_volume(const struct mf_comm *comm, const struct mf_micro *from, int way, struct mf_micro *to)
{
    const int *axis = order[way / 8], mirror = mirrored[way % 8];
    const size_t voxels = mf_slab_voxels(&from->slab);
    int rc = MF_OK;

    for (int k = 0; k < 3; ++k) to->spacing[k] = from->spacing[axis[k]];
    if (!from->grey) return turn_planes(comm, &from->slab, axis, mirror, 1, from->phase, (char *)to->phase);
    for (size_t f = 0; rc == MF_OK && f < (size_t)from->fields; ++f)
        rc = turn_planes(comm, &from->slab, axis, mirror, sizeof *from->grey, from->grey + f * voxels,
                         (char *)(to->grey + f * voxels));
    return rc;
}

/* Does a way belong to those that are meant over? */
static int takes_part(const struct mf_micro *micro, const struct mf_characterize_opts *opts, int way)
{
    const int is_mirror = opts->symmetry == MF_SYMMETRY_MIRROR;

    if (micro->ndim == 2) return way < (is_mirror ? MIRRORED : TURNED);
    if (is_mirror) return way < (opts->whole ? 8 : 4);
    return opts->whole || (way < 16 && way % 8 < 4);
}

int mf_symmetry_room(const struct mf_comm *comm, struct mf_arena *arena, const struct mf_micro *micro,
                     struct mf_micro *turned)
{
    const size_t pixels = mf_slab_voxels(&micro->slab);

    *turned = *micro;
    turned->mask = NULL;
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
    struct mf_characterize_opts plain = *opts;
    struct mf_target way = {0}, mean = {0};
    struct mf_micro turned;
    size_t ways = 0;
    int rc = mf_symmetry_room(comm, arena, micro, &turned);

    plain.symmetry = MF_SYMMETRY_NONE;
    if (opts->symmetry >= MF_SYMMETRY_SQUARE) plain.path = NULL; /* one side is kept */
    for (int k = 0; k < WAYS; ++k) ways += (size_t)takes_part(micro, opts, k);
    for (int k = 0; rc == MF_OK && k < WAYS; ++k) {
        if (!takes_part(micro, opts, k)) continue;
        plain.silent = opts->silent || k > 0;
        if (micro->ndim == 2)
            turn(micro, k, &turned);
        else
            rc = turn_volume(comm, micro, k, &turned);
        if (rc == MF_OK) rc = mf_characterize(comm, backend, queue, arena, &turned, &plain, &way);
        if (rc == MF_OK) rc = mf_agree(comm, mf_target_add(&way, 1 / (double)ways, &mean));
        mf_target_free(&way);
    }
    if (rc == MF_OK && opts->symmetry >= MF_SYMMETRY_SQUARE) rc = mf_agree(comm, mf_target_isotropic(&mean));
    if (rc == MF_OK)
        *out = mean;
    else
        mf_target_free(&mean);
    mf_micro_free(&turned);
    return rc;
}
