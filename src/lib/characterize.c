/* See include/mesoforge.h: characterize. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/lib/lib.h"

static void add_array(void *context, const char *path, int ndim, const size_t *dims, const char *axes,
                      const double *values)
{
    mf_lib_result_add(context, path + 1, "f8", sizeof *values, ndim, dims, axes, values);
}

/* Collective. */
static int measure(mesoforge_session *session, const struct mf_cmd *verb, void *options, mesoforge_result *r)
{
    struct mf_characterized made = {0};

    if (mf_characterize_input(&session->work, options, 1))
        return mf_fail(MF_USAGE, "a library's %s measures one field", verb->name);

    MF_TRY(mf_characterize_one(&session->work, options, &made));
    r->own = MF_MUST(malloc(sizeof made), "a result");
    *r->own = made;
    mf_target_each(&r->own->target, add_array, r);
    return MF_OK;
}

const struct mf_lib_verb mf_lib_characterize = {&mf_cmd_characterize, measure};

int mesoforge_characterize(mesoforge_session *session, const mesoforge_field *field, const char *options,
                           mesoforge_result **result)
{
    return mf_lib_call(session, &mf_lib_characterize, field, NULL, options, result);
}
