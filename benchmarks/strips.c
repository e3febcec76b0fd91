/* S2 and Variation of the slices that cut through slabs: a rank's strips of all of them (kernels/slices/strips.h)
 * beside its share of whole ones (kernels/slices/slices.h), with gradient, without what either sends. bench_strips [n =
 * 256] [ranks = 4] [L = 16] [threads = 1]     prints TSV: normal, way, ms (best and median of the turns) */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/slices/slices.h"
#include "kernels/slices/strips.h"
#include "src/base/err.h"
#include "src/base/rng.h"

enum { TURNS = 9, LEVELS = 12 };

struct bench {
    struct mf_queue *q;
    size_t n, rows, lag, levels;
    float *x, *g, *sums, *target;
    double *scale, *sum, weight[LEVELS];
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int by_size(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

static void report(const char *normal, const char *way, double *ms)
{
    qsort(ms, TURNS, sizeof *ms, by_size);
    printf("%s\t%s\t%.2f\t%.2f\n", normal, way, 1e3 * ms[0], 1e3 * ms[TURNS / 2]);
}

/* The first of the ranks' share of slices, one after the other. */
static void slices(struct bench *b, int x, double *seconds)
{
    const struct mf_slice_ops *ops[2] = {mf_backend_cpu.slices->corr, mf_backend_cpu.slices->vari};
    const size_t n = b->n, count = b->rows;
    const struct mf_slice_desc desc = {
        .nu = n, .nv = n, .lag = b->lag, .levels = b->levels, .count_max = count, .periodic = 1, .smooth = 0.1};
    struct mf_view vx = {b->x, count, n, n, x ? 1 : n, n * (x ? count : n), x ? count : 1}, vg = vx;
    struct mf_slice_plan *plan[2];

    if (!x) vx.su = count * n;
    vg = vx;
    vg.base = b->g;
    for (int t = 0; t < 2; ++t)
        if (mf_slices_plan(ops[t], b->q, &desc, &plan[t]) != MF_OK) exit(1);
    for (int i = -1; i < TURNS; ++i) {
        const double start = now();

        for (int t = 0; t < 2; ++t)
            ops[t]->eval(plan[t], &(struct mf_slice_task){.x = vx,
                                                          .g = vg,
                                                          .target = b->target,
                                                          .weight = b->weight,
                                                          .power = 2,
                                                          .scale = b->scale,
                                                          .sum = b->sum});
        if (i >= 0) seconds[i] = now() - start;
    }
    for (int t = 0; t < 2; ++t) ops[t]->free(plan[t]);
}

static void strips(struct bench *b, int x, double *seconds)
{
    const struct mf_strip_desc desc = {b->n, b->n, b->n, b->rows, b->lag, b->levels, 1, 0.1, 1, 1};
    const size_t reach = mf_strip_reach(b->lag);
    struct mf_strip_rows level[LEVELS];
    struct mf_strip_plan *plan;
    const struct mf_strip_task task = {.target = {b->target, b->target},
                                       .weight = {b->weight, b->weight},
                                       .power = 2,
                                       .scale = b->scale,
                                       .sum = {b->sum, b->sum}};

    if (mf_strip_cpu.plan(&mf_strip_cpu, b->q, &desc, &plan) != MF_OK) exit(1);
    for (size_t l = 0; l < b->levels; ++l) {
        const size_t rows = (b->rows >> l) + 2 * reach, plane = b->n * (b->n >> l);
        const float **row = calloc(rows, sizeof *row);

        for (size_t u = 0; u < rows; ++u) row[u] = b->x + u % (l ? 2 * b->rows : rows) * plane;
        level[l] = (struct mf_strip_rows){row, x ? 1 : b->n >> l, x ? b->n : 1};
    }
    for (int i = -1; i < TURNS; ++i) {
        const double start = now();

        mf_strip_cpu.values(plan, level, b->target, b->sums);
        mf_strip_cpu.compare(plan, &task, b->sums);
        mf_strip_cpu.gradient(plan, level, b->sums, b->g, b->n * b->n);
        if (i >= 0) seconds[i] = now() - start;
    }
    mf_strip_cpu.free(plan);
    for (size_t l = 0; l < b->levels; ++l) free((void *)(uintptr_t)level[l].row);
}

static size_t argument(int argc, char **argv, int i, size_t otherwise)
{
    return argc > i ? strtoul(argv[i], NULL, 10) : otherwise;
}

int main(int argc, char **argv)
{
    const size_t ranks = argument(argc, argv, 2, 4);
    struct bench b = {.n = argument(argc, argv, 1, 256), .lag = argument(argc, argv, 3, 16)};
    double seconds[2][TURNS];
    struct mf_arena *arena;
    size_t voxels;

    b.rows = b.n / ranks;
    for (b.levels = 1;
         b.levels < LEVELS && b.n >> b.levels >= 2 * b.lag - 1 && b.rows >> b.levels << b.levels == b.rows;)
        ++b.levels;
    voxels = (b.rows + 2 * b.lag) * b.n * b.n;
    if (mf_arena_open(&arena, NULL, 0) != MF_OK) return 1;
    if (mf_backend_cpu.queue_open(&b.q, 0, (int)argument(argc, argv, 4, 1), 0, arena, arena) != MF_OK) return 1;
    b.x = malloc(voxels * sizeof *b.x);
    b.g = calloc(voxels, sizeof *b.g);
    b.sums = calloc(mf_strip_sums(b.n, b.levels, b.lag), sizeof *b.sums);
    b.target = calloc(4 * b.levels * b.lag * b.lag, sizeof *b.target);
    b.scale = calloc(b.n, sizeof *b.scale);
    b.sum = calloc(b.n, sizeof *b.sum);
    for (size_t i = 0; i < voxels; ++i) b.x[i] = (float)mf_random_uniform(1, 1, i);
    for (size_t i = 0; i < b.levels; ++i) b.weight[i] = 1;
    for (size_t i = 0; i < b.n; ++i) b.scale[i] = 1;
    printf("normal\tway\tbest_ms\tmedian_ms\t# %zu^3, %zu ranks, L = %zu, %zu levels\n", b.n, ranks, b.lag, b.levels);
    for (int x = 0; x < 2; ++x) {
        slices(&b, x, seconds[0]);
        strips(&b, x, seconds[1]);
        report(x ? "x" : "y", "slices", seconds[0]);
        report(x ? "x" : "y", "strips", seconds[1]);
    }
    return 0;
}
