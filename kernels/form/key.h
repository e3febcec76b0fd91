/* Maps scores to unsigned integers of the same order, and extracts their digits for radix selection. */
#ifndef MF_KERNELS_FORM_KEY_H
#define MF_KERNELS_FORM_KEY_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/form/hd.h"

enum { MF_KEY_BITS = 32, MF_DIGIT_BITS = 11, MF_DIGITS = 3, MF_BINS = 1 << MF_DIGIT_BITS };

/** Does the score take part? -INFINITY and NaN do not. */
MF_HD int mf_key_takes_part(float score) { return score >= -FLT_MAX; }

/** A key that grows with the score; -0 counts as 0. */
MF_HD uint32_t mf_key_of(float score)
{
    const float positive = score == 0.0f ? 0.0f : score;
    uint32_t bits;

    memcpy(&bits, &positive, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/** Number of bits below digit @p digit. The first digits have MF_DIGIT_BITS bits, the last the remaining ones. */
MF_HD int mf_digit_shift(int digit) { return digit + 1 < MF_DIGITS ? MF_KEY_BITS - (digit + 1) * MF_DIGIT_BITS : 0; }

/** The digits of a key up to @p digit inclusive, as a number; 0 before the first. */
MF_HD uint32_t mf_digits_to(uint32_t key, int digit) { return digit < 0 ? 0 : key >> mf_digit_shift(digit); }

/** Width of a digit [bits]. */
MF_HD int mf_digit_width(int digit)
{
    return digit + 1 < MF_DIGITS ? (int)MF_DIGIT_BITS : MF_KEY_BITS - (MF_DIGITS - 1) * MF_DIGIT_BITS;
}

/** The choice: scores whose key is larger than `last`, and scores with that key before index `end`. */
struct mf_choice {
    uint32_t last;
    size_t end;
};

MF_HD int mf_key_chosen(struct mf_choice c, float score, size_t i)
{
    const uint32_t key = mf_key_of(score);

    return mf_key_takes_part(score) && (key > c.last || (key == c.last && i < c.end));
}

#endif
