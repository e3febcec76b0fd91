/* Writing datasets. Rank 0 makes the file with all arrays; every rank then writes the samples of its own run.
 * Compressed samples go through rank 0, because only HDF5 can place them. See dataset.h. */
#include "io/dataset_priv.h"

#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "io/dataset_writer_priv.h"
#include "io/lock.h"
#include "io/phases.h"
#include "io/questions_priv.h"
#include "io/rows.h"
#include "io/volume.h"
#include "slurm/launcher.h"
#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/room.h"
#include "src/base/text.h"

enum { OVERHEAD = 1 << 16 };

struct making {
    const struct mf_comm *comm;
    const struct mf_dataset_wish *wish;
    mf_sample_make *make;
    void *context;
    struct mf_set_layout lay;
    struct mf_span own;
    struct mf_atomic file;
    struct mf_h5 *h5;               /* rank 0, while it is open */
    char *x;                        /* one sample; compressed: the samples of a chunk */
    void *array[MF_PARTS];          /* of this rank's samples */
    uint8_t *split;                 /* [samples] */
    struct mf_questions *questions; /* about own samples; NULL: none */
    uint64_t ask_at[MF_ASK_PARTS];
};

static size_t bytes_of(const struct making *m)
{
    const struct mf_dataset_wish *w = m->wish;

    return OVERHEAD + w->samples * mf_set_row(&m->lay) +
           (w->questions ? mf_questions_bytes(w->questions->form, w->samples) : 0);
}

/* ---- the file without its values: rank 0 ---- */

static int make_file(struct making *m, const char *created, const struct mf_provenance *provenance)
{
    MF_TRY(mf_h5_create(m->file.temporary, m->file.path, &m->h5));
    MF_TRY(mf_atomic_reserve(&m->file, m->wish->compress ? 0 : bytes_of(m)));
    MF_TRY(mf_h5_provenance(m->h5, MF_SCHEMA_DATASET, created, provenance));
    MF_TRY(mf_set_make(m->h5, m->wish, &m->lay));
    return m->wish->questions ? mf_questions_lay(m->h5, m->wish->questions, m->wish->samples, m->ask_at) : MF_OK;
}

/* Rank 0; others have nothing to close. */
static int close_file(struct making *m)
{
    struct mf_h5 *h5 = m->h5;

    m->h5 = NULL;
    return h5 ? mf_h5_close(h5) : MF_OK;
}

/* ---- samples ---- */

/* Makes own sample k into @p x and the arrays. Local. */
static int make_sample(struct making *m, size_t k, void *x)
{
    const struct mf_dataset_wish *w = m->wish;
    struct mf_sample sample = {.x = x, .label = -1, .real = (float *)m->array[MF_PART_REAL] + k * w->reals};

    mf_comm_alive();
    MF_TRY(m->make(m->context, m->own.first + k, &sample));
    ((int32_t *)m->array[MF_PART_LABEL])[k] = sample.label;
    ((uint64_t *)m->array[MF_PART_SEED])[k] = sample.seed;
    ((uint8_t *)m->array[MF_PART_STATUS])[k] = 1;
    ((uint32_t *)m->array[MF_PART_CRC])[k] = mf_crc32c(0, x, m->lay.bytes);
    if (!w->phases)
        mf_sample_moments(w->dims, w->is_float, x, (double *)m->array[MF_PART_MOMENTS] + k * 2 * w->dims[3],
                          (float *)m->array[MF_PART_RANGE] + k * 2 * w->dims[3]);
    return mf_set_check_sample(w, m->own.first + k, x, sample.label, sample.real);
}

/* Writes the own samples, uncompressed, to their places. Local. */
static int put_plain(struct mf_rows *rows, const void *context)
{
    struct making *m = (struct making *)(uintptr_t)context;

    for (size_t k = 0; k < m->own.count; ++k) {
        MF_TRY(make_sample(m, k, m->x));
        MF_TRY(mf_rows_put(rows, m->x, m->lay.bytes, m->lay.x_at + (m->own.first + k) * m->lay.bytes));
    }
    return MF_OK;
}

static struct mf_span own_of(const struct making *m, int rank)
{
    return mf_cut_grain(m->wish->samples, m->lay.rows, (size_t)m->comm->size, (size_t)rank);
}

/* Makes and compresses the own samples of the chunk that begins at @p first. The last chunk of all is filled with
 * zeros. Local. */
static int pack(struct making *m, size_t first, void *packed, size_t *bytes)
{
    const size_t most = m->lay.rows * m->lay.bytes,
                 count = m->own.count - first < m->lay.rows ? m->own.count - first : m->lay.rows;
    uLongf got = compressBound(most);

    memset(m->x + count * m->lay.bytes, 0, most - count * m->lay.bytes);
    for (size_t k = 0; k < count; ++k) MF_TRY(make_sample(m, first + k, m->x + k * m->lay.bytes));
    MF_ASSERT(compress2(packed, &got, (const Bytef *)m->x, most, m->wish->compress) == Z_OK);
    *bytes = got;
    return MF_OK;
}

/* Rank 0 writes what the ranks sent: of each the chunk that begins with its sample @p first. */
static int put_packed(struct making *m, size_t first, const char *all, const size_t *offset)
{
    for (int r = 0; m->h5 && r < m->comm->size; ++r) {
        const struct mf_span theirs = own_of(m, r);

        if (first < theirs.count)
            MF_TRY(
                mf_h5_write_chunk(m->h5, MF_SET_X, theirs.first + first, offset[r + 1] - offset[r], all + offset[r]));
    }
    return MF_OK;
}

/* In rounds: each writes one chunk of every rank. Collective. */
static int put_all_packed(struct making *m)
{
    const size_t most = own_of(m, 0).count;
    const size_t room = compressBound(m->lay.rows * m->lay.bytes);
    size_t *offset = MF_MUST(calloc((size_t)m->comm->size + 1, sizeof *offset), "a compressed sample");
    void *packed = mf_room(1, room, "a compressed sample"), *all;
    int rc = mf_agree(m->comm, packed ? MF_OK : MF_MEMORY);

    for (size_t k = 0; rc == MF_OK && k < most; k += m->lay.rows) {
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

    for (int p = 0; p < MF_PARTS; ++p)
        if (m->lay.columns[p] && m->own.count)
            MF_TRY(mf_rows_put(rows, m->array[p], m->own.count * mf_set_part_row(&m->lay, p),
                               m->lay.at[p] + m->own.first * mf_set_part_row(&m->lay, p)));
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
    if (w->classes)
        MF_TRY(mf_comm_gather(m->comm, m->array[MF_PART_LABEL], m->own.count * sizeof(int32_t), &all, NULL));
    rc = mf_agree(m->comm, mf_split_make(w->samples, all, w->classes, w->part, w->split_seed, m->split));
    free(all);
    return rc == MF_OK ? mf_set_check_filled(w, m->split) : rc;
}

/* ---- questions: rows of own samples ---- */

static size_t rows_before(const struct making *m, size_t sample)
{
    const struct mf_questions_wish *w = m->wish->questions;

    return w->first ? w->first[sample] : w->form->rows / m->wish->samples * sample;
}

static int put_questions(struct mf_rows *rows, const void *context)
{
    const struct making *m = context;
    const struct mf_questions_form *all = m->wish->questions->form, *own = &m->questions->form;
    void **array[MF_ASK_PARTS];

    mf_questions_arrays(m->questions, array);
    for (int p = 0; p < MF_ASK_PARTS; ++p) {
        const size_t row = mf_questions_row(all, p),
                     first = p < MF_ASK_OBJECT ? rows_before(m, m->own.first) : m->own.first;

        if (row && m->own.count)
            MF_TRY(mf_rows_put(rows, *array[p], mf_questions_rows(own, m->own.count, p) * row,
                               m->ask_at[p] + first * row));
    }
    return MF_OK;
}

/* Collective. */
static int ask(struct making *m)
{
    const struct mf_questions_wish *w = m->wish->questions;
    struct mf_questions_form form = *w->form;
    int rc;

    form.rows = rows_before(m, m->own.first + m->own.count) - rows_before(m, m->own.first);
    m->questions = mf_questions_new(&form, m->own.count);
    MF_TRY(mf_agree(m->comm, m->questions ? MF_OK : MF_MEMORY));
    MF_TRY(w->make(w->context, m->split, m->own, m->questions));
    rc = mf_questions_check(m->file.path, m->questions, m->own.count, m->own.first);
    MF_TRY(mf_agree(m->comm, rc));
    return mf_agree(m->comm, mf_rows_write(m->comm, &m->file, 0, NULL, put_questions, m));
}

/* ---- all of it ---- */

static int take_memory(struct making *m)
{
    const struct mf_dataset_wish *w = m->wish;

    m->x = mf_room(m->lay.rows, m->lay.bytes, "a sample");
    if (!m->x) return MF_MEMORY;
    MF_TRY(MF_ROOM(m->split, w->samples + 1, "the splits of %zu samples", w->samples));
    for (int p = 0; p < MF_PARTS; ++p) {
        m->array[p] = mf_room((m->own.count + 1) * (m->lay.columns[p] + 1), mf_set_parts[p].size, "%s of %zu samples",
                              mf_set_parts[p].path, w->samples);
        if (!m->array[p]) return MF_MEMORY;
    }
    return MF_OK;
}

static void give_memory(struct making *m)
{
    mf_questions_close(m->questions);
    free(m->x);
    free(m->split);
    for (int p = 0; p < MF_PARTS; ++p) free(m->array[p]);
}

/* The file is open. Collective. */
static int fill(struct making *m, const char *created, const struct mf_provenance *provenance)
{
    const struct mf_comm *comm = m->comm;
    int rc = comm->rank == 0 ? make_file(m, created, provenance) : MF_OK;

    if (!m->wish->compress && rc == MF_OK) rc = close_file(m);
    rc = mf_agree(comm, rc);
    if (rc != MF_OK) return rc;
    mf_comm_bcast(comm, 0, &m->lay.x_at, sizeof m->lay.x_at);
    mf_comm_bcast(comm, 0, m->lay.at, sizeof m->lay.at);
    mf_comm_bcast(comm, 0, m->ask_at, sizeof m->ask_at);
    if (m->wish->compress) {
        MF_TRY(put_all_packed(m));
        MF_TRY(mf_agree(comm, close_file(m)));
    } else
        MF_TRY(mf_agree(comm, mf_rows_write(comm, &m->file, 0, NULL, put_plain, m)));
    MF_TRY(divide(m));
    memcpy(m->array[MF_PART_SPLIT], m->split + m->own.first, m->own.count);
    MF_TRY(mf_agree(comm, mf_rows_write(comm, &m->file, 0, NULL, put_beside, m)));
    if (m->wish->questions) MF_TRY(ask(m));
    return mf_seal_write(comm, m->file.temporary, m->file.path, 0, NULL);
}

/* A writer's samples may have taken hours: its files are not replaced. Any other is. Rank 0. */
static int spare_writer(const char *path)
{
    char *partial = mf_format("%s.partial", path);
    int is, rc = MF_OK;

    if (mf_writer_owns(partial, &is) == MF_OK && is)
        rc = mf_fail(MF_USAGE, "'%s' has samples of a set that is not complete; try: another output", partial);
    if (rc == MF_OK && mf_writer_owns(path, &is) == MF_OK && is)
        rc = mf_fail(MF_USAGE, "'%s' is a set of generated samples; try: another output, or remove that file", path);
    if (rc == MF_OK) mf_err_clear(); /* what nobody can read is nobody's set */
    free(partial);
    return rc;
}

/* The file, which no other run writes meanwhile: its partial file has one name. Collective. */
static int write_alone(struct making *m, const char *path, const struct mf_provenance *provenance)
{
    const struct mf_launcher launcher = mf_launcher_find();
    const struct mf_lock_job job = {launcher.job, launcher.restarts};
    char created[MF_UNIT_TEXT];
    struct mf_lock lock;
    int rc;

    mf_created(m->comm, created);
    MF_TRY(mf_lock_take(m->comm, path, &job, &lock));
    rc = mf_agree(m->comm, m->comm->rank == 0 ? spare_writer(path) : MF_OK);
    if (rc == MF_OK) rc = mf_atomic_open_partial(m->comm, path, bytes_of(m), &m->file);
    if (rc == MF_OK) {
        rc = fill(m, created, provenance);
        (void)close_file(m);
        rc = mf_atomic_close(m->comm, &m->file, rc);
    }
    mf_lock_give(&lock);
    return rc;
}

int mf_dataset_write(const struct mf_comm *comm, const char *path, const struct mf_dataset_wish *wish,
                     const struct mf_provenance *provenance, mf_sample_make *make, void *context)
{
    MF_PHASE(&mf_phase_write);
    struct making m = {.comm = comm, .wish = wish, .make = make, .context = context};
    int rc;

    mf_set_lay(wish, &m.lay);
    m.own = own_of(&m, comm->rank);
    rc = mf_agree(comm, take_memory(&m));
    if (rc == MF_OK) rc = write_alone(&m, path, provenance);
    give_memory(&m);
    return rc;
}
