/* Products of rows of numbers in [0, 1] with a symmetric matrix, in 16-bit integers. This is twice as fast as float
 * where the cpu multiplies pairs of them and adds in 32 bits (avx512_vnni). With avx2 two steps are needed, and it is
 * 1.5 times as fast. Beside avx512f floats are faster, by the count of ports (not measured).
 * Rule: integer sums are exact; only rounding loses precision. Rows are rounded to 2^-14, up or down by a pattern that
 * averages out. A column of the matrix has its own step: the smallest with which no sum of MF_WHOLE_PAIRS pairs
 * overflows. Finer rows would leave fewer bits to the matrix. The diagonal, often much larger than the rest, stays in
 * float. Errors of single elements average out in sums. For gradients through 200 channels or more the relative error
 * over all pixels in L2 is small. Far from the target it is below 1e-5 (float: below 1e-6). Near the target both are at
 * the level of float rounding. Columns with no element above 1e-25, or with sums of 1e25 or more, have no scale in
 * float. They count as 0 except for their diagonal. */
#ifndef MF_KERNELS_CPU_WHOLE_H
#define MF_KERNELS_CPU_WHOLE_H

#include <stddef.h>
#include <stdint.h>

enum {
    MF_WHOLE_PAIRS = 32, /* summed before conversion to float */
    MF_WHOLE_LEAST = 200 /* channels: fewer are multiplied in float */
};

/** A matrix S [n][n]. The sum over k of x[k] S[k][j] is inverse[j] * (the integer product) + half[j] + diagonal[j] *
 * x[j]. Rows are rounded to x * steps - steps / 2. */
struct mf_cpu_whole {
    size_t n, width; /* width: from row to row, of rows and of S */
    float steps;
    int32_t *pairs; /* [panels of 32 columns][(n + 1) / 2][32] elements 2k and 2k + 1 of columns */
    float *scale, *inverse, *half, *diagonal; /* [width] each */
};

/** Floats of memory that @p w needs; n and width are set. With memory, sets the pointers of @p w. */
size_t mf_cpu_whole_place(struct mf_cpu_whole *w, float *memory);

/** An even number of steps by which 0, 1 and @p often become integers, or nearly so. */
float mf_cpu_whole_steps(float often);

/** Sets scale, inverse, half and diagonal of MF_LINE columns of S [n][width] from @p j on. Removes their diagonal from
 * S. Not @p whole: sets them so that only a product in float counts. The same holds beyond S up to the end of the last
 * panel. */
void mf_cpu_whole_columns(const struct mf_cpu_whole *w, int whole, size_t j, float *s);

/** Packs pair @p k of all columns of S. Call it after all columns are set. */
void mf_cpu_whole_pack(const struct mf_cpu_whole *w, const float *s, size_t k);

/** Rounds row @p number [width]. The positions where numbers are rounded up differ from row to row. Numbers are limited
 * to [0, 1]. */
void mf_cpu_whole_row(const struct mf_cpu_whole *w, size_t number, const float *x, int16_t *to);

/** c [12 rows][32 columns], @p width floats from row to row, = 12 rounded rows times 32 columns from @p j on. Sums of
 * MF_WHOLE_PAIRS pairs are exact. They become floats, which are added in order, so every variant has the same bits. */
typedef void mf_cpu_whole_tile(const struct mf_cpu_whole *w, const int16_t *rows, size_t j, float *c);

/** The variants that this machine can run and that are faster than floats, the fastest first; NULL after the last. */
mf_cpu_whole_tile *mf_cpu_whole_of(size_t i);

#endif
