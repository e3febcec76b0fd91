/* Writing a microstructure in the format its name ends with. See micro.h. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/array.h"
#include "io/atomic.h"
#include "io/dream3d.h"
#include "io/image.h"
#include "io/npy.h"
#include "io/nrrd.h"
#include "io/phases.h"
#include "io/units.h"
#include "io/volume.h"
#include "io/vtk.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/log.h"
#include "src/base/text.h"

/* Endings of volumes. */
#define ENDINGS ".h5, .vtkhdf, .npy, .tif, .vti, .vtr, .nrrd, .nhdr or .dream3d"

enum { PIECE = 1 << 19, IMAGE_SLACK = 1 << 16 };

/* Bytes of a file before and behind the values, and the size of these. */
struct frame {
    const char *before;
    size_t before_bytes, value_bytes;
    const char *behind; /* NULL: nothing */
};

static size_t bytes_of(const struct frame *f)
{
    return f->before_bytes + f->value_bytes + (f->behind ? strlen(f->behind) : 0);
}

static int write_frame(int descriptor, const char *path, const struct frame *f)
{
    MF_TRY(mf_write_at(descriptor, path, f->before, f->before_bytes, 0));
    if (!f->behind) return MF_OK;
    return mf_write_at(descriptor, path, f->behind, strlen(f->behind), f->before_bytes + f->value_bytes);
}

/* Opens the temporary for a slab of its own; the frame is rank 0's. Local. */
static int write_own(const char *temporary, const char *path, const struct frame *frame,
                     int (*body)(int descriptor, const char *path, size_t offset, const void *context),
                     const void *context, int first)
{
    int descriptor = mf_open(temporary, O_WRONLY), rc = MF_OK;

    if (descriptor < 0) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    if (first) rc = write_frame(descriptor, path, frame);
    if (rc == MF_OK) rc = body(descriptor, path, frame->before_bytes, context);
    if (rc == MF_OK && mf_flush(descriptor) != 0)
        rc = mf_fail(MF_OUTPUT, "cannot write '%s' to disk: %s", path, strerror(errno));
    if (close(descriptor) != 0 && rc == MF_OK) rc = mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    return rc;
}

/* A file whose ranks each write their own part of its values. Collective. */
static int write_framed(const struct mf_comm *comm, const char *path, const struct frame *frame,
                        int (*body)(int descriptor, const char *path, size_t offset, const void *context),
                        const void *context)
{
    struct mf_atomic file;
    int rc;

    MF_TRY(mf_atomic_open(comm, path, bytes_of(frame), &file));
    rc = mf_agree(comm, comm->rank == 0 ? mf_atomic_reserve(&file, bytes_of(frame)) : MF_OK);
    if (rc == MF_OK) rc = write_own(file.temporary, path, frame, body, context, comm->rank == 0);
    return mf_atomic_close(comm, &file, rc);
}

static int body_phases(int descriptor, const char *path, size_t offset, const void *context)
{
    const struct mf_micro *m = context;
    size_t plane = m->slab.dims[1] * m->slab.dims[2];

    return mf_write_at(descriptor, path, m->phase, m->slab.count * plane, offset + m->slab.first * plane);
}

static size_t voxels_of(const struct mf_micro *m) { return m->slab.dims[0] * m->slab.dims[1] * m->slab.dims[2]; }

/* A thin volume states its axes. Otherwise readers would drop an axis of length 1, or take few planes for phases of a
 * one-hot array (io/onehot.h). */
static enum mf_axes axes_of(const struct mf_micro *m)
{
    const size_t *n = m->slab.dims;

    const size_t least = n[0] < n[2] ? n[0] : n[2], most = n[0] < n[2] ? n[2] : n[0];

    return m->ndim == 3 && (n[1] == 1 || least == 1 || (4 * least <= n[1] && 4 * least <= most)) ? MF_AXES_PLACES
                                                                                                 : MF_AXES_UNSAID;
}

static int write_phases_npy(const struct mf_comm *comm, const char *path, const struct mf_micro *m)
{
    char header[MF_NPY_HEADER];
    const struct frame frame = {header, mf_npy_header("|u1", m->ndim, m->slab.dims + 3 - m->ndim, axes_of(m), header),
                                voxels_of(m), NULL};

    return write_framed(comm, path, &frame, body_phases, m);
}

static int write_vtk(const struct mf_comm *comm, const char *path, const struct mf_micro *m)
{
    struct frame frame = {.value_bytes = voxels_of(m)};
    char *before, *behind;
    int rc;

    mf_vtk_around(m, mf_ends_with(path, ".vtr"), &before, &frame.before_bytes, &behind);
    frame.before = before;
    frame.behind = behind;
    rc = write_framed(comm, path, &frame, body_phases, m);
    free(before);
    free(behind);
    return rc;
}

static int write_nrrd(const struct mf_comm *comm, const char *path, const struct mf_micro *m)
{
    char *header = mf_nrrd_header(m, NULL);
    const struct frame frame = {header, strlen(header), voxels_of(m), NULL};
    const int rc = write_framed(comm, path, &frame, body_phases, m);

    free(header);
    return rc;
}

static int print(const struct mf_atomic *file, const char *text)
{
    const int descriptor = mf_open(file->temporary, O_WRONLY);
    int rc;

    if (descriptor < 0) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", file->path, strerror(errno));
    rc = mf_write_at(descriptor, file->path, text, strlen(text), 0);
    if (close(descriptor) != 0 && rc == MF_OK)
        rc = mf_fail(MF_OUTPUT, "cannot write '%s': %s", file->path, strerror(errno));
    return rc;
}

/* Does a header that is there name this file? Then both are replaced together. */
static int is_named(const char *header, const char *values)
{
    char data[MF_DATASET_TEXT];
    struct stat a, b;

    mf_array_apart(header, data);
    return data[0] && stat(data, &a) == 0 && stat(values, &b) == 0 && a.st_dev == b.st_dev && a.st_ino == b.st_ino;
}

/* Values that were not written with this header are somebody's. Rank 0. */
static int check_values(const char *path, const char *values)
{
    struct stat there;

    MF_TRY(mf_atomic_may(values));
    if (strpbrk(mf_name_base(values), "\n\r%"))
        return mf_fail(MF_USAGE, "cannot write '%s': a header cannot name the file of its values", path);
    if (stat(values, &there) != 0 || is_named(path, values)) return MF_OK;
    return mf_fail(MF_OUTPUT, "cannot write '%s': '%s', where its values would go, is there and not its own", path,
                   values);
}

/* NAME.nhdr and NAME.raw: both are complete before the first gets its name. */
static int write_nhdr(const struct mf_comm *comm, const char *path, const struct mf_micro *m)
{
    const struct frame frame = {"", 0, voxels_of(m), NULL};
    char *values = mf_nrrd_values(path), *header = mf_nrrd_header(m, mf_name_base(values));
    struct mf_atomic file;
    int rc = mf_agree(comm, comm->rank == 0 ? check_values(path, values) : MF_OK);

    if (rc == MF_OK) rc = mf_atomic_open(comm, path, strlen(header), &file);
    if (rc == MF_OK) {
        rc = mf_agree(comm, comm->rank == 0 ? print(&file, header) : MF_OK);
        if (rc == MF_OK) rc = write_framed(comm, values, &frame, body_phases, m);
        rc = mf_atomic_close(comm, &file, rc);
    }
    free(header);
    free(values);
    return rc;
}

struct fields {
    const struct mf_slab *slab;
    size_t fields;
    const float *x; /* [fields][count][ny][nx] */
};

/* Fields become the last axis, piece by piece. */
static int body_fields(int descriptor, const char *path, size_t offset, const void *context)
{
    const struct fields *f = context;
    size_t voxels = mf_slab_voxels(f->slab), per_voxel = f->fields * sizeof(float), most = PIECE / per_voxel;
    size_t start = offset + f->slab->first * f->slab->dims[1] * f->slab->dims[2] * per_voxel;
    float *piece;
    int rc = MF_OK;

    if (f->fields == 1) return mf_write_at(descriptor, path, f->x, voxels * sizeof(float), start);
    piece = malloc(PIECE);
    if (!piece) return mf_fail(MF_MEMORY, "no memory to write '%s'", path);
    for (size_t v = 0; rc == MF_OK && v < voxels; v += most) {
        size_t n = voxels - v < most ? voxels - v : most;

        for (size_t i = 0; i < n * f->fields; ++i) piece[i] = f->x[i % f->fields * voxels + v + i / f->fields];
        rc = mf_write_at(descriptor, path, piece, n * per_voxel, start + v * per_voxel);
    }
    free(piece);
    return rc;
}

int mf_field_write(const struct mf_comm *comm, const char *path, const struct mf_slab *slab, int ndim, int fields,
                   const float *x)
{
    MF_PHASE(&mf_phase_write);
    struct fields f = {slab, (size_t)fields, x};
    size_t shape[4] = {0};
    char header[MF_NPY_HEADER];
    struct frame frame = {.before = header, .value_bytes = sizeof(float) * f.fields};

    for (int i = 0; i < ndim; ++i) shape[i] = slab->dims[3 - ndim + i];
    shape[ndim] = f.fields;
    for (int i = 0; i < 3; ++i) frame.value_bytes *= slab->dims[i];
    frame.before_bytes = mf_npy_header("<f4", fields > 1 ? ndim + 1 : ndim, shape,
                                       fields > 1 ? MF_AXES_PHASES_LAST : MF_AXES_PLACES, header);
    return write_framed(comm, path, &frame, body_fields, &f);
}

/* Rank 0 writes pages as they come; the others send theirs. Collective; the code is rank 0's own. */
static int write_pages(const struct mf_comm *comm, const struct mf_micro *m, struct mf_tiff *tiff, uint8_t *plane)
{
    size_t bytes = m->slab.dims[1] * m->slab.dims[2];
    int rc = MF_OK;

    for (size_t z = 0; z < m->slab.dims[0]; ++z) {
        MF_TRY(mf_slab_fetch(comm, &m->slab, m->phase, bytes, (ptrdiff_t)z, comm->rank == 0, plane));
        if (comm->rank == 0 && rc == MF_OK) rc = mf_tiff_page(tiff, plane);
    }
    return rc;
}

static int write_tiff(const struct mf_comm *comm, const char *path, const struct mf_micro *m)
{
    const size_t *dims = m->slab.dims;
    size_t bytes = dims[0] * dims[1] * dims[2] + IMAGE_SLACK + 512 * dims[0];
    struct mf_tiff *tiff = NULL;
    struct mf_atomic file;
    uint8_t *plane = NULL;
    int rc = MF_OK;

    MF_TRY(mf_atomic_open(comm, path, bytes, &file));
    if (comm->rank == 0) {
        rc = mf_atomic_reserve(&file, bytes);
        plane = malloc(dims[1] * dims[2]);
        if (rc == MF_OK && !plane) rc = mf_fail(MF_MEMORY, "no memory to write '%s'", path);
        if (rc == MF_OK) rc = mf_tiff_create(file.temporary, path, dims[0], dims[1], dims[2], &tiff);
    }
    rc = mf_agree(comm, rc);
    if (rc == MF_OK) rc = write_pages(comm, m, tiff, plane);
    if (tiff) {
        int end = mf_tiff_close(tiff);

        if (rc == MF_OK) rc = end;
    }
    free(plane);
    return mf_atomic_close(comm, &file, rc);
}

/* Phases as grey levels from black to white. */
static int grey_of(const struct mf_micro *m, int phase)
{
    const int last = m->phases - 1;

    return last ? (phase * 510 + last) / (2 * last) : 0;
}

/* Local: the rank that has the one plane. */
static int draw_png(const char *temporary, const char *path, const struct mf_micro *m)
{
    size_t n = m->slab.dims[1] * m->slab.dims[2];
    uint8_t *grey = malloc(n);
    int rc;

    if (!grey) return mf_fail(MF_MEMORY, "no memory to write '%s'", path);
    for (size_t i = 0; i < n; ++i) grey[i] = (uint8_t)grey_of(m, m->phase[i]);
    rc = mf_png_write(temporary, path, m->slab.dims[1], m->slab.dims[2], 1, grey);
    free(grey);
    return rc;
}

static int write_png(const struct mf_comm *comm, const char *path, const struct mf_micro *m)
{
    size_t bytes = m->slab.dims[1] * m->slab.dims[2] + IMAGE_SLACK;
    struct mf_atomic file;

    if (m->slab.dims[0] > 1)
        return mf_fail(MF_OUTPUT,
                       "cannot write '%s': a PNG holds one image, this volume has %zu planes; choose " ENDINGS, path,
                       m->slab.dims[0]);
    MF_TRY(mf_atomic_open(comm, path, bytes, &file));
    return mf_atomic_close(comm, &file, m->slab.count ? draw_png(file.temporary, path, m) : MF_OK);
}

static int bad_ending(const char *path)
{
    return mf_fail(MF_USAGE, "cannot write '%s': its name must end with .png (images), " ENDINGS, path);
}

static int is_volume(const char *path) { return mf_ends_with(path, ".h5") || mf_ends_with(path, ".vtkhdf"); }

/* Facts that a format keeps besides the phases. */
enum { SPACING = 1, UNIT = 2, LABELS = 4, ALL = 7 };

static const struct ending {
    const char *text;
    int keeps;
} endings[] = {{".h5", ALL},
               {".vtkhdf", ALL},
               {".nrrd", SPACING | UNIT},
               {".nhdr", SPACING | UNIT},
               {".vti", SPACING},
               {".vtr", SPACING},
               {".dream3d", SPACING},
               {".npy", 0},
               {".tif", 0},
               {".tiff", 0},
               {".png", 0}};

static const struct ending *ending_of(const char *path)
{
    for (size_t i = 0; i < sizeof endings / sizeof *endings; ++i)
        if (mf_ends_with(path, endings[i].text)) return &endings[i];
    return NULL;
}

static int check_ending(const char *path, int ndim)
{
    const struct ending *ending = ending_of(path);

    if (!ending) return bad_ending(path);
    if (strcmp(ending->text, ".png") == 0 && ndim == 3)
        return mf_fail(MF_USAGE, "cannot write '%s': a volume is no picture; choose " ENDINGS, path);
    return MF_OK;
}

/* Are the labels those of phases, or those that the values of a PNG state? */
static int writes_labels(int is_png, const struct mf_micro *m)
{
    int plain = 1, grey = is_png;

    for (int p = 0; p < m->phases; ++p) {
        plain &= m->label[p] == p;
        grey &= m->label[p] == grey_of(m, p);
    }
    return plain || grey;
}

/* Says in one line which known facts the format cannot keep. */
static void say_lost(const char *path, const struct mf_micro *m)
{
    const struct mf_size size = {path, m->ndim, m->spacing, m->unit};
    const int stated = mf_size_stated(&size), keeps = ending_of(path)->keeps, png = mf_ends_with(path, ".png");
    char is[MF_SIZE_TEXT], text[2 * MF_SIZE_TEXT] = "";
    int n = 0;

    mf_size_text(&size, is);
    if (stated && !(keeps & SPACING))
        n = snprintf(text, sizeof text, "the %s %s", *m->unit ? "spacing and its unit," : "spacing", is);
    else if (*m->unit && !(keeps & UNIT))
        n = snprintf(text, sizeof text, "the unit of the spacing, %.32s", m->unit);
    if (!(keeps & LABELS) && !writes_labels(png, m))
        n += snprintf(text + n, sizeof text - (size_t)n, "%sthe labels (but %sphases 0 to %d)", n ? ", nor " : "",
                      png ? "grey levels of " : "", m->phases - 1);
    if (n) mf_warn("'%s' does not keep %s; .h5 does", path, text);
}

static int check_path(const char *path, int ndim)
{
    MF_TRY(check_ending(path, ndim));
    MF_TRY(mf_atomic_may(path));
    if (is_volume(path)) return mf_volume_may_write(path);
    if (mf_ends_with(path, ".nhdr")) {
        char *values = mf_nrrd_values(path);
        const int rc = check_values(path, values);

        free(values);
        return rc;
    }
    return MF_OK;
}

struct reals {
    size_t bytes; /* of this rank */
    const double *values;
};

static int body_reals(int descriptor, const char *path, size_t offset, const void *context)
{
    const struct reals *r = context;

    return r->bytes ? mf_write_at(descriptor, path, r->values, r->bytes, offset) : MF_OK;
}

int mf_reals_write(const struct mf_comm *comm, const char *path, int ndim, const size_t *shape, enum mf_axes axes,
                   const double *values)
{
    MF_PHASE(&mf_phase_write);
    char header[MF_NPY_HEADER];
    struct frame frame = {header, mf_npy_header("<f8", ndim, shape, axes, header), sizeof(double), NULL};
    struct reals reals = {0, values};

    for (int i = 0; i < ndim; ++i) frame.value_bytes *= shape[i];
    if (comm->rank == 0) reals.bytes = frame.value_bytes;
    return write_framed(comm, path, &frame, body_reals, &reals);
}

int mf_micro_may_name(const struct mf_comm *comm, const char *path)
{
    int rc = comm->rank == 0 ? check_ending(path, 2) : MF_OK;

    if (rc == MF_OK && comm->rank == 0) rc = mf_atomic_reaches(path);
    return mf_agree(comm, rc);
}

int mf_micro_may_write(const struct mf_comm *comm, const char *path, int ndim, size_t voxels)
{
    /* what HDF5 and provenance take beside the values, about */
    const size_t beside = is_volume(path) && voxels > 0 ? 96 << 10 : 0;
    int rc = comm->rank == 0 ? check_path(path, ndim) : MF_OK;

    /* a picture may pack well, but need not; the others hold a byte for every voxel */
    if (rc == MF_OK && comm->rank == 0) rc = mf_atomic_room(path, voxels + beside);
    return mf_agree(comm, rc);
}

int mf_micro_write(const struct mf_comm *comm, const char *path, const struct mf_micro *micro,
                   const struct mf_provenance *provenance)
{
    MF_PHASE(&mf_phase_write);

    mf_phase_count(((struct mf_cost){(double)mf_slab_voxels(&micro->slab), 0}));
    MF_ASSERT(micro->phase || micro->slab.count == 0);
    if (!ending_of(path)) return bad_ending(path);
    say_lost(path, micro);
    if (is_volume(path)) return mf_volume_write(comm, path, micro, provenance);
    if (mf_ends_with(path, ".npy")) return write_phases_npy(comm, path, micro);
    if (mf_ends_with(path, ".png")) return write_png(comm, path, micro);
    if (mf_ends_with(path, ".vti") || mf_ends_with(path, ".vtr")) return write_vtk(comm, path, micro);
    if (mf_ends_with(path, ".nrrd")) return write_nrrd(comm, path, micro);
    if (mf_ends_with(path, ".nhdr")) return write_nhdr(comm, path, micro);
    if (mf_ends_with(path, ".dream3d")) return mf_dream3d_write(comm, path, micro);
    return write_tiff(comm, path, micro);
}
