/* See lib.h and include/mesoforge.h: results. */
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/room.h"
#include "src/lib/lib.h"

int mf_lib_result_new(const mesoforge_session *session, const char *name, mesoforge_result **result)
{
    mesoforge_result *r = calloc(1, sizeof *r);
    int rc = mf_agree(&session->comm, r ? MF_OK : mf_fail(MF_MEMORY, "no memory for a result"));

    if (rc != MF_OK) {
        free(r);
        return rc;
    }
    snprintf(r->name, sizeof r->name, "%s", name);
    snprintf(r->command, sizeof r->command, "%s", mf_options_verb(session->work.options));
    r->options = mf_options_yaml(session->work.options);
    r->seed = session->work.common->seed;
    *result = r;
    return MF_OK;
}

void mf_lib_result_add(mesoforge_result *r, const char *name, const char *type, size_t size, int ndim,
                       const size_t *dims, const char *axes, const void *values)
{
    struct mesoforge_array *a = &r->array[r->arrays];
    ptrdiff_t step = (ptrdiff_t)size;

    MF_ASSERT(r->arrays < MF_RESULT_ARRAYS);
    snprintf(r->path[r->arrays], MF_RESULT_PATH, "%s", name);
    *a = (struct mesoforge_array){.type = type, .ndim = ndim, .data = values, .name = r->path[r->arrays], .axes = axes};
    for (int i = ndim - 1; i >= 0; step *= (ptrdiff_t)dims[i--]) {
        a->shape[i] = dims[i];
        a->stride[i] = step;
    }
    ++r->arrays;
}

int mf_lib_result_copy(mesoforge_result *r, const char *name, const char *type, size_t size, int ndim,
                       const size_t *dims, const char *axes, const void *values)
{
    size_t bytes = size;
    void *copy;

    for (int i = 0; i < ndim; ++i) bytes *= dims[i];
    copy = mf_room(bytes + 1, 1, "the result '%s'", name);
    if (!copy) return MF_MEMORY;
    memcpy(copy, values, bytes);
    MF_ASSERT(r->fields < MF_RESULT_FIELDS);
    r->field[r->fields++] = copy;
    mf_lib_result_add(r, name, type, size, ndim, dims, axes, copy);
    return MF_OK;
}

void mf_lib_result_printed(const mesoforge_session *session, mesoforge_result *r)
{
    r->json = mf_comm_text(&session->comm, r->printed ? r->printed : "null");
}

static void add_array(void *context, const char *path, int ndim, const size_t *dims, const char *axes,
                      const double *values)
{
    mf_lib_result_add(context, path + 1, "f8", sizeof *values, ndim, dims, axes, values);
}

void mf_lib_result_own(mesoforge_result *r, const struct mf_characterized *made)
{
    r->own = MF_MUST(malloc(sizeof *made), "a result");
    *r->own = *made;
    mf_target_each(&r->own->target, add_array, r);
}

const char *mesoforge_result_json(mesoforge_result *result)
{
    struct mf_json *json;

    if (!result) return NULL;
    if (!result->json) {
        json = mf_characterized_json(result->own, result->name);
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
    if (result->own) mf_characterized_free(result->own);
    free(result->own);
    if (!result->kept.memory) free(result->phase);
    mf_kept_free(&result->kept);
    for (size_t i = 0; i < result->fields; ++i) free(result->field[i]);
    free(result->options);
    free(result->json);
    free(result->printed);
    free(result);
}
