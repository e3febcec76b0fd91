/* Writing datasets. Rank 0 makes the file with all arrays; every rank then writes the samples of its own run.
 * Compressed samples go through rank 0, because only HDF5 can place them. See dataset.h. */
#include "io/dataset_priv.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "io/phases.h"
#include "io/rows.h"
#include "io/volume.h"
#include "src/base/crc.h"
#include "src/base/err.h"

enum { OVERHEAD = 1 << 16 };

/* Where the values of an array begin; 0: there is none, or it is compressed. */
struct places {
    uint64_t x, label, real, seed, split, status, crc, moments;
};

struct making {
    const struct mf_comm *comm;
    const struct mf_dataset_wish *wish;
    mf_sample_make *make;
    void *context;
    size_t bytes; /* of one sample */
    struct mf_span own;
    struct places at;
    struct mf_atomic file;
    struct mf_h5 *h5; /* rank 0, while it is open */
    /* of this rank's samples */
    char *x; /* one sample */
    int32_t *label;
    float *real;
    uint64_t *seed;
    uint8_t *split, *status;
    uint32_t *crc;
    double *moments;
};

/* ---- the file without its values: rank 0 ---- */

static const char *axes_of(const struct mf_dataset_wish *w)
{
    if (w->ndim == 3) return w->dims[3] > 1 ? "sample z y x channel" : "sample z y x";
    return w->dims[3] > 1 ? "sample y x channel" : "sample y x";
}

static int make_x(struct making *m)
{
    const struct mf_dataset_wish *w = m->wish;
    const enum mf_h5_type type = w->is_float ? MF_H5_F32 : MF_H5_U8;
    const int64_t phases = w->phases;
    size_t extent[5] = {w->samples};
    int n = 1;

    for (int a = 3 - w->ndim; a < 3; ++a) extent[n++] = w->dims[a];
    if (w->dims[3] > 1) extent[n++] = w->dims[3];
    if (w->compress)
        MF_TRY(mf_h5_deflated(m->h5, MF_SET_X, type, n, extent, w->compress));
    else
        MF_TRY(mf_h5_dataset(m->h5, MF_SET_X, type, n, extent));
    MF_TRY(mf_h5_put_text(m->h5, MF_SET_X, "axes", axes_of(w)));
    return w->phases ? mf_h5_put_ints(m->h5, MF_SET_X, "phases", 1, &phases) : MF_OK;
}

/* An array with a row per sample, of @p columns values; 0: one axis. */
static int make_array(struct making *m, const char *path, enum mf_h5_type type, size_t columns, uint64_t *at)
{
    MF_TRY(mf_h5_dataset(m->h5, path, type, columns ? 2 : 1, (size_t[2]){m->wish->samples, columns}));
    *at = mf_h5_place(m->h5, path);
    return MF_OK;
}

static int make_arrays(struct making *m)
{
    const struct mf_dataset_wish *w = m->wish;

    MF_TRY(make_x(m));
    m->at.x = w->compress ? 0 : mf_h5_place(m->h5, MF_SET_X);
    if (w->classes) {
        MF_TRY(make_array(m, MF_SET_LABEL, MF_H5_I32, 0, &m->at.label));
        MF_TRY(mf_h5_put_texts(m->h5, MF_SET_LABEL, "classes", w->classes, w->class_name));
    }
    if (w->reals) {
        MF_TRY(make_array(m, MF_SET_REAL, MF_H5_F32, w->reals, &m->at.real));
        MF_TRY(mf_h5_put_texts(m->h5, MF_SET_REAL, "names", w->reals, w->real_name));
    }
    if (w->seeded) MF_TRY(make_array(m, MF_SET_SEED, MF_H5_U64, 0, &m->at.seed));
    MF_TRY(make_array(m, MF_SET_SPLIT, MF_H5_U8, 0, &m->at.split));
    MF_TRY(make_array(m, MF_SET_STATUS, MF_H5_U8, 0, &m->at.status));
    MF_TRY(make_array(m, MF_SET_CRC, MF_H5_U32, 0, &m->at.crc));
    return w->phases ? MF_OK : make_array(m, MF_SET_MOMENTS, MF_H5_F64, 2 * w->dims[3], &m->at.moments);
}

static size_t row_bytes(const struct making *m)
{
    const struct mf_dataset_wish *w = m->wish;

    return m->bytes + w->reals * sizeof(float) + (w->phases ? 0 : 2 * w->dims[3] * sizeof(double)) + 32;
}

static int make_file(struct making *m, const char *created, const struct mf_provenance *provenance)
{
    MF_TRY(mf_h5_create(m->file.temporary, m->file.path, &m->h5));
    MF_TRY(mf_atomic_reserve(&m->file, m->wish->compress ? 0 : OVERHEAD + m->wish->samples * row_bytes(m)));
    MF_TRY(mf_h5_provenance(m->h5, MF_SCHEMA_DATASET, created, provenance));
    return make_arrays(m);
}

/* Rank 0; others have nothing to close. */
static int close_file(struct making *m)
{
    struct mf_h5 *h5 = m->h5;

    m->h5 = NULL;
    return h5 ? mf_h5_close(h5) : MF_OK;
}

/* ---- samples ---- */

/* What a set may hold; the rest of its own checks need no more than a look at one sample. */
static int check_sample(const struct making *m, size_t id, size_t k)
{
    const struct mf_dataset_wish *w = m->wish;
    const size_t voxels = m->bytes / (w->is_float ? sizeof(float) : 1);
    const float *values = (const void *)m->x;

    if (w->classes && (m->label[k] < -1 || m->label[k] >= (int64_t)w->classes))
        return mf_fail(MF_INPUT, "label %d of sample %zu is not 0 to %zu", m->label[k], id, w->classes - 1);
    for (size_t i = 0; i < w->reals; ++i)
        if (!isfinite(m->real[k * w->reals + i]))
            return mf_fail(MF_INPUT, "'%s' of sample %zu is not a finite number", w->real_name[i], id);
    for (size_t i = 0; w->is_float && i < voxels; ++i)
        if (!isfinite(values[i])) return mf_fail(MF_INPUT, "sample %zu holds a value that is not a finite number", id);
    for (size_t i = 0; w->phases && i < voxels; ++i)
        if ((uint8_t)m->x[i] >= w->phases)
            return mf_fail(MF_INPUT, "sample %zu holds %d, which is none of the phases 0 to %d", id, (uint8_t)m->x[i],
                           w->phases - 1);
    return MF_OK;
}

/* Makes own sample k into m->x and the arrays. Local. */
static int make_sample(struct making *m, size_t k)
{
    const struct mf_dataset_wish *w = m->wish;
    struct mf_sample sample = {.x = m->x, .label = -1, .real = m->real + k * w->reals};

    mf_comm_alive();
    MF_TRY(m->make(m->context, m->own.first + k, &sample));
    m->label[k] = sample.label;
    m->seed[k] = sample.seed;
    m->status[k] = 1;
    m->crc[k] = mf_crc32c(0, m->x, m->bytes);
    if (!w->phases) mf_sample_moments(w->dims, w->is_float, m->x, m->moments + k * 2 * w->dims[3]);
    return check_sample(m, m->own.first + k, k);
}

/* As they are: every rank at its own place. Local. */
static int put_plain(struct mf_rows *rows, const void *context)
{
    struct making *m = (struct making *)(uintptr_t)context;

    for (size_t k = 0; k < m->own.count; ++k) {
        MF_TRY(make_sample(m, k));
        MF_TRY(mf_rows_put(rows, m->x, m->bytes, m->at.x + (m->own.first + k) * m->bytes));
    }
    return MF_OK;
}

/* Compresses own sample k into @p packed. Local. */
static int pack(struct making *m, size_t k, void *packed, size_t *bytes)
{
    uLongf got = compressBound(m->bytes);

    MF_TRY(make_sample(m, k));
    MF_ASSERT(compress2(packed, &got, (const Bytef *)m->x, m->bytes, m->wish->compress) == Z_OK);
    *bytes = got;
    return MF_OK;
}

/* Rank 0 writes what the ranks sent: the k-th sample of each. */
static int put_packed(struct making *m, size_t k, const char *all, const size_t *offset)
{
    for (int r = 0; m->h5 && r < m->comm->size; ++r) {
        const struct mf_span theirs = mf_cut(m->wish->samples, (size_t)m->comm->size, (size_t)r);

        if (k < theirs.count)
            MF_TRY(mf_h5_write_chunk(m->h5, MF_SET_X, theirs.first + k, offset[r + 1] - offset[r], all + offset[r]));
    }
    return MF_OK;
}

/* In rounds of one sample a rank. Collective. */
static int put_all_packed(struct making *m)
{
    const size_t rounds = mf_cut(m->wish->samples, (size_t)m->comm->size, 0).count;
    void *packed = MF_MUST(malloc(compressBound(m->bytes)), "a compressed sample"), *all;
    size_t *offset = MF_MUST(calloc((size_t)m->comm->size + 1, sizeof *offset), "a compressed sample");
    int rc = MF_OK;

    for (size_t k = 0; rc == MF_OK && k < rounds; ++k) {
        size_t bytes = 0;

        rc = mf_agree(m->comm, k < m->own.count ? pack(m, k, packed, &bytes) : MF_OK);
        if (rc == MF_OK) rc = mf_comm_gather(m->comm, packed, bytes, &all, offset);
        if (rc != MF_OK) break;
        rc = mf_agree(m->comm, put_packed(m, k, all, offset));
        free(all);
    }
    free(packed);
    free(offset);
    return rc;
}

/* ---- what stands beside the samples ---- */

static int put_beside(struct mf_rows *rows, const void *context)
{
    const struct making *m = context;
    const struct {
        uint64_t at;
        size_t row;
        const void *from;
    } part[] = {{m->at.label, sizeof *m->label, m->label},
                {m->at.real, m->wish->reals * sizeof *m->real, m->real},
                {m->at.seed, sizeof *m->seed, m->seed},
                {m->at.split, 1, m->split + m->own.first},
                {m->at.status, 1, m->status},
                {m->at.crc, sizeof *m->crc, m->crc},
                {m->at.moments, 2 * m->wish->dims[3] * sizeof *m->moments, m->moments}};

    for (size_t i = 0; i < sizeof part / sizeof *part; ++i)
        if (part[i].at && m->own.count)
            MF_TRY(
                mf_rows_put(rows, part[i].from, m->own.count * part[i].row, part[i].at + m->own.first * part[i].row));
    return MF_OK;
}

static int check_filled(const struct mf_dataset_wish *w, const uint8_t *split)
{
    const double share[MF_SPLITS] = {w->part[0], w->part[1], 1 - w->part[0] - w->part[1]};
    size_t count[MF_SPLITS] = {0};

    for (size_t i = 0; i < w->samples; ++i) ++count[split[i]];
    for (int k = 0; w->filled && k < MF_SPLITS; ++k)
        if (share[k] > 1e-9 && count[k] == 0)
            return mf_fail(MF_INPUT, "the %s split would be empty: a share of %g of %zu samples", mf_split_names[k],
                           share[k], w->samples);
    return MF_OK;
}

/* Every rank divides all samples alike. Collective. */
static int divide(struct making *m)
{
    const struct mf_dataset_wish *w = m->wish;
    void *all = NULL;
    int rc;

    if (w->split) {
        memcpy(m->split, w->split, w->samples);
        return MF_OK;
    }
    if (w->classes) MF_TRY(mf_comm_gather(m->comm, m->label, m->own.count * sizeof *m->label, &all, NULL));
    rc = mf_agree(m->comm, mf_split_make(w->samples, all, w->classes, w->part, w->split_seed, m->split));
    free(all);
    return rc == MF_OK ? check_filled(w, m->split) : rc;
}

/* ---- all of it ---- */

static void take_memory(struct making *m)
{
    const size_t n = m->own.count + 1;

    m->x = MF_MUST(malloc(m->bytes), "a sample");
    m->label = MF_MUST(calloc(n, sizeof *m->label), "labels");
    m->real = MF_MUST(calloc(n * (m->wish->reals + 1), sizeof *m->real), "properties");
    m->seed = MF_MUST(calloc(n, sizeof *m->seed), "seeds");
    m->split = MF_MUST(calloc(m->wish->samples + 1, 1), "splits");
    m->status = MF_MUST(calloc(n, 1), "states");
    m->crc = MF_MUST(calloc(n, sizeof *m->crc), "checksums");
    m->moments = MF_MUST(calloc(n * 2 * m->wish->dims[3], sizeof *m->moments), "moments");
}

static void give_memory(struct making *m)
{
    free(m->x);
    free(m->label);
    free(m->real);
    free(m->seed);
    free(m->split);
    free(m->status);
    free(m->crc);
    free(m->moments);
}

/* The file is open. Collective. */
static int fill(struct making *m, const char *created, const struct mf_provenance *provenance)
{
    const struct mf_comm *comm = m->comm;
    int rc = comm->rank == 0 ? make_file(m, created, provenance) : MF_OK;

    if (!m->wish->compress && rc == MF_OK) rc = close_file(m);
    rc = mf_agree(comm, rc);
    if (rc != MF_OK) return rc;
    mf_comm_bcast(comm, 0, &m->at, sizeof m->at);
    if (m->wish->compress) {
        MF_TRY(put_all_packed(m));
        MF_TRY(mf_agree(comm, close_file(m)));
    } else
        MF_TRY(mf_agree(comm, mf_rows_write(comm, &m->file, 0, NULL, put_plain, m)));
    MF_TRY(divide(m));
    MF_TRY(mf_agree(comm, mf_rows_write(comm, &m->file, 0, NULL, put_beside, m)));
    return mf_seal_write(comm, m->file.temporary, m->file.path, 0, NULL);
}

int mf_dataset_write(const struct mf_comm *comm, const char *path, const struct mf_dataset_wish *wish,
                     const struct mf_provenance *provenance, mf_sample_make *make, void *context)
{
    MF_PHASE(&mf_phase_write);
    struct making m = {.comm = comm, .wish = wish, .make = make, .context = context};
    char created[MF_UNIT_TEXT];
    int rc;

    m.bytes = wish->dims[0] * wish->dims[1] * wish->dims[2] * wish->dims[3] * (wish->is_float ? sizeof(float) : 1);
    m.own = mf_cut(wish->samples, (size_t)comm->size, (size_t)comm->rank);
    mf_created(comm, created);
    MF_TRY(mf_atomic_open_partial(comm, path, OVERHEAD + wish->samples * row_bytes(&m), &m.file));
    take_memory(&m);
    rc = fill(&m, created, provenance);
    (void)close_file(&m);
    rc = mf_atomic_close(comm, &m.file, rc);
    give_memory(&m);
    return rc;
}
