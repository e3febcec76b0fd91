/* See match.h. */
#include "src/recon/match.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/desc/characterize.h"
#include "src/desc/phases.h"
#include "src/desc/registry.h"

static int is_periodic(const struct mf_match *o, const struct mf_match_run *r)
{
    return !o->non_periodic && !r->target_open;
}

int mf_recon_read(const struct mf_session *s, const struct mf_match *o, const char *file, int unhashed,
                  struct mf_micro *micro)
{
    const struct mf_micro_read read = {.command = o->command,
                                       .threshold = o->threshold,
                                       .label_count = o->labels.count,
                                       .labels = o->labels.at,
                                       .unit = o->unit,
                                       .dataset = o->dataset,
                                       .mask = o->mask,
                                       .crop_bar = o->crop_bar,
                                       .grey = o->grey_values,
                                       .unhashed = unhashed};

    return mf_micrograph_read(s, file, &o->spacing, &o->crop, read, micro);
}

static struct mf_characterize_opts characterize_opts(const struct mf_match *o, const struct mf_match_run *r)
{
    const unsigned more = mf_recon_more(o);

    return (struct mf_characterize_opts){.lag = (size_t)o->lag,
                                         .levels = o->no_pyramid ? 1 : 0,
                                         .periodic = is_periodic(o, r),
                                         .steady = 1,
                                         .seam = o->compat,
                                         .isotropic = o->isotropic,
                                         .more = more & MF_WANTS_MORE,
                                         .cross = (more & MF_WANTS_CROSS) != 0,
                                         .whole = mf_wants_whole(more),
                                         .threshold = o->soft,
                                         .steepness = o->steepness,
                                         .vgg = r->vgg,
                                         .example = 1,
                                         .example_max = r->example_max,
                                         .symmetry = o->symmetry};
}

static int measure(struct mf_session *s, const struct mf_match *o, const struct mf_match_run *r, const char *file,
                   struct mf_micro *micro, struct mf_target *target)
{
    const struct mf_characterize_opts c = characterize_opts(o, r);
    int rc;
    MF_PHASE(&mf_phase_characterise);

    rc = o->mask ? mf_masked_characterize(s, o->residency, micro, &c, target)
                 : mf_sample_characterize(s, o->residency, o->slice_mode, micro, &c, target);
    if (rc == MF_OK) snprintf(target->source, sizeof target->source, "%s", file);
    return rc;
}

/* Is what was measured to look at it also what is aimed at? */
static int will_do(const struct mf_match *o, const struct mf_match_run *r, const struct mf_target *target)
{
    return !mf_recon_more(o) && !r->example_max && target->lag == (size_t)o->lag &&
           target->periodic == is_periodic(o, r);
}

/* Measures the first file. Where it is left to the program what to aim at, that is chosen now, for all of them. */
static int measure_first(struct mf_session *s, struct mf_match *o, struct mf_match_run *r, struct mf_micro *micro,
                         struct mf_target *target)
{
    int rc;

    MF_TRY(measure(s, o, r, o->files.at[0], micro, target));
    if (!mf_recon_is_auto(o)) return MF_OK;
    rc = mf_recon_choose(s, o, r, target, micro->ndim == 3 ? micro->slab.dims : NULL);
    if (rc == MF_OK && will_do(o, r, target)) return MF_OK;
    mf_target_free(target);
    MF_TRY(rc);
    return measure(s, o, r, o->files.at[0], micro, target);
}

static int measure_all(struct mf_session *s, struct mf_match *o, struct mf_match_run *r, struct mf_micro *micro,
                       struct mf_target *target, size_t *made)
{
    for (size_t i = 0; i < o->files.count; ++i) {
        if (o->files.count > 1 && micro[i].ndim == 3)
            return mf_fail(MF_USAGE, "'%s' is a volume; three inputs must be images", o->files.at[i]);
        MF_TRY(mf_sample_fits(o->slice_mode, o->symmetry, o->isotropic, o->grey_values, &micro[i]));
        mf_recon_fit(o, &micro[i]);
    }
    MF_TRY(measure_first(s, o, r, &micro[0], &target[0]));
    for (*made = 1; *made < o->files.count; ++*made)
        MF_TRY(measure(s, o, r, o->files.at[*made], &micro[*made], &target[*made]));
    return MF_OK;
}

int mf_recon_measure(struct mf_session *s, struct mf_match *o, struct mf_match_run *r, struct mf_target *target,
                     size_t (*dims)[3])
{
    struct mf_micro micro[3];
    size_t n = 0, made = 0;
    int rc = MF_OK;

    for (; n < o->files.count; ++n) {
        rc = mf_recon_read(s, o, o->files.at[n], 0, &micro[n]);
        if (rc != MF_OK) break;
        memcpy(dims[n], micro[n].slab.dims, sizeof dims[n]);
        if (micro[n].ndim == 2) dims[n][0] = 0;
    }
    if (rc == MF_OK) rc = measure_all(s, o, r, micro, target, &made);
    for (size_t i = 0; i < n; ++i) mf_micro_free(&micro[i]);
    for (size_t i = 0; i < made && rc != MF_OK; ++i) mf_target_free(&target[i]);
    return rc;
}

/* Is this phase everything, in all directions? Its absence is another one's presence. */
static int is_everything(const struct mf_target *t, int phase)
{
    double least = 1, most = 0;

    for (int s = 0; s < t->sides; ++s) {
        const double share = t->side[s].fraction[(size_t)phase * t->side[s].levels];

        least = fmin(least, share);
        most = fmax(most, share);
    }
    return least >= 1 || (t->phases == 1 && most <= 0);
}

int mf_recon_worth(const struct mf_target *t)
{
    for (int phase = 0; phase < t->phases; ++phase)
        if (is_everything(t, phase))
            return mf_fail(MF_INPUT, "%s'%s' holds only one phase: there is nothing to reconstruct",
                           t->masked ? "where --mask leaves it, " : "", t->source);
    return MF_OK;
}
