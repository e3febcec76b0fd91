/* Speed of the pointwise kernels of the cpu back end, beside the copy bandwidth of the same threads.
 *   kernels_vec [n = 128] [threads = 2] [history = 6]      prints TSV: kernel, ms, GB/s, share of copy
 * GB/s counts what a pass must read and write at least, once. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "kernels/field.h"
#include "kernels/optim.h"
#include "kernels/slices/slices.h"
#include "src/base/err.h"
#include "src/base/rng.h"

enum { SLABS = 2 * MF_HISTORY_MAX + 8, TIMES = 7 };

#define SECONDS 0.3

struct bench {
    const struct mf_backend *be;
    struct mf_queue *q;
    struct mf_extent e;
    size_t n; /* voxels */
    size_t side;
    float *slab[SLABS];
    struct mf_history h;
    struct mf_slice_plan *plan[3];
    const struct mf_slice_ops *ops;
    double *out, *sum;
    double copy; /* bytes a second */
};

static double now(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

/* Best of many short runs: what the machine can do when nobody else has its cores. */
static void measure(struct bench *b, const char *name, double slabs, void (*work)(struct bench *))
{
    const double bytes = slabs * (double)b->n * sizeof(float), end = now() + SECONDS;
    double best = 1e30;
    int rounds = 1;

    work(b);
    for (int k = 0; k < TIMES || now() < end; ++k) {
        const double start = now();
        double took;

        for (int r = 0; r < rounds; ++r) work(b);
        took = (now() - start) / rounds;
        if (took < best) best = took;
        rounds = took < 0.001 ? (int)(0.001 / took) + 1 : 1;
    }
    if (b->copy == 0) b->copy = bytes / best;
    printf("%s\t%.3f\t%.2f\t%.2f\n", name, best * 1e3, bytes / best * 1e-9, bytes / best / b->copy);
}

static void run_copy(struct bench *b) { b->be->field->copy(b->q, b->n, b->slab[0], b->slab[1]); }
static void run_axpy(struct bench *b) { b->be->field->axpy(b->q, b->n, 1e-3f, b->slab[0], b->slab[2]); }
static void run_dot(struct bench *b) { b->be->field->dot(b->q, b->e, b->slab[0], b->slab[1], b->out); }
static void run_sum(struct bench *b) { b->be->field->sum(b->q, b->e, b->slab[0], b->out); }
static void run_broken(struct bench *b) { b->be->field->broken(b->q, b->n, b->slab[0]); }
static void run_project(struct bench *b) { b->be->field->project(b->q, b->e, b->slab[1]); }

static void run_project3(struct bench *b)
{
    struct mf_extent e = {3, b->e.planes / 3, b->e.plane};

    b->be->field->project(b->q, e, b->slab[1]);
}

static void run_guide(struct bench *b)
{
    float shift[1] = {0.01f};

    b->be->field->guide(b->q, b->e, 0.01f, shift, b->slab[0], b->slab[2], b->sum, b->out);
}

static void run_free_dots(struct bench *b)
{
    b->be->optim->free_dots(b->q, b->e, b->slab[0], b->slab[1], &b->h, b->out);
}

static void run_direction(struct bench *b)
{
    double c[2 * MF_HISTORY_MAX + 1];

    for (size_t i = 0; i < 2 * b->h.count + 1; ++i) c[i] = 0.1;
    b->be->optim->direction(b->q, b->e, b->slab[0], b->slab[1], &b->h, c, b->slab[2], b->out);
}

static void run_step(struct bench *b)
{
    b->be->optim->step(b->q, b->e, b->slab[0], b->slab[1], b->slab[2], 0.1, b->slab[3], b->out);
}

static void run_pair(struct bench *b)
{
    b->be->optim->pair(b->q, b->e, b->slab[0], b->slab[1], b->slab[2], b->slab[3], &b->h, b->slab[4], b->slab[5],
                       b->out);
}

static void run_adam(struct bench *b)
{
    const struct mf_rule_opts opts = {.rate = 0.01, .beta1 = 0.9, .beta2 = 0.999, .epsilon = 1e-8};
    const struct mf_rule rule = mf_rule_at(MF_RULE_ADAM, &opts, 3);

    b->be->optim->adapt(b->q, b->e, &rule, b->slab[1], b->slab[2], b->slab[3], b->slab[4]);
}

static struct mf_view view_of(const struct bench *b, int normal, float *base)
{
    const size_t n = b->side;

    if (normal == 0) return (struct mf_view){base, n, n, n, n * n, n, 1};
    if (normal == 1) return (struct mf_view){base, n, n, n, n, n * n, 1};
    return (struct mf_view){base, n, n, n, 1, n * n, n};
}

static void run_slices(struct bench *b, int normal)
{
    const float target[8] = {0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f, 0.2f};
    const double weight[8] = {1, 1, 1, 1, 1, 1, 1, 1};

    b->ops->eval(b->plan[normal], &(struct mf_slice_task){.x = view_of(b, normal, b->slab[0]),
                                                          .g = view_of(b, normal, b->slab[2]),
                                                          .target = target,
                                                          .weight = weight,
                                                          .power = 2,
                                                          .sum = b->sum});
}

static void run_z(struct bench *b) { run_slices(b, 0); }
static void run_y(struct bench *b) { run_slices(b, 1); }
static void run_x(struct bench *b) { run_slices(b, 2); }

/* Value and gradient of all slices: x is read, g read and written. */
static void slices(struct bench *b, const struct mf_slice_ops *ops, size_t levels, double smooth, const char *name)
{
    static void (*const run[3])(struct bench *) = {run_z, run_y, run_x};
    struct mf_slice_desc desc = {.nu = b->side, .nv = b->side, .levels = levels, .count_max = b->side, .periodic = 1};
    char title[64];

    desc.smooth = smooth;
    b->ops = ops;
    for (int normal = 0; normal < 3; ++normal) {
        if (mf_slices_plan(ops, b->q, &desc, &b->plan[normal]) != MF_OK)
            exit(fprintf(stderr, "%s\n", mf_err_text()) != 0);
        snprintf(title, sizeof title, "%s levels=%zu smooth=%g normal=%c", name, levels, smooth, "zyx"[normal]);
        measure(b, title, 3, run[normal]);
        ops->free(b->plan[normal]);
    }
}

static void vectors(struct bench *b)
{
    const double m = 2 * (double)b->h.count;

    measure(b, "copy", 2, run_copy);
    measure(b, "axpy", 3, run_axpy);
    measure(b, "dot", 2, run_dot);
    measure(b, "sum", 1, run_sum);
    measure(b, "broken", 1, run_broken);
    measure(b, "guide", 3, run_guide);
    measure(b, "project box", 2, run_project);
    measure(b, "project 3 phases", 2, run_project3);
    measure(b, "free_dots", 2 + m, run_free_dots);
    measure(b, "direction", 3 + m, run_direction);
    measure(b, "step", 4, run_step);
    measure(b, "pair", 6 + m, run_pair);
    measure(b, "adam", 7, run_adam);
}

int main(int argc, char **argv)
{
    struct bench b = {.be = &mf_backend_cpu, .side = argc > 1 ? strtoul(argv[1], NULL, 10) : 128};
    const int threads = argc > 2 ? atoi(argv[2]) : 2;
    struct mf_arena *arena;

    b.h.count = argc > 3 ? strtoul(argv[3], NULL, 10) : 6;
    b.n = b.side * b.side * b.side;
    b.e = (struct mf_extent){1, b.side, b.side * b.side};
    if (b.side < 8 || b.h.count > MF_HISTORY_MAX || mf_arena_open(&arena, b.be->mem, 0) != MF_OK ||
        b.be->queue_open(&b.q, 0, threads, 1, arena, arena) != MF_OK)
        return 2;
    for (size_t i = 0; i < 6 + 2 * b.h.count; ++i) {
        b.slab[i] = mf_arena_take(arena, b.n * sizeof(float), "bench");
        if (!b.slab[i]) return 5;
        for (size_t k = 0; k < b.n; ++k) b.slab[i][k] = (float)mf_random_uniform(1, (uint32_t)i, k % 4099);
    }
    for (size_t i = 0; i < b.h.count; ++i) {
        b.h.s[i] = b.slab[6 + 2 * i];
        b.h.y[i] = b.slab[7 + 2 * i];
    }
    b.out = calloc((3 * MF_HISTORY_MAX + 2) * b.side, sizeof *b.out);
    b.sum = calloc(b.side, sizeof *b.sum);
    if (!b.out || !b.sum) return 5;
    printf("kernel n=%zu threads=%d history=%zu\tms\tGB/s\tof copy\n", b.side, threads, b.h.count);
    vectors(&b);
    for (int soft = 0; soft < 2; ++soft)
        for (size_t levels = 1; levels <= 3; levels += 2)
            slices(&b, b.be->slices->vari, levels, soft ? 0.1 : 0.0, "vari");
    slices(&b, b.be->slices->frac, 1, 0, "frac");
    for (size_t i = 0; i < 6 + 2 * b.h.count; ++i) mf_arena_give(arena, b.slab[i]);
    b.be->queue_close(b.q);
    mf_arena_close(arena);
    free(b.out);
    free(b.sum);
    return 0;
}
