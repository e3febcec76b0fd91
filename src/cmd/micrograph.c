/* See micrograph.h. */
#include "src/cmd/micrograph.h"

#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"

char *mf_command_typed(const struct mf_session *session)
{
    char *line = mf_options_line(mf_options_of(session), ' ');
    char *text = mf_format("mesoforge %s %s", mf_options_verb(mf_options_of(session)), line);

    free(line);
    return text;
}

void mf_gram_weights_unused(const struct mf_options *options, unsigned more)
{
    static const char *const words[] = {"nl_method", "gram_weights_filename"};

    for (size_t i = 0; !mf_vgg_wanted(more) && i < sizeof words / sizeof *words; ++i)
        if (mf_options_given(options, words[i]))
            mf_warn("--%s has no effect: none of the descriptors uses it", words[i]);
}
