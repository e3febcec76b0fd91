/* See volume.h. */
#include "io/volume.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/rows.h"
#include "io/seal.h"
#include "src/base/err.h"
#include "src/base/text.h"

/* Headers and attributes of a file, about. */
enum { OVERHEAD = 1 << 16 };

enum { SIDE_BYTES = 2048 /* of an .xdmf, about */ };

void mf_created(const struct mf_comm *comm, char text[MF_UNIT_TEXT])
{
    time_t now = time(NULL);
    struct tm utc;

    memset(text, 0, MF_UNIT_TEXT);
    if (gmtime_r(&now, &utc)) (void)strftime(text, MF_UNIT_TEXT, "%Y-%m-%dT%H:%M:%SZ", &utc);
    mf_comm_bcast(comm, 0, text, MF_UNIT_TEXT);
}

static const char *or_empty(const char *text) { return text ? text : ""; }

int mf_h5_provenance(struct mf_h5 *file, const char *schema, const char *created,
                     const struct mf_provenance *provenance)
{
    static const struct mf_provenance none;
    const struct mf_provenance *p = provenance ? provenance : &none;
    const int64_t version = MF_SCHEMA_VERSION, seed = p->seed;

    MF_TRY(mf_h5_put_text(file, "/", "schema", schema));
    MF_TRY(mf_h5_put_ints(file, "/", "schema_version", 1, &version));
    MF_TRY(mf_h5_put_text(file, "/", "creator", "mesoforge " MF_VERSION));
    MF_TRY(mf_h5_put_text(file, "/", "version", MF_VERSION));
    MF_TRY(mf_h5_put_text(file, "/", "created", created));
    MF_TRY(mf_h5_put_text(file, "/", "command", or_empty(p->command)));
    MF_TRY(mf_h5_put_text(file, "/", "options", or_empty(p->options)));
    MF_TRY(mf_h5_put_text(file, "/", "input_sha256", or_empty(p->input_hash)));
    MF_TRY(mf_h5_put_ints(file, "/", "seed", 1, &seed));
    if (p->json) MF_TRY(mf_h5_write_text(file, "/results", p->json));
    if (!p->convergence_count) return MF_OK;
    MF_TRY(mf_h5_write(file, "/convergence", MF_H5_F64, 2, (size_t[2]){p->convergence_count, 3}, p->convergence));
    return mf_h5_put_texts(file, "/convergence", "columns", 3, (const char *[3]){"evaluation", "seconds", "loss"});
}

/* Our own group: the phases and what they mean. */
static int make_own(struct mf_h5 *file, const struct mf_micro *m)
{
    int64_t labels[MF_PHASES_MAX];
    const char *names[MF_PHASES_MAX];
    size_t skip = (size_t)(3 - m->ndim), phases = (size_t)m->phases;
    int named = 0;

    for (size_t p = 0; p < phases; ++p) {
        labels[p] = m->label[p];
        names[p] = m->name[p];
        named |= m->name[p][0] != '\0';
    }
    MF_TRY(mf_h5_dataset(file, MF_MICRO_DATASET, MF_H5_U8, m->ndim, m->slab.dims + skip));
    MF_TRY(mf_h5_put_text(file, MF_MICRO_DATASET, "axes", m->ndim == 3 ? "z y x" : "y x"));
    MF_TRY(mf_h5_put_reals(file, MF_MICRO_DATASET, "spacing", (size_t)m->ndim, m->spacing + skip));
    MF_TRY(mf_h5_put_text(file, MF_MICRO_DATASET, "unit", m->unit));
    MF_TRY(mf_h5_put_ints(file, MF_MICRO_DATASET, "labels", phases, labels));
    return named ? mf_h5_put_texts(file, MF_MICRO_DATASET, "phase_names", phases, names) : MF_OK;
}

#define VTK_PHASE "/VTKHDF/PointData/phase"

/* VTKHDF image data. ParaView 5.11 crashes on an axis of length 1. So a single plane is stored as a layer between two
 * equal planes. A field one voxel wide or high has no VTKHDF data. */
static int has_vtk(const struct mf_micro *m) { return m->slab.dims[1] > 1 && m->slab.dims[2] > 1; }

/* Two equal planes of their own. */
static int has_layer(const struct mf_micro *m) { return m->slab.dims[0] == 1 && has_vtk(m); }

int mf_h5_vtk(struct mf_h5 *file, const struct mf_micro *m)
{
    const size_t *d = m->slab.dims;
    const int64_t version[2] = {1, 0};
    const size_t planes = d[0] > 1 ? d[0] : 2;
    const int64_t extent[6] = {0, (int64_t)d[2] - 1, 0, (int64_t)d[1] - 1, 0, (int64_t)planes - 1};
    const double origin[3] = {0, 0, 0}, spacing[3] = {m->spacing[2], m->spacing[1], m->spacing[0]};
    const double direction[9] = {1, 0, 0, 0, 1, 0, 0, 0, 1};

    MF_TRY(mf_h5_group(file, "/VTKHDF/PointData"));
    MF_TRY(mf_h5_put_ints(file, "/VTKHDF", "Version", 2, version));
    MF_TRY(mf_h5_put_ascii(file, "/VTKHDF", "Type", "ImageData"));
    MF_TRY(mf_h5_put_ints(file, "/VTKHDF", "WholeExtent", 6, extent));
    MF_TRY(mf_h5_put_reals(file, "/VTKHDF", "Origin", 3, origin));
    MF_TRY(mf_h5_put_reals(file, "/VTKHDF", "Spacing", 3, spacing));
    MF_TRY(mf_h5_put_reals(file, "/VTKHDF", "Direction", 9, direction));
    return mf_h5_put_ascii(file, "/VTKHDF/PointData", "Scalars", "phase");
}

static int make_vtk(struct mf_h5 *file, const struct mf_micro *m)
{
    const size_t *d = m->slab.dims;

    if (!has_vtk(m)) return MF_OK;
    MF_TRY(mf_h5_vtk(file, m));
    if (!has_layer(m)) return mf_h5_link(file, MF_MICRO_DATASET, VTK_PHASE);
    return mf_h5_dataset(file, VTK_PHASE, MF_H5_U8, 3, (size_t[3]){2, d[1], d[2]});
}

static size_t volume_bytes(const struct mf_micro *m, const struct mf_provenance *p)
{
    size_t bytes = m->slab.dims[0] * m->slab.dims[1] * m->slab.dims[2];

    if (m->slab.dims[0] == 1) bytes *= 3;
    if (p) bytes += p->convergence_count * 24 + strlen(or_empty(p->json)) + strlen(or_empty(p->options));
    return bytes + OVERHEAD;
}

/* Where values begin in the file [bytes]; where the two planes of VTK's layer do, 0: there are none. */
struct places {
    uint64_t values, layer;
};

/* Everything but the values. Rank 0. */
static int make(struct mf_h5 *file, const struct mf_micro *m, const char *created, const struct mf_provenance *p,
                struct places *places)
{
    MF_TRY(mf_h5_provenance(file, "microstructure", created, p));
    MF_TRY(make_own(file, m));
    MF_TRY(make_vtk(file, m));
    places->values = mf_h5_place(file, MF_MICRO_DATASET);
    places->layer = has_layer(m) ? mf_h5_place(file, VTK_PHASE) : 0;
    MF_ASSERT(places->values && !has_layer(m) == !places->layer);
    return MF_OK;
}

static int make_file(const struct mf_atomic *temporary, const struct mf_micro *m, const char *created,
                     const struct mf_provenance *p, struct places *places)
{
    struct mf_h5 *file;
    int rc, end;

    MF_TRY(mf_h5_create(temporary->temporary, temporary->path, &file));
    rc = mf_atomic_reserve(temporary, volume_bytes(m, p));
    if (rc == MF_OK) rc = make(file, m, created, p, places);
    end = mf_h5_close(file);
    if (rc == MF_OK) rc = end;
    return rc;
}

/* This rank's. */
struct own {
    const struct mf_micro *micro;
    struct places places;
};

/* Where the last of the values ends. */
static uint64_t end_of(const struct own *own)
{
    const size_t *d = own->micro->slab.dims;

    if (own->places.layer > own->places.values) return own->places.layer + 2 * d[1] * d[2];
    return own->places.values + d[0] * d[1] * d[2];
}

static int put_own(struct mf_rows *rows, const void *context)
{
    const struct own *own = context;
    const struct mf_micro *m = own->micro;
    const size_t plane = m->slab.dims[1] * m->slab.dims[2], bytes = m->slab.count * plane;

    MF_TRY(mf_rows_put(rows, m->phase, bytes, own->places.values + m->slab.first * plane));
    for (size_t z = 0; z < 2 && own->places.layer; ++z)
        MF_TRY(mf_rows_put(rows, m->phase, bytes, own->places.layer + z * plane));
    return MF_OK;
}

/* Collective: refused by all or by none. */
static int fill(const struct mf_comm *comm, const struct mf_atomic *temporary, const struct mf_micro *m,
                const char *created, const struct mf_provenance *p)
{
    struct mf_seal_seen seen = {0};
    struct own own = {m, {0, 0}};
    int rc = mf_agree(comm, comm->rank == 0 ? make_file(temporary, m, created, p, &own.places) : MF_OK);

    if (rc != MF_OK) return rc;
    mf_comm_bcast(comm, 0, &own.places, sizeof own.places);
    rc = mf_agree(comm, mf_rows_write(comm, temporary, end_of(&own), &seen, put_own, &own));
    if (rc == MF_OK) rc = mf_seal_write(comm, temporary->temporary, temporary->path, 0, &seen);
    mf_seal_see_end(&seen);
    return rc;
}

static void print_head(FILE *to)
{
    fputs("<?xml version=\"1.0\"?>\n<!DOCTYPE Xdmf SYSTEM \"Xdmf.dtd\"[]>\n"
          "<Xdmf xmlns:xi=\"http://www.w3.org/2003/XInclude\" Version=\"2.2\"><Domain>\n"
          " <Grid Name=\"microstructure\" GridType=\"Uniform\">\n",
          to);
}

/* XML text without the five characters that mean something. */
static void print_escaped(FILE *to, const char *text)
{
    for (; *text; ++text) switch (*text) {
        case '&': fputs("&amp;", to); break;
        case '<': fputs("&lt;", to); break;
        case '>': fputs("&gt;", to); break;
        case '"': fputs("&quot;", to); break;
        case '\'': fputs("&apos;", to); break;
        default: fputc(*text, to);
        }
}

/* Cells, axes slowest first, as ParaView's readers want them. */
static void print_xdmf(FILE *to, const char *data, const struct mf_micro *m)
{
    const size_t *d = m->slab.dims + 3 - m->ndim;
    const double *s = m->spacing + 3 - m->ndim;
    int volume = m->ndim == 3;

    print_head(to);
    fprintf(to, "  <Topology TopologyType=\"%dDCoRectMesh\" Dimensions=\"", m->ndim);
    for (int i = 0; i < m->ndim; ++i) fprintf(to, "%s%zu", i ? " " : "", d[i] + 1);
    fprintf(to, "\"/>\n  <Geometry Type=\"%s\">\n", volume ? "ORIGIN_DXDYDZ" : "ORIGIN_DXDY");
    fprintf(to, "   <DataItem Format=\"XML\" Dimensions=\"%d\">%s</DataItem>\n", m->ndim, volume ? "0 0 0" : "0 0");
    fprintf(to, "   <DataItem Format=\"XML\" Dimensions=\"%d\">", m->ndim);
    for (int i = 0; i < m->ndim; ++i) fprintf(to, "%s%.17g", i ? " " : "", s[i]);
    fputs("</DataItem></Geometry>\n  <Attribute Name=\"phase\" AttributeType=\"Scalar\" Center=\"Cell\">\n"
          "   <DataItem Format=\"HDF\" Dimensions=\"",
          to);
    for (int i = 0; i < m->ndim; ++i) fprintf(to, "%s%zu", i ? " " : "", d[i]);
    fputs("\" NumberType=\"UChar\" Precision=\"1\">", to);
    print_escaped(to, data);
    fputs(":" MF_MICRO_DATASET "</DataItem></Attribute>\n </Grid></Domain></Xdmf>\n", to);
}

/* Local. */
static int print_file(const struct mf_atomic *file, const char *data, const struct mf_micro *m)
{
    FILE *to = fopen(file->temporary, "w");
    int bad;

    if (!to) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", file->path, strerror(errno));
    if (mf_fault("io.write.xdmf")) {
        (void)fclose(to);
        return mf_fail(MF_OUTPUT, "cannot write '%s': injected fault", file->path);
    }
    print_xdmf(to, data, m);
    bad = ferror(to);
    if (fclose(to) != 0 || bad) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", file->path, strerror(errno));
    return MF_OK;
}

/* The name of the .xdmf that belongs to a volume; the caller frees. */
static char *xdmf_name(const char *path) { return mf_format("%.*s.xdmf", (int)(strrchr(path, '.') - path), path); }

/* Not collective. */
int mf_volume_may_write(const char *path)
{
    char *name = xdmf_name(path);
    int rc = mf_atomic_may(name);

    free(name);
    return rc;
}

/* Writes the companion, which only helps to look at the volume. The code @p opened says why it cannot be. */
static int fill_side(const struct mf_comm *comm, const struct mf_atomic *side, int opened, const char *why,
                     const char *path, const struct mf_micro *micro)
{
    if (opened != MF_OK) return mf_fail(opened, "%s", why);
    return comm->rank == 0 ? print_file(side, mf_name_base(path), micro) : MF_OK;
}

/* It must not cost the volume. */
int mf_volume_write(const struct mf_comm *comm, const char *path, const struct mf_micro *micro,
                    const struct mf_provenance *provenance)
{
    char created[MF_UNIT_TEXT], why[MF_ERR_TEXT], *name = xdmf_name(path);
    struct mf_atomic file, side = {NULL, NULL};
    int stands = 0, opened, rc;

    mf_created(comm, created);
    rc = mf_atomic_open(comm, path, volume_bytes(micro, provenance), &file);
    if (rc == MF_OK) {
        opened = mf_atomic_open(comm, name, SIDE_BYTES, &side);
        snprintf(why, sizeof why, "%s", mf_err_text());
        rc = fill(comm, &file, micro, created, provenance);
        opened = rc == MF_OK ? fill_side(comm, &side, opened, why, path, micro) : opened;
        rc = mf_atomic_close_both(comm, &file, rc, &side, opened, &stands);
    }
    snprintf(why, sizeof why, "%s", mf_err_text());
    if (stands) rc = mf_fail(rc, "%.700s; the volume itself, '%.200s', is complete", why, path);
    free(name);
    return rc;
}
