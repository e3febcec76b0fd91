/* See checkpoint.h: one file, written by all ranks and read by each. Arrays are contiguous datasets /arrays/NAME whose
 * bytes are written and read directly; numbers are attributes of the group /numbers. */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "io/atomic.h"
#include "io/rows.h"
#include "io/seal.h"
#include "io/volume.h"
#include "src/base/err.h"
#include "src/run/checkpoint_priv.h"
#include "src/run/problem.h"

enum { PROBLEM_MAX = 1 << 20, NAME = MF_PIECE_NAME + 16 };

static void path_of(const char *name, char path[NAME])
{
    MF_ASSERT(strlen(name) <= MF_PIECE_NAME);
    snprintf(path, NAME, "/arrays/%s", name);
}

/* Numbers of two bytes have no type in HDF5 1.10: they are pairs of bytes. */
static int is_pair(enum mf_type type) { return mf_type_bytes(type) == 2; }

static enum mf_h5_type file_type(enum mf_type type)
{
    static const enum mf_h5_type of[] = {
        [MF_F32] = MF_H5_F32, [MF_F64] = MF_H5_F64, [MF_U8] = MF_H5_U8,   [MF_I32] = MF_H5_I32,
        [MF_I64] = MF_H5_I64, [MF_F16] = MF_H5_U8,  [MF_BF16] = MF_H5_U8, [MF_I8] = MF_H5_U8};

    _Static_assert(sizeof of / sizeof *of == MF_TYPES, "every type has one in the file");
    return of[type];
}

static int file_dims(const struct mf_piece *p, size_t dims[MF_H5_DIMS])
{
    memcpy(dims, p->dims, (size_t)p->ndim * sizeof *dims);
    dims[p->ndim] = 2;
    return p->ndim + is_pair(p->type);
}

/* Bytes of the whole array. */
static size_t bytes_of(const struct mf_piece *p)
{
    const struct mf_piece_rows r = mf_piece_rows(p);

    return r.outer * r.rows * r.inner * r.size;
}

/* -- writing -- */

static int put_number(struct mf_h5 *file, const struct mf_number *n)
{
    switch (n->kind) {
    case MF_NUMBER_REAL: return mf_h5_put_reals(file, "/numbers", n->name, 1, &n->real);
    case MF_NUMBER_INT: return mf_h5_put_ints(file, "/numbers", n->name, 1, &n->whole);
    default: return mf_h5_put_text(file, "/numbers", n->name, n->text);
    }
}

static int put_head(struct mf_h5 *file, int64_t turn, const struct mf_checkpoint *c, const char *created)
{
    const struct mf_provenance from = {.command = "", .options = "", .input_hash = ""};

    MF_TRY(mf_h5_provenance(file, MF_CHECKPOINT_NAME, created, &from));
    MF_TRY(mf_h5_put_ints(file, "/", "turn", 1, &turn));
    MF_TRY(mf_h5_put_ints(file, "/", "checkpoint_schema", 1, &(int64_t){MF_CHECKPOINT_SCHEMA}));
    MF_TRY(mf_h5_write_text(file, "/problem", c->problem));
    MF_TRY(mf_h5_group(file, "/numbers"));
    for (size_t i = 0; i < c->numbers; ++i) MF_TRY(put_number(file, &c->number[i]));
    return MF_OK;
}

/* The datasets without their values, and where in the file those begin. */
static int make_arrays(struct mf_h5 *file, const struct mf_checkpoint *c, uint64_t *place)
{
    for (size_t i = 0; i < c->pieces; ++i) {
        const struct mf_piece *p = &c->piece[i];
        size_t dims[MF_H5_DIMS];
        const int ndim = file_dims(p, dims);
        char path[NAME];

        if (bytes_of(p) == 0) continue;
        path_of(p->name, path);
        MF_TRY(mf_h5_dataset(file, path, file_type(p->type), ndim, dims));
        MF_TRY(mf_h5_put_text(file, path, "type", mf_type_name(p->type)));
        place[i] = mf_h5_place(file, path);
        if (place[i] == 0) return mf_fail(MF_OUTPUT, "HDF5 gives the array '%s' no place in its file", p->name);
    }
    return MF_OK;
}

/* All arrays, one a line: "field: f32 2 x 9 x 3, cut along 1". */
static char *lines_of(const struct mf_checkpoint *c)
{
    char *text = NULL;
    size_t size;
    FILE *to = MF_MUST(open_memstream(&text, &size), "the list of a checkpoint");

    for (size_t i = 0; i < c->pieces; ++i) {
        const struct mf_piece *p = &c->piece[i];

        fprintf(to, "%s: %s", p->name, mf_type_name(p->type));
        for (int a = 0; a < p->ndim; ++a) fprintf(to, "%s %zu", a ? " x" : "", p->dims[a]);
        fprintf(to, p->cut == MF_UNCUT ? ", uncut\n" : ", cut along %d\n", p->cut);
    }
    MF_ASSERT(fclose(to) == 0);
    return text;
}

static int same_lines(const char *first, const char *own)
{
    size_t at = 0, a, b;

    for (size_t i = 0; first[i] && first[i] == own[i]; ++i)
        if (first[i] == '\n') at = i + 1;
    if (strcmp(first + at, own + at) == 0) return MF_OK;
    a = strcspn(first + at, "\n");
    b = strcspn(own + at, "\n");
    return mf_fail(MF_BROKEN, "ranks list different arrays for a checkpoint: rank 0 has '%.*s', this one '%.*s'",
                   (int)(a < 150 ? a : 150), first + at, (int)(b < 150 ? b : 150), own + at);
}

/* Values go by the order of the list, so a rank with another list would write over others. Collective. */
static int same_lists(const struct mf_comm *comm, const struct mf_checkpoint *c)
{
    char *own = lines_of(c), *first = mf_comm_text(comm, own);
    const int rc = mf_agree(comm, same_lines(first, own));

    free(own);
    free(first);
    return rc;
}

/* As many rows at a time as the stage holds. */
static int put_rows(struct mf_rows *rows, const struct mf_piece *p, const struct mf_piece_rows *r, uint64_t place)
{
    const size_t row = r->inner * r->size;

    MF_ASSERT(!p->stage || p->type == MF_F32 || p->type == MF_U8); /* what a stage has room for */
    for (size_t o = 0; o < r->outer; ++o)
        for (size_t z = 0, run; z < r->count; z += run) {
            const char *at = (const char *)p->at + (o * r->count + z) * row;
            size_t left = r->count - z, to = mf_piece_row(p, z, &left);

            run = mf_stage_run(p->stage, left);
            MF_TRY(
                mf_rows_put(rows, mf_stage_get(p->stage, at, run * row), run * row, place + (o * r->rows + to) * row));
        }
    return MF_OK;
}

struct own {
    const struct mf_comm *comm;
    const struct mf_checkpoint *c;
    const uint64_t *place;
};

/* This rank's pieces; of an array that all ranks hold, all of it by rank 0: other ranks' seconds are others. */
static int put_own(struct mf_rows *rows, const void *context)
{
    const struct own *own = context;

    for (size_t i = 0; i < own->c->pieces; ++i) {
        const struct mf_piece *p = &own->c->piece[i];
        const struct mf_piece_rows r = mf_piece_rows(p);

        if (p->cut != MF_UNCUT || own->comm->rank == 0) MF_TRY(put_rows(rows, p, &r, own->place[i]));
    }
    return MF_OK;
}

static uint64_t end_of(const struct mf_checkpoint *c, const uint64_t *place)
{
    uint64_t end = 0;

    for (size_t i = 0; i < c->pieces; ++i)
        if (place[i] + bytes_of(&c->piece[i]) > end) end = place[i] + bytes_of(&c->piece[i]);
    return end;
}

static size_t all_bytes(const struct mf_checkpoint *c)
{
    size_t bytes = 0;

    for (size_t i = 0; i < c->pieces; ++i) bytes += bytes_of(&c->piece[i]);
    return bytes;
}

/* Everything but the values. Rank 0. */
static int make_file(const struct mf_atomic *temporary, int64_t turn, const struct mf_checkpoint *c,
                     const char *created, uint64_t *place)
{
    struct mf_h5 *file;
    int rc, end;

    MF_TRY(mf_h5_create(temporary->temporary, temporary->path, &file));
    rc = mf_atomic_reserve(temporary, all_bytes(c));
    if (rc == MF_OK) rc = put_head(file, turn, c, created);
    if (rc == MF_OK) rc = make_arrays(file, c, place);
    end = mf_h5_close(file);
    return rc == MF_OK ? end : rc;
}

/* Collective: refused by all or by none. */
static int write_all(const struct mf_comm *comm, const struct mf_atomic *temporary, int64_t turn,
                     const struct mf_checkpoint *c, uint64_t *place)
{
    struct mf_seal_seen seen = {0};
    const struct own own = {comm, c, place};
    char created[MF_UNIT_TEXT];
    int rc;

    mf_created(comm, created);
    rc = mf_agree(comm, comm->rank == 0 ? make_file(temporary, turn, c, created, place) : MF_OK);
    if (rc != MF_OK) return rc;
    mf_comm_bcast(comm, 0, place, c->pieces * sizeof *place);
    rc = mf_agree(comm, mf_rows_write(comm, temporary, end_of(c, place), &seen, put_own, &own));
    if (rc == MF_OK) rc = mf_seal_write(comm, temporary->temporary, temporary->path, (uint32_t)turn, &seen);
    mf_seal_see_end(&seen);
    return rc;
}

int mf_checkpoint_write(const struct mf_comm *comm, const char *path, int64_t turn, const struct mf_checkpoint *from)
{
    const size_t bytes = all_bytes(from);
    struct mf_atomic file;
    uint64_t *place;
    int rc;

    MF_TRY(same_lists(comm, from));
    place = MF_MUST(calloc(from->pieces + 1, sizeof *place), "the places of a checkpoint");
    rc = mf_atomic_open_alone(comm, path, bytes + (bytes >> 10) + 65536, &file);
    if (rc == MF_OK) rc = mf_atomic_close(comm, &file, write_all(comm, &file, turn, from, place));
    free(place);
    return rc;
}

/* -- reading -- */

static int check_kind(struct mf_checkpoint *c)
{
    char schema[MF_NAME_TEXT];
    int64_t version = 0;
    size_t n = 0;

    MF_TRY(mf_h5_get_text(c->file, "/", "schema", schema, sizeof schema));
    if (strcmp(schema, MF_CHECKPOINT_NAME) != 0)
        return mf_fail(MF_INPUT, "'%s' is no checkpoint but a %s", c->path, schema);
    MF_TRY(mf_h5_get_ints(c->file, "/", "checkpoint_schema", 1, &version, &n));
    c->foreign = version != MF_CHECKPOINT_SCHEMA;
    if (!c->foreign) return MF_OK;
    return mf_fail(MF_INPUT,
                   "'%s' is a checkpoint of schema %lld, and this version of mesoforge reads schema %d; " MF_RUN_ANEW,
                   c->path, (long long)version, MF_CHECKPOINT_SCHEMA);
}

static int open_file(struct mf_checkpoint *c)
{
    MF_TRY(mf_h5_open(c->path, &c->file));
    MF_TRY(check_kind(c));
    free(c->problem);
    c->problem = NULL;
    MF_TRY(mf_h5_read_text(c->file, "/problem", PROBLEM_MAX, &c->problem));
    return mf_open_plain(c->path, O_RDONLY, &c->descriptor);
}

int mf_checkpoint_open_checked(const struct mf_comm *comm, const char *path, int checked, struct mf_checkpoint **in,
                               int *foreign)
{
    struct mf_checkpoint *c;
    int64_t is_foreign;
    int rc;

    *foreign = 0;
    if (!checked) MF_TRY(mf_seal_check(comm, path, NULL));
    c = mf_checkpoint_new("");
    c->path = MF_MUST(strdup(path), "a file name");
    rc = open_file(c);
    if (c->file) rc = mf_h5_unread(c->file, rc);
    is_foreign = c->foreign;
    rc = mf_agree(comm, rc);
    if (rc == MF_OK) {
        *in = c;
        return rc;
    }
    mf_comm_max_int(comm, 1, &is_foreign);
    *foreign = is_foreign != 0;
    mf_checkpoint_free(c);
    return rc;
}

int mf_checkpoint_open(const struct mf_comm *comm, const char *path, int checked, struct mf_checkpoint **in)
{
    int foreign;

    return mf_checkpoint_open_checked(comm, path, checked, in, &foreign);
}

static enum mf_type type_named(const char *name)
{
    int type = 0;

    while (type < MF_TYPES && strcmp(mf_type_name((enum mf_type)type), name) != 0) ++type;
    return (enum mf_type)type;
}

/* Type and dims of an array that is there, and where its values begin. 0: they cannot be read as they lie. */
static int look(const struct mf_checkpoint *c, const char *path, struct mf_piece *is, uint64_t *place)
{
    struct mf_h5_shape shape;
    char type[16] = "";

    MF_TRY(mf_h5_shape(c->file, path, &shape));
    MF_TRY(mf_h5_get_text(c->file, path, "type", type, sizeof type));
    is->type = type_named(type);
    is->ndim = is->type < MF_TYPES ? shape.ndim - is_pair(is->type) : 0;
    if (is->ndim < 1 || is->ndim > MF_PIECE_DIMS)
        return mf_fail(MF_INPUT, "'%s' has no array at '%s'; " MF_RUN_ANEW, c->path, path);
    memcpy(is->dims, shape.dims, (size_t)is->ndim * sizeof *is->dims);
    *place = shape.swap ? 0 : shape.offset;
    return MF_OK;
}

/* Is the dataset the array that is wanted, and where do its values begin? */
static int find(const struct mf_checkpoint *c, const struct mf_piece *p, const char *path, uint64_t *place)
{
    struct mf_piece is;

    if (!mf_h5_has(c->file, path))
        return mf_fail(MF_INPUT, "'%s' lacks the array '%s'; " MF_RUN_ANEW, c->path, p->name);
    MF_TRY(look(c, path, &is, place));
    if (is.type == p->type && is.ndim == p->ndim && *place &&
        memcmp(is.dims, p->dims, (size_t)p->ndim * sizeof *p->dims) == 0)
        return MF_OK;
    return mf_fail(MF_INPUT, "the array '%s' in '%s' has another shape or type than this run needs", p->name, c->path);
}

int mf_checkpoint_find(const struct mf_checkpoint *c, const char *name, struct mf_piece *shape)
{
    uint64_t place;
    char path[NAME];

    path_of(name, path);
    if (!mf_h5_has(c->file, path)) return 0;
    if (look(c, path, shape, &place) == MF_OK) return 1;
    mf_err_clear(); /* a group of arrays */
    return 0;
}

static int get_rows(const struct mf_checkpoint *c, const struct mf_piece *p, uint64_t place)
{
    const struct mf_piece_rows r = mf_piece_rows(p);
    const size_t row = r.inner * r.size;

    MF_ASSERT(!p->stage || p->type == MF_F32 || p->type == MF_U8);
    for (size_t o = 0; o < r.outer; ++o)
        for (size_t z = 0, run; z < r.count; z += run) {
            char *at = (char *)p->at + (o * r.count + z) * row;
            size_t left = r.count - z, from = mf_piece_row(p, z, &left);

            run = mf_stage_run(p->stage, left);
            MF_TRY(mf_read_at(c->descriptor, c->path, mf_stage_at(p->stage, at), run * row,
                              place + (o * r.rows + from) * row));
            mf_stage_put(p->stage, at, run * row);
        }
    return MF_OK;
}

int mf_piece_load(const struct mf_checkpoint *c, const struct mf_piece *p)
{
    uint64_t place = 0;
    char path[NAME];

    path_of(p->name, path);
    if (bytes_of(p) == 0 && !mf_h5_has(c->file, path)) return MF_OK;
    MF_TRY(find(c, p, path, &place));
    return get_rows(c, p, place);
}
