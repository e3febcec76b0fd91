/* The energy of flips and swaps, and the state after them, equal the loss computed from scratch. Cases are images and
 * volumes, one phase and three, periodic and not, slices shared or not, windows that meet. Flips that keep clusters
 * keep their number. */
#include "src/recon/swap.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/rng.h"
#include "tests/check.h"

enum { LAG = 4, W = 2 * LAG - 1, N = 12, COUNT = 40 };

static size_t dims[3];
static uint8_t label[N * N * N];
static int periodic, fields;

static size_t extent(size_t d, int v)
{
    return d == MF_Z ? dims[1 + v] : d == MF_Y ? dims[v ? 2 : 0] : dims[v ? 1 : 0];
}

static uint8_t at(size_t d, size_t s, ptrdiff_t u, ptrdiff_t v)
{
    ptrdiff_t nu = (ptrdiff_t)extent(d, 0), nv = (ptrdiff_t)extent(d, 1);
    size_t i, j;

    if (!periodic && (u < 0 || v < 0 || u >= nu || v >= nv)) return 255;
    i = (size_t)((u + nu) % nu);
    j = (size_t)((v + nv) % nv);
    if (d == MF_Z) return label[(s * dims[1] + i) * dims[2] + j];
    if (d == MF_Y) return label[(i * dims[1] + s) * dims[2] + j];
    return label[(i * dims[1] + j) * dims[2] + s];
}

static uint8_t phase_of_field(size_t f) { return fields == 1 ? 1 : (uint8_t)f; }

static double target(size_t f, int du, int dv) { return 0.2 + 0.01 * (double)f + 0.02 / (1 + du * du + dv * dv); }

static double s2_of(size_t d, size_t s, uint8_t phase, int du, int dv)
{
    long hits = 0, pairs = 0;

    for (size_t u = 0; u < extent(d, 0); ++u)
        for (size_t v = 0; v < extent(d, 1); ++v) {
            uint8_t b = at(d, s, (ptrdiff_t)u + du, (ptrdiff_t)v + dv);

            pairs += b != 255;
            hits += b == phase && at(d, s, (ptrdiff_t)u, (ptrdiff_t)v) == phase;
        }
    return (double)hits / (double)pairs;
}

static double v_of(size_t d, size_t s, uint8_t phase)
{
    long jump[2] = {0}, pairs[2] = {0};

    for (size_t u = 0; u < extent(d, 0); ++u)
        for (size_t v = 0; v < extent(d, 1); ++v)
            for (int k = 0; k < 2; ++k) {
                uint8_t a = at(d, s, (ptrdiff_t)u, (ptrdiff_t)v), b = at(d, s, (ptrdiff_t)u + !k, (ptrdiff_t)v + k);

                pairs[k] += b != 255;
                jump[k] += b != 255 && (a == phase) != (b == phase);
            }
    return (double)jump[0] / (double)pairs[0] + (double)jump[1] / (double)pairs[1];
}

/* The loss from scratch, and the state of a swap filled from it. */
static double scratch(struct mf_swap *w, int fill)
{
    double e = 0;

    for (size_t d = 0; d < w->sites.sides; ++d)
        for (size_t f = 0; f < (size_t)fields; ++f)
            for (size_t s = 0; s < w->side[d].slices; ++s) {
                struct mf_swap_side *side = &w->side[d];
                double v = v_of(d, s, phase_of_field(f)), off = v - side->v_target[f];
                float *r = side->residual + (f * side->slices + s) * w->sites.shape.n * 32;

                e += w->q2[f] * side->v_weight * off * off;
                if (fill) side->v[f * side->slices + s] = v;
                for (int du = -LAG + 1; du < LAG; ++du)
                    for (int dv = -LAG + 1; dv < LAG; ++dv) {
                        size_t k = (size_t)((du + LAG - 1) * 32 + dv + LAG - 1);
                        double miss = s2_of(d, s, phase_of_field(f), du, dv) - target(f, du, dv);

                        e += w->q2[f] * side->s2_weight * miss * miss;
                        if (fill)
                            r[k] = (float)(miss * (side->a2 ? sqrt(side->a2[k]) : 1));
                        else
                            CHECK_NEAR(r[k], miss * (side->a2 ? sqrt(side->a2[k]) : 1), 2e-6);
                    }
                if (!fill) CHECK_NEAR(side->v[f * side->slices + s], v, 1e-9);
            }
    return e;
}

static void windows(struct mf_swap *w)
{
    struct mf_sites *x = &w->sites;

    memset(x->window, 0, x->count * x->sides * x->planes * x->shape.n * sizeof *x->window);
    for (size_t i = 0; i < x->count; ++i)
        for (size_t k = 0; k < x->sides * x->planes; ++k) {
            uint32_t *bits = x->window + (i * x->sides * x->planes + k) * x->shape.n;
            const struct mf_site *s = &x->site[i];
            size_t d = k / x->planes;
            uint8_t phase = x->planes == 1 ? 1 : k % 2 ? s->to : s->from;

            for (int du = -LAG + 1; du < LAG; ++du)
                for (int dv = -LAG + 1; dv < LAG; ++dv)
                    if ((du || dv) && at(d, s->at[d], (ptrdiff_t)s->at[d == MF_Z] + du,
                                         (ptrdiff_t)s->at[d == MF_X ? 1 : 2] + dv) == phase)
                        bits[du + LAG - 1] |= 1u << (dv + LAG - 1);
            mf_flip_cpu.turn(&x->shape, bits, x->mirror + (i * x->sides * x->planes + k) * x->shape.n);
        }
}

static void open_side(struct mf_swap *w, size_t d)
{
    struct mf_swap_side *s = &w->side[d];

    s->nu = extent(d, 0);
    s->nv = extent(d, 1);
    s->slices = dims[d];
    s->pixels = (double)(s->nu * s->nv);
    s->down = 1 / (periodic ? s->pixels : (double)((s->nu - 1) * s->nv));
    s->along = 1 / (periodic ? s->pixels : (double)(s->nu * (s->nv - 1)));
    s->s2_weight = 0.3 + 0.1 * (double)d;
    s->v_weight = 0.07;
    s->a2 = periodic ? NULL : calloc(w->sites.shape.n * 32, sizeof(float));
    for (int du = -LAG + 1; s->a2 && du < LAG; ++du)
        for (int dv = -LAG + 1; dv < LAG; ++dv) {
            double a = s->pixels / ((double)((int)s->nu - abs(du)) * (double)((int)s->nv - abs(dv)));

            s->a2[(du + LAG - 1) * 32 + dv + LAG - 1] = (float)(a * a);
        }
    s->residual = calloc((size_t)fields * s->slices * w->sites.shape.n * 32, sizeof(float));
    s->v = calloc((size_t)fields * s->slices, sizeof(double));
    s->v_target = calloc((size_t)fields, sizeof(double));
    for (int f = 0; f < fields; ++f) s->v_target[f] = 0.4 + 0.1 * f;
    w->member[d] = calloc(COUNT, sizeof(uint32_t));
    w->start[d] = calloc((w->by_rows ? s->nu : s->slices) + 2, sizeof(uint32_t));
}

static void random_sites(struct mf_swap *w, int phases)
{
    size_t voxels = dims[0] * dims[1] * dims[2], n = 0;

    for (uint64_t i = 0; n < COUNT; ++i) {
        uint32_t r[4];
        size_t v;
        struct mf_site *s = &w->sites.site[n];

        mf_random4(7, 3, i, r);
        v = r[0] % voxels;
        *s = (struct mf_site){
            .at = {(uint32_t)(v / (dims[1] * dims[2])), (uint32_t)(v / dims[2] % dims[1]), (uint32_t)(v % dims[2])},
            .from = label[v]};
        s->to = (uint8_t)((s->from + 1 + r[1] % (uint32_t)(phases - 1)) % (uint32_t)phases);
        ++n;
    }
    w->sites.count = n;
}

static void put(const struct mf_site *s, uint8_t phase)
{
    label[(s->at[0] * dims[1] + s->at[1]) * dims[2] + s->at[2]] = phase;
}

static int same_voxel(const struct mf_site *a, const struct mf_site *b) { return !memcmp(a->at, b->at, sizeof a->at); }

/* Single flips, swaps, and a chain of applied swaps. */
static void energies(struct mf_swap *w)
{
    double before = scratch(w, 1);

    for (size_t i = 0; i < COUNT; ++i) {
        struct mf_site *s = &w->sites.site[i];
        double got = mf_swap_energy(w, i);

        put(s, s->to);
        {
            struct mf_swap other = *w; /* the loss alone: residuals are not looked at */
            double after = 0;

            for (size_t d = 0; d < w->sites.sides; ++d) {
                other.side[d].residual =
                    malloc((size_t)fields * w->side[d].slices * w->sites.shape.n * 32 * sizeof(float));
                other.side[d].v = malloc((size_t)fields * w->side[d].slices * sizeof(double));
            }
            after = scratch(&other, 1);
            CHECK_NEAR(got, after - before, 1e-6 * before);
            for (size_t d = 0; d < w->sites.sides; ++d) {
                free(other.side[d].residual);
                free(other.side[d].v);
            }
        }
        put(s, s->from);
    }
    for (size_t i = 0; i + 1 < COUNT; i += 2) {
        struct mf_site *a = &w->sites.site[i], *b = &w->sites.site[i + 1];
        double got, after;

        if (same_voxel(a, b) || w->used[i] || w->used[i + 1]) continue;
        got = mf_swap_energy(w, i) + mf_swap_energy(w, i + 1) + mf_swap_interaction(w, i, i + 1);
        mf_swap_apply(w, i);
        if (w->used[i + 1]) continue;
        mf_swap_apply(w, i + 1);
        put(a, a->to);
        put(b, b->to);
        after = scratch(w, 0);
        CHECK_NEAR(got, after - before, 1e-6 * before);
        before = after;
    }
}

/* Clusters of a phase, joined by faces, a periodic border or not. Returns their number, and 1000 times how many faces
 * of the volume each touches. */
static long clusters(uint8_t phase)
{
    static uint8_t seen[N * N * N];
    static size_t stack[N * N * N];
    const size_t step[3] = {dims[1] * dims[2], dims[2], 1}, voxels = dims[0] * step[0];
    long count = 0;

    memset(seen, 0, sizeof seen);
    for (size_t from = 0; from < voxels; ++from) {
        unsigned touch = 0;
        size_t n = 0;

        if (seen[from] || label[from] != phase) continue;
        ++count;
        seen[stack[n++] = from] = 1;
        while (n > 0) {
            size_t v = stack[--n], is[3] = {v / step[0], v / step[1] % dims[1], v % dims[2]};

            for (int k = 0; k < 6; ++k) {
                size_t next = k % 2 ? v + step[k / 2] : v - step[k / 2];

                if (k % 2 ? is[k / 2] + 1 == dims[k / 2] : is[k / 2] == 0) {
                    touch |= (unsigned)(dims[k / 2] > 1) << k;
                    continue;
                }
                if (!seen[next] && label[next] == phase) seen[stack[n++] = next] = 1;
            }
        }
        count += 1000 * __builtin_popcount(touch);
    }
    return count;
}

static int touches(const struct mf_site *s, uint8_t phase)
{
    const size_t step[3] = {dims[1] * dims[2], dims[2], 1}, v = s->at[0] * step[0] + s->at[1] * step[1] + s->at[2];
    int any = 0;

    for (int a = 0; a < 3; ++a) {
        if (s->at[a] > 0) any |= label[v - step[a]] == phase;
        if (s->at[a] + 1 < dims[a]) any |= label[v + step[a]] == phase;
    }
    return any;
}

static long kept;

static void keeping(const struct mf_swap *w)
{
    for (size_t i = 0; i < COUNT; ++i) {
        const struct mf_site *s = &w->sites.site[i];
        long left = clusters(s->from) - !touches(s, s->from), entered = clusters(s->to) + !touches(s, s->to);

        if (!mf_swap_keeps(w, i)) continue;
        put(s, s->to);
        CHECK(clusters(s->from) == left);
        CHECK(clusters(s->to) == entered);
        put(s, s->from);
        ++kept;
    }
}

static void close_all(struct mf_swap *w)
{
    for (size_t d = 0; d < w->sites.sides; ++d) {
        free(w->side[d].a2);
        free(w->side[d].residual);
        free(w->side[d].v);
        free(w->side[d].v_target);
        free(w->member[d]);
        free(w->start[d]);
    }
    free(w->sites.site);
    free(w->sites.window);
    free(w->sites.mirror);
    free(w->used);
}

static void run(size_t nz, size_t ny, size_t nx, int phases, int wrap, int by_rows)
{
    struct mf_swap w = {.periodic = wrap, .by_rows = by_rows};
    size_t size;

    dims[0] = nz;
    dims[1] = ny;
    dims[2] = nx;
    periodic = wrap;
    fields = phases == 2 ? 1 : phases;
    for (size_t i = 0; i < nz * ny * nx; ++i) label[i] = (uint8_t)(mf_random_uniform(5, 1, i) * phases);
    w.sites.sides = nz > 1 ? 3 : 1;
    w.sites.planes = fields == 1 ? 1 : 2;
    w.sites.shape = (struct mf_window_shape){W, 1, W};
    for (int f = 0; f < fields; ++f) w.q2[f] = 1 + 0.3 * f;
    for (size_t d = 0; d < w.sites.sides; ++d) open_side(&w, d);
    size = COUNT * w.sites.sides * w.sites.planes * w.sites.shape.n;
    w.sites.site = calloc(COUNT, sizeof *w.sites.site);
    w.sites.window = calloc(size, sizeof(uint32_t));
    w.sites.mirror = calloc(size, sizeof(uint32_t));
    w.used = calloc(COUNT, 1);
    random_sites(&w, phases);
    windows(&w);
    mf_swap_index(&w);
    keeping(&w);
    energies(&w);
    close_all(&w);
}

int main(void)
{
    for (int wrap = 0; wrap < 2; ++wrap) {
        for (int by_rows = 0; by_rows < 2; ++by_rows) {
            run(1, 12, 11, 2, wrap, by_rows);
            run(1, 9, 12, 3, wrap, by_rows);
        }
        run(8, 9, 10, 2, wrap, 0);
        run(9, 8, 8, 3, wrap, 0);
    }
    CHECK(kept > 10);
    return failures != 0;
}
