/* See recipe.h: what is seen of a micrograph. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/backend.h"
#include "kernels/form/structure_tensor.h"
#include "src/base/arena.h"
#include "src/base/err.h"
#include "src/base/rng.h"
#include "src/base/streams.h"
#include "src/desc/texture.h"
#include "src/recon/recipe.h"

/* The autocovariance of what may be a wave falls below this. */
static const double TROUGH = -0.1;

/* Walls are closed if they separate at least so many pieces per cell that their length allows, and at least FEWEST: the
 * surroundings of a few inclusions are one piece. */
static const double PIECES = 0.5, FEWEST = 8;

enum { SHIFTS = 256, PASSES = 256, PIXELS = 1 << 16, SURROGATES = 16 };

/* So many inclusions determine their size, if they contain enough of their phase; dust in grains does not. A piece of
 * at most SPECK pixels does not count. */
enum { INCLUSIONS = 4, SPECK = 3 };
static const double HELD = 0.3;

/* The pixels of phase 1 (or of the only one) of an example, and surrogates behind it, [1 + surrogates][nu][nv]. */
struct pictures {
    size_t nu, nv, surrogates, marked, jumps;
    float *x;
};

/* Neighbours inside a picture that differ. */
static size_t jumps(const float *x, size_t nu, size_t nv)
{
    size_t sum = 0;

    for (size_t u = 0; u < nu; ++u)
        for (size_t v = 0; v < nv; ++v) {
            const float *at = x + u * nv + v;

            sum += v + 1 < nv && at[0] != at[1];
            sum += u + 1 < nu && at[0] != at[nv];
        }
    return sum;
}

static void mark(const struct mf_target *target, const struct mf_target_side *side, struct pictures *p)
{
    const double phase = target->phases > 1;

    p->marked = 0;
    for (size_t i = 0; i < p->nu * p->nv; ++i) {
        p->x[i] = side->example[i] == phase;
        p->marked += p->x[i] > 0;
    }
    p->jumps = jumps(p->x, p->nu, p->nv);
}

/* The k-th largest of n values, k < n, which it sorts as far as it has to. */
static double largest(double *value, size_t n, size_t k)
{
    size_t first = 0, last = n;

    while (last - first > 1) {
        const double pivot = value[first + (last - first) / 2];
        size_t above = first, at = first, below = last;

        while (at < below) {
            const double here = value[at];
            size_t to = at;

            if (here > pivot) to = above++;
            if (here < pivot) to = --below;
            value[at] = value[to];
            value[to] = here;
            at += here >= pivot;
        }
        if (k >= above && k < below) return pivot;
        if (k < above)
            last = above;
        else
            first = below;
    }
    return value[first];
}

/* One of n things, by the random number at a place. */
static size_t pick(uint64_t at, size_t n)
{
    const size_t i = (size_t)(mf_random_uniform(0, MF_STREAM_SURROGATE, at) * (double)n);

    return i < n ? i : 0;
}

/* The picture added up at many random shifts with random signs and sizes: its power spectrum and random phases. */
static void scatter(const struct pictures *p, size_t number, double *field)
{
    const size_t nu = p->nu, nv = p->nv;

    memset(field, 0, nu * nv * sizeof *field);
    for (size_t k = 0; k < SHIFTS; ++k) {
        const uint64_t at = 3 * (number * SHIFTS + k);
        const size_t du = pick(at, nu), dv = pick(at + 1, nv);
        const double size = 2 * mf_random_uniform(0, MF_STREAM_SURROGATE, at + 2) - 1;

        for (size_t u = 0; u < nu; ++u) {
            const float *row = p->x + (u + du < nu ? u + du : u + du - nu) * nv;
            double *out = field + u * nv;

            for (size_t v = 0; v < nv - dv; ++v) out[v] += size * (double)row[v + dv];
            for (size_t v = nv - dv; v < nv; ++v) out[v] += size * (double)row[v + dv - nv];
        }
    }
}

/* Each value and its neighbours, 1/4 1/2 1/4, along both axes, around the borders. */
static void smooth(size_t nu, size_t nv, double *field, double *room)
{
    for (size_t u = 0; u < nu; ++u) {
        const double *here = field + u * nv;
        const double *above = field + (u > 0 ? u - 1 : nu - 1) * nv, *below = field + (u + 1 < nu ? u + 1 : 0) * nv;

        for (size_t v = 0; v < nv; ++v) room[u * nv + v] = 0.25 * (above[v] + below[v]) + 0.5 * here[v];
    }
    for (size_t u = 0; u < nu; ++u) {
        const double *here = room + u * nv;

        for (size_t v = 0; v < nv; ++v)
            field[u * nv + v] = 0.25 * (here[v > 0 ? v - 1 : nv - 1] + here[v + 1 < nv ? v + 1 : 0]) + 0.5 * here[v];
    }
}

/* Cut at the picture's fraction, and smoothed until it has no more jumps than the picture, because a spectrum of sharp
 * edges with random phases is rough. field, room [nu][nv]. */
static void surrogate(const struct pictures *p, size_t number, double *field, double *room)
{
    const size_t nu = p->nu, nv = p->nv, n = nu * nv;
    float *to = p->x + (1 + number) * n;

    scatter(p, number, field);
    for (int pass = 0;; ++pass) {
        double least = INFINITY;

        memcpy(room, field, n * sizeof *room);
        if (p->marked > 0) least = largest(room, n, p->marked - 1);
        for (size_t i = 0; i < n; ++i) to[i] = field[i] >= least;
        if (pass == PASSES || jumps(to, nu, nv) <= p->jumps) return;
        smooth(nu, nv, field, room);
    }
}

/* sqrt(C^2 / E^2) of pictures [first, first + count), by the kernels that reconstruct aims with: lag 0 alone. */
static int coherence(struct mf_arena *arena, const struct pictures *p, size_t first, size_t count, double *value)
{
    const struct mf_slice_desc desc = {.nu = p->nu, .nv = p->nv, .lag = 1, .levels = 1, .count_max = count};
    const size_t n = p->nu * p->nv;
    struct mf_view view = {p->x + first * n, count, p->nu, p->nv, n, p->nv, 1};
    double sum[MF_STRUCTURE_TENSOR_MAPS] = {0};
    struct mf_slice_plan *plan = NULL;
    struct mf_queue *queue = NULL;
    int rc = mf_backend_cpu.queue_open(&queue, 0, 1, 1, arena, arena);

    if (rc == MF_OK) rc = mf_slices_plan(mf_backend_cpu.slices->structure_tensor, queue, &desc, &plan);
    if (rc == MF_OK) {
        mf_backend_cpu.slices->structure_tensor->total(plan, &view, sum);
        mf_backend_cpu.slices->structure_tensor->free(plan);
    }
    if (queue) mf_backend_cpu.queue_close(queue);
    *value =
        sum[MF_STRUCTURE_TENSOR_E] > 0 ? sqrt(fmax(0, sum[MF_STRUCTURE_TENSOR_C]) / sum[MF_STRUCTURE_TENSOR_E]) : 0;
    return rc;
}

static int straightness(struct mf_arena *arena, const struct pictures *p, double *ratio)
{
    const size_t n = p->nu * p->nv;
    double *field = mf_arena_take(arena, 2 * n * sizeof *field, "surrogates"), mine = 0, theirs = 0;

    if (!field) return MF_MEMORY;
    for (size_t k = 0; k < p->surrogates; ++k) surrogate(p, k, field, field + n);
    mf_arena_give(arena, field);
    MF_TRY(coherence(arena, p, 0, 1, &mine));
    MF_TRY(coherence(arena, p, 1, p->surrogates, &theirs));
    *ratio = theirs > 0 ? mine / theirs : 1;
    return MF_OK;
}

/* Jumps per pair of pixels across the borders: 0: as many as inside; 1: as many as between distant pixels. */
static double seam(const struct pictures *p)
{
    const double nu = (double)p->nu, nv = (double)p->nv, share = (double)p->marked / (nu * nv);
    double inside = 0, border = 0, chance = 2 * share * (1 - share);

    for (size_t u = 0; u < p->nu; ++u)
        for (size_t v = 0; v < p->nv; ++v) {
            const size_t below = u + 1 < p->nu ? u + 1 : 0, beside = v + 1 < p->nv ? v + 1 : 0;
            const float here = p->x[u * p->nv + v];

            *(below ? &inside : &border) += fabs((double)(p->x[below * p->nv + v] - here));
            *(beside ? &inside : &border) += fabs((double)(p->x[u * p->nv + beside] - here));
        }
    inside /= 2 * nu * nv - nu - nv;
    border /= nu + nv;
    return chance > inside ? (border - inside) / (chance - inside) : 1;
}

/* Mean of a window of S2 [2L-1][2L-1] over the lags that are r long, to the nearest pixel. */
static double at_radius(const double *s2, long reach, long r)
{
    double sum = 0;
    long count = 0;

    for (long u = -reach; u <= reach; ++u)
        for (long v = -reach; v <= reach; ++v)
            if (lround(sqrt((double)(u * u + v * v))) == r) {
                sum += s2[(u + reach) * (2 * reach + 1) + v + reach];
                ++count;
            }
    return count > 0 ? sum / (double)count : 0;
}

/* The wave number with the largest spectrum of a window, weighted by a Gaussian and averaged over all directions:
 * periods per pixel, to a 256th. */
static double strongest(const double *s2, long reach, double fraction)
{
    enum { NUMBERS = 128 };
    const double turn = 2 * acos(-1);
    double sum[1 + NUMBERS] = {0};
    int most = 0;

    for (long u = -reach; u <= reach; ++u)
        for (long v = -reach; v <= reach; ++v) {
            const double r = hypot((double)u, (double)v), far = 2 * r / (double)(reach + 1);
            const double here = (s2[(u + reach) * (2 * reach + 1) + v + reach] - fraction * fraction) * exp(-far * far);

            for (int i = 1; i <= NUMBERS; ++i) sum[i] += here * j0(turn * r * i / (2.0 * NUMBERS));
        }
    for (int i = 1; i <= NUMBERS; ++i)
        if (sum[i] > sum[most]) most = i;
    return most / (2.0 * NUMBERS);
}

/* Autocovariance of a level by radius, over its value at 0: trough, crest and wave number. */
static void wave(const double *s2, size_t lag, double fraction, size_t level, struct mf_target_look *look)
{
    const long reach = (long)lag - 1;
    const double top = at_radius(s2, reach, 0) - fraction * fraction;
    double least = 0, most = 0;

    for (long r = 1; r <= reach && top > 0; ++r) {
        const double here = (at_radius(s2, reach, r) - fraction * fraction) / top;

        most = here < least ? -1 : fmax(most, here);
        least = fmin(least, here);
    }
    if (least > TROUGH || most < look->crest) return;
    look->trough = least;
    look->crest = most;
    look->wave = ldexp(strongest(s2, reach, fraction), -(int)level);
}

/* On levels whose window is at most a quarter of the slice: beyond, a few things wave by chance. */
static void waves(const struct mf_target *target, const struct mf_target_side *side, struct mf_target_look *look)
{
    const size_t w = 2 * target->lag - 1, phase = target->phases > 1, least = side->nu < side->nv ? side->nu : side->nv;

    for (size_t l = 0; l < side->levels && least >> l >= 4 * target->lag; ++l)
        wave(side->s2 + (phase * side->levels + l) * w * w, target->lag, side->fraction[phase * side->levels + l], l,
             look);
}

/* Cells per pixel from the length of the walls. Random points of density `cells` have walls of length 2 sqrt(cells) per
 * pixel between them, with 4 / pi jumps along each pixel of both faces. 0 if the commoner phase has far fewer pieces,
 * or few. */
static int walled(struct mf_arena *arena, const struct pictures *p, double *cells)
{
    const size_t n = p->nu * p->nv;
    struct mf_texture texture[2] = {{.pixels = 0}};
    uint8_t *class = mf_arena_take(arena, n, "cells");
    const double root = acos(-1) / 16 * (double)p->jumps / (double)n;
    double pieces;
    int rc;

    if (!class) return MF_MEMORY;
    for (size_t i = 0; i < n; ++i) class[i] = p->x[i] > 0;
    rc = mf_texture_add(class, p->nu, p->nv, 2, 0, texture);
    mf_arena_give(arena, class);
    pieces = (double)texture[2 * p->marked >= n].components;
    *cells = pieces >= fmax(FEWEST, PIECES * root * root * (double)n) ? root * root : 0;
    return rc;
}

/* Takes the piece at a place away, joined by edges. Returns its pixels; 0: it touches the border. stack: room. */
static size_t take_piece(size_t nu, size_t nv, uint8_t *left, size_t *stack, size_t at)
{
    size_t depth = 0, pixels = 0;
    int inside = 1;

    left[at] = 0;
    stack[depth++] = at;
    for (; depth > 0; ++pixels) {
        const size_t here = stack[--depth], u = here / nv, v = here % nv;
        const size_t beside[4] = {here - nv, here + nv, here - 1, here + 1};
        const int there[4] = {u > 0, u + 1 < nu, v > 0, v + 1 < nv};

        for (int k = 0; k < 4; ++k) {
            inside &= there[k];
            if (!there[k] || !left[beside[k]]) continue;
            left[beside[k]] = 0;
            stack[depth++] = beside[k];
        }
    }
    return inside ? pixels : 0;
}

/* Standard deviation over mean of the areas of the rarer phase's pieces that lie completely in the picture; -1: too
 * few, or too little of the phase. */
static int spread_of(struct mf_arena *arena, const struct pictures *p, double *sizes)
{
    const size_t n = p->nu * p->nv;
    const int rarer = 2 * p->marked <= n; /* phase 1 is */
    const size_t all = rarer ? p->marked : n - p->marked;
    size_t *stack = mf_arena_take(arena, n * (1 + sizeof *stack), "inclusions");
    uint8_t *left = (uint8_t *)(stack + n);
    double count = 0, sum = 0, squares = 0;

    if (!stack) return MF_MEMORY;
    for (size_t i = 0; i < n; ++i) left[i] = (p->x[i] > 0) == rarer;
    for (size_t i = 0; i < n; ++i) {
        const double pixels = left[i] ? (double)take_piece(p->nu, p->nv, left, stack, i) : 0;

        if (pixels <= SPECK) continue;
        count += 1;
        sum += pixels;
        squares += pixels * pixels;
    }
    mf_arena_give(arena, stack);
    *sizes = count < INCLUSIONS || sum < HELD * (double)all ? -1 : sqrt(fmax(0, count * squares / (sum * sum) - 1));
    return MF_OK;
}

/* Of pictures in the arena. */
static int look_at(struct mf_arena *arena, const struct mf_target *target, struct mf_target_look *look)
{
    const struct mf_target_side *side = &target->side[0];
    struct pictures p = {.nu = side->example_nu, .nv = side->example_nv};
    const size_t pixels = p.nu * p.nv;
    int rc;

    p.surrogates = PIXELS / pixels < 1 ? 1 : PIXELS / pixels;
    if (p.surrogates > SURROGATES) p.surrogates = SURROGATES;
    p.x = mf_arena_take(arena, (1 + p.surrogates) * pixels * sizeof *p.x, "surrogates");
    if (!p.x) return MF_MEMORY;
    mark(target, side, &p);
    if (p.nu == side->nu && p.nv == side->nv) look->seam = seam(&p);
    rc = straightness(arena, &p, &look->coherence);
    if (rc == MF_OK && target->phases <= 2) rc = walled(arena, &p, &look->cells);
    if (rc == MF_OK && target->phases <= 2) rc = spread_of(arena, &p, &look->sizes);
    mf_arena_give(arena, p.x);
    return rc;
}

int mf_recipe_look(struct mf_arena *whole, const struct mf_target *target, struct mf_target_look *look)
{
    const struct mf_target_side *side = &target->side[0];
    struct mf_arena *arena;
    int rc;

    if (!side->example)
        return mf_fail(MF_INPUT, "'%s' has no labels, which --descriptor_types auto looks at; name the descriptors",
                       target->source);
    *look = (struct mf_target_look){.phases = target->phases, .rare = 1, .seam = 1, .sizes = -1};
    look->edge = side->example_nu < side->example_nv ? side->example_nu : side->example_nv;
    look->example = (double)side->example_nu * (double)side->example_nv;
    look->pixels = (double)side->nu * (double)side->nv;
    for (int k = 0; k < target->phases; ++k) look->rare = fmin(look->rare, side->fraction[(size_t)k * side->levels]);
    waves(target, side, look);
    MF_TRY(mf_arena_open_in(&arena, mf_backend_cpu.mem, whole));
    rc = look_at(arena, target, look);
    mf_arena_close(arena);
    return rc;
}
