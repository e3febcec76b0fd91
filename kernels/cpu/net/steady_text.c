/* Rows times weights: see steady.h. Compiled with MF_LANES = 4, 8, 16 and the flags of an instruction set that has such
 * vectors; MF_STEADY_TEXT names the result. */
#include <string.h>
#if defined(__AVX2__) || defined(__AVX512F__)
#include <immintrin.h>
#endif

#include "kernels/cpu/net/steady.h"
#include "src/base/half.h"

enum { L = MF_LANES, SUMS = 8, ROWS = MF_STEADY_FEW, WEIGHTS = 3, PANEL = MF_STEADY_PANEL, CHUNK = MF_STEADY_CHUNK };
enum { AHEAD = 16384, LINE = 64 }; /* bytes: weights come into the caches so far ahead */

typedef float vec __attribute__((vector_size(L * 4), aligned(4), may_alias));
typedef float quad __attribute__((vector_size(16), aligned(4), may_alias));
typedef int32_t order __attribute__((vector_size(16)));
typedef int32_t wholes __attribute__((vector_size(L * 4)));
typedef uint32_t words __attribute__((vector_size(L * 4)));
typedef uint16_t halves __attribute__((vector_size(L * 2), aligned(2), may_alias));
typedef int8_t bytes __attribute__((vector_size(L), aligned(1), may_alias));

#define INNER static inline __attribute__((always_inline))

/* Keeps a vector in a register. Compilers rather load it again for each product, which takes longer. */
#ifdef __AVX512F__
#define HOLD(x) __asm__("" : "+v"(x))
#elif defined(__x86_64__)
#define HOLD(x) __asm__("" : "+x"(x))
#else
#define HOLD(x) (void)(x)
#endif

/* -- numbers -- */

INNER vec load_f16(const char *at)
{
    vec x;
#if defined(__F16C__) && MF_LANES == 8
    const __m256 wide = _mm256_cvtph_ps(_mm_loadu_si128((const __m128i *)(const void *)at));

    memcpy(&x, &wide, sizeof x);
#elif defined(__AVX512F__) && MF_LANES == 16
    const __m512 wide = _mm512_cvtph_ps(_mm256_loadu_si256((const __m256i *)(const void *)at));

    memcpy(&x, &wide, sizeof x);
#else
    uint16_t half[L];

    memcpy(half, at, sizeof half);
    for (int i = 0; i < L; ++i) x[i] = mf_f16_to(half[i]);
#endif
    return x;
}

/* Compilers convert eight bytes one by one. */
INNER vec load_i8(const char *at)
{
#if defined(__AVX2__) && MF_LANES == 8
    const __m256 wide = _mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(_mm_loadl_epi64((const __m128i *)(const void *)at)));
    vec x;

    memcpy(&x, &wide, sizeof x);
    return x;
#else
    return __builtin_convertvector(__builtin_convertvector(*(const bytes *)(const void *)at, wholes), vec);
#endif
}

/* @p type: a constant. */
INNER vec load(enum mf_type type, const char *at)
{
    const void *from = at;

    switch (type) {
    case MF_BF16: return (vec)(__builtin_convertvector(*(const halves *)from, words) << 16);
    case MF_F16: return load_f16(at);
    case MF_I8: return load_i8(at);
    default: return *(const vec *)from;
    }
}

/* The first @p n numbers, and zeros. */
INNER vec load_rest(enum mf_type type, const char *at, size_t n)
{
    char rest[L * sizeof(float)] = {0};

    memcpy(rest, at, n * mf_type_bytes(type));
    return load(type, rest);
}

/* -- sums of lanes, each in the same order -- */

INNER quad fold(vec x)
{
    quad part[L / 4];

    memcpy(part, &x, sizeof x);
    for (int n = L / 8; n > 0; n /= 2)
        for (int i = 0; i < n; ++i) part[i] += part[i + n];
    return part[0];
}

INNER quad sums_of(vec a, vec b, vec c, vec d)
{
    const order low = {0, 1, 4, 5}, high = {2, 3, 6, 7}, even = {0, 2, 4, 6}, odd = {1, 3, 5, 7};
    const quad p = fold(a), q = fold(b), r = fold(c), s = fold(d);
    const quad first = __builtin_shuffle(p, q, low) + __builtin_shuffle(p, q, high);
    const quad second = __builtin_shuffle(r, s, low) + __builtin_shuffle(r, s, high);

    return __builtin_shuffle(first, second, even) + __builtin_shuffle(first, second, odd);
}

/* -- few rows: SUMS products at a time -- */

/* @p type, @p rows: constants. Adds the product of row r and weight j to sum [j rows + r]. Weights are @p row bytes
 * apart. */
INNER void add_products(enum mf_type type, int rows, const float *x, const char *w, size_t row, size_t k, vec sum[SUMS])
{
    const int weights = SUMS / rows;
    const size_t size = mf_type_bytes(type), all = (size_t)weights * size; /* of one number of each weight */
    const size_t whole = k / L * L;

    for (size_t i = 0; i < whole; i += L) {
        if (size < sizeof(float) || rows > 1)
            for (size_t at = 0; at < L * all; at += LINE) __builtin_prefetch(w + AHEAD + i * all + at);
#pragma GCC unroll 8
        for (int j = 0; j < weights; ++j) {
            vec weight = load(type, w + (size_t)j * row + i * size);

            HOLD(weight);
#pragma GCC unroll 4
            for (int r = 0; r < rows; ++r)
                sum[j * rows + r] += *(const vec *)(x + i * (size_t)rows + (size_t)r * L) * weight;
        }
    }
    if (whole == k) return;
#pragma GCC unroll 8
    for (int j = 0; j < weights; ++j) {
        const vec weight = load_rest(type, w + (size_t)j * row + whole * size, k - whole);

        for (int r = 0; r < rows; ++r)
            sum[j * rows + r] += *(const vec *)(x + whole * (size_t)rows + (size_t)r * L) * weight;
    }
}

INNER void few_columns(const struct mf_steady *s, enum mf_type type, int rows, size_t from, size_t to)
{
    const size_t row = s->k * mf_type_bytes(type), count = (size_t)(SUMS / rows);

    for (size_t j = from; j < to; j += j + count <= s->m ? count : 1) {
        const int all = j + count <= s->m; /* else one weight, several times */
        vec sum[SUMS] = {{0}};
        float y[SUMS];

        add_products(type, rows, s->packed, s->w + j * row, all ? row : 0, s->k, sum);
        *(quad *)y = sums_of(sum[0], sum[1], sum[2], sum[3]);
        *(quad *)(y + 4) = sums_of(sum[4], sum[5], sum[6], sum[7]);
        for (size_t i = 0; i < (all ? count : 1) && j + i < to; ++i)
            for (size_t r = 0; r < s->rows; ++r) s->y[r * s->m + j + i] = y[i * (size_t)rows + r];
    }
}

INNER void few(const struct mf_steady *s, enum mf_type type, size_t from, size_t to)
{
    switch (mf_steady_block(s)) {
    case 1: few_columns(s, type, 1, from, to); break;
    case 2: few_columns(s, type, 2, from, to); break;
    default: few_columns(s, type, 4, from, to); break;
    }
}

/* -- many rows -- */

/* Numbers [first, first + n) of the weights of columns [column, end), in threes: [threes][n / L][WEIGHTS][L]. */
struct panel {
    size_t column, end, first, n, vectors;
    float *at;
    float *part; /* [blocks][threes][ROWS][WEIGHTS][L] sums of the chunks before */
};

INNER const char *weight_at(const struct mf_steady *s, size_t column, size_t first)
{
    return s->w + ((column < s->m ? column : s->m - 1) * s->k + first) * mf_type_bytes(s->type);
}

INNER void fill(const struct mf_steady *s, enum mf_type type, const struct panel *p)
{
    const size_t size = mf_type_bytes(type), whole = p->n / L * L;
    float *to = p->at;

    for (size_t j = p->column; j < p->end; j += WEIGHTS, to += p->vectors * WEIGHTS * L)
        for (size_t t = 0; t < WEIGHTS; ++t) {
            const char *w = weight_at(s, j + t, p->first);

            for (size_t i = 0; i < whole; i += L) {
                __builtin_prefetch(w + AHEAD + i * size);
                *(vec *)(to + i * WEIGHTS + t * L) = load(type, w + i * size);
            }
            if (whole < p->n) *(vec *)(to + whole * WEIGHTS + t * L) = load_rest(type, w + whole * size, p->n - whole);
        }
}

/* A block of rows and three weights. */
INNER void add_block(const float *x, const float *w, size_t vectors, vec sum[ROWS][WEIGHTS])
{
    for (size_t i = 0; i < vectors; ++i, x += ROWS * L, w += WEIGHTS * L) {
        vec weight[WEIGHTS];

#pragma GCC unroll 3
        for (int j = 0; j < WEIGHTS; ++j) {
            weight[j] = *(const vec *)(w + j * L);
            HOLD(weight[j]);
        }
#pragma GCC unroll 4
        for (int r = 0; r < ROWS; ++r) {
            vec row = *(const vec *)(x + r * L);

            HOLD(row);
#pragma GCC unroll 3
            for (int j = 0; j < WEIGHTS; ++j) sum[r][j] += row * weight[j];
        }
    }
}

INNER void put_block(const struct mf_steady *s, size_t row, size_t column, size_t end, vec sum[ROWS][WEIGHTS])
{
    const vec *all = &sum[0][0];
    float y[ROWS * WEIGHTS];

    for (int i = 0; i < ROWS * WEIGHTS; i += 4) *(quad *)(y + i) = sums_of(all[i], all[i + 1], all[i + 2], all[i + 3]);
    for (size_t r = 0; r < ROWS && row + r < s->rows; ++r)
        for (size_t j = 0; j < WEIGHTS && column + j < end; ++j)
            s->y[(row + r) * s->m + column + j] = y[r * WEIGHTS + j];
}

/* Copies one by one stay in registers; those of a whole array take as long as many products. */
INNER void begin_sums(const float *part, int goes_on, vec sum[ROWS][WEIGHTS])
{
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 3
        for (int j = 0; j < WEIGHTS; ++j) sum[r][j] = goes_on ? *(const vec *)(part + (r * WEIGHTS + j) * L) : (vec){0};
}

INNER void keep_sums(vec sum[ROWS][WEIGHTS], float *part)
{
#pragma GCC unroll 4
    for (int r = 0; r < ROWS; ++r)
#pragma GCC unroll 3
        for (int j = 0; j < WEIGHTS; ++j) *(vec *)(part + (r * WEIGHTS + j) * L) = sum[r][j];
}

static void multiply_panel(const struct mf_steady *s, const struct panel *p)
{
    const int last = p->first + p->n == s->k;
    const size_t blocks = mf_steady_blocks(s);
    float *part = p->part;

    for (size_t b = 0; b < blocks; ++b) {
        const float *w = p->at;

        for (size_t j = p->column; j < p->end; j += WEIGHTS, w += p->vectors * WEIGHTS * L) {
            vec sum[ROWS][WEIGHTS];

            begin_sums(part, p->first > 0, sum);
            add_block(s->packed + b * ROWS * s->step + p->first * ROWS, w, p->vectors, sum);
            if (last)
                put_block(s, b * ROWS, j, p->end, sum);
            else
                keep_sums(sum, part);
            part += ROWS * WEIGHTS * L;
        }
    }
}

INNER void many(const struct mf_steady *s, enum mf_type type, size_t from, size_t to, float *memory)
{
    struct panel p = {.at = memory, .part = memory + PANEL * (s->step < CHUNK ? s->step : (size_t)CHUNK)};

    for (p.column = from; p.column < to; p.column += PANEL) {
        p.end = p.column + PANEL < to ? p.column + PANEL : to;
        for (p.first = 0; p.first < s->k; p.first += CHUNK) {
            p.n = p.first + CHUNK < s->k ? (size_t)CHUNK : s->k - p.first;
            p.vectors = (p.n + L - 1) / L;
            fill(s, type, &p);
            multiply_panel(s, &p);
        }
    }
}

/* -- the text -- */

INNER void multiply_as(const struct mf_steady *s, enum mf_type type, size_t from, size_t to, float *panel)
{
    if (s->rows <= MF_STEADY_FEW)
        few(s, type, from, to);
    else
        many(s, type, from, to, panel);
}

static void multiply(const struct mf_steady *s, size_t from, size_t to, float *panel)
{
    switch (s->type) {
    case MF_BF16: multiply_as(s, MF_BF16, from, to, panel); break;
    case MF_F16: multiply_as(s, MF_F16, from, to, panel); break;
    case MF_I8: multiply_as(s, MF_I8, from, to, panel); break;
    default: multiply_as(s, MF_F32, from, to, panel); break;
    }
}

static void pack(const struct mf_steady *s, size_t from, size_t to)
{
    const size_t rows = mf_steady_block(s);
    const vec zero = {0};

    for (size_t b = from; b < to; ++b)
        for (size_t r = 0; r < rows; ++r) {
            const float *x = s->x + (b * rows + r) * s->k;
            float *y = s->packed + b * rows * s->step + r * L;
            const size_t n = b * rows + r < s->rows ? s->k : 0, whole = n / L * L;
            size_t i = 0;

            for (; i < whole; i += L) *(vec *)(y + i * rows) = *(const vec *)(x + i);
            for (; i < s->step; i += L)
                *(vec *)(y + i * rows) = i < n ? load_rest(MF_F32, (const char *)(x + i), n - i) : zero;
        }
}

const struct mf_steady_text MF_STEADY_TEXT = {pack, multiply};
