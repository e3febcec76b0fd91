/* See patch.h. The search is a blocked matrix product, |p - q|^2 = |p|^2 + |q|^2 - 2 p q. Its entries are used while
 * they are in registers, so nothing of its size is stored. The last nearest patch is usually still near, so most
 * entries are abandoned after a part of their products. */
#include <math.h>
#include <string.h>

#include "kernels/cpu/slices/patch.h"
#include "src/base/cut.h"
#include "src/base/pulse.h"

#define ALWAYS static inline __attribute__((always_inline))
#define AVX512 __attribute__((target("avx512f")))
#define AVX2   __attribute__((target("avx2,fma")))

enum { LANES = MF_PATCH_LANES, PARTS = MF_PATCH_PARTS, SIDE = MF_PATCH_SIDE, PIXELS = MF_PATCH_PIXELS };
enum { AXES = PARTS - 1, ROWS = 8, CHUNK = 64 /* panels */ };
enum { FEW = MF_PATCH_FEW };

static const float FAR = 1e30f, NONE = 3e38f;
static const float SLACK = 2e-5f; /* of squares: more than distances are rounded by, 3e-6 */

/* -- points -- */

/* As wide as registers are where there is no AVX-512: wider ones would go through memory. */
enum { EIGHT = 8, EIGHTS = LANES / EIGHT, TOGETHER = 3 /* axes, whose sums and pixels 16 registers hold */ };
typedef float eight __attribute__((vector_size(4 * EIGHT), aligned(4), may_alias));

/* Coordinates c .. c + TOGETHER - 1 of LANES patches side by side. @p x: the first one's first pixel. */
ALWAYS void project_some(const struct mf_patch_image *image, const float *axes, const float *x, size_t c, float *at)
{
    eight sum[TOGETHER][EIGHTS] = {{{0}}};

    for (size_t p = 0; p < image->phases; ++p)
        for (size_t k = 0; k < PIXELS; ++k) {
            const float *from = x + (p * image->high + k / SIDE) * image->wide + k % SIDE;
            const float *axis = axes + (p * PIXELS + k) * PARTS + c;

#pragma GCC unroll 4
            for (size_t h = 0; h < EIGHTS; ++h) {
                const eight one = *(const eight *)(from + h * EIGHT);

#pragma GCC unroll 3
                for (size_t i = 0; i < TOGETHER; ++i) sum[i][h] += one * axis[i];
            }
        }
#pragma GCC unroll 3
    for (size_t i = 0; i < TOGETHER; ++i)
#pragma GCC unroll 4
        for (size_t h = 0; h < EIGHTS; ++h) *(eight *)(at + i * LANES + h * EIGHT) = sum[i][h];
}

/* LANES patches side by side, the first at (u, v). */
MF_CPU_WIDE static void project_lanes(const struct mf_patch_image *image, const float *weight, const float *axes,
                                      size_t u, size_t v, float *at)
{
    const float *pixels = image->x + u * image->wide + v;
    float beside[LANES] = {0};

    for (size_t c = 0; c < PARTS; c += TOGETHER) project_some(image, axes, pixels, c, at + c * LANES);
    for (size_t p = 0; p < image->phases; ++p)
        for (size_t k = 0; k < PIXELS; ++k) {
            const float *x = pixels + (p * image->high + k / SIDE) * image->wide + k % SIDE;
            const float mean = axes[(p * PIXELS + k) * PARTS + AXES];

#pragma omp simd
            for (size_t l = 0; l < LANES; ++l) beside[l] += weight[k] * (x[l] - mean) * (x[l] - mean);
        }
    for (size_t c = 0; c < AXES; ++c)
        for (size_t l = 0; l < LANES; ++l) {
            at[c * LANES + l] -= axes[image->phases * PIXELS * PARTS + c];
            beside[l] -= at[c * LANES + l] * at[c * LANES + l];
        }
    for (size_t l = 0; l < LANES; ++l) at[AXES * LANES + l] = beside[l] > 0 ? sqrtf(beside[l]) : 0;
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

void mf_patch_project_rows(int threads, const struct mf_team *team, const struct mf_patch_image *image,
                           const float *axes, float *row)
{
    const struct mf_span own = mf_team_cut(team, image->slots / LANES);
    float weight[PIXELS];

    mf_patch_weights(weight);
#pragma omp parallel for num_threads(threads)
    for (size_t s = own.first * LANES; s < (own.first + own.count) * LANES; s += LANES) {
        const size_t v = s % image->row;
        float at[PARTS * LANES];

        project_lanes(image, weight, axes, s / image->row, v, at);
        for (size_t l = 0; l < LANES; ++l)
            for (size_t c = 0; c < PARTS; ++c) row[(s + l) * PARTS + c] = v + l < image->pv ? at[c * LANES + l] : 0;
    }
    mf_team_share(team, image->slots / LANES, LANES * PARTS * sizeof *row, row);
}

/* -- neighbours -- */

/* The distance in some coordinates is a lower bound of the distance. Every slot has half of the contribution of the
 * first FEW coordinates to its square. It also has half of the squared distance to its current neighbour. 0 for a slot
 * without a patch. */
struct mf_patch_reach {
    const float *few, *far;
};

/* ROWS points from slot first on against panels [from, to). */
struct mf_patch_block {
    const struct mf_patch_points *rows, *columns;
    struct mf_patch_reach row, column;
    size_t first, from, to;
    float near[ROWS][LANES];
    int32_t in[ROWS][LANES];
};

/* Products of coordinates [from, to) of rows with those of others, two vectors of these. */
#define PRODUCTS(from, to, lanes, tall)                                                                  \
    for (size_t c = (from); c < (to); ++c) {                                                             \
        const vf a = *(const vf *)(column + c * LANES), b = *(const vf *)(column + c * LANES + (lanes)); \
                                                                                                         \
        _Pragma("GCC unroll 8") for (size_t i = 0; i < (tall); ++i)                                      \
        {                                                                                                \
            sum[i][0] += a * row[c * LANES + i];                                                         \
            sum[i][1] += b * row[c * LANES + i];                                                         \
        }                                                                                                \
    }

/* Squared distances of so many rows, from slot first on, to two vectors of lanes; sums stay in registers. The rows'
 * current neighbours bound them by @p reach. Returns 0, and computes nothing, if the first coordinates already exclude
 * a nearer neighbour. Wider vectors than the machine's would use memory. A function for another instruction set would
 * have its comparisons split by the compiler before it is inlined. */
#define TILE(name, lanes, tall, target)                                                                         \
    target ALWAYS int name(const struct mf_patch_block *s, const float *row, size_t first, const float *column, \
                           size_t slot, float reach, float *far)                                                \
    {                                                                                                           \
        typedef float vf __attribute__((vector_size(4 * (lanes)), aligned(4), may_alias));                      \
        typedef int vi __attribute__((vector_size(4 * (lanes)), aligned(4), may_alias));                        \
        vf sum[tall][2] = {{{0}}}, least[2];                                                                    \
        union {                                                                                                 \
            vi lane;                                                                                            \
            uint64_t word[(lanes) / 2];                                                                         \
        } some;                                                                                                 \
        vi is = {0};                                                                                            \
        uint64_t any = 0;                                                                                       \
                                                                                                                \
        PRODUCTS(0, FEW, lanes, tall)                                                                           \
        for (size_t h = 0; h < 2; ++h) {                                                                        \
            const vf few = *(const vf *)(s->column.few + slot + h * (lanes));                                   \
            const vf own = few - *(const vf *)(s->column.far + slot + h * (lanes)), all = few - reach;          \
            const vi less = own < all;                                                                          \
                                                                                                                \
            least[h] = (vf)(((vi)own & less) | ((vi)all & ~less));                                              \
        }                                                                                                       \
        _Pragma("GCC unroll 8") for (size_t i = 0; i < (tall); ++i) for (size_t h = 0; h < 2; ++h) is |=        \
            sum[i][h] > least[h] + s->row.few[first + i];                                                       \
        some.lane = is;                                                                                         \
        for (size_t w = 0; w < (lanes) / 2; ++w) any |= some.word[w];                                           \
        if (!any) return 0;                                                                                     \
        PRODUCTS(FEW, PARTS, lanes, tall)                                                                       \
        _Pragma("GCC unroll 8") for (size_t i = 0; i < (tall); ++i) for (size_t h = 0; h < 2; ++h) *            \
            (vf *)(far + (2 * i + h) * (lanes)) =                                                               \
            *(const vf *)(s->columns->norm + slot + h * (lanes)) + s->rows->norm[first + i] - 2.0f * sum[i][h]; \
        return 1;                                                                                               \
    }

TILE(tile_4, 4, 4, )
#if defined(__x86_64__)
TILE(tile_8, 8, 4, AVX2)
TILE(tile_16, 16, 8, AVX512)
#endif

/* a if so, else b, by bit operations. The ternary operator becomes a masked store, which is slow on some machines. */
ALWAYS int32_t chosen(int so, int32_t a, int32_t b) { return b ^ ((a ^ b) & -(int32_t)so); }

/* Updates the nearest row so far in every lane with its panel, and the nearest row of every column. */
ALWAYS void look(size_t tall, size_t wide, const float *far, int32_t panel, size_t from, float (*near)[LANES],
                 int32_t (*in)[LANES], int32_t first, float *column, int32_t *row)
{
    for (size_t i = 0; i < tall; ++i) {
#pragma omp simd
        for (size_t l = 0; l < wide; ++l) {
            in[i][from + l] = chosen(far[i * wide + l] < near[i][from + l], panel, in[i][from + l]);
            near[i][from + l] = far[i * wide + l] < near[i][from + l] ? far[i * wide + l] : near[i][from + l];
        }
    }
    for (size_t i = 0; i < tall; ++i) {
#pragma omp simd
        for (size_t l = 0; l < wide; ++l) {
            row[l] = chosen(far[i * wide + l] < column[l], first + (int32_t)i, row[l]);
            column[l] = far[i * wide + l] < column[l] ? far[i * wide + l] : column[l];
        }
    }
}

typedef int tile_of(const struct mf_patch_block *s, const float *row, size_t first, const float *column, size_t slot,
                    float reach, float *far);

/* @p tile and its extents are known to the compiler. */
ALWAYS void search_by(tile_of *tile, size_t tall, size_t wide, struct mf_patch_block *s, float *column, int32_t *row)
{
    const float *at = s->rows->at + s->first / LANES * LANES * PARTS + s->first % LANES;
    float far[ROWS * LANES], reach[ROWS];

    for (size_t i = 0; i < ROWS; ++i) reach[i] = s->row.far[s->first + i];
    for (size_t i = 0; i < ROWS; ++i)
        if (reach[i] > reach[i / tall * tall]) reach[i / tall * tall] = reach[i];
    for (size_t i = 0; i < ROWS; ++i)
        for (size_t l = 0; l < LANES; ++l) {
            s->near[i][l] = NONE;
            s->in[i][l] = 0;
        }
    for (size_t p = s->from; p < s->to; ++p)
        for (size_t i = 0; i < ROWS; i += tall)
            for (size_t l = 0; l < LANES; l += wide) {
                const size_t slot = p * LANES + l;
                if (!tile(s, at + i, s->first + i, s->columns->at + p * LANES * PARTS + l, slot, reach[i], far))
                    continue;
                look(tall, wide, far, (int32_t)p, l, &s->near[i], &s->in[i], (int32_t)(s->first + i), column + slot,
                     row + slot);
            }
}

static void search_plain(struct mf_patch_block *s, float *column, int32_t *row)
{
    search_by(tile_4, 4, 8, s, column, row);
}
#if defined(__x86_64__)
AVX2 static void search_avx2(struct mf_patch_block *s, float *column, int32_t *row)
{
    search_by(tile_8, 4, 16, s, column, row);
}
AVX512 static void search_avx512(struct mf_patch_block *s, float *column, int32_t *row)
{
    search_by(tile_16, 8, 32, s, column, row);
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
static void search_span(mf_patch_search *search, const struct mf_patch_block *all, struct mf_span span, float *best,
                        int32_t *row, float *column, int32_t *of)
{
    const size_t panels = all->columns->slots / LANES;

    for (size_t s = span.first * ROWS; s < (span.first + span.count) * ROWS; ++s) best[s] = NONE;
    for (size_t s = 0; s < all->columns->slots; ++s) column[s] = NONE;
    for (size_t from = 0; from < panels; from += CHUNK)
        for (size_t g = span.first; g < span.first + span.count; ++g) {
            struct mf_patch_block s = *all;

            mf_pulse_tell("patches");
            s.first = g * ROWS;
            s.from = from;
            s.to = panels - from < CHUNK ? panels : from + CHUNK;
            search(&s, column, of);
            for (size_t i = 0; i < ROWS; ++i) fold(s.near[i], s.in[i], &best[g * ROWS + i], &row[g * ROWS + i]);
        }
}

/* Bounds the distance of a point's neighbour by that of its neighbour before. Rounding is far below SLACK of the
 * squares. */
static void reach(const struct mf_patch_points *points, const struct mf_patch_points *others, const int32_t *before,
                  size_t slot, float *few, float *far)
{
    const size_t other = (size_t)before[slot];
    const float *a = points->at + slot / LANES * LANES * PARTS + slot % LANES;
    const float *b = others->at + other / LANES * LANES * PARTS + other % LANES;
    float own = 0, apart = 0;

    for (size_t c = 0; c < PARTS; ++c) {
        const float x = a[c * LANES], d = x - b[c * LANES];

        if (c < FEW) own += x * x;
        apart += d * d;
    }
    if (points->norm[slot] >= FAR) {
        *few = FAR;
        *far = 0;
        return;
    }
    *few = 0.5f * (own - SLACK * points->norm[slot]);
    *far = 0.5f * (apart + SLACK * (points->norm[slot] + others->norm[other]));
}

size_t mf_patch_nearest_room(int threads, size_t rows, size_t columns)
{
    return 3 * rows + 2 * columns + 2 * (size_t)threads * columns;
}

void mf_patch_nearest(mf_patch_search *search, int threads, const struct mf_patch_points *rows,
                      const struct mf_patch_points *columns, float *work, int32_t *row, int32_t *column)
{
    const size_t m = rows->slots, n = columns->slots, teams = (size_t)threads;
    float *few = work, *far = few + m, *best = far + m, *few_of = best + m, *far_of = few_of + n, *near = far_of + n;
    int32_t *of = (int32_t *)(near + teams * n);
    struct mf_patch_block all = {rows, columns, {few, far}, {few_of, far_of}, 0, 0, 0, {{0}}, {{0}}};

#pragma omp parallel for num_threads(threads)
    for (size_t s = 0; s < m; ++s) reach(rows, columns, row, s, &few[s], &far[s]);
#pragma omp parallel for num_threads(threads)
    for (size_t s = 0; s < n; ++s) reach(columns, rows, column, s, &few_of[s], &far_of[s]);
#pragma omp parallel for num_threads(threads) schedule(static, 1)
    for (size_t t = 0; t < teams; ++t)
        search_span(search, &all, mf_cut(m / ROWS, teams, t), best, row, near + t * n, of + t * n);
    for (size_t s = 0; s < n; ++s) {
        size_t least = 0;

        for (size_t t = 1; t < teams; ++t)
            if (near[t * n + s] < near[least * n + s]) least = t;
        if (near[least * n + s] < NONE) column[s] = of[least * n + s];
    }
}
