/* See checkpoint.h. */
#include "src/recon/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/h5.h"
#include "io/seal.h"
#include "io/volume.h"
#include "src/base/err.h"
#include "src/base/log.h"

enum { PROBLEM_MAX = 1 << 20, NUMBERS_MAX = 1 << 26, NAME = 64 };

static void vector_name(char name[NAME], size_t i, size_t field) { snprintf(name, NAME, "/vector/%zu/%zu", i, field); }

/* -- writing -- */

static int put_head(struct mf_h5 *file, int64_t turn, const struct mf_checkpoint *c, const char *created)
{
    const struct mf_provenance from = {.command = "", .options = "", .input_hash = ""};
    int64_t dims[3];

    for (int a = 0; a < 3; ++a) dims[a] = (int64_t)c->slab.dims[a];
    MF_TRY(mf_h5_provenance(file, MF_CHECKPOINT_NAME, created, &from));
    MF_TRY(mf_h5_put_ints(file, "/", "dims", 3, dims));
    MF_TRY(mf_h5_put_ints(file, "/", "fields", 1, &(int64_t){(int64_t)c->fields}));
    MF_TRY(mf_h5_put_ints(file, "/", "vectors", 1, &(int64_t){(int64_t)c->vectors}));
    MF_TRY(mf_h5_put_ints(file, "/", "turn", 1, &turn));
    MF_TRY(mf_h5_put_ints(file, "/", "checkpoint_schema", 1, &(int64_t){MF_CHECKPOINT_SCHEMA}));
    MF_TRY(mf_h5_write_text(file, "/problem", c->problem));
    return mf_h5_write(file, "/numbers", MF_H5_F64, 1, &c->numbers, c->number);
}

static int make_vectors(struct mf_h5 *file, const struct mf_checkpoint *c)
{
    const struct mf_slab *s = &c->slab;
    char name[NAME];

    for (size_t i = 0; i < c->vectors; ++i)
        for (size_t f = 0; f < c->fields; ++f) {
            vector_name(name, i, f);
            MF_TRY(mf_h5_dataset(file, name, MF_H5_F32, 3, s->dims));
        }
    if (c->label) MF_TRY(mf_h5_dataset(file, "/label", MF_H5_U8, 3, s->dims));
    return mf_h5_flush(file);
}

/* Planes of a slab: floats, or labels. */
struct planes {
    const float *x;
    const uint8_t *label; /* NULL: x */
};

static int put_run(struct mf_h5 *file, const char *name, const struct mf_checkpoint *c, struct planes p, size_t first,
                   size_t count)
{
    const size_t at = first * c->slab.dims[1] * c->slab.dims[2], row = c->slab.first + first;

    if (p.label)
        return mf_h5_write_rows(file, name, MF_H5_U8, row, count, mf_stage_labels_get(c->stage, p.label + at, count));
    return mf_h5_write_rows(file, name, MF_H5_F32, row, count, mf_stage_get(c->stage, p.x + at, count));
}

/* As many planes at a time as the stage holds. Writing is collective: every rank goes on until the largest slab, which
 * is rank 0's, is written. */
static int put_field(const struct mf_comm *comm, struct mf_h5 *file, const char *name, const struct mf_checkpoint *c,
                     struct planes p)
{
    const struct mf_slab *s = &c->slab;
    const size_t most = mf_slab_of(comm, s->dims, 0).count;
    int rc = MF_OK;

    for (size_t z = 0, run; z < most; z += run) {
        const size_t from = z < s->count ? z : s->count, left = s->count - from;
        int one;

        run = mf_stage_run(c->stage, most - z);
        one = put_run(file, name, c, p, from, left < run ? left : run);
        if (rc == MF_OK) rc = one;
    }
    return rc;
}

static int put_vectors(const struct mf_comm *comm, struct mf_h5 *file, const struct mf_checkpoint *c)
{
    size_t voxels = mf_slab_voxels(&c->slab);
    char name[NAME];
    int rc = MF_OK;

    for (size_t i = 0; i < c->vectors; ++i) /* every rank goes to the end of the list: writing is collective */
        for (size_t f = 0; f < c->fields; ++f) {
            int one;

            vector_name(name, i, f);
            one = put_field(comm, file, name, c, (struct planes){c->vector[i] + f * voxels, NULL});
            if (rc == MF_OK) rc = one;
        }
    if (c->label) {
        int one = put_field(comm, file, "/label", c, (struct planes){NULL, c->label});

        if (rc == MF_OK) rc = one;
    }
    return rc;
}

static size_t bytes_of(const struct mf_checkpoint *c)
{
    size_t voxels = c->slab.dims[0] * c->slab.dims[1] * c->slab.dims[2];

    return voxels * (4 * c->fields * c->vectors + (c->label != NULL)) + 8 * c->numbers;
}

static int write_all(const struct mf_comm *comm, const struct mf_atomic *temporary, int64_t turn,
                     const struct mf_checkpoint *c)
{
    const char *path = temporary->temporary, *name = temporary->path;
    struct mf_h5 *file = NULL;
    char created[MF_UNIT_TEXT];
    int rc, closed;

    mf_created(comm, created);
    MF_TRY(mf_agree(comm, mf_h5_create(comm, path, name, &file)));
    rc = mf_agree(comm, comm->rank == 0 ? mf_atomic_reserve(temporary, bytes_of(c)) : MF_OK);
    if (rc == MF_OK) rc = mf_agree(comm, put_head(file, turn, c, created));
    if (rc == MF_OK) rc = mf_agree(comm, make_vectors(file, c));
    if (rc == MF_OK) rc = mf_agree(comm, put_vectors(comm, file, c));
    closed = mf_h5_close(file);
    rc = mf_agree(comm, rc == MF_OK ? closed : rc);
    return rc == MF_OK ? mf_seal_write(comm, path, name, (uint32_t)turn, NULL) : rc;
}

int mf_checkpoint_write(const struct mf_comm *comm, const char *path, int64_t turn, const struct mf_checkpoint *from)
{
    size_t bytes = bytes_of(from);
    struct mf_atomic file;
    int rc;

    MF_TRY(mf_atomic_open_alone(comm, path, bytes + (bytes >> 10) + 65536, &file));
    rc = write_all(comm, &file, turn, from);
    return mf_atomic_close(comm, &file, rc);
}

/* -- reading -- */

struct mf_checkpoint_in {
    struct mf_checkpoint_head head;
    struct mf_h5 *file;
    double *number;
    char *problem;
};

static int get_size(struct mf_h5 *file, const char *name, size_t most, size_t *size)
{
    int64_t value;
    size_t n;

    MF_TRY(mf_h5_get_ints(file, "/", name, 1, &value, &n));
    if (n != 1 || value < 0 || (uint64_t)value > most)
        return mf_fail(MF_INPUT, "the checkpoint's attribute %s makes no sense", name);
    *size = (size_t)value;
    return MF_OK;
}

static int check_kind(struct mf_h5 *file, const char *path)
{
    char schema[MF_NAME_TEXT];
    size_t version = 0;

    MF_TRY(mf_h5_get_text(file, "/", "schema", schema, sizeof schema));
    if (strcmp(schema, MF_CHECKPOINT_NAME) != 0)
        return mf_fail(MF_INPUT, "'%s' is no checkpoint but a %s", path, schema);
    MF_TRY(get_size(file, "checkpoint_schema", 1000000, &version));
    if (version != MF_CHECKPOINT_SCHEMA)
        return mf_fail(MF_INPUT, "'%s' is a checkpoint of schema %zu; this version of mesoforge reads %d", path,
                       version, MF_CHECKPOINT_SCHEMA);
    return MF_OK;
}

static int get_numbers(struct mf_checkpoint_in *in)
{
    struct mf_h5_shape shape;

    MF_TRY(mf_h5_shape(in->file, "/numbers", &shape));
    if (shape.ndim != 1 || shape.dims[0] > NUMBERS_MAX)
        return mf_fail(MF_INPUT, "the checkpoint's numbers have no sound shape");
    in->head.numbers = shape.dims[0];
    in->number = malloc((shape.dims[0] + 1) * sizeof *in->number);
    if (!in->number) return mf_fail(MF_MEMORY, "no memory for the numbers of a checkpoint");
    in->head.number = in->number;
    return mf_h5_read_rows(in->file, "/numbers", MF_H5_F64, 0, shape.dims[0], in->number);
}

static int get_head(struct mf_checkpoint_in *in, const char *path)
{
    struct mf_checkpoint_head *h = &in->head;
    int64_t dims[3];
    size_t n = 0;

    MF_TRY(check_kind(in->file, path));
    MF_TRY(mf_h5_get_ints(in->file, "/", "dims", 3, dims, &n));
    for (size_t a = 0; a < 3; ++a) {
        if (n != 3 || dims[a] < 1) return mf_fail(MF_INPUT, "the checkpoint's extents make no sense");
        h->dims[a] = (size_t)dims[a];
    }
    MF_TRY(get_size(in->file, "fields", 256, &h->fields));
    MF_TRY(get_size(in->file, "vectors", MF_CHECKPOINT_VECTORS, &h->vectors));
    h->labels = mf_h5_has(in->file, "/label");
    MF_TRY(mf_h5_read_text(in->file, "/problem", PROBLEM_MAX, &in->problem));
    h->problem = in->problem;
    return get_numbers(in);
}

int mf_checkpoint_open(const struct mf_comm *comm, const char *path, int checked, struct mf_checkpoint_in **in)
{
    struct mf_checkpoint_in *c;
    int rc;

    if (!checked) MF_TRY(mf_seal_check(comm, path, NULL));
    c = calloc(1, sizeof *c);
    rc = c ? mf_h5_open(path, &c->file) : mf_fail(MF_MEMORY, "no memory for a checkpoint");
    if (rc == MF_OK) rc = get_head(c, path);
    rc = mf_agree(comm, rc);
    if (rc == MF_OK)
        *in = c;
    else
        mf_checkpoint_close(c);
    return rc;
}

const struct mf_checkpoint_head *mf_checkpoint_head(const struct mf_checkpoint_in *in) { return &in->head; }

void mf_checkpoint_close(struct mf_checkpoint_in *in)
{
    if (!in) return;
    if (in->file && mf_h5_close(in->file) != MF_OK) mf_err_clear(); /* it was only read */
    free(in->number);
    free(in->problem);
    free(in);
}

/* Is a dataset of the extents that the slab is a part of? */
static int check_shape(struct mf_checkpoint_in *in, const char *name, const struct mf_slab *slab)
{
    struct mf_h5_shape shape;

    MF_TRY(mf_h5_shape(in->file, name, &shape));
    for (int a = 0; a < 3; ++a)
        if (shape.ndim != 3 || shape.dims[a] != slab->dims[a])
            return mf_fail(MF_INPUT, "the checkpoint's %s has other extents than the volume", name);
    return MF_OK;
}

int mf_checkpoint_vector(struct mf_checkpoint_in *in, size_t i, const struct mf_slab *slab,
                         const struct mf_stage *stage, float *x)
{
    size_t plane = slab->dims[1] * slab->dims[2];
    char name[NAME];

    for (size_t f = 0; f < in->head.fields; ++f) {
        vector_name(name, i, f);
        MF_TRY(check_shape(in, name, slab));
        for (size_t z = 0, run; z < slab->count; z += run, x += run * plane) {
            run = mf_stage_run(stage, slab->count - z);
            MF_TRY(mf_h5_read_rows(in->file, name, MF_H5_F32, slab->first + z, run, mf_stage_at(stage, x)));
            mf_stage_put(stage, x, run);
        }
    }
    return MF_OK;
}

int mf_checkpoint_label(struct mf_checkpoint_in *in, const struct mf_slab *slab, const struct mf_stage *stage,
                        uint8_t *label)
{
    size_t plane = slab->dims[1] * slab->dims[2];

    MF_TRY(check_shape(in, "/label", slab));
    for (size_t z = 0, run; z < slab->count; z += run, label += run * plane) {
        run = mf_stage_run(stage, slab->count - z);
        MF_TRY(mf_h5_read_rows(in->file, "/label", MF_H5_U8, slab->first + z, run, mf_stage_labels_at(stage, label)));
        mf_stage_labels_put(stage, label, run);
    }
    return MF_OK;
}

/* -- the two files of a run -- */

char *mf_checkpoint_name(const char *stem, int which)
{
    char *name = NULL;

    if (asprintf(&name, "%s.ckpt-%c.h5", stem, which ? 'b' : 'a') < 0)
        mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a name");
    return name;
}

/* Rank 0's look at one: its turn, -1 where there is none, -2 where the seal is broken, which is said unless @p quiet.
 */
static int64_t turn_of(const char *path, int quiet)
{
    uint32_t mark;

    if (access(path, F_OK) != 0) return -1;
    if (mf_seal_mark(path, &mark) == MF_OK) return mark;
    if (!quiet) mf_warn("%s", mf_err_text());
    mf_err_clear();
    return -2;
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

int mf_checkpoint_newest(const struct mf_comm *comm, const char *stem, struct mf_checkpoint_pair *pair,
                         struct mf_checkpoint_in **in)
{
    int first = pair->newest, damaged = 0;

    *in = NULL;
    for (int k = 0; k < 2 && !*in; ++k) {
        int i = k == 0 ? first : !first;
        char *path = mf_checkpoint_name(stem, i);

        if (pair->turn[i] >= 0 && mf_checkpoint_open(comm, path, 0, in) != MF_OK) {
            mf_warn("%s", mf_err_text());
            pair->turn[i] = -2;
        }
        damaged |= pair->turn[i] == -2;
        if (*in) pair->newest = i;
        free(path);
    }
    if (*in || !damaged) {
        mf_err_clear();
        return MF_OK;
    }
    return mf_fail(MF_INPUT,
                   "no checkpoint of '%s' can be read (%s.ckpt-a.h5, -b.h5); leave --restart out to begin anew", stem,
                   stem);
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
