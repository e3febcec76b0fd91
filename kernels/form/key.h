/* Maps scores to unsigned integers of the same order, and extracts their digits for radix selection. */
#ifndef MF_KERNELS_FORM_KEY_H
#define MF_KERNELS_FORM_KEY_H

#include <float.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include "kernels/form/hd.h"

enum { MF_KEY_BITS = 32, MF_DIGIT_BITS = 11, MF_DIGITS = 3, MF_BINS = 1 << MF_DIGIT_BITS };

/** -INFINITY, and what is no number, takes no part. */
MF_HD int mf_key_takes_part(float score) { return score >= -FLT_MAX; }

/** Grows with the score; -0 is 0. */
MF_HD uint32_t mf_key_of(float score)
{
    const float positive = score == 0.0f ? 0.0f : score;
    uint32_t bits;

    memcpy(&bits, &positive, sizeof bits);
    return bits & 0x80000000u ? ~bits : bits | 0x80000000u;
}

/** Bits below digit @p digit: the first digits have MF_DIGIT_BITS bits, the last what is left. */
MF_HD int mf_digit_shift(int digit) { return digit + 1 < MF_DIGITS ? MF_KEY_BITS - (digit + 1) * MF_DIGIT_BITS : 0; }

/** The digits of a key up to and with @p digit, as a number; those before the first are 0. */
MF_HD uint32_t mf_digits_to(uint32_t key, int digit) { return digit < 0 ? 0 : key >> mf_digit_shift(digit); }

/** Width of a digit [bits]. */
MF_HD int mf_digit_width(int digit)
{
    return digit + 1 < MF_DIGITS ? (int)MF_DIGIT_BITS : MF_KEY_BITS - (MF_DIGITS - 1) * MF_DIGIT_BITS;
}

/** Scores that were chosen: those of a larger key than the last one's, and of equal ones those before index @p end. */
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
