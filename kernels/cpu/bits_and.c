/* See bits_and.h. AVX2 has no population count: vectors are added bitwise by carry-save adders (Harley and Seal), so
 * that only every sixteenth is counted, by byte look-ups. */
#include "kernels/cpu/bits_and.h"

#include <stdlib.h>
#include <string.h>

static int64_t and_baseline(const uint64_t *a, const uint64_t *b, size_t words)
{
    int64_t total = 0;

    for (size_t i = 0; i < words; ++i) total += __builtin_popcountll(a[i] & b[i]);
    return total;
}

#ifdef __x86_64__
#include <immintrin.h>

__attribute__((target("popcnt"))) static int64_t and_popcnt(const uint64_t *a, const uint64_t *b, size_t words)
{
    int64_t total = 0;

    for (size_t i = 0; i < words; ++i) total += __builtin_popcountll(a[i] & b[i]);
    return total;
}

#define AVX2 __attribute__((target("avx2,popcnt"), always_inline)) static inline

/** Bits set in each 64-bit lane. */
AVX2 __m256i count_lanes(__m256i v)
{
    const __m256i table = _mm256_setr_epi8(0, 1, 1, 2, 1, 2, 2, 3, 1, 2, 2, 3, 2, 3, 3, 4, 0, 1, 1, 2, 1, 2, 2, 3, 1, 2,
                                           2, 3, 2, 3, 3, 4);
    const __m256i nibble = _mm256_set1_epi8(15);
    __m256i low = _mm256_shuffle_epi8(table, _mm256_and_si256(v, nibble));
    __m256i high = _mm256_shuffle_epi8(table, _mm256_and_si256(_mm256_srli_epi16(v, 4), nibble));

    return _mm256_sad_epu8(_mm256_add_epi8(low, high), _mm256_setzero_si256());
}

/** A row of full adders: returns the carries of *sum + b + c and leaves the sums in *sum. */
AVX2 __m256i add3(__m256i *sum, __m256i b, __m256i c)
{
    __m256i half = _mm256_xor_si256(*sum, b);
    __m256i carry = _mm256_or_si256(_mm256_and_si256(*sum, b), _mm256_and_si256(half, c));

    *sum = _mm256_xor_si256(half, c);
    return carry;
}

AVX2 __m256i both(const uint64_t *a, const uint64_t *b)
{
    return _mm256_and_si256(_mm256_loadu_si256((const __m256i *)a), _mm256_loadu_si256((const __m256i *)b));
}

/** Adds four vectors into digits[0] (weight 1) and digits[1] (weight 2); returns the carries of weight 4. */
AVX2 __m256i add4(__m256i *ones, __m256i *twos, const uint64_t *a, const uint64_t *b)
{
    __m256i first = add3(ones, both(a, b), both(a + 4, b + 4));
    __m256i second = add3(ones, both(a + 8, b + 8), both(a + 12, b + 12));

    return add3(twos, first, second);
}

__attribute__((target("avx2,popcnt"))) static int64_t and_avx2(const uint64_t *a, const uint64_t *b, size_t words)
{
    __m256i ones = _mm256_setzero_si256(), twos = ones, fours = ones, eights = ones, lanes = ones;
    size_t i = 0;

    for (; i + 64 <= words; i += 64) {
        __m256i four = add4(&ones, &twos, a + i, b + i);
        __m256i eight = add3(&fours, four, add4(&ones, &twos, a + i + 16, b + i + 16));

        four = add4(&ones, &twos, a + i + 32, b + i + 32);
        four = add3(&fours, four, add4(&ones, &twos, a + i + 48, b + i + 48));
        lanes = _mm256_add_epi64(lanes, count_lanes(add3(&eights, eight, four)));
    }
    lanes = _mm256_add_epi64(_mm256_slli_epi64(lanes, 1), count_lanes(eights));
    lanes = _mm256_add_epi64(_mm256_slli_epi64(lanes, 1), count_lanes(fours));
    lanes = _mm256_add_epi64(_mm256_slli_epi64(lanes, 1), count_lanes(twos));
    lanes = _mm256_add_epi64(_mm256_slli_epi64(lanes, 1), count_lanes(ones));
    for (; i + 4 <= words; i += 4) lanes = _mm256_add_epi64(lanes, count_lanes(both(a + i, b + i)));

    __m128i pair = _mm_add_epi64(_mm256_castsi256_si128(lanes), _mm256_extracti128_si256(lanes, 1));
    int64_t total = _mm_cvtsi128_si64(pair) + _mm_extract_epi64(pair, 1);

    for (; i < words; ++i) total += __builtin_popcountll(a[i] & b[i]);
    return total;
}

__attribute__((target("avx512f,avx512vpopcntdq"))) static int64_t and_avx512(const uint64_t *a, const uint64_t *b,
                                                                             size_t words)
{
    __m512i even = _mm512_setzero_si512(), odd = even;
    size_t i = 0;

    for (; i + 16 <= words; i += 16) {
        __m512i v = _mm512_and_si512(_mm512_loadu_si512(a + i), _mm512_loadu_si512(b + i));
        __m512i w = _mm512_and_si512(_mm512_loadu_si512(a + i + 8), _mm512_loadu_si512(b + i + 8));

        even = _mm512_add_epi64(even, _mm512_popcnt_epi64(v));
        odd = _mm512_add_epi64(odd, _mm512_popcnt_epi64(w));
    }
    for (; i < words; i += 8) {
        __mmask8 mask = (__mmask8)(words - i >= 8 ? 255 : (1U << (words - i)) - 1);
        __m512i v = _mm512_and_si512(_mm512_maskz_loadu_epi64(mask, a + i), _mm512_maskz_loadu_epi64(mask, b + i));

        even = _mm512_add_epi64(even, _mm512_popcnt_epi64(v));
    }
    return _mm512_reduce_add_epi64(_mm512_add_epi64(even, odd));
}

static int has_avx512(void) { return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512vpopcntdq"); }
#endif

mf_bits_and *mf_bits_and_form(size_t i)
{
    mf_bits_and *forms[4] = {NULL};
    size_t count = 0;

#ifdef __x86_64__
    if (has_avx512()) forms[count++] = and_avx512;
    if (__builtin_cpu_supports("avx2")) forms[count++] = and_avx2;
    if (__builtin_cpu_supports("popcnt")) forms[count++] = and_popcnt;
#endif
    forms[count++] = and_baseline;
    return i < count ? forms[i] : NULL;
}

mf_bits_and *mf_bits_and_find(void)
{
    const char *isa = getenv("MESOFORGE_ISA");

    if (isa && strcmp(isa, "baseline") == 0) return and_baseline;
#ifdef __x86_64__
    if (isa && strcmp(isa, "avx2") == 0 && __builtin_cpu_supports("avx2")) return and_avx2;
#endif
    return mf_bits_and_form(0);
}
