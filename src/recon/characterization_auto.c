/* See characterization.h: --descriptor_types auto. The file stores the properties of the micrograph. By them
 * reconstruct chooses again, when it knows the size of the result. */
#include "src/recon/characterization.h"

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/desc/registry.h"
#include "src/recon/match.h"

size_t mf_characterize_lag(const struct mf_characterization *o, const struct mf_micro *micro)
{
    size_t lag = (size_t)o->lag;

    if (o->lag_given || o->compat) return lag;
    for (int a = micro->ndim == 2; a < 3; ++a)
        if (micro->slab.dims[a] < 2) return (size_t)o->lag; /* which no L fits: refused */
    for (int a = micro->ndim == 2; a < 3; ++a)
        if (micro->slab.dims[a] / 2 < lag) lag = micro->slab.dims[a] / 2;
    if (lag < (size_t)o->lag) mf_auto_lag((long)lag);
    return lag;
}

static void say(const struct mf_target *target, const struct mf_recipe *recipe, const char *why,
                const struct mf_characterize_opts *opts)
{
    char text[256];

    mf_auto_list(recipe, text, sizeof text);
    mf_info("auto: %s is %s, as %s; taken as %speriodic, L = %zu; for a result of this size reconstruct will use %s",
            target->source, recipe->name, why, opts->periodic ? "" : "not ", opts->lag, text);
}

int mf_characterize_auto(const struct mf_session *session, const struct mf_characterization *o,
                         const struct mf_micro *micro, const struct mf_target *target,
                         struct mf_characterize_opts *opts, struct mf_target_look *look)
{
    const struct mf_recipe *recipe;
    struct mf_target_look whole;
    const char *why;

    MF_TRY(mf_agree(session->comm, mf_recipe_look(session->arena, target, look)));
    if (o->explain) mf_auto_explain(look);
    whole = *look;
    mf_recipe_for(micro->slab.dims, &whole);
    recipe = mf_recipe_choose(&whole, micro->ndim == 3, &why);
    opts->more |= mf_descriptors_want(recipe->terms, (const char *const *)recipe->type, 0);
    opts->example_max = mf_recipe_example(recipe, &whole, micro->ndim == 3);
    opts->periodic = opts->periodic && (micro->ndim == 3 || mf_recipe_periodic(look));
    if (recipe->lag && (size_t)recipe->lag < opts->lag && !o->lag_given) opts->lag = (size_t)recipe->lag;
    say(target, recipe, why, opts);
    return MF_OK;
}
