/* See foreign.h. */
#include "io/foreign.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

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
    if (!mf_h5_has_attribute(file, VTK, "Spacing")) return MF_OK;
    MF_TRY(mf_h5_get_reals(file, VTK, "Spacing", 3, spacing, &count));
    a->scaled = 1;
    if (count != 3) snprintf(a->unscaled, sizeof a->unscaled, "Spacing of " VTK " is not three numbers (x y z)");
    for (int i = 0; i < 3; ++i) a->spacing[i] = spacing[2 - i];
    return MF_OK;
}

int mf_foreign_scale(struct mf_h5 *file, struct mf_array *a)
{
    if (mf_h5_has_attribute(file, a->dataset, "scale_factor") || mf_h5_has_attribute(file, a->dataset, "add_offset"))
        a->said |= MF_SAID_SCALED;
    return strncmp(a->dataset, VTK "/", sizeof VTK) == 0 && a->ndim == 3 ? see_vtk(file, a) : see_element_size(file, a);
}
