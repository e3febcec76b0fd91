/* Conduction has the same bits on cpu and cuda. All passes run over grids of odd and even extents, with conductances
 * and with counts, beside plates and around periods. */
#include "kernels/flux.h"
#include "tests/unit/cuda_case.h"

static struct side side[SIDES];

/* A fine grid, its coarse one, and vectors. */
struct level {
    struct mf_flux_grid fine, coarse;
    float *x, *b, *y, *r, *xc, *bc;
};

static const size_t size[][3] = {{6, 5, 7}, {9, 12, 70}, {1, 33, 41}, {5, 3, 1030}, {2, 2, 2}, {20, 22, 24}};
static const struct mf_flux_step steps[] = {{{2, 2, 2}}, {{2, 1, 2}}, {{1, 2, 2}},
                                            {{2, 2, 1}}, {{2, 2, 2}}, {{2, 2, 2}}};

static struct mf_flux_grid extents(const size_t n[3], int odd, int last)
{
    return (struct mf_flux_grid){.n = {n[0], n[1], n[2]}, .odd = odd, .last = {last, last, last}};
}

/* A vector whose layer is zero. */
static float *vector(struct side *s, const struct mf_flux_grid *g, uint32_t stream)
{
    float *host = calloc(mf_flux_all(g), sizeof *host), *x;

    for (size_t z = 0; z < g->n[0] && stream; ++z)
        for (size_t y = 0; y < g->n[1]; ++y)
            for (size_t k = 0; k < g->n[2]; ++k) {
                const size_t i = mf_flux_at(g, z, y, k);

                host[i] = (float)mf_random_uniform(7, stream, i) - 0.5F;
            }
    x = up(s, mf_flux_all(g), host);
    free(host);
    return x;
}

/* Conductances between open cells, so many of ten. */
static void conduct(struct side *s, struct mf_flux_grid *g)
{
    const size_t all = mf_flux_all(g);

    for (int a = 0; a < 3; ++a) {
        float *host = calloc(all, sizeof *host);

        for (size_t z = 0; z < g->n[0] + (a == 0); ++z)
            for (size_t y = 0; y < g->n[1] + (a == 1); ++y)
                for (size_t k = 0; k < g->n[2] + (a == 2); ++k) {
                    const size_t i = mf_flux_at(g, z, y, k);
                    const double u = mf_random_uniform(8, (uint32_t)a, i);

                    host[i] = u < 0.3 ? 0 : (float)u;
                }
        g->c[a] = up(s, all, host);
        free(host);
    }
    g->w = vector(s, g, 0);
    s->be->flux->finish(s->q, g);
}

/* Cells of which 7 of ten conduct; beside the first and the last planes stand plates. */
static void count(struct side *s, struct mf_flux_grid *g)
{
    const size_t all = mf_flux_all(g), plane = mf_flux_plane(g), row = mf_flux_row(g);
    uint8_t *weight = calloc(all, 1), *host = calloc(all, 1);

    for (size_t z = 0; z < g->n[0] + 2; ++z)
        for (size_t y = 0; y < g->n[1]; ++y)
            for (size_t k = 0; k < g->n[2]; ++k) {
                const size_t i = z * plane + (y + 1) * row + k + 1;

                weight[i] = z == 0 || z > g->n[0] ? 2 : mf_random_uniform(9, 0, i) < 0.7;
            }
    memcpy(host, weight, all);
    for (size_t i = plane; i < all - plane; ++i)
        host[i] = (uint8_t)(weight[i] * (weight[i - 1] + weight[i + 1] + weight[i - row] + weight[i + row] +
                                         weight[i - plane] + weight[i + plane]));
    g->count = mf_arena_take(s->device, all, "test");
    s->be->put(s->q, g->count, host, all);
    free(weight);
    free(host);
}

static struct level level_new(struct side *s, int t, int counts)
{
    struct level l = {.fine = extents(size[t], t & 1, counts)};
    size_t n[3];

    for (int a = 0; a < 3; ++a) n[a] = (size[t][a] + steps[t].of[a] - 1) / steps[t].of[a];
    l.coarse = extents(n, 0, counts);
    if (counts)
        count(s, &l.fine);
    else
        conduct(s, &l.fine);
    for (int a = 0; a < 3; ++a) l.coarse.c[a] = vector(s, &l.coarse, 0);
    l.coarse.w = vector(s, &l.coarse, 0);
    l.x = vector(s, &l.fine, 1), l.b = vector(s, &l.fine, 2), l.y = vector(s, &l.fine, 3), l.r = vector(s, &l.fine, 4);
    l.xc = vector(s, &l.coarse, 5), l.bc = vector(s, &l.coarse, 0);
    return l;
}

/* Everything of a level comes to the host: [values]. */
static float *level_end(struct side *s, struct level *l, size_t *n)
{
    const size_t fine = mf_flux_all(&l->fine), coarse = mf_flux_all(&l->coarse);
    float *const of_fine[] = {l->x, l->b, l->y, l->r, l->fine.w}, *const of_coarse[] = {l->xc,          l->bc,
                                                                                        l->coarse.w,    l->coarse.c[0],
                                                                                        l->coarse.c[1], l->coarse.c[2]};
    float *all = calloc(5 * fine + 6 * coarse, sizeof *all), *to = all;

    for (int i = 0; i < 5; ++i, to += fine)
        if (of_fine[i]) {
            float *got = down(s, fine, of_fine[i]);

            memcpy(to, got, fine * sizeof *to);
            free(got);
        }
    for (int i = 0; i < 6; ++i, to += coarse) {
        float *got = down(s, coarse, of_coarse[i]);

        memcpy(to, got, coarse * sizeof *to);
        free(got);
    }
    for (int a = 0; a < 3; ++a) mf_arena_give(s->device, l->fine.c[a]);
    mf_arena_give(s->device, l->fine.count);
    *n = (size_t)(to - all);
    return all;
}

static void cycle(struct side *s, const struct level *l, struct mf_flux_step by, int periodic)
{
    const struct mf_flux_ops *ops = s->be->flux;
    const struct mf_flux_grid *g = &l->fine, *c = &l->coarse;

    if (periodic) {
        ops->begin(s->q, g, l->b, l->x);
        for (int a = 0; a < 3; ++a) ops->wrap(s->q, g, a, a == 1 ? 0.25F : 0, l->x);
        ops->relax(s->q, g, 1, l->b, l->x);
        ops->restrict_to(s->q, g, c, by, l->b, l->x, l->bc);
    } else {
        ops->descend(s->q, g, c, by, l->b, l->x, l->bc);
    }
    ops->relax_both(s->q, c, 0, l->bc, l->xc);
    ops->add(s->q, g, c, by, l->xc, l->x);
    ops->relax(s->q, g, 1, l->b, l->x);
    ops->relax(s->q, g, 0, l->b, l->x);
}

/* More passes share a launch than it takes. */
static void passes(struct side *s, const struct level *l, int t, int shares, double *out)
{
    const struct mf_flux_ops *ops = s->be->flux;
    const struct mf_flux_grid *g = &l->fine;
    const struct mf_flux_step by = steps[t];
    const size_t nz = g->n[0];

    ops->coarsen(s->q, g, by, &l->coarse);
    ops->finish(s->q, &l->coarse);
    if (shares && ops->batch) ops->batch(s->q, 1);
    for (int i = 0; i < (shares ? 40 : 2); ++i) cycle(s, l, by, t % 2);
    if (shares && ops->batch) ops->batch(s->q, 0);
    ops->apply(s->q, g, l->x, l->y, out);
    ops->dot(s->q, g, l->x, l->r, out + nz);
    ops->move(s->q, g, 0.3F, l->b, l->y, l->x, l->r);
    ops->turn(s->q, g, -0.7F, l->x, l->b);
    ops->lift(s->q, g, -1, 0.5F, l->x);
    ops->lift(s->q, g, (ptrdiff_t)nz, -0.5F, l->x);
    ops->energy(s->q, g, l->x, out + 2 * nz);
    for (int a = 0; a < 3; ++a) ops->flux(s->q, g, a, l->x, out + (3 + (size_t)a * 2000) * nz);
}

static void check(int t, int counts, int shares)
{
    const size_t sums = size[t][0] * 9000;
    double *out[SIDES];
    float *got[SIDES];
    size_t n = 0;

    for (int s = 0; s < SIDES; ++s) {
        struct level l = level_new(&side[s], t, counts);

        out[s] = sums_new(&side[s], sums);
        passes(&side[s], &l, t, shares, out[s]);
        side[s].be->sync(side[s].q);
        got[s] = level_end(&side[s], &l, &n);
    }
    CHECK_SAYS(memcmp(got[0], got[1], n * sizeof *got[0]) == 0, "case %d, counts %d, shares %d: %.3g off", t, counts,
               shares, away(n, got[1], got[0]));
    CHECK_SAYS(memcmp(out[0], out[1], sums * sizeof *out[0]) == 0, "sums of case %d, counts %d: %.3g off", t, counts,
               away_sums(sums, out[1], out[0]));
    for (int s = 0; s < SIDES; ++s) {
        free(got[s]);
        mf_arena_give(side[s].host, out[s]);
    }
}

int main(void)
{
    side[0] = side_open("cpu");
    side[1] = side_open("cuda");
    for (int t = 0; t < (int)(sizeof size / sizeof *size); ++t)
        for (int counts = 0; counts < 2; ++counts)
            for (int shares = 0; shares < 2; ++shares) check(t, counts, shares);
    side_close(&side[0]);
    side_close(&side[1]);
    return failures != 0;
}
