/* Random orders without memory: a seeded permutation of 0 .. n - 1, whose places are computed one by one.
 * Rule: the order depends on (seed, epoch, n) alone, so any number of ranks and readers visits the same samples. */
#ifndef MF_BASE_ORDER_H
#define MF_BASE_ORDER_H

#include <stdint.h>

/**
 * The item at @p position < n of the order of @p epoch. A Feistel network, with Philox as its round function, permutes
 * the numbers below the next power of four above n. A result of n or more is permuted again: four tries on average, at
 * most.
 */
uint64_t mf_order(uint64_t seed, uint64_t epoch, uint64_t n, uint64_t position);

#endif
