/* See dream3d.h. Geometries are x y z, arrays [z][y][x][components]. */
#include "io/dream3d.h"

#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "io/atomic.h"
#include "io/guard.h"
#include "io/look.h"
#include "io/rows.h"
#include "src/base/err.h"

enum { CELLS = 64, OVERHEAD = 1 << 16, LIST_TEXT = 600, PIECE = 1 << 15 /* phases that are widened at a time */ };

#define OLD "/DataContainers/"
#define NEW "/DataStructure/"

/* Datasets that may be arrays of cells. */
struct cells {
    struct mf_h5 *file;
    size_t count;
    char path[CELLS][MF_LOOK_PATH];
};

int mf_dream3d_is(struct mf_h5 *file)
{
    return mf_h5_has(file, "/DataContainers") || mf_h5_has(file, "/DataStructure");
}

static const char *last_of(const char *path) { return strrchr(path, '/') + 1; }

/* The group two above an array, GEOMETRY of GEOMETRY/MATRIX/ARRAY, which may stand in groups itself. 0: there is none.
 */
static int container_of(const char *path, char container[MF_LOOK_PATH])
{
    const size_t root = strncmp(path, OLD, strlen(OLD)) == 0 ? strlen(OLD) : strlen(NEW);
    char *slash;

    if (strncmp(path, OLD, strlen(OLD)) != 0 && strncmp(path, NEW, strlen(NEW)) != 0) return 0;
    snprintf(container, MF_LOOK_PATH, "%s", path);
    for (int up = 0; up < 2; ++up) {
        slash = strrchr(container, '/');
        if (slash < container + root) return 0;
        *slash = '\0';
    }
    return 1;
}

static int has_geometry(struct mf_h5 *file, const char *container)
{
    char path[MF_LOOK_PATH + 32];

    if (strncmp(container, NEW, strlen(NEW)) == 0) return mf_h5_has_attribute(file, container, "_DIMENSIONS");
    snprintf(path, sizeof path, "%s/_SIMPL_GEOMETRY/DIMENSIONS", container);
    return mf_h5_has(file, path);
}

/* One value for each cell of a grid. */
static int is_scalar(const struct mf_h5_shape *s)
{
    return s->kind && (s->ndim == 3 || (s->ndim == 4 && s->dims[3] == 1));
}

static void note(void *context, const char *path, const struct mf_h5_shape *shape)
{
    struct cells *c = context;
    char container[MF_LOOK_PATH];

    if (c->count == CELLS || !is_scalar(shape) || !container_of(path, container) || !has_geometry(c->file, container))
        return;
    snprintf(c->path[c->count++], MF_LOOK_PATH, "%s", path);
}

/* -- the geometry -- */

static int numbers(struct mf_h5 *file, const char *container, const char *word, double value[3])
{
    char path[2 * MF_LOOK_PATH], name[16];
    struct mf_h5_shape s;
    size_t count = 0;

    if (strncmp(container, OLD, strlen(OLD)) == 0) {
        snprintf(path, sizeof path, "%s/_SIMPL_GEOMETRY/%s", container, word);
        MF_TRY(mf_h5_shape(file, path, &s));
        if (s.ndim == 1 && s.dims[0] == 3) return mf_h5_read_rows(file, path, MF_H5_F64, 0, 3, value);
    } else {
        snprintf(name, sizeof name, "_%s", word);
        MF_TRY(mf_h5_get_reals(file, container, name, 3, value, &count));
        if (count == 3) return MF_OK;
    }
    return mf_fail(MF_INPUT, "the geometry '%s' has no %s of three axes", container, word);
}

/* The array's extents are those of the image geometry in whose container it stands. */
static int understand(struct mf_h5 *file, struct mf_array *a, const char *path)
{
    char container[MF_LOOK_PATH];
    double extent[3], spacing[3];
    struct mf_h5_shape s;

    if (!container_of(path, container)) return mf_fail(MF_INPUT, "'%s': '%s' is in no geometry", a->path, path);
    MF_TRY(mf_h5_shape(file, path, &s));
    MF_TRY(numbers(file, container, "DIMENSIONS", extent));
    MF_TRY(numbers(file, container, "SPACING", spacing));
    for (int i = 0; i < 3; ++i)
        if ((double)s.dims[i] != extent[2 - i])
            return mf_fail(MF_INPUT, "'%s': array '%s' does not have the extents of its geometry (%g x %g x %g, x y z)",
                           a->path, path, extent[0], extent[1], extent[2]);
    snprintf(a->dataset, sizeof a->dataset, "%s", path);
    for (int i = 0; i < 3; ++i) a->spacing[i] = spacing[2 - i];
    a->scaled = a->cells = 1;
    return MF_OK;
}

/* -- one of the arrays -- */

static int refuse_many(const struct mf_array *a, const struct cells *c)
{
    char text[LIST_TEXT] = "";
    size_t n = 0;

    if (c->count == 0) return mf_fail(MF_INPUT, "'%s' holds no image geometry with one value for each cell", a->path);
    for (size_t i = 0; i < c->count && n < LIST_TEXT / 2; ++i)
        n += (size_t)snprintf(text + n, LIST_TEXT - n, "%s%s", i ? ", " : "", c->path[i] + 1);
    mf_guard_sanitise(text, sizeof text);
    return mf_fail(MF_INPUT, "'%s' holds several arrays, name one as FILE:ARRAY: %s", a->path, text);
}

/* How many of them are called so; the last into *found. */
static size_t called(const struct cells *c, const char *name, const char **found)
{
    size_t count = 0;

    for (size_t i = 0; i < c->count; ++i)
        if (strcmp(c->path[i], name) == 0 || strcasecmp(last_of(c->path[i]), name + (name[0] == '/')) == 0) {
            *found = c->path[i];
            ++count;
        }
    return count;
}

int mf_dream3d_inspect(struct mf_h5 *file, struct mf_array *a)
{
    static struct cells c; /* of a process of its own */
    const char *path = NULL;
    size_t count;

    c.file = file;
    c.count = 0;
    mf_look_sets(file, note, &c);
    if (a->dataset[0])
        count = called(&c, a->dataset, &path);
    else {
        count = called(&c, "Phases", &path);
        if (count == 0 && c.count == 1) path = c.path[count++];
    }
    if (a->dataset[0] && count == 0) return MF_OK; /* another dataset of the file, or none */
    return count == 1 ? understand(file, a, path) : refuse_many(a, &c);
}

/* -- writing -- */

#define CONTAINER OLD "ImageDataContainer"
#define GEOMETRY  CONTAINER "/_SIMPL_GEOMETRY"
#define MATRIX    CONTAINER "/CellData"
#define PHASES    MATRIX "/Phases"

static int make_geometry(struct mf_h5 *file, const struct mf_micro *m)
{
    const size_t *n = m->slab.dims;
    const int64_t extent[3] = {(int64_t)n[2], (int64_t)n[1], (int64_t)n[0]};
    const float origin[3] = {0, 0, 0};
    const float spacing[3] = {(float)m->spacing[2], (float)m->spacing[1], (float)m->spacing[0]};
    const uint64_t image = 0, three = 3;

    MF_TRY(mf_h5_group(file, GEOMETRY));
    MF_TRY(mf_h5_put_unsigned(file, GEOMETRY, "GeometryType", 32, 1, &image));
    MF_TRY(mf_h5_put_ascii(file, GEOMETRY, "GeometryTypeName", "ImageGeometry"));
    MF_TRY(mf_h5_put_ascii(file, GEOMETRY, "GeometryName", "ImageGeometry"));
    MF_TRY(mf_h5_put_unsigned(file, GEOMETRY, "SpatialDimensionality", 32, 1, &three));
    MF_TRY(mf_h5_put_unsigned(file, GEOMETRY, "UnitDimensionality", 32, 1, &three));
    MF_TRY(mf_h5_write(file, GEOMETRY "/DIMENSIONS", MF_H5_I64, 1, (size_t[1]){3}, extent));
    MF_TRY(mf_h5_write(file, GEOMETRY "/ORIGIN", MF_H5_F32, 1, (size_t[1]){3}, origin));
    return mf_h5_write(file, GEOMETRY "/SPACING", MF_H5_F32, 1, (size_t[1]){3}, spacing);
}

static int make_phases(struct mf_h5 *file, const struct mf_micro *m)
{
    const size_t *n = m->slab.dims;
    const uint64_t tuples[3] = {n[2], n[1], n[0]}, one = 1, two = 2, cell = 3;
    char axes[96];

    snprintf(axes, sizeof axes, "x=%zu,y=%zu,z=%zu", n[2], n[1], n[0]);
    MF_TRY(mf_h5_dataset(file, PHASES, MF_H5_I32, 4, (size_t[4]){n[0], n[1], n[2], 1}));
    MF_TRY(mf_h5_put_unsigned(file, MATRIX, "AttributeMatrixType", 32, 1, &cell));
    MF_TRY(mf_h5_put_unsigned(file, MATRIX, "TupleDimensions", 64, 3, tuples));
    MF_TRY(mf_h5_put_unsigned(file, PHASES, "ComponentDimensions", 64, 1, &one));
    MF_TRY(mf_h5_put_unsigned(file, PHASES, "TupleDimensions", 64, 3, tuples));
    MF_TRY(mf_h5_put_unsigned(file, PHASES, "DataArrayVersion", 32, 1, &two));
    MF_TRY(mf_h5_put_ascii(file, PHASES, "ObjectType", "DataArray<int32_t>"));
    return mf_h5_put_ascii(file, PHASES, "Tuple Axis Dimensions", axes);
}

static int make(struct mf_h5 *file, const struct mf_micro *m)
{
    MF_TRY(mf_h5_put_ascii(file, "/", "FileVersion", "7.0"));
    MF_TRY(mf_h5_put_ascii(file, "/", "DREAM3D Version", "mesoforge " MF_VERSION));
    MF_TRY(mf_h5_group(file, "/DataContainerBundles"));
    MF_TRY(make_geometry(file, m));
    return make_phases(file, m);
}

static size_t bytes_of(const struct mf_micro *m)
{
    return 4 * m->slab.dims[0] * m->slab.dims[1] * m->slab.dims[2] + OVERHEAD;
}

/* Everything but the values. Rank 0. */
static int make_file(const struct mf_atomic *to, const struct mf_micro *m, uint64_t *place)
{
    struct mf_h5 *file;
    int rc, end;

    MF_TRY(mf_h5_create(to->temporary, to->path, &file));
    rc = mf_atomic_reserve(to, bytes_of(m));
    if (rc == MF_OK) rc = make(file, m);
    *place = rc == MF_OK ? mf_h5_place(file, PHASES) : 0;
    end = mf_h5_close(file);
    return rc == MF_OK ? end : rc;
}

struct own {
    const struct mf_micro *micro;
    uint64_t place;
};

/* The phases as DREAM.3D counts them in. */
static int put_own(struct mf_rows *rows, const void *context)
{
    const struct own *own = context;
    const struct mf_slab *s = &own->micro->slab;
    const size_t voxels = mf_slab_voxels(s);
    const uint64_t place = own->place + s->first * s->dims[1] * s->dims[2] * sizeof(int32_t);
    int32_t piece[PIECE];

    for (size_t at = 0, n; at < voxels; at += n) {
        n = voxels - at < PIECE ? voxels - at : PIECE;
        for (size_t i = 0; i < n; ++i) piece[i] = own->micro->phase[at + i];
        MF_TRY(mf_rows_put(rows, piece, n * sizeof *piece, place + at * sizeof *piece));
    }
    return MF_OK;
}

/* Collective: refused by all or by none. */
static int fill(const struct mf_comm *comm, const struct mf_atomic *to, const struct mf_micro *m)
{
    struct own own = {m, 0};
    int rc = mf_agree(comm, comm->rank == 0 ? make_file(to, m, &own.place) : MF_OK);

    if (rc != MF_OK) return rc;
    mf_comm_bcast(comm, 0, &own.place, sizeof own.place);
    return mf_agree(comm, mf_rows_write(comm, to, 0, NULL, put_own, &own));
}

int mf_dream3d_write(const struct mf_comm *comm, const char *path, const struct mf_micro *micro)
{
    struct mf_atomic file;

    MF_TRY(mf_atomic_open(comm, path, bytes_of(micro), &file));
    return mf_atomic_close(comm, &file, fill(comm, &file, micro));
}
