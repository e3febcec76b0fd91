/* See slice.h. */
#include "kernels/cpu/slices/slice.h"

#include <math.h>
#include <string.h>

#include "src/base/err.h"
#include "src/base/pulse.h"

/* About BAND numbers of some rows of at most COLUMNS are summed in WAYS floats. Column i goes to sum i % WAYS. These
 * sums are added in double. */
enum { WAYS = 16, BAND = 512, COLUMNS = 256 };

/* Values that are compared at a time, and how often as many before their losses are added. */
enum { PART = 1 << 15, PARTS = 32 };

#define ALWAYS static inline __attribute__((always_inline))

/* The group that begins with slice @p first. */
static struct mf_cpu_group group_of(const struct mf_view *x, const struct mf_view *g, size_t first, size_t wide)
{
    const size_t lanes = x->count - first < wide ? x->count - first : wide;
    struct mf_cpu_group group = {first, lanes, x->nu, x->nv, x->base + first * x->ss, x->su, x->sv, NULL,
                                 0,     0,     0,     wide};

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

    if (x->sv == 1 || x->ss != 1 || x->count == 0) return 1;
    if (most > x->count) most = x->count;
    return lanes < most ? lanes : most;
}

/* Groups of w lanes are at most one more than count / w, and no more than threads at a time. */
size_t mf_cpu_room(const struct mf_queue *q, size_t lanes, size_t count_max)
{
    const size_t wide = lanes < count_max ? lanes : count_max ? count_max : 1, threads = (size_t)q->threads;

    return threads * wide < count_max + wide ? threads * wide : count_max + wide - 1;
}

/* Threads take slots when they take their first group. */
static void deal(int threads, size_t wide, const struct mf_view *x, const struct mf_view *g,
                 void (*work)(void *args, const struct mf_cpu_group *group, size_t slot), void *args)
{
    const size_t groups = (x->count + wide - 1) / wide;
    size_t taken = 0;

#pragma omp parallel num_threads(threads)
    {
        size_t slot = groups;

#pragma omp for schedule(dynamic, 1)
        for (size_t k = 0; k < groups; ++k) {
            const struct mf_cpu_group group = group_of(x, g, k * wide, wide);

            mf_pulse_tell("slices");
            if (slot == groups) {
#pragma omp atomic capture
                slot = taken++;
            }
            work(args, &group, slot);
        }
    }
}

void mf_cpu_groups(struct mf_queue *q, size_t lanes, const struct mf_view *x, const struct mf_view *g,
                   void (*work)(void *args, const struct mf_cpu_group *group, size_t slot), void *args)
{
    const int turn = x->sv != 1 && x->ss != 1, threads = mf_cpu_threads(q, x->count * x->nu * x->nv);
    const struct mf_view from = turned(x, turn), to = g ? turned(g, turn) : (struct mf_view){.base = NULL};
    const size_t wide = lanes_for(&from, lanes, threads);

    if (x->count == 0) return;
    MF_ASSERT(from.sv == 1 || from.ss == 1);
    if (threads > 1 && from.count > wide) {
        deal(threads, wide, &from, &to, work, args);
        return;
    }
    for (size_t i = 0; i < from.count; i += wide) {
        const struct mf_cpu_group group = group_of(&from, &to, i, wide);

        mf_pulse_tell("slices");
        work(args, &group, 0);
    }
}

/* -- sums over a block of rows -- */

size_t mf_cpu_band(size_t n)
{
    const size_t columns = n < WAYS ? WAYS : n < COLUMNS ? n : COLUMNS, rows = BAND / columns;

    return rows < 2 ? 2 : rows / 2 * 2;
}

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

/* The sum that column i of n goes to. The columns of the last, incomplete group go to those sums that end the row. */
ALWAYS size_t way_of(size_t n, size_t i) { return i < n / WAYS * WAYS || n < WAYS ? i % WAYS : i - (n - WAYS); }

/* The last @p rest numbers of a row, as one more vector, those before them as 0. */
ALWAYS void band_tail(enum mf_cpu_term term, struct mf_jump jump, size_t n, size_t rest, const float *p, const float *q,
                      float *way)
{
    if (n < WAYS) {
        for (size_t w = 0; w < n; ++w) way[w] += term_of(term, jump, p[w], q[w]);
        return;
    }
#pragma omp simd
    for (int w = 0; w < WAYS; ++w) {
        const float t = term_of(term, jump, p[n - WAYS + (size_t)w], q[n - WAYS + (size_t)w]);

        way[w] += w >= WAYS - (int)rest ? t : 0.0f;
    }
}

/* Rows of at most COLUMNS, no more than a band of them. */
ALWAYS double band_one(enum mf_cpu_term term, struct mf_jump jump, size_t rows, size_t step, size_t n, const float *p,
                       const float *q)
{
    float way[WAYS] = {0};

    for (size_t r = 0; r < rows; ++r, p += step, q += step) {
        size_t i = 0;

        for (; i + WAYS <= n; i += WAYS) {
#pragma omp simd
            for (size_t w = 0; w < WAYS; ++w) way[w] += term_of(term, jump, p[i + w], q[i + w]);
        }
        if (i < n) band_tail(term, jump, n, n - i, p, q, way);
    }
    return fold(way);
}

/* The same for every lane: fold() and band_one() with a loop over lanes inside. */
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

ALWAYS void band_lanes(enum mf_cpu_term term, struct mf_jump jump, size_t rows, size_t step, size_t n, size_t lanes,
                       size_t stride, const float *p, const float *q, double *sum)
{
    float way[WAYS][MF_CPU_LANES];

    memset(way, 0, sizeof way);
    for (size_t r = 0; r < rows; ++r, p += step, q += step)
        for (size_t i = 0; i < n; ++i) {
            float *to = way[way_of(n, i)];

#pragma omp simd
            for (size_t s = 0; s < lanes; ++s) to[s] += term_of(term, jump, p[i * stride + s], q[i * stride + s]);
        }
    fold_lanes(lanes, way, sum);
}

ALWAYS void sum_any(enum mf_cpu_term term, struct mf_jump jump, const struct mf_cpu_block *b, const float *p,
                    const float *q, double *sum)
{
    const size_t band = mf_cpu_band(b->n);

    for (size_t r = 0; r < b->rows; r += band)
        for (size_t i = 0; i < b->n; i += COLUMNS) {
            const size_t rows = b->rows - r < band ? b->rows - r : band, n = b->n - i < COLUMNS ? b->n - i : COLUMNS;
            const size_t at = r * b->step + i * b->stride;

            if (b->stride == 1)
                *sum += band_one(term, jump, rows, b->step, n, p + at, q + at);
            else if (b->lanes == MF_CPU_LANES)
                band_lanes(term, jump, rows, b->step, n, MF_CPU_LANES, b->stride, p + at, q + at, sum);
            else
                band_lanes(term, jump, rows, b->step, n, b->lanes, b->stride, p + at, q + at, sum);
        }
}

MF_CPU_FAST static void sum_value(struct mf_jump jump, const struct mf_cpu_block *b, const float *p, const float *q,
                                  double *sum)
{
    sum_any(MF_CPU_VALUE, jump, b, p, q, sum);
}

MF_CPU_FAST static void sum_hard(struct mf_jump jump, const struct mf_cpu_block *b, const float *p, const float *q,
                                 double *sum)
{
    sum_any(MF_CPU_HARD, jump, b, p, q, sum);
}

MF_CPU_FAST static void sum_soft(struct mf_jump jump, const struct mf_cpu_block *b, const float *p, const float *q,
                                 double *sum)
{
    sum_any(MF_CPU_SOFT, jump, b, p, q, sum);
}

void mf_cpu_block_sum(enum mf_cpu_term term, struct mf_jump jump, const struct mf_cpu_block *block, const float *p,
                      const float *q, double *sum)
{
    switch (term) {
    case MF_CPU_VALUE: sum_value(jump, block, p, q, sum); break;
    case MF_CPU_HARD: sum_hard(jump, block, p, q, sum); break;
    case MF_CPU_SOFT: sum_soft(jump, block, p, q, sum); break;
    }
}

/* -- pyramids -- */

void mf_cpu_coarsen(size_t nu, size_t nv, const float *fine, float *coarse)
{
    for (size_t u = 0; u < nu / 2; ++u) {
        const float *a = fine + 2 * u * nv, *b = a + nv;

        for (size_t v = 0; v < nv / 2; ++v)
            coarse[u * (nv / 2) + v] = 0.25f * ((a[2 * v] + a[2 * v + 1]) + (b[2 * v] + b[2 * v + 1]));
    }
}

void mf_cpu_spread(size_t nu, size_t nv, float share, const float *coarse, float *fine)
{
    for (size_t u = 0; u < nu / 2 * 2; ++u)
        for (size_t v = 0; v < nv / 2 * 2; ++v) fine[u * nv + v] += share * coarse[u / 2 * (nv / 2) + v / 2];
}

/* -- comparison and gradient rows -- */

enum { TOGETHER = 8 };

typedef double values __attribute__((vector_size(8 * TOGETHER)));
typedef double values_any __attribute__((vector_size(8 * TOGETHER), aligned(8), may_alias));
typedef float targets_any __attribute__((vector_size(4 * TOGETHER), aligned(4), may_alias));

/* mf_compare_loss() and mf_compare_slope() of several. */
static inline __attribute__((always_inline)) values losses(int power, values e)
{
    const values zero = {0};

    return power == 1 ? e * __builtin_convertvector((e < zero) - (e > zero), values) : e * e;
}

static inline __attribute__((always_inline)) values slopes(int power, values e)
{
    const values zero = {0};

    return power == 1 ? __builtin_convertvector((e < zero) - (e > zero), values) : 2.0 * e;
}

/* Loss of some values of a level, which become its slopes. TOGETHER sums: the same bits on every instruction set. */
MF_CPU_FAST static double compare(int power, double weight, double scale, size_t n, double *restrict d,
                                  const float *restrict target)
{
    values sum = {0};
    double all = 0;
    size_t i = 0;

    for (; i + TOGETHER <= n; i += TOGETHER) {
        values_any *const at = (values_any *)(d + i);
        const values e = weight * (*at - __builtin_convertvector(*(const targets_any *)(target + i), values));

        sum += losses(power, e);
        *at = scale * weight * slopes(power, e);
    }
    for (; i < n; ++i) {
        const double e = weight * (d[i] - (double)target[i]);

        all += mf_compare_loss(power, e);
        d[i] = scale * weight * mf_compare_slope(power, e);
    }
    for (size_t l = 0; l < TOGETHER; ++l) all += sum[l];
    return all;
}

/* The same of a level, in parts that are what they are on any number of threads. */
static double compare_level(int power, double weight, double scale, size_t n, double *d, const float *target,
                            int threads)
{
    double sum = 0;

    for (size_t at = 0; at < n; at += PARTS * PART) {
        const size_t left = n - at, parts = left < PARTS * PART ? (left + PART - 1) / PART : PARTS;
        double part[PARTS];

#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1 && parts > 1)
        for (size_t i = 0; i < parts; ++i) {
            const size_t from = at + i * PART, count = n - from < PART ? n - from : PART;

            part[i] = compare(power, weight, scale, count, d + from, target + from);
        }
        for (size_t i = 0; i < parts; ++i) sum += part[i];
    }
    return sum;
}

/* Slices of other threads are counted at the same time. Grains are of the rounded value. */
static void count(size_t n, const double *d, int64_t *tally)
{
    for (size_t i = 0; i < n; ++i) {
        const int64_t grains = mf_compare_grains((double)(float)d[i]);

#pragma omp atomic
        tally[i] += grains;
    }
}

void mf_cpu_drain(struct mf_queue *queue, size_t n, int64_t *tally, double *sum)
{
    (void)queue;
    for (size_t i = 0; i < n; ++i) {
        sum[i] = mf_compare_of(tally[i]);
        tally[i] = 0;
    }
}

void mf_cpu_compare(const struct mf_slice_task *task, const struct mf_slice_desc *desc, size_t s, size_t entries,
                    double *d, int threads)
{
    const double scale = task->scale ? task->scale[s] : 1.0;
    const size_t n = desc->levels * entries;
    double sum = 0.0;

    for (size_t i = desc->first * entries; task->values && i < n; ++i) task->values[s * n + i] = (float)d[i];
    if (task->tally) count(entries, d + desc->first * entries, task->tally);
    for (size_t i = 0; i < desc->first * entries; ++i) d[i] = 0.0;
    for (size_t l = desc->first; l < desc->levels; ++l)
        sum += compare_level(task->power == 1 ? 1 : 2, task->weight[l], scale, entries, d + l * entries,
                             task->target + l * entries, threads);
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
