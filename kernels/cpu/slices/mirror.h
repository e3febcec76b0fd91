/* Symmetric matrices in blocks of 8 x 8. Copies one triangle of a matrix to the other, and adds a matrix to its
 * transpose. */
#ifndef MF_KERNELS_CPU_MIRROR_H
#define MF_KERNELS_CPU_MIRROR_H

#include <stddef.h>

enum { MF_MIRROR = 16 /* rows of a call; calls for different rows may run at the same time */ };

/**
 * Writes rows @p i .. i + MF_MIRROR - 1 of to [n][n] from column i on. Writes the same columns from row i on, too. Each
 * element is each * sum. sum has n columns. It is known on and above the diagonal. In columns from @p end on (a
 * multiple of eight, or n) it is known below it, too.
 */
void mf_cpu_mirror_out(size_t n, size_t end, double each, const double *sum, size_t i, double *to);

/** The same rows and columns of to [n][width] = each * (from + its transpose), from [n][n]; 0 after column n. */
void mf_cpu_mirror_add(size_t n, size_t width, double each, const double *from, size_t i, float *to);

#endif
