/* See crc.h: the processor's instruction where it has one, else one table. */
#include "src/base/crc.h"

#include <pthread.h>
#include <string.h>

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
#endif

uint32_t mf_crc32c(uint32_t crc, const void *bytes, size_t count)
{
#ifdef __x86_64__
    if (__builtin_cpu_supports("sse4.2")) return ~by_instruction(~crc, bytes, count);
#endif
    return ~by_table(~crc, bytes, count);
}
