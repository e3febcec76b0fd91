/* See kernels/cost.h. */
#include "kernels/cost.h"

#include <math.h>

#include "kernels/form/structure_tensor.h"
#include "kernels/slices/patch.h"

double mf_cost_transform(double points) { return points > 1 ? 2.5 * points * log2(points) : 0; }

static double pixel_bytes(enum mf_cost_of what)
{
    return what == MF_COST_GRADIENT ? 12 : what == MF_COST_CROSS ? 8 : 4;
}

static struct mf_cost moved(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    return (struct mf_cost){.bytes = pixel_bytes(what) * (double)d->nu * (double)d->nv * (double)count};
}

static double pixels(const struct mf_slice_desc *d, size_t level)
{
    return (double)(d->nu >> level) * (double)(d->nv >> level);
}

/* Making a level out of the one before it, and its gradient back. */
static double pooling(const struct mf_slice_desc *d, size_t level, enum mf_cost_of what)
{
    return level == 0 ? 0 : (what == MF_COST_GRADIENT || what == MF_COST_CROSS ? 8 : 4) * pixels(d, level);
}

static double s2_level(const struct mf_slice_desc *d, size_t level, enum mf_cost_of what)
{
    double more = d->periodic ? 0 : (double)d->lag - 1, n = pixels(d, level), w = 2 * (double)d->lag - 1;
    double points = ((double)(d->nu >> level) + more) * ((double)(d->nv >> level) + more),
           fft = mf_cost_transform(points);

    w *= w;
    switch (what) {
    case MF_COST_VALUES: return 2 * fft + 1.5 * points + 5 * w;
    case MF_COST_GRADIENT: return 4 * fft + 2.5 * points + 7 * w + n;
    case MF_COST_TOTAL: return fft + 2 * points;
    default: return 3 * fft + 3 * points + 2 * w;
    }
}

struct mf_cost mf_cost_s2(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    struct mf_cost cost = moved(d, count, what);

    for (size_t l = 0; l < d->levels; ++l) {
        cost.operations += pooling(d, l, what) * (double)count;
        if (l >= d->first) cost.operations += s2_level(d, l, what) * (double)count;
    }
    return cost;
}

struct mf_cost mf_cost_pairs(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    const double w = (2 * (double)d->lag - 1) * (2 * (double)d->lag - 1), more = d->periodic ? 0 : (double)d->lag - 1;
    struct mf_cost cost = moved(d, 2 * count, what);

    for (size_t l = 0; l < d->levels; ++l) {
        double points = ((double)(d->nu >> l) + more) * ((double)(d->nv >> l) + more), each = 2 * pooling(d, l, what);

        if (l >= d->first) each += 3 * mf_cost_transform(points) + 3 * points + 5 * w;
        if (l >= d->first && what == MF_COST_GRADIENT)
            each += 3 * mf_cost_transform(points) + 6 * points + 2 * w + 2 * pixels(d, l);
        cost.operations += each * (double)count;
    }
    return cost;
}

struct mf_cost mf_cost_s2_3d(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    double more = d->periodic ? 0 : (double)d->lag - 1;
    double points = ((double)d->nu + more) * ((double)d->nv + more), products = 4 * (double)d->lag * points;
    struct mf_cost cost = moved(d, count, what);

    cost.operations = (double)count * (mf_cost_transform(points) + products);
    if (what == MF_COST_GRADIENT) cost.operations += (double)count * (mf_cost_transform(points) + 2 * products);
    return cost;
}

struct mf_cost mf_cost_cross_s2_3d(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    double more = d->periodic ? 0 : (double)d->lag - 1, lag = (double)d->lag;
    double points = ((double)d->nu + more) * ((double)d->nv + more);
    struct mf_cost cost = moved(d, 2 * count, what);

    cost.operations = (double)count * (2 * mf_cost_transform(points) + 8 * lag * points);
    if (what == MF_COST_GRADIENT)
        cost.operations += (double)count * (2 * mf_cost_transform(points) + 8 * (2 * lag - 1) * points);
    return cost;
}

struct mf_cost mf_cost_fraction(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    struct mf_cost cost = moved(d, count, what);

    cost.operations = (what == MF_COST_GRADIENT ? 2 : 1) * pixels(d, 0) * (double)count;
    return cost;
}

struct mf_cost mf_cost_pixels(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what, double operations)
{
    struct mf_cost cost = moved(d, count, what);

    for (size_t l = 0; l < d->levels; ++l) {
        cost.operations += pooling(d, l, what) * (double)count;
        if (l >= d->first) cost.operations += operations * pixels(d, l) * (double)count;
    }
    return cost;
}

struct mf_cost mf_cost_variation(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    return mf_cost_pixels(d, count, what, what == MF_COST_GRADIENT ? 12 : 6);
}

/* Masks with @p pixels of them all together. */
static double masks(double count, double pixels, enum mf_cost_of what)
{
    return 2 * pixels + 13 * count + (what == MF_COST_GRADIENT ? 4 * pixels + 13 * count : 0);
}

struct mf_cost mf_cost_lineal(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    return mf_cost_pixels(d, count, what, 4 * (double)d->lag * (what == MF_COST_GRADIENT ? 60 : 28));
}

struct mf_cost mf_cost_surface(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    return mf_cost_pixels(d, count, what, 8 * (double)d->lag);
}

struct mf_cost mf_cost_chords(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    return mf_cost_pixels(d, count, what, 8);
}

struct mf_cost mf_cost_euler(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    return mf_cost_pixels(d, count, what, 4);
}

struct mf_cost mf_cost_windows(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    return mf_cost_pixels(d, count, what, 3);
}

struct mf_cost mf_cost_boundaries(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    return mf_cost_pixels(d, 2 * count, what, 4);
}

struct mf_cost mf_cost_cluster_function(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    return mf_cost_pixels(d, count, what, 8 + 6 * (double)d->lag);
}

struct mf_cost mf_cost_clusters(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    return mf_cost_pixels(d, count, what, 16);
}

struct mf_cost mf_cost_paths(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    return mf_cost_pixels(d, count, what, 20);
}

/* 4 c lines of 2 c + 1 pixels, c = 1 .. L */
struct mf_cost mf_cost_lineal_soft(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    const double n = (double)d->lag;

    return mf_cost_pixels(d, count, what,
                          masks(2 * n * (n + 1) + 1, 4 * n * (n + 1) * (2 * n + 1) / 3 + 2 * n * (n + 1) + 1, what));
}

/* 2 lines of 2 c + 1 pixels, c = 1 .. L - 1 */
struct mf_cost mf_cost_line_soft(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    const double n = (double)d->lag;

    return mf_cost_pixels(d, count, what, masks(2 * n - 1, 2 * n * n - 1, what));
}

struct mf_cost mf_cost_two_point(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    const double n = (double)d->lag, lags = n * n + (n - 1) * (n - 1);

    return mf_cost_pixels(d, count, what, masks(lags, 2 * lags - 1, what));
}

static double products(double channels, enum mf_cost_of what)
{
    return channels * (4 + channels) + (what == MF_COST_GRADIENT ? channels * (11 + 2 * channels) : 0);
}

struct mf_cost mf_cost_gram(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    const double n = (double)d->lag;

    return mf_cost_pixels(d, count, what, products(n * n + (n - 1) * (n - 1), what));
}

struct mf_cost mf_cost_gram_cross(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    struct mf_cost cost = mf_cost_gram(d, count, what);

    for (size_t l = 0; l < d->levels; ++l) cost.operations += pooling(d, l, what) * (double)count;
    cost.bytes *= 2;
    return cost;
}

struct mf_cost mf_cost_gram_axes(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    return mf_cost_pixels(d, count, what, products(2 * (double)d->lag - 1, what));
}

struct mf_cost mf_cost_structure_tensor(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    const double smooth = 3 * 2 * 2 * MF_STRUCTURE_TENSOR_TAPS, maps = 10 + smooth + 6;
    const double lags = MF_STRUCTURE_TENSOR_MAPS * (double)mf_structure_tensor_lags(d->lag);

    return mf_cost_pixels(d, count, what, what == MF_COST_GRADIENT ? 2 * maps + smooth + 5 * lags : maps + 2 * lags);
}

/* Operations of one level. */
static double vgg_operations(const struct mf_slice_desc *d, size_t level, enum mf_cost_of what)
{
    double sum = 0;

    for (size_t i = 0; i < MF_VGG_LAYERS; ++i) {
        const struct mf_vgg_layer *l = &mf_vgg_layers[i];
        const double n = pixels(d, level + l->block), in = (double)l->in, out = (double)l->out;

        sum += (what == MF_COST_GRADIENT ? 2 : 1) * 2 * MF_VGG_TAPS * in * out * n;
        if (l->last) sum += ((out + 1) + (what == MF_COST_GRADIENT ? 2 * out : 0)) * out * n;
    }
    return sum;
}

struct mf_cost mf_cost_vgg(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    struct mf_cost cost = moved(d, count, what);

    for (size_t l = 0; l < d->levels; ++l) {
        cost.operations += pooling(d, l, what) * (double)count;
        if (l >= d->first) cost.operations += vgg_operations(d, l, what) * (double)count;
    }
    return cost;
}

struct mf_cost mf_cost_patches(const struct mf_slice_desc *d, size_t count, enum mf_cost_of what)
{
    struct mf_cost cost = moved(d, count, what);

    for (size_t l = 0; l < d->levels; ++l) {
        cost.operations += pooling(d, l, what) * (double)count;
        if (l < d->first) continue;
        cost.operations += (what == MF_COST_GRADIENT ? 9 : 4) * pixels(d, l) * (double)count;
        cost.bytes += 8 * pixels(d, l) * (double)count;
    }
    return cost;
}

/* Patches of 9 x 9 in an image. */
static double patches(size_t nu, size_t nv, int periodic)
{
    if (nu < 9 || nv < 9) return 0;
    return periodic ? (double)nu * (double)nv : (double)(nu - 8) * (double)(nv - 8);
}

/* This counts operations of a search; src/recon/search_cost.h has how long it takes. */
struct mf_cost mf_cost_search(const struct mf_slice_desc *d, size_t count)
{
    const double phases = d->phases ? (double)d->phases : 1;
    struct mf_cost cost = moved(d, count, MF_COST_VALUES);

    cost.bytes *= phases;
    for (size_t l = d->first; l < d->levels; ++l) {
        double n = patches(d->nu >> l, d->nv >> l, d->periodic);
        double m = patches(d->example.nu >> l, d->example.nv >> l, d->example.periodic);

        if (m == 0) continue;
        cost.operations += (double)count * 3888 * phases * n;
        cost.operations += (double)count * (mf_patch_in_trees(d, n, m) ? 2000 * (n + m) * log2(n + m) : 50 * n * m);
    }
    return cost;
}

struct mf_cost mf_cost_pass(struct mf_extent e, double arrays, double operations)
{
    double n = (double)e.phases * (double)e.planes * (double)e.plane;

    return (struct mf_cost){4 * arrays * n, operations * n};
}

struct mf_cost mf_cost_direction(struct mf_extent e, size_t pairs)
{
    double m = 2 * (double)pairs;

    if (pairs == 0) return mf_cost_pass(e, 3, 4);
    return mf_cost_pass(e, 2 * (2 + m) + 1, 4 * (1 + m) + 2);
}

struct mf_cost mf_cost_step(struct mf_extent e) { return mf_cost_pass(e, 4, 5); }

struct mf_cost mf_cost_pair(struct mf_extent e, size_t pairs)
{
    return mf_cost_pass(e, 6 + 2 * (double)pairs, 2 + 2 * (2 + 3 * (double)pairs));
}

struct mf_cost mf_cost_adapt(struct mf_extent e, size_t kept)
{
    return mf_cost_pass(e, (double)(3 + 2 * kept), (double)(2 + 6 * kept));
}

struct mf_cost mf_cost_guide(struct mf_extent e) { return mf_cost_pass(e, 3, 8); }
