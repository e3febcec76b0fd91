/* Writing of descriptor files. See target.h; the schema is in docs/FILES.md. */
#include <string.h>

#include "io/atomic.h"
#include "io/h5.h"
#include "io/phases.h"
#include "io/seal.h"
#include "io/target_look.h"
#include "io/target_priv.h"
#include "io/volume.h"
#include "src/base/err.h"

enum { OVERHEAD = 1 << 16 }; /* attributes and headers of a file, about */

static const char definitions[] =
    "x is the indicator (0 or 1) of a phase on one slice of nu x nv pixels; everything is the mean over the slices of "
    "a "
    "direction. s2[phase][level][du+L-1][dv+L-1] = mean over pixels p of x(p) x(p+(du,dv)), |du|, |dv| < L: periodic: "
    "over all pixels; else: over the (nu-|du|)(nv-|dv|) pairs inside the slice. cross: the same of two phases a < b, "
    "x_a(p) x_b(p+r), pairs in order (0,1) (0,2) .. (1,2) .. variation: jumps |x(p+e)-x(p)| along both axes per pixel "
    "(seam: those of row 0 and column 0 counted twice). fraction: mean of x. example: the phase of every pixel of one "
    "slice, or of the middle of it; -1: none of these. Level l: the same on the slice averaged over cells of 2^l x 2^l "
    "pixels. s2_3d[phase][dz][dy+L-1][dx+L-1], 0 <= dz < L: the same mean of x(p) x(p+(dz,dy,dx)) over the voxels, or "
    "the pairs inside, of the whole volume; cross_3d the same of two phases at all lags. spans[phase][z, y, x]: "
    "share of its voxels in clusters (joined by faces) that reach from face to face. lineal_path and others with a "
    "third axis of entries: docs/DESCRIPTORS.md.";

static int write_head(struct mf_h5 *file, const struct mf_target *t)
{
    const int64_t lag = (int64_t)t->lag, periodic = t->periodic, seam = t->seam, masked = 1;
    int64_t label[MF_PHASES_MAX];

    for (int i = 0; i < t->phases; ++i) label[i] = t->label[i];
    MF_TRY(mf_h5_put_ints(file, "/", "labels", (size_t)t->phases, label));
    MF_TRY(mf_h5_put_ints(file, "/", "lag", 1, &lag));
    MF_TRY(mf_h5_put_ints(file, "/", "periodic", 1, &periodic));
    MF_TRY(mf_h5_put_ints(file, "/", "seam", 1, &seam));
    if (t->masked) MF_TRY(mf_h5_put_ints(file, "/", "masked", 1, &masked));
    if (t->crop[2])
        MF_TRY(mf_h5_put_ints(
            file, "/", "crop", 4,
            (const int64_t[]){(int64_t)t->crop[0], (int64_t)t->crop[1], (int64_t)t->crop[2], (int64_t)t->crop[3]}));
    if (t->steepness > 0)
        MF_TRY(mf_h5_put_reals(file, "/", "soft_threshold", 2, (double[2]){t->threshold, t->steepness}));
    if (*t->vgg_name) MF_TRY(mf_h5_put_text(file, "/", "vgg_network", t->vgg_name));
    MF_TRY(mf_target_look_put(file, &t->look));
    MF_TRY(mf_h5_put_reals(file, "/", "spacing", 3, t->spacing));
    MF_TRY(mf_h5_put_text(file, "/", "unit", t->unit));
    MF_TRY(mf_h5_put_text(file, "/", "source", t->source));
    return mf_h5_put_text(file, "/", "definitions", definitions);
}

static int write_side(struct mf_h5 *file, const struct mf_target *t, int i)
{
    static const char *const slice_axes[] = {"y x", "z x", "z y"};
    struct mf_target_side side = t->side[i];
    const int64_t shape[2] = {(int64_t)side.nu, (int64_t)side.nv}, slices = (int64_t)side.slices;
    struct mf_target_part part[MF_TARGET_PARTS];
    char path[MF_TARGET_PATH];

    mf_target_path(t, i, NULL, path);
    MF_TRY(mf_h5_group(file, path));
    MF_TRY(mf_h5_put_ints(file, path, "slice_shape", 2, shape));
    MF_TRY(mf_h5_put_ints(file, path, "slices", 1, &slices));
    MF_TRY(mf_h5_put_text(file, path, "slice_axes", t->sides == 3 ? slice_axes[i] : "u v"));
    mf_target_parts(t, &side, part);
    for (int k = 0; k < MF_TARGET_PARTS; ++k) {
        if (!*part[k].at) continue;
        mf_target_path(t, i, part[k].name, path);
        MF_TRY(mf_h5_write(file, path, MF_H5_F64, part[k].ndim, part[k].dims, *part[k].at));
        MF_TRY(mf_h5_put_text(file, path, "axes", part[k].axes));
    }
    return MF_OK;
}

static int write_whole(struct mf_h5 *file, const struct mf_target *t, int which)
{
    const struct mf_target_part part = mf_target_whole(t, which, NULL);

    if (!t->whole[which]) return MF_OK;
    MF_TRY(mf_h5_write(file, mf_target_whole_paths[which], MF_H5_F64, part.ndim, part.dims, t->whole[which]));
    return mf_h5_put_text(file, mf_target_whole_paths[which], "axes", part.axes);
}

static size_t target_bytes(const struct mf_target *t, const struct mf_provenance *p)
{
    size_t bytes = OVERHEAD + (p && p->json ? strlen(p->json) : 0) + (p && p->options ? strlen(p->options) : 0);
    struct mf_target_part part[MF_TARGET_PARTS];

    for (int i = 0; i < t->sides; ++i) {
        struct mf_target_side side = t->side[i];

        mf_target_parts(t, &side, part);
        for (int k = 0; k < MF_TARGET_PARTS; ++k) bytes += *part[k].at ? part[k].count * sizeof(double) : 0;
    }
    for (int k = 0; k < MF_WHOLE; ++k) bytes += t->whole[k] ? mf_target_whole(t, k, NULL).count * sizeof(double) : 0;
    return bytes;
}

int mf_target_room(const char *path, const struct mf_target *target)
{
    return mf_atomic_room(path, target_bytes(target, NULL));
}

/* Local. */
static int fill(const struct mf_atomic *temporary, const struct mf_target *t, const char *created,
                const struct mf_provenance *provenance)
{
    struct mf_provenance p = {0};
    struct mf_comm self;
    struct mf_h5 *file;
    int rc, end;

    if (provenance) p = *provenance;
    if (!p.input_hash || !*p.input_hash) p.input_hash = t->hash;
    MF_TRY(mf_h5_create(temporary->temporary, temporary->path, &file));
    rc = mf_atomic_reserve(temporary, target_bytes(t, &p));
    if (rc == MF_OK) rc = mf_h5_provenance(file, MF_SCHEMA_TARGET, created, &p);
    if (rc == MF_OK) rc = write_head(file, t);
    for (int i = 0; rc == MF_OK && i < t->sides; ++i) rc = write_side(file, t, i);
    for (int k = 0; rc == MF_OK && k < MF_WHOLE; ++k) rc = write_whole(file, t, k);
    end = mf_h5_close(file);
    if (rc == MF_OK) rc = end;
    mf_comm_self(&self);
    return rc == MF_OK ? mf_seal_write(&self, temporary->temporary, temporary->path, 0, NULL) : rc;
}

int mf_target_save(const struct mf_comm *comm, const char *path, const struct mf_target *target,
                   const struct mf_provenance *provenance)
{
    MF_PHASE(&mf_phase_write);
    struct mf_atomic file;
    char created[MF_UNIT_TEXT];

    mf_created(comm, created);
    MF_TRY(mf_atomic_open(comm, path, target_bytes(target, provenance), &file));
    return mf_atomic_close(comm, &file, comm->rank == 0 ? fill(&file, target, created, provenance) : MF_OK);
}
