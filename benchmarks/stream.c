/* Memory bandwidth of this machine: the triad a = b + s * c on arrays far larger than the caches.
 *   bench_stream [threads = 1] [MiB per array = 256]     prints TSV: threads, GB/s
 * Best of ten; counts 24 bytes for each element (two read, one written; a write-allocate is not counted). */
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>

enum { TIMES = 10 };

struct triad {
    size_t n;
    int threads;
    double *a, *b, *c;
};

/** Every thread touches first what it will work on. */
static void fill(const struct triad *t)
{
#pragma omp parallel for num_threads(t->threads) schedule(static)
    for (size_t i = 0; i < t->n; ++i) {
        t->a[i] = 0;
        t->b[i] = (double)i;
        t->c[i] = 2;
    }
}

/** Seconds of one pass. */
static double pass(const struct triad *t, double s)
{
    double start = omp_get_wtime();

#pragma omp parallel for simd num_threads(t->threads) schedule(static)
    for (size_t i = 0; i < t->n; ++i) t->a[i] = t->b[i] + s * t->c[i];
    return omp_get_wtime() - start;
}

static int measure(const struct triad *t)
{
    double least = 1e30;

    fill(t);
    for (int k = 0; k < TIMES; ++k) {
        double took = pass(t, k);

        if (took < least) least = took;
    }
    if (t->a[t->n - 1] != (double)(t->n - 1) + 2 * (TIMES - 1)) return 1;
    printf("%d\t%.2f\n", t->threads, 24e-9 * (double)t->n / least);
    return 0;
}

int main(int argc, char **argv)
{
    size_t mib = argc > 2 ? strtoul(argv[2], NULL, 10) : 256;
    struct triad t = {.n = mib * 131072, .threads = argc > 1 ? atoi(argv[1]) : 1};
    int status = 1;

    t.a = malloc(t.n * sizeof *t.a);
    t.b = malloc(t.n * sizeof *t.b);
    t.c = malloc(t.n * sizeof *t.c);
    if (t.a && t.b && t.c && t.n && t.threads > 0) status = measure(&t);
    free(t.c);
    free(t.b);
    free(t.a);
    return status;
}
