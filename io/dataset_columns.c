/* See dataset_columns.h. */
#include "io/dataset_columns.h"

#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/dataset_priv.h"
#include "io/guard.h"
#include "io/lock.h"
#include "io/seal.h"
#include "slurm/launcher.h"
#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/room.h"
#include "src/base/text.h"

enum { OVERHEAD = 1 << 16, PIECE = 4 << 20 };

static const char MAGIC[] = "MFCOLS01";

/** The head of PATH.columns; rows of values and a checksum follow. */
struct head {
    char magic[8];
    uint64_t samples;
    uint32_t columns, of; /* of: the checksum of the set and of what the values follow from */
};

struct mf_columns {
    const struct mf_comm *comm;
    const struct mf_dataset *set;
    const struct mf_columns_wish *wish;
    char *path, *rows; /* PATH.columns */
    struct mf_lock lock;
    struct head head;
    int file;     /* rows, open; -1 */
    int complete; /* the set has the columns */
    uint8_t *status;
    size_t *place;           /* [columns] in the new table */
    size_t reals;            /* of the new table */
    const char **name;       /* [reals] */
    char *old;               /* what columns of the set follow from; rank 0 */
    const float *value;      /* [samples][columns], at the end */
    struct mf_atomic sealed; /* the new set */
};

static size_t row_bytes(const struct mf_columns *c) { return c->wish->columns * sizeof(float) + sizeof(uint32_t); }

static uint64_t row_at(const struct mf_columns *c, size_t id) { return sizeof c->head + id * row_bytes(c); }

static uint32_t row_sum(const struct mf_columns *c, size_t id, const float *value)
{
    const uint64_t number = id;

    return mf_crc32c(mf_crc32c(c->head.of, &number, sizeof number), value, c->wish->columns * sizeof *value);
}

/* ---- what there is ---- */

/* Where the columns stand in the new table. They replace columns of the same name. Local. */
static int find_places(struct mf_columns *c)
{
    const struct mf_dataset *set = c->set;

    MF_TRY(MF_ROOM(c->place, c->wish->columns, "the columns of '%.300s'", c->path));
    MF_TRY(MF_ROOM(c->name, set->reals + c->wish->columns, "the columns of '%.300s'", c->path));
    for (size_t r = 0; r < set->reals; ++r) c->name[r] = set->real_name[r];
    c->reals = set->reals;
    for (size_t i = 0; i < c->wish->columns; ++i) {
        c->place[i] = mf_dataset_column(set, c->wish->name[i]);
        if (c->place[i] == set->reals) c->place[i] = c->reals++;
        c->name[c->place[i]] = c->wish->name[i];
    }
    return MF_OK;
}

/* Local. */
static int take_memory(struct mf_columns *c)
{
    MF_TRY(MF_ROOM(c->status, c->set->samples + 1, "the columns of '%.300s'", c->path));
    c->old = mf_room(c->set->reals + 1, MF_COLUMNS_SAID, "the columns of '%.300s'", c->path);
    return c->old ? find_places(c) : MF_MEMORY;
}

/** Settings of the columns of a set: [reals][MF_COLUMNS_SAID]; "": unknown. */
struct answer {
    const struct mf_dataset *set;
    char *said;
};

static int read_settings(struct mf_h5 *h5, const struct answer *a)
{
    const char *path = mf_set_parts[MF_PART_REAL].path;
    size_t count = 0;

    if (!mf_h5_has(h5, path) || !mf_h5_has_attribute(h5, path, MF_SET_SAID)) return MF_OK;
    MF_TRY(mf_h5_get_texts(h5, path, MF_SET_SAID, a->set->reals, MF_COLUMNS_SAID, a->said, &count));
    return count == a->set->reals
               ? MF_OK
               : mf_fail(MF_INPUT, "'%s': " MF_SET_SAID " is not one text for each column of %s", a->set->path, path);
}

/* In a child. */
static int ask(void *context, FILE *to)
{
    const struct answer *a = context;
    struct mf_h5 *h5;
    int rc, end;

    MF_TRY(mf_h5_open(a->set->path, &h5));
    rc = mf_h5_unread(h5, read_settings(h5, a));
    end = mf_h5_close(h5);
    MF_TRY(rc);
    MF_TRY(end);
    return mf_guard_send(to, a->said, a->set->reals * MF_COLUMNS_SAID);
}

static int hear(void *context, FILE *from)
{
    const struct answer *a = context;

    MF_TRY(mf_guard_receive(from, a->said, a->set->reals * MF_COLUMNS_SAID));
    for (size_t r = 0; r < a->set->reals; ++r) mf_guard_sanitise(a->said + r * MF_COLUMNS_SAID, MF_COLUMNS_SAID);
    return MF_OK;
}

/* Has the set such columns already? Rank 0. */
static int check_names(struct mf_columns *c)
{
    const struct answer a = {c->set, c->old};
    const int in_place = mf_atomic_same(c->path, c->set->path);
    size_t there = 0;

    if (c->set->reals) MF_TRY(mf_guard(c->set->path, MF_GUARD_SECONDS, ask, hear, (void *)(uintptr_t)&a));
    for (size_t i = 0; i < c->wish->columns && in_place; ++i) {
        const char *said = c->old + c->place[i] * MF_COLUMNS_SAID;

        if (c->place[i] >= c->set->reals) continue;
        ++there;
        if (strcmp(said, c->wish->said) != 0)
            return mf_fail(MF_USAGE, "'%s' has %s already (%s); try: --output OTHER.h5", c->set->path, c->wish->name[i],
                           *said ? said : "nothing says of what");
    }
    c->complete = there == c->wish->columns;
    return MF_OK;
}

/* ---- rows ---- */

static int begin_rows(struct mf_columns *c, int file)
{
    const uint64_t bytes = row_at(c, c->set->samples);
    int error;

    if (ftruncate(file, 0) != 0 || ftruncate(file, (off_t)bytes) != 0)
        return mf_fail(MF_OUTPUT, "cannot write '%s': %s", c->rows, strerror(errno));
    do error = fallocate(file, 0, 0, (off_t)bytes) != 0 ? errno : 0;
    while (error == EINTR);
    if (error == ENOSPC || error == EDQUOT || error == EFBIG)
        return mf_fail(MF_OUTPUT, "cannot write '%s': no room for its %zu bytes: %s", c->rows, (size_t)bytes,
                       strerror(error));
    return mf_write_at(file, c->rows, &c->head, sizeof c->head, 0);
}

static int read_rows(struct mf_columns *c, int file)
{
    const size_t bytes = row_bytes(c), values = c->wish->columns * sizeof(float);
    char *row;
    int rc = MF_OK;

    MF_TRY(MF_ROOM(row, bytes, "a row of '%.300s'", c->rows));
    for (size_t i = 0; rc == MF_OK && i < c->set->samples; ++i) {
        size_t got;
        uint32_t sum;

        rc = mf_read_some(file, c->rows, row, bytes, row_at(c, i), &got);
        if (rc != MF_OK || got < bytes) break;
        memcpy(&sum, row + values, sizeof sum);
        c->status[i] = sum == row_sum(c, i, (const float *)(const void *)row);
    }
    free(row);
    return rc;
}

static int find_rows(struct mf_columns *c, int file)
{
    struct head there = {.samples = 0};
    size_t got;

    MF_TRY(mf_read_some(file, c->rows, &there, sizeof there, 0, &got));
    if (got < sizeof there || there.magic[0] == 0) return begin_rows(c, file); /* it was killed before it began */
    if (memcmp(&there, &c->head, sizeof there) == 0) return read_rows(c, file);
    return mf_fail(MF_USAGE,
                   "'%s' is left from a run with other options, or on another set; try: the same options, another "
                   "--output, or remove that file",
                   c->rows);
}

/* Rank 0. */
static int open_rows(struct mf_columns *c, size_t bytes)
{
    int rc;

    MF_TRY(check_names(c));
    if (c->complete) return MF_OK;
    MF_TRY(mf_atomic_may(c->path));
    MF_TRY(mf_atomic_room(c->path, bytes));
    c->file = mf_open(c->rows, O_RDWR | O_CREAT);
    if (c->file < 0) return mf_fail(MF_OUTPUT, "cannot write '%s': %s", c->rows, strerror(errno));
    rc = find_rows(c, c->file);
    close(c->file);
    c->file = -1;
    return rc;
}

static int size_of(const struct mf_columns *c, size_t *bytes)
{
    struct stat is;

    if (stat(c->set->path, &is) != 0) return mf_fail(MF_INPUT, "cannot read '%s': %s", c->set->path, strerror(errno));
    *bytes = (size_t)is.st_size + c->set->samples * c->reals * sizeof(float) + OVERHEAD;
    return MF_OK;
}

/* The path is locked. Collective. */
static int begin(struct mf_columns *c)
{
    const struct mf_comm *comm = c->comm;
    size_t bytes = 0;
    int rc = comm->rank == 0 ? size_of(c, &bytes) : MF_OK;

    if (rc == MF_OK && c->reals > MF_REALS_MAX)
        rc = mf_fail(MF_INPUT, "'%s' would have %zu columns, at most %d are possible", c->set->path, c->reals,
                     MF_REALS_MAX);
    MF_TRY(mf_agree(comm, rc));
    MF_TRY(mf_agree(comm, comm->rank == 0 ? open_rows(c, bytes) : MF_OK));
    mf_comm_bcast(comm, 0, &c->complete, sizeof c->complete);
    if (c->complete) memset(c->status, 1, c->set->samples);
    mf_comm_bcast(comm, 0, c->status, c->set->samples);
    if (c->complete) return MF_OK;
    c->file = mf_open(c->rows, O_RDWR);
    rc = c->file < 0 ? mf_fail(MF_OUTPUT, "cannot write '%s': %s", c->rows, strerror(errno)) : MF_OK;
    return mf_agree(comm, rc);
}

int mf_columns_open(const struct mf_comm *comm, const struct mf_dataset *set, const char *path,
                    const struct mf_columns_wish *wish, struct mf_columns **columns)
{
    const struct mf_launcher launcher = mf_launcher_find();
    const struct mf_lock_job job = {launcher.job, launcher.restarts};
    struct mf_columns *c = MF_MUST(calloc(1, sizeof *c), "columns");
    int rc;

    MF_ASSERT(strlen(wish->said) < MF_COLUMNS_SAID);
    *c = (struct mf_columns){.comm = comm, .set = set, .wish = wish, .file = -1, .lock = {.descriptor = -1}};
    c->path = mf_format("%s", path);
    c->rows = mf_format("%s.columns", path);
    memcpy(c->head.magic, MAGIC, sizeof c->head.magic);
    c->head.samples = set->samples;
    c->head.columns = (uint32_t)wish->columns;
    c->head.of = mf_crc32c(mf_crc32c(0, set->hash, strlen(set->hash)), wish->said, strlen(wish->said));
    for (size_t i = 0; i < wish->columns; ++i)
        c->head.of = mf_crc32c(c->head.of, wish->name[i], strlen(wish->name[i]) + 1);
    rc = mf_agree(comm, take_memory(c));
    if (rc == MF_OK) rc = mf_lock_take(comm, path, &job, &c->lock);
    if (rc == MF_OK) rc = begin(c);
    if (rc != MF_OK)
        mf_columns_close(c);
    else
        *columns = c;
    return rc;
}

void mf_columns_close(struct mf_columns *c)
{
    if (!c) return;
    if (c->file >= 0) close(c->file);
    mf_lock_give(&c->lock);
    free(c->old);
    free(c->name);
    free(c->place);
    free(c->status);
    free(c->rows);
    free(c->path);
    free(c);
}

const uint8_t *mf_columns_status(const struct mf_columns *c) { return c->status; }

int mf_columns_put(struct mf_columns *c, size_t id, const float *value)
{
    const size_t values = c->wish->columns * sizeof *value;
    const uint32_t sum = row_sum(c, id, value);
    char why[MF_ERR_TEXT], *row;
    int rc;

    for (size_t i = 0; i < c->wish->columns; ++i)
        if (!isfinite(value[i]))
            return mf_fail(MF_INPUT, "'%s' of sample %zu is not a finite number", c->wish->name[i], id);
    MF_TRY(MF_ROOM(row, row_bytes(c), "a row of '%.300s'", c->rows));
    memcpy(row, value, values);
    memcpy(row + values, &sum, sizeof sum);
    rc = mf_write_at(c->file, c->rows, row, row_bytes(c), row_at(c, id));
    free(row);
    if (rc == MF_OK) return rc;
    snprintf(why, sizeof why, "%s", mf_err_text());
    return mf_fail(rc, "%.700s; complete samples stay in '%.250s'", why, c->rows);
}

/* ---- the new set ---- */

/* All rows that ranks have put. Rank 0. */
static int collect(const struct mf_columns *c, float *value)
{
    const size_t n = c->wish->columns, bytes = row_bytes(c);
    float *row = mf_room(1, bytes, "a row of '%.300s'", c->rows);
    int file = -1, rc = row ? mf_open_plain(c->rows, O_RDONLY, &file) : MF_MEMORY;

    for (size_t i = 0; rc == MF_OK && i < c->set->samples; ++i) {
        rc = mf_read_at(file, c->rows, row, bytes, row_at(c, i));
        if (rc == MF_OK && memcmp(row + n, &(uint32_t){row_sum(c, i, row)}, sizeof(uint32_t)) != 0)
            rc = mf_fail(MF_INPUT, "'%s': the row of sample %zu is damaged; run this again", c->rows, i);
        memcpy(value + i * n, row, n * sizeof *row);
    }
    if (file >= 0) close(file);
    free(row);
    return rc;
}

/* This rank's rows are where other hosts see them. */
static int end_rows(struct mf_columns *c)
{
    const int bad = mf_flush(c->file) != 0 && errno != EINVAL; /* EINVAL: a file system that flushes nothing */
    const int error = errno;

    close(c->file);
    c->file = -1;
    return bad ? mf_fail(MF_OUTPUT, "cannot write '%s' to disk: %s", c->rows, strerror(error)) : MF_OK;
}

static int copy_pieces(const struct mf_columns *c, int from, int to, char *piece)
{
    uint64_t at = 0;
    size_t got = PIECE;

    while (got == PIECE) {
        MF_TRY(mf_read_some(from, c->set->path, piece, PIECE, at, &got));
        MF_TRY(mf_write_at(to, c->path, piece, got, at));
        at += got;
        mf_comm_alive();
    }
    return MF_OK;
}

static int copy(const struct mf_columns *c)
{
    char *piece = MF_MUST(malloc(PIECE), "samples");
    int from = -1, to = mf_open(c->sealed.temporary, O_WRONLY);
    int rc = to < 0 ? mf_fail(MF_OUTPUT, "cannot write '%s': %s", c->path, strerror(errno)) : MF_OK;

    if (rc == MF_OK) rc = mf_open_plain(c->set->path, O_RDONLY, &from);
    if (rc == MF_OK) rc = copy_pieces(c, from, to, piece);
    if (from >= 0) close(from);
    if (to >= 0) close(to);
    free(piece);
    return rc;
}

/* NULL: no memory. */
static float *new_table(const struct mf_columns *c)
{
    const struct mf_dataset *set = c->set;
    float *table = mf_room(set->samples * c->reals, sizeof *table, "the columns of '%.300s'", c->path);

    for (size_t i = 0; table && i < set->samples; ++i) {
        float *row = table + i * c->reals;

        if (set->reals) memcpy(row, set->real + i * set->reals, set->reals * sizeof *row);
        for (size_t k = 0; k < c->wish->columns; ++k) row[c->place[k]] = c->value[i * c->wish->columns + k];
    }
    return table;
}

static int put_settings(struct mf_h5 *h5, const struct mf_columns *c)
{
    const char **said;
    int rc;

    MF_TRY(MF_ROOM(said, c->reals, "the columns of '%.300s'", c->path));
    for (size_t r = 0; r < c->reals; ++r) said[r] = r < c->set->reals ? c->old + r * MF_COLUMNS_SAID : "";
    for (size_t i = 0; i < c->wish->columns; ++i) said[c->place[i]] = c->wish->said;
    rc = mf_h5_put_texts(h5, mf_set_parts[MF_PART_REAL].path, MF_SET_SAID, c->reals, said);
    free(said);
    return rc;
}

static int put_table(struct mf_h5 *h5, const struct mf_columns *c)
{
    const char *path = mf_set_parts[MF_PART_REAL].path;
    float *table = new_table(c);
    int rc = table ? MF_OK : MF_MEMORY;

    if (rc == MF_OK && mf_h5_has(h5, path)) rc = mf_h5_remove(h5, path);
    if (rc == MF_OK) rc = mf_h5_write(h5, path, MF_H5_F32, 2, (size_t[2]){c->set->samples, c->reals}, table);
    free(table);
    MF_TRY(rc);
    MF_TRY(mf_h5_put_texts(h5, path, "names", c->reals, c->name));
    return put_settings(h5, c);
}

/* In a child, since the file may be a stranger's. */
static int change(void *context, FILE *to)
{
    const struct mf_columns *c = context;
    struct mf_h5 *h5;
    int rc, end;

    (void)to;
    MF_TRY(mf_h5_change(c->sealed.temporary, c->path, &h5));
    rc = put_table(h5, c);
    end = mf_h5_close(h5);
    return rc == MF_OK ? end : rc;
}

int mf_columns_finish(struct mf_columns *c, float *value)
{
    const struct mf_comm *comm = c->comm;
    size_t bytes = 0;
    int rc;

    if (c->complete) {
        for (size_t i = 0; i < c->set->samples; ++i)
            for (size_t k = 0; k < c->wish->columns; ++k)
                value[i * c->wish->columns + k] = c->set->real[i * c->set->reals + c->place[k]];
        return MF_OK;
    }
    MF_TRY(mf_agree(comm, end_rows(c)));
    rc = comm->rank == 0 ? collect(c, value) : MF_OK;
    if (rc == MF_OK && comm->rank == 0) rc = size_of(c, &bytes);
    MF_TRY(mf_agree(comm, rc));
    mf_comm_bcast(comm, 0, value, c->set->samples * c->wish->columns * sizeof *value);
    c->value = value;
    MF_TRY(mf_atomic_open(comm, c->path, bytes, &c->sealed));
    rc = comm->rank == 0 ? copy(c) : MF_OK;
    if (rc == MF_OK && comm->rank == 0) rc = mf_guard(c->path, MF_GUARD_DECODING(bytes), change, NULL, c);
    rc = mf_agree(comm, rc);
    if (rc == MF_OK) rc = mf_seal_write(comm, c->sealed.temporary, c->path, 0, NULL);
    MF_TRY(mf_atomic_close(comm, &c->sealed, rc));
    c->complete = 1;
    if (comm->rank == 0) (void)unlink(c->rows);
    return MF_OK;
}
