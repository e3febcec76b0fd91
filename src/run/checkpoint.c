/* See checkpoint.h: the list, and the two files of a run. checkpoint_file.c has the format of one file. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/look.h"
#include "io/seal.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/text.h"
#include "src/run/checkpoint_priv.h"
#include "src/run/problem.h"

#define LIST "the list of a checkpoint"

struct mf_checkpoint *mf_checkpoint_new(const char *problem)
{
    struct mf_checkpoint *c = MF_MUST(calloc(1, sizeof *c), LIST);

    c->problem = MF_MUST(strdup(problem), LIST);
    c->descriptor = -1;
    return c;
}

void mf_checkpoint_free(struct mf_checkpoint *c)
{
    if (!c) return;
    if (c->file && mf_h5_close(c->file) != MF_OK) mf_err_clear(); /* it was only read */
    if (c->descriptor >= 0) close(c->descriptor);
    for (size_t i = 0; i < c->numbers; ++i) {
        free(c->number[i].name);
        free(c->number[i].text);
    }
    for (size_t i = 0; i < c->pieces; ++i) free((char *)(uintptr_t)c->piece[i].name);
    free(c->number);
    free(c->piece);
    free(c->problem);
    free(c->path);
    free(c);
}

int mf_checkpoint_loads(const struct mf_checkpoint *c) { return c->file != NULL; }

int mf_checkpoint_code(const struct mf_checkpoint *c) { return c->file ? mf_h5_unread(c->file, c->code) : MF_OK; }

void mf_checkpoint_refuse(struct mf_checkpoint *c, int rc)
{
    if (c->code == MF_OK) c->code = rc;
}

const char *mf_checkpoint_problem(const struct mf_checkpoint *c) { return c->problem; }

/* -- numbers -- */

/* A number to save. */
static struct mf_number *add(struct mf_checkpoint *c, const char *name, enum mf_number_kind kind)
{
    struct mf_number *number;

    c->number = MF_MUST(realloc(c->number, (c->numbers + 1) * sizeof *c->number), LIST);
    number = &c->number[c->numbers++];
    *number = (struct mf_number){.name = MF_MUST(strdup(name), LIST), .kind = kind};
    return number;
}

/* Is a number there to be read? */
static int has(struct mf_checkpoint *c, const char *name)
{
    if (c->code == MF_OK && !mf_h5_has_attribute(c->file, "/numbers", name))
        c->code = mf_fail(MF_INPUT, "'%s' lacks the number '%s'; " MF_RUN_ANEW, c->path, name);
    return c->code == MF_OK;
}

static void one(struct mf_checkpoint *c, const char *name, size_t count)
{
    if (c->code == MF_OK && count != 1)
        c->code = mf_fail(MF_INPUT, "'%s' has %zu values of the number '%s' instead of one", c->path, count, name);
}

void mf_checkpoint_real(struct mf_checkpoint *c, const char *name, double *value)
{
    size_t n = 0;

    if (!c->file)
        add(c, name, MF_NUMBER_REAL)->real = *value;
    else if (has(c, name)) {
        c->code = mf_h5_get_reals(c->file, "/numbers", name, 1, value, &n);
        one(c, name, n);
    }
}

void mf_checkpoint_int(struct mf_checkpoint *c, const char *name, long *value)
{
    int64_t whole = *value;
    size_t n = 0;

    if (!c->file)
        add(c, name, MF_NUMBER_INT)->whole = whole;
    else if (has(c, name)) {
        c->code = mf_h5_get_ints(c->file, "/numbers", name, 1, &whole, &n);
        one(c, name, n);
    }
    *value = (long)whole;
}

void mf_checkpoint_flag(struct mf_checkpoint *c, const char *name, int *value)
{
    long whole = *value;

    mf_checkpoint_int(c, name, &whole);
    *value = whole != 0;
}

void mf_checkpoint_text(struct mf_checkpoint *c, const char *name, char *text, size_t room)
{
    if (!c->file)
        add(c, name, MF_NUMBER_TEXT)->text = MF_MUST(strdup(text), LIST);
    else if (has(c, name))
        c->code = mf_h5_get_text(c->file, "/numbers", name, text, room);
}

/* -- arrays -- */

void mf_checkpoint_array(struct mf_checkpoint *c, const struct mf_piece *piece)
{
    if (c->file) {
        if (c->code == MF_OK) c->code = mf_piece_load(c, piece);
        return;
    }
    MF_ASSERT(strlen(piece->name) <= MF_PIECE_NAME);
    c->piece = MF_MUST(realloc(c->piece, (c->pieces + 1) * sizeof *c->piece), LIST);
    c->piece[c->pieces] = *piece;
    c->piece[c->pieces++].name = MF_MUST(strdup(piece->name), LIST);
}

void mf_checkpoint_reals(struct mf_checkpoint *c, const char *name, double *values, size_t count)
{
    const struct mf_piece piece = {
        .name = name, .type = MF_F64, .ndim = 1, .dims = {count}, .cut = MF_UNCUT, .at = values};

    mf_checkpoint_array(c, &piece);
}

struct mf_piece_rows mf_piece_rows(const struct mf_piece *p)
{
    struct mf_piece_rows r = {.outer = 1, .rows = 1, .inner = 1, .size = mf_type_bytes(p->type)};

    MF_ASSERT(p->ndim > 0 && p->ndim <= MF_PIECE_DIMS && p->cut < p->ndim);
    if (p->cut == MF_UNCUT) {
        for (int a = 0; a < p->ndim; ++a) r.rows *= p->dims[a];
        r.count = r.rows;
        return r;
    }
    for (int a = 0; a < p->cut; ++a) r.outer *= p->dims[a];
    for (int a = p->cut + 1; a < p->ndim; ++a) r.inner *= p->dims[a];
    r.rows = p->dims[p->cut];
    r.first = p->first;
    r.count = p->count;
    MF_ASSERT(p->chunk ? p->ndim == 1 : r.first + r.count <= r.rows);
    return r;
}

size_t mf_piece_row(const struct mf_piece *p, size_t z, size_t *left)
{
    const size_t i = p->first + z, behind = p->chunk ? p->chunk - i % p->chunk : *left;

    if (behind < *left) *left = behind;
    return p->chunk ? i / p->chunk * p->stride + p->from + i % p->chunk : i;
}

double mf_checkpoint_bytes(const struct mf_checkpoint *c)
{
    double bytes = 0;

    for (size_t i = 0; i < c->pieces; ++i) {
        const struct mf_piece_rows r = mf_piece_rows(&c->piece[i]);

        bytes += (double)(r.outer * r.count * r.inner * r.size);
    }
    return bytes;
}

/* -- the two files of a run -- */

char *mf_checkpoint_stem(const char *output)
{
    const char *base = mf_name_base(output), *dot = strrchr(base, '.');

    return mf_format("%.*s", (int)((dot && dot > base ? dot : strchr(base, 0)) - output), output);
}

char *mf_checkpoint_name(const char *stem, int which)
{
    char *name = NULL;

    if (asprintf(&name, "%s.ckpt-%c.h5", stem, which ? 'b' : 'a') < 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    return name;
}

/* Rank 0 reads a file's seal and returns its number. -1: there is none. -2: the seal is broken or not that of a
 * checkpoint (a warning unless @p quiet). */
static int64_t turn_of(const char *path, int quiet)
{
    uint32_t mark;

    if (access(path, F_OK) != 0) return -1;
    if (mf_seal_mark(path, &mark) == MF_OK) {
        if (mark > 0) return mark;
        (void)mf_fail(MF_INPUT, "'%s' is no checkpoint", path);
    }
    if (!quiet) mf_warn("%s", mf_err_text());
    mf_err_clear();
    return -2;
}

/* A checkpoint that was cut has HDF5's signature and cannot be opened. */
static int is_strange(const char *path)
{
    struct mf_look look;
    int is_h5 = 0, strange = 0;

    if (mf_look_is_h5(path, &is_h5) == MF_OK && is_h5 && mf_look(path, &look) == MF_OK) {
        strange = strcmp(look.schema, MF_CHECKPOINT_NAME) != 0;
        mf_look_free(&look);
    } else {
        strange = !is_h5;
    }
    mf_err_clear();
    return strange;
}

int mf_checkpoint_may(const char *path)
{
    struct stat is;

    if (turn_of(path, 1) != -2 || (stat(path, &is) == 0 && is.st_size == 0) || !is_strange(path)) return MF_OK;
    return mf_fail(MF_OUTPUT, "'%s' is no checkpoint, and this run would replace it; try: another folder", path);
}

void mf_checkpoint_look(const struct mf_comm *comm, const char *stem, int quiet, struct mf_checkpoint_pair *pair)
{
    for (int i = 0; i < 2; ++i) {
        char *path = mf_checkpoint_name(stem, i);

        if (comm->rank == 0) pair->turn[i] = turn_of(path, quiet);
        free(path);
    }
    mf_comm_bcast(comm, 0, pair->turn, sizeof pair->turn);
    pair->newest = pair->turn[1] > pair->turn[0];
}

/* One of the two: a damaged file is only warned of, one of another schema is refused. */
static int open_one(const struct mf_comm *comm, const char *path, int64_t *turn, struct mf_checkpoint **in)
{
    int foreign = 0, rc = mf_checkpoint_open_checked(comm, path, 0, in, &foreign);

    if (rc == MF_OK || foreign) return rc;
    mf_warn("%s", mf_err_text());
    *turn = -2;
    return MF_OK;
}

int mf_checkpoint_newest(const struct mf_comm *comm, const char *stem, struct mf_checkpoint_pair *pair,
                         struct mf_checkpoint **in)
{
    int first = pair->newest, damaged = 0, rc = MF_OK;

    *in = NULL;
    for (int k = 0; k < 2 && rc == MF_OK && !*in; ++k) {
        int i = k == 0 ? first : !first;
        char *path = mf_checkpoint_name(stem, i);

        if (pair->turn[i] >= 0) rc = open_one(comm, path, &pair->turn[i], in);
        damaged |= pair->turn[i] == -2;
        if (*in) pair->newest = i;
        free(path);
    }
    MF_TRY(rc);
    if (*in || !damaged) {
        mf_err_clear();
        return MF_OK;
    }
    return mf_fail(MF_INPUT, "no checkpoint of '%s' can be read; " MF_RUN_ANEW, stem);
}

void mf_checkpoint_remove_one(const struct mf_comm *comm, const char *stem, int which)
{
    char *path = mf_checkpoint_name(stem, which);

    if (comm->rank == 0) unlink(path);
    free(path);
}

void mf_checkpoint_remove(const struct mf_comm *comm, const char *stem)
{
    for (int i = 0; i < 2; ++i) mf_checkpoint_remove_one(comm, stem, i);
}
