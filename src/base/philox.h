/* Philox-4x32-10 as text that gcc and nvcc both compile: see rng.h, which others include.
 * Rule: the numbers are the same on every device. */
#ifndef MF_BASE_PHILOX_H
#define MF_BASE_PHILOX_H

#include <stdint.h>

#ifdef __CUDACC__
#define MF_ANYWHERE static __host__ __device__ __forceinline__
#else
#define MF_ANYWHERE static inline
#endif

MF_ANYWHERE void mf_philox_rounds(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4])
{
    uint32_t c0 = counter[0], c1 = counter[1], c2 = counter[2], c3 = counter[3];
    uint32_t k0 = key[0], k1 = key[1];

    for (int round = 0; round < 10; ++round) {
        uint64_t p0 = (uint64_t)0xD2511F53u * c0, p1 = (uint64_t)0xCD9E8D57u * c2;
        uint32_t n0 = (uint32_t)(p1 >> 32) ^ c1 ^ k0, n2 = (uint32_t)(p0 >> 32) ^ c3 ^ k1;

        c1 = (uint32_t)p1;
        c3 = (uint32_t)p0;
        c0 = n0;
        c2 = n2;
        k0 += 0x9E3779B9u;
        k1 += 0xBB67AE85u;
    }
    out[0] = c0;
    out[1] = c1;
    out[2] = c2;
    out[3] = c3;
}

/** The same as mf_random4(). */
MF_ANYWHERE void mf_philox_at(uint64_t seed, uint32_t stream, uint64_t index, uint32_t out[4])
{
    const uint32_t counter[4] = {(uint32_t)index, (uint32_t)(index >> 32), stream, 0};
    const uint32_t key[2] = {(uint32_t)seed, (uint32_t)(seed >> 32)};

    mf_philox_rounds(counter, key, out);
}

#undef MF_ANYWHERE
#endif
