/* Blocks of rows that ranks exchange: all to all, with counts of their own. */
#ifndef MF_TESTS_TRADE_CASE_H
#define MF_TESTS_TRADE_CASE_H

#include <stddef.h>

/* Where blocks begin; @p apart: from the last to the first, with gaps. Returns where all end. */
static inline size_t place_blocks(int ranks, const size_t *count, int apart, size_t *at)
{
    size_t sum = 0;

    for (int k = 0; k < ranks; ++k) {
        const int r = apart ? ranks - 1 - k : k;

        at[r] = sum;
        sum += count[r] + (apart ? 3 : 0);
    }
    return sum;
}

#endif
