/* Lineal path of slices: the probability that a straight run of pixels lies completely in the phase (form/lineal.h).
 *   D = mean over runs p, p + e, .. p + (n-1) e of f_n(mean of x over the run)
 * Periodic: a run begins at every pixel; else only where it stays inside (nowhere: D = 0). Two families: sharp is
 * differentiable; exact is the lineal path itself on a labelled field. Along a direction the sum of a run of n pixels
 * is that of n - 2 pixels plus two more. So is its product of exponentials. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/packed.h"
#include "kernels/form/lineal.h"
#include "src/base/err.h"

enum { WAYS = 16, RUN = MF_CPU_RUN, DIRECTIONS = MF_LINEAL_DIRECTIONS, FIELDS = 2, BLOCK = 4096 };

#define ALWAYS static inline __attribute__((always_inline))

static struct mf_cpu_frame frame_of(const struct mf_slice_desc *desc)
{
    return (struct mf_cpu_frame){2 * desc->lag, 2 * desc->lag, 2 * desc->lag};
}

/* Scratch: two framed slices; for every direction a framed gradient, and the slopes of all lengths of a RUN. */
static int open_plan(struct mf_slice_plan *plan)
{
    const struct mf_cpu_frame f = frame_of(&plan->desc);
    struct mf_soft *soft = malloc((plan->desc.lag + 1) * sizeof *soft);

    plan->state = soft;
    if (!soft) return mf_fail(MF_MEMORY, "no memory for a plan of lineal paths");
    for (size_t c = 1; c <= plan->desc.lag; ++c) soft[c] = mf_soft_line((double)(2 * c + 1));
    plan->scratch = (FIELDS + DIRECTIONS) * mf_cpu_frame_size(&f, plan->desc.nu, plan->desc.nv) +
                    DIRECTIONS * (plan->desc.lag + 1) * RUN;
    return MF_OK;
}

static void close_plan(struct mf_slice_plan *plan) { free(plan->state); }

/* Runs along one direction in a framed slice. */
struct walk {
    const struct mf_soft *soft; /* [L + 1] */
    size_t lag, nu, nv, stride;
    ptrdiff_t step; /* from pixel to pixel of a run */
    int du, dv, periodic;
    const float *x, *y; /* pixel (0, 0) of the frames. exact: x; sharp: exp(4 (1 - x)) and exp(4 x) */
};

static struct walk walk_of(const struct mf_cpu_job *job, int direction, const float *framed)
{
    const struct mf_slice_desc *desc = &job->plan->desc;
    const struct mf_cpu_frame f = frame_of(desc);
    struct walk w = {
        job->plan->state, desc->lag, job->level->nu, job->level->nv, 0, 0, 0, 0, desc->periodic, NULL, NULL};

    w.stride = mf_cpu_frame_stride(&f, w.nv);
    mf_lineal_along(direction, &w.du, &w.dv);
    w.step = w.du * (ptrdiff_t)w.stride + w.dv;
    w.x = framed + f.left;
    w.y = w.x + mf_cpu_frame_size(&f, desc->nu, desc->nv);
    return w;
}

/* Columns [lo, hi) where a run of n pixels may begin in row u. In a row all runs may begin there, or none. */
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

static double count_of(const struct walk *w, size_t n)
{
    return mf_lineal_runs(w->periodic, w->nu, w->nv, w->du, w->dv, n);
}

ALWAYS void add_pair(const struct walk *w, const float *p, size_t c, float *restrict sum)
{
    const float *a = p + (ptrdiff_t)(2 * c - 1) * w->step, *b = a + w->step;

#pragma omp simd
    for (int i = 0; i < RUN; ++i) sum[i] += a[i] + b[i];
}

/* For one length: sums for the phase and for its complement; column i is added to sum i % WAYS. */
struct ways {
    double in[WAYS], out[WAYS];
};

ALWAYS void fold(const float *restrict y, double *restrict ways)
{
#pragma omp simd
    for (int k = 0; k < WAYS; ++k) ways[k] += (double)((y[k] + y[k + WAYS]) + (y[k + 2 * WAYS] + y[k + 3 * WAYS]));
}

ALWAYS void multiply_pair(const struct walk *w, const float *p, size_t c, float *restrict product)
{
    const float *a = p + (ptrdiff_t)(2 * c - 1) * w->step, *b = a + w->step;

#pragma omp simd
    for (int i = 0; i < RUN; ++i) product[i] *= a[i] * b[i];
}

/* Adds the logistic functions of runs at columns [lo, hi) of these RUN. */
ALWAYS void add_sharp(struct range in, const float *restrict product, double *ways)
{
    float y[RUN];

#pragma omp simd
    for (int i = 0; i < RUN; ++i) y[i] = i >= in.lo && i < in.hi ? mf_lineal_sharp(product[i]) : 0.0f;
    fold(y, ways);
}

ALWAYS void add_exact(float n, struct range in, const float *restrict sum, struct ways *ways)
{
    float y[RUN];

#pragma omp simd
    for (int i = 0; i < RUN; ++i) y[i] = i >= in.lo && i < in.hi ? mf_lineal_whole(n, sum[i]) : 0.0f;
    fold(y, ways->in);
}

ALWAYS struct range range_at(const struct walk *w, size_t u, size_t v, size_t c)
{
    const struct range in = beginnings(w, u, 2 * c + 1);

    return (struct range){in.lo - (int)v, in.hi - (int)v};
}

/* The ways [L + 1] of all runs that begin in row u, columns v .. v + RUN - 1. */
ALWAYS void sharp_run(const struct walk *w, size_t u, size_t v, struct ways *ways)
{
    const float *x = w->x + u * w->stride + v, *y = w->y + u * w->stride + v;
    float in[RUN], out[RUN];

    memcpy(in, x, sizeof in);
    memcpy(out, y, sizeof out);
    for (size_t c = 1; c <= w->lag; ++c) {
        const struct range range = range_at(w, u, v, c);

        multiply_pair(w, x, c, in);
        multiply_pair(w, y, c, out);
        add_sharp(range, in, ways[c].in);
        add_sharp(range, out, ways[c].out);
    }
}

ALWAYS void exact_run(const struct walk *w, size_t u, size_t v, struct ways *ways)
{
    const float *x = w->x + u * w->stride + v;
    float sum[RUN];

    memcpy(sum, x, sizeof sum);
    for (size_t c = 1; c <= w->lag; ++c) {
        add_pair(w, x, c, sum);
        add_exact((float)(2 * c + 1), range_at(w, u, v, c), sum, &ways[c]);
    }
}

MF_CPU_FAST static void walk_sharp(const struct walk *w, struct ways *ways)
{
    for (size_t u = 0; u < w->nu; ++u)
        for (size_t v = 0; v < w->nv; v += RUN) sharp_run(w, u, v, ways);
}

MF_CPU_FAST static void walk_exact(const struct walk *w, struct ways *ways)
{
    for (size_t u = 0; u < w->nu; ++u)
        for (size_t v = 0; v < w->nv; v += RUN) exact_run(w, u, v, ways);
}

/* x becomes exp(4 (1 - x)), y exp(4 x). */
MF_CPU_FAST static void exponentials(size_t n, float *restrict x, float *restrict y)
{
#pragma omp simd
    for (size_t i = 0; i < n; ++i) {
        y[i] = mf_lineal_out(x[i]);
        x[i] = mf_lineal_in(x[i]);
    }
}

/* The framed slice at the begin of the scratch to both numbers of its pixels. */
static void set_factors(const struct mf_cpu_job *job, const struct mf_cpu_frame *f)
{
    const size_t n = mf_cpu_frame_size(f, job->level->nu, job->level->nv);
    float *x = job->scratch, *y = x + mf_cpu_frame_size(f, job->plan->desc.nu, job->plan->desc.nv);

    mf_cpu_frame_fill(f, job->plan->desc.periodic, job->level, x);
#pragma omp parallel for num_threads(job->threads) schedule(static) if (job->threads > 1)
    for (size_t at = 0; at < n; at += BLOCK) exponentials(n - at < BLOCK ? n - at : BLOCK, x + at, y + at);
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

/* D of one direction: of the phase, then of its complement, for every length. */
struct found {
    double in, out;
};

static void direction_values(const struct walk *w, int exact, struct ways *ways, struct found *found)
{
    memset(ways, 0, (w->lag + 1) * sizeof *ways);
    if (exact)
        walk_exact(w, ways);
    else
        walk_sharp(w, ways);
    for (size_t c = 1; c <= w->lag; ++c) {
        const double runs = count_of(w, 2 * c + 1);
        const double a = exact ? 1 : (double)w->soft[c].a, b = exact ? 0 : (double)w->soft[c].b;

        found[c].in = runs > 0 ? a * all(ways[c].in) / runs + b : 0;
        found[c].out = runs > 0 && !exact ? a * all(ways[c].out) / runs + b : 0;
    }
}

/* The directions [first, end) of this worker of a team. */
struct directions {
    int first, end;
};

static struct directions own_directions(const struct mf_cpu_job *job)
{
    const struct mf_span own = mf_team_cut(job->plan->desc.team, DIRECTIONS);

    return (struct directions){(int)own.first, (int)(own.first + own.count)};
}

/* The room of a direction's gradient serves its sums: (L + 1) struct ways are less than a frame. */
static void value(const struct mf_cpu_job *job, int exact, double *d)
{
    const struct mf_cpu_frame f = frame_of(&job->plan->desc);
    const size_t size = mf_cpu_frame_size(&f, job->plan->desc.nu, job->plan->desc.nv), lag = job->plan->desc.lag;
    const struct directions own = own_directions(job);
    struct found found[DIRECTIONS][lag + 1];

    if (exact)
        mf_cpu_frame_fill(&f, job->plan->desc.periodic, job->level, job->scratch);
    else
        set_factors(job, &f);
    d[0] = mean(job->level);
    memset(found, 0, sizeof found);
#pragma omp parallel for num_threads(job->threads) schedule(static, 1) if (job->threads > 1)
    for (int k = own.first; k < own.end; ++k) {
        const struct walk w = walk_of(job, k, job->scratch);

        direction_values(&w, exact, (struct ways *)(job->scratch + (size_t)(k + FIELDS) * size), found[k]);
    }
    mf_team_share(job->plan->desc.team, DIRECTIONS, sizeof found[0], found);
    for (int k = 0; k < DIRECTIONS; ++k)
        for (size_t c = 1; c <= lag; ++c) {
            d[mf_lineal_entry(exact, c, k, 0)] = found[k][c].in;
            if (!exact) d[mf_lineal_entry(0, c, k, 1)] = found[k][c].out;
        }
}

static void value_sharp(const struct mf_cpu_job *job, double *d) { value(job, 0, d); }
static void value_exact(const struct mf_cpu_job *job, double *d) { value(job, 1, d); }

/* -- gradient -- */

/* Weights of a run's mean in the entries of its length. */
struct weight {
    float in, out;
};

/* h: the slopes of the logistic functions at columns [lo, hi), weighed. */
ALWAYS void run_slope(struct weight weight, struct range range, const float *restrict in, const float *restrict out,
                      float *restrict h)
{
#pragma omp simd
    for (int i = 0; i < RUN; ++i) {
        const float p = mf_lineal_slope(mf_lineal_sharp(in[i])), q = mf_lineal_slope(mf_lineal_sharp(out[i]));
        const float slope = weight.in * p - weight.out * q;

        h[i] = i >= range.lo && i < range.hi ? slope : 0.0f;
    }
}

ALWAYS void add_run(float *restrict to, const float *restrict h)
{
#pragma omp simd
    for (int i = 0; i < RUN; ++i) to[i] += h[i];
}

/* A pixel k steps from the begin is in all runs of more than k pixels. Works from the longest run to the shortest.
 * weight [L + 1]; slopes [L + 1][RUN]: scratch. */
ALWAYS void gradient_run(const struct walk *w, const struct weight *weight, size_t u, size_t v, float *g,
                         float (*restrict slopes)[RUN])
{
    const size_t at = u * w->stride + v;
    float in[RUN], out[RUN], h[RUN] = {0};

    memcpy(in, w->x + at, sizeof in);
    memcpy(out, w->y + at, sizeof out);
    for (size_t c = 1; c <= w->lag; ++c) {
        multiply_pair(w, w->x + at, c, in);
        multiply_pair(w, w->y + at, c, out);
        run_slope(weight[c], range_at(w, u, v, c), in, out, slopes[c]);
    }
    for (size_t c = w->lag; c > 0; --c) {
        float *end = g + at + (ptrdiff_t)(2 * c - 1) * w->step;

        add_run(h, slopes[c]);
        add_run(end, h);
        add_run(end + w->step, h);
    }
    add_run(g + at, h);
}

MF_CPU_FAST static void walk_gradient(const struct walk *w, const struct weight *weight, float *g, float (*slopes)[RUN])
{
    for (size_t u = 0; u < w->nu; ++u)
        for (size_t v = 0; v < w->nv; v += RUN) gradient_run(w, weight, u, v, g, slopes);
}

/* Slopes of one direction's entries as weights of a run's sum. */
static void weights(const struct walk *w, int direction, const double *slope, struct weight *weight)
{
    for (size_t c = 1; c <= w->lag; ++c) {
        const double runs = count_of(w, 2 * c + 1),
                     each = runs > 0 ? (double)(MF_LINEAL_STEEP * w->soft[c].a) / runs : 0;

        weight[c].in = (float)(slope[mf_lineal_entry(0, c, direction, 0)] * each);
        weight[c].out = (float)(slope[mf_lineal_entry(0, c, direction, 1)] * each);
    }
}

/* Every direction has a frame of its own, so that threads and workers do not matter. */
static void gradient(const struct mf_cpu_job *job, const double *slope)
{
    const struct mf_slice_desc *desc = &job->plan->desc;
    const struct mf_cpu_level *level = job->level;
    const struct mf_cpu_frame f = frame_of(desc);
    const size_t size = mf_cpu_frame_size(&f, desc->nu, desc->nv), used = mf_cpu_frame_size(&f, level->nu, level->nv);
    const struct directions own = own_directions(job);
    const float each = (float)(slope[0] / ((double)level->nu * (double)level->nv));
    float *frames = job->scratch + FIELDS * size;

    set_factors(job, &f);
#pragma omp parallel for num_threads(job->threads) schedule(static, 1) if (job->threads > 1)
    for (int k = own.first; k < own.end; ++k) {
        const struct walk w = walk_of(job, k, job->scratch);
        float *g = frames + (size_t)k * used;
        float *slopes = job->scratch + (FIELDS + DIRECTIONS) * size + (size_t)k * (desc->lag + 1) * RUN;
        struct weight weight[desc->lag + 1];

        memset(g, 0, used * sizeof *g);
        weights(&w, k, slope, weight);
        walk_gradient(&w, weight, g + f.left, (float(*)[RUN])slopes);
    }
    mf_team_share(desc->team, DIRECTIONS, used * sizeof *frames, frames);
    for (int k = 0; k < DIRECTIONS; ++k) mf_cpu_frame_fold(&f, desc->periodic, level, frames + (size_t)k * used);
    for (size_t i = 0; i < level->nu * level->nv; ++i) level->g[i] += each;
}

/* -- tables -- */

static const struct mf_cpu_family sharp = {open_plan, close_plan, value_sharp, gradient, 0, 0};
static const struct mf_cpu_family exact = {open_plan, close_plan, value_exact, NULL, 0, 0};

static size_t lineal_entries(const struct mf_slice_desc *d) { return mf_lineal_entries(0, d->lag); }
static size_t exact_entries(const struct mf_slice_desc *d) { return mf_lineal_entries(1, d->lag); }

const struct mf_slice_kind mf_kind_lineal = {"lineal", "lineal paths", lineal_entries, mf_cost_lineal};
const struct mf_slice_kind mf_kind_lineal_exact = {"lineal_exact", "exact lineal paths", exact_entries, mf_cost_lineal};

MF_CPU_SHARED(lineal, sharp);
MF_CPU_SHARED(lineal_exact, exact);
