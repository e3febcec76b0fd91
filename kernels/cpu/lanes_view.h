/* Slices into planes and back, and the pyramid on planes, for lanes_text.c. A plane is [vb][zs] cells; slice 2k of a
 * pair is in the real parts. On the way back the parts are exchanged (lanes.h). */
#ifndef MF_KERNELS_CPU_LANES_VIEW_H
#define MF_KERNELS_CPU_LANES_VIEW_H

#include "kernels/cpu/lanes.h"
#include "kernels/cpu/lanes_vec.h"

/* W columns of one row of one slice: part 0 or 1 of a cell. */
AI float *part_of(cell *c, size_t part) { return (float *)(void *)c + part * W; }

static size_t least(size_t a, size_t b) { return a < b ? a : b; }

static void zero_rows(const struct mf_lanes_level *l, cell *plane)
{
    for (size_t b = 0; b < l->vb; ++b)
        for (size_t u = l->nu; u < l->mu; ++u) plane[b * l->zs + u] = (cell){(vec){0}, (vec){0}};
}

static void zero_part(const struct mf_lanes_level *l, cell *plane, size_t part)
{
    for (size_t b = 0; b < l->vb; ++b)
        for (size_t u = 0; u < l->nu; ++u) store(part_of(plane + b * l->zs + u, part), (vec){0});
}

/* Slice s, one element after the other in a row or anyhow. */
static void gather_slice(const struct mf_lanes_level *l, const struct mf_view *x, size_t s, size_t part, cell *plane)
{
    for (size_t u = 0; u < l->nu; ++u) {
        const float *row = x->base + s * x->ss + u * x->su;

        for (size_t b = 0; b < l->vb; ++b, row += W * x->sv) {
            const size_t n = least(W, l->nv - b * W);
            float *to = part_of(plane + b * l->zs + u, part);

            if (n == W && x->sv == 1) {
                store(to, load(row));
                continue;
            }
            for (size_t j = 0; j < n; ++j) to[j] = row[j * x->sv];
            for (size_t j = n; j < W; ++j) to[j] = 0;
        }
    }
}

static void scatter_slice(const struct mf_lanes_level *l, const struct mf_view *g, size_t s, size_t part, cell *plane)
{
    for (size_t u = 0; u < l->nu; ++u) {
        float *row = g->base + s * g->ss + u * g->su;

        for (size_t b = 0; b < l->vb; ++b, row += W * g->sv) {
            const size_t n = least(W, l->nv - b * W);
            const float *from = part_of(plane + b * l->zs + u, part);

            if (n == W && g->sv == 1)
                store(row, load(row) + load(from));
            else
                for (size_t j = 0; j < n; ++j) row[j * g->sv] += from[j];
        }
    }
}

/* W slices side by side in memory, from slice s on: W / 2 pairs. */
static void gather_side(const struct mf_lanes_level *l, const struct mf_view *x, size_t s, cell *plane, size_t each)
{
    for (size_t u = 0; u < l->nu; ++u)
        for (size_t b = 0; b < l->vb; ++b) {
            const size_t n = least(W, l->nv - b * W);
            const float *from = x->base + s + u * x->su + b * W * x->sv;
            cell *to = plane + b * l->zs + u;
            vec t[W];

            for (size_t j = 0; j < W; ++j) t[j] = j < n ? load(from + j * x->sv) : (vec){0};
            transpose(t);
            for (size_t j = 0; j < W; ++j) store(part_of(to + j / 2 * each, j % 2), t[j]);
        }
}

static void scatter_side(const struct mf_lanes_level *l, const struct mf_view *g, size_t s, cell *plane, size_t each)
{
    for (size_t u = 0; u < l->nu; ++u)
        for (size_t b = 0; b < l->vb; ++b) {
            const size_t n = least(W, l->nv - b * W);
            float *to = g->base + s + u * g->su + b * W * g->sv;
            cell *from = plane + b * l->zs + u;
            vec t[W];

            for (size_t j = 0; j < W; ++j) t[j] = load(part_of(from + j / 2 * each, 1 - j % 2));
            transpose(t);
            for (size_t j = 0; j < n; ++j) store(to + j * g->sv, load(to + j * g->sv) + t[j]);
        }
}

/* Pairs of slices from slice s on into planes `each` cells apart. A missing slice is zeros. */
static void lanes_gather_pairs(const struct mf_lanes_level *l, const struct mf_view *x, size_t s, size_t pairs,
                               cell *plane, size_t each)
{
    const size_t end = s + 2 * pairs;

    for (size_t i = 0; i < pairs; ++i) zero_rows(l, plane + i * each);
    for (size_t n = 0; s < end; s += n, plane += n / 2 * each) {
        n = x->ss == 1 && s + W <= least(end, x->count) ? W : 2;
        if (n > 2) {
            gather_side(l, x, s, plane, each);
            continue;
        }
        gather_slice(l, x, s, 0, plane);
        if (s + 1 < x->count)
            gather_slice(l, x, s + 1, 1, plane);
        else
            zero_part(l, plane, 1);
    }
}

static void lanes_scatter_pairs(const struct mf_lanes_level *l, const struct mf_view *g, size_t s, size_t pairs,
                                cell *plane, size_t each)
{
    const size_t end = s + 2 * pairs;

    for (size_t n = 0; s < end; s += n, plane += n / 2 * each) {
        n = g->ss == 1 && s + W <= least(end, g->count) ? W : 2;
        if (n > 2) {
            scatter_side(l, g, s, plane, each);
            continue;
        }
        scatter_slice(l, g, s, 1, plane);
        if (s + 1 < g->count) scatter_slice(l, g, s + 1, 0, plane);
    }
}

/* One slice of each of two fields as a pair. */
static void lanes_gather_two(const struct mf_lanes_level *l, const struct mf_view *a, const struct mf_view *b, size_t s,
                             cell *plane)
{
    zero_rows(l, plane);
    gather_slice(l, a, s, 0, plane);
    gather_slice(l, b, s, 1, plane);
}

/* Keeps the first n lanes. */
AI vec keep(vec x, size_t n)
{
    for (size_t j = n; j < W; ++j) x[j] = 0;
    return x;
}

/* Mean of 2 x 2 pixels; a last odd row or column is dropped. */
static void lanes_pool(const struct mf_lanes_level *fine, const cell *from, const struct mf_lanes_level *coarse,
                       cell *to)
{
    zero_rows(coarse, to);
    for (size_t b = 0; b < coarse->vb; ++b) {
        const size_t n = least(W, coarse->nv - b * W);
        const cell *left = from + 2 * b * fine->zs, *right = 2 * b + 1 < fine->vb ? left + fine->zs : NULL;

        for (size_t u = 0; u < coarse->nu; ++u) {
            const cell x = add(left[2 * u], left[2 * u + 1]);
            const cell y = right ? add(right[2 * u], right[2 * u + 1]) : (cell){(vec){0}, (vec){0}};
            cell c = {0.25f * add_neighbours(x.r, y.r), 0.25f * add_neighbours(x.i, y.i)};

            if (n < W) c = (cell){keep(c.r, n), keep(c.i, n)};
            to[b * coarse->zs + u] = c;
        }
    }
}

/* Adjoint of lanes_pool(): to += . */
static void lanes_spread(const struct mf_lanes_level *coarse, const cell *from, const struct mf_lanes_level *fine,
                         cell *to)
{
    for (size_t b = 0; b < coarse->vb; ++b) {
        const size_t n = least(W, coarse->nv - b * W);
        cell *left = to + 2 * b * fine->zs, *right = 2 * b + 1 < fine->vb ? left + fine->zs : NULL;

        for (size_t u = 0; u < 2 * coarse->nu; ++u) {
            cell c = from[b * coarse->zs + u / 2];

            if (n < W) c = (cell){keep(c.r, n), keep(c.i, n)};
            c = (cell){0.25f * c.r, 0.25f * c.i};
            left[u] = add(left[u], (cell){twice_low(c.r), twice_low(c.i)});
            if (right) right[u] = add(right[u], (cell){twice_high(c.r), twice_high(c.i)});
        }
    }
}

#endif
