/* See gpu_cost.h. */
#include "kernels/slices/gpu_cost.h"

#include <math.h>

#include "kernels/slices/areas.h"
#include "src/base/err.h"

/* A kernel that moves so many bytes and executes so many instructions for each of @p pixels. */
static void pay(struct mf_gpu_cost *cost, const struct mf_gpu_rates *r, double pixels, double bytes, double operations)
{
    const double moving = pixels * bytes / r->memory, computing = pixels * operations / r->operations;

    if (moving >= computing)
        cost->memory += moving;
    else
        cost->arithmetic += computing;
}

/* All coarser levels from the finest. */
static void pool(const struct mf_slice_desc *d, double count, const struct mf_gpu_rates *r, struct mf_gpu_cost *cost)
{
    if (d->levels > 1) pay(cost, r, count * (double)d->nu * (double)d->nv, 16.0 / 3, 29);
}

static double pools(const struct mf_slice_desc *d) { return ceil((double)(d->levels - 1) / 3); }

static int is_continued(const struct mf_slice_desc *d, const struct mf_corr_area *at)
{
    return d->periodic && at->mv != at->nv;
}

/* Transforms of lines, products of rows, windows, and back. Variation reads the slices on the way back. */
static void pay_level(const struct mf_slice_desc *d, const struct mf_corr_areas *a, const struct mf_corr_area *at,
                      double count, int variation, const struct mf_gpu_rates *r, struct mf_gpu_cost *cost)
{
    const double lag = (double)d->lag, depth = (double)(a->depth * a->groups), n = at->mv, chunk = at->chunk;
    const double points = count * (double)at->nu * n, stages = 3.5 * log2(n);
    const int several = a->groups > 1;

    pay(cost, r, (is_continued(d, at) ? 2 : 1) * points, 8, stages + (variation ? 69 : 57));
    pay(cost, r, points, 4 * a->groups + 16 * lag / n, 3.2 * depth * (1 + (lag + 7) / chunk));
    pay(cost, r, points, 20 * lag / n, 32 * lag / n);
    pay(cost, r, points, several ? 4 + 0.75 * lag : 8 + 16 * lag / n, several ? 5.6 * lag : 5.6 * lag - 2.8);
    pay(cost, r, points, (at == a->level ? 13 : 9) + (variation ? 4 : 0), stages + (variation ? 77 : 53));
}

void mf_gpu_cost_s2(const struct mf_slice_desc *d, double count, int variation, const struct mf_gpu_rates *r,
                    struct mf_gpu_cost *cost)
{
    struct mf_corr_areas areas;

    if (mf_areas_corr(d, mf_gpu_shared(r->capability), &areas) != MF_OK) return;
    pool(d, count, r, cost);
    for (size_t l = d->first; l < d->levels; ++l) pay_level(d, &areas, &areas.level[l], count, variation, r, cost);
}

double mf_gpu_launches(const struct mf_slice_desc *d, double count, double tasks, const struct mf_gpu_rates *r)
{
    enum { STEPS = 4 /* forward, windows, adjoint, finish */ };
    struct mf_corr_areas areas;
    double most, steps;
    int continued = 0, pairs = 0, plain = 0; /* kinds of forward and correlate */

    if (mf_areas_corr(d, mf_gpu_shared(r->capability), &areas) != MF_OK) return 0;
    for (size_t l = d->first; l < d->levels; ++l) {
        continued |= is_continued(d, &areas.level[l]);
        pairs |= areas.groups > 1 || is_continued(d, &areas.level[l]);
        plain |= areas.groups == 1 && !is_continued(d, &areas.level[l]);
    }
    most = 2 * floor((double)areas.slices / (double)(d->calls ? d->calls : 1) / 2);
    steps = pools(d) + STEPS + continued + pairs + plain + (double)(d->levels - d->first - 1) +
            tasks * (double)(1 + d->first);
    return ceil(count / fmax(most, 2)) * steps;
}

/* Instructions of floats that take as long as one of doubles. */
static double double_worth(int capability) { return capability % 10 == 0 && capability < 120 ? 2 : 64; }

void mf_gpu_cost_variation(const struct mf_slice_desc *d, double count, const struct mf_gpu_rates *r,
                           struct mf_gpu_cost *cost)
{
    struct mf_single_areas areas;

    mf_areas_single(d, 1, &areas);
    pool(d, count, r, cost);
    for (size_t l = d->first; l < d->levels; ++l) {
        const double pixels = count * (double)(d->nu >> l) * (double)(d->nv >> l);

        pay(cost, r, pixels, 4, 12 + 8 * double_worth(r->capability)); /* sums in double */
        pay(cost, r, pixels, 12, 24);
    }
    /* sums of levels, a comparison, gradients of all levels */
    cost->launches +=
        ceil(count / (double)areas.slices) * (pools(d) + (double)(d->levels - d->first) + 1 + (double)d->levels);
}
