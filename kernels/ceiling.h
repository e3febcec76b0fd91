/* Measured upper bounds of this machine's cores: memory bandwidth and arithmetic rate.
 * Rule: rates of kernels are reported as a share of these. */
#ifndef MF_KERNELS_CEILING_H
#define MF_KERNELS_CEILING_H

#include <stddef.h>

/**
 * Memory bandwidth [bytes/s] of a[i] = b[i] + s c[i], averaged over about @p seconds. Three streams are counted;
 * write-allocate traffic is not. a, b, c: [n], filled by mf_ceiling_touch(). Choose n larger than the caches.
 */
double mf_ceiling_memory(int threads, double seconds, size_t n, float *a, const float *b, const float *c);

/** Rate at which an array is read [bytes/s], averaged over about @p seconds. a: [n] is filled by mf_ceiling_touch().
 * Choose n larger than the caches. */
double mf_ceiling_read(int threads, double seconds, size_t n, const float *a);

/** Fills the arrays, each thread its own part, so that first touch places it near its core. */
void mf_ceiling_touch(int threads, size_t n, float *a, float *b, float *c);

/** Arithmetic rate [additions and multiplications per second] in 32 bits, in registers, of @p threads threads. Averaged
 * over about @p seconds. */
double mf_ceiling_flops(int threads, double seconds);

#endif
