/* What this machine's cores can do at best, measured: the ceilings that rates of kernels are compared with. */
#ifndef MF_KERNELS_CEILING_H
#define MF_KERNELS_CEILING_H

#include <stddef.h>

/**
 * Bytes per second of a[i] = b[i] + s c[i] (three streams; no share for the line that a write reads first), mean of
 * about @p seconds. a, b, c: [n], touched before by mf_ceiling_touch(); beyond the caches when n is.
 */
double mf_ceiling_memory(int threads, double seconds, size_t n, float *a, const float *b, const float *c);

/** Fills them, so that each thread's part lies near its core. */
void mf_ceiling_touch(int threads, size_t n, float *a, float *b, float *c);

/** Multiplications and additions per second, of 32 bits, in registers, of @p threads threads, mean of about @p seconds.
 */
double mf_ceiling_flops(int threads, double seconds);

#endif
