/* Descriptor files. See target.h; the schema is in docs/FILES.md. */
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/guard.h"
#include "io/h5.h"
#include "io/look.h"
#include "io/seal.h"
#include "io/target.h"
#include "io/target_look.h"
#include "io/volume.h"
#include "src/base/err.h"
#include "src/base/phase.h"

/* Attributes and headers of a file, about. */
enum { OVERHEAD = 1 << 16, PATH_TEXT = 32, EXAMPLE = 4, FIXED = 5, PARTS = FIXED + MF_MORE };

static const double LARGEST = 1e12; /* of what no bound is known of */

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

/* One array of a side. */
struct part {
    const char *name;
    double **at;
    size_t count;
    int ndim;
    size_t dims[4];
    double least, most; /* what its values may be, with room for rounding */
    int whole;          /* and whole numbers at that */
    const char *axes;
};

static void parts_of(const struct mf_target *t, struct mf_target_side *side, struct part part[PARTS])
{
    size_t p = (size_t)t->phases, k = side->levels, w = 2 * t->lag - 1, pairs = p * (p - 1) / 2;
    const double slack = 1e-2;

    part[0] = (struct part){"s2", &side->s2, p * k * w * w, 4, {p, k, w, w}, -slack, 1 + slack, 0, "phase level du dv"};
    part[1] = (struct part){"cross", &side->cross,      pairs * k * w * w, 4, {pairs, k, w, w}, -slack, 1 + slack,
                            0,       "pair level du dv"};
    part[2] = (struct part){"variation", &side->variation, p * k, 2, {p, k, 0, 0}, 0, 4, 0, "phase level"};
    part[3] = (struct part){"fraction", &side->fraction, p * k, 2, {p, k, 0, 0}, -slack, 1 + slack, 0, "phase level"};
    part[EXAMPLE] = (struct part){"example",
                                  &side->example,
                                  side->example_nu * side->example_nv,
                                  2,
                                  {side->example_nu, side->example_nv, 0, 0},
                                  -1,
                                  (double)t->phases - 1,
                                  1,
                                  "u v"};
    for (int m = 0; m < MF_MORE; ++m) {
        const size_t n = mf_more_entries((enum mf_more)m, t->lag), q = mf_more_parts((enum mf_more)m, p);
        const double most = mf_more_is(m, MF_OF_NETWORK | MF_IS_FREE) ? LARGEST : 1 + slack;

        part[FIXED + m] = (struct part){mf_more_rows[m].name,
                                        &side->more[m],
                                        q * k * n,
                                        3,
                                        {q, k, n, 0},
                                        mf_more_is(m, MF_OF_NETWORK | MF_IS_FREE) ? -most : -slack,
                                        most,
                                        0,
                                        mf_more_is(m, MF_OF_PAIRS) ? "pair level entry" : "phase level entry"};
    }
}

static const char *const whole_paths[] = {
    [MF_WHOLE_S2] = "/s2_3d", [MF_WHOLE_CROSS] = "/cross_3d", [MF_WHOLE_SPANS] = "/spans"};

/* Of the volume as a whole. */
static struct part whole_part(const struct mf_target *t, int which, double **at)
{
    const size_t w = 2 * t->lag - 1, n = mf_whole_entries((enum mf_whole)which, t->lag);
    const size_t p = mf_whole_parts((enum mf_whole)which, (size_t)t->phases);

    if (which == MF_WHOLE_SPANS) return (struct part){"spans", at, p * n, 2, {p, n, 0, 0}, 0, 1, 0, "phase axis"};
    return (struct part){whole_paths[which] + 1,
                         at,
                         p * n,
                         4,
                         {p, n / (w * w), w, w},
                         -1e-2,
                         1 + 1e-2,
                         0,
                         which == MF_WHOLE_CROSS ? "pair dz dy dx" : "phase dz dy dx"};
}

/* "/z/s2"; one side alone is "/all". */
static void side_path(const struct mf_target *t, int side, const char *name, char path[PATH_TEXT])
{
    static const char *const normals[] = {"z", "y", "x"};

    snprintf(path, PATH_TEXT, "/%s%s%s", t->sides == 3 ? normals[side] : "all", name ? "/" : "", name ? name : "");
}

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

static int check_values(const char *path, const struct part *part)
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

/* Files without soft descriptors, or those of a network, have none of these. */
static int read_soft(struct mf_h5 *file, struct mf_target *t)
{
    double soft[2] = {0, 0};
    size_t count = 2;

    if (mf_h5_has_attribute(file, "/", "vgg_network"))
        MF_TRY(mf_h5_get_text(file, "/", "vgg_network", t->network, sizeof t->network));

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
    MF_TRY(read_soft(file, t));
    MF_TRY(mf_target_look_get(file, t));
    return check_head(path, t);
}

static int read_extents(struct mf_h5 *file, const struct mf_target *t, int i, struct mf_target_side *side)
{
    char path[PATH_TEXT];
    int64_t shape[2] = {0}, slices;
    size_t count;

    side_path(t, i, NULL, path);
    MF_TRY(mf_h5_get_ints(file, path, "slice_shape", 2, shape, &count));
    MF_TRY(get_int(file, path, "slices", &slices));
    side->nu = count == 2 && shape[0] > 0 ? (size_t)shape[0] : 0;
    side->nv = count == 2 && shape[1] > 0 ? (size_t)shape[1] : 0;
    side->slices = slices > 0 ? (size_t)slices : 0;
    return MF_OK;
}

/* A dataset that has exactly the extents of a part. */
static int check_shape(struct mf_h5 *file, const char *name, const char *path, const struct part *part)
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

static int read_part(struct mf_h5 *file, const char *name, const char *path, struct part *part)
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
    struct part part[PARTS];
    char path[PATH_TEXT];

    MF_TRY(read_extents(file, t, i, &extents));
    side_path(t, i, "s2", path);
    MF_TRY(mf_h5_shape(file, path, &shape));
    if (shape.ndim != 4) return mf_fail(MF_INPUT, "cannot read '%s': %s has %d axes, not 4", name, path, shape.ndim);
    extents.levels = shape.dims[1];
    side_path(t, i, "example", path);
    MF_TRY(read_example(file, name, path, &extents));
    MF_TRY(check_side(name, t, &extents));
    parts_of(t, &extents, part);
    for (int k = 0; k < PARTS; ++k) {
        side_path(t, i, part[k].name, path);
        if (k == 0 || k == 3 || mf_h5_has(file, path)) MF_TRY(check_shape(file, name, path, &part[k]));
    }
    side_path(t, i, "cross", path);
    MF_TRY(mf_target_side_new(side, t->phases, extents.levels, t->lag, mf_h5_has(file, path)));
    for (int m = 0; m < MF_MORE; ++m) {
        side_path(t, i, mf_more_rows[m].name, path);
        if (mf_h5_has(file, path)) MF_TRY(mf_target_side_more(side, t->phases, t->lag, (enum mf_more)m));
    }
    side->nu = extents.nu;
    side->nv = extents.nv;
    side->slices = extents.slices;
    if (extents.example_nu) MF_TRY(mf_target_example_new(side, extents.example_nu, extents.example_nv));
    parts_of(t, side, part);
    for (int k = 0; k < PARTS; ++k) {
        side_path(t, i, part[k].name, path);
        if (*part[k].at) MF_TRY(read_part(file, name, path, &part[k]));
    }
    return MF_OK;
}

static int read_whole(struct mf_h5 *file, const char *name, int which, struct mf_target *t)
{
    struct part part = whole_part(t, which, &t->whole[which]);

    if (!mf_h5_has(file, whole_paths[which])) return MF_OK;
    MF_TRY(check_shape(file, name, whole_paths[which], &part));
    MF_TRY(mf_target_whole_new(t, (enum mf_whole)which));
    return read_part(file, name, whole_paths[which], &part);
}

/* The struct as it is; which arrays there are is told by their pointers being NULL or not. */
static int send(const struct mf_target *t, FILE *to)
{
    struct mf_target copy = *t;
    struct part part[PARTS];

    MF_TRY(mf_guard_send(to, t, sizeof *t));
    for (int i = 0; i < t->sides; ++i) {
        parts_of(t, &copy.side[i], part);
        for (int k = 0; k < PARTS; ++k)
            if (*part[k].at) MF_TRY(mf_guard_send(to, *part[k].at, part[k].count * sizeof(double)));
    }
    for (int k = 0; k < MF_WHOLE; ++k) {
        part[0] = whole_part(t, k, &copy.whole[k]);
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
    struct part part[PARTS];

    MF_TRY(mf_guard_receive(from, &r->ours, sizeof r->ours));
    MF_TRY(mf_guard_receive(from, &head, sizeof head));
    MF_TRY(check_head(r->path, &head));
    mf_guard_tame(head.network, sizeof head.network);
    mf_guard_tame(head.unit, sizeof head.unit);
    mf_guard_tame(head.hash, sizeof head.hash);
    mf_guard_tame(head.source, sizeof head.source);
    for (int i = 0; i < head.sides; ++i) MF_TRY(check_side(r->path, &head, &head.side[i]));
    MF_TRY(allocate(&head, r->target));
    for (int i = 0; i < head.sides; ++i) {
        parts_of(r->target, &r->target->side[i], part);
        for (int k = 0; k < PARTS; ++k) {
            if (!*part[k].at) continue;
            MF_TRY(mf_guard_receive(from, *part[k].at, part[k].count * sizeof(double)));
            MF_TRY(check_values(r->path, &part[k]));
        }
    }
    for (int k = 0; k < MF_WHOLE; ++k) {
        if (!r->target->whole[k]) continue;
        part[0] = whole_part(r->target, k, &r->target->whole[k]);
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

    mf_comm_self(&self);
    if (access(r->path, R_OK) == 0 && !mf_look_is_h5(r->path))
        return mf_seal_blame(
            mf_fail(MF_INPUT, "'%s' is no descriptor file (not HDF5); make one with: mesoforge characterize", r->path),
            r->path);
    if (stat(r->path, &is) != 0) is.st_size = 0; /* opening it says why */
    MF_TRY(mf_seal_blame(mf_guard(r->path, MF_GUARD_DECODING(is.st_size), work, take, r), r->path));
    return mf_seal_doubt(&self, r->path, r->ours, NULL);
}

int mf_target_share(const struct mf_comm *comm, struct mf_target *target)
{
    struct mf_target head = *target;
    struct part part[PARTS];
    int rc = MF_OK;

    mf_comm_bcast(comm, 0, &head, sizeof head);
    if (comm->rank != 0) rc = allocate(&head, target);
    MF_TRY(mf_agree(comm, rc));
    for (int i = 0; i < target->sides; ++i) {
        parts_of(target, &target->side[i], part);
        for (int k = 0; k < PARTS; ++k)
            if (*part[k].at) mf_comm_bcast(comm, 0, *part[k].at, part[k].count * sizeof(double));
    }
    for (int k = 0; k < MF_WHOLE; ++k) {
        part[0] = whole_part(target, k, &target->whole[k]);
        if (target->whole[k]) mf_comm_bcast(comm, 0, target->whole[k], part[0].count * sizeof(double));
    }
    return MF_OK;
}

int mf_target_load(const struct mf_comm *comm, const char *path, struct mf_target *target)
{
    MF_PHASE(MF_PHASE_READ);
    struct mf_target t = {0};
    struct reader r = {path, &t, 0};
    int rc = mf_agree(comm, comm->rank == 0 ? read_alone(&r) : MF_OK);

    if (rc == MF_OK) rc = mf_target_share(comm, &t);
    if (rc == MF_OK)
        *target = t;
    else
        mf_target_free(&t);
    return rc;
}

/* ---- writing ---- */

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
    if (t->steepness > 0)
        MF_TRY(mf_h5_put_reals(file, "/", "soft_threshold", 2, (double[2]){t->threshold, t->steepness}));
    if (*t->network) MF_TRY(mf_h5_put_text(file, "/", "vgg_network", t->network));
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
    struct part part[PARTS];
    char path[PATH_TEXT];

    side_path(t, i, NULL, path);
    MF_TRY(mf_h5_group(file, path));
    MF_TRY(mf_h5_put_ints(file, path, "slice_shape", 2, shape));
    MF_TRY(mf_h5_put_ints(file, path, "slices", 1, &slices));
    MF_TRY(mf_h5_put_text(file, path, "slice_axes", t->sides == 3 ? slice_axes[i] : "u v"));
    parts_of(t, &side, part);
    for (int k = 0; k < PARTS; ++k) {
        if (!*part[k].at) continue;
        side_path(t, i, part[k].name, path);
        MF_TRY(mf_h5_write(file, path, MF_H5_F64, part[k].ndim, part[k].dims, *part[k].at));
        MF_TRY(mf_h5_put_text(file, path, "axes", part[k].axes));
    }
    return MF_OK;
}

static int write_whole(struct mf_h5 *file, const struct mf_target *t, int which)
{
    const struct part part = whole_part(t, which, NULL);

    if (!t->whole[which]) return MF_OK;
    MF_TRY(mf_h5_write(file, whole_paths[which], MF_H5_F64, part.ndim, part.dims, t->whole[which]));
    return mf_h5_put_text(file, whole_paths[which], "axes", part.axes);
}

static size_t target_bytes(const struct mf_target *t, const struct mf_provenance *p)
{
    size_t bytes = OVERHEAD + (p && p->json ? strlen(p->json) : 0) + (p && p->options ? strlen(p->options) : 0);
    struct part part[PARTS];

    for (int i = 0; i < t->sides; ++i) {
        struct mf_target_side side = t->side[i];

        parts_of(t, &side, part);
        for (int k = 0; k < PARTS; ++k) bytes += *part[k].at ? part[k].count * sizeof(double) : 0;
    }
    for (int k = 0; k < MF_WHOLE; ++k) bytes += t->whole[k] ? whole_part(t, k, NULL).count * sizeof(double) : 0;
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
    MF_TRY(mf_h5_create(NULL, temporary->temporary, temporary->path, &file));
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
    MF_PHASE(MF_PHASE_WRITE);
    struct mf_atomic file;
    char created[MF_UNIT_TEXT];

    mf_created(comm, created);
    MF_TRY(mf_atomic_open(comm, path, target_bytes(target, provenance), &file));
    return mf_atomic_close(comm, &file, comm->rank == 0 ? fill(&file, target, created, provenance) : MF_OK);
}
