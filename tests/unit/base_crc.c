/* Published check values of CRC-32C (RFC 3720 B.4), in one piece and in several. */
#include "src/base/crc.h"

#include <string.h>

#include "tests/check.h"

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
    return failures != 0;
}
