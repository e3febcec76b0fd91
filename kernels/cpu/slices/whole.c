/* See whole.h. */
#include "kernels/cpu/slices/whole.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/line.h"
#include "kernels/cpu/slices/tile.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* Limits of elements in 16 bits, and of sums over columns, times half of the steps, in 32 bits. Both leave space for
 * the rounding of elements. */
enum { MOST = 16380, MOST_ELEMENT = 32750, MOST_SUM = 262000, CHOICE = 256 };

size_t mf_cpu_whole_place(struct mf_cpu_whole *w, float *memory)
{
    const size_t pairs = (w->n + 1) / 2 * w->width;

    if (memory) {
        w->pairs = (int32_t *)(void *)memory;
        w->scale = memory + pairs;
        w->inverse = w->scale + w->width;
        w->half = w->inverse + w->width;
        w->diagonal = w->half + w->width;
    }
    return pairs + 4 * w->width;
}

float mf_cpu_whole_steps(float often)
{
    float best = MOST, least = 1;

    for (int n = MOST; n > MOST - CHOICE; n -= 2) {
        const float at = often * (float)n, off = fabsf(at - nearbyintf(at));

        if (off < least) {
            least = off;
            best = (float)n;
        }
    }
    return best;
}

/* Extent of a line of columns: the largest magnitude, the largest sum of magnitudes in 32 bits, the sum. */
struct extent {
    mf_line most, together, sum;
};

MF_LINE_INLINE struct extent extent_of(const struct mf_cpu_whole *w, const float *s)
{
    struct extent e = {{0}, {0}, {0}};

    for (size_t first = 0; first < w->n; first += 2 * MF_WHOLE_PAIRS) {
        const size_t end = first + 2 * MF_WHOLE_PAIRS < w->n ? first + 2 * MF_WHOLE_PAIRS : w->n;
        mf_line part = {0}, magnitudes = {0};

        for (size_t k = first; k < end; ++k) {
            const mf_line x = mf_line_get(s + k * w->width), size = mf_line_abs(x);

            part += x;
            magnitudes += size;
            e.most = mf_line_max(e.most, size);
        }
        e.sum += part;
        e.together = mf_line_max(e.together, magnitudes);
    }
    return e;
}

/* The largest scale by which elements fit into 16 bits and sums into 32. Half of the largest element becomes an
 * integer. So all elements are integers if they have only these two values. */
static float scale_of(float most, float together)
{
    const float limit = fminf(MOST_ELEMENT / most, MOST_SUM / together);

    return most > 1e-25F && together < 1e25F ? 2 * floorf(limit * most / 2) / most : 0;
}

MF_CPU_FAST void mf_cpu_whole_columns(const struct mf_cpu_whole *w, int whole, size_t j, float *s)
{
    struct extent e;

    for (size_t l = j; l < j + MF_LINE; ++l) {
        w->scale[l] = w->half[l] = w->diagonal[l] = 0;
        w->inverse[l] = 1;
    }
    if (!whole) return;
    for (size_t l = j; l < j + MF_LINE && l < w->n; ++l) {
        w->diagonal[l] = s[l * w->width + l];
        s[l * w->width + l] = 0;
    }
    e = extent_of(w, s + j);
    for (size_t l = 0; l < MF_LINE; ++l) {
        const float scale = scale_of(e.most[l], e.together[l]);

        w->scale[j + l] = scale;
        w->inverse[j + l] = scale > 0 ? (float)(1 / ((double)scale * (double)w->steps)) : 0;
        w->half[j + l] = scale > 0 ? 0.5F * e.sum[l] : 0;
    }
}

static inline int32_t nearest(float x) { return (int32_t)(x + (x < 0 ? -0.5F : 0.5F)); }

/* Two rows of a panel, b times @p there; those of columns beyond the last are 0. */
MF_CPU_FAST static void pack(const float *restrict a, const float *restrict b, float there, const float *restrict scale,
                             int32_t *restrict to)
{
    for (size_t j = 0; j < MF_TILE_COLUMNS; ++j) {
        const int32_t low = nearest(a[j] * scale[j]), high = nearest(b[j] * scale[j] * there);

        to[j] = (int32_t)((uint32_t)low & 0xffffU) | (int32_t)((uint32_t)high << 16);
    }
}

void mf_cpu_whole_pack(const struct mf_cpu_whole *w, const float *s, size_t k)
{
    const size_t panel = (w->n + 1) / 2 * MF_TILE_COLUMNS;
    const int there = 2 * k + 1 < w->n;
    const float *a = s + 2 * k * w->width, *b = there ? a + w->width : a;

    for (size_t j = 0, p = 0; j < w->n; j += MF_TILE_COLUMNS, ++p)
        pack(a + j, b + j, there ? 1 : 0, w->scale + j, w->pairs + p * panel + k * MF_TILE_COLUMNS);
}

/* Elements are rounded down after adding a number between 1/16 and 15/16. The numbers are multiples of the golden
 * ratio, which are evenly distributed. So equal elements are not all rounded alike, and integers stay exact. Rounding
 * of floats moves rows of gentle thresholds slightly outside the range. They are clipped, because otherwise sums would
 * overflow. */
MF_CPU_WIDE void mf_cpu_whole_row(const struct mf_cpu_whole *w, size_t number, const float *x, int16_t *to)
{
    const float *restrict from = x, steps = w->steps;
    int16_t *restrict into = to;
    const int32_t most = (int32_t)w->steps, half = most / 2, width = (int32_t)w->width;
    const uint32_t golden = 2654435769U;
    uint32_t place = (uint32_t)number * 40503U * golden;

    for (int32_t k = 0; k < width; ++k, place += golden) {
        const float up = 0.0625F + 0.875F / (1 << 24) * (float)(int32_t)(place >> 8);
        const int32_t at = (int32_t)(from[k] * steps + up), cut = at < 0 ? 0 : at > most ? most : at;

        into[k] = (int16_t)(cut - half);
    }
}

#ifdef __x86_64__
#define AVX512 __attribute__((target("avx512f,avx512vnni")))
#define AVX2   __attribute__((target("avx2")))
#define ALWAYS static inline __attribute__((always_inline))

/* Arrays of __m512i the compiler would keep in memory, of these in registers. */
typedef int32_t sixteen __attribute__((vector_size(64)));
typedef int32_t eight __attribute__((vector_size(32)));

enum { AVX2_ROWS = 6, LANES = 16 };

static inline int32_t pair_at(const int16_t *a)
{
    int32_t pair;

    memcpy(&pair, a, sizeof pair);
    return pair;
}

AVX512 ALWAYS void put_sixteen(sixteen sum, int afresh, float *c)
{
    const __m512 x = _mm512_cvtepi32_ps((__m512i)sum);

    _mm512_storeu_ps(c, afresh ? x : _mm512_add_ps(x, _mm512_loadu_ps(c)));
}

AVX512 static void tile_avx512(const struct mf_cpu_whole *w, const int16_t *rows, size_t j, float *c)
{
    const size_t all = (w->n + 1) / 2, width = w->width;
    const int32_t *b = w->pairs + j * all; /* whole panels lie one behind the other */

    for (size_t first = 0; first < all; first += MF_WHOLE_PAIRS) {
        const size_t end = first + MF_WHOLE_PAIRS < all ? first + MF_WHOLE_PAIRS : all;
        sixteen sum[MF_TILE_ROWS][2];

#pragma GCC unroll 12
        for (size_t m = 0; m < MF_TILE_ROWS; ++m) sum[m][0] = sum[m][1] = (sixteen){0};
        for (size_t k = first; k < end; ++k) {
            const __m512i b0 = _mm512_loadu_si512(b + k * MF_TILE_COLUMNS),
                          b1 = _mm512_loadu_si512(b + k * MF_TILE_COLUMNS + LANES);

#pragma GCC unroll 12
            for (size_t m = 0; m < MF_TILE_ROWS; ++m) {
                const __m512i a = _mm512_set1_epi32(pair_at(rows + m * width + 2 * k));

                sum[m][0] = (sixteen)_mm512_dpwssd_epi32((__m512i)sum[m][0], a, b0);
                sum[m][1] = (sixteen)_mm512_dpwssd_epi32((__m512i)sum[m][1], a, b1);
            }
        }
#pragma GCC unroll 12
        for (size_t m = 0; m < MF_TILE_ROWS; ++m) {
            put_sixteen(sum[m][0], first == 0, c + m * width);
            put_sixteen(sum[m][1], first == 0, c + m * width + LANES);
        }
    }
}

AVX2 ALWAYS void put_eight(eight sum, int afresh, float *c)
{
    const __m256 x = _mm256_cvtepi32_ps((__m256i)sum);

    _mm256_storeu_ps(c, afresh ? x : _mm256_add_ps(x, _mm256_loadu_ps(c)));
}

/* As many rows and columns as 16 registers hold. */
AVX2 static void part_avx2(const struct mf_cpu_whole *w, const int16_t *rows, const int32_t *b, float *c)
{
    const size_t all = (w->n + 1) / 2, width = w->width;

    for (size_t first = 0; first < all; first += MF_WHOLE_PAIRS) {
        const size_t end = first + MF_WHOLE_PAIRS < all ? first + MF_WHOLE_PAIRS : all;
        eight sum[AVX2_ROWS][2];

#pragma GCC unroll 6
        for (size_t m = 0; m < AVX2_ROWS; ++m) sum[m][0] = sum[m][1] = (eight){0};
        for (size_t k = first; k < end; ++k) {
            const __m256i *at = (const __m256i *)(const void *)(b + k * MF_TILE_COLUMNS), b0 = _mm256_loadu_si256(at),
                          b1 = _mm256_loadu_si256(at + 1);

#pragma GCC unroll 6
            for (size_t m = 0; m < AVX2_ROWS; ++m) {
                const __m256i a = _mm256_set1_epi32(pair_at(rows + m * width + 2 * k));

                sum[m][0] += (eight)_mm256_madd_epi16(a, b0);
                sum[m][1] += (eight)_mm256_madd_epi16(a, b1);
            }
        }
#pragma GCC unroll 6
        for (size_t m = 0; m < AVX2_ROWS; ++m) {
            put_eight(sum[m][0], first == 0, c + m * width);
            put_eight(sum[m][1], first == 0, c + m * width + LANES / 2);
        }
    }
}

AVX2 static void tile_avx2(const struct mf_cpu_whole *w, const int16_t *rows, size_t j, float *c)
{
    const int32_t *b = w->pairs + j * ((w->n + 1) / 2); /* whole panels lie one behind the other */

    for (size_t n = 0; n < MF_TILE_COLUMNS; n += LANES)
        for (size_t m = 0; m < MF_TILE_ROWS; m += AVX2_ROWS)
            part_avx2(w, rows + m * w->width, b + n, c + m * w->width + n);
}
#endif

mf_cpu_whole_tile *mf_cpu_whole_of(size_t i)
{
    mf_cpu_whole_tile *tile[3] = {NULL, NULL, NULL};
    size_t n = 0;

#ifdef __x86_64__
    const int wide = __builtin_cpu_supports("avx512f");

    if (wide && __builtin_cpu_supports("avx512vnni")) tile[n++] = tile_avx512;
    if (__builtin_cpu_supports("avx2") && (n > 0 || !wide)) tile[n++] = tile_avx2; /* else wide floats */
#endif
    return i < n ? tile[i] : NULL;
}
