/* Reads the facts of a dataset, but no samples: a guarded child of rank 0 reads and sends them. See dataset_priv.h.
 */
#include "io/dataset_priv.h"

#include <fcntl.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/array.h"
#include "io/atomic.h"
#include "io/guard.h"
#include "io/labels.h"
#include "io/phases.h"
#include "io/questions_priv.h"
#include "io/volume.h"
#include "src/base/err.h"
#include "src/base/room.h"

enum { AXES_TEXT = 64 };

static int get_int(struct mf_h5 *file, const char *path, const char *object, const char *name, int64_t *value)
{
    double real;
    size_t count;

    if (!mf_h5_has_attribute(file, object, name)) return MF_OK;
    MF_TRY(mf_h5_get_reals(file, object, name, 1, &real, &count));
    if (count == 1 && real == rint(real) && fabs(real) < 1e15) {
        *value = (int64_t)real;
        return MF_OK;
    }
    return mf_fail(MF_INPUT, "cannot use '%s': attribute %s of %s is not one whole number", path, name, object);
}

static int check_schema(struct mf_h5 *file, const char *path)
{
    char schema[MF_NAME_TEXT] = "";
    int64_t version = MF_SCHEMA_VERSION;

    if (mf_h5_has_attribute(file, "/", "schema")) MF_TRY(mf_h5_get_text(file, "/", "schema", schema, sizeof schema));
    if (!mf_h5_has(file, MF_SET_X) || (*schema && strcmp(schema, MF_SCHEMA_DATASET) != 0))
        return mf_fail(MF_INPUT, "'%s' is no dataset (%s%s); make one with: mesoforge synth --num-samples, data import",
                       path, *schema ? "its schema is " : "it has no " MF_SET_X, schema);
    MF_TRY(get_int(file, path, "/", "schema_version", &version));
    if (version == MF_SCHEMA_VERSION) return MF_OK;
    return mf_fail(MF_INPUT, "cannot read '%s': schema version %lld, this program knows %d", path, (long long)version,
                   MF_SCHEMA_VERSION);
}

static const char *const axis_names[] = {"sample", "z", "y", "x", "channel"};

enum { SAMPLE, Z, Y, X, CHANNEL, AXES };

/* Capitals and plurals count as the name. */
static int axis_of(const char *word, size_t length)
{
    int k = 0;

    while (k < AXES && (strncasecmp(word, axis_names[k], strlen(axis_names[k])) != 0 ||
                        length - strlen(axis_names[k]) > (size_t)(strchr("sS", word[length - 1]) != NULL)))
        ++k;
    return k;
}

/* Are the words of attribute axes those of a sample, in the order in which they are read? Sets *channels to the word
 * channel; 0: it is nowhere. */
static int are_axes(const char *axes, int ndim, int *channels)
{
    int n = 0, last = -1, sound = 1, have = 0;
    size_t length;

    for (const char *word = axes + strspn(axes, " ,"); *word; word += length + strspn(word + length, " ,")) {
        const int k = axis_of(word, length = strcspn(word, " ,"));

        sound &= k < AXES && k > last;
        last = k;
        have |= 1 << k;
        if (k == CHANNEL) *channels = n;
        ++n;
    }
    return sound && n == ndim && (have & 1 << SAMPLE) && (have & 1 << Y) && (have & 1 << X);
}

static int check_axes(const char *path, const char *axes, int ndim, int *channels)
{
    char remedy[AXES_TEXT] = "";
    int place = 0;

    *channels = are_axes(axes, ndim, &place) ? place > 0 : -1;
    if (*channels >= 0) return MF_OK;
    if (place) snprintf(remedy, sizeof remedy, ": numpy.moveaxis(x, %d, -1)", place);
    return mf_fail(MF_INPUT,
                   "cannot use '%s': " MF_SET_X " has %d axes, and its attribute axes is '%s'; save them in the order "
                   "sample, [z,] y, x[, channel]%s",
                   path, ndim, axes, remedy);
}

/* A text of all axes, or one for each. */
static int get_axes(struct mf_h5 *file, char axes[AXES_TEXT])
{
    char word[MF_H5_DIMS][AXES_TEXT] = {{0}};
    size_t words = 0, used = 0;

    MF_TRY(mf_h5_get_texts(file, MF_SET_X, "axes", MF_H5_DIMS, AXES_TEXT, word[0], &words));
    for (size_t k = 0; k < words && used < AXES_TEXT; ++k)
        used += (size_t)snprintf(axes + used, AXES_TEXT - used, "%s%s", k ? " " : "", word[k]);
    return MF_OK;
}

static int read_axes(struct mf_h5 *file, const char *path, const struct mf_h5_shape *s, struct mf_set_head *h)
{
    char axes[AXES_TEXT] = "";
    int channels = -1;

    if (mf_h5_has_attribute(file, MF_SET_X, "axes")) {
        MF_TRY(get_axes(file, axes));
        MF_TRY(check_axes(path, axes, s->ndim, &channels));
    }
    h->named = channels >= 0;
    h->samples = s->dims[0];
    h->ndim = mf_sample_axes(s->ndim, s->dims, channels, h->dims);
    if (h->ndim) return MF_OK;
    return mf_fail(MF_INPUT, "cannot use '%s': " MF_SET_X " has %d axes, not (sample, [z,] y, x[, channel])", path,
                   s->ndim);
}

static int read_x(struct mf_h5 *file, const char *path, struct mf_set_head *h, struct mf_h5_chunks *chunks)
{
    struct mf_h5_shape s;
    int64_t phases = 0, overlaps = 0;

    MF_TRY(mf_h5_shape(file, MF_SET_X, &s));
    if (!s.plain || s.swap || !((s.kind == 'u' && s.size == 1) || (s.kind == 'f' && s.size == 4)))
        return mf_fail(MF_INPUT, "cannot use '%s': " MF_SET_X " must hold uint8 or little-endian float32", path);
    MF_TRY(read_axes(file, path, &s, h));
    MF_TRY(get_int(file, path, MF_SET_X, "phases", &phases));
    MF_TRY(get_int(file, path, MF_SET_X, "overlaps", &overlaps));
    h->is_float = s.kind == 'f';
    h->phases = phases < 0 || phases > MF_PHASES_MAX ? -1 : (int32_t)phases;
    h->overlaps = overlaps != 0;
    h->offset = s.offset;
    MF_TRY(mf_h5_chunks(file, MF_SET_X, chunks));
    h->rows = chunks->rows;
    h->chunks = chunks->count;
    h->deflate = chunks->deflate;
    h->shuffle = chunks->shuffle;
    return MF_OK;
}

/* Refuses values that are no numbers, or numbers of something else. */
static int check_values(struct mf_h5 *file, const char *path, enum mf_set_part part)
{
    const char *object = mf_set_parts[part].path;
    const enum mf_h5_values values = mf_h5_values_of(file, object);

    if (values == MF_H5_FLAGS && part == MF_PART_SPLIT)
        return mf_fail(MF_INPUT,
                       "cannot use '%s': %s holds Booleans; write 0 for train, 1 for validation, 2 for test: "
                       "numpy.where(is_train, 0, 2).astype('u1')",
                       path, object);
    if (values == MF_H5_WORDS && part == MF_PART_LABEL)
        return mf_fail(MF_INPUT,
                       "cannot use '%s': %s holds text or an enum; write numbers, and their names into its attribute "
                       "classes: names, label = numpy.unique(words, return_inverse=True)",
                       path, object);
    return MF_OK;
}

/* Rows must be those of the samples. */
static int read_part(struct mf_h5 *file, const char *path, enum mf_set_part part, struct mf_set_head *h)
{
    const struct mf_set_part_kind *kind = &mf_set_parts[part];
    struct mf_h5_shape s;

    if (!mf_h5_has(file, kind->path)) return MF_OK;
    MF_TRY(check_values(file, path, part));
    MF_TRY(mf_h5_shape(file, kind->path, &s));
    if (s.ndim == 1) s.dims[1] = 1;
    if (s.ndim < 1 || s.ndim > 2 || s.dims[0] != h->samples || (!kind->is_table && s.dims[1] != 1))
        return mf_fail(MF_INPUT, "cannot use '%s': %s has %zu rows on %d axes for %zu samples%s", path, kind->path,
                       s.dims[0], s.ndim, (size_t)h->samples,
                       part == MF_PART_LABEL && s.ndim == 2 ? "; of one-hot labels take numpy.argmax(y, axis=1)" : "");
    h->columns[part] = s.dims[1];
    h->at[part] = s.offset;
    return MF_OK;
}

static int read_parts(struct mf_h5 *file, const char *path, struct mf_set_head *h)
{
    for (int p = 0; p < MF_PARTS; ++p) MF_TRY(read_part(file, path, (enum mf_set_part)p, h));
    for (int p = MF_PART_MOMENTS; p <= MF_PART_RANGE; ++p)
        if (h->columns[p] != 2 * h->dims[3] || h->phases) h->columns[p] = 0;
    return MF_OK;
}

/* Names of an attribute, if it is there. */
static int read_names(struct mf_h5 *file, const char *object, const char *name, size_t max, mf_name *names,
                      uint64_t *count)
{
    size_t n = 0;

    *count = 0;
    if (!mf_h5_has(file, object) || !mf_h5_has_attribute(file, object, name)) return MF_OK;
    MF_TRY(mf_h5_get_texts(file, object, name, max, MF_REAL_TEXT, (char *)names, &n));
    *count = n;
    return MF_OK;
}

/* All values of an array as doubles; the caller frees. */
static int load_reals(struct mf_h5 *file, const char *object, const struct mf_h5_shape *shape, size_t n,
                      double **values)
{
    const struct mf_array type = {.kind = shape->kind, .size = shape->size};
    void *native = malloc(n * shape->size + 1);
    int rc = MF_OK;

    *values = malloc(n * sizeof **values + 1);
    if (!native || !*values) rc = mf_fail(MF_MEMORY, "no memory for %s of a dataset", object);
    if (rc == MF_OK) rc = mf_h5_read_native(file, object, shape, 0, shape->dims[0], native);
    if (rc == MF_OK) mf_array_reals(&type, native, n, *values);
    free(native);
    return rc;
}

/* Labels become places of classes. Classes without names are called by their numbers. */
static int read_labels(struct mf_h5 *file, const char *path, struct mf_set_head *h, mf_name *names, int32_t *label)
{
    const char *object = mf_set_parts[MF_PART_LABEL].path;
    double *value = NULL, *code = NULL;
    struct mf_h5_shape shape;
    size_t classes = 0;
    int rc;

    h->mark = -1;
    MF_TRY(read_names(file, object, "classes", MF_CLASSES_MAX, names, &h->classes));
    if (!h->columns[MF_PART_LABEL]) return MF_OK;
    MF_TRY(mf_h5_shape(file, object, &shape));
    rc = load_reals(file, object, &shape, h->samples, &value);
    if (rc == MF_OK) rc = mf_labels_make(path, h->samples, value, h->classes, &classes, &code, label);
    free(value);
    if (rc != MF_OK || h->classes) return rc;
    for (size_t c = 0; c < classes; ++c) mf_label_name(code[c], names[c]);
    h->mark = mf_labels_mark(classes, code);
    h->classes = classes;
    free(code);
    return MF_OK;
}

/* Another program's values in the type of the part; what that type cannot hold is refused. */
static int convert(struct mf_h5 *file, const char *path, const struct mf_h5_shape *shape, const struct mf_set_head *h,
                   int part, void *to)
{
    const struct mf_set_part_kind *kind = &mf_set_parts[part];
    const int bytes = kind->type == MF_H5_U8;
    double *value = NULL;
    int rc = load_reals(file, kind->path, shape, h->samples * h->columns[part], &value);

    for (size_t i = 0; rc == MF_OK && i < h->samples * h->columns[part]; ++i) {
        const double v = value[i];

        if (bytes ? v != rint(v) || v < 0 || v > 255 : isfinite(v) && !isfinite((float)v))
            rc = mf_fail(MF_INPUT, "cannot use '%s': %s of sample %zu is %g, no %s", path, kind->path,
                         i / (size_t)h->columns[part], v, bytes ? "whole number from 0 to 255" : "value of float32");
        else if (bytes)
            ((uint8_t *)to)[i] = (uint8_t)v;
        else
            ((float *)to)[i] = (float)v;
    }
    free(value);
    return rc;
}

static int read_values(struct mf_h5 *file, const char *path, const struct mf_set_head *h, int part, void *to)
{
    const struct mf_set_part_kind *kind = &mf_set_parts[part];
    struct mf_h5_shape s;

    MF_TRY(mf_h5_shape(file, kind->path, &s));
    if ((kind->type == MF_H5_U8 && !(s.kind == 'u' && s.size == 1 && s.plain)) ||
        (kind->type == MF_H5_F32 && !(s.kind == 'f' && s.size == 4)))
        return convert(file, path, &s, h, part, to);
    return mf_h5_read_rows(file, kind->path, kind->type, 0, h->samples, to);
}

static int send_part(struct mf_h5 *file, const char *path, const struct mf_set_head *h, int part, FILE *to)
{
    void *values = mf_room(mf_set_part_bytes(h, part) + 1, 1, "%s of '%.300s'", mf_set_parts[part].path, path);
    int rc;

    if (!values) return MF_MEMORY;
    rc = read_values(file, path, h, part, values);
    if (rc == MF_OK) rc = mf_guard_send(to, values, mf_set_part_bytes(h, part));
    free(values);
    return rc;
}

static int read_tail(const char *path, struct mf_set_head *h)
{
    struct stat is;
    int file, rc;

    MF_TRY(mf_open_plain(path, O_RDONLY, &file));
    rc = fstat(file, &is) != 0 || is.st_size < MF_SET_TAIL ? mf_fail(MF_INPUT, "'%s' is too short", path) : MF_OK;
    if (rc == MF_OK) rc = mf_read_at(file, path, h->tail, MF_SET_TAIL, (uint64_t)is.st_size - MF_SET_TAIL);
    close(file);
    return rc;
}

static int read_head(struct mf_h5 *file, const char *path, struct mf_set_head *h, struct mf_h5_chunks *chunks)
{
    MF_TRY(check_schema(file, path));
    h->ours = mf_h5_is_ours(file);
    h->grows = mf_h5_has(file, MF_SET_SETTINGS);
    h->asks = mf_h5_has(file, "/questions") && mf_h5_has(file, MF_QUESTION_SAMPLE);
    MF_TRY(read_x(file, path, h, chunks));
    MF_TRY(read_parts(file, path, h));
    return read_tail(path, h);
}

static int send_names(struct mf_h5 *file, const char *path, const struct mf_set_head *h, mf_name *names, FILE *to)
{
    uint64_t named;

    MF_TRY(read_names(file, mf_set_parts[MF_PART_REAL].path, "names", MF_REALS_MAX, names, &named));
    for (uint64_t i = named; i < h->columns[MF_PART_REAL] && i < MF_REALS_MAX; ++i)
        snprintf(names[i], sizeof *names, "value%zu", (size_t)i);
    if (h->columns[MF_PART_REAL] > MF_REALS_MAX)
        return mf_fail(MF_INPUT, "cannot use '%s': it has %zu properties", path, (size_t)h->columns[MF_PART_REAL]);
    return mf_guard_send(to, names, h->columns[MF_PART_REAL] * sizeof *names);
}

/* @p label [samples] is scratch, and so is @p names. */
static int send_all(struct mf_h5 *file, const char *path, struct mf_set_head *h, const struct mf_h5_chunks *chunks,
                    mf_name *names, int32_t *label, FILE *to)
{
    MF_TRY(read_labels(file, path, h, names, label));
    MF_TRY(mf_guard_send(to, h, sizeof *h));
    MF_TRY(mf_guard_send(to, names, h->classes * sizeof *names));
    MF_TRY(send_names(file, path, h, names, to));
    MF_TRY(mf_guard_send(to, chunks->place, h->chunks * sizeof *chunks->place));
    for (int p = 0; p < MF_PARTS; ++p) {
        if (p == MF_PART_LABEL && h->columns[p]) MF_TRY(mf_guard_send(to, label, mf_set_part_bytes(h, p)));
        if (p != MF_PART_LABEL && h->columns[p]) MF_TRY(send_part(file, path, h, p, to));
    }
    return MF_OK;
}

static int read_all(struct mf_h5 *file, const char *path, FILE *to)
{
    mf_name *names = MF_MUST(calloc(MF_CLASSES_MAX, sizeof *names), "the names of a dataset");
    struct mf_h5_chunks chunks = {0};
    struct mf_set_head h = {0};
    int rc = read_head(file, path, &h, &chunks);
    int32_t *label = rc == MF_OK ? mf_room(h.samples + 1, sizeof *label, "the labels of '%.300s'", path) : NULL;

    if (rc == MF_OK && !label) rc = MF_MEMORY;
    if (rc == MF_OK) rc = send_all(file, path, &h, &chunks, names, label, to);
    free(chunks.place);
    free(label);
    free(names);
    return rc;
}

int mf_dataset_send(const char *path, FILE *to)
{
    struct mf_h5 *file;
    int rc, end;

    MF_TRY(mf_h5_open(path, &file));
    rc = mf_h5_unread(file, read_all(file, path, to));
    end = mf_h5_close(file);
    return rc == MF_OK ? end : rc;
}
