/* S2 in space is the same on cpu and cuda: windows and gradients, odd extents, periodic or not; planes dealt out in
 * parts give the same sums to the bit. */
#include "kernels/space.h"
#include "tests/unit/cuda_case.h"

static struct side side[SIDES];

static const struct mf_space_desc cases[] = {{.nz = 9, .ny = 11, .nx = 13, .lag = 4, .periodic = 1},
                                             {.nz = 8, .ny = 10, .nx = 9, .lag = 4},
                                             {.nz = 21, .ny = 12, .nx = 10, .lag = 5, .periodic = 1},
                                             {.nz = 20, .ny = 7, .nx = 35, .lag = 3},
                                             {.nz = 6, .ny = 5, .nx = 7, .lag = 1, .periodic = 1}};

static size_t entries(const struct mf_space_desc *d) { return d->lag * (2 * d->lag - 1) * (2 * d->lag - 1); }

/* A field with what lies beyond its ends: L - 1 planes of the other end, or of zeros. */
static float *framed(const struct mf_space_desc *d)
{
    const size_t plane = d->ny * d->nx, halo = d->lag - 1, all = d->nz + 2 * halo;
    float *own = random_floats(d->nz * plane, 1, 0, 1), *x = calloc(all * plane, sizeof *x);

    for (size_t k = 0; k < all; ++k) {
        const size_t z = (k + d->nz - halo % d->nz) % d->nz;

        if (!d->periodic && (k < halo || k >= halo + d->nz)) continue;
        memcpy(x + k * plane, own + z * plane, plane * sizeof *x);
    }
    free(own);
    return x;
}

struct answer {
    double *window;
    float *g;
};

/* Sums of planes [0, cut) and of the others, added by the host. */
static void sum_up(struct side *s, struct mf_space_plan *plan, const struct mf_space_desc *d, const float *spectra,
                   size_t cut, double *sums)
{
    const size_t plane = s->be->space->plane(d), n = d->lag * plane;
    double *part = sums_new(s, n);

    s->be->space->products(plan, cut, spectra, sums);
    s->be->sync(s->q);
    if (cut < d->nz) {
        s->be->space->products(plan, d->nz - cut, spectra + cut * plane, part);
        s->be->sync(s->q);
        for (size_t i = 0; i < n; ++i) sums[i] += part[i];
    }
    mf_arena_give(s->host, part);
}

static struct answer ask(struct side *s, const struct mf_space_desc *given, size_t cut)
{
    struct mf_space_desc d = *given;
    const size_t voxels = d.ny * d.nx, halo = d.lag - 1, all = d.nz + 2 * halo, n = entries(&d);
    const struct mf_space_ops *ops = s->be->space;
    float *field = framed(&d), *x = up(s, all * voxels, field), *zeros = calloc(d.nz * voxels, sizeof *zeros);
    float *g = up(s, d.nz * voxels, zeros), *spectra;
    double *sums = sums_new(s, d.lag * ops->plane(&d)), *slope = sums_new(s, n);
    struct mf_space_plan *plan;
    struct answer a = {.window = sums_new(s, n)};

    d.planes = all;
    spectra = mf_arena_take(s->device, all * ops->plane(&d) * sizeof *spectra, "test");
    CHECK(ops->plan(s->q, &d, &plan) == MF_OK);
    ops->transform(plan, all, x, spectra);
    sum_up(s, plan, &d, spectra + halo * ops->plane(&d), cut, sums);
    ops->window(plan, sums, a.window);
    s->be->sync(s->q);
    for (size_t i = 0; i < n; ++i) slope[i] = mf_random_uniform(4, 2, i) - 0.3;
    ops->adjoint(plan, d.nz, slope, spectra, g);
    s->be->sync(s->q);
    ops->free(plan);
    a.g = down(s, d.nz * voxels, g);
    mf_arena_give(s->device, spectra);
    mf_arena_give(s->device, x);
    mf_arena_give(s->host, sums);
    mf_arena_give(s->host, slope);
    free(field);
    free(zeros);
    return a;
}

static void answer_free(struct side *s, struct answer *a)
{
    mf_arena_give(s->host, a->window);
    free(a->g);
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
        answer_free(&side[0], &a);
        answer_free(&side[1], &b);
        answer_free(&side[1], &parts);
    }
    for (int s = 0; s < SIDES; ++s) side_close(&side[s]);
    return failures != 0;
}
