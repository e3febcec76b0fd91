/* Philox-4x32-10 (Salmon et al., "Parallel random numbers: as easy as 1, 2, 3", SC11): a counter-based generator.
 * Rule: a number depends on (seed, stream, index) alone, so a field is the same on any number of ranks. */
#ifndef MF_BASE_RNG_H
#define MF_BASE_RNG_H

#include <stdint.h>

/** The bijection itself: out = philox4x32-10(counter, key). Known-answer vectors: Random123. */
void mf_philox(const uint32_t counter[4], const uint32_t key[2], uint32_t out[4]);

/** Four independent 32-bit numbers for global index @p index of stream @p stream. */
void mf_random4(uint64_t seed, uint32_t stream, uint64_t index, uint32_t out[4]);

/** Uniform in [0, 1), 53 bits. */
double mf_random_uniform(uint64_t seed, uint32_t stream, uint64_t index);

/** Standard normal (Box-Muller on the index's own four numbers). */
double mf_random_normal(uint64_t seed, uint32_t stream, uint64_t index);

#endif
