/* See denoise.h. */
#include "src/model/denoise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/base/room.h"
#include "src/base/streams.h"
#include "src/model/fields.h"

struct mf_noise_level mf_noise_level(double sigma)
{
    const double data = MF_NOISE_DATA, both = sigma * sigma + data * data;

    return (struct mf_noise_level){
        .skip = data * data / both, .out = sigma * data / sqrt(both), .in = 1 / sqrt(both), .embedded = log(sigma) / 4};
}

void mf_denoise_estimate(const struct mf_noise_level *l, size_t count, const float *x, float *f)
{
    for (size_t i = 0; i < count; ++i) f[i] = (float)(l->skip * (double)x[i] + l->out * (double)f[i]);
}

/* -- conditions -- */

void mf_denoise_take(struct mf_denoise *d, size_t classes, size_t columns, size_t rows)
{
    d->classes = classes;
    d->columns = columns;
    d->rows = rows;
    d->class_name = MF_MUST(calloc(classes + 1, sizeof *d->class_name), "names");
    d->column = MF_MUST(calloc(columns + 1, sizeof *d->column), "names");
    d->column_mean = MF_MUST(calloc(columns + 1, sizeof *d->column_mean), "units");
    d->column_deviation = MF_MUST(calloc(columns + 1, sizeof *d->column_deviation), "units");
    d->label = classes ? MF_MUST(calloc(rows + 1, sizeof *d->label), "conditions") : NULL;
    d->value = MF_MUST(calloc(rows * columns + 1, sizeof *d->value), "conditions");
}

void mf_denoise_close(struct mf_denoise *d)
{
    free(d->class_name);
    free(d->column);
    free(d->column_mean);
    free(d->column_deviation);
    free(d->label);
    free(d->value);
    *d = (struct mf_denoise){0};
}

struct mf_denoise mf_denoise_copy(const struct mf_denoise *from)
{
    struct mf_denoise d = {
        .mean = from->mean, .deviation = from->deviation, .dropped = from->dropped, .start = from->start};

    mf_denoise_take(&d, from->classes, from->columns, from->rows);
    memcpy(d.class_name, from->class_name, d.classes * sizeof *d.class_name);
    memcpy(d.column, from->column, d.columns * sizeof *d.column);
    memcpy(d.column_mean, from->column_mean, d.columns * sizeof *d.column_mean);
    memcpy(d.column_deviation, from->column_deviation, d.columns * sizeof *d.column_deviation);
    if (d.label) memcpy(d.label, from->label, d.rows * sizeof *d.label);
    memcpy(d.value, from->value, d.rows * d.columns * sizeof *d.value);
    return d;
}

size_t mf_denoise_width(const struct mf_denoise *d) { return d->classes + 2 * d->columns; }

void mf_denoise_condition(const struct mf_denoise *d, int32_t label, const float *value, float *to)
{
    memset(to, 0, mf_denoise_width(d) * sizeof *to);
    if (label >= 0 && (size_t)label < d->classes) to[label] = 1;
    to += d->classes;
    for (size_t c = 0; value && c < d->columns; ++c, to += 2) {
        if (isnan(value[c])) continue;
        to[0] = (float)(((double)value[c] - d->column_mean[c]) / d->column_deviation[c]);
        to[1] = 1;
    }
}

/* A row of the class @p label if there is one; d->rows: there is none. */
static size_t draw_row(const struct mf_denoise *d, double u, int32_t label)
{
    size_t fit = 0, left;

    for (size_t r = 0; r < d->rows; ++r) fit += !d->label || label < 0 || d->label[r] == label;
    left = (size_t)(u * (double)fit);
    for (size_t r = 0; fit > 0 && r < d->rows; ++r)
        if ((!d->label || label < 0 || d->label[r] == label) && left-- == 0) return r;
    return d->rows;
}

int32_t mf_denoise_draw(const struct mf_denoise *d, uint64_t seed, uint64_t i, int32_t label, float *value)
{
    const size_t row = draw_row(d, mf_random_uniform(seed, MF_STREAM_MADE + 1, i), label);

    for (size_t c = 0; c < d->columns; ++c) value[c] = row < d->rows ? d->value[row * d->columns + c] : NAN;
    return label < 0 && d->label && row < d->rows ? d->label[row] : label;
}

/* -- files -- */

static void put_names(struct mf_json *to, const char *key, size_t n, const mf_name *name)
{
    struct mf_json *names = mf_json_array();

    for (size_t i = 0; i < n; ++i) mf_json_text(names, NULL, name[i]);
    mf_json_put(to, key, names);
}

struct mf_json *mf_denoise_json(const struct mf_denoise *d)
{
    struct mf_json *json = mf_json_object(), *rows = mf_json_array();

    MF_JSON(json, "noise_mean", d->mean, "noise_deviation", d->deviation, "dropped", d->dropped);
    if (d->start > 0) mf_json_real(json, "conditioning_sigma", d->start);
    put_names(json, "classes", d->classes, d->class_name);
    put_names(json, "columns", d->columns, d->column);
    mf_json_reals(json, "column_mean", d->column_mean, d->columns);
    mf_json_reals(json, "column_deviation", d->column_deviation, d->columns);
    for (size_t r = 0; r < d->rows; ++r) {
        struct mf_json *row = mf_json_array();

        if (d->label) mf_json_int(row, NULL, d->label[r]);
        for (size_t c = 0; c < d->columns; ++c) mf_json_real(row, NULL, (double)d->value[r * d->columns + c]);
        mf_json_put(rows, NULL, row);
    }
    mf_json_put(json, "conditions", rows);
    return json;
}

static int read_names(const struct mf_json *names, size_t n, mf_name *name)
{
    int twice;

    return mf_field_names(names, n, name, &twice) == n;
}

static int read_number(const struct mf_json *json, const char *name, double *to)
{
    const struct mf_json *value = mf_json_get(json, name);

    *to = mf_field_is_number(value) ? mf_json_to_real(value) : NAN;
    return isfinite(*to);
}

static int read_label(const struct mf_json *from, size_t classes, int32_t *label)
{
    const long long value = mf_json_kind(from) == MF_JSON_INT ? mf_json_to_int(from) : -2;

    if (value < -1 || value >= (long long)classes) return 0;
    *label = (int32_t)value;
    return 1;
}

static int read_row(const struct mf_json *row, struct mf_denoise *d, size_t r)
{
    const size_t labels = d->label ? 1 : 0;

    if (mf_field_count(row) != labels + d->columns) return 0;
    if (d->label && !read_label(mf_json_item(row, 0), d->classes, &d->label[r])) return 0;
    for (size_t c = 0; c < d->columns; ++c) {
        float *value = &d->value[r * d->columns + c];

        if (!mf_field_is_number(mf_json_item(row, labels + c))) return 0;
        *value = (float)mf_json_to_real(mf_json_item(row, labels + c));
        if (!isfinite(*value)) return 0;
    }
    return 1;
}

static int refuse(const char **key, const char *name)
{
    *key = name;
    return MF_INPUT;
}

int mf_denoise_read(const struct mf_json *json, struct mf_denoise *d, const char **key)
{
    const struct mf_json *classes = mf_json_get(json, "classes"), *columns = mf_json_get(json, "columns"),
                         *rows = mf_json_get(json, "conditions");

    *d = (struct mf_denoise){.deviation = 1};
    if (mf_field_count(classes) > MF_CLASSES_MAX) return refuse(key, "classes");
    if (mf_field_count(columns) > MF_REALS_MAX) return refuse(key, "columns");
    if (mf_field_count(rows) == SIZE_MAX) return refuse(key, "conditions");
    mf_denoise_take(d, mf_field_count(classes), mf_field_count(columns), mf_field_count(rows));
    if (!read_number(json, "noise_mean", &d->mean)) return refuse(key, "noise_mean");
    if (!read_number(json, "noise_deviation", &d->deviation) || !(d->deviation > 0))
        return refuse(key, "noise_deviation");
    if (!read_number(json, "dropped", &d->dropped) || d->dropped < 0 || d->dropped >= 1) return refuse(key, "dropped");
    if (mf_json_get(json, "conditioning_sigma") &&
        !(read_number(json, "conditioning_sigma", &d->start) && d->start > MF_NOISE_LEAST))
        return refuse(key, "conditioning_sigma");
    if (!read_names(classes, d->classes, d->class_name)) return refuse(key, "classes");
    if (!read_names(columns, d->columns, d->column)) return refuse(key, "columns");
    if (!mf_field_numbers(mf_json_get(json, "column_mean"), d->columns, d->column_mean))
        return refuse(key, "column_mean");
    if (!mf_field_numbers(mf_json_get(json, "column_deviation"), d->columns, d->column_deviation))
        return refuse(key, "column_deviation");
    for (size_t c = 0; c < d->columns; ++c)
        if (!(d->column_deviation[c] > 0)) return refuse(key, "column_deviation");
    for (size_t r = 0; r < d->rows; ++r)
        if (!read_row(mf_json_item(rows, r), d, r)) return refuse(key, "conditions");
    return MF_OK;
}

/* -- samples -- */

void mf_denoise_scale(int phases, size_t count, const float *input, float *x)
{
    const float shift = phases ? 0.5F : 0, factor = phases ? 2 * (float)MF_NOISE_DATA : (float)MF_NOISE_DATA;

    for (size_t i = 0; i < count; ++i) x[i] = factor * (input[i] - shift);
}

static uint8_t largest(int n, const float *x)
{
    int best = 0;

    for (int k = 1; k < n; ++k)
        if (x[k] > x[best]) best = k;
    return (uint8_t)best;
}

static int falling(const void *a, const void *b)
{
    const float x = *(const float *)a, y = *(const float *)b;

    return (x < y) - (x > y);
}

/* Voxels of phase 1: the sum of the grey values, 0 to 1. */
static size_t volume_of(size_t voxels, const float *x)
{
    double sum = 0;

    for (size_t i = 0; i < voxels; ++i) sum += (double)x[i] / (2 * MF_NOISE_DATA) + 0.5;
    return sum <= 0 ? 0 : sum >= (double)voxels ? voxels : (size_t)lround(sum);
}

/* The first ones of equal values are phase 1. */
static int cut_phases(size_t voxels, const float *x, uint8_t *to)
{
    const size_t volume = volume_of(voxels, x);
    float *sorted, least;
    size_t equal = volume;

    MF_TRY(MF_ROOM(sorted, voxels + 1, "a sample of %zu voxels", voxels));
    memcpy(sorted, x, voxels * sizeof *sorted);
    qsort(sorted, voxels, sizeof *sorted, falling);
    least = volume > 0 ? sorted[volume - 1] : INFINITY;
    while (equal > 0 && sorted[equal - 1] == least) --equal;
    equal = volume - equal; /* so many of those that equal the least one */
    for (size_t i = 0; i < voxels; ++i) {
        to[i] = x[i] > least || (x[i] == least && equal > 0);
        if (x[i] == least && equal > 0) --equal;
    }
    free(sorted);
    return MF_OK;
}

int mf_denoise_phases(int phases, int soft, size_t voxels, const float *x, uint8_t *to)
{
    if (phases == 2 && soft) return cut_phases(voxels, x, to);
    for (size_t i = 0; i < voxels; ++i) to[i] = phases == 2 ? x[i] > 0 : largest(phases, x + i * (size_t)phases);
    return MF_OK;
}

static double value_of(size_t channel, const double *mean, const double *deviation, float x)
{
    return (double)x / MF_NOISE_DATA * deviation[channel] + mean[channel];
}

void mf_denoise_values(size_t voxels, size_t channels, const double *mean, const double *deviation, const float *x,
                       float *to)
{
    for (size_t i = 0; i < voxels * channels; ++i) to[i] = (float)value_of(i % channels, mean, deviation, x[i]);
}

void mf_denoise_bytes(size_t voxels, size_t channels, const double *mean, const double *deviation, const float *x,
                      uint8_t *to)
{
    for (size_t i = 0; i < voxels * channels; ++i)
        to[i] = (uint8_t)fmin(255, fmax(0, rint(value_of(i % channels, mean, deviation, x[i]))));
}
