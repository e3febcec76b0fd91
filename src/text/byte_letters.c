/* See byte_letters.h. */
#include "src/text/byte_letters.h"

#include "src/text/unicode.h"

/* Has a byte its own letter? */
static int is_visible(uint32_t byte)
{
    return (byte >= '!' && byte <= '~') || (byte >= 0xA1 && byte <= 0xAC) || (byte >= 0xAE && byte <= 0xFF);
}

/* Bytes that have not, in front of this one. */
static uint32_t hidden_before(uint32_t byte)
{
    if (byte <= 0x20) return byte;
    if (byte <= 0xA0) return 0x21 + byte - 0x7F;
    return 0x21 + 0x22; /* 0xAD, the soft hyphen */
}

uint32_t mf_byte_letter(unsigned char byte) { return is_visible(byte) ? byte : 0x100 + hidden_before(byte); }

/* The byte of a letter; -1: it is the letter of none. */
static int letter_byte(uint32_t letter)
{
    if (letter < 0x100) return is_visible(letter) ? (int)letter : -1;
    if (letter <= 0x120) return (int)letter - 0x100;
    if (letter <= 0x142) return (int)letter - 0x121 + 0x7F;
    return letter == 0x143 ? 0xAD : -1;
}

void mf_bytes_letters(const char *bytes, size_t n, struct mf_bytes *to)
{
    for (size_t i = 0; i < n; ++i) mf_bytes_point(to, mf_byte_letter((unsigned char)bytes[i]));
}

void mf_letters_bytes(const char *letters, size_t n, struct mf_bytes *to)
{
    const size_t begin = to->count;

    for (size_t i = 0, size; i < n; i += size) {
        const int byte = letter_byte(mf_point(letters + i, &size));
        const char c = (char)byte;

        if (byte < 0) {
            to->count = begin;
            mf_bytes_put(to, letters, n);
            return;
        }
        mf_bytes_put(to, &c, 1);
    }
}
