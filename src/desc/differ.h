/* Compares two rows of labels, eight at a time. Private to src/desc. */
#ifndef MF_DESC_DIFFER_H
#define MF_DESC_DIFFER_H

#include <stdint.h>
#include <string.h>

/** Sets bit 8 k for every k < 8 with a[k] != b[k] (little-endian, as the seals of files are). */
static inline uint64_t mf_differ8(const uint8_t *a, const uint8_t *b)
{
    const uint64_t low = 0x7f7f7f7f7f7f7f7fU;
    uint64_t x, y;

    memcpy(&x, a, 8);
    memcpy(&y, b, 8);
    x ^= y;
    return (((x & low) + low) | x) >> 7 & ~low >> 7;
}

/** Number of bits set. */
static inline size_t mf_differ8_count(uint64_t bits) { return (size_t)(bits * 0x0101010101010101U >> 56); }

/** Returns the first k and removes it. */
static inline size_t mf_differ8_next(uint64_t *bits)
{
    const size_t k = (size_t)__builtin_ctzll(*bits) / 8;

    *bits &= *bits - 1;
    return k;
}

#endif
