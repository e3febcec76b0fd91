/* See fields.h. */
#include "io/fields.h"

#include <stdlib.h>
#include <string.h>

#include "io/atomic.h"
#include "io/rows.h"
#include "io/seal.h"
#include "io/volume.h"
#include "src/base/err.h"
#include "src/base/text.h"

enum { FIELDS_MAX = 16, OVERHEAD = 1 << 16 };

struct mf_fields {
    const struct mf_comm *comm;
    const struct mf_micro *micro;
    const struct mf_fields_wish *wish;
    struct mf_atomic file;
    size_t planes; /* in the file */
    uint64_t phase_at, at[FIELDS_MAX];
};

static size_t plane_of(const struct mf_fields *f) { return f->micro->slab.dims[1] * f->micro->slab.dims[2]; }

static size_t bytes_of(const struct mf_fields *f)
{
    size_t bytes = 1;

    for (size_t i = 0; i < f->wish->fields; ++i) bytes += (size_t)f->wish->values[i] * sizeof(float);
    return OVERHEAD + bytes * f->planes * plane_of(f);
}

/* ---- the file without values: rank 0 ---- */

static int make_array(struct mf_h5 *h5, const struct mf_fields *f, const char *name, enum mf_h5_type type, int values,
                      uint64_t *at)
{
    const size_t dims[4] = {f->planes, f->micro->slab.dims[1], f->micro->slab.dims[2], (size_t)values};
    char *path = mf_format("/VTKHDF/PointData/%s", name);
    const int rc = mf_h5_dataset(h5, path, type, values > 1 ? 4 : 3, dims);

    *at = rc == MF_OK ? mf_h5_place(h5, path) : 0;
    free(path);
    return rc;
}

static int make(struct mf_h5 *h5, struct mf_fields *f, const char *created, const struct mf_provenance *provenance)
{
    MF_TRY(mf_h5_provenance(h5, MF_SCHEMA_FIELDS, created, provenance));
    MF_TRY(mf_h5_vtk(h5, f->micro));
    MF_TRY(make_array(h5, f, "phase", MF_H5_U8, 1, &f->phase_at));
    for (size_t i = 0; i < f->wish->fields; ++i)
        MF_TRY(make_array(h5, f, f->wish->name[i], MF_H5_F32, f->wish->values[i], &f->at[i]));
    return MF_OK;
}

static int make_file(struct mf_fields *f, const char *created, const struct mf_provenance *provenance)
{
    struct mf_h5 *h5;
    int rc, end;

    MF_TRY(mf_h5_create(f->file.temporary, f->file.path, &h5));
    rc = mf_atomic_reserve(&f->file, bytes_of(f));
    if (rc == MF_OK) rc = make(h5, f, created, provenance);
    end = mf_h5_close(h5);
    return rc == MF_OK ? end : rc;
}

/* ---- values ---- */

struct putting {
    const struct mf_fields *f;
    uint64_t at;
    size_t plane, first, count; /* plane: bytes */
    const void *value;
};

static int put(struct mf_rows *rows, const void *context)
{
    const struct putting *p = context;
    const size_t layers = p->f->planes / p->f->micro->slab.dims[0];

    for (size_t k = 0; k < layers && p->count; ++k) /* both planes of an image */
        MF_TRY(mf_rows_put(rows, p->value, p->count * p->plane, p->at + (p->first + k) * p->plane));
    return MF_OK;
}

static int put_planes(const struct mf_fields *f, const struct putting *p)
{
    return mf_agree(f->comm, mf_rows_write(f->comm, &f->file, 0, NULL, put, p));
}

int mf_fields_put(struct mf_fields *f, size_t i, size_t first, size_t count, const float *value)
{
    const size_t plane = plane_of(f) * (size_t)f->wish->values[i] * sizeof *value;
    const struct putting p = {f, f->at[i], plane, first, count, value};

    return put_planes(f, &p);
}

int mf_fields_open(const struct mf_comm *comm, const char *path, const struct mf_micro *micro,
                   const struct mf_fields_wish *wish, const struct mf_provenance *provenance, struct mf_fields **fields)
{
    const struct mf_slab *slab = &micro->slab;
    struct mf_fields *f = MF_MUST(calloc(1, sizeof *f), "fields");
    struct putting p;
    char created[MF_UNIT_TEXT];
    int rc = MF_OK;

    MF_ASSERT(wish->fields <= FIELDS_MAX);
    *f = (struct mf_fields){.comm = comm, .micro = micro, .wish = wish};
    f->planes = slab->dims[0] > 1 ? slab->dims[0] : 2;
    if (slab->dims[1] < 2 || slab->dims[2] < 2)
        rc = mf_fail(MF_INPUT, "cannot write '%s': VTKHDF needs two voxels along y and x", path);
    mf_created(comm, created);
    if (rc == MF_OK) rc = mf_atomic_open(comm, path, bytes_of(f), &f->file);
    if (rc != MF_OK) {
        free(f);
        return rc;
    }
    rc = mf_agree(comm, comm->rank == 0 ? make_file(f, created, provenance) : MF_OK);
    mf_comm_bcast(comm, 0, f->at, sizeof f->at);
    mf_comm_bcast(comm, 0, &f->phase_at, sizeof f->phase_at);
    p = (struct putting){f, f->phase_at, plane_of(f), slab->first, slab->count, micro->phase};
    if (rc == MF_OK) rc = put_planes(f, &p);
    if (rc != MF_OK)
        (void)mf_fields_close(f, rc);
    else
        *fields = f;
    return rc;
}

int mf_fields_close(struct mf_fields *f, int code)
{
    int rc = mf_agree(f->comm, code);

    if (rc == MF_OK) rc = mf_seal_write(f->comm, f->file.temporary, f->file.path, 0, NULL);
    rc = mf_atomic_close(f->comm, &f->file, rc);
    free(f);
    return rc;
}
