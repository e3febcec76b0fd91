/* See source.h. */
#include "io/source.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/array.h"
#include "io/idx.h"
#include "io/same_file.h"
#include "io/table.h"
#include "src/base/err.h"
#include "src/base/text.h"

struct mf_source {
    const struct mf_source_wish *wish;
    enum { ARRAY, IDX, PICTURES } form;
    struct mf_array array;
    struct mf_idx idx;
    struct mf_table table;
    size_t samples, dims[4], values; /* values of one sample */
    int ndim, is_float;
    size_t classes, reals;
    char **class_name; /* heap, each too */
    char **real_name;  /* borrowed from the table */
    int32_t *label;    /* [samples] or NULL */
    float *real;       /* [samples][reals] or NULL */
    uint8_t *split;    /* [samples] or NULL */
    const char **file; /* [samples] of pictures, borrowed */
    char *path;        /* of the picture that is read */
};

/* ---- samples ---- */

static int set_axes(struct mf_source *s, int ndim, const size_t *extent)
{
    s->samples = extent[0];
    s->ndim = mf_sample_axes(ndim, extent, -1, s->dims);
    if (s->ndim) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has %d axes, not (sample, [z,] y, x[, channel])", s->wish->path, ndim);
}

static int open_idx(struct mf_source *s)
{
    s->form = IDX;
    MF_TRY(mf_idx_open(s->wish->path, &s->idx));
    s->is_float = s->idx.kind == 'f';
    if (s->idx.size != (s->is_float ? 4 : 1) || s->idx.kind == 'i')
        return mf_fail(MF_INPUT, "'%s' must hold unsigned bytes or floats of 32 bits", s->wish->path);
    return set_axes(s, s->idx.ndim, s->idx.dims);
}

static int known(const char *path)
{
    const int rc = mf_array_there(path);
    char why[MF_ERR_TEXT];

    if (rc == MF_OK || access(path, R_OK) != 0) return rc;
    snprintf(why, sizeof why, "%s", mf_err_text());
    return mf_fail(rc, "%.800s; samples are read from .npy, IDX (plain or .gz), PNG and TIFF", why);
}

static int open_array(struct mf_source *s)
{
    s->form = ARRAY;
    MF_TRY(known(s->wish->path));
    MF_TRY(mf_array_open(s->wish->path, NULL, &s->array));
    if (s->array.format != MF_NPY && s->array.format != MF_PNG && s->array.format != MF_TIFF)
        return mf_fail(MF_INPUT, "'%s' is neither .npy nor IDX nor a picture nor a folder of pictures", s->wish->path);
    s->is_float = s->array.format == MF_NPY ? s->array.kind == 'f' : s->array.size > 1;
    if (s->array.ndim == 2) return set_axes(s, 3, (size_t[3]){1, s->array.shape[0], s->array.shape[1]});
    if (s->array.format == MF_NPY) return set_axes(s, s->array.ndim, s->array.shape);
    return mf_fail(MF_INPUT, "'%s' is no single picture; put it into a folder, which --table names", s->wish->path);
}

static char *picture_path(const struct mf_source *s, size_t id)
{
    return mf_format("%s/%s", s->wish->path, s->file[id]);
}

/* The picture of sample @p id. */
static int open_picture(struct mf_source *s, size_t id, struct mf_array *picture)
{
    free(s->path);
    s->path = picture_path(s, id);
    return mf_array_open(s->path, NULL, picture);
}

static int open_pictures(struct mf_source *s)
{
    struct mf_array first;

    s->form = PICTURES;
    s->samples = s->table.rows;
    MF_TRY(open_picture(s, 0, &first));
    if (first.ndim != 2 && first.ndim != 3) return mf_fail(MF_INPUT, "'%s' is no picture", s->path);
    s->is_float = first.size > 1;
    s->ndim = first.ndim;
    s->dims[0] = first.ndim == 3 ? first.shape[0] : 1;
    s->dims[1] = first.shape[first.ndim - 2];
    s->dims[2] = first.shape[first.ndim - 1];
    s->dims[3] = 1;
    return MF_OK;
}

struct taking {
    const struct mf_source *source;
    const struct mf_array *array;
    size_t id;
    void *to;
};

/* Whole numbers become bytes, others floats. */
static int take(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    const struct taking *t = context;
    const size_t size = t->array->size;

    for (size_t k = 0; k < n; ++k) {
        const void *one = (const char *)values + k * size;
        double real;
        int64_t whole;

        if (t->source->is_float) {
            mf_array_reals(t->array, one, 1, &real);
            ((float *)t->to)[at + k * stride] = (float)real;
            continue;
        }
        mf_array_ints(t->array, one, 1, &whole);
        if (whole < 0 || whole > 255)
            return mf_fail(MF_INPUT, "sample %zu of '%s' holds %lld; whole numbers must be 0 to 255, or use float32",
                           t->id, t->source->wish->path, (long long)whole);
        ((uint8_t *)t->to)[at + k * stride] = (uint8_t)whole;
    }
    return MF_OK;
}

static int read_picture(struct mf_source *s, size_t id, void *to)
{
    struct mf_array p;
    struct taking t = {s, &p, id, to};
    size_t values = 1;

    MF_TRY(open_picture(s, id, &p));
    for (int a = 0; a < p.ndim; ++a) values *= p.shape[a];
    if (p.ndim != s->ndim || values != s->values || p.shape[p.ndim - 1] != s->dims[2] ||
        p.shape[p.ndim - 2] != s->dims[1] || (p.size > 1) != s->is_float)
        return mf_fail(MF_INPUT, "'%s' has other extents or values than the first picture, '%s'", s->path, s->file[0]);
    return mf_array_visit(&p, 0, p.shape[0], take, &t);
}

int mf_source_sample(void *source, size_t id, struct mf_sample *sample)
{
    struct mf_source *s = source;
    struct taking t = {s, &s->array, id, sample->x};

    if (s->label) sample->label = s->label[id];
    if (s->reals) memcpy(sample->real, s->real + id * s->reals, s->reals * sizeof *s->real);
    if (s->form == IDX) return mf_idx_read(&s->idx, id, sample->x);
    if (s->form == PICTURES) return read_picture(s, id, sample->x);
    return s->array.ndim == 2 ? mf_array_visit(&s->array, 0, s->array.shape[0], take, &t)
                              : mf_array_visit(&s->array, id, 1, take, &t);
}

/* ---- labels ---- */

static int check_rows(const struct mf_source *s, const char *path, size_t rows)
{
    if (rows == s->samples) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' has %zu rows for %zu samples in '%s'", path, rows, s->samples, s->wish->path);
}

static int labels_of_idx(struct mf_source *s, const char *path)
{
    struct mf_idx idx;
    int rc;

    MF_TRY(mf_idx_open(path, &idx));
    rc = check_rows(s, path, idx.dims[0]);
    if (rc == MF_OK && (idx.ndim != 1 || idx.kind == 'f')) rc = mf_fail(MF_INPUT, "'%s' holds no labels", path);
    for (size_t i = 0; rc == MF_OK && i < s->samples; ++i) {
        union {
            int8_t i1;
            uint8_t u1;
            int16_t i2;
            int32_t i4;
        } v;

        rc = mf_idx_read(&idx, i, &v);
        s->label[i] = idx.size == 4 ? v.i4 : idx.size == 2 ? v.i2 : idx.kind == 'u' ? v.u1 : v.i1;
    }
    mf_idx_close(&idx);
    return rc;
}

static int labels_of_array(struct mf_source *s, const char *path)
{
    struct mf_array a;
    double *values;

    MF_TRY(mf_array_open(path, NULL, &a));
    if (a.ndim != 1) return mf_fail(MF_INPUT, "'%s' must have one label for each sample", path);
    MF_TRY(check_rows(s, path, a.shape[0]));
    MF_TRY(mf_array_load(&a, s->samples, &values));
    for (size_t i = 0; i < s->samples; ++i) {
        if (values[i] == rint(values[i]) && fabs(values[i]) < MF_CLASSES_MAX) {
            s->label[i] = (int32_t)values[i];
            continue;
        }
        mf_fail(MF_INPUT, "label %g of sample %zu in '%s' is not a whole number below %d", values[i], i, path,
                MF_CLASSES_MAX);
        free(values);
        return MF_INPUT;
    }
    free(values);
    return MF_OK;
}

static int by_text(const void *a, const void *b) { return strcmp(*(char *const *)a, *(char *const *)b); }

/* The different words of a column, in the order of the alphabet. */
static void name_classes(struct mf_source *s, size_t column)
{
    const struct mf_table *t = &s->table;
    char **word = MF_MUST(calloc(t->rows, sizeof *word), "classes");
    size_t n = 0;

    for (size_t i = 0; i < t->rows; ++i) word[i] = t->cell[i * t->columns + column];
    qsort(word, t->rows, sizeof *word, by_text);
    for (size_t i = 0; i < t->rows; ++i)
        if (*word[i] && (n == 0 || strcmp(word[n - 1], word[i]) != 0)) word[n++] = word[i];
    s->class_name = MF_MUST(calloc(n + 1, sizeof *s->class_name), "classes");
    for (s->classes = 0; s->classes < n; ++s->classes)
        s->class_name[s->classes] = MF_MUST(strdup(word[s->classes]), "classes");
    free(word);
}

/* Is a cell the number of a class? */
static int number_of(const char *cell, int32_t *label)
{
    char *end;
    const long value = strtol(cell, &end, 10);

    *label = (int32_t)value;
    return end != cell && !*end && labs(value) < MF_CLASSES_MAX;
}

/* Labels are numbers; if any cell is none, all are names. An empty cell is a class that is not known. */
static int labels_of_table(struct mf_source *s, size_t column)
{
    const struct mf_table *t = &s->table;
    int numbers = 1;

    for (size_t i = 0; i < t->rows; ++i) {
        const char *cell = t->cell[i * t->columns + column];

        s->label[i] = -1;
        if (*cell) numbers &= number_of(cell, &s->label[i]);
    }
    if (numbers) return MF_OK;
    if (!s->classes) name_classes(s, column);
    for (size_t i = 0; i < t->rows; ++i) {
        const char *cell = t->cell[i * t->columns + column];
        size_t c = 0;

        s->label[i] = -1;
        if (!*cell) continue;
        while (c < s->classes && strcmp(s->class_name[c], cell) != 0) ++c;
        if (c == s->classes)
            return mf_fail(MF_INPUT, "label '%s' in row %zu of '%s' is none of the %zu classes", cell, i + 1, t->path,
                           c);
        s->label[i] = (int32_t)c;
    }
    return MF_OK;
}

/* Every label is a class. Classes without names are called by their numbers. */
static int check_labels(struct mf_source *s, const char *path)
{
    int32_t most = -1;

    for (size_t c = 0; c < s->classes; ++c)
        if (strlen(s->class_name[c]) >= MF_REAL_TEXT)
            return mf_fail(MF_INPUT, "the class '%.80s' has a name of more than %d bytes", s->class_name[c],
                           MF_REAL_TEXT - 1);
    for (size_t i = 0; i < s->samples; ++i) {
        if (s->label[i] < -1 || (s->classes && s->label[i] >= (int64_t)s->classes))
            return mf_fail(MF_INPUT, "label %d of sample %zu in '%s' is none of the %zu classes", s->label[i], i, path,
                           s->classes);
        if (s->label[i] > most) most = s->label[i];
    }
    if (s->classes) return MF_OK;
    if (most < 0) return mf_fail(MF_INPUT, "'%s' names the class of no sample", path);
    s->class_name = MF_MUST(calloc((size_t)most + 1, sizeof *s->class_name), "classes");
    for (s->classes = 0; s->classes <= (size_t)most; ++s->classes)
        s->class_name[s->classes] = mf_format("%zu", s->classes);
    return MF_OK;
}

static int read_labels(struct mf_source *s)
{
    const size_t column = s->wish->table ? mf_table_column(&s->table, "label") : 0;
    const int in_table = s->wish->table && column < s->table.columns;
    const char *path = s->wish->labels ? s->wish->labels : s->wish->table;

    if (s->wish->classes) {
        s->class_name = MF_MUST(calloc(s->wish->classes, sizeof *s->class_name), "classes");
        for (; s->classes < s->wish->classes; ++s->classes)
            s->class_name[s->classes] = MF_MUST(strdup(s->wish->class_name[s->classes]), "classes");
    }
    if (s->wish->labels && in_table)
        return mf_fail(MF_USAGE, "'%s' has a column label, and --labels is given; leave one of them out",
                       s->wish->table);
    if (!s->wish->labels && !in_table)
        return s->classes ? mf_fail(MF_USAGE, "--classes names classes, and there are no labels; give --labels")
                          : MF_OK;
    s->label = MF_MUST(calloc(s->samples, sizeof *s->label), "labels");
    if (in_table)
        MF_TRY(labels_of_table(s, column));
    else
        MF_TRY(mf_idx_is(path) ? labels_of_idx(s, path) : labels_of_array(s, path));
    return check_labels(s, path);
}

/* ---- the table ---- */

static int read_split(struct mf_source *s, size_t column)
{
    const struct mf_table *t = &s->table;

    s->split = MF_MUST(calloc(t->rows, 1), "splits");
    for (size_t i = 0; i < t->rows; ++i) {
        const char *cell = t->cell[i * t->columns + column];
        int k = 0;

        while (k < MF_SPLITS && strcmp(cell, mf_split_names[k]) != 0) ++k;
        if (k == MF_SPLITS && strcmp(cell, "none") != 0)
            return mf_fail(MF_INPUT, "'%s' in row %zu of '%s' is no split; write train, validation or test", cell,
                           i + 1, t->path);
        s->split[i] = k == MF_SPLITS ? MF_SPLIT_NONE : (uint8_t)k;
    }
    return MF_OK;
}

/* All columns that have no other meaning. */
static int read_reals(struct mf_source *s)
{
    static const char *const others[] = {"file", "label", "split", "id"};
    const struct mf_table *t = &s->table;
    size_t *column = MF_MUST(calloc(t->columns, sizeof *column), "columns");
    int rc = MF_OK;

    s->real_name = MF_MUST(calloc(t->columns, sizeof *s->real_name), "columns");
    for (size_t c = 0; c < t->columns; ++c) {
        size_t k = 0;

        while (k < 4 && strcmp(t->name[c], others[k]) != 0) ++k;
        if (k < 4) continue;
        column[s->reals] = c;
        s->real_name[s->reals++] = t->name[c];
        if (strlen(t->name[c]) >= MF_REAL_TEXT) rc = mf_fail(MF_INPUT, "a name in '%s' is too long", t->path);
    }
    s->real = MF_MUST(calloc(t->rows * (s->reals + 1), sizeof *s->real), "properties");
    for (size_t i = 0; rc == MF_OK && i < t->rows * s->reals; ++i) {
        double value = 0;

        rc = mf_table_real(t, i / s->reals, column[i % s->reals], &value);
        s->real[i] = (float)value;
    }
    free(column);
    return rc;
}

/* Names of pictures, which stay in their folder. */
static int read_files(struct mf_source *s)
{
    const size_t column = mf_table_column(&s->table, "file");

    if (column == s->table.columns)
        return mf_fail(MF_INPUT, "'%s' has no column 'file' that names the pictures", s->table.path);
    s->file = MF_MUST(calloc(s->table.rows, sizeof *s->file), "pictures");
    for (size_t i = 0; i < s->table.rows; ++i) {
        s->file[i] = s->table.cell[i * s->table.columns + column];
        if (!*s->file[i]) return mf_fail(MF_INPUT, "row %zu of '%s' names no picture", i + 1, s->table.path);
    }
    return MF_OK;
}

/* ---- all of it ---- */

static int open_samples(struct mf_source *s)
{
    struct stat is;

    if (stat(s->wish->path, &is) == 0 && S_ISDIR(is.st_mode)) {
        if (!s->wish->table)
            return mf_fail(MF_USAGE, "'%s' is a folder: --table FILE.csv must name its pictures", s->wish->path);
        MF_TRY(read_files(s));
        return open_pictures(s);
    }
    return mf_idx_is(s->wish->path) ? open_idx(s) : open_array(s);
}

static int load(struct mf_source *s)
{
    size_t column;

    if (s->wish->table) MF_TRY(mf_table_load(s->wish->table, &s->table));
    MF_TRY(open_samples(s));
    s->values = s->dims[0] * s->dims[1] * s->dims[2] * s->dims[3];
    if (s->dims[3] > MF_CHANNELS_MAX) return mf_fail(MF_INPUT, "'%s' has too many channels", s->wish->path);
    if (s->wish->phases && (s->is_float || s->dims[3] != 1))
        return mf_fail(MF_INPUT, "'%s' holds no phases: they are whole numbers in one channel", s->wish->path);
    if (s->wish->table) {
        MF_TRY(check_rows(s, s->wish->table, s->table.rows));
        MF_TRY(read_reals(s));
        column = mf_table_column(&s->table, "split");
        if (column < s->table.columns) MF_TRY(read_split(s, column));
    }
    return read_labels(s);
}

int mf_source_open(const struct mf_source_wish *wish, struct mf_source **source)
{
    struct mf_source *s = MF_MUST(calloc(1, sizeof *s), "a source");
    int rc;

    s->wish = wish;
    rc = load(s);
    if (rc != MF_OK)
        mf_source_close(s);
    else
        *source = s;
    return rc;
}

void mf_source_close(struct mf_source *s)
{
    if (!s) return;
    mf_idx_close(&s->idx);
    mf_table_free(&s->table);
    for (size_t c = 0; c < s->classes; ++c) free(s->class_name[c]);
    free(s->class_name);
    free(s->real_name);
    free(s->label);
    free(s->real);
    free(s->split);
    free(s->file);
    free(s->path);
    free(s);
}

void mf_source_describe(const struct mf_source *s, struct mf_dataset_wish *wish)
{
    wish->samples = s->samples;
    wish->ndim = s->ndim;
    memcpy(wish->dims, s->dims, sizeof wish->dims);
    wish->is_float = s->is_float;
    wish->phases = s->wish->phases;
    wish->classes = s->label ? s->classes : 0;
    wish->class_name = (const char *const *)s->class_name;
    wish->reals = s->reals;
    wish->real_name = (const char *const *)s->real_name;
    wish->split = s->split;
}

int mf_source_same(const struct mf_comm *comm, const struct mf_source *s)
{
    const struct mf_source_wish *w = s->wish;
    const size_t pictures = s->form == PICTURES ? s->samples : 0;
    int64_t count[2] = {(int64_t)pictures, -(int64_t)pictures};

    if (w->labels) MF_TRY(mf_same_file(comm, w->labels));
    if (w->table) MF_TRY(mf_same_file(comm, w->table));
    mf_comm_max_int(comm, 2, count);
    if (count[0] != -count[1]) return mf_fail(MF_INPUT, "'%s' is a folder on some ranks and a file on others", w->path);
    if (!pictures) return mf_same_file(comm, w->path);
    for (size_t i = 0; i < pictures; ++i) {
        char *path = picture_path(s, i);
        const int rc = mf_same_file(comm, path);

        free(path);
        if (rc != MF_OK) return rc;
    }
    return MF_OK;
}
