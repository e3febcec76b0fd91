/* See checkpoint.h. */
#include "src/run/checkpoint.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/h5.h"
#include "io/rows.h"
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

/* Datasets in the order in which they are made and filled: vectors by fields, and the labels. */
static size_t datasets(const struct mf_checkpoint *c) { return c->vectors * c->fields + (c->label != NULL); }

static int make_vectors(struct mf_h5 *file, const struct mf_checkpoint *c, uint64_t *place)
{
    char name[NAME];

    for (size_t d = 0; d < c->vectors * c->fields; ++d) {
        vector_name(name, d / c->fields, d % c->fields);
        MF_TRY(mf_h5_dataset(file, name, MF_H5_F32, 3, c->slab.dims));
        place[d] = mf_h5_place(file, name);
    }
    if (!c->label) return MF_OK;
    MF_TRY(mf_h5_dataset(file, "/label", MF_H5_U8, 3, c->slab.dims));
    place[c->vectors * c->fields] = mf_h5_place(file, "/label");
    return MF_OK;
}

/* This rank's, and where each dataset begins. */
struct own {
    const struct mf_checkpoint *c;
    const uint64_t *place;
};

/* As many planes at a time as the stage holds; @p label: of the labels, else of @p x. */
static int put_field(struct mf_rows *rows, const struct mf_checkpoint *c, uint64_t place, const float *x,
                     const uint8_t *label)
{
    const struct mf_slab *s = &c->slab;
    const size_t plane = s->dims[1] * s->dims[2], size = label ? 1 : sizeof *x;

    for (size_t z = 0, run; z < s->count; z += run) {
        const void *from;

        run = mf_stage_run(c->stage, s->count - z);
        from = label ? (const void *)mf_stage_labels_get(c->stage, label + z * plane, run)
                     : mf_stage_get(c->stage, x + z * plane, run);
        MF_TRY(mf_rows_put(rows, from, run * plane * size, place + (s->first + z) * plane * size));
    }
    return MF_OK;
}

static int put_own(struct mf_rows *rows, const void *context)
{
    const struct own *own = context;
    const struct mf_checkpoint *c = own->c;
    const size_t voxels = mf_slab_voxels(&c->slab);
    size_t d = 0;

    for (size_t i = 0; i < c->vectors; ++i)
        for (size_t f = 0; f < c->fields; ++f)
            MF_TRY(put_field(rows, c, own->place[d++], c->vector[i] + f * voxels, NULL));
    return c->label ? put_field(rows, c, own->place[d], NULL, c->label) : MF_OK;
}

/* Where the last of the values ends. */
static uint64_t end_of(const struct mf_checkpoint *c, const uint64_t *place)
{
    const size_t voxels = c->slab.dims[0] * c->slab.dims[1] * c->slab.dims[2];
    uint64_t end = 0;

    for (size_t d = 0; d < datasets(c); ++d) {
        const uint64_t own = place[d] + voxels * (d < c->vectors * c->fields ? sizeof(float) : 1);

        if (own > end) end = own;
    }
    return end;
}

static size_t bytes_of(const struct mf_checkpoint *c)
{
    size_t voxels = c->slab.dims[0] * c->slab.dims[1] * c->slab.dims[2];

    return voxels * (4 * c->fields * c->vectors + (c->label != NULL)) + 8 * c->numbers;
}

/* Everything but the values. Rank 0. */
static int make_file(const struct mf_atomic *temporary, int64_t turn, const struct mf_checkpoint *c,
                     const char *created, uint64_t *place)
{
    struct mf_h5 *file;
    int rc, end;

    MF_TRY(mf_h5_create(temporary->temporary, temporary->path, &file));
    rc = mf_atomic_reserve(temporary, bytes_of(c));
    if (rc == MF_OK) rc = put_head(file, turn, c, created);
    if (rc == MF_OK) rc = make_vectors(file, c, place);
    end = mf_h5_close(file);
    return rc == MF_OK ? end : rc;
}

/* Collective: refused by all or by none. */
static int write_all(const struct mf_comm *comm, const struct mf_atomic *temporary, int64_t turn,
                     const struct mf_checkpoint *c, uint64_t *place)
{
    struct mf_seal_seen seen = {0};
    const struct own own = {c, place};
    char created[MF_UNIT_TEXT];
    int rc;

    mf_created(comm, created);
    rc = mf_agree(comm, comm->rank == 0 ? make_file(temporary, turn, c, created, place) : MF_OK);
    if (rc != MF_OK) return rc;
    mf_comm_bcast(comm, 0, place, datasets(c) * sizeof *place);
    rc = mf_agree(comm, mf_rows_write(comm, temporary, end_of(c, place), &seen, put_own, &own));
    if (rc == MF_OK) rc = mf_seal_write(comm, temporary->temporary, temporary->path, (uint32_t)turn, &seen);
    mf_seal_see_end(&seen);
    return rc;
}

int mf_checkpoint_write(const struct mf_comm *comm, const char *path, int64_t turn, const struct mf_checkpoint *from)
{
    size_t bytes = bytes_of(from);
    uint64_t *place = calloc(datasets(from) + 1, sizeof *place);
    struct mf_atomic file;
    int rc;

    if (!place) mf_die(MF_MEMORY, __FILE__, __LINE__, "no memory for a checkpoint's places");
    rc = mf_atomic_open_alone(comm, path, bytes + (bytes >> 10) + 65536, &file);
    if (rc == MF_OK) rc = mf_atomic_close(comm, &file, write_all(comm, &file, turn, from, place));
    free(place);
    return rc;
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
    if (rc == MF_OK) rc = mf_h5_unread(c->file, get_head(c, path));
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
