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
static int measure(mesoforge_session *session, void *options, mesoforge_result *r)
{
    struct mf_characterized made = {0};

    MF_TRY(mf_characterize_one(&session->work, options, &made));
    r->own = MF_MUST(malloc(sizeof made), "a result");
    *r->own = made;
    mf_target_each(&r->own->target, add_array, r);
    return MF_OK;
}

int mesoforge_characterize(mesoforge_session *session, const mesoforge_field *field, const char *options,
                           mesoforge_result **result)
{
    struct mf_characterize_cmd o;
    const struct mf_lib_call call = {.verb = &mf_cmd_characterize, .into = &o, .work = measure};

    return mf_lib_call(session, &call, field, options, result);
}
