/* See order.h. */
#include "src/base/order.h"

#include "src/base/rng.h"
#include "src/base/streams.h"

/* Halves of few bits need more rounds than the four of Luby and Rackoff. */
enum { ROUNDS = 8 };

uint64_t mf_order(uint64_t seed, uint64_t epoch, uint64_t n, uint64_t position)
{
    uint32_t key[4], out[4];
    unsigned half = 1;

    while (half < 32 && n >> (2 * half)) ++half;
    mf_random4(seed, MF_STREAM_ORDER, epoch, key);
    do {
        uint64_t left = position >> half, right = position & ((1ull << half) - 1);

        for (uint32_t round = 0; round < ROUNDS; ++round) {
            const uint64_t old = left;

            mf_philox((uint32_t[4]){(uint32_t)right, round, key[2], key[3]}, key, out);
            left = right;
            right = old ^ (out[0] & ((1ull << half) - 1));
        }
        position = left << half | right;
    } while (position >= n);
    return position;
}
