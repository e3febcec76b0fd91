/* Attributes that compile a function for several instruction sets; the program chooses one when it starts. */
#ifndef MF_KERNELS_CPU_FAST_H
#define MF_KERNELS_CPU_FAST_H

/** FAST: compiled for three instruction sets; the loops are simple enough for the compiler to vectorise. WIDE: with
 * all extensions of the sets, such as 16-bit integers in vectors of 512 bits. */
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
#define MF_CPU_FAST __attribute__((target_clones("avx512f", "avx2", "default")))
#define MF_CPU_WIDE __attribute__((target_clones("arch=x86-64-v4", "arch=x86-64-v3", "default")))
#else
#define MF_CPU_FAST
#define MF_CPU_WIDE
#endif

#endif
