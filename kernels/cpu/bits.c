/* See kernels/bits.h. A half of every window is counted, the other half is its mirror image. A tile of rows of a is
 * shifted along x once per lag dv and then meets the rows of b of the slices normal to z (rows y + du) and to y (planes
 * z + du); slices normal to x need no shift: rows (z, y) meet rows (z + du, y + dv). */
#include "kernels/bits.h"

#include <omp.h>
#include <string.h>

#include "kernels/cpu/bits_and.h"
#include "src/base/cut.h"
#include "src/base/err.h"

enum { TILE_WORDS = 512 }; /* of a shifted tile: it stays in the first-level cache */

/** What all threads share: half[normal][du][dv + L - 1] = #{a(p) b(p + r)}, du > 0 or du = 0 and dv >= 0. */
struct job {
    const struct mf_bits *a, *b;
    size_t lag, window, pad; /* L, 2L-1; words before and after a row in a padded row */
    int periodic, normals;
    size_t z0, nz;
    size_t tiles; /* of a plane */
    mf_bits_and *count;
};

/** One thread's: counters, one tile of padded rows and one of shifted rows. */
struct bench {
    int64_t *half;
    uint64_t *padded, *shifted;
};

static size_t padded_words(const struct job *j) { return j->a->words + 2 * j->pad + 1; }

static int64_t *counter(const struct job *j, int64_t *half, int normal, size_t du, ptrdiff_t dv)
{
    return half + ((size_t)normal * j->lag + du) * j->window + (size_t)(dv + (ptrdiff_t)j->lag - 1);
}

/** Sets bits [to, to + n) of @p row, which are 0, to the bits [from, from + n) of @p source. */
static void copy_bits(const uint64_t *source, size_t words, size_t from, size_t n, uint64_t *row, size_t to)
{
    for (size_t i = 0; i < n; i += 64) {
        size_t word = (from + i) / 64, shift = (from + i) % 64, left = n - i;
        uint64_t bits = source[word] >> shift;

        if (shift && word + 1 < words) bits |= source[word + 1] << (64 - shift);
        if (left < 64) bits &= ((uint64_t)1 << left) - 1;
        row[(to + i) / 64] |= bits << (to + i) % 64;
        if ((to + i) % 64) row[(to + i) / 64 + 1] |= bits >> (64 - (to + i) % 64);
    }
}

/** A row with what lies L-1 voxels before and behind it: the row itself again, or nothing. */
static void pad_row(const struct job *j, const uint64_t *row, uint64_t *padded)
{
    size_t nx = j->a->nx, words = j->a->words, reach = j->lag - 1;

    memset(padded, 0, padded_words(j) * sizeof *padded);
    memcpy(padded + j->pad, row, words * sizeof *row);
    if (!j->periodic) return;
    copy_bits(row, words, nx - reach, reach, padded, 64 * j->pad - reach);
    copy_bits(row, words, 0, reach, padded, 64 * j->pad + nx);
}

/** shifted(x) = a(x - dv) for all rows of a tile. */
static void shift_rows(const struct job *j, const struct bench *w, size_t rows, ptrdiff_t dv)
{
    size_t words = j->a->words, spare = words * 64 - j->a->nx;
    size_t at = (size_t)((ptrdiff_t)(64 * j->pad) - dv);
    unsigned shift = at % 64;

    for (size_t r = 0; r < rows; ++r) {
        const uint64_t *from = w->padded + r * padded_words(j) + at / 64;
        uint64_t *to = w->shifted + r * words;

        for (size_t i = 0; i < words; ++i) to[i] = from[i] >> shift | from[i + 1] << 1 << (63 - shift);
        to[words - 1] &= ~(uint64_t)0 >> spare;
    }
}

/** Rows [y, y + rows), given at @p tile, against rows y + dy of the plane @p b. */
static int64_t meet(const struct job *j, const uint64_t *tile, size_t y, size_t rows, const uint64_t *b, ptrdiff_t dy)
{
    ptrdiff_t ny = (ptrdiff_t)j->a->ny, at = (ptrdiff_t)y + dy, end = at + (ptrdiff_t)rows;
    size_t words = j->a->words;
    int64_t total = 0;

    while (at < end) {
        ptrdiff_t row = at % ny + (at % ny < 0 ? ny : 0), run = ny - row < end - at ? ny - row : end - at;

        if (j->periodic || row == at) total += j->count(tile, b + (size_t)row * words, (size_t)run * words);
        tile += (size_t)run * words;
        at += run;
    }
    return total;
}

/** Plane @p z + @p dz of b; NULL where there is none. */
static const uint64_t *plane_of(const struct job *j, size_t z, size_t dz)
{
    size_t at = z + dz;

    if (!j->periodic && j->z0 + at >= j->nz) return NULL;
    if (j->b->halo == 0) at %= j->b->planes;
    return j->b->row + at * j->b->ny * j->b->words;
}

/** Lags of the slices normal to z and y that shift along x by @p dv. */
static void count_shifted(const struct job *j, const struct bench *w, size_t z, struct mf_span rows, ptrdiff_t dv)
{
    const uint64_t *here = plane_of(j, z, 0);
    size_t y = rows.first, n = rows.count;

    if (dv >= 0) {
        int64_t line = meet(j, w->shifted, y, n, here, 0);

        *counter(j, w->half, 0, 0, dv) += line;
        *counter(j, w->half, 1, 0, dv) += line;
    }
    for (size_t du = 1; j->normals & 1 && du < j->lag; ++du)
        *counter(j, w->half, 0, du, dv) += meet(j, w->shifted, y, n, here, (ptrdiff_t)du);
    for (size_t du = 1; j->normals & 2 && du < j->lag; ++du) {
        const uint64_t *there = plane_of(j, z, du);

        if (there) *counter(j, w->half, 1, du, dv) += meet(j, w->shifted, y, n, there, 0);
    }
}

/** Lags of the slices normal to x. */
static void count_straight(const struct job *j, const struct bench *w, size_t z, struct mf_span rows)
{
    const uint64_t *tile = j->a->row + (z * j->a->ny + rows.first) * j->a->words;

    for (size_t du = 0; du < j->lag; ++du) {
        const uint64_t *there = plane_of(j, z, du);

        if (!there) break;
        for (ptrdiff_t dv = du ? 1 - (ptrdiff_t)j->lag : 0; dv < (ptrdiff_t)j->lag; ++dv)
            *counter(j, w->half, 2, du, dv) += meet(j, tile, rows.first, rows.count, there, dv);
    }
}

static void count_tile(const struct job *j, const struct bench *w, size_t z, struct mf_span rows)
{
    const uint64_t *tile = j->a->row + (z * j->a->ny + rows.first) * j->a->words;

    if (j->normals & 4) count_straight(j, w, z, rows);
    if (!(j->normals & 3)) return;
    for (size_t r = 0; r < rows.count; ++r) pad_row(j, tile + r * j->a->words, w->padded + r * padded_words(j));
    for (ptrdiff_t dv = 1 - (ptrdiff_t)j->lag; dv < (ptrdiff_t)j->lag; ++dv) {
        shift_rows(j, w, rows.count, dv);
        count_shifted(j, w, z, rows, dv);
    }
}

/** Adds a half window to the whole one: count(r) where @p sign is 1, count(-r) where it is -1; zero lag once. */
static void spread(const struct job *j, const int64_t *half, int sign, int64_t *count)
{
    ptrdiff_t reach = (ptrdiff_t)j->lag - 1, window = (ptrdiff_t)j->window;

    for (int normal = 0; normal < 3; ++normal, count += window * window) {
        if (!(j->normals >> normal & 1)) continue;
        for (ptrdiff_t du = 0; du <= reach; ++du)
            for (ptrdiff_t dv = du ? -reach : sign < 0; dv <= reach; ++dv)
                count[(sign * du + reach) * window + sign * dv + reach] +=
                    half[((size_t)normal * j->lag + (size_t)du) * j->window + (size_t)(dv + reach)];
    }
}

/** Runs over all tiles; neighbours in z follow each other, so that the planes they share stay in the cache. */
static void count_half(const struct job *j, int threads, const struct bench *benches)
{
    ptrdiff_t items = (ptrdiff_t)(j->tiles * j->a->planes);

#pragma omp parallel num_threads(threads)
    {
        const struct bench *w = benches + omp_get_thread_num();

#pragma omp for schedule(dynamic, 8)
        for (ptrdiff_t i = 0; i < items; ++i)
            count_tile(j, w, (size_t)i % j->a->planes, mf_cut(j->a->ny, j->tiles, (size_t)i / j->a->planes));
    }
}

/** Counts with a first, then, unless b is a, with b first: a(p) b(p - r) = b(q) a(q + r). */
static void count_both(const struct job *j, int threads, const struct bench *benches, int64_t *count)
{
    size_t counters = 3 * j->lag * j->window;
    struct job turned = *j;

    turned.a = j->b;
    turned.b = j->a;
    for (int sign = 1; sign >= -1; sign -= 2) {
        if (sign > 0 || j->a != j->b) {
            for (int t = 0; t < threads; ++t) memset(benches[t].half, 0, counters * sizeof(int64_t));
            count_half(sign > 0 ? j : &turned, threads, benches);
            for (int t = 1; t < threads; ++t)
                for (size_t i = 0; i < counters; ++i) benches[0].half[i] += benches[t].half[i];
        }
        spread(j, benches[0].half, sign, count);
    }
}

static int count(struct mf_queue *q, const struct mf_bits *a, const struct mf_bits *b, size_t lag, int periodic,
                 size_t z0, size_t nz, int normals, int64_t *counts)
{
    struct job j = {a, b, lag, 2 * lag - 1, (lag + 62) / 64, periodic, normals, z0, nz, 0, mf_bits_and_find()};
    size_t rows = a->words < TILE_WORDS ? TILE_WORDS / a->words : 1;
    int threads = q->threads > 0 ? q->threads : 1;

    MF_ASSERT(lag >= 1 && lag <= a->nx && a->nx == b->nx && a->ny == b->ny && a->planes == b->planes);
    if (rows > a->ny) rows = a->ny;
    j.tiles = (a->ny + rows - 1) / rows;
    size_t half = 3 * lag * j.window, tile = rows * padded_words(&j), shifted = rows * a->words;
    size_t each = (half + tile + shifted + 7) / 8 * 8;
    uint64_t *memory =
        mf_arena_take(q->arena, (size_t)threads * (each * sizeof *memory + sizeof(struct bench)), "bits");

    if (!memory) return MF_MEMORY;
    struct bench *benches = (struct bench *)(memory + (size_t)threads * each);

    for (size_t t = 0; t < (size_t)threads; ++t) {
        uint64_t *mine = memory + t * each;

        benches[t] = (struct bench){(int64_t *)mine, mine + half, mine + half + tile};
    }
    count_both(&j, threads, benches, counts);
    mf_arena_give(q->arena, memory);
    return MF_OK;
}

/** 64 labels or fewer to a word. */
static uint64_t pack_word(const uint8_t *label, size_t n, uint8_t phase)
{
    uint64_t word = 0;

    for (size_t i = 0; i < n; ++i) word |= (uint64_t)(label[i] == phase) << i;
    return word;
}

#ifdef __SSE2__
#include <emmintrin.h>

static uint64_t pack_64(const uint8_t *label, uint8_t phase)
{
    const __m128i want = _mm_set1_epi8((char)phase);
    uint64_t word = 0;

    for (unsigned i = 0; i < 64; i += 16) {
        __m128i equal = _mm_cmpeq_epi8(_mm_loadu_si128((const __m128i *)(label + i)), want);

        word |= (uint64_t)(unsigned)_mm_movemask_epi8(equal) << i;
    }
    return word;
}
#else
static uint64_t pack_64(const uint8_t *label, uint8_t phase) { return pack_word(label, 64, phase); }
#endif

static void pack(struct mf_queue *q, size_t rows, size_t nx, const uint8_t *label, uint8_t phase, uint64_t *bits)
{
    size_t words = (nx + 63) / 64, whole = nx / 64;

#pragma omp parallel for num_threads(q->threads > 0 ? q->threads : 1)
    for (size_t r = 0; r < rows; ++r) {
        const uint8_t *from = label + r * nx;
        uint64_t *to = bits + r * words;

        for (size_t w = 0; w < whole; ++w) to[w] = pack_64(from + w * 64, phase);
        if (whole < words) to[whole] = pack_word(from + whole * 64, nx % 64, phase);
    }
}

const struct mf_bits_ops mf_bits_cpu = {.pack = pack, .count = count};
