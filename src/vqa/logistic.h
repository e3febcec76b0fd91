/* Multinomial logistic regression of few columns, for what somebody guesses who does not look at an image.
 * Rule: the result is the same on every rank and any number of threads. All functions are local. */
#ifndef MF_VQA_LOGISTIC_H
#define MF_VQA_LOGISTIC_H

#include <stddef.h>
#include <stdint.h>

/** Rows of which few columns are not 0. */
struct mf_logistic_rows {
    size_t n, columns, answers;
    size_t width;           /* entries of a row */
    const uint32_t *column; /* [n][width]; a row has a column once, unless its value is 0 */
    const double *value;    /* [n][width] */
    const int32_t *answer;  /* [n], 0 .. answers-1 */
};

/**
 * Finds the weights w [columns][answers] that make
 *
 *   sum over rows (log sum over answers exp(x.w_k) - x.w_y) + ridge / 2 |w|^2
 *
 * smallest, where ridge > 0: there is one minimum. Newton steps whose equations conjugate gradients solve (Nocedal &
 * Wright 2006, algorithm 7.1). Ends where no derivative is above 1e-6 times the rows, or after 40 steps.
 * Cost: some thousand times n width answers. MF_MEMORY.
 */
int mf_logistic_fit(const struct mf_logistic_rows *rows, double ridge, double *weight);

/** The most probable answer of a row; of equal ones the first. */
size_t mf_logistic_best(const struct mf_logistic_rows *rows, size_t row, const double *weight);

#endif
