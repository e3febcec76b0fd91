/* Dropout. Number i of a sample is dropped or not whatever rank, list or device computes it; four neighbours share a
 * random call. */
#ifndef MF_KERNELS_FORM_DROP_H
#define MF_KERNELS_FORM_DROP_H

#include "kernels/form/hd.h"
#include "kernels/op.h"
#include "src/base/philox.h"
#include "src/base/streams.h"

struct mf_drop {
    uint64_t seed, sample; /* of the step; the first sample's number in the run */
    uint32_t stream, limit;
    float scale;
};

/** @p number: [MF_NUMBERS] */
MF_HD struct mf_drop mf_drop_of(const struct mf_attr *attr, const double *number)
{
    struct mf_drop drop;

    drop.seed = (uint64_t)number[MF_NUMBER_SEED] + ((uint64_t)number[MF_NUMBER_STEP] << 32);
    drop.sample = (uint64_t)number[MF_NUMBER_SAMPLE];
    drop.stream = MF_STREAM_DROPOUT + attr->stream;
    drop.limit = (uint32_t)(attr->rate * 4294967295.0);
    drop.scale = (float)(1 / (1 - attr->rate));
    return drop;
}

/** The random words of numbers [4 quad, 4 quad + 4) of sample @p s of the call. */
MF_HD void mf_drop_words(const struct mf_drop *drop, uint64_t s, uint64_t quad, uint32_t word[4])
{
    mf_philox_at(drop->seed, drop->stream, (drop->sample + s) << 32 | quad, word);
}

MF_HD float mf_drop_value(const struct mf_drop *drop, uint32_t word, float x)
{
    return word < drop->limit ? 0 : x * drop->scale;
}

#endif
