/* See micro_priv.h: the size of voxels. */
#include <stdio.h>

#include "io/micro_priv.h"
#include "io/units.h"
#include "src/base/err.h"
#include "src/base/log.h"

/* --spacing and --unit replace what the file states, each by itself. */
static void say_replaced(const struct mf_reading *r)
{
    const struct mf_micro *m = r->micro;
    const struct mf_size file = {r->array.path, m->ndim, r->array.spacing, r->array.unit},
                         now = {r->array.path, m->ndim, m->spacing, m->unit};
    char was[MF_SIZE_TEXT], is[MF_SIZE_TEXT];

    if (!mf_size_stated(&file) || !mf_sizes_differ(&file, &now)) return;
    mf_size_text(&file, was);
    mf_size_text(&now, is);
    mf_info("'%s': pixels of %s, by --spacing or --unit; the file says %s", file.file, is, was);
}

static void say_size_of_mask(const struct mf_reading *r)
{
    const struct mf_micro *m = r->micro, *mask = r->micro->mask;

    mf_sizes_warn(&(struct mf_size){r->array.path, m->ndim, m->spacing, m->unit},
                  &(struct mf_size){r->read->mask, mask->ndim, mask->spacing, mask->unit},
                  "the mask is laid over it pixel by pixel");
}

/* Spacing and unit: the user's, else the file's, else 1. A bad one of a mask counts as none. */
int mf_reading_scale(struct mf_reading *r)
{
    const struct mf_micro_read *read = r->read;
    const int bad = r->array.scaled && *r->array.unscaled, scaled = r->array.scaled && !bad;
    struct mf_micro *m = r->micro;

    if (bad && !read->spacing && !read->is_mask && !read->partial && !read->of_sample)
        return mf_fail(MF_INPUT, "'%s': %s; correct its header, or give --spacing (characterize, match)", r->array.path,
                       r->array.unscaled);

    for (int i = 0; i < 3; ++i) m->spacing[i] = read->spacing ? read->spacing[i] : scaled ? r->array.spacing[i] : 1;
    if (m->ndim == 2) m->spacing[0] = 1;
    snprintf(m->unit, sizeof m->unit, "%s", read->unit ? read->unit : scaled ? r->array.unit : "");
    if (scaled && (read->spacing || read->unit)) say_replaced(r);
    if (m->mask) say_size_of_mask(r);
    return MF_OK;
}
