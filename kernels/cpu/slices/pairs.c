/* Soft two-point correlations of slices, D(r) = mean over p of f((x(p) + x(p+r))/2)^2. The function of two pixels is a
 * sum of products (terms.h). So D is the weighted sum of the autocorrelations of psi_m(x), for all lags at once by
 * FFTW. In masks.c one lag is computed after the other. */
#include "kernels/cpu/slices/pairs.h"

#include <stdlib.h>
#include <string.h>

#include "kernels/cost.h"
#include "kernels/cpu/slices/plane.h"
#include "kernels/cpu/slices/terms.h"
#include "kernels/form/gram.h"
#include "kernels/slices/masks.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

enum {
    BLOCK = 1024, /* pixels that a thread takes at a time */
    LAG_LEAST = 8 /* L from which on a transform for each field is faster than a pass for each lag */
};

struct state {
    struct mf_planes planes;
    struct mf_terms terms;
};

/* Makes the products of a plan. 0: use one pass per lag, which is faster for few lags, and the only exact way for a
 * steep threshold. */
static int make_terms(const struct mf_slice_desc *desc, struct mf_terms *terms)
{
    return desc->lag >= LAG_LEAST && mf_terms_make(mf_soft_of(desc->threshold, desc->steepness), terms);
}

/* Scratch: two planes, and psi of a level. Without terms the plan becomes one of masks: they are worked out once, here.
 */
static int pairs_open(struct mf_slice_plan *plan)
{
    const struct mf_slice_desc *d = &plan->desc;
    struct state *st = calloc(1, sizeof *st);

    if (!st) return mf_fail(MF_MEMORY, "no memory for a plan of %s", plan->kind->what);
    if (!make_terms(d, &st->terms)) {
        free(st);
        plan->family = &mf_cpu_pair_masks;
        return plan->family->open(plan);
    }
    plan->state = st;
    MF_TRY(mf_planes_open(plan, d->periodic || d->seam, &st->planes));
    plan->scratch = 2 * st->planes.size + d->nu * d->nv;
    return MF_OK;
}

static void pairs_close(struct mf_slice_plan *plan)
{
    struct state *st = plan->state;

    if (st) mf_planes_close(plan, &st->planes);
    free(st);
}

/* The level's own part of the scratch. */
struct work {
    const struct state *st;
    const struct mf_plane_shape *shape;
    const struct mf_cpu_level *level;
    size_t lag;
    float *sum, *plane, *psi;
    int threads;
};

static struct work work_of(const struct mf_cpu_job *job)
{
    const struct state *st = job->plan->state;
    float *at = job->scratch;

    return (struct work){st,
                         mf_plane_of(&st->planes, job),
                         job->level,
                         job->plan->desc.lag,
                         at,
                         at + st->planes.size,
                         at + 2 * st->planes.size,
                         job->threads};
}

/* Values of a term, or of its derivative, in all pixels. This takes about as long as a transform, and threads share it;
 * one thread does a transform. */
static void values_of(const struct work *w, const double *of)
{
    const size_t n = w->level->nu * w->level->nv;

    mf_pulse_tell("two points");
#pragma omp parallel for num_threads(w->threads) schedule(static) if (w->threads > 1)
    for (size_t at = 0; at < n; at += BLOCK)
        mf_terms_values(&w->st->terms, of, n - at < BLOCK ? n - at : BLOCK, w->level->x + at, w->psi + at);
}

static void transform_term(const struct work *w, int m)
{
    values_of(w, w->st->terms.value[m]);
    mf_plane_transform(w->shape, w->level, w->psi, w->plane);
}

static void pairs_value(const struct mf_cpu_job *job, double *d)
{
    const struct work w = work_of(job);
    const size_t n = w.shape->mu * w.shape->row;

    memset(w.sum, 0, n * sizeof *w.sum);
    for (int m = 0; m < w.st->terms.count; ++m) {
        const float weight = (float)w.st->terms.weight[m];

        transform_term(&w, m);
        for (size_t i = 0; i < n; i += 2)
            w.sum[i] += weight * (w.plane[i] * w.plane[i] + w.plane[i + 1] * w.plane[i + 1]);
    }
    mf_plane_back(w.shape, w.sum);
    for (size_t e = 0; e < job->plan->entries; ++e) {
        const struct mf_gram_lag r = mf_gram_lag_of(MF_GRAM_HALF, w.lag, e);

        d[e] = (double)w.sum[mf_plane_place(w.shape, r.du, r.dv)] *
               mf_plane_norm(&w.st->planes, w.shape, w.level, r.du, r.dv);
    }
}

/* The slopes of all lags and their opposites, as a spectrum. */
static void slopes(const struct work *w, size_t count, const double *slope)
{
    memset(w->sum, 0, w->shape->mu * w->shape->row * sizeof *w->sum);
    for (size_t e = 0; e < count; ++e) {
        const struct mf_gram_lag r = mf_gram_lag_of(MF_GRAM_HALF, w->lag, e);
        const float s = (float)(slope[e] * mf_plane_norm(&w->st->planes, w->shape, w->level, r.du, r.dv));

        w->sum[mf_plane_place(w->shape, r.du, r.dv)] += s;
        w->sum[mf_plane_place(w->shape, -r.du, -r.dv)] += s;
    }
    fftwf_execute_dft_r2c(w->shape->forward, w->sum, mf_spectrum(w->sum));
}

/* dD/dx(q) = sum over m of weight psi'(x(q)) (psi(x(q + r)) + psi(x(q - r))): the spectrum of even slopes is real. */
static void pairs_gradient(const struct mf_cpu_job *job, const double *slope)
{
    const struct work w = work_of(job);
    const struct mf_terms *terms = &w.st->terms;

    slopes(&w, job->plan->entries, slope);
    for (int m = 0; m < terms->count; ++m) {
        const float weight = (float)terms->weight[m];

        transform_term(&w, m);
        for (size_t i = 0; i < w.shape->mu * w.shape->row; i += 2) {
            w.plane[i] *= w.sum[i];
            w.plane[i + 1] *= w.sum[i];
        }
        mf_plane_back(w.shape, w.plane);
        values_of(&w, terms->slope[m]);
        for (size_t u = 0; u < w.level->nu; ++u) {
            const size_t at = u * w.level->nv;

            for (size_t v = 0; v < w.level->nv; ++v)
                w.level->g[at + v] += weight * w.psi[at + v] * w.plane[u * w.shape->row + v];
        }
    }
}

static const struct mf_cpu_family pairs = {
    .open = pairs_open, .close = pairs_close, .value = pairs_value, .gradient = pairs_gradient};

/* Per field and pixel 3 n + 12 for a polynomial of n coefficients. A transform on N points costs as for S2
 * (kernels/cost.h). A gradient needs three times that. It computes the products first (1-2 ms). */
static struct mf_cost cost(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    const double more = d->periodic || d->seam ? 0 : (double)d->lag - 1, ways = what == MF_COST_GRADIENT ? 3 : 1;
    struct mf_terms terms;
    struct mf_cost cost;

    if (!make_terms(d, &terms)) return mf_cost_two_point(d, count, what);
    cost = mf_cost_pixels(d, count, what, terms.count * ways * (3 * terms.degree + 12));
    for (size_t l = d->first; l < d->levels; ++l) {
        const double points = ((double)(d->nu >> l) + more) * ((double)(d->nv >> l) + more);

        cost.operations += terms.count * ways * mf_cost_transform(points) * (double)count;
    }
    return cost;
}

static size_t pairs_entries(const struct mf_slice_desc *d) { return mf_masks_entries(MF_MASKS_PAIRS, d->lag); }

const struct mf_slice_kind mf_kind_two_point = {"two_point", "soft two-point correlations", pairs_entries,
                                                mf_cost_two_point};

MF_CPU_PACKED(two_point, pairs, .total = mf_cpu_packed_total, .cost = cost);
