/* Published check values of CRC-32C (RFC 3720 B.4), in one piece and in several; long ones bit by bit. */
#include "src/base/crc.h"

#include <string.h>

#include "tests/check.h"

static uint32_t bit_by_bit(const unsigned char *at, size_t count)
{
    uint32_t crc = ~0u;

    for (; count; --count) {
        crc ^= *at++;
        for (int bit = 0; bit < 8; ++bit) crc = crc & 1 ? crc >> 1 ^ 0x82F63B78u : crc >> 1;
    }
    return ~crc;
}

/* All bytes are looked at once, after those of before. */
static int looks(const unsigned char *at, size_t count, uint32_t is)
{
    struct mf_crc_look look = {.sum = 100, .any = 64}, wanted = look;

    for (size_t i = 0; i < count; ++i) {
        wanted.sum += at[i];
        wanted.any |= at[i];
    }
    return mf_crc32c_look(0, at, count, &look) == is && look.sum == wanted.sum && look.any == wanted.any;
}

/* Every length around those that a processor takes at once, from any address, whole and parted. Some bytes have bits
 * that others have not. */
static void long_ones(void)
{
    static unsigned char bytes[1200];
    uint32_t state = 5, is;

    for (size_t i = 0; i < sizeof bytes; ++i)
        bytes[i] = (unsigned char)((state = state * 1664525u + 1013904223u) >> 24 & (i % 600 == 599 ? 255 : 3));
    for (size_t n = 0; n + 3 < sizeof bytes; ++n) {
        is = bit_by_bit(bytes + 3, n);
        CHECK(mf_crc32c(0, bytes + 3, n) == is);
        CHECK(looks(bytes + 3, n, is));
        CHECK(mf_crc32c(mf_crc32c(0, bytes + 3, n / 3), bytes + 3 + n / 3, n - n / 3) == is);
    }
}

int main(void)
{
    unsigned char bytes[32];

    CHECK(mf_crc32c(0, "123456789", 9) == 0xE3069283u);
    CHECK(mf_crc32c(mf_crc32c(0, "1234", 4), "56789", 5) == 0xE3069283u);
    memset(bytes, 0, sizeof bytes);
    CHECK(mf_crc32c(0, bytes, sizeof bytes) == 0x8A9136AAu);
    memset(bytes, 255, sizeof bytes);
    CHECK(mf_crc32c(0, bytes, sizeof bytes) == 0x62A8AB43u);
    for (unsigned i = 0; i < sizeof bytes; ++i) bytes[i] = (unsigned char)i;
    CHECK(mf_crc32c(0, bytes, sizeof bytes) == 0x46DD794Eu);
    CHECK(mf_crc32c(0, bytes, 0) == 0);
    long_ones();
    return failures != 0;
}
