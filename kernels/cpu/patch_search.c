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
enum { AXES = PARTS - 1, ROWS = 8, CHUNK = 64 /* panels */ };

static const float FAR = 1e30f, NONE = 3e38f;

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

/* Squared distances of ROWS points to LANES others, by vectors of so many lanes: two of them and so many rows at a
 * time, whose sums stay in registers. Wider vectors than the machine has would go through memory. */
#define DISTANCES(name, lanes, tall)                                                                          \
    ALWAYS void name(const float *row, const float *row_norm, const float *column, const float *column_norm,  \
                     float far[ROWS][LANES])                                                                  \
    {                                                                                                         \
        typedef float vf __attribute__((vector_size(4 * (lanes)), aligned(4), may_alias));                    \
                                                                                                              \
        for (size_t first = 0; first < ROWS; first += (tall))                                                 \
            for (size_t from = 0; from < LANES; from += 2 * (lanes)) {                                        \
                vf sum[tall][2] = {{{0}}};                                                                    \
                                                                                                              \
                for (size_t c = 0; c < PARTS; ++c) {                                                          \
                    const float *at = column + c * LANES + from;                                              \
                    const vf a = *(const vf *)at, b = *(const vf *)(at + (lanes));                            \
                                                                                                              \
                    _Pragma("GCC unroll 8") for (size_t i = 0; i < (tall); ++i)                               \
                    {                                                                                         \
                        sum[i][0] += a * row[c * LANES + first + i];                                          \
                        sum[i][1] += b * row[c * LANES + first + i];                                          \
                    }                                                                                         \
                }                                                                                             \
                _Pragma("GCC unroll 8") for (size_t i = 0; i < (tall); ++i) for (size_t h = 0; h < 2; ++h) *  \
                    (vf *)(far[first + i] + from + h * (lanes)) =                                             \
                    *(const vf *)(column_norm + from + h * (lanes)) + row_norm[first + i] - 2.0f * sum[i][h]; \
            }                                                                                                 \
    }

DISTANCES(distances_4, 4, 4)
#if defined(__x86_64__)
DISTANCES(distances_8, 8, 4)
DISTANCES(distances_16, 16, 8)
#endif

/* a where it is so, else b, by bits: a choice becomes a masked store, which is slow on some machines. */
ALWAYS int32_t chosen(int so, int32_t a, int32_t b) { return b ^ ((a ^ b) & -(int32_t)so); }

/* The nearest so far of every row in every lane, and the panel it lies in; of every column the row. */
ALWAYS void look(float far[ROWS][LANES], int32_t panel, float near[ROWS][LANES], int32_t in[ROWS][LANES], int32_t first,
                 float *column, int32_t *row)
{
    for (size_t i = 0; i < ROWS; ++i) {
#pragma omp simd
        for (size_t l = 0; l < LANES; ++l) {
            in[i][l] = chosen(far[i][l] < near[i][l], panel, in[i][l]);
            near[i][l] = far[i][l] < near[i][l] ? far[i][l] : near[i][l];
        }
    }
    for (int32_t i = 0; i < ROWS; ++i) {
#pragma omp simd
        for (size_t l = 0; l < LANES; ++l) {
            row[l] = chosen(far[i][l] < column[l], first + i, row[l]);
            column[l] = far[i][l] < column[l] ? far[i][l] : column[l];
        }
    }
}

/* ROWS points from slot first on against panels [from, to). */
struct mf_patch_block {
    const struct mf_patch_points *rows, *columns;
    size_t first, from, to;
    float near[ROWS][LANES];
    int32_t in[ROWS][LANES];
};

typedef void distances_of(const float *row, const float *row_norm, const float *column, const float *column_norm,
                          float far[ROWS][LANES]);

/* @p distances is known to the compiler. */
ALWAYS void search_by(distances_of *distances, struct mf_patch_block *s, float *column, int32_t *row)
{
    const float *at = s->rows->at + s->first / LANES * LANES * PARTS + s->first % LANES;
    float far[ROWS][LANES];

    for (size_t i = 0; i < ROWS; ++i)
        for (size_t l = 0; l < LANES; ++l) {
            s->near[i][l] = NONE;
            s->in[i][l] = 0;
        }
    for (size_t p = s->from; p < s->to; ++p) {
        distances(at, s->rows->norm + s->first, s->columns->at + p * LANES * PARTS, s->columns->norm + p * LANES, far);
        look(far, (int32_t)p, s->near, s->in, (int32_t)s->first, column + p * LANES, row + p * LANES);
    }
}

static void search_plain(struct mf_patch_block *s, float *column, int32_t *row)
{
    search_by(distances_4, s, column, row);
}
#if defined(__x86_64__)
__attribute__((target("avx2,fma"))) static void search_avx2(struct mf_patch_block *s, float *column, int32_t *row)
{
    search_by(distances_8, s, column, row);
}
__attribute__((target("avx512f"))) static void search_avx512(struct mf_patch_block *s, float *column, int32_t *row)
{
    search_by(distances_16, s, column, row);
}
#endif

mf_patch_search *mf_patch_search_of(size_t i)
{
    mf_patch_search *search[3] = {NULL, NULL, NULL};
    size_t n = 0;

#if defined(__x86_64__)
    if (__builtin_cpu_supports("avx512f")) search[n++] = search_avx512;
    if (__builtin_cpu_supports("avx2") && __builtin_cpu_supports("fma")) search[n++] = search_avx2;
#endif
    search[n++] = search_plain;
    return i < n ? search[i] : NULL;
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
static void search_span(mf_patch_search *search, const struct mf_patch_points *rows,
                        const struct mf_patch_points *columns, struct mf_span span, float *best, int32_t *row,
                        float *column, int32_t *of)
{
    size_t panels = columns->slots / LANES;

    for (size_t s = span.first * ROWS; s < (span.first + span.count) * ROWS; ++s) best[s] = NONE;
    for (size_t s = 0; s < columns->slots; ++s) column[s] = NONE;
    for (size_t from = 0; from < panels; from += CHUNK)
        for (size_t g = span.first; g < span.first + span.count; ++g) {
            struct mf_patch_block s = {rows,  columns, g * ROWS, from, panels - from < CHUNK ? panels : from + CHUNK,
                                       {{0}}, {{0}}};

            search(&s, column, of);
            for (size_t i = 0; i < ROWS; ++i) fold(s.near[i], s.in[i], &best[g * ROWS + i], &row[g * ROWS + i]);
        }
}

size_t mf_patch_nearest_room(int threads, size_t rows, size_t columns) { return rows + 2 * (size_t)threads * columns; }

void mf_patch_nearest(mf_patch_search *search, int threads, const struct mf_patch_points *rows,
                      const struct mf_patch_points *columns, float *work, int32_t *row, int32_t *column)
{
    size_t n = columns->slots, teams = (size_t)threads;
    float *best = work, *near = best + rows->slots;
    int32_t *of = (int32_t *)(near + teams * n);

#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (size_t t = 0; t < teams; ++t)
        search_span(search, rows, columns, mf_cut(rows->slots / ROWS, teams, t), best, row, near + t * n, of + t * n);
    for (size_t s = 0; s < n; ++s) {
        size_t least = 0;

        for (size_t t = 1; t < teams; ++t)
            if (near[t * n + s] < near[least * n + s]) least = t;
        column[s] = of[least * n + s];
    }
}
