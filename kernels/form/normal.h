/* Standard normal numbers from random words, by Box and Muller, "A note on the generation of random normal deviates",
 * 1958. There is no call and no branch, so loops become vector code, with the same bits on every core. */
#ifndef MF_KERNELS_FORM_NORMAL_H
#define MF_KERNELS_FORM_NORMAL_H

#include "kernels/form/draw.h"
#include "kernels/form/log.h"

/** The draws of an operation normal. @p number: [MF_NUMBERS] */
MF_HD struct mf_draw mf_normal_of(const struct mf_attr *attr, const double *number)
{
    struct mf_draw draw = mf_draw_of(attr, number);

    draw.stream = MF_STREAM_NORMAL + attr->stream;
    return draw;
}

/** Two normal numbers: radius sqrt(-2 log u), u in (0, 1] from the first word, and the second word / 2^32 turns. */
MF_HD void mf_normal_pair(uint32_t first, uint32_t second, float *one, float *other)
{
    const float u = (float)(int32_t)(first >> 1) * 0x1p-31f + 0x1p-32f;
    const float radius = sqrtf(-2 * mf_log(u));
    const uint32_t quarter = (second + 0x20000000u) >> 30;                       /* the nearest one */
    const float y = (float)(int32_t)(second - (quarter << 30)) * 1.46291808e-9f; /* 2 pi / 2^32: y within pi / 4 */
    const float z = y * y;
    const float s = y * (1 + z * (-1.0f / 6 + z * (1.0f / 120 + z * (-1.0f / 5040 + z * (1.0f / 362880)))));
    const float c = 1 + z * (-0.5f + z * (1.0f / 24 + z * (-1.0f / 720 + z * (1.0f / 40320 - z * (1.0f / 3628800)))));

    *one = radius * (quarter & 1 ? s : c) * (1 - (float)(int32_t)((quarter + 1) & 2));
    *other = radius * (quarter & 1 ? c : s) * (1 - (float)(int32_t)(quarter & 2));
}

/** Numbers [4 quad, 4 quad + 4) of sample @p s of the call. */
MF_HD void mf_normal_four(const struct mf_draw *draw, uint64_t s, uint64_t quad, float four[4])
{
    uint32_t word[4];

    mf_draw_words(draw, s, quad, word);
    mf_normal_pair(word[0], word[1], &four[0], &four[1]);
    mf_normal_pair(word[2], word[3], &four[2], &four[3]);
}

#endif
