/* See match.h. */
#include "src/recon/match.h"

#include <stdio.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/log.h"

static const char *const plain[] = {"FFTCorrelations", "Variation"}, *const automatic[] = {"auto"};

/* Is something said of what is compared that recipes do not know? */
static int is_settled(const struct mf_match *o)
{
    return o->weights.count || o->compat || o->mask || o->grey_values || o->loss != MF_MSE ||
           o->slice_objective != MF_OBJECTIVE_EACH || mf_method_of(o->optimizer)->swaps;
}

struct mf_match mf_match_defaults(void)
{
#define SET(field, value) .field = (value),
    return (struct mf_match){MF_MATCH_DEFAULTS(SET).mutation_rule = MF_MUTATE_RELAXED};
#undef SET
}

void mf_recon_default(struct mf_match *o, int micrograph)
{
    if (o->types.count == 1 && mf_recon_is_auto(o) && mf_method_of(o->optimizer)->swaps) o->types.count = 0;
    if (o->types.count) return;
    o->types = micrograph && !is_settled(o) ? (struct mf_texts){1, automatic} : (struct mf_texts){2, plain};
}

int mf_recon_may_explain(const struct mf_match *o)
{
    if (!o->explain || mf_recon_is_auto(o)) return MF_OK;
    return mf_fail(MF_USAGE, "--explain needs --descriptor_types auto, but %s",
                   o->given.types ? "--descriptor_types names descriptors"
                                  : "other options of this run select S2 and Variation");
}

void mf_auto_explain(const struct mf_target_look *look)
{
    char wave[80] = "does not oscillate", period[40] = "", cells[60] = "", sizes[80] = "";

    if (look->trough < 0) snprintf(wave, sizeof wave, "falls to %.2f and rises to %.2f", look->trough, look->crest);
    if (look->wave > 0) snprintf(period, sizeof period, ", with a period of %.1f pixels", 1 / look->wave);
    if (look->cells > 0) snprintf(cells, sizeof cells, "; walls separate cells of %.0f pixels", 1 / look->cells);
    if (look->sizes >= 0)
        snprintf(sizes, sizeof sizes, "; areas of inclusions vary by %.2f of their mean (one size: below 0.3)",
                 look->sizes);
    mf_info("auto: %d phases, the rarest %.3f; edge coherence %.2f times a surrogate image's (lines: above 1.25); "
            "autocovariance %s (a wave: below -0.1, then above 0.05, in images of 4 L pixels or more)%s; mismatch of "
            "opposite borders %.2f (0: as of adjacent rows, 1: as of unrelated rows, periodic: below 0.5)%s%s",
            look->phases, look->rare, look->coherence, wave, period, look->seam, cells, sizes);
}

void mf_auto_list(const struct mf_recipe *recipe, char *text, size_t size)
{
    size_t used = 0;

    text[0] = 0;
    for (size_t t = 0; t < recipe->terms && used < size; ++t) {
        int n = snprintf(text + used, size - used, "%s%s %g", t ? ", " : "", recipe->type[t], recipe->weight[t]);

        if (n > 0) used += (size_t)n;
    }
}

static int begins_anew(const struct mf_match *o) { return !o->initial_file; }

static void take_grids(const struct mf_recipe *recipe, struct mf_match *o)
{
    if (recipe->coarse_to_fine && begins_anew(o) && !o->given.grids) o->multigrid = 1;
    if (!o->multigrid) return;
    if (!o->given.coarse_iter) o->coarse_iter = recipe->coarse_evaluations;
    if (!o->given.coarsest) o->coarsest = recipe->coarsest;
}

static void take(const struct mf_recipe *recipe, long usual_iter, struct mf_match *o)
{
    o->types = (struct mf_texts){recipe->terms, recipe->type};
    o->weights = (struct mf_reals){recipe->terms, recipe->weight};
    if (recipe->levels && !o->level_weights.count)
        o->level_weights = (struct mf_reals){recipe->levels, recipe->level_weight};
    take_grids(recipe, o);
    if (recipe->unpolished && !o->given.polish_rounds) o->no_polish = 1;
    if (recipe->lag && recipe->lag < o->lag && !o->given.lag) o->lag = recipe->lag;
    if (usual_iter && !o->given.max_iter) o->max_iter = usual_iter;
    if (recipe->history && !o->given.history) o->history = recipe->history;
}

void mf_auto_lag(long lag) { mf_info("L = %ld, half of the shortest edge; --limit_to sets another", lag); }

void mf_recon_fit(struct mf_match *o, const struct mf_micro *micro)
{
    const long extent[3] = {o->extent_z, o->extent_y, o->extent_x};
    size_t edge = SIZE_MAX;

    if (o->compat || o->given.lag) return;
    for (int a = micro->ndim == 2; a < 3; ++a) edge = mf_min(edge, micro->slab.dims[a]);
    if (o->given.add_dimension && o->add_dimension > 1) edge = mf_min(edge, (size_t)o->add_dimension);
    for (size_t i = 0; i < o->size.count; ++i)
        if (o->size.at[i] > 1) edge = mf_min(edge, (size_t)o->size.at[i]);
    for (int a = 0; a < 3; ++a)
        if (o->given.extent[a] && extent[a] > 1) edge = mf_min(edge, (size_t)extent[a]);
    if (edge < 2 || edge / 2 >= (size_t)o->lag) return;
    o->lag = (long)(edge / 2);
    mf_auto_lag(o->lag);
}

/* Coarser grids need levels of the example, and noise to begin with. */
static int may_begin_coarse(const struct mf_match *o, const struct mf_target *target)
{
    const struct mf_target_side *side = &target->side[0];

    return begins_anew(o) && (o->multigrid || !o->given.grids) &&
           mf_levels(side->example_nu, side->example_nv, target->lag) > 1;
}

/* Considers the properties of the result that bear on the choice. The first of three images says how large it is. */
static int consider_result(const struct mf_match *o, const struct mf_target *target, const size_t *volume,
                           struct mf_target_look *look, int *is_volume)
{
    size_t dims[3];

    MF_TRY(mf_recon_extents(o, target, volume, dims));
    if (o->files.count == 3 && dims[0] == 1) dims[0] = dims[1];
    mf_recipe_for(dims, look);
    if (!may_begin_coarse(o, target)) look->result = 0;
    if (o->multigrid) look->coarsest = mf_min(look->edge, mf_max(2 * target->lag, (size_t)o->coarsest));
    *is_volume = dims[0] > 1;
    return MF_OK;
}

/* The choice, on one line. */
static void say(const struct mf_match *o, const struct mf_match_run *r, const struct mf_target *target, const char *why)
{
    char text[256], best[48] = "", start[80] = "", from[340] = "", grids[80] = "";

    mf_auto_list(r->recipe, text, sizeof text);
    if (target->look.phases) snprintf(from, sizeof from, ", by the image statistics of '%s'", target->source);
    if (o->candidates > 1) snprintf(best, sizeof best, "; the best of %ld candidates", o->candidates);
    if (r->layers > 0)
        snprintf(start, sizeof start, "; starts from layers with a period of %.1f voxels", 1 / r->layers);
    if (r->cells > 0) snprintf(start, sizeof start, "; starts from cells of %.0f pixels", 1 / r->cells);
    if (o->multigrid) snprintf(grids, sizeof grids, "; coarse to fine");
    if (o->multigrid && o->coarse_iter)
        snprintf(grids, sizeof grids, "; coarse to fine (%ld evaluations, on coarser grids %ld)", o->max_iter,
                 o->coarse_iter);
    mf_info("auto%s: %s, as %s; the micrograph is taken as %speriodic: %s%s%s%s", from, r->recipe->name, why,
            r->target_open ? "not " : "", text, start, grids, best);
    if (r->example_max)
        mf_info("auto: Patches uses at most the middle %zu x %zu pixels, to save time", r->example_max, r->example_max);
}

/* Candidates begin anew, each by its own seed. */
static int may_choose(const struct mf_match *o) { return !o->given.candidates && o->max_iter > 0 && begins_anew(o); }

/* Why, and where a volume does without what an image like it would have, that too. */
static const char *reason(const struct mf_target_look *look, const struct mf_recipe *recipe, const char *why,
                          char text[300])
{
    const char *same;
    const struct mf_recipe *flat = mf_recipe_choose(look, 0, &same);

    if (strcmp(flat->name, recipe->name) == 0) return why;
    snprintf(text, 300, "%s (the recipe for such images, %s, does not apply to volumes)", why, flat->name);
    return text;
}

/* A target that knows what was seen of its micrograph was measured as it is. */
static int settle(const struct mf_session *s, struct mf_match *o, struct mf_match_run *r,
                  const struct mf_target *target, const size_t *volume, struct mf_target_look look)
{
    const struct mf_recipe *recipe;
    int is_volume = 0;
    char text[300];
    const char *why;

    MF_TRY(mf_agree(s->comm, mf_recon_worth(target)));
    MF_TRY(mf_agree(s->comm, consider_result(o, target, volume, &look, &is_volume)));
    if (o->explain) mf_auto_explain(&look);
    recipe = mf_recipe_choose(&look, is_volume, &why);
    r->recipe = recipe;
    r->usual_iter = mf_recipe_evaluations(recipe, &look);
    take(recipe, r->usual_iter, o);
    why = reason(&look, recipe, why, text);
    r->example_max = mf_recipe_example(recipe, &look, is_volume);
    if (may_choose(o)) o->candidates = mf_recipe_candidates(recipe, &look);
    r->target_open =
        target->look.phases ? !target->periodic : o->non_periodic || (!is_volume && !mf_recipe_periodic(&look));
    if (is_volume && begins_anew(o) && !o->multigrid) r->layers = recipe->layers * look.wave;
    if (recipe->cells && begins_anew(o) && !o->multigrid) {
        r->cells = look.cells;
        r->bend = recipe->bend;
    }
    say(o, r, target, why);
    return MF_OK;
}

int mf_recon_choose(const struct mf_session *s, struct mf_match *o, struct mf_match_run *r,
                    const struct mf_target *target, const size_t *volume)
{
    struct mf_target_look look;

    MF_TRY(mf_agree(s->comm, mf_recipe_look(s->arena, target, &look)));
    return settle(s, o, r, target, volume, look);
}

/* A file has the L that it has. */
static void say_lag(const struct mf_match *o, const struct mf_target *target)
{
    const size_t lag = mf_min((size_t)o->lag, target->look.edge / 2);

    if (lag >= 1 && lag != target->lag && !o->given.lag)
        mf_info("auto: the descriptors have L = %zu; match would use %zu for this result", target->lag, lag);
}

int mf_recon_recall(const struct mf_session *s, struct mf_match *o, struct mf_match_run *r, struct mf_target *target,
                    const char *file)
{
    if (!mf_recon_is_auto(o)) return MF_OK;
    if (target->look.foreign)
        return mf_fail(MF_INPUT,
                       "'%s' holds image statistics (look) of another version; name the descriptors, or measure it "
                       "again: mesoforge characterize --descriptor_types auto",
                       file);
    if (!target->look.phases) {
        if (o->given.types)
            return mf_fail(MF_INPUT,
                           "'%s' holds no image statistics; name the descriptors, or try: mesoforge characterize "
                           "--descriptor_types auto",
                           file);
        o->types = (struct mf_texts){2, plain};
        if (o->explain)
            mf_warn("--explain: '%s' holds no image statistics, so nothing is chosen; try: mesoforge characterize "
                    "--descriptor_types auto",
                    file);
        return MF_OK;
    }
    MF_TRY(settle(s, o, r, target, NULL, target->look));
    say_lag(o, target);
    for (int i = 0; i < target->sides && r->example_max; ++i) mf_target_example_cut(&target->side[i], r->example_max);
    return MF_OK;
}
