/* Numbers of 16 bits on cpu. */
#ifndef MF_KERNELS_CPU_NET_CONVERT_H
#define MF_KERNELS_CPU_NET_CONVERT_H

#include "kernels/backend.h"

/** Is it a type of 16 bits? */
static inline int mf_type_is_half(enum mf_type type) { return type == MF_BF16 || type == MF_F16; }

/** Converts from [n] of @p type to [n] f32, and the reverse, rounded to the nearest. The type is f32 or of 16 bits;
 * what is widened may be i8. */
void mf_cpu_widen(enum mf_type type, const void *from, float *to, size_t n);
void mf_cpu_narrow(enum mf_type type, const float *from, void *to, size_t n);

/** The same over the threads of the queue. */
void mf_cpu_widen_all(const struct mf_queue *queue, enum mf_type type, const void *from, float *to, size_t n);
void mf_cpu_narrow_all(const struct mf_queue *queue, enum mf_type type, const float *from, void *to, size_t n);

#endif
