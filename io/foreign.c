/* See foreign.h. */
#include "io/foreign.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "io/guard.h"
#include "io/look.h"
#include "src/base/err.h"

enum { LIST_TEXT = 600 };

#define VTK "/VTKHDF"

/* Arrays that may be meant. */
struct arrays {
    size_t count;
    char first[MF_LOOK_PATH], list[LIST_TEXT];
};

/* One that cannot be read may be meant too, unless it is text or empty. */
static int may_be_meant(const struct mf_h5_shape *shape)
{
    int axes = 0;

    if (!shape->kind) return !strstr(mf_err_text(), "no plain numbers in") && !strstr(mf_err_text(), "no values");
    for (int i = 0; i < shape->ndim; ++i) axes += shape->dims[i] > 1;
    return axes > 1;
}

static void note(void *context, const char *path, const struct mf_h5_shape *shape)
{
    struct arrays *all = context;
    const size_t used = strlen(all->list);

    if (!path[0] || !may_be_meant(shape)) return;
    if (all->count++ == 0) snprintf(all->first, sizeof all->first, "%s", path);
    if (used < LIST_TEXT / 2) snprintf(all->list + used, LIST_TEXT - used, "%s%s", used ? ", " : "", path + 1);
}

int mf_foreign_choose(struct mf_h5 *file, struct mf_array *a)
{
    struct arrays all = {.count = 0};

    mf_look_sets(file, note, &all);
    mf_err_clear();
    if (all.count == 1) {
        snprintf(a->dataset, sizeof a->dataset, "%s", all.first);
        a->only = 1;
        return MF_OK;
    }
    mf_guard_sanitise(all.list, sizeof all.list);
    if (all.count) return mf_fail(MF_INPUT, "'%s' holds several arrays, name one as FILE:ARRAY: %s", a->path, all.list);
    return mf_fail(MF_INPUT, "'%s' holds no array of two axes or more; mesoforge info lists what it holds", a->path);
}

/* "element_size_um", {z, y, x} [um]: what ilastik, Fiji and napari write beside an array. */
static int see_element_size(struct mf_h5 *file, struct mf_array *a)
{
    static const char *const word = "element_size_um";
    size_t count = 0;

    if (!mf_h5_has_attribute(file, a->dataset, word)) return MF_OK;
    a->scaled = 1;
    snprintf(a->unit, sizeof a->unit, "um");
    if (mf_h5_get_reals(file, a->dataset, word, 3, a->spacing, &count) == MF_OK && count == 3) return MF_OK;
    mf_err_clear();
    snprintf(a->unscaled, sizeof a->unscaled, "its attribute %s is not three numbers (z y x)", word);
    return MF_OK;
}

/* Its extents count points. */
static int check_extent(struct mf_h5 *file, const struct mf_array *a)
{
    const int points = strncmp(a->dataset, VTK "/PointData/", sizeof VTK "/PointData/" - 1) == 0;
    int64_t extent[6];
    size_t count = 0;

    if (!mf_h5_has_attribute(file, VTK, "WholeExtent")) return MF_OK;
    MF_TRY(mf_h5_get_ints(file, VTK, "WholeExtent", 6, extent, &count));
    for (int i = 0; i < 3 && count == 6; ++i) {
        const int64_t cells = extent[5 - 2 * i] - extent[4 - 2 * i], n = points ? cells + 1 : cells > 0 ? cells : 1;

        if (n != (int64_t)a->shape[i])
            return mf_fail(MF_INPUT, "'%s' is damaged: %s has %zu values along %c, and WholeExtent says %lld", a->path,
                           a->dataset, a->shape[i], "zyx"[i], (long long)n);
    }
    return MF_OK;
}

/* VTK counts x y z. */
static int see_vtk(struct mf_h5 *file, struct mf_array *a)
{
    double spacing[3] = {1, 1, 1}, turn[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};
    size_t count = 3, turns = 9;

    if (mf_h5_has_attribute(file, VTK, "Direction")) MF_TRY(mf_h5_get_reals(file, VTK, "Direction", 9, turn, &turns));
    for (int i = 0; i < 9 && turns == 9; ++i)
        if (fabs(turn[i] - (i % 4 == 0)) > 1e-6)
            return mf_fail(MF_INPUT, "'%s' is turned in space (Direction of " VTK "); resample it to the axes",
                           a->path);
    MF_TRY(check_extent(file, a));
    if (!mf_h5_has_attribute(file, VTK, "Spacing")) return MF_OK;
    MF_TRY(mf_h5_get_reals(file, VTK, "Spacing", 3, spacing, &count));
    a->scaled = 1;
    if (count != 3) snprintf(a->unscaled, sizeof a->unscaled, "Spacing of " VTK " is not three numbers (x y z)");
    for (int i = 0; i < 3; ++i) a->spacing[i] = spacing[2 - i];
    return MF_OK;
}

/* NetCDF of before version 4 has no unsigned numbers, so this says how the bits are meant. */
static void see_sign(struct mf_h5 *file, struct mf_array *a)
{
    char text[8] = "";

    if (a->kind == 'f' || a->kind == 'b' || !mf_h5_has_attribute(file, a->dataset, "_Unsigned")) return;
    if (mf_h5_get_text(file, a->dataset, "_Unsigned", text, sizeof text) != MF_OK) mf_err_clear();
    a->stored = a->kind;
    if (strcasecmp(text, "true") == 0) a->kind = 'u';
    if (strcasecmp(text, "false") == 0) a->kind = 'i';
}

/* A number as stored is one of the type that _Unsigned means. */
static double as_meant(const struct mf_array *a, double value)
{
    const double turn = ldexp(1, 8 * (int)a->size);

    if (a->kind == 'u' && a->stored == 'i' && value < 0) return value + turn;
    return a->kind == 'i' && a->stored == 'u' && value >= turn / 2 ? value - turn : value;
}

/* Nothing is known if the attribute holds no numbers. */
static size_t stated(struct mf_h5 *file, const struct mf_array *a, const char *name, size_t n, double *value)
{
    size_t count = 0;

    if (!mf_h5_has_attribute(file, a->dataset, name)) return 0;
    if (mf_h5_get_reals(file, a->dataset, name, n, value, &count) != MF_OK) {
        mf_err_clear();
        return 0;
    }
    for (size_t i = 0; i < count; ++i) value[i] = as_meant(a, value[i]);
    return count;
}

/* The conventions of NetCDF. */
static void see_no_data(struct mf_h5 *file, struct mf_array *a)
{
    static const char *const single[] = {"_FillValue", "missing_value"};
    double v[4];

    for (int k = 0; k < 2; ++k) {
        const size_t n = stated(file, a, single[k], 4, v);

        for (size_t i = 0; i < n; ++i) mf_array_declare_value(a, single[k], v[i]);
    }
    if (stated(file, a, "valid_range", 2, v) == 2) mf_array_declare_range(a, "valid_range", v[0], v[1]);
    if (stated(file, a, "valid_min", 1, v) == 1) mf_array_declare_range(a, "valid_min", v[0], INFINITY);
    if (stated(file, a, "valid_max", 1, v) == 1) mf_array_declare_range(a, "valid_max", -INFINITY, v[0]);
    if (stated(file, a, "IMAGE_WHITE_IS_ZERO", 1, v) == 1 && v[0] > 0) a->said |= MF_SAID_UNTURNED;
}

int mf_foreign_scale(struct mf_h5 *file, struct mf_array *a)
{
    if (mf_h5_has_attribute(file, a->dataset, "scale_factor") || mf_h5_has_attribute(file, a->dataset, "add_offset"))
        a->said |= MF_SAID_SCALED;
    see_sign(file, a);
    see_no_data(file, a);
    return strncmp(a->dataset, VTK "/", sizeof VTK) == 0 && a->ndim == 3 ? see_vtk(file, a) : see_element_size(file, a);
}
