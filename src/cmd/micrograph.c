/* See micrograph.h. */
#include "src/cmd/micrograph.h"

#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"

char *mf_command_typed(const struct mf_session *session)
{
    char *line = mf_options_line(session->options, ' ');
    char *text = mf_format("mesoforge %s %s", mf_options_verb(session->options), line);

    free(line);
    return text;
}

int mf_micrograph_read(const struct mf_session *session, const char *file, const struct mf_reals *spacing,
                       const struct mf_longs *crop, struct mf_micro_read read, struct mf_micro *micro)
{
    double edge[3];
    struct mf_crop part;
    char *command = mf_command_typed(session);
    int rc;

    mf_spacing_spread(spacing, edge);
    read.spacing = spacing->count ? edge : NULL;
    read.crop = mf_crop_of(crop, &part);
    read.command = command;
    rc = mf_micro_read(session->comm, session->arena, file, &read, micro);
    free(command);
    MF_TRY(rc);
    rc = mf_spacing_fits(spacing, micro->ndim);
    if (rc != MF_OK) mf_micro_free(micro);
    return rc;
}

void mf_gram_weights_unused(const struct mf_options *options, unsigned more)
{
    static const char *const words[] = {"nl_method", "gram_weights_filename"};

    for (size_t i = 0; !mf_vgg_wanted(more) && i < sizeof words / sizeof *words; ++i)
        if (mf_options_given(options, words[i]))
            mf_warn("--%s has no effect: none of the descriptors uses it", words[i]);
}
