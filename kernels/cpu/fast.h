/* Functions that are there for several instruction sets. */
#ifndef MF_KERNELS_CPU_FAST_H
#define MF_KERNELS_CPU_FAST_H

/** Compiled for three instruction sets, chosen when the program starts. Its loops are simple enough to vectorise.
 * WIDE: with all that comes with them, as whole numbers of 16 bits in vectors of 512. */
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
#define MF_CPU_FAST __attribute__((target_clones("avx512f", "avx2", "default")))
#define MF_CPU_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MF_CPU_FAST
#define MF_CPU_WIDE
#endif

#endif
