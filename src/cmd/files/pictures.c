/* See pictures.h. */
#include "src/cmd/files/pictures.h"

#include <math.h>

#include "io/image.h"
#include "src/base/err.h"

static size_t count_of(const struct mf_dataset *set) { return set->dims[1] * set->dims[2] * set->dims[3]; }

static double value_of(const struct mf_dataset *set, const void *x, size_t i)
{
    return set->is_float ? (double)((const float *)x)[i] : ((const uint8_t *)x)[i];
}

int mf_pictures_fit(const struct mf_dataset *set)
{
    if (set->ndim != 2)
        return mf_fail(MF_USAGE, "'%s' has volumes, which are no pictures; try: --output x.npy", set->path);
    if (set->dims[3] == 1 || set->dims[3] == 3) return MF_OK;
    return mf_fail(MF_USAGE, "'%s' has images of %zu channels, and pictures have 1 or 3; try: --output x.npy",
                   set->path, set->dims[3]);
}

void mf_pictures_range(const struct mf_dataset *set, const void *x, double *low, double *high)
{
    for (size_t i = 0; i < count_of(set); ++i) {
        const double value = value_of(set, x, i);

        *low = fmin(*low, value);
        *high = fmax(*high, value);
    }
}

int mf_pictures_write(const struct mf_dataset *set, const struct mf_levels *l, const void *x, uint8_t *room,
                      const char *path)
{
    for (size_t i = 0; !l->same && i < count_of(set); ++i) {
        const double share = (value_of(set, x, i) - l->low) / (l->high - l->low);

        room[i] = (uint8_t)rint(255 * fmin(1, fmax(0, share)));
    }
    return mf_png_write(path, path, set->dims[1], set->dims[2], set->dims[3], l->same ? x : room);
}
