/* See include/mesoforge.h: characterize, and its result. */
#include <stdlib.h>

#include "src/base/err.h"
#include "src/cmd/recon/characterize.h"
#include "src/lib/lib.h"

enum { PATH = 32, ARRAYS_MOST = 3 * (5 + MF_MORE) + MF_WHOLE };

struct mesoforge_result {
    struct mf_characterized own;
    char name[MF_FIELD_NAME]; /* of the field */
    char *json;               /* NULL: nobody has asked for it */
    size_t arrays;
    struct mesoforge_array array[ARRAYS_MOST];
    char path[ARRAYS_MOST][PATH];
};

static void add_array(void *context, const char *path, int ndim, const size_t *dims, const char *axes,
                      const double *values)
{
    mesoforge_result *r = context;
    struct mesoforge_array *a = &r->array[r->arrays];
    ptrdiff_t step = sizeof *values;

    MF_ASSERT(r->arrays < ARRAYS_MOST);
    snprintf(r->path[r->arrays], PATH, "%s", path + 1); /* without the first slash */
    *a = (struct mesoforge_array){.type = "f8", .ndim = ndim, .data = values, .name = r->path[r->arrays], .axes = axes};
    for (int i = ndim - 1; i >= 0; step *= (ptrdiff_t)dims[i--]) {
        a->shape[i] = dims[i];
        a->stride[i] = step;
    }
    ++r->arrays;
}

/* Collective. */
static int measure(mesoforge_session *session, struct mf_characterize_cmd *o, const mesoforge_field *field,
                   mesoforge_result **result)
{
    mesoforge_result *r = calloc(1, sizeof *r);
    int rc = mf_agree(&session->comm, r ? MF_OK : mf_fail(MF_MEMORY, "no memory for a result"));

    if (rc == MF_OK) rc = mf_characterize_one(&session->work, o, &r->own);
    if (rc != MF_OK) {
        free(r);
        return rc;
    }
    snprintf(r->name, sizeof r->name, "%s", field->name);
    mf_target_each(&r->own.target, add_array, r);
    *result = r;
    return MF_OK;
}

int mesoforge_characterize(mesoforge_session *session, const mesoforge_field *field, const char *options,
                           mesoforge_result **result)
{
    struct mf_characterize_cmd o;
    struct mf_lib_call call = {.verb = &mf_cmd_characterize, .into = &o};
    int rc = mf_lib_enter(session);

    if (rc != MF_OK) return mf_lib_told(rc);
    if (!result) return mf_lib_leave(session, mf_fail(MF_USAGE, "there is no place for the result"));
    *result = NULL;
    rc = mf_lib_call_begin(session, &call, field, options);
    if (rc == MF_OK) rc = measure(session, &o, field, result);
    mf_lib_call_end(session, &call);
    return mf_lib_leave(session, rc);
}

const char *mesoforge_result_json(mesoforge_result *result)
{
    struct mf_json *json;

    if (!result) return NULL;
    if (!result->json) {
        json = mf_characterized_json(&result->own, result->name);
        result->json = mf_json_string(json);
        mf_json_free(json);
    }
    return result->json;
}

int mesoforge_result_array(const mesoforge_result *result, size_t i, struct mesoforge_array *array)
{
    if (!result || !array || i >= result->arrays) return 0;
    *array = result->array[i];
    return 1;
}

void mesoforge_result_free(mesoforge_result *result)
{
    if (!result) return;
    mf_characterized_free(&result->own);
    free(result->json);
    free(result);
}
