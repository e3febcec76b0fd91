/* Samples. See source.h. */
#include "io/source_priv.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "io/bar.h"
#include "io/dataset_priv.h"
#include "io/image.h"
#include "io/same_file.h"
#include "src/base/err.h"
#include "src/base/log.h"
#include "src/base/room.h"
#include "src/base/text.h"

/* ---- samples ---- */

static int set_axes(struct mf_source *s, int ndim, const size_t *extent)
{
    s->samples = extent[0];
    s->ndim = mf_sample_axes(ndim, extent, -1, s->dims);
    if (!s->wish->phases) mf_sample_doubt_planes(s->wish->path, s->ndim, s->dims);
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

static int crop(struct mf_source *s)
{
    struct mf_crop beside = {.of = {0}};
    struct mf_comm self;

    if (s->wish->crop) return mf_array_crop(&s->array, s->wish->crop);
    if (!s->wish->crop_bar) return MF_OK;
    mf_comm_self(&self);
    MF_TRY(mf_bar_crop(&self, &s->array, &beside));
    return mf_array_crop(&s->array, &beside);
}

/* Keeps colours, or says how to. */
static int settle_colours(const struct mf_source *s, struct mf_array *picture)
{
    if (!s->wish->phases) picture->remedy = "try: --colours, or convert it to grey";
    return s->wish->colours ? mf_image_keep_colours(picture) : MF_OK;
}

static int open_array(struct mf_source *s)
{
    s->form = ARRAY;
    MF_TRY(known(s->wish->path));
    MF_TRY(mf_array_may_sample(s->wish->path));
    MF_TRY(mf_array_open(s->wish->path, NULL, &s->array));
    MF_TRY(crop(s));
    MF_TRY(settle_colours(s, &s->array));
    s->is_float = s->array.kind == 'f' || (s->array.format != MF_NPY && s->array.size > 1 && !s->wish->phases);
    if (s->array.ndim == 2) return set_axes(s, 3, (size_t[3]){1, s->array.shape[0], s->array.shape[1]});
    if (s->array.channels) return set_axes(s, 4, (size_t[4]){1, s->array.shape[0], s->array.shape[1], 3});
    if (s->array.format == MF_NPY) return set_axes(s, s->array.ndim, s->array.shape);
    return mf_fail(MF_INPUT, "'%s' is no single picture; put it into a folder, and give that", s->wish->path);
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
    MF_TRY(mf_array_open(s->path, NULL, picture));
    return settle_colours(s, picture);
}

/* Its extents {nz, ny, nx, channels}. Returns its axes, 2 or 3; 0: it is no picture. */
static int picture_axes(const struct mf_array *p, size_t dims[4])
{
    const int axes = p->channels ? p->ndim - 1 : p->ndim;

    if (axes != 2 && axes != 3) return 0;
    dims[0] = axes == 3 ? p->shape[0] : 1;
    dims[1] = p->shape[axes - 2];
    dims[2] = p->shape[axes - 1];
    dims[3] = mf_image_values(p);
    return axes;
}

static int open_pictures(struct mf_source *s)
{
    struct mf_array first;

    s->form = PICTURES;
    if (s->wish->table) s->samples = s->table.rows;
    MF_TRY(open_picture(s, 0, &first));
    s->ndim = picture_axes(&first, s->dims);
    if (!s->ndim) return mf_fail(MF_INPUT, "'%s' is no picture", s->path);
    s->kind = first.kind;
    s->bits = first.bits;
    s->is_float = first.size > 1 && !(s->wish->phases && first.kind != 'f');
    return MF_OK;
}

struct taking {
    const struct mf_source *source;
    const struct mf_array *array;
    size_t id;
    void *to;
    int64_t no_data[MF_NO_DATA];
};

/* A sample as the user knows it: its picture, or its number in the file. */
static int refuse(const struct taking *t, const char *why)
{
    if (t->source->form == PICTURES) return mf_fail(MF_INPUT, "'%s' %s", t->source->path, why);
    return mf_fail(MF_INPUT, "sample %zu of '%s' %s", t->id, t->source->wish->path, why);
}

static int take_real(const struct taking *t, double real, float *to)
{
    char why[MF_ERR_TEXT / 4];

    *to = (float)real;
    if (isfinite(*to)) return MF_OK;
    if (!isfinite(real)) return refuse(t, "holds a value that is not a finite number");
    snprintf(why, sizeof why, "holds %g, beyond the range of float32 (3.4e38); scale it", real);
    return refuse(t, why);
}

/* The phase that a value is; -1: none. */
static int phase_of(const struct mf_source_wish *w, int64_t whole)
{
    for (size_t k = 0; k < w->values; ++k)
        if (w->value[k] == whole) return (int)k;
    return w->values || whole < 0 || whole >= w->phases ? -1 : (int)whole;
}

static int take_whole(const struct taking *t, int64_t whole, uint8_t *to)
{
    const struct mf_source_wish *w = t->source->wish;
    const int value = w->phases ? phase_of(w, whole) : whole < 0 || whole > 255 ? -1 : (int)whole;
    char why[MF_ERR_TEXT / 4];

    *to = (uint8_t)value;
    if (value >= 0) return MF_OK;
    if (w->values)
        snprintf(why, sizeof why, "holds %lld, which --labels does not name", (long long)whole);
    else if (w->phases == 2 && whole > 1)
        snprintf(why, sizeof why, "holds %lld, which is none of the phases 0 to 1; try: --labels 0,%lld",
                 (long long)whole, (long long)whole);
    else if (w->phases)
        snprintf(why, sizeof why, "holds %lld, which is none of the phases 0 to %d", (long long)whole, w->phases - 1);
    else
        snprintf(why, sizeof why, "holds %lld; whole numbers must be 0 to 255, or use float32", (long long)whole);
    return refuse(t, why);
}

static void count_no_data(struct taking *t, double value)
{
    const int none = mf_array_declared(t->array, value);

    if (none >= 0) ++t->no_data[none];
}

/* Whole numbers become bytes, others floats. */
static int take(void *context, const void *values, size_t n, size_t at, size_t stride)
{
    struct taking *t = context;

    for (size_t k = 0; k < n; ++k) {
        const void *one = (const char *)values + k * t->array->size;
        const size_t to = at + k * stride;
        double real;
        int64_t whole;

        if (t->source->is_float || t->array->declared) {
            mf_array_reals(t->array, one, 1, &real);
            count_no_data(t, real);
        }
        if (t->source->is_float) {
            MF_TRY(take_real(t, real, (float *)t->to + to));
        } else {
            mf_array_ints(t->array, one, 1, &whole);
            MF_TRY(take_whole(t, whole, (uint8_t *)t->to + to));
        }
    }
    return MF_OK;
}

static int take_picture(const struct mf_array *picture, struct taking *t)
{
    if (t->source->wish->phases) MF_TRY(mf_array_may_label(picture));
    MF_TRY(mf_array_explain(picture, mf_array_visit(picture, 0, picture->shape[0], take, t)));
    mf_array_say(picture);
    mf_array_say_declared(picture, t->no_data, "leave them out");
    return MF_OK;
}

static void describe(char kind, int bits, char text[MF_TYPE_TEXT])
{
    if (bits < 8)
        snprintf(text, MF_TYPE_TEXT, "%d-bit", bits);
    else
        mf_array_type(kind, (size_t)bits / 8, text);
}

/* Pictures in different scales teach a network the types of files. Labels have no scale. */
static int check_type(const struct mf_source *s, const struct mf_array *p)
{
    char has[MF_TYPE_TEXT], first[MF_TYPE_TEXT], *path;
    int rc;

    if (p->kind == s->kind && (p->bits == s->bits || (s->wish->phases && p->size == 1 && !s->is_float))) return MF_OK;
    describe(p->kind, p->bits, has);
    describe(s->kind, s->bits, first);
    path = picture_path(s, 0);
    rc = mf_fail(MF_INPUT, "'%s' has %s values and '%s' %s ones, which are no one scale; save all pictures in one type",
                 s->path, has, path, first);
    free(path);
    return rc;
}

static int read_picture(struct mf_source *s, size_t id, void *to)
{
    struct mf_array p;
    struct taking t = {s, &p, id, to, {0}};
    size_t dims[4];

    MF_TRY(open_picture(s, id, &p));
    if (picture_axes(&p, dims) != s->ndim || memcmp(dims, s->dims, sizeof dims) != 0)
        return mf_fail(MF_INPUT, "'%s' has other extents than the first picture, '%s'", s->path, s->file[0]);
    MF_TRY(check_type(s, &p));
    return take_picture(&p, &t);
}

static int read_idx(struct mf_source *s, const struct taking *t)
{
    uint8_t *x = t->to;

    MF_TRY(mf_idx_read(&s->idx, t->id, x));
    for (size_t i = 0; s->wish->phases && i < s->values; ++i) MF_TRY(take_whole(t, x[i], &x[i]));
    return MF_OK;
}

int mf_source_sample(void *source, size_t id, struct mf_sample *sample)
{
    struct mf_source *s = source;
    struct taking t = {s, &s->array, id, sample->x, {0}};

    if (s->label) sample->label = s->label[id];
    if (s->reals) memcpy(sample->real, s->real + id * s->reals, s->reals * sizeof *s->real);
    if (s->form == IDX) return read_idx(s, &t);
    if (s->form == PICTURES) return read_picture(s, id, sample->x);
    if (s->array.ndim == 2 || s->array.channels) return take_picture(&s->array, &t);
    return mf_array_visit(&s->array, id, 1, take, &t);
}

/* ---- all of it ---- */

static int take_files(struct mf_source *s)
{
    s->samples = s->wish->files;
    MF_TRY(MF_ROOM(s->file, s->samples, "the names of %zu pictures", s->samples));
    memcpy(s->file, s->wish->file, s->samples * sizeof *s->file);
    return MF_OK;
}

static int open_samples(struct mf_source *s)
{
    struct stat is;

    if (stat(s->wish->path, &is) == 0 && S_ISDIR(is.st_mode)) {
        MF_TRY(s->wish->table ? mf_source_files(s) : s->wish->files ? take_files(s) : mf_source_listed(s));
        return open_pictures(s);
    }
    return mf_idx_is(s->wish->path) ? open_idx(s) : open_array(s);
}

static int load(struct mf_source *s)
{
    if (s->wish->table) {
        MF_TRY(mf_table_load(s->wish->table, &s->table));
        MF_TRY(mf_source_chosen(s));
    }
    MF_TRY(open_samples(s));
    s->values = s->dims[0] * s->dims[1] * s->dims[2] * s->dims[3];
    if (s->dims[3] > MF_CHANNELS_MAX) return mf_fail(MF_INPUT, "'%s' has too many channels", s->wish->path);
    if (s->wish->phases && (s->is_float || s->dims[3] != 1))
        return mf_fail(MF_INPUT, "'%s' holds no phases: they are whole numbers in one channel", s->wish->path);
    if (s->wish->table) {
        MF_TRY(mf_source_rows(s, s->wish->table, s->table.rows));
        MF_TRY(mf_source_columns(s));
    }
    return mf_source_labels(s);
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
    free(s->mark);
    free(s->marked);
    free(s->wanted);
    free(s->ignored);
    free(s->real);
    free(s->split);
    free(s->file);
    for (size_t i = 0; s->listed && i < s->samples; ++i) free(s->listed[i]);
    free(s->listed);
    free(s->path);
    free(s);
}

const char *const *mf_source_names(const struct mf_source *s) { return s->form == PICTURES ? s->file : NULL; }

const int32_t *mf_source_classes(const struct mf_source *s) { return s->label; }

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
