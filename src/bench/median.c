/* See median.h. */
#include "src/bench/median.h"

#include <stdlib.h>

static int ascending(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

double mf_bench_median(double *sample, size_t n)
{
    qsort(sample, n, sizeof *sample, ascending);
    return n % 2 ? sample[n / 2] : (sample[n / 2 - 1] + sample[n / 2]) / 2;
}
