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
#include "src/base/pulse.h"

enum { WAYS = 16, RUN = MF_CPU_RUN, DIRECTIONS = MF_LINEAL_DIRECTIONS, FIELDS = 2, BLOCK = 4096 };
enum { GROUP = 4, SIDES = 2 }; /* lengths of which one division serves; the phase and its complement */

#define ALWAYS static inline __attribute__((always_inline))

static const float NOTHING = 1e-9f; /* a run with such a product counts less than 1e-8 */

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
    const float *x[SIDES]; /* pixel (0, 0) of the frames. exact: x; sharp: the factors of both sides */
};

static struct walk walk_of(const struct mf_cpu_job *job, int direction, const float *framed)
{
    const struct mf_slice_desc *desc = &job->plan->desc;
    const struct mf_cpu_frame f = frame_of(desc);
    struct walk w = {job->plan->state, desc->lag,   job->level->nu, job->level->nv, 0, 0, 0, 0,
                     desc->periodic,   {NULL, NULL}};

    w.stride = mf_cpu_frame_stride(&f, w.nv);
    mf_lineal_along(direction, &w.du, &w.dv);
    w.step = w.du * (ptrdiff_t)w.stride + w.dv;
    w.x[0] = framed + f.left;
    w.x[1] = w.x[0] + mf_cpu_frame_size(&f, desc->nu, desc->nv);
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

/* For one length: column i is added to sum i % WAYS. */
struct ways {
    double sum[WAYS];
};

ALWAYS void fold(const float *restrict y, double *restrict ways)
{
#pragma omp simd
    for (int k = 0; k < WAYS; ++k) ways[k] += (double)((y[k] + y[k + WAYS]) + (y[k + 2 * WAYS] + y[k + 3 * WAYS]));
}

ALWAYS void add_exact(float n, struct range in, const float *restrict sum, struct ways *ways)
{
    float y[RUN];

#pragma omp simd
    for (int i = 0; i < RUN; ++i) y[i] = i >= in.lo && i < in.hi ? mf_lineal_whole(n, sum[i]) : 0.0f;
    fold(y, ways->sum);
}

ALWAYS struct range range_at(const struct walk *w, size_t u, size_t v, size_t c)
{
    const struct range in = beginnings(w, u, 2 * c + 1);

    return (struct range){in.lo - (int)v, in.hi - (int)v};
}

ALWAYS void exact_run(const struct walk *w, size_t u, size_t v, struct ways *ways)
{
    const float *x = w->x[0] + u * w->stride + v;
    float sum[RUN];

    memcpy(sum, x, sizeof sum);
    for (size_t c = 1; c <= w->lag; ++c) {
        add_pair(w, x, c, sum);
        add_exact((float)(2 * c + 1), range_at(w, u, v, c), sum, &ways[c]);
    }
}

MF_CPU_FAST static void walk_exact(const struct walk *w, struct ways *ways)
{
    for (size_t u = 0; u < w->nu; ++u) {
        mf_pulse_tell("lineal path");
        for (size_t v = 0; v < w->nv; v += RUN) exact_run(w, u, v, ways);
    }
}

/* Runs of one side from RUN columns of a row on. */
struct runs {
    const struct walk *walk;
    const float *x; /* their first pixels */
    size_t u, v, c; /* the next length is 2c + 1 */
    _Alignas(64) float product[RUN];
    _Alignas(64) float y[GROUP][RUN];
};

ALWAYS void begin(struct runs *r, const struct walk *w, int side, size_t u, size_t v)
{
    r->walk = w;
    r->x = w->x[side] + u * w->stride + v;
    r->u = u;
    r->v = v;
    r->c = 1;
    memcpy(r->product, r->x, sizeof r->product);
}

ALWAYS float two_of(const float *x, ptrdiff_t step) { return x[0] * x[step]; }

/* The logistic functions of GROUP lengths, by one division. */
ALWAYS void sharp_group(const float *end, ptrdiff_t step, float *restrict product, float (*restrict y)[RUN])
{
#pragma omp simd
    for (int i = 0; i < RUN; ++i) {
        const float two = two_of(end + i, step), four = two * two_of(end + 2 * step + i, step);
        const float six = four * two_of(end + 4 * step + i, step), eight = six * two_of(end + 6 * step + i, step);
        const float p = product[i] * two, q = product[i] * four, r = product[i] * six, s = product[i] * eight;
        const float a = p + MF_LINEAL_EDGE, b = q + MF_LINEAL_EDGE, c = r + MF_LINEAL_EDGE, d = s + MF_LINEAL_EDGE;
        const float ab = a * b, cd = c * d, one = 1.0f / (ab * cd), first = one * cd, last = one * ab;

        y[0][i] = p * (first * b);
        y[1][i] = q * (first * a);
        y[2][i] = r * (last * d);
        y[3][i] = s * (last * c);
        product[i] = s;
    }
}

ALWAYS void sharp_one(const float *end, ptrdiff_t step, float *restrict product, float (*restrict y)[RUN])
{
#pragma omp simd
    for (int i = 0; i < RUN; ++i) {
        product[i] *= two_of(end + i, step);
        y[0][i] = mf_lineal_sharp(product[i]);
    }
}

ALWAYS void mask(struct range in, float *y)
{
#pragma omp simd
    for (int i = 0; i < RUN; ++i) y[i] = i >= in.lo && i < in.hi ? y[i] : 0.0f;
}

/* The logistic functions of the next lengths: how many lengths. They are 0 where a run leaves the slice. */
ALWAYS size_t next_lengths(struct runs *r)
{
    const struct walk *w = r->walk;
    const float *end = r->x + (ptrdiff_t)(2 * r->c - 1) * w->step;
    const size_t n = r->c + GROUP <= w->lag + 1 ? GROUP : 1;
    const struct range last = range_at(w, r->u, r->v, r->c + n - 1);

    if (n == GROUP)
        sharp_group(end, w->step, r->product, r->y);
    else
        sharp_one(end, w->step, r->product, r->y);
    if (last.lo > 0 || last.hi < RUN)
        for (size_t k = 0; k < n; ++k) mask(range_at(w, r->u, r->v, r->c + k), r->y[k]);
    r->c += n;
    return n;
}

/* Are there longer runs, and do some of them count? Products only fall. */
ALWAYS int has_more(const struct runs *r)
{
    int count = 0;

    if (r->c > r->walk->lag) return 0;
#pragma omp simd reduction(| : count)
    for (int i = 0; i < RUN; ++i) count |= r->product[i] > NOTHING;
    return count;
}

/* The ways [L + 1] of one side. */
MF_CPU_FAST static void walk_sharp(const struct walk *w, int side, struct ways *ways)
{
    struct runs r;

    for (size_t u = 0; u < w->nu; ++u) {
        mf_pulse_tell("lineal path");
        for (size_t v = 0; v < w->nv; v += RUN) {
            begin(&r, w, side, u, v);
            do {
                const size_t c = r.c, n = next_lengths(&r);

                for (size_t k = 0; k < n; ++k) fold(r.y[k], ways[c + k].sum);
            } while (has_more(&r));
        }
    }
}

/* x becomes the factors of the phase, y those of its complement. */
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
    double side[SIDES];
};

static void direction_values(const struct walk *w, int exact, struct ways *ways, struct found *found)
{
    for (int side = 0; side < (exact ? 1 : SIDES); ++side) {
        memset(ways, 0, (w->lag + 1) * sizeof *ways);
        if (exact)
            walk_exact(w, ways);
        else
            walk_sharp(w, side, ways);
        for (size_t c = 1; c <= w->lag; ++c) {
            const double runs = count_of(w, 2 * c + 1);
            const double a = exact ? 1 : (double)w->soft[c].a, b = exact ? 0 : (double)w->soft[c].b;

            found[c].side[side] = runs > 0 ? a * all(ways[c].sum) / runs + b : 0;
        }
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
            d[mf_lineal_entry(exact, c, k, 0)] = found[k][c].side[0];
            if (!exact) d[mf_lineal_entry(0, c, k, 1)] = found[k][c].side[1];
        }
}

static void value_sharp(const struct mf_cpu_job *job, double *d) { value(job, 0, d); }
static void value_exact(const struct mf_cpu_job *job, double *d) { value(job, 1, d); }

/* -- gradient -- */

/* h, or nothing (@p set), += weighed slopes of logistic functions. */
ALWAYS void add_slopes(float weight, int set, const float *restrict y, float *restrict h)
{
#pragma omp simd
    for (int i = 0; i < RUN; ++i) {
        const float slope = weight * mf_lineal_slope(y[i]);

        h[i] = set ? slope : h[i] + slope;
    }
}

/* Adds slopes of one side's runs to slopes [L + 1]. The first @p known lengths have some already.
 * Returns how many lengths have some then. */
ALWAYS size_t run_slopes(struct runs *r, const float *weight, size_t known, float (*restrict slopes)[RUN])
{
    do {
        const size_t c = r->c, n = next_lengths(r);

        for (size_t k = 0; k < n; ++k) add_slopes(weight[c + k], c + k > known, r->y[k], slopes[c + k]);
    } while (has_more(r));
    return r->c - 1 > known ? r->c - 1 : known;
}

ALWAYS void add_run(float *restrict to, const float *restrict h)
{
#pragma omp simd
    for (int i = 0; i < RUN; ++i) to[i] += h[i];
}

/* A pixel k steps from the begin is in all runs of more than k pixels. Works from the longest run to the shortest.
 * weight [SIDES][L + 1]; slopes [L + 1][RUN]: scratch. */
ALWAYS void gradient_run(const struct walk *w, const float *weight, size_t u, size_t v, float *g,
                         float (*restrict slopes)[RUN])
{
    const size_t at = u * w->stride + v;
    float h[RUN] = {0};
    size_t known = 0;
    struct runs r;

    for (int side = 0; side < SIDES; ++side) {
        begin(&r, w, side, u, v);
        known = run_slopes(&r, weight + (size_t)side * (w->lag + 1), known, slopes);
    }
    for (size_t c = known; c > 0; --c) {
        float *end = g + at + (ptrdiff_t)(2 * c - 1) * w->step;

        add_run(h, slopes[c]);
        add_run(end, h);
        add_run(end + w->step, h);
    }
    add_run(g + at, h);
}

MF_CPU_FAST static void walk_gradient(const struct walk *w, const float *weight, float *g, float (*slopes)[RUN])
{
    for (size_t u = 0; u < w->nu; ++u) {
        mf_pulse_tell("lineal path");
        for (size_t v = 0; v < w->nv; v += RUN) gradient_run(w, weight, u, v, g, slopes);
    }
}

/* Slopes of one direction's entries as weights of a run's sum: [SIDES][L + 1]. */
static void set_weights(const struct walk *w, int direction, const double *slope, float *weight)
{
    for (size_t c = 1; c <= w->lag; ++c) {
        const double runs = count_of(w, 2 * c + 1),
                     each = runs > 0 ? (double)(MF_LINEAL_STEEP * w->soft[c].a) / runs : 0;

        weight[c] = (float)(slope[mf_lineal_entry(0, c, direction, 0)] * each);
        weight[w->lag + 1 + c] = (float)(-slope[mf_lineal_entry(0, c, direction, 1)] * each);
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
        float weight[SIDES * (desc->lag + 1)];

        memset(g, 0, used * sizeof *g);
        set_weights(&w, k, slope, weight);
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
