/* Products of rows of numbers in [0, 1] with a symmetric matrix, in 16-bit integers. This is twice as fast as float
 * where the cpu multiplies pairs of them and adds in 32 bits (avx512_vnni). avx2 needs two steps and is 1.5 times as
 * fast, except beside avx512f, whose floats are faster by the count of ports (not measured).
 * Rule: integer sums are exact; only rounding loses precision. Rows are rounded to 2^-14, up or down by a pattern that
 * averages out. A column of the matrix has its own step: the smallest with which no sum of MF_WHOLE_PAIRS pairs
 * overflows. Finer rows would leave fewer bits to the matrix. The diagonal, often much larger than the rest, stays in
 * float. Errors of single elements average out in sums. For gradients through 200 channels or more the relative error,
 * over all pixels in L2, is below 1e-5 far from the target (float: below 1e-6). Near the target both are at the level
 * of float rounding. Columns with no element above 1e-25, or with sums of 1e25 or more, have no scale in float and
 * count as 0 except for their diagonal. */
#ifndef MF_KERNELS_CPU_WHOLE_H
#define MF_KERNELS_CPU_WHOLE_H

#include <stddef.h>
#include <stdint.h>

enum {
    MF_WHOLE_PAIRS = 32, /* added up before they become floats */
    MF_WHOLE_LEAST = 200 /* channels: fewer are multiplied in float */
};

/** A matrix S [n][n]; sum over k of x[k] S[k][j] = inverse[j] * (the product in whole numbers) + half[j] + diagonal[j]
 * * x[j]. Rows are rounded to x * steps - steps / 2. */
struct mf_cpu_whole {
    size_t n, width; /* width: from row to row, of rows and of S */
    float steps;
    int32_t *pairs; /* [panels of 32 columns][(n + 1) / 2][32] elements 2k and 2k + 1 of columns */
    float *scale, *inverse, *half, *diagonal; /* [width] each */
};

/** Floats of memory that @p w needs, which has n and width; with memory, says what lies where. */
size_t mf_cpu_whole_place(struct mf_cpu_whole *w, float *memory);

/** An even number of steps, with which 0, 1 and @p often are whole, or nearly. */
float mf_cpu_whole_steps(float often);

/** Sets scale, .. of MF_LINE columns of S [n][width] from @p j on and takes their diagonal out of it; not @p whole:
 * such that a product in float is what counts, as beyond S to the end of the last panel. */
void mf_cpu_whole_columns(const struct mf_cpu_whole *w, int whole, size_t j, float *s);

/** The pairs @p k of all columns of S; after all columns. */
void mf_cpu_whole_pack(const struct mf_cpu_whole *w, const float *s, size_t k);

/** Rounds a row [width], the one with this @p number: places where numbers are rounded up differ from row to row.
 * Numbers below 0 count as 0, those above 1 as 1. */
void mf_cpu_whole_row(const struct mf_cpu_whole *w, size_t number, const float *x, int16_t *to);

/** c [12 rows][32 columns], @p width floats from row to row, = 12 rounded rows times 32 columns from @p j on. Sums of
 * MF_WHOLE_PAIRS pairs are exact and become floats, which are added in their order: every way has the same bits. */
typedef void mf_cpu_whole_tile(const struct mf_cpu_whole *w, const int16_t *rows, size_t j, float *c);

/** Those that are faster than floats and that this machine can run, the fastest first; behind the last NULL. */
mf_cpu_whole_tile *mf_cpu_whole_of(size_t i);

#endif
