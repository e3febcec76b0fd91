/* See include/mesoforge.h: characterize. */
#include "src/base/err.h"
#include "src/lib/lib.h"

/* Collective. */
static int measure(mesoforge_session *session, const struct mf_cmd *verb, void *options, mesoforge_result *r)
{
    struct mf_characterized made = {0};

    if (mf_characterize_input(&session->work.session, options, 1))
        return mf_fail(MF_USAGE, "a library's %s measures one field", verb->name);

    MF_TRY(mf_characterize_one(&session->work.session, options, &made));
    mf_lib_result_own(r, &made);
    return MF_OK;
}

const struct mf_lib_verb mf_lib_characterize = {&mf_cmd_characterize, measure};

int mesoforge_characterize(mesoforge_session *session, const mesoforge_field *field, const char *options,
                           mesoforge_result **result)
{
    return mf_lib_call(session, &mf_lib_characterize, field, NULL, options, result);
}
