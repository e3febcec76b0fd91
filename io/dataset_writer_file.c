/* The file of a writer: what is there of it, and how it is made and lengthened. See dataset_writer_priv.h. */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/dataset_writer_priv.h"
#include "io/guard.h"
#include "io/rows.h"
#include "io/volume.h"
#include "src/base/enumerate.h"
#include "src/base/err.h"
#include "src/base/file.h"
#include "src/base/rng.h"
#include "src/base/room.h"
#include "src/base/streams.h"

enum { OVERHEAD = 1 << 16, PIECE = 4 << 20, LIST = 500 };
enum { SPLIT_BLOCK = 20, SPLIT_BLOCKS = 50 }; /* samples that are divided together: a multiple, and the largest */

/* ---- settings ---- */

static void put_names(FILE *to, const char *what, size_t n, const char *const *names)
{
    fprintf(to, "%s: ", what);
    for (size_t i = 0; i < n; ++i) fprintf(to, "%s%s", i ? ", " : "", names[i]);
    fprintf(to, "\n");
}

static const char *type_name(enum mf_h5_type type)
{
    static const char *const name[] = {
        [MF_H5_U8] = "uint8",    [MF_H5_I32] = "int32",  [MF_H5_I64] = "int64", [MF_H5_F32] = "float32",
        [MF_H5_F64] = "float64", [MF_H5_U32] = "uint32", [MF_H5_U64] = "uint64"};

    return name[type];
}

char *mf_writer_text(const struct mf_writer_wish *wish)
{
    const struct mf_dataset_wish *w = &wish->set;
    const char *given = wish->settings ? wish->settings : "";
    const size_t length = strlen(given);
    char *text = NULL;
    size_t bytes;
    FILE *to = MF_MUST(open_memstream(&text, &bytes), "settings");

    fprintf(to, "%s%s", given, length && given[length - 1] != '\n' ? "\n" : "");
    fprintf(to, MF_SET_X ": %s %zu x %zu x %zu x %zu, phases %d\n", w->is_float ? "float32" : "uint8", w->dims[0],
            w->dims[1], w->dims[2], w->dims[3], w->phases);
    put_names(to, "classes", w->classes, w->class_name);
    put_names(to, "properties", w->reals, w->real_name);
    fprintf(to, "seeds: %d\n", w->seeded != 0);
    fprintf(to, "splits: %.17g, %.17g, seed %llu%s\n", w->part[0], w->part[1], (unsigned long long)w->split_seed,
            w->split ? ", given" : "");
    for (size_t i = 0; i < wish->arrays; ++i) {
        fprintf(to, "%s: %s", wish->array[i].path, type_name(wish->array[i].type));
        for (int a = 0; a < wish->array[i].ndim; ++a) fprintf(to, " x %zu", wish->array[i].dims[a]);
        fprintf(to, "\n");
    }
    MF_ASSERT(fclose(to) == 0);
    return text;
}

/* The line of @p text that begins with this name, up to and with its colon; NULL: none. */
static const char *find_line(const char *text, const char *name, size_t length)
{
    for (const char *at = text; *at; at = strchrnul(at, '\n'), at += *at == '\n')
        if (strncmp(at, name, length) == 0) return at;
    return NULL;
}

/* Adds the lines of @p text that @p other has not; @p there: it is the file's. */
static void list_others(const char *text, const char *other, int there, char list[LIST])
{
    for (const char *at = text, *end; *at; at = *end ? end + 1 : end) {
        const char *colon = strchrnul(at, ':'), *same;
        int length, has;

        end = strchrnul(at, '\n');
        same = find_line(other, at, (size_t)((colon < end ? colon + 1 : end) - at));
        length = (int)(end - at);
        has = same ? (int)(strchrnul(same, '\n') - same) : 0;
        if (same && has == length && strncmp(at, same, (size_t)length) == 0) continue;
        if (there && same) continue; /* listed from the other side */
        if (there)
            mf_enumerate(list, LIST, "%.*s (now not there)", length, at);
        else
            mf_enumerate(list, LIST, "%.*s (in the file%.*s)", length, at, same ? has - (int)(colon - at) : 6,
                         same ? same + (colon - at) : ": none");
    }
}

/* Do both texts say the same? */
static int compare(const char *path, const char *want, const char *has)
{
    char list[LIST] = "";

    if (strcmp(want, has) == 0) return MF_OK;
    list_others(want, has, 0, list);
    list_others(has, want, 1, list);
    return mf_fail(MF_USAGE, "'%.200s' was made with other settings: %s; give those, or another output", path, list);
}

/* ---- what is there ---- */

struct asking {
    const char *path;
    size_t complete; /* samples; SIZE_MAX: it has no settings */
};

static int count_complete(struct mf_h5 *h5, size_t *complete)
{
    const char *status = mf_set_parts[MF_PART_STATUS].path;
    struct mf_h5_shape shape;
    uint8_t piece[4096];

    *complete = SIZE_MAX;
    if (!mf_h5_has(h5, MF_SET_SETTINGS)) return MF_OK;
    *complete = 0;
    MF_TRY(mf_h5_shape(h5, status, &shape));
    for (size_t at = 0; at < shape.dims[0]; at += sizeof piece) {
        const size_t n = shape.dims[0] - at < sizeof piece ? shape.dims[0] - at : sizeof piece;

        MF_TRY(mf_h5_read_rows(h5, status, MF_H5_U8, at, n, piece));
        for (size_t i = 0; i < n; ++i) *complete += piece[i] == 1;
    }
    return MF_OK;
}

/* In a child. */
static int ask(void *context, FILE *to)
{
    const struct asking *a = context;
    struct mf_h5 *h5;
    size_t complete;
    int rc, end;

    MF_TRY(mf_h5_open(a->path, &h5));
    rc = mf_h5_unread(h5, count_complete(h5, &complete));
    end = mf_h5_close(h5);
    MF_TRY(rc);
    MF_TRY(end);
    return mf_guard_send(to, &complete, sizeof complete);
}

static int hear(void *context, FILE *from)
{
    struct asking *a = context;

    return mf_guard_receive(from, &a->complete, sizeof a->complete);
}

int mf_writer_owns(const char *path, int *is)
{
    struct asking a = {path, 0};
    struct stat file;

    *is = 0;
    if (stat(path, &file) != 0) return MF_OK;
    MF_TRY(mf_guard(path, MF_GUARD_SECONDS, ask, hear, &a));
    *is = a.complete > 0 && a.complete < SIZE_MAX;
    return MF_OK;
}

struct finding {
    struct mf_writer *w;
    const char *from;
    struct mf_writer_file *file;
    size_t bytes; /* of the file */
};

/* The place of an array with one row of @p row bytes for each sample. */
static int read_place(struct mf_h5 *h5, const struct finding *f, const char *path, size_t row, uint64_t *place)
{
    struct mf_h5_shape shape;
    size_t bytes;

    MF_TRY(mf_h5_shape(h5, path, &shape));
    bytes = shape.size;
    for (int a = 0; a < shape.ndim; ++a) bytes *= shape.dims[a];
    *place = shape.offset;
    if (shape.offset && bytes == f->file->samples * row) return MF_OK;
    return mf_fail(MF_INPUT, "cannot continue '%s': %s has other extents than its settings say", f->from, path);
}

static int read_places(struct mf_h5 *h5, const struct finding *f)
{
    struct mf_writer_file *file = f->file;
    const struct mf_writer_wish *wish = f->w->wish;

    mf_set_lay(&wish->set, &file->lay);
    MF_TRY(read_place(h5, f, MF_SET_X, file->lay.bytes, &file->lay.x_at));
    for (int p = 0; p < MF_PARTS; ++p)
        if (file->lay.columns[p])
            MF_TRY(read_place(h5, f, mf_set_parts[p].path, mf_set_part_row(&file->lay, p), &file->lay.at[p]));
    for (size_t i = 0; i < wish->arrays; ++i)
        MF_TRY(read_place(h5, f, wish->array[i].path, f->w->row_bytes[i], &file->row_at[i]));
    return MF_OK;
}

static int read_settings(struct mf_h5 *h5, const struct finding *f)
{
    char *text;
    int rc;

    if (!mf_h5_has(h5, MF_SET_SETTINGS))
        return mf_fail(MF_INPUT, "cannot continue '%s': it has no " MF_SET_SETTINGS "; give another output", f->from);
    MF_TRY(mf_h5_read_text(h5, MF_SET_SETTINGS, MF_WRITER_SETTINGS, &text));
    rc = compare(f->from, f->w->settings, text);
    free(text);
    return rc;
}

static const char *split_name(uint8_t split) { return split < MF_SPLITS ? mf_split_names[split] : "none"; }

/* Splits that are given are no setting of one line: the file itself has them. */
static int compare_splits(struct mf_h5 *h5, const struct finding *f)
{
    const uint8_t *given = f->w->wish->set.split;
    const size_t n = f->file->samples;
    uint8_t *has;
    size_t i = 0;
    int rc;

    if (!given) return MF_OK;
    MF_TRY(MF_ROOM(has, n + 1, "the splits of '%.300s'", f->from));
    rc = mf_h5_read_rows(h5, mf_set_parts[MF_PART_SPLIT].path, MF_H5_U8, 0, n, has);
    while (rc == MF_OK && i < n && has[i] == given[i]) ++i;
    if (rc == MF_OK && i < n)
        rc = mf_fail(MF_USAGE, "cannot continue '%s': sample %zu is of split %s there, not %s; give another output",
                     f->from, i, split_name(has[i]), split_name(given[i]));
    free(has);
    return rc;
}

static int read_file(struct mf_h5 *h5, const struct finding *f, FILE *to)
{
    const size_t most = f->w->wish->set.samples;
    struct mf_h5_shape shape;

    MF_TRY(read_settings(h5, f));
    MF_TRY(mf_h5_shape(h5, mf_set_parts[MF_PART_STATUS].path, &shape));
    f->file->samples = shape.dims[0];
    if (shape.dims[0] > most)
        return mf_fail(MF_USAGE, "'%s' is of %zu samples, more than %zu; give as many or more, or another output",
                       f->from, shape.dims[0], most);
    MF_TRY(read_places(h5, f));
    MF_TRY(compare_splits(h5, f));
    MF_TRY(mf_h5_read_rows(h5, mf_set_parts[MF_PART_STATUS].path, MF_H5_U8, 0, shape.dims[0], f->w->status));
    MF_TRY(mf_guard_send(to, f->file, sizeof *f->file));
    return mf_guard_send(to, f->w->status, shape.dims[0]);
}

/* In a child. */
static int work(void *context, FILE *to)
{
    const struct finding *f = context;
    struct mf_h5 *h5;
    int rc, end;

    MF_TRY(mf_h5_open(f->from, &h5));
    rc = mf_h5_unread(h5, read_file(h5, f, to));
    end = mf_h5_close(h5);
    return rc == MF_OK ? end : rc;
}

static int lies_in(const struct finding *f, uint64_t at, size_t row)
{
    return at && at < f->bytes && row * f->file->samples <= f->bytes - at;
}

/* The child's word is no better than the file. */
static int check_places(const struct finding *f)
{
    const struct mf_writer_file *file = f->file;
    int sound = file->samples > 0 && file->samples <= f->w->wish->set.samples;

    sound = sound && lies_in(f, file->lay.x_at, f->w->file.lay.bytes);
    for (int p = 0; sound && p < MF_PARTS; ++p) {
        sound = file->lay.columns[p] == f->w->file.lay.columns[p];
        if (sound && file->lay.columns[p]) sound = lies_in(f, file->lay.at[p], mf_set_part_row(&file->lay, p));
    }
    for (size_t i = 0; sound && i < f->w->wish->arrays; ++i) sound = lies_in(f, file->row_at[i], f->w->row_bytes[i]);
    return sound ? MF_OK : mf_fail(MF_INPUT, "cannot continue '%s': it is damaged", f->from);
}

static int take(void *context, FILE *from)
{
    struct finding *f = context;

    MF_TRY(mf_guard_receive(from, f->file, sizeof *f->file));
    MF_TRY(check_places(f));
    return mf_guard_receive(from, f->w->status, f->file->samples);
}

/* Has PATH.partial samples of a writer? Where none is complete, there is nothing to go on with. */
static int find_partial(const struct mf_writer *w, int *is)
{
    char why[MF_ERR_TEXT];
    const int rc = mf_writer_owns(w->partial, is);

    if (rc == MF_OK) return rc;
    snprintf(why, sizeof why, "%s", mf_err_text());
    return mf_fail(rc, "%.900s; remove that file, or give another output", why);
}

/* Rank 0. */
static int find(struct mf_writer *w, int *which, struct mf_writer_file *file)
{
    struct finding f = {w, NULL, file, 0};
    struct stat is;
    int begun;

    *which = 0;
    if (w->wish->anew) return MF_OK;
    MF_TRY(find_partial(w, &begun));
    f.from = begun ? w->partial : w->path;
    if (stat(f.from, &is) != 0) return MF_OK;
    *which = begun ? 1 : 2;
    f.bytes = (size_t)is.st_size;
    return mf_guard(f.from, MF_GUARD_DECODING(is.st_size), work, take, &f);
}

int mf_writer_find(struct mf_writer *w, const char **from, struct mf_writer_file *file)
{
    int which = 0;

    MF_TRY(mf_agree(w->comm, w->comm->rank == 0 ? find(w, &which, file) : MF_OK));
    mf_comm_bcast(w->comm, 0, &which, sizeof which);
    mf_comm_bcast(w->comm, 0, file, sizeof *file);
    *from = which == 1 ? w->partial : which == 2 ? w->path : NULL;
    if (!*from) return MF_OK;
    mf_comm_bcast(w->comm, 0, w->status, file->samples);
    for (size_t i = 0; i < file->samples; ++i) w->status[i] = w->status[i] == 1;
    if (which == 2 && memchr(w->status, 0, file->samples))
        return mf_fail(MF_INPUT, "cannot continue '%s': it is damaged, as a sample is not complete", w->path);
    return MF_OK;
}

/* ---- a new file ---- */

struct making {
    struct mf_writer *w;
    const char *from; /* NULL: nothing is copied */
    const struct mf_writer_file *old;
    struct mf_atomic file;
    int source; /* from, open */
    char *piece;
};

static int make_rows(struct mf_h5 *h5, struct mf_writer *w)
{
    for (size_t i = 0; i < w->wish->arrays; ++i) {
        const struct mf_writer_array *a = &w->wish->array[i];
        size_t extent[MF_H5_DIMS] = {w->wish->set.samples};

        memcpy(extent + 1, a->dims, (size_t)a->ndim * sizeof *extent);
        MF_TRY(mf_h5_dataset(h5, a->path, a->type, 1 + a->ndim, extent));
        w->file.row_at[i] = mf_h5_place(h5, a->path);
    }
    return MF_OK;
}

static int make_arrays(struct mf_h5 *h5, struct mf_writer *w, const char *created,
                       const struct mf_provenance *provenance)
{
    MF_TRY(mf_h5_provenance(h5, MF_SCHEMA_DATASET, created, provenance));
    MF_TRY(mf_set_make(h5, &w->wish->set, &w->file.lay));
    MF_TRY(make_rows(h5, w));
    return mf_h5_write_text(h5, MF_SET_SETTINGS, w->settings);
}

static size_t bytes_of(const struct mf_writer *w)
{
    size_t row = mf_set_row(&w->file.lay);

    for (size_t i = 0; i < w->wish->arrays; ++i) row += w->row_bytes[i];
    return OVERHEAD + strlen(w->settings) + w->wish->set.samples * row;
}

/* Rank 0. */
static int make_file(struct making *m, const char *created, const struct mf_provenance *provenance)
{
    struct mf_h5 *h5;
    int rc, end;

    MF_TRY(mf_h5_create(m->file.temporary, m->file.path, &h5));
    rc = mf_atomic_reserve(&m->file, bytes_of(m->w));
    if (rc == MF_OK) rc = make_arrays(h5, m->w, created, provenance);
    end = mf_h5_close(h5);
    return rc == MF_OK ? end : rc;
}

/* Does a block of @p n samples have this share exactly? */
static int is_whole(double part, size_t n)
{
    const double count = part * (double)n;

    return fabs(count - nearbyint(count)) < 1e-6 * (double)n;
}

/* The least block of samples that has both shares exactly; 0: there is none. */
static size_t block_of(const double part[2])
{
    for (size_t n = SPLIT_BLOCK; n <= SPLIT_BLOCK * SPLIT_BLOCKS; n += SPLIT_BLOCK)
        if (is_whole(part[0], n) && is_whole(part[1], n)) return n;
    return 0;
}

int mf_writer_check_shares(const struct mf_dataset_wish *set)
{
    if (set->split || block_of(set->part)) return MF_OK;
    return mf_fail(MF_USAGE,
                   "the shares %g and %g of the splits are not exact for up to %d samples; try: three decimals",
                   set->part[0], set->part[1], SPLIT_BLOCK * SPLIT_BLOCKS);
}

/* Splits follow from the number of a sample: those of a block of samples are drawn together. */
static int draw_splits(const struct mf_dataset_wish *set, uint8_t *split)
{
    const size_t block = block_of(set->part);
    uint8_t drawn[SPLIT_BLOCK * SPLIT_BLOCKS];

    for (size_t first = 0; first < set->samples; first += block) {
        uint32_t seed[4];

        mf_random4(set->split_seed, MF_STREAM_SPLIT, first / block, seed);
        MF_TRY(mf_split_make(block, NULL, 1, set->part, (uint64_t)seed[0] << 32 | seed[1], drawn));
        memcpy(split + first, drawn, set->samples - first < block ? set->samples - first : block);
    }
    return mf_set_check_filled(set, split);
}

static int put_splits(struct mf_rows *rows, const struct mf_writer *w)
{
    const struct mf_dataset_wish *set = &w->wish->set;
    const uint64_t at = w->file.lay.at[MF_PART_SPLIT];
    uint8_t *split;
    int rc;

    if (set->split) return mf_rows_put(rows, set->split, set->samples, at);
    MF_TRY(MF_ROOM(split, set->samples, "the splits of %zu samples", set->samples));
    rc = draw_splits(set, split);
    if (rc == MF_OK) rc = mf_rows_put(rows, split, set->samples, at);
    free(split);
    return rc;
}

static int copy(struct mf_rows *rows, const struct making *m, uint64_t from, uint64_t to, size_t bytes)
{
    for (size_t at = 0; at < bytes; at += PIECE) {
        const size_t n = bytes - at < PIECE ? bytes - at : PIECE;

        MF_TRY(mf_read_at(m->source, m->from, m->piece, n, from + at));
        MF_TRY(mf_rows_put(rows, m->piece, n, to + at));
    }
    return MF_OK;
}

/* All arrays of samples that are complete. */
static int copy_run(struct mf_rows *rows, const struct making *m, size_t first, size_t count)
{
    const struct mf_writer_file *old = m->old, *new = &m->w->file;
    const size_t x = new->lay.bytes;

    MF_TRY(copy(rows, m, old->lay.x_at + first * x, new->lay.x_at + first *x, count * x));
    for (int p = 0; p < MF_PARTS; ++p) {
        const size_t row = mf_set_part_row(&new->lay, p);

        if (row && p != MF_PART_SPLIT)
            MF_TRY(copy(rows, m, old->lay.at[p] + first * row, new->lay.at[p] + first *row, count * row));
    }
    for (size_t i = 0; i < m->w->wish->arrays; ++i) {
        const size_t row = m->w->row_bytes[i];

        MF_TRY(copy(rows, m, old->row_at[i] + first * row, new->row_at[i] + first *row, count * row));
    }
    return MF_OK;
}

/* This rank's part. Local. */
static int put_old(struct mf_rows *rows, const void *context)
{
    const struct making *m = context;
    const struct mf_comm *comm = m->w->comm;
    struct mf_span own;
    size_t end;

    if (comm->rank == 0) MF_TRY(put_splits(rows, m->w));
    if (!m->from) return MF_OK;
    own = mf_cut(m->old->samples, (size_t)comm->size, (size_t)comm->rank);
    for (size_t i = own.first; i < own.first + own.count; i = end) {
        for (end = i + 1; end < own.first + own.count && m->w->status[end] == m->w->status[i];) ++end;
        if (m->w->status[i]) MF_TRY(copy_run(rows, m, i, end - i));
    }
    return MF_OK;
}

static int fill(struct making *m, const char *created, const struct mf_provenance *provenance)
{
    struct mf_writer *w = m->w;
    int rc = MF_OK;

    MF_TRY(mf_agree(w->comm, w->comm->rank == 0 ? make_file(m, created, provenance) : MF_OK));
    mf_comm_bcast(w->comm, 0, &w->file, sizeof w->file);
    m->source = -1;
    if (m->from) rc = mf_open_plain(m->from, O_RDONLY, &m->source);
    m->piece = MF_MUST(malloc(PIECE), "samples");
    if (rc == MF_OK) rc = mf_rows_write(w->comm, &m->file, 0, NULL, put_old, m);
    free(m->piece);
    if (m->source >= 0) close(m->source);
    return rc;
}

int mf_writer_make(struct mf_writer *w, const char *from, const struct mf_writer_file *old,
                   const struct mf_provenance *provenance)
{
    struct making m = {.w = w, .from = from, .old = old};
    char created[MF_UNIT_TEXT];

    mf_created(w->comm, created);
    MF_TRY(mf_atomic_open_alone(w->comm, w->partial, bytes_of(w), &m.file));
    return mf_atomic_close(w->comm, &m.file, fill(&m, created, provenance));
}
