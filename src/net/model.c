/* See model.h. */
#include "src/net/model.h"

#include <string.h>

#include "src/base/err.h"
#include "src/net/models.h"

const struct mf_model *const mf_models[] = {&mf_model_mlp, &mf_model_cnn, &mf_model_vit, NULL};

const struct mf_model *mf_model_find(const char *name)
{
    for (size_t k = 0; mf_models[k]; ++k)
        if (strcmp(mf_models[k]->name, name) == 0) return mf_models[k];
    return NULL;
}

static int complete(const struct mf_model *model, const char *option, long standard, long *size)
{
    if (*size < 0) return mf_fail(MF_USAGE, "--%s %ld: it must be at least 1", option, *size);
    if (*size > 0 && standard == 0) return mf_fail(MF_USAGE, "--%s: --arch %s has no %s", option, model->name, option);
    if (*size == 0) *size = standard;
    return MF_OK;
}

int mf_model_complete(const struct mf_model *model, struct mf_model_args *args)
{
    const struct mf_model_args *own = &model->standard;

    MF_TRY(complete(model, "width", own->width, &args->width));
    MF_TRY(complete(model, "depth", own->depth, &args->depth));
    MF_TRY(complete(model, "heads", own->heads, &args->heads));
    MF_TRY(complete(model, "patch", own->patch, &args->patch));
    if (args->dropout >= 0 && args->dropout < 1) return MF_OK;
    return mf_fail(MF_USAGE, "--dropout %g: it must be from 0 to below 1", args->dropout);
}
