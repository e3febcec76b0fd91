/* GPT-2's letters for bytes: tokens of bytes are stored as texts of these letters. */
#ifndef MF_TEXT_BYTE_LETTERS_H
#define MF_TEXT_BYTE_LETTERS_H

#include <stddef.h>
#include <stdint.h>

#include "src/text/buffer.h"

/** The letter of a byte: itself if it is visible in Latin-1, else one of the 68 letters from U+0100. */
uint32_t mf_byte_letter(unsigned char byte);

/** Appends the letters of bytes. */
void mf_bytes_letters(const char *bytes, size_t n, struct mf_bytes *to);

/** Appends the bytes of letters. A text with another letter is appended as it stands. */
void mf_letters_bytes(const char *letters, size_t n, struct mf_bytes *to);

#endif
