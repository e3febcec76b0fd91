/* Random orders without memory: a seeded permutation of 0 .. n - 1, of which every place is computed alone.
 * Rule: the order depends on (seed, epoch, n) alone, so any number of ranks and readers visits the same samples. */
#ifndef MF_BASE_ORDER_H
#define MF_BASE_ORDER_H

#include <stdint.h>

/**
 * The item at @p position < n of the order of @p epoch. A Feistel network permutes the next power of four, with Philox
 * as its round function; what lies outside of n is permuted again. Constant time: less than four tries on average.
 */
uint64_t mf_order(uint64_t seed, uint64_t epoch, uint64_t n, uint64_t position);

#endif
