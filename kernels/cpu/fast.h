/* Functions that are there for several instruction sets. */
#ifndef MF_KERNELS_CPU_FAST_H
#define MF_KERNELS_CPU_FAST_H

/** Compiled for three instruction sets, chosen when the program starts. Its loops are simple enough to vectorise. */
#if defined(__x86_64__) && defined(__OPTIMIZE__) && !defined(__SANITIZE_ADDRESS__)
#define MF_CPU_FAST __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define MF_CPU_FAST
#endif

#endif
