/* See slice.h. */
#include "kernels/cpu/slice.h"

#include <math.h>
#include <omp.h>
#include <string.h>

#include "src/base/err.h"

/* A run of RUN numbers is added in WAYS floats, each every WAYS-th number, and these then in double. */
enum { WAYS = 16, RUN = 256 };

#define ALWAYS static inline __attribute__((always_inline))

int mf_cpu_slices_check(const struct mf_slice_desc *desc)
{
    const size_t least = desc->nu < desc->nv ? desc->nu : desc->nv;

    if (desc->levels >= 1 && desc->levels <= MF_PYRAMID_MAX && least >> (desc->levels - 1)) return MF_OK;
    return mf_fail(MF_USAGE, "a slice of %zu x %zu pixels has no %zu pyramid levels", desc->nu, desc->nv, desc->levels);
}

static struct mf_cpu_group group_of(const struct mf_view *x, const struct mf_view *g, size_t first, size_t lanes)
{
    struct mf_cpu_group group = {first, lanes, x->nu, x->nv, x->base + first * x->ss, x->su, x->sv, NULL, 0, 0, 0};

    if (g && g->base) {
        group.g = g->base + first * g->ss;
        group.gu = g->su;
        group.gv = g->sv;
        group.gs = g->ss;
    }
    return group;
}

/* The descriptors here are symmetric in rows and columns: contiguous columns are read as rows. */
static struct mf_view turned(const struct mf_view *x, int turn)
{
    if (!turn) return *x;
    return (struct mf_view){x->base, x->count, x->nv, x->nu, x->ss, x->sv, x->su};
}

static size_t lanes_for(const struct mf_view *x, size_t most, int threads)
{
    const size_t share = (x->count + (size_t)threads - 1) / (size_t)threads, lanes = (share + 7) / 8 * 8;

    if (x->sv == 1 || x->ss != 1) return 1;
    return lanes < most ? lanes : most;
}

void mf_cpu_groups(struct mf_queue *q, size_t lanes, const struct mf_view *x, const struct mf_view *g,
                   void (*work)(void *args, const struct mf_cpu_group *group, int thread), void *args)
{
    const int turn = x->sv != 1 && x->ss != 1, threads = mf_cpu_threads(q, x->count * x->nu * x->nv);
    const struct mf_view from = turned(x, turn), to = g ? turned(g, turn) : (struct mf_view){.base = NULL};
    const size_t most = lanes_for(&from, lanes, threads), groups = (from.count + most - 1) / most;

    MF_ASSERT(from.sv == 1 || from.ss == 1);
    if (threads == 1 || groups == 1) {
        for (size_t i = 0; i < from.count; i += most) {
            struct mf_cpu_group group = group_of(&from, &to, i, from.count - i < most ? from.count - i : most);

            work(args, &group, 0);
        }
        return;
    }
#pragma omp parallel for num_threads(threads) schedule(dynamic, 1)
    for (size_t k = 0; k < groups; ++k) {
        const size_t i = k * most;
        struct mf_cpu_group group = group_of(&from, &to, i, from.count - i < most ? from.count - i : most);

        work(args, &group, omp_get_thread_num());
    }
}

/* -- sums along a row -- */

ALWAYS float term_of(enum mf_cpu_term term, struct mf_jump jump, float p, float q)
{
    return term == MF_CPU_VALUE ? p : term == MF_CPU_HARD ? mf_jump_hard(p - q) : mf_jump_soft(jump, p - q);
}

ALWAYS double fold(const float *way)
{
    double half[WAYS / 2];

    for (size_t w = 0; w < WAYS / 2; ++w) half[w] = (double)way[w] + (double)way[w + WAYS / 2];
    for (size_t n = WAYS / 4; n; n /= 2)
        for (size_t w = 0; w < n; ++w) half[w] += half[w + n];
    return half[0];
}

ALWAYS void sum_one(enum mf_cpu_term term, struct mf_jump jump, size_t n, const float *p, const float *q, double *sum)
{
    for (size_t from = 0; from < n; from += RUN) {
        const size_t to = n - from < RUN ? n : from + RUN;
        float way[WAYS] = {0};
        size_t i = from;

        for (; i + WAYS <= to; i += WAYS) {
#pragma omp simd
            for (size_t w = 0; w < WAYS; ++w) way[w] += term_of(term, jump, p[i + w], q[i + w]);
        }
        for (size_t w = 0; i + w < to; ++w) way[w] += term_of(term, jump, p[i + w], q[i + w]);
        *sum += fold(way);
    }
}

/* The same for every lane: fold() and sum_one() with a loop over lanes inside. */
ALWAYS void fold_lanes(size_t lanes, float way[WAYS][MF_CPU_LANES], double *sum)
{
    double half[WAYS / 2][MF_CPU_LANES];

    for (size_t w = 0; w < WAYS / 2; ++w)
        for (size_t s = 0; s < lanes; ++s) half[w][s] = (double)way[w][s] + (double)way[w + WAYS / 2][s];
    for (size_t n = WAYS / 4; n; n /= 2)
        for (size_t w = 0; w < n; ++w)
            for (size_t s = 0; s < lanes; ++s) half[w][s] += half[w + n][s];
    for (size_t s = 0; s < lanes; ++s) sum[s] += half[0][s];
}

ALWAYS void sum_lanes(enum mf_cpu_term term, struct mf_jump jump, size_t n, size_t lanes, size_t stride, const float *p,
                      const float *q, double *sum)
{
    for (size_t from = 0; from < n; from += RUN) {
        const size_t to = n - from < RUN ? n : from + RUN;
        float way[WAYS][MF_CPU_LANES];

        memset(way, 0, sizeof way);
        for (size_t i = from; i < to; ++i) {
            float *to_way = way[(i - from) % WAYS];

#pragma omp simd
            for (size_t s = 0; s < lanes; ++s) to_way[s] += term_of(term, jump, p[i * stride + s], q[i * stride + s]);
        }
        fold_lanes(lanes, way, sum);
    }
}

ALWAYS void sum_any(enum mf_cpu_term term, struct mf_jump jump, size_t n, size_t lanes, size_t stride, const float *p,
                    const float *q, double *sum)
{
    if (stride == 1)
        sum_one(term, jump, n, p, q, sum);
    else if (lanes == MF_CPU_LANES)
        sum_lanes(term, jump, n, MF_CPU_LANES, stride, p, q, sum);
    else
        sum_lanes(term, jump, n, lanes, stride, p, q, sum);
}

MF_CPU_FAST static void sum_value(struct mf_jump jump, size_t n, size_t lanes, size_t stride, const float *p,
                                  const float *q, double *sum)
{
    sum_any(MF_CPU_VALUE, jump, n, lanes, stride, p, q, sum);
}

MF_CPU_FAST static void sum_hard(struct mf_jump jump, size_t n, size_t lanes, size_t stride, const float *p,
                                 const float *q, double *sum)
{
    sum_any(MF_CPU_HARD, jump, n, lanes, stride, p, q, sum);
}

MF_CPU_FAST static void sum_soft(struct mf_jump jump, size_t n, size_t lanes, size_t stride, const float *p,
                                 const float *q, double *sum)
{
    sum_any(MF_CPU_SOFT, jump, n, lanes, stride, p, q, sum);
}

void mf_cpu_row_sum(enum mf_cpu_term term, struct mf_jump jump, size_t n, size_t lanes, size_t stride, const float *p,
                    const float *q, double *sum)
{
    switch (term) {
    case MF_CPU_VALUE: sum_value(jump, n, lanes, stride, p, q, sum); break;
    case MF_CPU_HARD: sum_hard(jump, n, lanes, stride, p, q, sum); break;
    case MF_CPU_SOFT: sum_soft(jump, n, lanes, stride, p, q, sum); break;
    }
}

/* -- comparison and gradient rows -- */

void mf_cpu_compare(const struct mf_slice_task *task, size_t levels, size_t s, const double *value, double *slope)
{
    const double scale = task->scale ? task->scale[s] : 1.0;
    double sum = 0.0;

    for (size_t l = 0; l < levels; ++l) {
        const double w = task->weight[l], e = w * (value[l] - (double)task->target[l]);

        sum += task->power == 1 ? fabs(e) : e * e;
        if (slope) slope[l] = scale * w * (task->power == 1 ? (double)((e > 0) - (e < 0)) : 2.0 * e);
        if (task->values) task->values[s * levels + l] = (float)value[l];
    }
    if (task->sum) task->sum[s] = sum;
}

MF_CPU_FAST static void add_rows(size_t n, size_t lanes, const float *restrict row, float *restrict g, size_t stride)
{
    for (size_t i = 0; i < n; ++i) {
#pragma omp simd
        for (size_t s = 0; s < lanes; ++s) g[i * stride + s] += row[i * lanes + s];
    }
}

void mf_cpu_row_add(const struct mf_cpu_group *group, size_t n, const float *row, float *g)
{
    const size_t lanes = group->lanes;

    if (lanes == 1 && group->gv == 1)
        add_rows(1, n, row, g, 1);
    else if (lanes > 1 && group->gs == 1)
        add_rows(n, lanes, row, g, group->gv);
    else
        for (size_t i = 0; i < n; ++i)
            for (size_t s = 0; s < lanes; ++s) g[i * group->gv + s * group->gs] += row[i * lanes + s];
}
