/* Reading of descriptor files. See target.h; the schema is in docs/FILES.md. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/guard.h"
#include "io/h5.h"
#include "io/lent.h"
#include "io/look.h"
#include "io/phases.h"
#include "io/recognise.h"
#include "io/seal.h"
#include "io/target_look.h"
#include "io/target_priv.h"
#include "io/volume.h"
#include "src/base/err.h"

/* ---- what a sound target is ---- */

static int labels_differ(const struct mf_target *t)
{
    for (int i = 0; i < t->phases; ++i)
        for (int j = 0; j < i; ++j)
            if (t->label[i] == t->label[j]) return 0;
    return 1;
}

static int check_head(const char *path, const struct mf_target *t)
{
    const char *wrong = NULL;

    if (t->phases < 1 || t->phases > MF_PHASES_MAX)
        wrong = "number of phases";
    else if (!labels_differ(t))
        wrong = "labels";
    else if (t->lag < 1 || t->lag > (size_t)1 << 24)
        wrong = "lag";
    else if (t->sides != 1 && t->sides != 3)
        wrong = "number of sides";
    else if (!mf_target_look_sound(t))
        wrong = "look";
    for (int i = 0; i < 3; ++i)
        if (!(t->spacing[i] > 0 && t->spacing[i] < HUGE_VAL)) wrong = "spacing";
    if (!(t->threshold >= 0 && t->threshold < 1 && t->steepness >= 0 && t->steepness <= 100)) wrong = "soft threshold";
    return wrong ? mf_fail(MF_INPUT, "cannot use descriptor file '%s': unusable %s in it", path, wrong) : MF_OK;
}

static int check_side(const char *path, const struct mf_target *t, const struct mf_target_side *side)
{
    if (side->levels < 1 || side->levels > MF_LEVELS_MAX)
        return mf_fail(MF_INPUT, "cannot use descriptor file '%s': it has %zu pyramid levels, not 1 to %d", path,
                       side->levels, MF_LEVELS_MAX);
    if (side->nu < t->lag || side->nv < t->lag || side->slices < 1)
        return mf_fail(MF_INPUT,
                       "cannot use descriptor file '%s': slices of %zu x %zu pixels are too small for lag %zu", path,
                       side->nu, side->nv, t->lag);
    if (side->example_nu > MF_EXAMPLE_MAX || side->example_nv > MF_EXAMPLE_MAX)
        return mf_fail(MF_INPUT, "cannot use descriptor file '%s': its example of %zu x %zu pixels is too large", path,
                       side->example_nu, side->example_nv);
    return MF_OK;
}

static int check_values(const char *path, const struct mf_target_part *part)
{
    for (size_t i = 0; *part->at && i < part->count; ++i) {
        double is = (*part->at)[i];

        if (!(is >= part->least && is <= part->most) || (part->whole && is != rint(is)))
            return mf_fail(MF_INPUT, "cannot use descriptor file '%s': '%s' holds %g, not a %s from %g to %g", path,
                           part->name, is, part->whole ? "whole number" : "value", trunc(part->least) + 0.0,
                           round(part->most));
    }
    return MF_OK;
}

/* ---- reading, in the child ---- */

struct reader {
    const char *path;
    struct mf_target *target; /* filled in the parent, as is: */
    int ours;                 /* the file says that mesoforge wrote it */
};

static int get_int(struct mf_h5 *file, const char *object, const char *name, int64_t *value)
{
    size_t count;

    MF_TRY(mf_h5_get_ints(file, object, name, 1, value, &count));
    return count == 1 ? MF_OK : mf_fail(MF_INPUT, "attribute '%s' of '%s' is empty", name, object);
}

static int read_phases(struct mf_h5 *file, const char *path, struct mf_target *t)
{
    int64_t label[MF_PHASES_MAX] = {0};
    size_t count;

    MF_TRY(mf_h5_get_ints(file, "/", "labels", MF_PHASES_MAX, label, &count));
    t->phases = (int)count;
    for (size_t i = 0; i < count; ++i) t->label[i] = (long)label[i];
    MF_TRY(mf_h5_get_reals(file, "/", "spacing", 3, t->spacing, &count));
    if (count != 3) return mf_fail(MF_INPUT, "cannot read '%s': attribute spacing has %zu values, not 3", path, count);
    MF_TRY(mf_h5_get_text(file, "/", "unit", t->unit, sizeof t->unit));
    MF_TRY(mf_h5_get_text(file, "/", "source", t->source, sizeof t->source));
    return mf_h5_get_text(file, "/", "input_sha256", t->hash, sizeof t->hash);
}

/* Files of whole images have none. */
static int read_crop(struct mf_h5 *file, struct mf_target *t)
{
    int64_t crop[4] = {0};
    size_t count = 4;

    if (!mf_h5_has_attribute(file, "/", "crop")) return MF_OK;
    MF_TRY(mf_h5_get_ints(file, "/", "crop", 4, crop, &count));
    if (count != 4) return mf_fail(MF_INPUT, "attribute crop has %zu values, not 4", count);
    for (int i = 0; i < 4; ++i) t->crop[i] = crop[i] > 0 ? (size_t)crop[i] : 0;
    return MF_OK;
}

/* Files without soft descriptors, or those of VGG-19, have none of these. */
static int read_soft(struct mf_h5 *file, struct mf_target *t)
{
    double soft[2] = {0, 0};
    size_t count = 2;

    if (mf_h5_has_attribute(file, "/", "vgg_network"))
        MF_TRY(mf_h5_get_text(file, "/", "vgg_network", t->vgg_name, sizeof t->vgg_name));

    if (mf_h5_has_attribute(file, "/", "soft_threshold"))
        MF_TRY(mf_h5_get_reals(file, "/", "soft_threshold", 2, soft, &count));
    if (count != 2) return mf_fail(MF_INPUT, "attribute soft_threshold has %zu values, not 2", count);
    t->threshold = soft[0];
    t->steepness = soft[1];
    return MF_OK;
}

static int read_head(struct mf_h5 *file, const char *path, struct mf_target *t)
{
    char schema[MF_NAME_TEXT] = "";
    int64_t version, lag, periodic, seam, masked = 0;

    if (mf_h5_get_text(file, "/", "schema", schema, sizeof schema) != MF_OK || strcmp(schema, MF_SCHEMA_TARGET) != 0)
        return mf_fail(MF_INPUT, "'%s' is no descriptor file (%s%s); make one with: mesoforge characterize", path,
                       *schema ? "its schema is " : "it has no attribute schema", schema);
    MF_TRY(get_int(file, "/", "schema_version", &version));
    if (version != MF_SCHEMA_VERSION)
        return mf_fail(MF_INPUT, "cannot read '%s': schema version %lld, this program knows %d", path,
                       (long long)version, MF_SCHEMA_VERSION);
    MF_TRY(get_int(file, "/", "lag", &lag));
    MF_TRY(get_int(file, "/", "periodic", &periodic));
    MF_TRY(get_int(file, "/", "seam", &seam));
    if (mf_h5_has_attribute(file, "/", "masked")) MF_TRY(get_int(file, "/", "masked", &masked));
    MF_TRY(read_phases(file, path, t));
    t->lag = lag > 0 ? (size_t)lag : 0;
    t->periodic = periodic != 0;
    t->seam = seam != 0;
    t->masked = masked != 0;
    t->sides = mf_h5_has(file, "/all") ? 1 : 3;
    MF_TRY(read_crop(file, t));
    MF_TRY(read_soft(file, t));
    MF_TRY(mf_target_look_get(file, t));
    return check_head(path, t);
}

static int read_extents(struct mf_h5 *file, const struct mf_target *t, int i, struct mf_target_side *side)
{
    char path[MF_TARGET_PATH];
    int64_t shape[2] = {0}, slices;
    size_t count;

    mf_target_path(t, i, NULL, path);
    MF_TRY(mf_h5_get_ints(file, path, "slice_shape", 2, shape, &count));
    MF_TRY(get_int(file, path, "slices", &slices));
    side->nu = count == 2 && shape[0] > 0 ? (size_t)shape[0] : 0;
    side->nv = count == 2 && shape[1] > 0 ? (size_t)shape[1] : 0;
    side->slices = slices > 0 ? (size_t)slices : 0;
    return MF_OK;
}

/* A dataset that has exactly the extents of a part. */
static int check_shape(struct mf_h5 *file, const char *name, const char *path, const struct mf_target_part *part)
{
    struct mf_h5_shape shape;
    int same;

    MF_TRY(mf_h5_shape(file, path, &shape));
    same = shape.ndim == part->ndim;
    for (int i = 0; same && i < part->ndim; ++i) same = shape.dims[i] == part->dims[i];
    if (same) return MF_OK;
    return mf_fail(MF_INPUT, "cannot read '%s': the extents of %s are not those its labels, lag and levels ask for",
                   name, path);
}

/* Extents of the example, if there is one. */
static int read_example(struct mf_h5 *file, const char *name, const char *path, struct mf_target_side *side)
{
    struct mf_h5_shape shape;

    if (!mf_h5_has(file, path)) return MF_OK;
    MF_TRY(mf_h5_shape(file, path, &shape));
    if (shape.ndim != 2 || shape.dims[0] == 0 || shape.dims[1] == 0)
        return mf_fail(MF_INPUT, "cannot read '%s': %s is no image", name, path);
    side->example_nu = shape.dims[0];
    side->example_nv = shape.dims[1];
    return MF_OK;
}

static int read_part(struct mf_h5 *file, const char *name, const char *path, struct mf_target_part *part)
{
    if (!mf_h5_has(file, path) && strcmp(part->name, "variation") == 0) {
        free(*part->at);
        *part->at = NULL;
        return MF_OK;
    }
    return mf_h5_read_rows(file, path, MF_H5_F64, 0, part->dims[0], *part->at) == MF_OK ? check_values(name, part)
                                                                                        : MF_INPUT;
}

static int read_side(struct mf_h5 *file, const char *name, struct mf_target *t, int i)
{
    struct mf_target_side extents = {0}, *side = &t->side[i];
    struct mf_h5_shape shape;
    struct mf_target_part part[MF_TARGET_PARTS];
    char path[MF_TARGET_PATH];

    MF_TRY(read_extents(file, t, i, &extents));
    mf_target_path(t, i, "s2", path);
    MF_TRY(mf_h5_shape(file, path, &shape));
    if (shape.ndim != 4) return mf_fail(MF_INPUT, "cannot read '%s': %s has %d axes, not 4", name, path, shape.ndim);
    extents.levels = shape.dims[1];
    mf_target_path(t, i, "example", path);
    MF_TRY(read_example(file, name, path, &extents));
    MF_TRY(check_side(name, t, &extents));
    mf_target_parts(t, &extents, part);
    for (int k = 0; k < MF_TARGET_PARTS; ++k) {
        mf_target_path(t, i, part[k].name, path);
        if (k == 0 || k == 3 || mf_h5_has(file, path)) MF_TRY(check_shape(file, name, path, &part[k]));
    }
    mf_target_path(t, i, "cross", path);
    MF_TRY(mf_target_side_new(side, t->phases, extents.levels, t->lag, mf_h5_has(file, path)));
    for (int m = 0; m < MF_MORE; ++m) {
        mf_target_path(t, i, mf_more_rows[m].name, path);
        if (mf_h5_has(file, path)) MF_TRY(mf_target_side_more(side, t->phases, t->lag, (enum mf_more)m));
    }
    side->nu = extents.nu;
    side->nv = extents.nv;
    side->slices = extents.slices;
    if (extents.example_nu) MF_TRY(mf_target_example_new(side, extents.example_nu, extents.example_nv));
    mf_target_parts(t, side, part);
    for (int k = 0; k < MF_TARGET_PARTS; ++k) {
        mf_target_path(t, i, part[k].name, path);
        if (*part[k].at) MF_TRY(read_part(file, name, path, &part[k]));
    }
    return MF_OK;
}

static int read_whole(struct mf_h5 *file, const char *name, int which, struct mf_target *t)
{
    struct mf_target_part part = mf_target_whole(t, which, &t->whole[which]);

    if (!mf_h5_has(file, mf_target_whole_paths[which])) return MF_OK;
    MF_TRY(check_shape(file, name, mf_target_whole_paths[which], &part));
    MF_TRY(mf_target_whole_new(t, (enum mf_whole)which));
    return read_part(file, name, mf_target_whole_paths[which], &part);
}

/* The struct as it is; which arrays there are is told by their pointers being NULL or not. */
static int send(const struct mf_target *t, FILE *to)
{
    struct mf_target copy = *t;
    struct mf_target_part part[MF_TARGET_PARTS];

    MF_TRY(mf_guard_send(to, t, sizeof *t));
    for (int i = 0; i < t->sides; ++i) {
        mf_target_parts(t, &copy.side[i], part);
        for (int k = 0; k < MF_TARGET_PARTS; ++k)
            if (*part[k].at) MF_TRY(mf_guard_send(to, *part[k].at, part[k].count * sizeof(double)));
    }
    for (int k = 0; k < MF_WHOLE; ++k) {
        part[0] = mf_target_whole(t, k, &copy.whole[k]);
        if (t->whole[k]) MF_TRY(mf_guard_send(to, t->whole[k], part[0].count * sizeof(double)));
    }
    return MF_OK;
}

static int work(void *context, FILE *to)
{
    const struct reader *r = context;
    struct mf_target t = {0};
    struct mf_h5 *file;
    int rc, ours;

    MF_TRY(mf_h5_open(r->path, &file));
    ours = mf_h5_is_ours(file);
    rc = read_head(file, r->path, &t);
    for (int i = 0; rc == MF_OK && i < t.sides; ++i) rc = read_side(file, r->path, &t, i);
    for (int k = 0; rc == MF_OK && k < MF_WHOLE; ++k) rc = read_whole(file, r->path, k, &t);
    if (rc == MF_OK) rc = mf_guard_send(to, &ours, sizeof ours);
    if (rc == MF_OK) rc = send(&t, to);
    mf_target_free(&t);
    rc = mf_h5_unread(file, rc);
    (void)mf_h5_close(file);
    return rc;
}

/* ---- this side of the pipe, and the other ranks ---- */

/* Arrays for a head that came from elsewhere: its pointers only say which arrays there are. */
static int allocate(const struct mf_target *head, struct mf_target *t)
{
    *t = *head;
    memset(t->side, 0, sizeof t->side);
    memset(t->whole, 0, sizeof t->whole);
    for (int k = 0; k < MF_WHOLE; ++k)
        if (head->whole[k]) MF_TRY(mf_target_whole_new(t, (enum mf_whole)k));
    for (int i = 0; i < head->sides; ++i) {
        const struct mf_target_side *from = &head->side[i];
        struct mf_target_side *to = &t->side[i];

        MF_TRY(mf_target_side_new(to, head->phases, from->levels, head->lag, from->cross != NULL));
        for (int m = 0; m < MF_MORE; ++m)
            if (from->more[m]) MF_TRY(mf_target_side_more(to, head->phases, head->lag, (enum mf_more)m));
        to->nu = from->nu;
        to->nv = from->nv;
        to->slices = from->slices;
        if (from->example) MF_TRY(mf_target_example_new(to, from->example_nu, from->example_nv));
        if (from->variation) continue;
        free(to->variation);
        to->variation = NULL;
    }
    return MF_OK;
}

static int take(void *context, FILE *from)
{
    struct reader *r = context;
    struct mf_target head;
    struct mf_target_part part[MF_TARGET_PARTS];

    MF_TRY(mf_guard_receive(from, &r->ours, sizeof r->ours));
    MF_TRY(mf_guard_receive(from, &head, sizeof head));
    MF_TRY(check_head(r->path, &head));
    mf_guard_sanitise(head.vgg_name, sizeof head.vgg_name);
    mf_guard_sanitise(head.unit, sizeof head.unit);
    mf_guard_sanitise(head.hash, sizeof head.hash);
    mf_guard_sanitise(head.source, sizeof head.source);
    for (int i = 0; i < head.sides; ++i) MF_TRY(check_side(r->path, &head, &head.side[i]));
    MF_TRY(allocate(&head, r->target));
    for (int i = 0; i < head.sides; ++i) {
        mf_target_parts(r->target, &r->target->side[i], part);
        for (int k = 0; k < MF_TARGET_PARTS; ++k) {
            if (!*part[k].at) continue;
            MF_TRY(mf_guard_receive(from, *part[k].at, part[k].count * sizeof(double)));
            MF_TRY(check_values(r->path, &part[k]));
        }
    }
    for (int k = 0; k < MF_WHOLE; ++k) {
        if (!r->target->whole[k]) continue;
        part[0] = mf_target_whole(r->target, k, &r->target->whole[k]);
        MF_TRY(mf_guard_receive(from, r->target->whole[k], part[0].count * sizeof(double)));
        MF_TRY(check_values(r->path, &part[0]));
    }
    return MF_OK;
}

/* Rank 0: the others need not see the file. */
static int read_alone(struct reader *r)
{
    struct mf_comm self;
    struct stat is;
    int is_h5;

    mf_comm_self(&self);
    MF_TRY(mf_look_is_h5(r->path, &is_h5));
    if (access(r->path, R_OK) == 0 && !is_h5) MF_TRY(mf_refuse_pointer(r->path));
    if (access(r->path, R_OK) == 0 && !is_h5)
        return mf_seal_explain(
            mf_fail(MF_INPUT, "'%s' is no descriptor file (not HDF5); make one with: mesoforge characterize", r->path),
            r->path);
    if (stat(r->path, &is) != 0) is.st_size = 0; /* opening it says why */
    MF_TRY(mf_seal_explain(mf_guard(r->path, MF_GUARD_DECODING(is.st_size), work, take, r), r->path));
    return mf_seal_warn(&self, r->path, r->ours, NULL);
}

int mf_target_share(const struct mf_comm *comm, struct mf_target *target)
{
    struct mf_target head = *target;
    struct mf_target_part part[MF_TARGET_PARTS];
    int rc = MF_OK;

    mf_comm_bcast(comm, 0, &head, sizeof head);
    if (comm->rank != 0) rc = allocate(&head, target);
    MF_TRY(mf_agree(comm, rc));
    for (int i = 0; i < target->sides; ++i) {
        mf_target_parts(target, &target->side[i], part);
        for (int k = 0; k < MF_TARGET_PARTS; ++k)
            if (*part[k].at) mf_comm_bcast(comm, 0, *part[k].at, part[k].count * sizeof(double));
    }
    for (int k = 0; k < MF_WHOLE; ++k) {
        part[0] = mf_target_whole(target, k, &target->whole[k]);
        if (target->whole[k]) mf_comm_bcast(comm, 0, target->whole[k], part[0].count * sizeof(double));
    }
    return MF_OK;
}

/* Copies a lent target. @p from is a copy of its head, since mf_target_parts() serves readers, too. */
static int copy(struct mf_target from, struct mf_target *t)
{
    struct mf_target_part there[MF_TARGET_PARTS], here[MF_TARGET_PARTS];

    MF_TRY(allocate(&from, t));
    for (int i = 0; i < t->sides; ++i) {
        mf_target_parts(&from, &from.side[i], there);
        mf_target_parts(t, &t->side[i], here);
        for (int k = 0; k < MF_TARGET_PARTS; ++k)
            if (*here[k].at) memcpy(*here[k].at, *there[k].at, here[k].count * sizeof(double));
    }
    for (int k = 0; k < MF_WHOLE; ++k) {
        here[0] = mf_target_whole(t, k, &t->whole[k]);
        if (t->whole[k]) memcpy(t->whole[k], from.whole[k], here[0].count * sizeof(double));
    }
    return MF_OK;
}

int mf_target_load(const struct mf_comm *comm, const char *path, struct mf_target *target)
{
    MF_PHASE(&mf_phase_read);
    const struct mf_target *lent = mf_lent_target(path);
    struct mf_target t = {0};
    struct reader r = {path, &t, 0};
    int rc = lent ? copy(*lent, &t) : comm->rank == 0 ? read_alone(&r) : MF_OK;

    rc = mf_agree(comm, rc);
    if (rc == MF_OK && !lent) rc = mf_target_share(comm, &t);
    if (rc == MF_OK)
        *target = t;
    else
        mf_target_free(&t);
    return rc;
}
