/* See lib.h: the call of a verb. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/cmd/same.h"
#include "src/lib/lib.h"

/* Local. */
static int parse(const mesoforge_session *session, const struct mf_lib_call *call, const mesoforge_field *field,
                 const char *text, struct mf_options **options)
{
    const struct mf_cmd *verb = call->verb;
    char **argv;
    int argc, rc;

    if (!mf_lib_has(session, field)) return mf_fail(MF_USAGE, "this is no field of the session");
    MF_TRY(mf_lib_words(text, field->name, verb->tables, &argc, &argv));
    rc = mf_options_parse(options, verb->name, verb->tables, verb->keys, call->into, verb->size, argc, argv,
                          verb->positional_max);
    mf_lib_words_free(argv);
    MF_TRY(rc);
    return mf_lib_check_words(*options);
}

/* Options of the session are those of every verb, except for what a call alone says. */
static void share(const mesoforge_session *session, struct mf_common *common)
{
    const long seed = common->seed;

    *common = session->common;
    common->seed = seed;
}

/* Reads the options, and shows the session to the verb as the verb wants it. Collective. */
static int begin(mesoforge_session *session, const struct mf_lib_call *call, const mesoforge_field *field,
                 const char *text, struct mf_options **options)
{
    MF_TRY(mf_agree(&session->comm, parse(session, call, field, text, options)));
    MF_TRY(mf_same_options(&session->comm, *options));
    share(session, call->into);
    session->work.common = call->into;
    session->work.options = *options;
    session->work.remedy = call->verb->remedy;
    session->work.start = mf_now();
    return mf_agree(&session->comm, call->verb->check ? call->verb->check(&session->work, call->into) : MF_OK);
}

static void end(mesoforge_session *session, struct mf_options *options)
{
    session->work.common = &session->common;
    session->work.options = session->options;
    mf_options_free(options);
}

int mf_lib_call(mesoforge_session *session, const struct mf_lib_call *call, const mesoforge_field *field,
                const char *text, mesoforge_result **result)
{
    struct mf_options *options = NULL;
    mesoforge_result *r = NULL;
    int rc = mf_lib_enter(session);

    if (rc != MF_OK) return mf_lib_told(rc);
    if (!result) return mf_lib_leave(session, mf_fail(MF_USAGE, "there is no place for the result"));
    rc = begin(session, call, field, text, &options);
    if (rc == MF_OK) rc = mf_lib_result_new(session, field, &r);
    if (rc == MF_OK) rc = call->work(session, call->into, r);
    end(session, options);
    *result = rc == MF_OK ? r : NULL;
    if (rc != MF_OK) mesoforge_result_free(r);
    return mf_lib_leave(session, rc);
}
