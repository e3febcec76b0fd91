/* See recon_auto.h. */
#include "src/cmd/recon_auto.h"

#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"

static int makes_volume(const struct mf_session *s, const struct mf_recon_cmd *o)
{
    return o->files.count > 1 || (o->size.count == 3 && o->size.at[0] > 1) ||
           (mf_options_given(s->options, "add-dimension") && o->add_dimension > 1) ||
           (mf_options_given(s->options, "extent-z") && o->extent_z > 1);
}

/* What was seen, on one line. */
static void explain(const struct mf_recipe_look *look)
{
    mf_info("auto: %d phases, the rarest %.3f; coherence of edges %.2f of a surrogate's (lines: above 1.75); "
            "autocovariance falls to %.2f and rises to %.2f (a wave: below -0.1, above 0.05); borders fit as 0 "
            "neighbours .. 1 strangers do: %.2f (periodic: below 0.5)",
            look->phases, look->rare, look->coherence, look->trough, look->crest, look->seam);
}

/* "FFTCorrelations 7.6, Variation 3.2, .." */
static void list(const struct mf_recon_cmd *o, char *text, size_t size)
{
    size_t used = 0;

    text[0] = 0;
    for (size_t t = 0; t < o->types.count && used < size; ++t) {
        int n = snprintf(text + used, size - used, "%s%s %g", t ? ", " : "", o->types.at[t], o->weights.at[t]);

        if (n > 0) used += (size_t)n;
    }
}

static void take(const struct mf_session *s, const struct mf_recipe *recipe, struct mf_recon_cmd *o)
{
    o->recipe = recipe;
    o->types = (struct mf_texts){recipe->terms, (const char **)(uintptr_t)recipe->type};
    o->weights = (struct mf_reals){recipe->terms, (double *)(uintptr_t)recipe->weight};
    if (recipe->levels && !o->level_weights.count)
        o->level_weights = (struct mf_reals){recipe->levels, (double *)(uintptr_t)recipe->level_weight};
    if (recipe->unpolished && !mf_options_given(s->options, "polish-rounds")) o->no_polish = 1;
    if (recipe->lag && recipe->lag < o->lag && !mf_options_given(s->options, "limit-to")) o->lag = recipe->lag;
    if (recipe->evaluations && !mf_options_given(s->options, "max-iter")) o->max_iter = recipe->evaluations;
    if (recipe->history && !mf_options_given(s->options, "history")) o->history = recipe->history;
}

static long least(long a, long b) { return a < b ? a : b; }

void mf_recon_fit(const struct mf_session *s, struct mf_recon_cmd *o, const struct mf_micro *micro)
{
    static const char *const words[3] = {"extent-z", "extent-y", "extent-x"};
    const long extent[3] = {o->extent_z, o->extent_y, o->extent_x};
    long edge = LONG_MAX;

    if (mf_options_given(s->options, "limit-to")) return;
    for (int a = micro->ndim == 2; a < 3; ++a) edge = least(edge, (long)micro->slab.dims[a]);
    if (mf_options_given(s->options, "add-dimension") && o->add_dimension > 1) edge = least(edge, o->add_dimension);
    for (size_t i = 0; i < o->size.count; ++i)
        if (o->size.at[i] > 1) edge = least(edge, o->size.at[i]);
    for (int a = 0; a < 3; ++a)
        if (mf_options_given(s->options, words[a]) && extent[a] > 1) edge = least(edge, extent[a]);
    if (edge >= 2) o->lag = least(o->lag, edge / 2);
}

int mf_recon_choose(const struct mf_session *s, struct mf_recon_cmd *o, const struct mf_target *target, int volume)
{
    const struct mf_recipe *recipe;
    struct mf_recipe_look look;
    const char *why;
    char text[256];

    MF_TRY(mf_agree(s->comm, mf_recipe_look(s->arena, target, &look)));
    volume = volume || makes_volume(s, o);
    recipe = mf_recipe_choose(&look, volume, &why);
    if (o->explain) explain(&look);
    take(s, recipe, o);
    o->target_open = o->non_periodic || (!volume && !mf_recipe_periodic(&look));
    list(o, text, sizeof text);
    mf_info("auto: %s, as %s; the micrograph is taken as %speriodic: %s", recipe->name, why,
            o->target_open ? "not " : "", text);
    return MF_OK;
}
