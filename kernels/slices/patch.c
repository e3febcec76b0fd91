/* See patch.h. */
#include "kernels/slices/patch.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/fast.h"
#include "src/base/rng.h"

enum { LANES = MF_PATCH_LANES, PARTS = MF_PATCH_PARTS, SIDE = MF_PATCH_SIDE, PIXELS = MF_PATCH_PIXELS };
enum { AXES = PARTS - 1, SAMPLES = 4096, ROUNDS = 40 };
enum { BATCH = 32 /* samples that are added together */, PIECE = 32 /* numbers of a row */ };

/* -- images -- */

/* The places of patches in nu x nv pixels; no slots when a patch does not fit. Without memory. */
static struct mf_patch_image image_of(size_t phases, size_t nu, size_t nv, int periodic)
{
    struct mf_patch_image image = {.phases = phases, .nu = nu, .nv = nv, .periodic = periodic};

    image.high = nu + SIDE - 1;
    image.wide = nv + SIDE - 1 + LANES;
    if (nu < SIDE || nv < SIDE) return image;
    image.pu = periodic ? nu : nu - SIDE + 1;
    image.pv = periodic ? nv : nv - SIDE + 1;
    image.row = (image.pv + LANES - 1) / LANES * LANES;
    image.slots = image.pu * image.row;
    return image;
}

size_t mf_patch_image_floats(const struct mf_patch_image *image) { return image->phases * image->high * image->wide; }

void mf_patch_image_fill(const struct mf_patch_image *image, const float *pixels, size_t apart)
{
    for (size_t p = 0; p < image->phases; ++p)
        for (size_t u = 0; u < image->high; ++u) {
            const float *from = pixels + p * apart + u % image->nu * image->nv;
            float *to = image->x + (p * image->high + u) * image->wide;

            for (size_t v = 0; v < image->wide; v += image->nv) {
                size_t n = image->wide - v < image->nv ? image->wide - v : image->nv;

                memcpy(to + v, from, n * sizeof *to);
            }
        }
}

void mf_patch_weights(float weight[PIXELS])
{
    const double width = SIDE / 3.0;
    double sum = 0;

    for (int pass = 0; pass < 2; ++pass)
        for (int k = 0; k < PIXELS; ++k) {
            const int u = k / SIDE - SIDE / 2, v = k % SIDE - SIDE / 2;
            const double w = exp(-(double)(u * u + v * v) / (2 * width * width));

            if (pass)
                weight[k] = (float)(w / sum);
            else
                sum += w;
        }
}

/* -- axes -- */

/* Memory of the axes' work area. */
struct scatter {
    size_t dims;
    double *matrix, *axes, *image, *mean; /* [dims][dims], [AXES][dims] twice, [dims] */
    double *batch;                        /* [BATCH][dims], and a piece that is read and does not count */
};

size_t mf_patch_axes_room(size_t phases)
{
    size_t dims = phases * PIXELS;

    return dims * (dims + 2 * AXES + 1 + BATCH) + PIECE;
}

static struct scatter scatter_of(size_t phases, double *work)
{
    struct scatter s = {.dims = phases * PIXELS, .matrix = work};

    s.axes = s.matrix + s.dims * s.dims;
    s.image = s.axes + AXES * s.dims;
    s.mean = s.image + AXES * s.dims;
    s.batch = s.mean + s.dims;
    return s;
}

/* The patch at a place, every pixel times the root of its weight. */
static void weighted(const struct mf_patch_image *image, size_t u, size_t v, const float *weight, double *to)
{
    for (size_t p = 0; p < image->phases; ++p)
        for (size_t k = 0; k < PIXELS; ++k)
            to[p * PIXELS + k] = sqrt((double)weight[k]) *
                                 (double)image->x[(p * image->high + u + k / SIDE) * image->wide + v + k % SIDE];
}

/* Some of the evenly spread patches: of @p samples those from @p first on. Returns how many. */
static size_t sample(const struct mf_patch_image *image, const float *weight, size_t samples, size_t first,
                     struct scatter *s)
{
    const size_t count = mf_patch_count(image), some = samples - first < BATCH ? samples - first : BATCH;

    for (size_t k = 0; k < some; ++k) {
        size_t at = (size_t)((double)(first + k) * (double)count / (double)samples);

        weighted(image, at / image->pv, at % image->pv, weight, s->batch + k * s->dims);
    }
    return some;
}

static void add_mean(const struct scatter *s, size_t some, double samples)
{
    for (size_t k = 0; k < some; ++k)
        for (size_t a = 0; a < s->dims; ++a) s->mean[a] += s->batch[k * s->dims + a] / samples;
}

/* The upper half of the matrix, a piece of a row at a time. The piece stays in registers for all of some patches. */
MF_CPU_FAST static void add_products(size_t dims, size_t some, const double *restrict from, double *restrict matrix)
{
    for (size_t a = 0; a < dims; ++a)
        for (size_t b = a; b < dims; b += PIECE) {
            const size_t n = dims - b < PIECE ? dims - b : PIECE;
            double sum[PIECE] = {0};

            memcpy(sum, matrix + a * dims + b, n * sizeof *sum);
            for (size_t k = 0; k < some; ++k) {
                const double one = from[k * dims + a];

                for (size_t i = 0; i < PIECE; ++i) sum[i] += one * from[k * dims + b + i];
            }
            memcpy(matrix + a * dims + b, sum, n * sizeof *sum);
        }
}

/* Mean and scatter of evenly spread patches. */
static void add_scatter(const struct mf_patch_image *image, const float *weight, struct scatter *s)
{
    size_t count = mf_patch_count(image), samples = count < SAMPLES ? count : SAMPLES;

    memset(s->matrix, 0, s->dims * s->dims * sizeof *s->matrix);
    memset(s->mean, 0, s->dims * sizeof *s->mean);
    for (size_t i = 0; i < samples; i += BATCH) add_mean(s, sample(image, weight, samples, i, s), (double)samples);
    for (size_t i = 0; i < samples; i += BATCH) {
        const size_t some = sample(image, weight, samples, i, s);

        for (size_t k = 0; k < some; ++k)
            for (size_t a = 0; a < s->dims; ++a) s->batch[k * s->dims + a] -= s->mean[a];
        add_products(s->dims, some, s->batch, s->matrix);
    }
    for (size_t a = 0; a < s->dims; ++a)
        for (size_t b = 0; b < a; ++b) s->matrix[a * s->dims + b] = s->matrix[b * s->dims + a];
}

static double dot(size_t n, const double *a, const double *b)
{
    double sum = 0;

    for (size_t i = 0; i < n; ++i) sum += a[i] * b[i];
    return sum;
}

/* Makes the axes orthonormal, twice over for their rounding; an axis in which nothing is left becomes 0. */
static void orthonormalise(struct scatter *s)
{
    for (size_t c = 0; c < AXES; ++c) {
        double *axis = s->axes + c * s->dims, before = dot(s->dims, axis, axis), length;

        for (int again = 0; again < 2; ++again)
            for (size_t b = 0; b < c; ++b) {
                const double *other = s->axes + b * s->dims;
                double along = dot(s->dims, axis, other);

                for (size_t i = 0; i < s->dims; ++i) axis[i] -= along * other[i];
            }
        length = dot(s->dims, axis, axis);
        length = length > 1e-20 * before && length > 0 ? 1 / sqrt(length) : 0;
        for (size_t i = 0; i < s->dims; ++i) axis[i] *= length;
    }
}

/* to [AXES][dims] = axes times the matrix, which is symmetric. Sums are in the order of its rows, which lie as they are
 * read. */
MF_CPU_FAST static void multiply(size_t dims, const double *restrict matrix, const double *restrict axes,
                                 double *restrict to)
{
    for (size_t b = 0; b < dims; b += PIECE)
        for (size_t c = 0; c < AXES; ++c) {
            const size_t n = dims - b < PIECE ? dims - b : PIECE;
            double sum[PIECE] = {0};

            for (size_t i = 0; i < dims; ++i) {
                const double *row = matrix + i * dims + b, one = axes[c * dims + i];

                for (size_t k = 0; k < PIECE; ++k) sum[k] += one * row[k];
            }
            memcpy(to + c * dims + b, sum, n * sizeof *sum);
        }
}

/* Orthogonal iteration: good to a few digits, and any axes will do for a search. */
static void find_axes(struct scatter *s)
{
    for (size_t i = 0; i < AXES * s->dims; ++i) s->axes[i] = mf_random_uniform(1, 0, i) - 0.5;
    for (int round = 0; round < ROUNDS; ++round) {
        orthonormalise(s);
        multiply(s->dims, s->matrix, s->axes, s->image);
        memcpy(s->axes, s->image, AXES * s->dims * sizeof *s->axes);
    }
    orthonormalise(s);
}

void mf_patch_axes(const struct mf_patch_image *image, double *work, float *axes)
{
    struct scatter s = scatter_of(image->phases, work);
    float weight[PIXELS];

    mf_patch_weights(weight);
    add_scatter(image, weight, &s);
    find_axes(&s);
    for (size_t i = 0; i < s.dims; ++i) axes[i * PARTS + AXES] = (float)(s.mean[i] / sqrt((double)weight[i % PIXELS]));
    for (size_t c = 0; c < AXES; ++c) {
        for (size_t i = 0; i < s.dims; ++i)
            axes[i * PARTS + c] = (float)(s.axes[c * s.dims + i] * sqrt((double)weight[i % PIXELS]));
        axes[s.dims * PARTS + c] = (float)dot(s.dims, s.axes + c * s.dims, s.mean);
    }
}

/* -- levels -- */

size_t mf_patch_shape(const struct mf_slice_desc *desc, struct mf_patch_level *level)
{
    const struct mf_slice_example *e = &desc->example;
    size_t at = 0, pull = 0, phases = mf_patch_phases(desc);

    for (size_t l = 0; l < desc->levels; ++l) {
        const size_t nu = desc->nu >> l, nv = desc->nv >> l;
        struct mf_patch_level *to = &level[l];

        *to = (struct mf_patch_level){.pixels = nu * nv, .at = at, .pull = pull};
        to->slice = image_of(phases, nu, nv, desc->periodic);
        to->example = image_of(phases, e->nu >> l, e->nv >> l, e->periodic);
        to->on = l >= desc->first && to->slice.slots > 0 && to->example.slots > 0;
        at += to->pixels;
        if (to->on) pull += (1 + phases) * to->pixels + phases;
    }
    return pull;
}

size_t mf_patch_pull(const struct mf_slice_desc *desc)
{
    struct mf_patch_level level[MF_PYRAMID_MAX];

    return mf_patch_shape(desc, level);
}
