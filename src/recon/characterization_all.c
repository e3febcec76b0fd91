/* See characterization.h: --descriptor_types all. Leaves out, and reports, what a field, a back end or missing weights
 * exclude. */
#include "src/recon/characterization.h"

#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/desc/registry.h"

/* Why it is not measured of this field; NULL: it is. */
static const char *why_not(const struct mf_session *s, const struct mf_characterization *o,
                           const struct mf_micro *micro, size_t lag, const struct mf_descriptor *row)
{
    const int fields = micro->grey ? micro->fields : micro->phases;

    if (mf_descriptor_is(row, MF_IN_SPACE) && (micro->ndim == 2 || o->slice_mode != MF_SLICES_ALL))
        return "of whole volumes";
    if (mf_descriptor_is(row, MF_OF_PAIRS) && (fields < 2 || !o->multiphase))
        return "of pairs of phases, and there is one";
    if (mf_descriptor_is(row, MF_IS_COUNTED) && micro->grey && row->kind != MF_LINEAL_EXACT)
        return "counted on phases, and the field is grey";
    if (!mf_descriptor_is(row, MF_IN_SPACE) && !mf_slices_of(s->backend, row->family))
        return "the back end has no kernels; try: --device cpu";
    if (!mf_descriptor_is(row, MF_OF_VGG)) return NULL;
    if (!o->vgg) return "no weights of VGG-19 are named; try: --gram_weights_filename";
    if (mf_vgg_feeds(micro, o->pyramid ? lag : 0, mf_descriptor_is(row, MF_OF_ALL))) return NULL;
    return "slices or coarse levels are too small for VGG-19, or phases too many";
}

/* One line for each reason. */
static void say_left_out(const char *file, const char *const why[MF_DESCRIPTORS])
{
    for (size_t first = 0; first < MF_DESCRIPTORS; ++first) {
        char names[512] = "";
        size_t n = 0;

        for (size_t i = 0; why[first] && i < MF_DESCRIPTORS; ++i) {
            if (!why[i] || strcmp(why[i], why[first]) != 0) continue;
            if (i < first) break; /* was said */
            if (n < sizeof names)
                n += (size_t)snprintf(names + n, sizeof names - n, "%s%s", n ? ", " : "", mf_descriptors[i].name);
        }
        if (n) mf_info("'%s': all descriptors but %s (%s)", file, names, why[first]);
    }
}

unsigned mf_characterize_all(const struct mf_session *s, const struct mf_characterization *o, const char *file,
                             const struct mf_micro *micro, size_t lag)
{
    const char *why[MF_DESCRIPTORS] = {NULL};
    unsigned wants = 0;

    for (size_t i = 0; i < MF_DESCRIPTORS; ++i) {
        const unsigned bits = mf_descriptor_wants(&mf_descriptors[i]);

        if (bits) why[i] = why_not(s, o, micro, lag, &mf_descriptors[i]);
        if (!why[i]) wants |= bits;
    }
    say_left_out(file, why);
    return wants;
}
