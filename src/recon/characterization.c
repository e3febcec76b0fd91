/* See characterization.h. */
#include "src/recon/characterization.h"

#include <stdio.h>
#include <string.h>

#include "io/crop.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/words.h"
#include "src/desc/measure.h"
#include "src/desc/phases.h"
#include "src/desc/registry.h"
#include "src/session/peaks.h"
#include "src/show/describe.h"

int mf_characterize_is_all(const struct mf_characterization *o) { return mf_texts_have(&o->descriptors, "all"); }

int mf_characterize_is_auto(const struct mf_characterization *o) { return mf_texts_have(&o->descriptors, "auto"); }

struct mf_characterization mf_characterization_defaults(void)
{
#define SET(field, value) .field = (value),
    return (struct mf_characterization){MF_MEASURE_DEFAULTS(SET).periodic = 1, .multiphase = 1, .pyramid = 1};
#undef SET
}

unsigned mf_characterize_more(const struct mf_characterization *o)
{
    return mf_descriptors_want(o->descriptors.count, o->descriptors.at, o->compat) | o->exported;
}

unsigned mf_characterize_at_most(const struct mf_session *session, const struct mf_characterization *o)
{
    unsigned network = 0;

    if (!mf_characterize_is_all(o)) return mf_characterize_more(o);
    for (int m = 0; m < MF_MORE; ++m)
        if (mf_more_is(m, MF_OF_VGG)) network |= 1u << m;
    return mf_characterize_more(o) | (MF_WANTS_MORE & ~(mf_gram_weights_named(session, o->gram_weights) ? 0 : network));
}

static int read_file(const struct mf_session *session, const struct mf_characterization *o, const char *file,
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
                                       .grey = o->grey_values || !o->multiphase};
    int rc;

    MF_TRY(mf_micrograph_read(session, file, &o->spacing, &o->crop, read, micro));
    rc = mf_sample_fits(o->slice_mode, o->symmetry, o->isotropic, o->grey_values, micro);
    if (rc != MF_OK) mf_micro_free(micro);
    return rc;
}

/* Rank 0's bytes for it. These are the largest arrays, and the high-water mark of its arena since before the file was
 * read. */
static void find_plan(const struct mf_session *session, const struct mf_characterize_opts *opts,
                      const struct mf_micro *micro, struct mf_characterize_plan *plan)
{
    const size_t *n = micro->slab.dims;
    size_t edge = n[1] < n[2] ? n[1] : n[2], levels, voxels = mf_slab_voxels(&micro->slab), *bytes = plan->bytes;
    int binary = opts->periodic && micro->phases == 2, halo = session->comm->size > 1 && micro->ndim == 3;
    size_t phases = micro->grey ? 0 : opts->cross && !binary ? (size_t)micro->phases : 1;
    size_t lines = (micro->slab.count + (halo ? opts->lag - 1 : 0)) * n[1];

    if (micro->ndim == 3 && n[0] < edge) edge = n[0];
    levels = mf_levels(edge, edge, opts->lag);
    if (opts->levels && opts->levels < levels) levels = opts->levels;
    plan->lag = opts->lag;
    plan->levels = levels;
    bytes[0] = voxels * (micro->grey ? 4 * (size_t)micro->fields : 1);
    bytes[1] = phases * lines * ((n[2] + 63) / 64) * 8;
    bytes[2] = levels > 1 && !micro->grey ? 4 * voxels : 0;
    bytes[3] = mf_arena_peak(session->arena);
    if (session->device != session->arena) bytes[4] = mf_arena_peak(session->device);
}

static int describe(struct mf_session *session, const struct mf_characterization *o, struct mf_micro *micro,
                    const struct mf_characterize_opts *opts, struct mf_target *out)
{
    MF_PHASE(&mf_phase_characterise);

    if (o->mask) return mf_masked_characterize(session, o->residency, micro, opts, out);
    return mf_sample_characterize(session, o->residency, o->slice_mode, micro, opts, out);
}

/** The program chooses the descriptors: examines the image as match does, and measures again if it chooses others. */
static int describe_chosen(struct mf_session *session, const struct mf_characterization *o, struct mf_micro *micro,
                           const char *file, struct mf_characterize_opts *opts, struct mf_target *out)
{
    struct mf_characterize_opts first;
    struct mf_target_look look;
    int rc;

    opts->steady = 1;
    first = *opts;
    MF_TRY(describe(session, o, micro, opts, out));
    snprintf(out->source, sizeof out->source, "%s", file);
    rc = mf_characterize_auto(session, o, micro, out, opts, &look);
    if (rc != MF_OK || opts->more != first.more || opts->lag != first.lag || opts->periodic != first.periodic ||
        opts->example_max) {
        mf_target_free(out);
        MF_TRY(rc);
        MF_TRY(describe(session, o, micro, opts, out));
    }
    out->look = look;
    return MF_OK;
}

/* Counted descriptors need labels, not a grey field; exact lines count pixels above 1/2 as the phase. */
static int check_counted(const struct mf_characterization *o, const struct mf_micro *micro)
{
    const struct mf_descriptor *row;

    if (!micro->grey || mf_characterize_is_auto(o) || mf_characterize_is_all(o)) return MF_OK;
    for (size_t i = 0; i < o->descriptors.count; ++i) {
        MF_TRY(mf_descriptor_find(&row, o->descriptors.at[i]));
        if (mf_descriptor_is(row, MF_IS_COUNTED) && row->kind != MF_LINEAL_EXACT)
            return mf_fail(MF_INPUT, "%s counts phases, but the field is grey; try: --threshold", row->name);
    }
    return MF_OK;
}

/** Counts the measures of --measures. Collective. */
static int count_measures(struct mf_session *session, const struct mf_characterization *o, const struct mf_micro *micro,
                          const struct mf_characterize_opts *opts, struct mf_json **out)
{
    struct mf_measure_job job = {session->comm, session->home, session->arena, micro, opts->periodic, opts->lag};
    unsigned wanted;

    MF_TRY(mf_measures_find(o->measures.count, o->measures.at, &wanted));
    return wanted ? mf_measures_run(&job, wanted, out) : MF_OK;
}

static void add_all(unsigned wants, struct mf_characterize_opts *opts)
{
    opts->more |= wants & MF_WANTS_MORE;
    opts->whole |= mf_wants_whole(wants);
}

int mf_characterize_file(struct mf_session *session, const struct mf_characterization *o, const char *file,
                         const char *path, struct mf_characterized *result)
{
    struct mf_characterize_opts opts = {.lag = (size_t)o->lag,
                                        .levels = o->pyramid ? 0 : 1,
                                        .periodic = o->periodic,
                                        .seam = o->compat,
                                        .isotropic = o->isotropic,
                                        .singlephase = !o->multiphase,
                                        .cross = o->multiphase,
                                        .more = mf_characterize_more(o) & MF_WANTS_MORE,
                                        .whole = mf_wants_whole(mf_characterize_more(o)),
                                        .threshold = o->soft,
                                        .steepness = o->steepness,
                                        .vgg = o->vgg,
                                        .example = 1,
                                        .symmetry = o->symmetry};
    struct mf_micro micro;
    double start = mf_now();
    int rc;

    mf_arena_mark(session->arena);
    if (session->device != session->arena) mf_arena_mark(session->device);
    MF_TRY(read_file(session, o, file, &micro));
    rc = mf_agree(session->comm, check_counted(o, &micro));
    if (rc != MF_OK) {
        mf_micro_free(&micro);
        return rc;
    }
    opts.lag = mf_characterize_lag(o, &micro);
    if (mf_characterize_is_all(o)) add_all(mf_characterize_all(session, o, file, &micro, opts.lag), &opts);
    result->ndim = micro.ndim;
    memcpy(result->dims, micro.slab.dims, sizeof result->dims);
    memcpy(result->spacing, micro.spacing, sizeof result->spacing);
    memcpy(result->unit, micro.unit, sizeof result->unit);
    if (session->settings.dry_run) {
        rc = mf_sample_measure(session, o->slice_mode, &micro, &opts);
        if (mf_peaks_unlimited(session, rc)) {
            rc = mf_sample_measure(session, o->slice_mode, &micro, &opts);
            if (rc == MF_OK) rc = mf_peaks_over(session);
        }
        if (rc == MF_OK) find_plan(session, &opts, &micro, &result->plan);
        mf_micro_free(&micro);
        return rc;
    }
    opts.path = mf_characterize_is_auto(o) ? NULL : path; /* nobody knows yet what it chooses */
    rc = mf_characterize_is_auto(o) ? describe_chosen(session, o, &micro, file, &opts, &result->target)
                                    : describe(session, o, &micro, &opts, &result->target);
    if (rc == MF_OK) rc = count_measures(session, o, &micro, &opts, &result->measures);
    mf_micro_free(&micro);
    if (rc != MF_OK) return rc;
    snprintf(result->target.source, sizeof result->target.source, "%s", file);
    mf_info("%s characterised in %.3f s", file, mf_now() - start);
    return MF_OK;
}

int mf_characterize_prepare(struct mf_session *session, struct mf_characterization *o)
{
    const unsigned more = mf_characterize_at_most(session, o);

    MF_TRY(mf_session_serves(session, mf_characterize_more(o)));
    MF_TRY(mf_reside(session, o->residency));
    return mf_gram_weights_open(session, o->gram_weights, mf_vgg_unit(1 + o->nl_method, NULL), more, &o->vgg);
}

struct mf_json *mf_characterized_json(struct mf_characterized *result, const char *file)
{
    struct mf_json *one = mf_describe_json(&result->target, file, result->ndim, result->dims);

    mf_crop_json(result->target.crop, one);
    if (result->measures) mf_json_put(one, "measures", result->measures);
    result->measures = NULL;
    return one;
}

void mf_characterized_free(struct mf_characterized *result)
{
    mf_target_free(&result->target);
    mf_json_free(result->measures);
}
