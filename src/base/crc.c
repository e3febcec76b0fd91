/* See crc.h: uses the processor's instructions if it has them, else a table. */
#include "src/base/crc.h"

#include <pthread.h>
#include <string.h>
#ifdef __x86_64__
#include <immintrin.h>
#endif

static const uint32_t REVERSED = 0x82F63B78u; /* of the polynomial 0x1EDC6F41 */

static uint32_t table[256];

static void fill_table(void)
{
    for (uint32_t i = 0; i < 256; ++i) {
        uint32_t crc = i;

        for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ REVERSED : crc >> 1;
        table[i] = crc;
    }
}

static uint32_t by_table(uint32_t crc, const uint8_t *at, size_t count)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;

    pthread_once(&once, fill_table);
    for (; count; --count) crc = table[(crc ^ *at++) & 255] ^ crc >> 8;
    return crc;
}

static void look_at(const uint8_t *at, size_t count, struct mf_crc_look *look)
{
    uint64_t sum = 0;
    uint8_t any = 0;

    for (size_t i = 0; i < count; ++i) {
        sum += at[i];
        any |= at[i];
    }
    look->sum += sum;
    look->any |= any;
}

#ifdef __x86_64__
__attribute__((target("sse4.2"))) static uint32_t by_instruction(uint32_t crc, const uint8_t *at, size_t count)
{
    uint64_t sum = crc, word;

    for (; count >= sizeof word; count -= sizeof word, at += sizeof word) {
        memcpy(&word, at, sizeof word);
        sum = __builtin_ia32_crc32di(sum, word);
    }
    crc = (uint32_t)sum;
    for (; count; --count) crc = __builtin_ia32_crc32qi(crc, *at++);
    return crc;
}

/* ---- 256 bytes at once (Gopal and others, "Fast CRC computation for generic polynomials using PCLMULQDQ", 2009) ----
 */

enum { LANE = 64, LANES = 4, STRIDE = LANE * LANES };

/* Bits are reflected: the highest is x^0. */
static uint64_t power_of_x(unsigned n)
{
    uint32_t x = 0x80000000u;

    for (; n; --n) x = x & 1 ? x >> 1 ^ REVERSED : x >> 1;
    return (uint64_t)x << 32;
}

/* Factors that move 16 bytes so many bits ahead: one for their first half and one for their second half. A product of
 * reflected numbers is one place short. */
struct ahead {
    uint64_t first, second;
};

static struct ahead by_stride, by_lane;

static void fill_ahead(void)
{
    by_stride = (struct ahead){power_of_x(8 * STRIDE + 63), power_of_x(8 * STRIDE - 1)};
    by_lane = (struct ahead){power_of_x(8 * LANE + 63), power_of_x(8 * LANE - 1)};
}

#define WIDE __attribute__((target("avx512f,avx512bw,vpclmulqdq,sse4.2")))

WIDE static __m512i spread(const struct ahead *a)
{
    return _mm512_broadcast_i32x4(_mm_set_epi64x((long long)a->second, (long long)a->first));
}

WIDE static __m512i add_ahead(__m512i from, __m512i factors, __m512i to)
{
    const __m512i first = _mm512_clmulepi64_epi128(from, factors, 0x00);

    return _mm512_ternarylogic_epi64(first, _mm512_clmulepi64_epi128(from, factors, 0x11), to, 0x96);
}

/* Sum and union of the bytes of one register. */
struct wide_look {
    __m512i sum, any;
};

WIDE static __m512i look_wide(struct wide_look *look, const uint8_t *at)
{
    const __m512i some = _mm512_loadu_si512(at);

    look->sum = _mm512_add_epi64(look->sum, _mm512_sad_epu8(some, _mm512_setzero_si512()));
    look->any = _mm512_or_si512(look->any, some);
    return some;
}

WIDE static void end_look(const struct wide_look *wide, struct mf_crc_look *look)
{
    uint8_t any[LANE];

    _mm512_storeu_si512(any, wide->any);
    for (int i = 0; i < LANE; ++i) look->any |= any[i];
    look->sum += (uint64_t)_mm512_reduce_add_epi64(wide->sum);
}

/* @p count: a multiple of STRIDE, not 0. The products take the processor longer than all that is done beside them. */
WIDE static uint32_t by_lanes(uint32_t crc, const uint8_t *at, size_t count, struct mf_crc_look *look)
{
    const __m512i stride = spread(&by_stride), lane = spread(&by_lane);
    struct wide_look wide = {_mm512_setzero_si512(), _mm512_setzero_si512()};
    __m512i sum[LANES];
    uint8_t rest[LANE];

    for (int i = 0; i < LANES; ++i) sum[i] = look_wide(&wide, at + (size_t)i * LANE);
    sum[0] = _mm512_xor_si512(sum[0], _mm512_zextsi128_si512(_mm_cvtsi32_si128((int)crc)));
    while (count -= STRIDE) {
        at += STRIDE;
        for (int i = 0; i < LANES; ++i) sum[i] = add_ahead(sum[i], stride, look_wide(&wide, at + (size_t)i * LANE));
    }
    for (int i = 1; i < LANES; ++i) sum[i] = add_ahead(sum[i - 1], lane, sum[i]);
    _mm512_storeu_si512(rest, sum[LANES - 1]);
    end_look(&wide, look);
    return by_instruction(0, rest, LANE);
}

static uint32_t by_both(uint32_t crc, const uint8_t *at, size_t count, struct mf_crc_look *look)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    const size_t most = count / STRIDE * STRIDE;

    pthread_once(&once, fill_ahead);
    if (most) crc = by_lanes(crc, at, most, look);
    look_at(at + most, count - most, look);
    return by_instruction(crc, at + most, count - most);
}

static int has_lanes(void)
{
    return __builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
           __builtin_cpu_supports("vpclmulqdq");
}
#endif

uint32_t mf_crc32c_look(uint32_t crc, const void *bytes, size_t count, struct mf_crc_look *look)
{
#ifdef __x86_64__
    if (has_lanes()) return ~by_both(~crc, bytes, count, look);
#endif
    look_at(bytes, count, look);
    return mf_crc32c(crc, bytes, count);
}

uint32_t mf_crc32c(uint32_t crc, const void *bytes, size_t count)
{
#ifdef __x86_64__
    struct mf_crc_look unwanted = {0};

    if (has_lanes()) return ~by_both(~crc, bytes, count, &unwanted);
    if (__builtin_cpu_supports("sse4.2")) return ~by_instruction(~crc, bytes, count);
#endif
    return ~by_table(~crc, bytes, count);
}
