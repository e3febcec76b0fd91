/* See registry.h. */
#include "src/model/registry.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/model/archs.h"

const char *const mf_features_names[] = {"none", "cnn"};

enum { TOP = 2 };
static const double TEMPERATURE = 0.8;

const struct mf_arch *const mf_archs[] = {&mf_arch_mlp, &mf_arch_cnn, &mf_arch_vit, &mf_arch_moe, NULL};

const struct mf_arch *mf_arch_find(const char *name)
{
    for (size_t k = 0; mf_archs[k]; ++k)
        if (strcmp(mf_archs[k]->name, name) == 0) return mf_archs[k];
    return NULL;
}

static int complete(const struct mf_arch *arch, const char *option, long standard, long *size)
{
    if (*size < 0) return mf_fail(MF_USAGE, "--%s %ld: it must be at least 1", option, *size);
    if (*size > 0 && standard == 0) return mf_fail(MF_USAGE, "--%s: --arch %s has no %s", option, arch->name, option);
    if (*size == 0) *size = standard;
    return MF_OK;
}

/* The mixture of experts. */
static int complete_mixture(const struct mf_arch *arch, struct mf_arch_args *args)
{
    const struct mf_arch_args *own = &arch->standard;

    if (args->experts > 0 && !arch->mixes) return mf_fail(MF_USAGE, "--experts: --arch %s has none", arch->name);
    if (args->experts == 0) args->experts = own->experts;
    if (args->experts == 0) return MF_OK;
    if (args->top == 0) args->top = args->experts < TOP ? args->experts : TOP;
    if (args->temperature == 0) args->temperature = TEMPERATURE;
    if (args->experts < 0 || args->experts > MF_EXPERTS)
        return mf_fail(MF_USAGE, "--experts %ld: it must be from 1 to %d", args->experts, MF_EXPERTS);
    if (args->top < 1 || args->top > args->experts)
        return mf_fail(MF_USAGE, "--top-k %ld: a row goes to 1 expert at least, and to %ld at most (--experts)",
                       args->top, args->experts);
    if (!(args->temperature > 0) || !isfinite(args->temperature))
        return mf_fail(MF_USAGE, "--temperature %g: it must be above 0", args->temperature);
    if (!(args->noise >= 0) || !isfinite(args->noise))
        return mf_fail(MF_USAGE, "--router-noise %g: it cannot be negative", args->noise);
    if (!(args->balance >= 0) || !isfinite(args->balance))
        return mf_fail(MF_USAGE, "--balance %g: it cannot be negative", args->balance);
    if (!(args->capacity >= 0) || !isfinite(args->capacity))
        return mf_fail(MF_USAGE, "--capacity-factor %g: it cannot be negative", args->capacity);
    return MF_OK;
}

int mf_arch_complete(const struct mf_arch *arch, struct mf_arch_args *args)
{
    const struct mf_arch_args *own = &arch->standard;

    MF_TRY(complete(arch, "width", own->width, &args->width));
    MF_TRY(complete(arch, "depth", own->depth, &args->depth));
    MF_TRY(complete(arch, "heads", own->heads, &args->heads));
    MF_TRY(complete(arch, "patch", own->patch, &args->patch));
    MF_TRY(complete_mixture(arch, args));
    if (args->dropout >= 0 && args->dropout < 1) return MF_OK;
    return mf_fail(MF_USAGE, "--dropout %g: it must be from 0 to below 1", args->dropout);
}

struct mf_mixture mf_arch_mixture(const struct mf_arch_args *args, struct mf_experts *first, size_t width, size_t depth,
                                  size_t columns)
{
    mf_experts_first(first, (size_t)args->experts);
    return (struct mf_mixture){.experts = args->list ? args->list : first,
                               .top = (size_t)args->top,
                               .temperature = args->temperature,
                               .noise = args->noise,
                               .capacity = args->capacity,
                               .balance = args->balance,
                               .width = width,
                               .depth = depth,
                               .columns = columns};
}
