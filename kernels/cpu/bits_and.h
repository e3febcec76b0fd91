/* Counting on packed fields on the cpu, and its innermost loop in the widest form this machine runs. */
#ifndef MF_KERNELS_CPU_BITS_AND_H
#define MF_KERNELS_CPU_BITS_AND_H

#include <stddef.h>
#include <stdint.h>

#include "kernels/bits.h"

extern const struct mf_bits_ops mf_bits_cpu;

/** Number of bits set in a[i] & b[i], i < words. No alignment needed. */
typedef int64_t mf_bits_and(const uint64_t *a, const uint64_t *b, size_t words);

/** The fastest form for this machine. MESOFORGE_ISA=baseline|avx2 asks for a narrower one. */
mf_bits_and *mf_bits_and_find(void);

/** All forms that this machine runs, for tests: number @p i from 0, NULL after the last. */
mf_bits_and *mf_bits_and_form(size_t i);

#endif
