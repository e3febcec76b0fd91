/* See dataset_writer.h. */
#include "io/dataset_writer.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/dataset_writer_priv.h"
#include "io/phases.h"
#include "io/seal.h"
#include "slurm/launcher.h"
#include "src/base/crc.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"

enum { PIECE = 1 << 20 };

/* ---- opening ---- */

static size_t bytes_of(const struct mf_writer_array *a)
{
    static const size_t size[] = {[MF_H5_U8] = 1,  [MF_H5_I32] = 4, [MF_H5_I64] = 8, [MF_H5_F32] = 4,
                                  [MF_H5_F64] = 8, [MF_H5_U32] = 4, [MF_H5_U64] = 8};
    size_t bytes = size[a->type];

    for (int i = 0; i < a->ndim; ++i) bytes *= a->dims[i];
    return bytes;
}

/* Parts that the writer finds in a window itself. */
static int is_found(int part) { return part == MF_PART_CRC || part == MF_PART_MOMENTS || part == MF_PART_RANGE; }

static int take_memory(struct mf_writer *w)
{
    const struct mf_writer_wish *wish = w->wish;
    int missing = 0;

    w->status = mf_room(wish->set.samples + 1, 1, "the state of %zu samples", wish->set.samples);
    for (int p = 0; p < MF_PARTS; ++p) {
        if (!is_found(p)) continue;
        w->part[p] =
            mf_room(wish->window + 1, mf_set_part_row(&w->file.lay, p) + 1, "the values of %zu samples", wish->window);
        missing |= !w->part[p];
    }
    return w->status && !missing ? MF_OK : MF_MEMORY;
}

static int check_wish(const struct mf_writer *w)
{
    const size_t bytes = strlen(w->settings);

    MF_TRY(mf_writer_check_shares(&w->wish->set));
    if (bytes <= MF_WRITER_SETTINGS) return MF_OK; /* longer ones could not be read back */
    return mf_fail(MF_USAGE, "cannot write '%s': it has %zu bytes of settings, at most %d are possible", w->path, bytes,
                   MF_WRITER_SETTINGS);
}

static struct mf_writer *writer_new(const struct mf_comm *comm, const char *path, const struct mf_writer_wish *wish)
{
    struct mf_writer *w = MF_MUST(calloc(1, sizeof *w), "a writer");

    MF_ASSERT(wish->set.samples > 0 && wish->window > 0 && wish->arrays <= MF_WRITER_ARRAYS && !wish->set.compress);
    w->comm = comm;
    w->wish = wish;
    w->descriptor = -1;
    w->lock.descriptor = -1;
    w->path = mf_format("%s", path);
    w->partial = mf_format("%s.partial", path);
    w->settings = mf_writer_text(wish);
    w->file.samples = wish->set.samples;
    mf_set_lay(&wish->set, &w->file.lay);
    for (size_t i = 0; i < wish->arrays; ++i) w->row_bytes[i] = bytes_of(&wish->array[i]);
    w->flushed = mf_now();
    return w;
}

static void writer_free(struct mf_writer *w)
{
    if (w->descriptor >= 0) close(w->descriptor);
    mf_seal_see_end(&w->seen[0]);
    mf_lock_give(&w->lock);
    for (int p = 0; p < MF_PARTS; ++p) free(w->part[p]);
    free(w->status);
    free(w->settings);
    free(w->partial);
    free(w->path);
    free(w);
}

static int open_file(struct mf_writer *w)
{
    struct stat is;

    w->descriptor = mf_open(w->partial, O_RDWR);
    if (w->descriptor < 0 || fstat(w->descriptor, &is) != 0)
        return mf_fail(MF_OUTPUT, "cannot write '%s': %s", w->partial, strerror(errno));
    MF_TRY(mf_seal_see_begin(&w->seen[0], (uint64_t)is.st_size));
    for (size_t i = 1; i <= w->wish->arrays; ++i) w->seen[i] = w->seen[0];
    return MF_OK;
}

/* Does what lies in the file of sample @p id differ from its checksum? */
static int is_damaged(const struct mf_writer *w, size_t id, void *x, int *damaged)
{
    const struct mf_set_layout *lay = &w->file.lay;
    uint32_t crc;

    MF_TRY(mf_read_at(w->descriptor, w->partial, x, lay->bytes, lay->x_at + id * lay->bytes));
    MF_TRY(mf_read_at(w->descriptor, w->partial, &crc, sizeof crc, lay->at[MF_PART_CRC] + id * sizeof crc));
    *damaged = mf_crc32c(0, x, lay->bytes) != crc;
    return MF_OK;
}

/* This rank's part of the complete samples. Local. */
static int check_own(struct mf_writer *w, struct mf_span own)
{
    void *x = mf_room(w->file.lay.bytes + 1, 1, "a sample of '%.300s'", w->partial);
    int damaged, rc = x ? MF_OK : MF_MEMORY;

    for (size_t i = own.first; rc == MF_OK && i < own.first + own.count; ++i) {
        if (!w->status[i]) continue;
        rc = is_damaged(w, i, x, &damaged);
        if (rc == MF_OK) w->status[i] = !damaged;
    }
    free(x);
    return rc;
}

/* Samples of an earlier run that are not as they were written count as missing. Collective. */
static int check_found(struct mf_writer *w)
{
    const struct mf_span own = mf_cut(w->file.samples, (size_t)w->comm->size, (size_t)w->comm->rank);
    const size_t before = w->found;
    void *all;

    MF_TRY(mf_agree(w->comm, check_own(w, own)));
    MF_TRY(mf_comm_gather(w->comm, w->status + own.first, own.count, &all, NULL));
    memcpy(w->status, all, w->file.samples);
    free(all);
    w->found = 0;
    for (size_t i = 0; i < w->file.samples; ++i) w->found += w->status[i];
    if (w->found < before && w->comm->rank == 0)
        mf_warn("'%s': %zu of its %zu complete samples differ%s from the checksum, and are made again", w->partial,
                before - w->found, before, before - w->found == 1 ? "s" : "");
    return MF_OK;
}

/* Goes on with what is there, or begins. Collective. */
static int begin(struct mf_writer *w, const struct mf_provenance *provenance)
{
    struct mf_writer_file there = {0};
    const char *from;
    int unsealed;

    MF_TRY(mf_writer_find(w, &from, &there));
    unsealed = from == w->partial;
    for (size_t i = 0; from && i < there.samples; ++i) w->found += w->status[i];
    if (from && there.samples == w->file.samples) {
        w->file = there;
        w->complete = from == w->path;
    } else {
        if (from == w->path && from) MF_TRY(mf_seal_check(w->comm, from, NULL));
        MF_TRY(mf_writer_make(w, from, &there, provenance));
    }
    if (w->complete) return MF_OK;
    MF_TRY(mf_agree(w->comm, open_file(w)));
    return unsealed ? check_found(w) : MF_OK;
}

int mf_writer_open(const struct mf_comm *comm, const char *path, const struct mf_writer_wish *wish,
                   const struct mf_provenance *provenance, struct mf_writer **writer)
{
    MF_PHASE(&mf_phase_write);
    const struct mf_launcher launcher = mf_launcher_find();
    const struct mf_lock_job job = {launcher.job, launcher.restarts};
    struct mf_writer *w = writer_new(comm, path, wish);
    int rc = check_wish(w);

    if (rc == MF_OK) rc = take_memory(w);
    rc = mf_agree(comm, rc);
    if (rc == MF_OK) rc = mf_lock_take(comm, path, &job, &w->lock);
    if (rc == MF_OK) rc = begin(w, provenance);
    if (rc != MF_OK)
        writer_free(w);
    else
        *writer = w;
    return rc;
}

const uint8_t *mf_writer_status(const struct mf_writer *w) { return w->status; }

size_t mf_writer_found(const struct mf_writer *w) { return w->found; }

/* ---- windows ---- */

/* Adds to a refusal @p rc that the work so far is not lost. */
static int keep(struct mf_writer *w, int rc)
{
    char why[MF_ERR_TEXT];

    if (rc == MF_OK) return rc;
    w->failed = 1;
    if (w->found + w->marked == 0) return rc;
    snprintf(why, sizeof why, "%s", mf_err_text());
    return mf_fail(rc, "%.700s; complete samples stay in '%.250s'", why, w->partial);
}

static int sync_file(const struct mf_writer *w)
{
    if (mf_fault("io.flush")) return mf_fail(MF_OUTPUT, "cannot write '%s' to disk: injected fault", w->partial);
    if (mf_flush(w->descriptor) == 0 || errno == EINVAL) return MF_OK; /* EINVAL: a file system that flushes nothing */
    return mf_fail(MF_OUTPUT, "cannot write '%s' to disk: %s", w->partial, strerror(errno));
}

/* Values first, then the marks of their samples. The system reports only once that it could not write values, so a
 * later flush may succeed without them: their samples are never marked then. Local. */
static int flush(struct mf_writer *w)
{
    const int rc = w->pendings ? sync_file(w) : MF_OK;

    if (rc != MF_OK) w->pendings = 0;
    MF_TRY(rc);
    for (size_t i = 0; i < w->pendings; ++i) {
        MF_TRY(mf_write_at(w->descriptor, w->partial, w->status + w->pending[i].first, w->pending[i].count,
                           w->file.lay.at[MF_PART_STATUS] + w->pending[i].first));
        w->marked += w->pending[i].count;
    }
    w->pendings = 0;
    w->flushed = mf_now();
    return MF_OK;
}

/* Checks a window, and finds its checksums and moments. Local. */
static int examine(struct mf_writer *w, const struct mf_writer_window *win)
{
    const struct mf_dataset_wish *set = &w->wish->set;
    const size_t row = 2 * set->dims[3];

    for (size_t k = 0; k < win->count; ++k) {
        const void *x = (const char *)win->x + k * w->file.lay.bytes;

        MF_TRY(mf_set_check_sample(set, win->first + k, x, set->classes ? win->label[k] : -1,
                                   set->reals ? win->real + k * set->reals : NULL));
        ((uint32_t *)w->part[MF_PART_CRC])[k] = mf_crc32c(0, x, w->file.lay.bytes);
        if (!set->phases)
            mf_sample_moments(set->dims, set->is_float, x, (double *)w->part[MF_PART_MOMENTS] + k * row,
                              (float *)w->part[MF_PART_RANGE] + k * row);
    }
    return MF_OK;
}

/* In pieces, of which the seal's checksums are taken while the processor still has them. @p seen: NULL, or those. */
static int put_rows(const struct mf_writer *w, const struct mf_writer_window *win, uint64_t at, size_t row,
                    const void *from, struct mf_seal_seen *seen)
{
    const size_t bytes = win->count * row;

    at += win->first * row;
    for (size_t k = 0; k < bytes; k += PIECE) {
        const size_t n = bytes - k < PIECE ? bytes - k : PIECE;

        MF_TRY(mf_write_at(w->descriptor, w->partial, (const char *)from + k, n, at + k));
        if (seen) mf_seal_see(seen, (const char *)from + k, n, at + k, NULL);
    }
    return MF_OK;
}

/* Every array of a window has one place in the file. Local. */
static int write_window(struct mf_writer *w, const struct mf_writer_window *win)
{
    const struct mf_set_layout *lay = &w->file.lay;
    const void *part[MF_PARTS] = {[MF_PART_LABEL] = win->label, [MF_PART_REAL] = win->real, [MF_PART_SEED] = win->seed};

    MF_TRY(put_rows(w, win, lay->x_at, lay->bytes, win->x, &w->seen[0]));
    for (int p = 0; p < MF_PARTS; ++p) {
        if (is_found(p)) part[p] = w->part[p];
        if (lay->columns[p] && part[p]) MF_TRY(put_rows(w, win, lay->at[p], mf_set_part_row(lay, p), part[p], NULL));
    }
    for (size_t i = 0; i < w->wish->arrays; ++i)
        MF_TRY(put_rows(w, win, w->file.row_at[i], w->row_bytes[i], win->row[i], &w->seen[1 + i]));
    return MF_OK;
}

static int put(struct mf_writer *w, const struct mf_writer_window *win)
{
    MF_ASSERT(!w->complete && !w->failed);
    if (win->count == 0) return MF_OK;
    MF_ASSERT(win->count <= w->wish->window && win->first + win->count <= w->wish->set.samples);
    MF_TRY(examine(w, win));
    MF_TRY(write_window(w, win));
    for (size_t k = win->first; k < win->first + win->count; ++k) {
        w->own += !w->status[k];
        w->status[k] = 1;
    }
    w->pending[w->pendings++] = (struct mf_span){win->first, win->count};
    if (w->pendings < MF_WRITER_PENDING && mf_now() - w->flushed < w->wish->seconds) return MF_OK;
    return flush(w);
}

int mf_writer_put(struct mf_writer *w, const struct mf_writer_window *window)
{
    MF_PHASE(&mf_phase_write);

    return keep(w, put(w, window));
}

/* ---- the end ---- */

/* Local: all that this rank has written, marks included. */
static int end(struct mf_writer *w)
{
    if (w->descriptor < 0) return MF_OK;
    MF_TRY(flush(w));
    return sync_file(w);
}

/* Collective. */
static int check_all(const struct mf_writer *w)
{
    int64_t have = (int64_t)w->own;

    mf_comm_sum_int(w->comm, 1, &have);
    have += (int64_t)w->found;
    if (have == (int64_t)w->file.samples) return MF_OK;
    return mf_fail(MF_USAGE, "'%s' has %lld of its %zu samples", w->partial, (long long)have, w->file.samples);
}

int mf_writer_finish(struct mf_writer *w)
{
    MF_PHASE(&mf_phase_write);
    int rc;

    if (w->complete) return MF_OK;
    rc = mf_agree(w->comm, end(w));
    if (rc == MF_OK) MF_TRY(check_all(w));
    if (rc == MF_OK) rc = mf_seal_write(w->comm, w->partial, w->path, 0, &w->seen[0]);
    if (rc == MF_OK) rc = mf_agree(w->comm, w->comm->rank == 0 ? mf_atomic_settle(w->partial, w->path) : MF_OK);
    w->complete = rc == MF_OK;
    return keep(w, rc);
}

/* A file without a complete sample is of no use to anybody. Collective. */
static void drop_empty(const struct mf_writer *w)
{
    int64_t marked = (int64_t)(w->found + w->marked);

    mf_comm_max_int(w->comm, 1, &marked);
    if (marked == 0 && w->comm->rank == 0) (void)unlink(w->partial);
}

int mf_writer_close(struct mf_writer *w)
{
    int rc;

    if (!w) return MF_OK;
    rc = mf_agree(w->comm, w->complete ? MF_OK : end(w));
    if (!w->complete) drop_empty(w);
    writer_free(w);
    return rc;
}
