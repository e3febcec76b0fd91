/* S2 of all slices of an N^3 volume in three directions, loss and gradient, L = 16, one level: both engines, and beside
 * them one bare forward transform (FFTW, real to complex, per slice, MEASURE) of the same slices. Rounds alternate.
 *
 *   bench_corr [N [threads [lag]]]       default 64 2 16; prints tab-separated values, the least and the median time;
 *   GFLOP/s counts four real two-dimensional transforms per slice, 2.5 n^2 log2 n^2 each, one for the bare row */
#include <fftw3.h>
#include <math.h>
#include <omp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/slices/corr.h"
#include "kernels/cpu/slices/lanes.h"
#include "src/base/err.h"

enum { MOST_ROUNDS = 301, ROWS = 3 };

struct problem {
    size_t n, lag;
    int threads;
    float *x, *g, *target;
    double *sum;
    struct mf_arena *arena;
    struct mf_queue *queue;
    const struct mf_corr_engine *engine[2];
    struct mf_slice_plan *plan[2];
    fftwf_plan bare[3];
    fftwf_complex *out; /* of each thread */
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static struct mf_view view(const struct problem *p, float *base, int normal)
{
    const size_t n = p->n, stride[3] = {n * n, n, 1};

    return (struct mf_view){base, n, n, n, stride[normal], normal == 0 ? n : n * n, normal == 2 ? n : 1};
}

static int setup(struct problem *p)
{
    const size_t n = p->n, side = 2 * p->lag - 1, half = n / 2 + 1;
    struct mf_slice_desc desc = {.nu = n, .nv = n, .lag = p->lag, .levels = 1, .count_max = n, .periodic = 1};

    p->x = aligned_alloc(64, n * n * n * sizeof(float));
    p->g = aligned_alloc(64, n * n * n * sizeof(float));
    p->target = malloc(side * side * sizeof(float));
    p->sum = malloc(n * sizeof(double));
    p->out = fftwf_malloc((size_t)p->threads * n * half * sizeof *p->out);
    for (int d = 0; d < 3; ++d) {
        const struct mf_view v = view(p, p->x, d);
        fftwf_iodim dims[2] = {{(int)n, (int)v.su, (int)half}, {(int)n, (int)v.sv, 1}};

        p->bare[d] = fftwf_plan_guru_dft_r2c(2, dims, 0, NULL, p->x, p->out, FFTW_MEASURE | FFTW_UNALIGNED);
    }
    srand(1);
    for (size_t i = 0; i < n * n * n; ++i) p->x[i] = (float)rand() / (float)RAND_MAX;
    memset(p->g, 0, n * n * n * sizeof(float));
    for (size_t i = 0; i < side * side; ++i) p->target[i] = 0.3f;
    if (mf_arena_open(&p->arena, mf_backend_cpu.mem, 0) != MF_OK) return 1;
    if (mf_backend_cpu.queue_open(&p->queue, 0, p->threads, 0, p->arena, p->arena) != MF_OK) return 1;
    p->engine[0] = mf_corr_lanes();
    p->engine[1] = &mf_corr_fftw;
    for (int e = 0; e < 2; ++e)
        if (mf_corr_plan(p->queue, &desc, p->engine[e], &p->plan[e]) != MF_OK) return 1;
    return 0;
}

static void run(struct problem *p, int row)
{
    for (int d = 0; d < 3; ++d) {
        const struct mf_view v = view(p, p->x, d);
        const double weight = 1;

        if (row < 2) {
            mf_corr_cpu.eval(
                p->plan[row],
                &(struct mf_slice_task){
                    .x = v, .g = view(p, p->g, d), .target = p->target, .weight = &weight, .power = 2, .sum = p->sum});
            continue;
        }
#pragma omp parallel for num_threads(p->threads) schedule(static)
        for (size_t s = 0; s < p->n; ++s)
            fftwf_execute_dft_r2c(p->bare[d], v.base + s * v.ss,
                                  p->out + (size_t)omp_get_thread_num() * p->n * (p->n / 2 + 1));
    }
}

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

int main(int argc, char **argv)
{
    struct problem p = {.n = argc > 1 ? (size_t)atol(argv[1]) : 64,
                        .threads = argc > 2 ? atoi(argv[2]) : 2,
                        .lag = argc > 3 ? (size_t)atol(argv[3]) : 16};
    static double ms[ROWS][MOST_ROUNDS];
    const double n = (double)p.n, flops = 3 * n * 4 * 2.5 * n * n * 2 * log2(n);
    size_t rounds = p.n <= 64 ? MOST_ROUNDS : p.n <= 128 ? 61 : p.n <= 256 ? 11 : 5;

    if (setup(&p)) return 1;
    for (size_t i = 0; i < rounds; ++i)
        for (int row = 0; row < ROWS; ++row) {
            const double start = now();

            run(&p, row);
            ms[row][i] = 1e3 * (now() - start);
        }
    printf("name\tsize\tthreads\tms\tmedian_ms\tGFLOP/s\n");
    for (int row = 0; row < ROWS; ++row) {
        qsort(ms[row], rounds, sizeof(double), by_value);
        printf("%s\t%zu\t%d\t%.3f\t%.3f\t%.1f\n", row < 2 ? p.engine[row]->name : "bare_r2c", p.n, p.threads,
               ms[row][0], ms[row][rounds / 2], (row < 2 ? 1 : 0.25) * flops / ms[row][0] * 1e-6);
    }
    for (int e = 0; e < 2; ++e) mf_corr_cpu.free(p.plan[e]);
    mf_backend_cpu.queue_close(p.queue);
    mf_arena_close(p.arena);
    for (int d = 0; d < 3; ++d) fftwf_destroy_plan(p.bare[d]);
    fftwf_free(p.out);
    free(p.x), free(p.g), free(p.target), free(p.sum);
    return 0;
}
