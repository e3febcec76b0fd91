/* See pictures.h. */
#include "src/cmd/files/pictures.h"

#include <math.h>
#include <unistd.h>

#include "io/image.h"
#include "src/base/err.h"
#include "src/base/log.h"

static size_t count_of(const struct mf_dataset *set) { return set->dims[1] * set->dims[2] * set->dims[3]; }

static double value_of(const struct mf_dataset *set, const void *x, size_t i)
{
    return set->is_float ? (double)((const float *)x)[i] : ((const uint8_t *)x)[i];
}

int mf_pictures_fit(const char *file, int ndim, size_t channels, const char *remedy)
{
    if (ndim != 2) return mf_fail(MF_USAGE, "'%s' has volumes, which are no pictures; %s", file, remedy);
    if (channels == 1 || channels == 3) return MF_OK;
    return mf_fail(MF_USAGE, "'%s' has images of %zu channels, and pictures have 1 or 3; %s", file, channels, remedy);
}

static void widen(const struct mf_dataset *set, const void *x, double *low, double *high)
{
    for (size_t i = 0; i < count_of(set); ++i) {
        const double value = value_of(set, x, i);

        *low = fmin(*low, value);
        *high = fmax(*high, value);
    }
}

static int find_range(const struct mf_pictures *p, struct mf_levels *l)
{
    double least = INFINITY, most[2] = {-INFINITY}; /* of values, and of their negatives */
    int rc = MF_OK;

    for (size_t k = 0; rc == MF_OK && k < p->count; ++k) {
        struct mf_batch batch;

        mf_reader_want(p->reader, 1, &p->id[k]);
        rc = mf_reader_take(p->reader, &batch);
        if (rc == MF_OK) widen(p->set, batch.x, &least, &most[0]);
        mf_reader_give(p->reader, &batch);
    }
    most[1] = -least;
    MF_TRY(mf_agree(p->comm, rc));
    mf_comm_max(p->comm, 2, most);
    *l = (struct mf_levels){.low = -most[1], .high = most[0] > -most[1] ? most[0] : 1 - most[1]};
    mf_info("values from %g to %g become black to white; --range chooses others", l->low, l->high);
    return MF_OK;
}

int mf_pictures_levels(const struct mf_pictures *p, const struct mf_reals *range, struct mf_levels *l)
{
    *l = (struct mf_levels){.same = !p->set->is_float};
    if (range->count == 0) return l->same ? MF_OK : find_range(p, l);
    *l = (struct mf_levels){.low = range->at[0], .high = range->at[1]};
    return MF_OK;
}

int mf_pictures_write(const struct mf_dataset *set, const struct mf_levels *l, const void *x, uint8_t *room,
                      const char *path)
{
    int rc;

    for (size_t i = 0; !l->same && i < count_of(set); ++i) {
        const double share = (value_of(set, x, i) - l->low) / (l->high - l->low);

        room[i] = (uint8_t)rint(255 * fmin(1, fmax(0, share)));
    }
    rc = mf_png_write(path, path, set->dims[1], set->dims[2], set->dims[3], l->same ? x : room);
    if (rc != MF_OK) (void)unlink(path);
    return rc;
}
