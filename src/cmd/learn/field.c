/* See field.h. */
#include "src/cmd/learn/field.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "io/array.h"
#include "io/image.h"
#include "io/threshold.h"
#include "src/base/err.h"
#include "src/base/text.h"

/* Fewer labels would make phases of the wrong number, and images have none. */
int mf_field_check(const struct mf_field_wish *w)
{
    const struct mf_model_card *s = w->card;
    const size_t labels = w->labels->count;
    double threshold;

    if (labels && w->threshold)
        return mf_fail(MF_USAGE, "--labels and --threshold exclude each other: an image is labelled or grey");
    if (w->threshold) MF_TRY(mf_threshold_read(w->threshold, &threshold));
    if (s->phases == 0 && (labels || w->threshold))
        return mf_fail(MF_USAGE, "--%s makes phases, and the model of '%s' reads images",
                       labels ? "labels" : "threshold", s->path);
    if (labels == 0 || s->phases == 0 || labels == (size_t)s->phases) return MF_OK;
    return mf_fail(MF_USAGE, "--labels names %zu phase%s, and the model of '%s' reads %d; name the label of each",
                   labels, MF_S(labels), s->path, s->phases);
}

/* Bytes of a voxel. */
static size_t each_of(const struct mf_model_card *card) { return card->phases ? 1 : card->dims[3] * sizeof(float); }

size_t mf_field_tile(const struct mf_model_card *card)
{
    return card->dims[0] * card->dims[1] * card->dims[2] * each_of(card);
}

static int has_colours(const struct mf_model_card *card)
{
    return card->phases == 0 && card->dims[0] == 1 && card->dims[3] == 3;
}

/* A picture has colours where the model's images have three channels, as in data import --colours. */
static int open_image(const struct mf_model_card *card, const char *path, const char *array, struct mf_array *a)
{
    MF_TRY(mf_array_may_sample(path));
    MF_TRY(mf_array_open(path, array, a));
    return has_colours(card) && a->format != MF_NPY ? mf_image_keep_colours(a) : MF_OK;
}

int mf_field_limit(const struct mf_model_card *card, const char *path, size_t most)
{
    struct mf_array a;
    size_t n;

    MF_TRY(open_image(card, path, NULL, &a));
    n = (a.ndim ? a.shape[0] : 1) * mf_array_row(&a);
    if (n <= most) return MF_OK;
    return mf_fail(MF_INPUT, "'%s' holds %zu values, and at most %zu are allowed", path, n, most);
}

/* -- reading -- */

static int fits(const struct mf_model_card *s, const char *file, const size_t n[3])
{
    const size_t *d = s->dims;

    if (n[0] < d[0] || n[1] < d[1] || n[2] < d[2] || (d[0] == 1 && n[0] > 1))
        return mf_fail(MF_INPUT, "'%s' is [%zu %zu %zu], and the model of '%s' reads [%zu %zu %zu] of %s", file, n[0],
                       n[1], n[2], s->path, d[0], d[1], d[2], d[0] == 1 ? "an image" : "a volume");
    return MF_OK;
}

/* Axes of an image: those of the model's samples, the last one holding channels if there are several. */
static int image_axes(const struct mf_model_card *s, struct mf_array *a, size_t dims[3])
{
    const int channels = s->dims[3] > 1, axes = s->dims[0] > 1 ? 3 : 2;

    if (!channels) mf_array_squeeze(a);
    if (a->ndim != axes + channels || (channels && a->shape[axes] != s->dims[3]))
        return mf_fail(MF_INPUT, "'%s' is not the model's image of %d axes and %zu channel%s (%s.npy [y][x][channel])",
                       a->path, axes, s->dims[3], MF_S(s->dims[3]), channels && !has_colours(s) ? "" : "PNG, TIFF, ");
    for (int k = 0; k < 3; ++k) dims[k] = k < 3 - axes ? 1 : a->shape[k - (3 - axes)];
    return MF_OK;
}

/* Floats of an image. */
static int to_floats(const struct mf_array *a, size_t n, const double *reals, float *values)
{
    int64_t no_data[MF_NO_DATA] = {0};

    for (size_t i = 0; i < n; ++i) {
        const int none = mf_array_declared(a, reals[i]);

        if (none >= 0) ++no_data[none];
        values[i] = (float)reals[i];
        if (isfinite(values[i])) continue;
        if (isfinite(reals[i]))
            return mf_fail(MF_INPUT, "'%s' holds %g, which does not fit into float32", a->path, reals[i]);
        return mf_fail(MF_INPUT, "'%s' holds a value that is not a finite number", a->path);
    }
    mf_array_say_declared(a, no_data, "leave them out");
    return MF_OK;
}

/* @p type: of the file's numbers. */
static int load_image(const struct mf_model_card *s, const char *path, const char *array, struct mf_field *field,
                      char type[MF_TYPE_TEXT])
{
    enum { MOST = 1 << 30 };
    struct mf_array a;
    double *reals = NULL;
    size_t n;
    int rc;

    MF_TRY(open_image(s, path, array, &a));
    MF_TRY(image_axes(s, &a, field->dims));
    MF_TRY(fits(s, path, field->dims));
    MF_TRY(mf_array_load(&a, MOST, &reals));
    mf_array_say(&a);
    mf_array_type(a.kind, a.size, type);
    n = a.shape[0] * mf_array_row(&a);
    field->image = malloc(n * sizeof *field->image);
    rc = field->image ? to_floats(&a, n, reals, field->image) : mf_fail(MF_MEMORY, "no memory for '%s'", path);
    free(reals);
    field->values = field->image;
    return rc;
}

static int read_image(const struct mf_field_wish *w, size_t place, const char *file, struct mf_intensity_shift *shift,
                      struct mf_field *field)
{
    struct mf_intensity intensity;
    char *path, type[MF_TYPE_TEXT];
    const char *array;
    int rc;

    mf_array_split(file, &path, &array);
    intensity = (struct mf_intensity){.file = path, .type = type};
    rc = load_image(w->card, path, array ? array : w->dataset, field, type);
    if (rc == MF_OK) {
        const size_t *n = field->dims;

        mf_intensity_measure(n[0] * n[1] * n[2], w->card->dims[3], field->image, &intensity);
        rc = mf_intensity_compare(w->card, place, &intensity, shift);
    }
    free(path);
    return rc;
}

static int read_phases(const struct mf_field_wish *w, const char *file, struct mf_field *field)
{
    const struct mf_micro_read read = {.threshold = w->threshold,
                                       .label_count = w->labels->count,
                                       .labels = w->labels->at,
                                       .dataset = w->dataset,
                                       .unhashed = 1};
    const struct mf_model_card *s = w->card;
    struct mf_micro *micro = &field->micro;
    struct mf_comm self;

    mf_comm_self(&self);
    MF_TRY(mf_micro_read(&self, w->arena, file, &read, micro));
    if (micro->phases > s->phases)
        return mf_fail(MF_INPUT, "'%s' has %d phases, the model of '%s' reads %d; try: --threshold, or --labels", file,
                       micro->phases, s->path, s->phases);
    memcpy(field->dims, micro->slab.dims, sizeof field->dims);
    field->values = micro->phase;
    return fits(s, file, field->dims);
}

int mf_field_read(const struct mf_field_wish *w, size_t place, const char *file, struct mf_intensity_shift *shift,
                  struct mf_field *field)
{
    *field = (struct mf_field){.tiles = 1, .micro = {.arena = w->arena}};
    MF_TRY(w->card->phases ? read_phases(w, file, field) : read_image(w, place, file, shift, field));
    for (int a = 0; a < 3; ++a)
        field->tiles *= field->along[a] = (field->dims[a] + w->card->dims[a] - 1) / w->card->dims[a];
    return MF_OK;
}

void mf_field_free(struct mf_field *field)
{
    free(field->image);
    mf_micro_free(&field->micro);
}

/* -- tiles -- */

/* Where tile @p k of an axis begins; the last one ends with the axis. */
static size_t begin_of(size_t n, size_t edge, size_t k) { return (k + 1) * edge > n ? n - edge : k * edge; }

void mf_field_cut(const struct mf_model_card *card, const struct mf_field *field, size_t k, void *tile)
{
    const size_t *n = field->dims, *d = card->dims, *along = field->along, each = each_of(card);
    const size_t z = begin_of(n[0], d[0], k / (along[1] * along[2]));
    const size_t y = begin_of(n[1], d[1], k / along[2] % along[1]), x = begin_of(n[2], d[2], k % along[2]);
    char *to = tile;

    for (size_t i = 0; i < d[0]; ++i)
        for (size_t j = 0; j < d[1]; ++j, to += d[2] * each)
            memcpy(to, (const char *)field->values + (((z + i) * n[1] + y + j) * n[2] + x) * each, d[2] * each);
}

void mf_field_add(size_t outputs, const float *answer, double *sum)
{
    for (size_t i = 0; i < outputs; ++i) sum[i] += (double)answer[i];
}

void mf_field_mean(size_t outputs, size_t tiles, const double *sum, float *mean)
{
    for (size_t i = 0; i < outputs; ++i) mean[i] = (float)(sum[i] / (double)tiles);
}
