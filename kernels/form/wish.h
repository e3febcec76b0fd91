/* A token from logits. Probabilities are whole numbers, so that sums have the same value in any order. See
 * kernels/net/text.c. */
#ifndef MF_KERNELS_FORM_WISH_H
#define MF_KERNELS_FORM_WISH_H

#include "kernels/form/soft.h"
#include "kernels/net/kept.h"
#include "src/base/philox.h"
#include "src/base/streams.h"

/** Each row has its wishes. */
struct mf_wish {
    float temperature, part; /* 0: the largest logit; top-p, 1 or more: all */
    float penalty;           /* of tokens that came before; 1, or not above 0: none */
    int32_t request, before; /* so many came before */
    int32_t most;            /* top-k, 0 or less: all */
    uint32_t word;           /* a random one of the seed and the position */
};

/** @p wishes [rows][MF_PICK_WISHES], @p numbers [rows][MF_PICK_NUMBERS]. */
MF_HD struct mf_wish mf_wish_of(const float *wishes, const int32_t *numbers, size_t row)
{
    const float *real = wishes + MF_PICK_WISHES * row;
    const int32_t *number = numbers + MF_PICK_NUMBERS * row;
    const uint64_t seed = (uint64_t)(uint32_t)number[4] << 32 | (uint32_t)number[1];
    struct mf_wish wish;
    uint32_t four[4];

    mf_philox_at(seed, MF_STREAM_PICK, (uint32_t)number[2], four);
    wish.temperature = real[0];
    wish.part = real[1];
    wish.penalty = real[2];
    wish.most = number[0];
    wish.before = number[2];
    wish.request = number[3];
    wish.word = four[0];
    return wish;
}

/** Is it the largest logit, @p top, that is wanted, or nothing else possible? */
MF_HD int mf_wish_is_plain(const struct mf_wish *wish, float top)
{
    return !(wish->temperature > 0) || top == INFINITY || top == -INFINITY;
}

MF_HD int mf_wish_repels(const struct mf_wish *wish)
{
    return wish->penalty > 0 && (wish->penalty < 1 || wish->penalty > 1);
}

/** The logit of a token that came before. */
MF_HD float mf_wish_again(const struct mf_wish *wish, float x) { return x < 0 ? x * wish->penalty : x / wish->penalty; }

/** A number for each logit, in the order of the logits. Not a number is the least. */
MF_HD uint32_t mf_pick_key(float x)
{
    const float plain = x + 0.0f; /* -0 is 0 */
    uint32_t bits;

    if (x != x) return 0;
    memcpy(&bits, &plain, sizeof bits);
    return bits >> 31 ? ~bits : bits | 0x80000000u;
}

/** The probability of a logit, times a constant: 2^40 for the largest, @p top. */
MF_HD uint64_t mf_wish_weight(const struct mf_wish *wish, float x, float top)
{
    const float y = (x - top) / wish->temperature;

    return y != y ? 0 : (uint64_t)(mf_soft_exp(y) * 1099511627776.0f);
}

/** How much of @p total the tokens before the last one must stay below: top-p. */
MF_HD uint64_t mf_wish_limit(const struct mf_wish *wish, uint64_t total)
{
    const double wanted = (double)wish->part * (double)total;

    if (!(wish->part < 1) || wanted >= (double)total) return total;
    return wanted < 1 ? 1 : (uint64_t)wanted;
}

/** A random number below @p n. */
MF_HD uint64_t mf_wish_draw(const struct mf_wish *wish, uint64_t n)
{
    return wish->word * (n >> 32) + (wish->word * (n & 0xffffffffu) >> 32);
}

#endif
