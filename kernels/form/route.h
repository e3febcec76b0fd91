/* Draws and limits of a router. */
#ifndef MF_KERNELS_FORM_ROUTE_H
#define MF_KERNELS_FORM_ROUTE_H

#include <math.h>

#include "kernels/form/draw.h"

/* Normal noise of logits. It is the same whatever rank, list or device computes it. */
struct mf_noise {
    struct mf_draw draw;
    float deviation;
};

/** @p number: [MF_NUMBERS] */
MF_HD struct mf_noise mf_noise_of(const struct mf_attr *attr, const double *number)
{
    struct mf_noise noise;

    noise.draw = mf_draw_of(attr, number);
    noise.deviation = (float)attr->deviation;
    return noise;
}

/** Two normal numbers from two random words. */
MF_HD void mf_noise_pair(const struct mf_noise *noise, const uint32_t word[2], float pair[2])
{
    const float radius = noise->deviation * sqrtf(-2 * logf(((float)(word[0] >> 8) + 1) * 0x1p-24f));
    const float angle = 6.28318531f * ((float)(word[1] >> 8) * 0x1p-24f);

    pair[0] = radius * cosf(angle);
    pair[1] = radius * sinf(angle);
}

/** The noise of numbers [4 quad, 4 quad + 4) of sample @p s of the call. */
MF_HD void mf_noise_four(const struct mf_noise *noise, uint64_t s, uint64_t quad, float four[4])
{
    uint32_t word[4];

    mf_draw_words(&noise->draw, s, quad, word);
    mf_noise_pair(noise, word, four);
    mf_noise_pair(noise, word + 2, four + 2);
}

/** The number, within its sample, of the noise of an expert in row @p r. The id @p expert does not depend on where the
 * expert stands; without ids it is its place. Numbers of samples differ up to 2^18 rows and 2^16 ids. */
MF_HD uint64_t mf_noise_index(const struct mf_attr *attr, size_t r, uint64_t expert)
{
    const size_t each = attr->sample_rows > 0 ? attr->sample_rows : 1;

    return (uint64_t)(r % each) << 16 | expert;
}

/** Does row @p r belong to a sample of the batch? The others are blank. */
MF_HD int mf_route_counts(const struct mf_attr *attr, const double *number, size_t r)
{
    return (double)(r / (attr->sample_rows > 0 ? attr->sample_rows : 1)) < number[MF_NUMBER_SAMPLES];
}

/** The place of an expert among those that permute sorts rows by; -1: it is none of them. */
MF_HD int32_t mf_route_own(const struct mf_attr *attr, int32_t choice)
{
    const int32_t own = choice - (int32_t)attr->first_expert;

    return own < 0 || (size_t)own >= attr->experts ? -1 : own;
}

/** How many of @p slots slots one of @p experts experts takes at most. @p factor: 0: all. */
MF_HD size_t mf_route_capacity(double factor, size_t slots, size_t experts)
{
    const double most = ceil(factor * (double)slots / (double)experts);

    if (!(factor > 0) || most >= (double)slots) return slots;
    return most > 1 ? (size_t)most : 1;
}

#endif
