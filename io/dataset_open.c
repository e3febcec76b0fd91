/* Opening a dataset. A guarded child of rank 0 reads the facts and sends them: the head, then arrays. See dataset.h. */
#include "io/dataset_priv.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/atomic.h"
#include "io/guard.h"
#include "io/hash.h"
#include "io/phases.h"
#include "io/questions.h"
#include "io/same_file.h"
#include "io/seal.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"
#include "src/base/utf8.h"

enum { SAMPLES_MAX = 1 << 28, CHUNK_MAX = 1 << 30 };

/* The inverse of its root is a float. */
#define VARIANCE_MIN 1e-76

struct opening {
    const char *path;
    struct mf_dataset *set;
    struct mf_set_head head;
};

static int work(void *context, FILE *to) { return mf_dataset_send(((const struct opening *)context)->path, to); }

/* ---- arrays, and what a sound set is ---- */

static int check_head(const char *path, const struct mf_set_head *h)
{
    const char *wrong = NULL;
    uint64_t bytes = h->is_float ? sizeof(float) : 1;

    if (h->samples < 1 || h->samples > SAMPLES_MAX) wrong = "number of samples";
    for (int a = 0; a < 4; ++a)
        if (h->dims[a] < 1 || __builtin_mul_overflow(bytes, h->dims[a], &bytes) || bytes > (uint64_t)1 << 40)
            wrong = "extents";
    if (h->phases < 0 || h->phases == 1 || h->phases > MF_PHASES_MAX || (h->phases && (h->is_float || h->dims[3] != 1)))
        wrong = "number of phases";
    if (h->dims[3] > MF_CHANNELS_MAX) wrong = "number of channels";
    if (h->classes > MF_CLASSES_MAX || h->columns[MF_PART_REAL] > MF_REALS_MAX) wrong = "number of names";
    if (h->rows > SAMPLES_MAX || h->rows * bytes > CHUNK_MAX) wrong = "chunks";
    if (h->rows ? h->chunks != (h->samples + h->rows - 1) / h->rows || h->offset : !h->offset || h->chunks)
        wrong = "storage of " MF_SET_X;
    return wrong ? mf_fail(MF_INPUT, "cannot use dataset '%s': unusable %s in it", path, wrong) : MF_OK;
}

/* Zeros; *rc becomes MF_MEMORY where there are none. */
static void *room(const struct mf_dataset *set, size_t bytes, int *rc)
{
    void *memory =
        *rc == MF_OK ? mf_room(1, bytes + 1, "what '%.300s' says of its %zu samples", set->path, set->samples) : NULL;

    if (!memory) *rc = MF_MEMORY;
    return memory;
}

/* Makes room for what the head announces. */
static int make_arrays(struct mf_dataset *set, const struct mf_set_head *h)
{
    struct mf_dataset_places *w = set->where;
    int rc = MF_OK;

    set->samples = set->items = h->samples;
    set->ndim = h->ndim;
    memcpy(set->dims, h->dims, sizeof set->dims);
    set->is_float = h->is_float;
    set->phases = h->phases;
    set->overlaps = h->overlaps;
    set->asks = h->asks;
    set->bytes = set->dims[0] * set->dims[1] * set->dims[2] * set->dims[3] * (h->is_float ? sizeof(float) : 1);
    set->inputs = h->phases == 0 ? h->dims[3] : h->phases == 2 ? 1 : (size_t)h->phases;
    set->classes = h->classes;
    set->reals = h->columns[MF_PART_REAL];
    set->compressed = h->deflate;
    set->ours = h->ours;
    set->split_given = h->columns[MF_PART_SPLIT] > 0;
    set->class_name = room(set, set->classes * sizeof *set->class_name, &rc);
    set->real_name = room(set, set->reals * sizeof *set->real_name, &rc);
    w->offset = h->offset;
    w->chunks = (struct mf_h5_chunks){h->rows, h->chunks, h->deflate, h->shuffle, NULL};
    w->chunks.place = room(set, h->chunks * sizeof *w->chunks.place, &rc);
    for (int p = 0; p < MF_PARTS; ++p)
        if (h->columns[p]) w->array[p] = room(set, mf_set_part_bytes(h, p), &rc);
    for (int p = 0; p < MF_PARTS; ++p) {
        w->part[p][0] = h->at[p];
        w->part[p][1] = h->at[p] ? h->at[p] + mf_set_part_bytes(h, p) : 0;
    }
    if (!h->columns[MF_PART_SPLIT]) w->array[MF_PART_SPLIT] = room(set, h->samples, &rc);
    if (!h->columns[MF_PART_MOMENTS] && !h->phases) { /* both are measured */
        free(w->array[MF_PART_RANGE]);
        for (int p = MF_PART_MOMENTS; p <= MF_PART_RANGE; ++p)
            w->array[p] = room(set, h->samples * 2 * h->dims[3] * mf_set_parts[p].size, &rc);
    }
    set->label = w->array[MF_PART_LABEL];
    set->real = w->array[MF_PART_REAL];
    set->seed = w->array[MF_PART_SEED];
    set->split = w->array[MF_PART_SPLIT];
    set->status = w->array[MF_PART_STATUS];
    w->crc = w->array[MF_PART_CRC];
    w->moments = w->array[MF_PART_MOMENTS];
    w->range = w->array[MF_PART_RANGE];
    return rc;
}

/* Visits all arrays, in the order in which they are sent. */
static int each_array(struct mf_dataset *set, const struct mf_set_head *h,
                      int (*visit)(void *context, void *at, size_t bytes), void *context)
{
    MF_TRY(visit(context, set->class_name, set->classes * sizeof *set->class_name));
    MF_TRY(visit(context, set->real_name, set->reals * sizeof *set->real_name));
    MF_TRY(visit(context, set->where->chunks.place, h->chunks * sizeof *set->where->chunks.place));
    for (int p = 0; p < MF_PARTS; ++p) MF_TRY(visit(context, set->where->array[p], mf_set_part_bytes(h, p)));
    return MF_OK;
}

static int receive(void *from, void *at, size_t bytes) { return bytes ? mf_guard_receive(from, at, bytes) : MF_OK; }

static int take(void *context, FILE *from)
{
    struct opening *o = context;

    MF_TRY(mf_guard_receive(from, &o->head, sizeof o->head));
    MF_TRY(check_head(o->path, &o->head));
    MF_TRY(make_arrays(o->set, &o->head));
    return each_array(o->set, &o->head, receive, from);
}

static int check_labels(const struct mf_dataset *s)
{
    for (size_t i = 0; s->label && i < s->samples; ++i)
        if (s->label[i] < -1 || s->label[i] >= (int64_t)s->classes)
            return mf_fail(MF_INPUT, "cannot use '%s': label %d of sample %zu is none of its %zu classes", s->path,
                           s->label[i], i, s->classes);
    return MF_OK;
}

/* Each names one thing. @p what they are names of. */
static int check_names(const struct mf_dataset *s, const char *what, size_t n, mf_name *names)
{
    const char **all = MF_MUST(calloc(n + 1, sizeof *all), "names"), *twice;

    for (size_t i = 0; i < n; ++i) {
        names[i][MF_REAL_TEXT - 1] = '\0';
        all[i] = names[i];
    }
    twice = mf_text_twice(n, all);
    free(all);
    for (size_t i = 0; i < n; ++i)
        if (mf_utf8_wrong(names[i]))
            return mf_fail(MF_INPUT, "cannot use '%s': the name of its %s %zu is not UTF-8 (byte 0x%02X)", s->path,
                           what, i, (unsigned)(unsigned char)*mf_utf8_wrong(names[i]));
    return twice ? mf_fail(MF_INPUT, "cannot use '%s': it has the name '%s' twice", s->path, twice) : MF_OK;
}

static int check_values(struct mf_dataset *s)
{
    MF_TRY(check_labels(s));
    MF_TRY(check_names(s, "property", s->reals, s->real_name));
    MF_TRY(check_names(s, "class", s->classes, s->class_name));
    for (size_t i = 0; s->real && i < s->samples * s->reals; ++i)
        if (!isfinite(s->real[i]))
            return mf_fail(MF_INPUT, "cannot use '%s': '%s' of sample %zu is not a finite number", s->path,
                           s->real_name[i % s->reals], i / s->reals);
    for (size_t i = 0; s->split_given && i < s->samples; ++i)
        if (s->split[i] >= MF_SPLITS && s->split[i] != MF_SPLIT_NONE)
            return mf_fail(MF_INPUT, "cannot use '%s': split %d of sample %zu is not 0 to %d, or %d for none", s->path,
                           s->split[i], i, MF_SPLITS - 1, MF_SPLIT_NONE);
    return MF_OK;
}

/* A set that is still being made is no set yet. */
static int check_finished(const struct mf_dataset *s, const struct mf_set_head *h)
{
    size_t made = 0;

    if (!h->grows || !s->status) return MF_OK;
    for (size_t i = 0; i < s->samples; ++i) made += s->status[i] == 1;
    if (made == s->samples) return MF_OK;
    return mf_fail(MF_INPUT,
                   "'%s' is not finished: %zu of its %zu samples are made; the command that began it goes on with it",
                   s->path, made, s->samples);
}

static int make_splits(struct mf_dataset *s)
{
    static const double part[2] = MF_SPLIT_PARTS;
    size_t at[MF_SPLITS] = {0};
    int rc = MF_OK;

    if (!s->split_given) MF_TRY(mf_split_make(s->samples, s->label, s->classes, part, 0, s->split));
    for (size_t i = 0; s->status && i < s->samples; ++i)
        if (s->status[i] != 1) s->split[i] = MF_SPLIT_NONE;
    for (size_t i = 0; i < s->samples; ++i)
        if (s->split[i] < MF_SPLITS) ++s->count[s->split[i]];
    for (int k = 0; k < MF_SPLITS; ++k) s->id[k] = room(s, s->count[k] * sizeof *s->id[k], &rc);
    MF_TRY(rc);
    for (size_t i = 0; i < s->samples; ++i)
        if (s->split[i] < MF_SPLITS) s->id[s->split[i]][at[s->split[i]]++] = (uint32_t)i;
    return MF_OK;
}

/* The hash covers facts, labels, real values, splits, names of classes and the checksums of samples. Without checksums
 * it takes the moments of images, else the file's tail. */
static void make_hash(struct mf_dataset *s, const struct mf_set_head *h)
{
    char each[6][MF_HASH_TEXT];
    const char *all[6];
    const uint64_t facts[8] = {
        s->samples, s->dims[0], s->dims[1], s->dims[2], s->dims[3], (uint64_t)s->phases, (uint64_t)s->is_float,
        s->reals};

    mf_hash_bytes(facts, sizeof facts, each[0]);
    mf_hash_bytes(s->label, s->label ? s->samples * sizeof *s->label : 0, each[1]);
    mf_hash_bytes(s->real, s->real ? s->samples * s->reals * sizeof *s->real : 0, each[2]);
    mf_hash_bytes(s->split, s->samples, each[3]);
    mf_hash_bytes(s->class_name, s->classes * sizeof *s->class_name, each[4]);
    if (s->where->crc)
        mf_hash_bytes(s->where->crc, s->samples * sizeof *s->where->crc, each[5]);
    else if (s->where->moments)
        mf_hash_bytes(s->where->moments, s->samples * 2 * s->dims[3] * sizeof(double), each[5]);
    else
        mf_hash_bytes(h->tail, MF_SET_TAIL, each[5]);
    for (int i = 0; i < 6; ++i) all[i] = each[i];
    mf_hash_join(6, all, s->hash);
}

/* ---- mean and deviation of images ---- */

static int measure(struct mf_dataset *s, struct mf_span own)
{
    const size_t row = 2 * s->dims[3];
    char *x = mf_room(1, s->bytes + mf_sample_scratch(s), "a sample of '%.300s'", s->path);
    int file, rc;

    if (!x) return MF_MEMORY;
    rc = mf_open_plain(s->path, O_RDONLY, &file);
    for (size_t i = own.first; rc == MF_OK && i < own.first + own.count; ++i) {
        if (s->where->crc && s->split[i] >= MF_SPLITS) continue; /* nobody reads it, and it may be incomplete */
        rc = mf_sample_read(s, file, x + s->bytes, i, x);
        if (rc == MF_OK && !s->phases)
            mf_sample_moments(s->dims, s->is_float, x, s->where->moments + i * row, s->where->range + i * row);
        mf_comm_alive();
    }
    if (file >= 0) close(file);
    free(x);
    return rc;
}

/* Rows of the own samples, to all. Collective. */
static int share_rows(const struct mf_comm *comm, struct mf_dataset *s, struct mf_span own, enum mf_set_part part)
{
    const size_t row = 2 * s->dims[3] * mf_set_parts[part].size;
    void *all;

    MF_TRY(mf_comm_gather(comm, (char *)s->where->array[part] + own.first * row, own.count * row, &all, NULL));
    memcpy(s->where->array[part], all, s->samples * row);
    free(all);
    return MF_OK;
}

/* Every rank reads a part, and measures images. Collective. */
static int measure_all(const struct mf_comm *comm, struct mf_dataset *s)
{
    const struct mf_span own = mf_cut(s->samples, (size_t)comm->size, (size_t)comm->rank);
    int rc = MF_OK;

    if (!s->phases && !s->where->range)
        s->where->range = s->where->array[MF_PART_RANGE] = room(s, s->samples * 2 * s->dims[3] * sizeof(float), &rc);
    MF_TRY(mf_agree(comm, rc == MF_OK ? measure(s, own) : rc));
    if (s->phases) return MF_OK;
    MF_TRY(share_rows(comm, s, own, MF_PART_MOMENTS));
    return share_rows(comm, s, own, MF_PART_RANGE);
}

/* The least and the largest value; what a file has there may be anything. */
static void find_range(const struct mf_dataset *s, size_t c, size_t n, const uint32_t *id, struct mf_channel *v)
{
    const size_t channels = s->dims[3];

    for (size_t k = 0; s->where->range && k < n; ++k) {
        const float *range = s->where->range + (mf_item_sample(s, id[k]) * channels + c) * 2;

        if (k == 0 || (double)range[0] < v->least) v->least = (double)range[0];
        if (k == 0 || (double)range[1] > v->most) v->most = (double)range[1];
        if (isfinite(range[0]) && isfinite(range[1])) continue;
        v->least = 1;
        v->most = 0;
        return;
    }
}

double mf_dataset_variance(const struct mf_dataset *s, size_t c, size_t n, const uint32_t *id, double *mean)
{
    const double values = (double)(n * s->dims[0] * s->dims[1] * s->dims[2]);
    double sum = 0, square = 0, variance;

    for (size_t k = 0; k < n; ++k) {
        const double *moments = s->where->moments + (mf_item_sample(s, id[k]) * s->dims[3] + c) * 2;

        sum += moments[0];
        square += moments[1];
    }
    *mean = values > 0 ? sum / values : 0;
    variance = values > 0 ? square / values - *mean * *mean : 0;
    return variance > 1e-12 * *mean * *mean && variance > VARIANCE_MIN ? variance : 0;
}

struct mf_channel mf_dataset_channel(const struct mf_dataset *s, size_t c, size_t n, const uint32_t *id)
{
    struct mf_channel v = {.least = 1};
    const double variance = mf_dataset_variance(s, c, n, id, &v.mean);

    v.deviation = variance > 0 ? sqrt(variance) : 1;
    find_range(s, c, n, id, &v);
    return v;
}

/* Sums of a sample tell whether it holds NaN or infinities. A sample of no split is not read. */
static int check_finite(const struct mf_dataset *s)
{
    const size_t row = 2 * s->dims[3];

    for (size_t k = 0; k < s->samples * row; ++k)
        if (!isfinite(s->where->moments[k]) && s->split[k / row] < MF_SPLITS)
            return mf_fail(MF_INPUT, "cannot use '%s': sample %zu (%s split) holds a value that is not a finite number",
                           s->path, k / row, mf_split_names[s->split[k / row]]);
    return MF_OK;
}

static int normalise(struct mf_dataset *s)
{
    MF_TRY(check_finite(s));
    for (size_t c = 0; c < s->dims[3]; ++c) {
        const struct mf_channel v = mf_dataset_channel(s, c, s->count[MF_TRAIN], s->id[MF_TRAIN]);

        s->mean[c] = v.mean;
        s->deviation[c] = v.deviation;
        if (!isfinite(s->mean[c]) || !isfinite(s->deviation[c]))
            return mf_fail(MF_INPUT, "cannot use '%s': it holds values that are not finite numbers", s->path);
    }
    return MF_OK;
}

/* ---- all of it ---- */

static int share(void *comm, void *at, size_t bytes)
{
    if (bytes) mf_comm_bcast(comm, 0, at, bytes);
    return MF_OK;
}

/* In which the child must have read the arrays. */
static double seconds_of(const char *path)
{
    struct stat is;

    return stat(path, &is) == 0 ? MF_GUARD_DECODING(is.st_size) : MF_GUARD_SECONDS;
}

static int load(const struct mf_comm *comm, struct opening *o)
{
    struct mf_dataset *s = o->set;
    int rc = MF_OK;

    if (comm->rank == 0) rc = mf_seal_explain(mf_guard(o->path, seconds_of(o->path), work, take, o), o->path);
    if (comm->rank == 0 && rc == MF_OK) rc = check_finished(s, &o->head);
    if (comm->rank == 0 && rc == MF_OK) rc = mf_dataset_check(s, &o->head.changed);
    if (comm->rank == 0 && rc == MF_OK) rc = check_values(s);
    MF_TRY(mf_agree(comm, rc));
    if (comm->rank == 0 && o->head.mark >= 0)
        mf_warn("'%s': label %.0f is a class; write -1 if it stands for samples of no class", o->path, o->head.mark);
    if (comm->rank == 0 && !o->head.named && !s->phases) mf_sample_doubt_planes(o->path, s->ndim, s->dims);
    mf_comm_bcast(comm, 0, &o->head, sizeof o->head);
    MF_TRY(mf_agree(comm, comm->rank != 0 ? make_arrays(s, &o->head) : MF_OK));
    MF_TRY(each_array(s, &o->head, share, (void *)(uintptr_t)comm));
    MF_TRY(mf_agree(comm, make_splits(s)));
    if (o->head.changed || (!s->phases && !o->head.columns[MF_PART_MOMENTS])) MF_TRY(measure_all(comm, s));
    make_hash(s, &o->head);
    return mf_agree(comm, s->phases ? MF_OK : normalise(s));
}

int mf_dataset_open(const struct mf_comm *comm, const char *path, struct mf_dataset **set)
{
    MF_PHASE(&mf_phase_read);
    struct opening o = {.path = path, .set = MF_MUST(calloc(1, sizeof **set), "a dataset")};
    int rc;

    o.set->path = MF_MUST(strdup(path), "a file name");
    o.set->where = MF_MUST(calloc(1, sizeof *o.set->where), "a dataset");
    rc = mf_same_file(comm, path);
    if (rc == MF_OK) rc = load(comm, &o);
    if (rc != MF_OK)
        mf_dataset_close(o.set);
    else
        *set = o.set;
    return rc;
}

void mf_dataset_close(struct mf_dataset *set)
{
    if (!set) return;
    for (int k = 0; k < MF_SPLITS; ++k) free(set->id[k]);
    mf_questions_close(set->questions);
    free(set->where->chunks.place);
    for (int p = 0; p < MF_PARTS; ++p) free(set->where->array[p]);
    free(set->where);
    free(set->class_name);
    free(set->real_name);
    free(set->path);
    free(set);
}

size_t mf_dataset_column(const struct mf_dataset *set, const char *name)
{
    size_t c = 0;

    while (c < set->reals && strcmp(set->real_name[c], name) != 0) ++c;
    return c;
}

int mf_dataset_needs(const struct mf_dataset *set, enum mf_split split)
{
    if (set->count[split]) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has no sample in its %s split; divide it with: mesoforge data split", set->path,
                   mf_split_names[split]);
}
