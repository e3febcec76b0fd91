/* Soft descriptors of slices that are means over positions of masks: see kernels/slices/masks.h. */
#include "kernels/slices/masks.h"
#include "kernels/cost.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/slices/pairs.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

enum { RUN = MF_CPU_RUN, WAYS = 16, PARTS = 4 /* masks are dealt to so many parts, whatever the threads */ };

#define ALWAYS static inline __attribute__((always_inline))

/* The masks of a plan, and the frame that their taps reach into. */
struct state {
    struct mf_masks m;
    struct mf_cpu_frame frame;
};

static void close_plan(struct mf_slice_plan *plan)
{
    struct state *st = plan->state;

    if (st) mf_masks_free(&st->m);
    free(st);
}

/* Scratch: the framed slice, and for every part a framed gradient. */
static int open_plan(struct mf_slice_plan *plan, enum mf_masks_kind kind)
{
    const struct mf_slice_desc *desc = &plan->desc;
    struct state *st = plan->state = calloc(1, sizeof *st);

    if (!st) return mf_fail(MF_MEMORY, "no memory for a plan of %s", plan->kind->what);
    MF_TRY(mf_masks_make(kind, desc, &st->m));
    for (size_t e = 0; e < st->m.count; ++e) {
        const struct mf_mask *at = &st->m.mask[e];

        if (-at->lo[1] > (int)st->frame.left) st->frame.left = (size_t)-at->lo[1];
        if (at->hi[1] > (int)st->frame.right) st->frame.right = (size_t)at->hi[1];
        if (at->hi[0] > (int)st->frame.below) st->frame.below = (size_t)at->hi[0];
    }
    plan->scratch = (1 + PARTS) * mf_cpu_frame_size(&st->frame, desc->nu, desc->nv);
    return MF_OK;
}

static int open_lines(struct mf_slice_plan *plan) { return open_plan(plan, MF_MASKS_LINES); }
static int open_axes(struct mf_slice_plan *plan) { return open_plan(plan, MF_MASKS_AXES); }
static int open_pairs(struct mf_slice_plan *plan) { return open_plan(plan, MF_MASKS_PAIRS); }

/* -- places -- */

/* A level in its frame: pixel (0, 0) is x. */
struct place {
    const struct mf_masks *m;
    const float *x;
    size_t stride;
    int v; /* first of the columns at hand */
};

/* z of RUN places. */
ALWAYS void weigh(const struct place *p, const struct mf_mask *at, const float *x, float *restrict z)
{
    const struct mf_tap *tap = p->m->tap + at->first;

    for (int i = 0; i < RUN; ++i) z[i] = 0;
    for (size_t t = 0; t < at->taps; ++t) {
        const float *from = x + (ptrdiff_t)tap[t].du * (ptrdiff_t)p->stride + tap[t].dv, w = tap[t].w;

#pragma omp simd
        for (int i = 0; i < RUN; ++i) z[i] += w * from[i];
    }
}

ALWAYS double sum_values(const struct place *p, struct mf_places b, const float *restrict z)
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
        const struct mf_places b = mf_places_of(p->m, &p->m->mask[e], level->nu, level->nv);

        if (u < b.u[0] || u >= b.u[1]) continue;
        weigh(p, &p->m->mask[e], x, z);
        d[e] += sum_values(p, b, z);
    }
}

static void value(const struct mf_cpu_job *job, double *d)
{
    const struct state *st = job->plan->state;
    const struct mf_masks *m = &st->m;
    const struct mf_cpu_level *level = job->level;
    const size_t stride = mf_cpu_frame_stride(&st->frame, level->nv);
    int stopped = 0;

    mf_cpu_frame_fill(&st->frame, m->periodic, level, job->scratch);
    for (size_t e = 0; e < m->count; ++e) d[e] = 0;
#pragma omp parallel for num_threads(job->threads) schedule(static, 1) if (job->threads > 1)
    for (int part = 0; part < PARTS; ++part)
        for (size_t u = 0; u < level->nu; ++u)
            for (size_t v = 0; v < level->nv && !mf_cpu_breaks("lineal paths", &stopped); v += RUN) {
                const struct place p = {m, job->scratch + st->frame.left, stride, (int)v};

                values_run(&p, level, (int)u, part, d);
            }
    for (size_t e = 0; e < m->count; ++e) {
        const double n = mf_places_count(mf_places_of(m, &m->mask[e], level->nu, level->nv));

        d[e] = n > 0 ? d[e] / n : 0;
    }
}

/* -- gradient -- */

/* z becomes what dz counts. */
ALWAYS void slopes(const struct place *p, struct mf_places b, float weight, float *restrict z)
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

ALWAYS void give(const struct place *p, const struct mf_mask *at, const float *restrict h, float *g)
{
    const struct mf_tap *tap = p->m->tap + at->first;

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
        const struct mf_mask *mask = &p->m->mask[e];
        const struct mf_places b = mf_places_of(p->m, mask, level->nu, level->nv);

        if (u < b.u[0] || u >= b.u[1]) continue;
        weigh(p, mask, p->x + at, z);
        slopes(p, b, (float)(slope[e] / mf_places_count(b)), z);
        give(p, mask, z, g + at);
    }
}

/* Every part has a frame of its own, so that threads do not matter. */
static void gradient(const struct mf_cpu_job *job, const double *slope)
{
    const struct state *st = job->plan->state;
    const struct mf_masks *m = &st->m;
    const struct mf_cpu_level *level = job->level;
    const size_t stride = mf_cpu_frame_stride(&st->frame, level->nv);
    const size_t size = mf_cpu_frame_size(&st->frame, level->nu, level->nv);

    mf_cpu_frame_fill(&st->frame, m->periodic, level, job->scratch);
#pragma omp parallel for num_threads(job->threads) schedule(static, 1) if (job->threads > 1)
    for (int part = 0; part < PARTS; ++part) {
        float *g = job->scratch + (size_t)(part + 1) * size;

        memset(g, 0, size * sizeof *g);
        for (size_t u = 0; u < level->nu; ++u)
            for (size_t v = 0; v < level->nv; v += RUN) {
                const struct place p = {m, job->scratch + st->frame.left, stride, (int)v};

                mf_pulse_tell("lineal paths");
                gradient_run(&p, level, (int)u, part, slope, g + st->frame.left);
            }
    }
    for (int part = 0; part < PARTS; ++part)
        mf_cpu_frame_fold(&st->frame, m->periodic, level, job->scratch + (size_t)(part + 1) * size);
}

/* -- tables -- */

static const struct mf_cpu_family lines = {open_lines, close_plan, value, gradient, 0, 0};
static const struct mf_cpu_family axes = {open_axes, close_plan, value, gradient, 0, 0};
const struct mf_cpu_family mf_cpu_pair_masks = {open_pairs, close_plan, value, gradient, 0, 0};

static size_t lines_entries(const struct mf_slice_desc *d) { return mf_masks_entries(MF_MASKS_LINES, d->lag); }
static size_t axes_entries(const struct mf_slice_desc *d) { return mf_masks_entries(MF_MASKS_AXES, d->lag); }

const struct mf_slice_kind mf_kind_lineal_soft = {"lineal_soft", "soft lineal paths", lines_entries,
                                                  mf_cost_lineal_soft};
const struct mf_slice_kind mf_kind_line_soft = {"line_soft", "soft lineal paths along the axes", axes_entries,
                                                mf_cost_line_soft};

MF_CPU_OF_FIELD(lineal_soft, lines);
MF_CPU_OF_FIELD(line_soft, axes);
