/* See whole.h. */
#include "kernels/cpu/whole.h"

#include <math.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/line.h"
#include "kernels/cpu/tile.h"

#ifdef __x86_64__
#include <immintrin.h>
#endif

/* Steps: +- half of them in 16 bits, with room for how 1 is rounded; sums of columns: times half of the steps in 32. */
enum { MOST = 65520, MOST_SUM = 65500, CHOICE = 256 };

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

/* Of a line of columns: the largest magnitude, the largest sum of magnitudes that are added up in 32 bits, the sum. */
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
            const mf_line x = mf_line_get(s + k * w->width, 1), size = mf_line_abs(x);

            part += x;
            magnitudes += size;
            e.most = mf_line_max(e.most, size);
        }
        e.sum += part;
        e.together = mf_line_max(e.together, magnitudes);
    }
    return e;
}

/* As much as 16 bits hold of an element and 32 of a sum; half of the largest is whole, and so all are where there are
 * only these two. */
static float scale_of(float most, float together)
{
    const float limit = MOST_SUM / fmaxf(2 * most, together);

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
        w->half[j + l] = 0.5F * e.sum[l];
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

MF_CPU_FAST void mf_cpu_whole_row(const struct mf_cpu_whole *w, const float *x, int16_t *to)
{
    const float *restrict from = x, steps = w->steps;
    int16_t *restrict into = to;
    const int32_t half = (int32_t)(w->steps / 2);

#pragma omp simd
    for (size_t k = 0; k < w->width; ++k) into[k] = (int16_t)((int32_t)(from[k] * steps + 0.5F) - half);
}

#ifdef __x86_64__
#define WHOLE __attribute__((target("avx512f,avx512vnni")))

int mf_cpu_whole_can(void) { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vnni"); }

typedef int32_t numbers __attribute__((vector_size(64)));

/* Arrays of __m512i the compiler would keep in memory, of these in registers. */
WHOLE static inline __attribute__((always_inline)) numbers add_pairs(numbers sum, const int16_t *a, numbers b)
{
    int32_t pair;

    memcpy(&pair, a, sizeof pair);
    return (numbers)_mm512_dpwssd_epi32((__m512i)sum, _mm512_set1_epi32(pair), (__m512i)b);
}

WHOLE static inline __attribute__((always_inline)) void put(numbers sum, int afresh, float *c)
{
    const __m512 x = _mm512_cvtepi32_ps((__m512i)sum);

    _mm512_storeu_ps(c, afresh ? x : _mm512_add_ps(x, _mm512_loadu_ps(c)));
}

WHOLE void mf_cpu_whole_tile(const struct mf_cpu_whole *w, const int16_t *rows, size_t j, float *c)
{
    const size_t all = (w->n + 1) / 2, width = w->width;
    const int32_t *b = w->pairs + j * all; /* whole panels lie one behind the other */

    for (size_t first = 0; first < all; first += MF_WHOLE_PAIRS) {
        const size_t end = first + MF_WHOLE_PAIRS < all ? first + MF_WHOLE_PAIRS : all;
        numbers sum[MF_TILE_ROWS][2];

#pragma GCC unroll 12
        for (size_t m = 0; m < MF_TILE_ROWS; ++m) sum[m][0] = sum[m][1] = (numbers){0};
        for (size_t k = first; k < end; ++k) {
            const numbers b0 = (numbers)_mm512_loadu_si512(b + k * MF_TILE_COLUMNS),
                          b1 = (numbers)_mm512_loadu_si512(b + k * MF_TILE_COLUMNS + 16);

#pragma GCC unroll 12
            for (size_t m = 0; m < MF_TILE_ROWS; ++m) {
                sum[m][0] = add_pairs(sum[m][0], rows + m * width + 2 * k, b0);
                sum[m][1] = add_pairs(sum[m][1], rows + m * width + 2 * k, b1);
            }
        }
#pragma GCC unroll 12
        for (size_t m = 0; m < MF_TILE_ROWS; ++m) {
            put(sum[m][0], first == 0, c + m * width);
            put(sum[m][1], first == 0, c + m * width + 16);
        }
    }
}
#else
int mf_cpu_whole_can(void) { return 0; }
void mf_cpu_whole_tile(const struct mf_cpu_whole *w, const int16_t *rows, size_t j, float *c)
{
    (void)w, (void)rows, (void)j, (void)c;
}
#endif
