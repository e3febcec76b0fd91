/* See slice_mode.h. */
#include "src/cmd/slice_mode.h"

#include <string.h>

#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/rng.h"
#include "src/base/streams.h"
#include "src/cmd/reside.h"
#include "src/desc/mean.h"
#include "src/desc/registry.h"
#include "src/desc/slice.h"

/* Are all slices looked at? */
static int takes_all(const char *mode) { return strcmp(mode, "average") == 0; }

int mf_slice_mode_check(const char *mode, const char *symmetry, unsigned more, int is_masked)
{
    if (takes_all(mode)) return MF_OK;
    if (is_masked) return mf_fail(MF_USAGE, "--mask: --slice_mode %s knows no masks", mode);
    if (mf_wants_whole(more))
        return mf_fail(MF_USAGE, "S2_3D and CrossS2_3D are of whole volumes; --slice_mode %s looks at slices", mode);
    if (strcmp(symmetry, "cubic") == 0)
        return mf_fail(MF_USAGE, "--symmetry cubic turns whole volumes; --slice_mode %s looks at slices; try: square",
                       mode);
    return MF_OK;
}

/* A symmetry is that of the field: what its word means of a field of the other kind is said. */
static void say_turned(const char *mode, const char *symmetry, const struct mf_micro *micro)
{
    if (micro->ndim == 2 && strcmp(symmetry, "cubic") == 0)
        mf_warn("--symmetry cubic of an image is that of a square: mirror images and quarter turns in its plane");
    if (micro->ndim == 3 && takes_all(mode) && strcmp(symmetry, "square") == 0)
        mf_warn("--symmetry square of a volume is that of a cube: mirror images and turns of the whole, one result for "
                "all directions");
}

int mf_slice_mode_fits(const char *mode, const char *symmetry, int isotropic, int grey, const struct mf_micro *micro)
{
    const double *d = micro->spacing;

    if (isotropic && micro->ndim == 2) mf_warn("--isotropic says nothing about an image: it has one direction");
    if (isotropic && micro->ndim == 3 && (d[0] != d[1] || d[1] != d[2]))
        mf_warn("--isotropic takes the mean of lags of different lengths: voxels are %g x %g x %g (z y x)", d[0], d[1],
                d[2]);
    if (grey && !micro->grey) mf_warn("--grey_values has no effect: the field holds labels");
    say_turned(mode, symmetry, micro);
    if (micro->ndim == 3 || takes_all(mode)) return MF_OK;
    return mf_fail(MF_USAGE, "--slice_mode %s takes slices of a volume, and this is an image", mode);
}

static size_t index_of(const struct mf_session *session, const char *mode, size_t n, int normal)
{
    double u = mf_random_uniform((uint64_t)session->common->seed, MF_STREAM_SLICE_MODE, (uint64_t)normal);
    size_t index = strcmp(mode, "sample") == 0 ? (size_t)(u * (double)n) : 0;

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

static int one_of_each(struct mf_session *session, const char *residency, const char *mode, struct mf_micro *micro,
                       const struct mf_characterize_opts *opts, struct mf_target part[3])
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

int mf_slice_mode_characterize(struct mf_session *session, const char *residency, const char *mode,
                               struct mf_micro *micro, const struct mf_characterize_opts *opts, struct mf_target *out)
{
    struct mf_target part[3] = {{0}};
    int rc;

    if (takes_all(mode)) return mf_reside_characterize(session, residency, micro, opts, out);
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

int mf_slice_mode_measure(const struct mf_session *s, const char *mode, const struct mf_micro *micro,
                          const struct mf_characterize_opts *opts)
{
    int rc = MF_OK;

    if (takes_all(mode)) return mf_characterize_measure(s->comm, s->home->backend, s->home, s->arena, micro, opts);
    for (int k = 0; rc == MF_OK && k < 3; ++k) {
        struct mf_micro slice;

        MF_TRY(mf_slice_take(s->comm, s->arena, micro, (enum mf_normal)k, 0, &slice));
        rc = mf_characterize_measure(s->comm, s->home->backend, s->home, s->arena, &slice, opts);
        mf_micro_free(&slice);
    }
    return rc;
}
