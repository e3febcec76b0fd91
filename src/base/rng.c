/* See rng.h. */
#include "src/base/rng.h"

#include <math.h>

#include "src/base/philox.h"

void mf_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    mf_philox_rounds(counter, key, out);
}

void mf_random4(uint64_t seed, uint32_t stream, uint64_t index, uint32_t out[4])
{
    mf_philox_at(seed, stream, index, out);
}

static double unit(uint32_t high, uint32_t low)
{
    uint64_t bits = (((uint64_t)high << 32) | low) >> 11;

    return (double)bits * 0x1p-53;
}

double mf_random_uniform(uint64_t seed, uint32_t stream, uint64_t index)
{
    uint32_t r[4];

    mf_random4(seed, stream, index, r);
    return unit(r[0], r[1]);
}

double mf_random_normal(uint64_t seed, uint32_t stream, uint64_t index)
{
    uint32_t r[4];

    mf_random4(seed, stream, index, r);
    return sqrt(-2 * log(1 - unit(r[0], r[1]))) * cos(2 * 3.14159265358979323846 * unit(r[2], r[3]));
}
