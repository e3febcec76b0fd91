/* See characterize.h. */
#include "src/desc/characterize.h"

#include <stdio.h>
#include <string.h>

#include "src/base/bounds.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/desc/job.h"
#include "src/desc/mean.h"
#include "src/desc/symmetry.h"

enum { LAG_COUNTED = 64 }; /* above it, transforms are faster than counting unless the field is small */

static int sides_of(const struct mf_micro *micro) { return micro->ndim == 2 ? 1 : 3; }

/** Half the shortest edge of any slice: the largest L. */
static size_t largest_lag(const struct mf_micro *micro)
{
    const size_t *dims = micro->slab.dims;
    size_t edge = mf_min(dims[1], dims[2]);

    return (micro->ndim == 2 ? edge : mf_min(edge, dims[0])) / 2;
}

static int fields_of(const struct mf_micro *micro) { return micro->grey ? micro->fields : micro->phases; }

static int check_whole(const struct mf_micro *micro, const struct mf_characterize_opts *opts)
{
    const int pairs = opts->whole >> MF_WHOLE_CROSS & 1;

    if (opts->whole && micro->ndim == 2)
        return mf_fail(MF_USAGE, "%s is of volumes, and what is given is an image; try: %s",
                       pairs ? "CrossS2_3D" : "S2_3D", pairs ? "FFTCrossCorrelations" : "S2");
    if (pairs && (opts->singlephase || fields_of(micro) < 2))
        return mf_fail(MF_USAGE, "CrossS2_3D is of pairs of phases, and there is one");
    return MF_OK;
}

static int check(const struct mf_micro *micro, const struct mf_characterize_opts *opts)
{
    size_t largest = largest_lag(micro);
    const size_t *n = micro->slab.dims;
    char shape[80];

    if (micro->ndim == 2)
        snprintf(shape, sizeof shape, "%zu x %zu", n[1], n[2]);
    else
        snprintf(shape, sizeof shape, "%zu x %zu x %zu", n[0], n[1], n[2]);
    if (largest == 0)
        return mf_fail(MF_INPUT, "an extent of %s is too short for any lag window: at least 2 are needed%s", shape,
                       micro->ndim == 3 ? "; one plane is an image: an array of two axes" : "");
    if (opts->lag < 1 || opts->lag > largest)
        return mf_fail(MF_USAGE,
                       "lag %zu does not fit %s: the largest L is %zu (half the shortest edge); try: --limit_to %zu",
                       opts->lag, shape, largest, largest);
    MF_TRY(mf_symmetry_check(micro, opts->symmetry));
    MF_TRY(check_whole(micro, opts));
    for (int k = 0; k < MF_MORE; ++k)
        if ((opts->more >> k & 1) && mf_more_is(k, MF_OF_PAIRS) && (opts->singlephase || fields_of(micro) < 2))
            return mf_fail(MF_USAGE, "%s is of pairs of phases, and there is one", mf_more_rows[k].name);
    if (opts->singlephase && !(micro->grey && micro->fields == 1) && micro->phases < 2)
        return mf_fail(MF_INPUT, "--no_multiphase selects phase 1, but the field has one phase");
    return MF_OK;
}

/** Says what pooling drops, once for the volume. */
static void announce(const struct mf_target *out, const struct mf_micro *micro)
{
    const char *const axis[3] = {"z", "y", "x"};
    size_t coarse[3] = {0};
    char text[200] = "";
    size_t used = 0;

    for (int k = 0; k < out->sides; ++k)
        for (int a = 0; a < 3; ++a)
            if (a != k && out->side[k].levels > 1 && out->side[k].levels - 1 > coarse[a])
                coarse[a] = out->side[k].levels - 1;
    for (int a = micro->ndim == 2; a < 3; ++a) {
        size_t dropped = micro->slab.dims[a] & (((size_t)1 << coarse[a]) - 1);

        if (dropped && used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%zu of %zu in %s", used ? ", " : "", dropped,
                                     micro->slab.dims[a], axis[a]);
    }
    if (used) mf_info("pyramid: planes at the far end that the coarsest cells leave out: %s", text);
}

static int prepare(struct mf_job *job)
{
    const struct mf_characterize_opts *opts = job->opts;
    const struct mf_micro *m = job->micro;
    struct mf_target *out = job->out;
    const int fields = fields_of(m);

    MF_TRY(check(m, opts));
    job->first = opts->singlephase && fields > 1;
    *out = (struct mf_target){.phases = opts->singlephase ? 1 : fields,
                              .lag = opts->lag,
                              .periodic = opts->periodic,
                              .seam = opts->seam,
                              .sides = sides_of(m)};
    for (int p = 0; p < out->phases; ++p) {
        int phase = m->grey && m->fields == 1 ? 1 : job->first + p;

        out->label[p] = phase < m->phases ? m->label[phase] : phase;
    }
    for (int k = 0; k < MF_MORE; ++k)
        if (opts->more >> k & 1 && mf_more_is(k, MF_IS_SOFT)) {
            out->threshold = opts->threshold;
            out->steepness = opts->steepness;
        }
    for (int k = 0; k < MF_MORE; ++k)
        if (opts->more >> k & 1 && mf_more_is(k, MF_OF_VGG))
            memcpy(out->vgg_name, opts->vgg->name, sizeof out->vgg_name);
    memcpy(out->spacing, m->spacing, sizeof out->spacing);
    snprintf(out->unit, sizeof out->unit, "%s", m->unit);
    memcpy(out->crop, m->crop, sizeof out->crop);
    for (int k = 0; k < out->sides; ++k) {
        size_t nu, nv, slices, levels;

        mf_slice_extents(m->slab.dims, k, &nu, &nv, &slices);
        levels = mf_levels(nu, nv, opts->lag);
        if (opts->levels) levels = mf_min(levels, opts->levels);
        MF_TRY(mf_target_side_new(&out->side[k], out->phases, levels, opts->lag, opts->cross));
        for (int i = 0; i < MF_MORE; ++i)
            if (opts->more >> i & 1)
                MF_TRY(mf_target_side_more(&out->side[k], out->phases, opts->lag, (enum mf_more)i));
        out->side[k].nu = nu;
        out->side[k].nv = nv;
        out->side[k].slices = slices;
    }
    for (int k = 0; k < MF_WHOLE; ++k)
        if (opts->whole >> k & 1) MF_TRY(mf_target_whole_new(out, (enum mf_whole)k));
    if (m->phase && !opts->masked && opts->whole >> MF_WHOLE_S2 & 1) MF_TRY(mf_target_whole_new(out, MF_WHOLE_SPANS));
    return MF_OK;
}

/** Finds a disk that is too small before the work; at this point all arrays but the examples are allocated. */
static int check_room(const struct mf_job *job)
{
    struct mf_target kept = *job->out;

    if (!job->opts->path || job->dry || job->comm->rank != 0) return MF_OK;
    if (job->opts->isotropic) kept.sides = 1;
    return mf_target_room(job->opts->path, &kept);
}

/** Counting wins up to lag 64 and, whatever the lag, where it is done in a moment. */
static int counts(const struct mf_job *job)
{
    const struct mf_micro *m = job->micro;
    size_t words = (m->slab.dims[2] + 63) / 64;
    double lag = (double)job->opts->lag;
    double steps = 2 * lag * lag * (double)words * (double)m->slab.dims[0] * (double)m->slab.dims[1] * sides_of(m);

    return m->phase && (job->opts->lag <= LAG_COUNTED || steps < 1e9);
}

static int measure(struct mf_job *job)
{
    int rc = mf_agree(job->comm, prepare(job));

    if (rc == MF_OK) rc = mf_agree(job->comm, check_room(job));
    job->exact = counts(job);
    if (rc == MF_OK && !job->dry && !job->opts->silent) announce(job->out, job->micro);
    if (rc == MF_OK && job->exact) rc = mf_exact(job);
    if (rc == MF_OK && job->opts->example && job->micro->phase && !job->dry) rc = mf_example(job);
    if (rc == MF_OK) rc = mf_slice_means(job);
    return rc == MF_OK && job->opts->whole ? mf_whole(job) : rc;
}

int mf_characterize(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                    struct mf_arena *arena, const struct mf_micro *micro, const struct mf_characterize_opts *opts,
                    struct mf_target *out)
{
    struct mf_target target = {0};
    struct mf_job job = {comm, backend, queue, arena, micro, opts, &target, 0, 0, 0};
    int rc;

    if (opts->symmetry) {
        MF_TRY(mf_agree(comm, check(micro, opts)));
        return mf_symmetry_mean(comm, backend, queue, arena, micro, opts, out);
    }
    rc = measure(&job);
    if (rc == MF_OK && opts->isotropic && target.sides == 3) rc = mf_agree(comm, mf_target_isotropic(&target));
    if (rc == MF_OK)
        *out = target;
    else
        mf_target_free(&target);
    return rc;
}

int mf_characterize_measure(const struct mf_comm *comm, const struct mf_backend *backend, struct mf_queue *queue,
                            struct mf_arena *arena, const struct mf_micro *micro,
                            const struct mf_characterize_opts *opts)
{
    struct mf_target target = {0};
    struct mf_job job = {comm, backend, queue, arena, micro, opts, &target, 0, 0, 1};
    struct mf_micro turned = {0};
    int rc = opts->symmetry ? mf_symmetry_room(comm, arena, micro, &turned) : MF_OK;

    if (rc == MF_OK) rc = measure(&job);
    mf_target_free(&target);
    if (opts->symmetry) mf_micro_free(&turned);
    return rc;
}
