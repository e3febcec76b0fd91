/* CRC-32C (Castagnoli; RFC 3720 appendix B.4): what tells damaged bytes from sound ones. */
#ifndef MF_BASE_CRC_H
#define MF_BASE_CRC_H

#include <stddef.h>
#include <stdint.h>

/** The checksum of what @p crc is the checksum of (0: nothing), followed by @p count more bytes. */
uint32_t mf_crc32c(uint32_t crc, const void *bytes, size_t count);

#endif
