/* The checksum CRC-32C (Castagnoli; RFC 3720 appendix B.4), which detects damaged bytes. */
#ifndef MF_BASE_CRC_H
#define MF_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/** Continues checksum @p crc (0: the start) with @p count more bytes. */
uint32_t mf_crc32c(uint32_t crc, const void *bytes, size_t count);

/** Properties of all bytes together, collected while the checksum is computed. Begins as {0}. */
struct mf_crc_look {
    uint64_t sum;
    uint8_t any; /* bits that at least one byte has set */
};

/** The same, and adds the bytes to @p look. */
uint32_t mf_crc32c_look(uint32_t crc, const void *bytes, size_t count, struct mf_crc_look *look);

#endif
