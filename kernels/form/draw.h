/* Draws of dropout and routers. A number of a sample gets the same random words whatever rank, list or device asks for
 * them. Four neighbours share a random call. */
#ifndef MF_KERNELS_FORM_DRAW_H
#define MF_KERNELS_FORM_DRAW_H

#include "kernels/form/hd.h"
#include "kernels/op.h"
#include "src/base/philox.h"
#include "src/base/streams.h"

struct mf_draw {
    uint64_t seed, sample; /* of the step; the first sample's number in the run */
    uint32_t stream;
};

/** @p number: [MF_NUMBERS] */
MF_HD uint64_t mf_draw_seed(const double *number)
{
    return (uint64_t)number[MF_NUMBER_SEED] + ((uint64_t)number[MF_NUMBER_STEP] << 32);
}

MF_HD struct mf_draw mf_draw_of(const struct mf_attr *attr, const double *number)
{
    struct mf_draw draw;

    draw.seed = mf_draw_seed(number);
    draw.sample = (uint64_t)number[MF_NUMBER_SAMPLE];
    draw.stream = MF_STREAM_DROPOUT + attr->stream;
    return draw;
}

/** The random words of numbers [4 quad, 4 quad + 4) of sample @p s of the call. */
MF_HD void mf_draw_words(const struct mf_draw *draw, uint64_t s, uint64_t quad, uint32_t word[4])
{
    mf_philox_at(draw->seed, draw->stream, (draw->sample + s) << 32 | quad, word);
}

#endif
