/* See lib.h: the call of a verb. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/same.h"
#include "src/lib/lib.h"

/* Local. */
static int parse(const mesoforge_session *session, struct mf_lib_call *call, const mesoforge_field *field,
                 const char *text)
{
    const struct mf_cmd *verb = call->verb;
    char **argv;
    int argc, rc;

    if (!mf_lib_has(session, field)) return mf_fail(MF_USAGE, "this is no field of the session");
    MF_TRY(mf_lib_words(text, field->name, verb->tables, &argc, &argv));
    rc = mf_options_parse(&call->options, verb->name, verb->tables, verb->keys, call->into, verb->size, argc, argv,
                          verb->positional_max);
    mf_lib_words_free(argv);
    MF_TRY(rc);
    return mf_lib_check_words(call->options);
}

/* Options of the session are those of every verb, except for what a call alone says. */
static void share(const mesoforge_session *session, struct mf_common *common)
{
    const long seed = common->seed;

    *common = session->common;
    common->seed = seed;
}

int mf_lib_call_begin(mesoforge_session *session, struct mf_lib_call *call, const mesoforge_field *field,
                      const char *text)
{
    MF_TRY(mf_agree(&session->comm, parse(session, call, field, text)));
    MF_TRY(mf_same_options(&session->comm, call->options));
    share(session, call->into);
    session->work.common = call->into;
    session->work.options = call->options;
    session->work.remedy = call->verb->remedy;
    session->work.start = mf_now();
    return mf_agree(&session->comm, call->verb->check ? call->verb->check(&session->work, call->into) : MF_OK);
}

void mf_lib_call_end(mesoforge_session *session, struct mf_lib_call *call)
{
    session->work.common = &session->common;
    session->work.options = session->options;
    mf_options_free(call->options);
}
