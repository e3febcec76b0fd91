/* See scale.h. */
#include "src/train/scale.h"

void mf_scale_begin(const struct mf_scale_opts *opts, struct mf_scale *scale)
{
    *scale = (struct mf_scale){.value = opts->window ? opts->start : 1, .left = (long)opts->patience};
}

int mf_scale_move(const struct mf_scale_opts *opts, struct mf_scale *scale, int skipped)
{
    if (!opts->window) return 0;
    if (!skipped) {
        if (++scale->clean < (long)opts->window) return 0;
        scale->clean = 0;
        scale->left = (long)opts->patience;
        scale->value *= 2;
        return 0;
    }
    scale->clean = 0;
    if (scale->value <= opts->least) return 0;
    ++scale->lost;
    if (--scale->left > 0) return 1;
    scale->left = 1; /* until it grows again */
    scale->value /= 2;
    return 1;
}
