/* Lineal path of slices: how likely a straight run of pixels lies in the phase as a whole. Entry 0 is the mean of x;
 * then for each odd length n = 3, 5, .. 2L + 1 four directions, (1,1), (1,-1), (0,1), (1,0), rows first:
 *   D = mean over runs p, p + e, .. p + (n-1) e of f_n(mean of x over the run)
 * Periodic: all pixels are beginnings; else those whose run stays inside (none: D = 0). Two families:
 *   sharp   f_n: mf_soft_line(n) of form/soft.h, which can be differentiated; behind the four entries of a length stand
 *           the four of what is not the phase, f_n(1 - mean)
 *   exact   1 where less than half a pixel of the run is missing, else 0: on a labelled field the lineal path itself
 * Along a direction the sum of a run of n pixels is that of n - 2 and two pixels more. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/dense.h"
#include "kernels/form/soft.h"
#include "src/base/err.h"

enum { WAYS = 16, RUN = MF_CPU_RUN, DIRECTIONS = 4 };

#define ALWAYS static inline __attribute__((always_inline))

static const int along[DIRECTIONS][2] = {{1, 1}, {1, -1}, {0, 1}, {1, 0}};

static size_t entries_exact(const struct mf_slice_desc *desc) { return 1 + DIRECTIONS * desc->lag; }
static size_t entries_sharp(const struct mf_slice_desc *desc) { return 1 + 2 * DIRECTIONS * desc->lag; }

static struct mf_cpu_frame frame_of(const struct mf_slice_desc *desc)
{
    return (struct mf_cpu_frame){2 * desc->lag, 2 * desc->lag, 2 * desc->lag};
}

/* Scratch: the framed slice, and for every direction a framed gradient. */
static int open_plan(struct mf_slice_plan *plan)
{
    const struct mf_cpu_frame f = frame_of(&plan->desc);
    struct mf_soft *soft = malloc((plan->desc.lag + 1) * sizeof *soft);

    plan->state = soft;
    if (!soft) return mf_fail(MF_MEMORY, "no memory for a plan of lineal paths");
    for (size_t c = 1; c <= plan->desc.lag; ++c) soft[c] = mf_soft_line((double)(2 * c + 1));
    plan->scratch = (1 + DIRECTIONS) * mf_cpu_frame_size(&f, plan->desc.nu, plan->desc.nv);
    return MF_OK;
}

static void close_plan(struct mf_slice_plan *plan) { free(plan->state); }

/* Runs along one direction in a framed slice. */
struct walk {
    const struct mf_soft *soft; /* [L + 1]; NULL: exact */
    size_t lag, nu, nv, stride;
    ptrdiff_t step; /* from pixel to pixel of a run */
    int du, dv, periodic;
    const float *x; /* pixel (0, 0) of the frame */
};

static struct walk walk_of(const struct mf_cpu_job *job, int direction, const float *framed)
{
    const struct mf_slice_desc *desc = &job->plan->desc;
    const struct mf_cpu_frame f = frame_of(desc);
    struct walk w = {job->plan->state, desc->lag, job->level->nu, job->level->nv, 0, 0, 0, 0, desc->periodic, NULL};

    w.stride = mf_cpu_frame_stride(&f, w.nv);
    w.du = along[direction][0];
    w.dv = along[direction][1];
    w.step = w.du * (ptrdiff_t)w.stride + w.dv;
    w.x = framed + f.left;
    return w;
}

/* Columns [lo, hi) where a run of n pixels may begin in row u; rows of which all or none may. */
struct range {
    int lo, hi;
};

ALWAYS struct range beginnings(const struct walk *w, size_t u, size_t n)
{
    const int nv = (int)w->nv, reach = (int)n - 1;

    if (w->periodic) return (struct range){0, nv};
    if ((w->du && u + n > w->nu) || (w->dv && n > w->nv)) return (struct range){0, 0};
    return w->dv > 0 ? (struct range){0, nv - reach} : w->dv < 0 ? (struct range){reach, nv} : (struct range){0, nv};
}

/* How many runs of n pixels there are. */
static double count_of(const struct walk *w, size_t n)
{
    double rows = (double)w->nu, columns = (double)w->nv;

    if (w->periodic) return rows * columns;
    if (w->du) rows -= (double)(n - 1);
    if (w->dv) columns -= (double)(n - 1);
    return rows > 0 && columns > 0 ? rows * columns : 0;
}

ALWAYS void add_pair(const struct walk *w, const float *p, size_t c, float *restrict sum)
{
    const float *a = p + (ptrdiff_t)(2 * c - 1) * w->step, *b = a + w->step;

#pragma omp simd
    for (int i = 0; i < RUN; ++i) sum[i] += a[i] + b[i];
}

/* Of one length: the values of the phase, and of what is not the phase, column i in the i % WAYS-th. */
struct ways {
    double in[WAYS], out[WAYS];
};

ALWAYS void fold(const float *restrict y, double *restrict ways)
{
#pragma omp simd
    for (int k = 0; k < WAYS; ++k) ways[k] += (double)((y[k] + y[k + WAYS]) + (y[k + 2 * WAYS] + y[k + 3 * WAYS]));
}

/* Adds the values at columns [lo, hi) of these RUN. */
ALWAYS void add_sharp(const struct mf_soft *f, float n, struct range in, const float *restrict sum, struct ways *ways)
{
    const float each = 1.0f / n;
    float y[RUN], rest[RUN];

#pragma omp simd
    for (int i = 0; i < RUN; ++i) {
        const float z = sum[i] * each, value = mf_soft_value(*f, mf_soft_sigma(*f, z));
        const float other = mf_soft_value(*f, mf_soft_sigma(*f, 1.0f - z));

        y[i] = i >= in.lo && i < in.hi ? value : 0.0f;
        rest[i] = i >= in.lo && i < in.hi ? other : 0.0f;
    }
    fold(y, ways->in);
    fold(rest, ways->out);
}

ALWAYS void add_exact(float n, struct range in, const float *restrict sum, struct ways *ways)
{
    float y[RUN];

#pragma omp simd
    for (int i = 0; i < RUN; ++i) y[i] = i >= in.lo && i < in.hi && sum[i] > n - 0.5f ? 1.0f : 0.0f;
    fold(y, ways->in);
}

/* The ways [L + 1] of all runs that begin in row u, columns v .. v + RUN - 1. */
ALWAYS void values_run(int sharp, const struct walk *w, size_t u, size_t v, struct ways *ways)
{
    const float *p = w->x + u * w->stride + v;
    float sum[RUN];

    memcpy(sum, p, sizeof sum);
    for (size_t c = 1; c <= w->lag; ++c) {
        struct range in = beginnings(w, u, 2 * c + 1);

        in.lo -= (int)v;
        in.hi -= (int)v;
        add_pair(w, p, c, sum);
        if (sharp)
            add_sharp(&w->soft[c], (float)(2 * c + 1), in, sum, &ways[c]);
        else
            add_exact((float)(2 * c + 1), in, sum, &ways[c]);
    }
}

MF_CPU_FAST static void walk_sharp(const struct walk *w, struct ways *ways)
{
    for (size_t u = 0; u < w->nu; ++u)
        for (size_t v = 0; v < w->nv; v += RUN) values_run(1, w, u, v, ways);
}

MF_CPU_FAST static void walk_exact(const struct walk *w, struct ways *ways)
{
    for (size_t u = 0; u < w->nu; ++u)
        for (size_t v = 0; v < w->nv; v += RUN) values_run(0, w, u, v, ways);
}

static double mean(const struct mf_cpu_level *level)
{
    return mf_cpu_sum(level->nu * level->nv, level->x) / ((double)level->nu * (double)level->nv);
}

static double all(const double *ways)
{
    double sum = 0;

    for (int k = 0; k < WAYS; ++k) sum += ways[k];
    return sum;
}

/* Entry of runs of 2c + 1 pixels; @p rest: of what is not the phase. */
static size_t entry(int exact, size_t c, int direction, int rest)
{
    return 1 + (exact ? DIRECTIONS : 2 * DIRECTIONS) * (c - 1) + (size_t)(direction + (rest ? DIRECTIONS : 0));
}

static void direction_values(const struct walk *w, int exact, int direction, struct ways *ways, double *d)
{
    memset(ways, 0, (w->lag + 1) * sizeof *ways);
    if (exact)
        walk_exact(w, ways);
    else
        walk_sharp(w, ways);
    for (size_t c = 1; c <= w->lag; ++c) {
        const double runs = count_of(w, 2 * c + 1);

        d[entry(exact, c, direction, 0)] = runs > 0 ? all(ways[c].in) / runs : 0;
        if (!exact) d[entry(0, c, direction, 1)] = runs > 0 ? all(ways[c].out) / runs : 0;
    }
}

/* The room of a direction's gradient serves its sums: (L + 1) struct ways are less than a frame. */
static void value(const struct mf_cpu_job *job, int exact, double *d)
{
    const struct mf_cpu_frame f = frame_of(&job->plan->desc);
    const size_t size = mf_cpu_frame_size(&f, job->plan->desc.nu, job->plan->desc.nv);

    mf_cpu_frame_fill(&f, job->plan->desc.periodic, job->level, job->scratch);
    d[0] = mean(job->level);
#pragma omp parallel for num_threads(job->threads) schedule(static, 1) if (job->threads > 1)
    for (int k = 0; k < DIRECTIONS; ++k) {
        const struct walk w = walk_of(job, k, job->scratch);

        direction_values(&w, exact, k, (struct ways *)(job->scratch + (size_t)(k + 1) * size), d);
    }
}

static void value_sharp(const struct mf_cpu_job *job, double *d) { value(job, 0, d); }
static void value_exact(const struct mf_cpu_job *job, double *d) { value(job, 1, d); }

/* -- gradient -- */

/* What a run's mean counts in the entries of its length. */
struct weight {
    float in, out;
};

/* h += the slopes of f at columns [lo, hi), weighed. */
ALWAYS void run_slope(const struct mf_soft *f, float n, struct weight weight, struct range in,
                      const float *restrict sum, float *restrict h)
{
    const float each = 1.0f / n;

#pragma omp simd
    for (int i = 0; i < RUN; ++i) {
        const float z = sum[i] * each, slope = weight.in * mf_soft_slope(*f, mf_soft_sigma(*f, z)) -
                                               weight.out * mf_soft_slope(*f, mf_soft_sigma(*f, 1.0f - z));

        h[i] += i >= in.lo && i < in.hi ? slope : 0.0f;
    }
}

ALWAYS void add_run(float *restrict to, const float *restrict h)
{
#pragma omp simd
    for (int i = 0; i < RUN; ++i) to[i] += h[i];
}

ALWAYS void take_pair(const struct walk *w, const float *p, size_t c, float *restrict sum)
{
    const float *a = p + (ptrdiff_t)(2 * c - 1) * w->step, *b = a + w->step;

#pragma omp simd
    for (int i = 0; i < RUN; ++i) sum[i] -= a[i] + b[i];
}

/* A pixel k steps from the beginning is in all runs of more than k pixels: from the longest to the shortest. weight
 * [L + 1]. */
ALWAYS void gradient_run(const struct walk *w, const struct weight *weight, size_t u, size_t v, float *g)
{
    const size_t at = u * w->stride + v;
    float sum[RUN], h[RUN] = {0};

    memcpy(sum, w->x + at, sizeof sum);
    for (size_t c = 1; c <= w->lag; ++c) add_pair(w, w->x + at, c, sum);
    for (size_t c = w->lag; c > 0; --c) {
        struct range in = beginnings(w, u, 2 * c + 1);
        float *end = g + at + (ptrdiff_t)(2 * c - 1) * w->step;

        in.lo -= (int)v;
        in.hi -= (int)v;
        run_slope(&w->soft[c], (float)(2 * c + 1), weight[c], in, sum, h);
        add_run(end, h);
        add_run(end + w->step, h);
        take_pair(w, w->x + at, c, sum);
    }
    add_run(g + at, h);
}

MF_CPU_FAST static void walk_gradient(const struct walk *w, const struct weight *weight, float *g)
{
    for (size_t u = 0; u < w->nu; ++u)
        for (size_t v = 0; v < w->nv; v += RUN) gradient_run(w, weight, u, v, g);
}

/* Slopes of one direction's entries as weights of a run's sum. */
static void weights(const struct walk *w, int direction, const double *slope, struct weight *weight)
{
    for (size_t c = 1; c <= w->lag; ++c) {
        const double n = (double)(2 * c + 1), runs = count_of(w, 2 * c + 1);
        const double each = runs > 0 ? 1 / (runs * n) : 0;

        weight[c].in = (float)(slope[entry(0, c, direction, 0)] * each);
        weight[c].out = (float)(slope[entry(0, c, direction, 1)] * each);
    }
}

/* Every direction has a frame of its own, so that its threads do not matter. */
static void gradient(const struct mf_cpu_job *job, const double *slope)
{
    const struct mf_slice_desc *desc = &job->plan->desc;
    const struct mf_cpu_level *level = job->level;
    const struct mf_cpu_frame f = frame_of(desc);
    const size_t size = mf_cpu_frame_size(&f, desc->nu, desc->nv);
    const float each = (float)(slope[0] / ((double)level->nu * (double)level->nv));

    mf_cpu_frame_fill(&f, desc->periodic, level, job->scratch);
#pragma omp parallel for num_threads(job->threads) schedule(static, 1) if (job->threads > 1)
    for (int k = 0; k < DIRECTIONS; ++k) {
        const struct walk w = walk_of(job, k, job->scratch);
        float *g = job->scratch + (size_t)(k + 1) * size;
        struct weight weight[desc->lag + 1];

        memset(g, 0, mf_cpu_frame_size(&f, level->nu, level->nv) * sizeof *g);
        weights(&w, k, slope, weight);
        walk_gradient(&w, weight, g + f.left);
    }
    for (int k = 0; k < DIRECTIONS; ++k)
        mf_cpu_frame_fold(&f, desc->periodic, level, job->scratch + (size_t)(k + 1) * size);
    for (size_t i = 0; i < level->nu * level->nv; ++i) level->g[i] += each;
}

/* -- tables -- */

static const struct mf_cpu_family sharp = {"lineal paths", entries_sharp, open_plan, close_plan, value_sharp, gradient};
static const struct mf_cpu_family exact = {"exact lineal paths", entries_exact, open_plan,
                                           close_plan,           value_exact,   NULL};

static int plan_sharp(struct mf_queue *queue, const struct mf_slice_desc *desc, struct mf_slice_plan **plan)
{
    return mf_cpu_dense_plan(&sharp, queue, desc, plan);
}

static int plan_exact(struct mf_queue *queue, const struct mf_slice_desc *desc, struct mf_slice_plan **plan)
{
    return mf_cpu_dense_plan(&exact, queue, desc, plan);
}

const struct mf_slice_ops mf_lineal_cpu = {.name = "lineal",
                                           .entries = entries_sharp,
                                           .plan = plan_sharp,
                                           .free = mf_cpu_dense_free,
                                           .eval = mf_cpu_dense_eval,
                                           .total = mf_cpu_dense_total};
const struct mf_slice_ops mf_lineal_exact_cpu = {.name = "lineal_exact",
                                                 .entries = entries_exact,
                                                 .plan = plan_exact,
                                                 .free = mf_cpu_dense_free,
                                                 .total = mf_cpu_dense_total};
