/* S2 in space, and that of two fields, is the same on cpu and cuda. Cases are windows and gradients, odd extents,
 * periodic or not. Planes dealt out in parts give the same sums to the bit. */
#include "kernels/slices/slices.h"
#include "kernels/slices/space.h"
#include "tests/unit/cuda_case.h"

static struct side side[SIDES];

static const struct mf_space_desc cases[] = {{.nz = 9, .ny = 11, .nx = 13, .lag = 4, .periodic = 1},
                                             {.nz = 8, .ny = 10, .nx = 9, .lag = 4},
                                             {.nz = 21, .ny = 12, .nx = 10, .lag = 5, .periodic = 1},
                                             {.nz = 20, .ny = 7, .nx = 35, .lag = 3},
                                             {.nz = 6, .ny = 5, .nx = 7, .lag = 1, .periodic = 1}};

static size_t entries(const struct mf_space_desc *d) { return d->lag * (2 * d->lag - 1) * (2 * d->lag - 1); }

/* A field with what lies beyond its ends: L - 1 planes of the other end, or of zeros. */
static float *framed(const struct mf_space_desc *d, unsigned seed)
{
    const size_t plane = d->ny * d->nx, halo = d->lag - 1, all = d->nz + 2 * halo;
    float *own = random_floats(d->nz * plane, seed, 0, 1), *x = calloc(all * plane, sizeof *x);

    for (size_t k = 0; k < all; ++k) {
        const size_t z = (k + d->nz - halo % d->nz) % d->nz;

        if (!d->periodic && (k < halo || k >= halo + d->nz)) continue;
        memcpy(x + k * plane, own + z * plane, plane * sizeof *x);
    }
    free(own);
    return x;
}

struct answer {
    double *window, *cross; /* of the first field; of the second behind the first */
    float *g, *across;
};

/* Sums of planes [0, cut) and of the others, added by the host. */
static void sum_up(struct side *s, struct mf_space_plan *plan, const struct mf_space_desc *d, const float *first,
                   const float *second, size_t cut, double *sums)
{
    const size_t plane = s->be->slices->space->plane(d), n = d->lag * plane;
    double *part = sums_new(s, n);

    s->be->slices->space->products(plan, cut, first, second, sums);
    s->be->sync(s->q);
    if (cut < d->nz) {
        s->be->slices->space->products(plan, d->nz - cut, first + cut * plane, second + cut * plane, part);
        s->be->sync(s->q);
        for (size_t i = 0; i < n; ++i) sums[i] += part[i];
    }
    mf_arena_give(s->host, part);
}

/* The spectra of a field. */
static float *spectra_of(struct side *s, struct mf_space_plan *plan, const struct mf_space_desc *d, unsigned seed)
{
    const size_t all = d->nz + 2 * (d->lag - 1);
    float *field = framed(d, seed), *x = up(s, all * d->ny * d->nx, field);
    float *spectra = mf_arena_take(s->device, all * s->be->slices->space->plane(d) * sizeof *spectra, "test");

    s->be->slices->space->transform(plan, all, x, spectra);
    s->be->sync(s->q);
    mf_arena_give(s->device, x);
    free(field);
    return spectra;
}

/* Window of the second field behind the first, which may be one. */
static double *window_of(struct side *s, struct mf_space_plan *plan, const struct mf_space_desc *d, const float *first,
                         const float *second, size_t cut)
{
    const size_t plane = s->be->slices->space->plane(d), own = (d->lag - 1) * plane;
    double *sums = sums_new(s, d->lag * plane), *window = sums_new(s, entries(d));

    sum_up(s, plan, d, first + own, second + own, cut, sums);
    s->be->slices->space->window(plan, sums, window);
    s->be->sync(s->q);
    mf_arena_give(s->host, sums);
    return window;
}

static float *gradient_of(struct side *s, struct mf_space_plan *plan, const struct mf_space_desc *d, float *spectra,
                          int across)
{
    const size_t voxels = d->nz * d->ny * d->nx, width = 2 * d->lag - 1,
                 n = across ? width * width * width : entries(d);
    float *zeros = calloc(voxels, sizeof *zeros), *g = up(s, voxels, zeros);
    double *slope = sums_new(s, n);

    for (size_t i = 0; i < n; ++i) slope[i] = mf_random_uniform(4, 2, i) - 0.3;
    if (across)
        s->be->slices->space->across(plan, d->nz, slope, spectra, g);
    else
        s->be->slices->space->adjoint(plan, d->nz, slope, spectra, g);
    s->be->sync(s->q);
    mf_arena_give(s->host, slope);
    free(zeros);
    return down(s, voxels, g);
}

static struct answer ask(struct side *s, const struct mf_space_desc *given, size_t cut)
{
    struct mf_space_desc d = *given;
    struct mf_space_plan *plan;
    struct answer a;
    float *x, *y;

    d.planes = d.nz + 2 * (d.lag - 1);
    d.pairs = 1;
    CHECK(s->be->slices->space->plan(s->q, &d, &plan) == MF_OK);
    x = spectra_of(s, plan, &d, 1);
    y = spectra_of(s, plan, &d, 2);
    a.window = window_of(s, plan, &d, x, x, cut);
    a.cross = window_of(s, plan, &d, x, y, cut);
    a.across = gradient_of(s, plan, &d, y, 1);
    a.g = gradient_of(s, plan, &d, x, 0);
    s->be->slices->space->free(plan);
    mf_arena_give(s->device, x);
    mf_arena_give(s->device, y);
    return a;
}

static void answer_free(struct side *s, struct answer *a)
{
    mf_arena_give(s->host, a->window);
    mf_arena_give(s->host, a->cross);
    free(a->g);
    free(a->across);
}

/* Small extents: sums over all pairs, by hand. */
static void check_cross(const struct mf_space_desc *d, const double *window)
{
    const size_t voxels = d->nz * d->ny * d->nx, width = 2 * d->lag - 1;
    float *x = random_floats(voxels, 1, 0, 1), *y = random_floats(voxels, 2, 0, 1);
    const size_t at = (1 * width + d->lag - 2) * width + d->lag; /* lag (1, -1, 1) */
    double sum = 0;

    for (size_t z = 0; z < d->nz; ++z)
        for (size_t v = 0; v < d->ny; ++v)
            for (size_t u = 0; u < d->nx; ++u)
                sum += x[(z * d->ny + v) * d->nx + u] *
                       y[((z + 1) % d->nz * d->ny + (v + d->ny - 1) % d->ny) * d->nx + (u + 1) % d->nx];
    CHECK_NEAR(window[at], sum / (double)voxels, 1e-6);
    free(x);
    free(y);
}

int main(void)
{
    side[0] = side_open("cpu");
    side[1] = side_open("cuda");
    for (size_t i = 0; i < sizeof cases / sizeof *cases; ++i) {
        const struct mf_space_desc *d = &cases[i];
        struct answer a = ask(&side[0], d, d->nz), b = ask(&side[1], d, d->nz), parts = ask(&side[1], d, d->nz / 3);

        CHECK_NEAR(away_sums(entries(d), b.window, a.window), 0, 1e-5);
        CHECK_NEAR(away(d->nz * d->ny * d->nx, b.g, a.g), 0, 1e-5);
        CHECK(memcmp(b.window, parts.window, entries(d) * sizeof(double)) == 0);
        CHECK_NEAR(away_sums(entries(d), b.cross, a.cross), 0, 1e-5);
        CHECK_NEAR(away(d->nz * d->ny * d->nx, b.across, a.across), 0, 1e-5);
        CHECK(memcmp(b.cross, parts.cross, entries(d) * sizeof(double)) == 0);
        if (d->periodic && d->lag > 1) check_cross(d, b.cross);
        answer_free(&side[0], &a);
        answer_free(&side[1], &b);
        answer_free(&side[1], &parts);
    }
    for (int s = 0; s < SIDES; ++s) side_close(&side[s]);
    return failures != 0;
}
