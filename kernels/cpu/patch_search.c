/* See patch.h. The search is a matrix product in blocks, |p - q|^2 = |p|^2 + |q|^2 - 2 p q, whose entries are looked at
 * while they are in registers: nothing of its size is stored. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/patch.h"
#include "src/base/cut.h"

#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
#define WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define WIDE
#endif
#define ALWAYS static inline __attribute__((always_inline))

enum { LANES = MF_PATCH_LANES, PARTS = MF_PATCH_PARTS, SIDE = MF_PATCH_SIDE, PIXELS = MF_PATCH_PIXELS };
enum { AXES = PARTS - 1, ROWS = 8, HALF = 16, CHUNK = 64 /* panels */ };

static const float FAR = 1e30f, NONE = 3e38f;

typedef float vf __attribute__((vector_size(64), aligned(4), may_alias));

/* -- points -- */

/* LANES patches side by side, the first at (u, v). */
WIDE static void project_lanes(const struct mf_patch_image *image, const float *weight, const float *axes, size_t u,
                               size_t v, float *at)
{
    float sum[PARTS][LANES];

    memset(sum, 0, sizeof sum);
    for (size_t p = 0; p < image->phases; ++p)
        for (size_t k = 0; k < PIXELS; ++k) {
            const float *x = image->x + (p * image->high + u + k / SIDE) * image->wide + v + k % SIDE;
            const float *axis = axes + (p * PIXELS + k) * PARTS;

            for (size_t c = 0; c < AXES; ++c) {
#pragma omp simd
                for (size_t l = 0; l < LANES; ++l) sum[c][l] += axis[c] * x[l];
            }
#pragma omp simd
            for (size_t l = 0; l < LANES; ++l) sum[AXES][l] += weight[k] * (x[l] - axis[AXES]) * (x[l] - axis[AXES]);
        }
    for (size_t c = 0; c < AXES; ++c)
        for (size_t l = 0; l < LANES; ++l) {
            at[c * LANES + l] = sum[c][l] - axes[image->phases * PIXELS * PARTS + c];
            sum[AXES][l] -= at[c * LANES + l] * at[c * LANES + l];
        }
    for (size_t l = 0; l < LANES; ++l) at[AXES * LANES + l] = sum[AXES][l] > 0 ? sqrtf(sum[AXES][l]) : 0;
}

static void norms(const struct mf_patch_image *image, size_t v, float *at, float *norm)
{
    for (size_t l = 0; l < LANES; ++l) {
        const int is = v + l < image->pv;

        norm[l] = is ? 0 : FAR;
        for (size_t c = 0; c < PARTS; ++c) {
            if (!is) at[c * LANES + l] = 0;
            norm[l] += at[c * LANES + l] * at[c * LANES + l];
        }
    }
}

void mf_patch_project(int threads, const struct mf_patch_image *image, const float *axes,
                      const struct mf_patch_points *points)
{
    float weight[PIXELS];

    mf_patch_weights(weight);
#pragma omp parallel for num_threads(threads)
    for (size_t s = 0; s < image->slots; s += LANES) {
        project_lanes(image, weight, axes, s / image->row, s % image->row, points->at + s * PARTS);
        norms(image, s % image->row, points->at + s * PARTS, points->norm + s);
    }
}

/* -- neighbours -- */

/* Squared distances of ROWS points to LANES others. */
ALWAYS void distances(const float *row, const float *row_norm, const float *column, const float *column_norm,
                      float far[ROWS][LANES])
{
    vf sum[ROWS][2] = {{{0}}};

    for (size_t c = 0; c < PARTS; ++c) {
        const vf a = *(const vf *)(column + c * LANES), b = *(const vf *)(column + c * LANES + HALF);

        for (size_t i = 0; i < ROWS; ++i) {
            sum[i][0] += a * row[c * LANES + i];
            sum[i][1] += b * row[c * LANES + i];
        }
    }
    for (size_t i = 0; i < ROWS; ++i)
        for (size_t h = 0; h < 2; ++h)
            *(vf *)(far[i] + h * HALF) = *(const vf *)(column_norm + h * HALF) + row_norm[i] - 2.0f * sum[i][h];
}

/* The nearest so far of every row in every lane, and the panel it lies in; of every column the row. */
ALWAYS void look(float far[ROWS][LANES], int32_t panel, float near[ROWS][LANES], int32_t in[ROWS][LANES], int32_t first,
                 float *column, int32_t *row)
{
    for (size_t i = 0; i < ROWS; ++i) {
#pragma omp simd
        for (size_t l = 0; l < LANES; ++l) {
            in[i][l] = far[i][l] < near[i][l] ? panel : in[i][l];
            near[i][l] = far[i][l] < near[i][l] ? far[i][l] : near[i][l];
        }
    }
    for (int32_t i = 0; i < ROWS; ++i) {
#pragma omp simd
        for (size_t l = 0; l < LANES; ++l) {
            row[l] = far[i][l] < column[l] ? first + i : row[l];
            column[l] = far[i][l] < column[l] ? far[i][l] : column[l];
        }
    }
}

/* ROWS points from slot @p first on against panels [from, to). */
WIDE static void search(const struct mf_patch_points *rows, const struct mf_patch_points *columns, size_t first,
                        size_t from, size_t to, float near[ROWS][LANES], int32_t in[ROWS][LANES], float *column,
                        int32_t *row)
{
    const float *at = rows->at + first / LANES * LANES * PARTS + first % LANES;
    float far[ROWS][LANES];

    for (size_t i = 0; i < ROWS; ++i)
        for (size_t l = 0; l < LANES; ++l) {
            near[i][l] = NONE;
            in[i][l] = 0;
        }
    for (size_t p = from; p < to; ++p) {
        distances(at, rows->norm + first, columns->at + p * LANES * PARTS, columns->norm + p * LANES, far);
        look(far, (int32_t)p, near, in, (int32_t)first, column + p * LANES, row + p * LANES);
    }
}

/* The lanes' nearest of one row against what it has; of equals the first slot. */
static void fold(const float *near, const int32_t *in, float *best, int32_t *slot)
{
    float least = NONE;
    int32_t at = 0;

    for (int32_t l = 0; l < LANES; ++l) {
        int32_t s = in[l] * LANES + l;

        if (near[l] < least || (near[l] == least && s < at)) {
            least = near[l];
            at = s;
        }
    }
    if (!(least < *best)) return;
    *best = least;
    *slot = at;
}

/* Rows [span) of all, against chunks of columns that stay in a cache. */
static void search_span(const struct mf_patch_points *rows, const struct mf_patch_points *columns, struct mf_span span,
                        float *best, int32_t *row, float *column, int32_t *of)
{
    size_t panels = columns->slots / LANES;

    for (size_t s = span.first * ROWS; s < (span.first + span.count) * ROWS; ++s) best[s] = NONE;
    for (size_t s = 0; s < columns->slots; ++s) column[s] = NONE;
    for (size_t from = 0; from < panels; from += CHUNK)
        for (size_t g = span.first; g < span.first + span.count; ++g) {
            float near[ROWS][LANES];
            int32_t in[ROWS][LANES];

            search(rows, columns, g * ROWS, from, panels - from < CHUNK ? panels : from + CHUNK, near, in, column, of);
            for (size_t i = 0; i < ROWS; ++i) fold(near[i], in[i], &best[g * ROWS + i], &row[g * ROWS + i]);
        }
}

size_t mf_patch_nearest_room(int threads, size_t rows, size_t columns) { return rows + 2 * (size_t)threads * columns; }

void mf_patch_nearest(int threads, const struct mf_patch_points *rows, const struct mf_patch_points *columns,
                      float *work, int32_t *row, int32_t *column)
{
    size_t n = columns->slots, teams = (size_t)threads;
    float *best = work, *near = best + rows->slots;
    int32_t *of = (int32_t *)(near + teams * n);

#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (size_t t = 0; t < teams; ++t)
        search_span(rows, columns, mf_cut(rows->slots / ROWS, teams, t), best, row, near + t * n, of + t * n);
    for (size_t s = 0; s < n; ++s) {
        size_t least = 0;

        for (size_t t = 1; t < teams; ++t)
            if (near[t * n + s] < near[least * n + s]) least = t;
        column[s] = of[least * n + s];
    }
}
