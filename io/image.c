/* Colours of images. See image.h. */
#include "io/image.h"

#include "src/base/err.h"

int mf_image_keep_colours(struct mf_array *a)
{
    if (a->format != MF_PNG && a->format != MF_TIFF)
        return mf_fail(MF_INPUT,
                       "'%s' is neither PNG nor TIFF, of which alone colours are kept; samples of .npy have "
                       "channels in their last axis",
                       a->path);
    if (a->ndim != 2)
        return mf_fail(MF_INPUT, "'%s' has %zu pages, and colours are kept of one; save each page as a picture",
                       a->path, a->shape[0]);
    a->channels = 3;
    a->shape[a->ndim++] = 3;
    a->said &= ~MF_SAID_GREY;
    return MF_OK;
}

int mf_image_colours(const struct mf_array *a, const char *is, const char *more)
{
    return mf_fail(MF_INPUT, "'%s' %s; %s%s", a->path, is, a->remedy ? a->remedy : "convert it to grey", more);
}
