/* Writing a microstructure in the format its name ends with. See micro.h. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/image.h"
#include "io/npy.h"
#include "io/volume.h"
#include "src/base/err.h"
#include "src/base/phase.h"
#include "src/base/text.h"

enum { PIECE = 1 << 19, IMAGE_SLACK = 1 << 16 };

/* Opens the temporary for a slab of its own; the header is rank 0's. Local. */
static int write_own(const char *temporary, const char *path, const char *header, size_t header_bytes,
                     int (*body)(int descriptor, const char *path, size_t offset, const void *context),
                     const void *context, int first)
{
    int descriptor = open(temporary, O_WRONLY | O_CLOEXEC), rc = MF_OK;

    if (descriptor < 0) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    if (first) rc = mf_write_at(descriptor, path, header, header_bytes, 0);
    if (rc == MF_OK) rc = body(descriptor, path, header_bytes, context);
    if (rc == MF_OK && fsync(descriptor) != 0)
        rc = mf_fail(MF_OUTPUT, "cannot write '%s' to disk: %s", path, strerror(errno));
    if (close(descriptor) != 0 && rc == MF_OK) rc = mf_fail(MF_OUTPUT, "cannot write '%s': %s", path, strerror(errno));
    return rc;
}

/* An .npy whose ranks each write their own part. Collective. */
static int write_npy(const struct mf_comm *comm, const char *path, const char *header, size_t header_bytes,
                     size_t value_bytes,
                     int (*body)(int descriptor, const char *path, size_t offset, const void *context),
                     const void *context)
{
    struct mf_atomic file;
    int rc;

    MF_TRY(mf_atomic_open(comm, path, header_bytes + value_bytes, &file));
    rc = mf_agree(comm, comm->rank == 0 ? mf_atomic_reserve(&file, header_bytes + value_bytes) : MF_OK);
    if (rc == MF_OK) rc = write_own(file.temporary, path, header, header_bytes, body, context, comm->rank == 0);
    return mf_atomic_close(comm, &file, rc);
}

static int body_phases(int descriptor, const char *path, size_t offset, const void *context)
{
    const struct mf_micro *m = context;
    size_t plane = m->slab.dims[1] * m->slab.dims[2];

    return mf_write_at(descriptor, path, m->phase, m->slab.count * plane, offset + m->slab.first * plane);
}

static int write_phases_npy(const struct mf_comm *comm, const char *path, const struct mf_micro *m)
{
    const size_t *dims = m->slab.dims;
    char header[MF_NPY_HEADER];
    size_t n = mf_npy_header("|u1", m->ndim, dims + 3 - m->ndim, header);

    return write_npy(comm, path, header, n, dims[0] * dims[1] * dims[2], body_phases, m);
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
    MF_PHASE(MF_PHASE_WRITE);
    struct fields f = {slab, (size_t)fields, x};
    size_t shape[4] = {0}, bytes = sizeof(float) * f.fields, n;
    char header[MF_NPY_HEADER];

    for (int i = 0; i < ndim; ++i) shape[i] = slab->dims[3 - ndim + i];
    shape[ndim] = f.fields;
    for (int i = 0; i < 3; ++i) bytes *= slab->dims[i];
    n = mf_npy_header("<f4", fields > 1 ? ndim + 1 : ndim, shape, header);
    return write_npy(comm, path, header, n, bytes, body_fields, &f);
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

/* Phases as grey levels from black to white. Local: the rank that has the one plane. */
static int draw_png(const char *temporary, const char *path, const struct mf_micro *m)
{
    size_t n = m->slab.dims[1] * m->slab.dims[2];
    uint8_t *grey = malloc(n);
    int rc;

    if (!grey) return mf_fail(MF_MEMORY, "no memory to write '%s'", path);
    for (size_t i = 0; i < n; ++i) grey[i] = (uint8_t)(m->phases > 1 ? m->phase[i] * 255 / (m->phases - 1) : 0);
    rc = mf_png_write(temporary, path, m->slab.dims[1], m->slab.dims[2], grey);
    free(grey);
    return rc;
}

static int write_png(const struct mf_comm *comm, const char *path, const struct mf_micro *m)
{
    size_t bytes = m->slab.dims[1] * m->slab.dims[2] + IMAGE_SLACK;
    struct mf_atomic file;

    if (m->slab.dims[0] > 1)
        return mf_fail(MF_OUTPUT, "cannot write '%s': a PNG holds one image, this volume has %zu planes (use .tif)",
                       path, m->slab.dims[0]);
    MF_TRY(mf_atomic_open(comm, path, bytes, &file));
    return mf_atomic_close(comm, &file, m->slab.count ? draw_png(file.temporary, path, m) : MF_OK);
}

static int bad_ending(const char *path)
{
    return mf_fail(MF_USAGE, "cannot write '%s': its name must end with .h5, .vtkhdf, .npy, .tif or .png", path);
}

static int check_path(const char *path, int ndim)
{
    static const char *const endings[] = {".h5", ".vtkhdf", ".npy", ".tif", ".tiff", ".png"};
    size_t known = 0, count = sizeof endings / sizeof endings[0];

    while (known < count && !mf_ends_with(path, endings[known])) ++known;
    if (known == count) return bad_ending(path);
    if (known == count - 1 && ndim == 3)
        return mf_fail(MF_USAGE, "cannot write '%s': a volume is no picture; choose .h5, .npy or .tif", path);
    return mf_atomic_may(path);
}

int mf_micro_may_write(const struct mf_comm *comm, const char *path, int ndim, size_t voxels)
{
    int rc = comm->rank == 0 ? check_path(path, ndim) : MF_OK;

    /* a picture is compressed, the others hold a byte for every voxel */
    if (rc == MF_OK && comm->rank == 0 && !mf_ends_with(path, ".png")) rc = mf_atomic_room(path, voxels);
    return mf_agree(comm, rc);
}

int mf_micro_write(const struct mf_comm *comm, const char *path, const struct mf_micro *micro,
                   const struct mf_provenance *provenance)
{
    MF_PHASE(MF_PHASE_WRITE);

    mf_phase_count(((struct mf_cost){(double)mf_slab_voxels(&micro->slab), 0}));
    MF_ASSERT(micro->phase || micro->slab.count == 0);
    if (mf_ends_with(path, ".h5") || mf_ends_with(path, ".vtkhdf"))
        return mf_volume_write(comm, path, micro, provenance);
    if (mf_ends_with(path, ".npy")) return write_phases_npy(comm, path, micro);
    if (mf_ends_with(path, ".png")) return write_png(comm, path, micro);
    if (mf_ends_with(path, ".tif") || mf_ends_with(path, ".tiff")) return write_tiff(comm, path, micro);
    return bad_ending(path);
}
