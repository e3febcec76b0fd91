/* For lanes_text.c: copies slices into planes and back, and builds the pyramid on planes. A plane is [vb][zs] cells;
 * slice 2k of a pair is in the real parts. Gradients have real and imaginary parts exchanged (lanes.h). A span is the
 * range of rows to process. */
#ifndef MF_KERNELS_CPU_LANES_VIEW_H
#define MF_KERNELS_CPU_LANES_VIEW_H

#include "kernels/cpu/slices/lanes.h"
#include "kernels/cpu/slices/lanes_vec.h"
#include "src/base/bounds.h"
#include "src/base/cut.h"

/* Prefetch distance in rows, or blocks of columns: these may be far apart in memory. */
enum { AHEAD = 8 };

/* W columns of one row of one slice: part 0 or 1 of a cell. */
AI float *part_of(cell *c, size_t part) { return (float *)(void *)c + part * W; }

AI const float *part_in(const cell *c, size_t part) { return (const float *)(const void *)c + part * W; }

static void zero_rows(const struct mf_lanes_level *l, cell *plane)
{
    for (size_t b = 0; b < l->vb; ++b)
        for (size_t u = l->nu; u < l->mu; ++u) plane[b * l->zs + u] = (cell){(vec){0}, (vec){0}};
}

static void zero_part(const struct mf_lanes_level *l, struct mf_span rows, size_t part, cell *plane)
{
    for (size_t b = 0; b < l->vb; ++b)
        for (size_t u = rows.first; u < rows.first + rows.count; ++u)
            store(part_of(plane + b * l->zs + u, part), (vec){0});
}

/* Slice s, with any strides. */
static void gather_slice(const struct mf_lanes_level *l, struct mf_span rows, const struct mf_view *x, size_t s,
                         size_t part, cell *plane)
{
    for (size_t u = rows.first; u < rows.first + rows.count; ++u) {
        const float *row = x->base + s * x->ss + u * x->su;

        for (size_t b = 0; b < l->vb; ++b, row += W * x->sv) {
            const size_t n = mf_min(W, l->nv - b * W);
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

static void scatter_slice(const struct mf_lanes_level *l, struct mf_span rows, const struct mf_view *g, size_t s,
                          size_t part, const cell *plane)
{
    for (size_t u = rows.first; u < rows.first + rows.count; ++u) {
        float *row = g->base + s * g->ss + u * g->su;

        for (size_t b = 0; b < l->vb; ++b, row += W * g->sv) {
            const size_t n = mf_min(W, l->nv - b * W);
            const float *from = part_in(plane + b * l->zs + u, part);

            if (n == W && g->sv == 1)
                store(row, load(row) + load(from));
            else
                for (size_t j = 0; j < n; ++j) row[j * g->sv] += from[j];
        }
    }
}

AI void ask(const float *row, size_t n)
{
    for (size_t v = 0; v < n; v += 16) __builtin_prefetch(row + v);
}

/* Slices s and s + 1, each with contiguous rows. */
static void gather_rows(const struct mf_lanes_level *l, struct mf_span rows, const struct mf_view *x, size_t s,
                        cell *plane)
{
    const size_t whole = l->nv / W, n = l->nv % W, zs = l->zs;

    for (size_t u = rows.first; u < rows.first + rows.count; ++u) {
        const float *a = x->base + s * x->ss + u * x->su, *b = a + x->ss;
        cell *to = plane + u;

        if (u + AHEAD < rows.first + rows.count) {
            ask(a + AHEAD * x->su, l->nv);
            ask(b + AHEAD * x->su, l->nv);
        }
        for (size_t v = 0; v < whole; ++v, to += zs) *to = (cell){load(a + v * W), load(b + v * W)};
        if (n == 0) continue;
        *to = (cell){(vec){0}, (vec){0}};
        memcpy(&to->r, a + whole * W, n * sizeof *a);
        memcpy(&to->i, b + whole * W, n * sizeof *b);
    }
}

static void scatter_rows(const struct mf_lanes_level *l, struct mf_span rows, const struct mf_view *g, size_t s,
                         const cell *plane)
{
    const size_t whole = l->nv / W, n = l->nv % W, zs = l->zs;

    for (size_t u = rows.first; u < rows.first + rows.count; ++u) {
        float *a = g->base + s * g->ss + u * g->su, *b = a + g->ss;
        const cell *from = plane + u;

        if (u + AHEAD < rows.first + rows.count) {
            ask(a + AHEAD * g->su, l->nv);
            ask(b + AHEAD * g->su, l->nv);
        }
        for (size_t v = 0; v < whole; ++v, from += zs) {
            store(a + v * W, load(a + v * W) + from->i);
            store(b + v * W, load(b + v * W) + from->r);
        }
        for (size_t j = 0; j < n; ++j) {
            a[whole * W + j] += from->i[j];
            b[whole * W + j] += from->r[j];
        }
    }
}

/* W n slices side by side in memory, from slice s on: n W / 2 pairs, planes `each` cells apart. */
static void gather_side(const struct mf_lanes_level *l, struct mf_span rows, const struct mf_view *x, size_t s,
                        size_t n, cell *plane, size_t each)
{
    for (size_t u = rows.first; u < rows.first + rows.count; ++u)
        for (size_t b = 0; b < l->vb; ++b) {
            const size_t columns = mf_min(W, l->nv - b * W);
            const float *from = x->base + s + u * x->su + b * W * x->sv;
            cell *to = plane + b * l->zs + u;

            for (size_t j = AHEAD * W; j < (AHEAD + 1) * W && b * W + j < l->nv; ++j)
                __builtin_prefetch(from + j * x->sv);
            for (size_t g = 0; g < n; ++g, from += W, to += W / 2 * each) {
                vec t[W];

                for (size_t j = 0; j < W; ++j) t[j] = j < columns ? load(from + j * x->sv) : (vec){0};
                transpose(t);
                for (size_t j = 0; j < W; j += 2) to[j / 2 * each] = (cell){t[j], t[j + 1]};
            }
        }
}

static void scatter_side(const struct mf_lanes_level *l, struct mf_span rows, const struct mf_view *x, size_t s,
                         size_t n, const cell *plane, size_t each)
{
    for (size_t u = rows.first; u < rows.first + rows.count; ++u)
        for (size_t b = 0; b < l->vb; ++b) {
            const size_t columns = mf_min(W, l->nv - b * W);
            float *to = x->base + s + u * x->su + b * W * x->sv;
            const cell *from = plane + b * l->zs + u;

            for (size_t j = AHEAD * W; j < (AHEAD + 1) * W && b * W + j < l->nv; ++j)
                __builtin_prefetch(to + j * x->sv);
            for (size_t g = 0; g < n; ++g, to += W, from += W / 2 * each) {
                vec t[W];

                for (size_t j = 0; j < W; j += 2) {
                    t[j] = from[j / 2 * each].i;
                    t[j + 1] = from[j / 2 * each].r;
                }
                transpose(t);
                for (size_t j = 0; j < columns; ++j) store(to + j * x->sv, load(to + j * x->sv) + t[j]);
            }
        }
}

/* Number of whole vectors among the slices from s to @p end that lie side by side. */
static size_t groups_of(const struct mf_view *x, size_t s, size_t end)
{
    return x->ss == 1 && x->sv != 1 ? (mf_min(end, x->count) - s) / W : 0;
}

/* Pairs of slices from slice s on into planes `each` cells apart. A missing slice is zeros. */
static void lanes_gather(const struct mf_lanes_level *l, struct mf_span rows, const struct mf_view *x, size_t s,
                         size_t pairs, cell *plane, size_t each)
{
    const size_t end = s + 2 * pairs, groups = groups_of(x, s, end);

    gather_side(l, rows, x, s, groups, plane, each);
    s += groups * W;
    plane += groups * W / 2 * each;
    for (; s < end; s += 2, plane += each) {
        if (x->sv == 1 && s + 1 < x->count) {
            gather_rows(l, rows, x, s, plane);
            continue;
        }
        gather_slice(l, rows, x, s, 0, plane);
        if (s + 1 < x->count)
            gather_slice(l, rows, x, s + 1, 1, plane);
        else
            zero_part(l, rows, 1, plane);
    }
}

/* The reverse: adds to the slices that exist. */
static void lanes_scatter(const struct mf_lanes_level *l, struct mf_span rows, const struct mf_view *g, size_t s,
                          size_t pairs, const cell *plane, size_t each)
{
    const size_t end = s + 2 * pairs, groups = groups_of(g, s, end);

    scatter_side(l, rows, g, s, groups, plane, each);
    s += groups * W;
    plane += groups * W / 2 * each;
    for (; s < end; s += 2, plane += each) {
        if (g->sv == 1 && s + 1 < g->count) {
            scatter_rows(l, rows, g, s, plane);
            continue;
        }
        scatter_slice(l, rows, g, s, 1, plane);
        if (s + 1 < g->count) scatter_slice(l, rows, g, s + 1, 0, plane);
    }
}

/* Keeps the first n lanes. */
AI vec keep(vec x, size_t n)
{
    for (size_t j = n; j < W; ++j) x[j] = 0;
    return x;
}

/* Mean of 2 x 2 pixels; a last odd row or column is dropped. rows: of the coarse plane. */
static void lanes_pool(const struct mf_lanes_level *fine, const cell *from, const struct mf_lanes_level *coarse,
                       struct mf_span rows, cell *to)
{
    for (size_t b = 0; b < coarse->vb; ++b) {
        const size_t n = mf_min(W, coarse->nv - b * W);
        const cell *left = from + 2 * b * fine->zs, *right = 2 * b + 1 < fine->vb ? left + fine->zs : NULL;

        for (size_t u = rows.first; u < rows.first + rows.count; ++u) {
            const cell x = add(left[2 * u], left[2 * u + 1]);
            const cell y = right ? add(right[2 * u], right[2 * u + 1]) : (cell){(vec){0}, (vec){0}};
            cell c = {0.25f * add_neighbours(x.r, y.r), 0.25f * add_neighbours(x.i, y.i)};

            if (n < W) c = (cell){keep(c.r, n), keep(c.i, n)};
            to[b * coarse->zs + u] = c;
        }
    }
}

/* Adjoint of lanes_pool(): to += . */
static void lanes_spread(const struct mf_lanes_level *coarse, struct mf_span rows, const cell *from,
                         const struct mf_lanes_level *fine, cell *to)
{
    for (size_t b = 0; b < coarse->vb; ++b) {
        const size_t n = mf_min(W, coarse->nv - b * W);
        cell *left = to + 2 * b * fine->zs, *right = 2 * b + 1 < fine->vb ? left + fine->zs : NULL;

        for (size_t u = 2 * rows.first; u < 2 * (rows.first + rows.count); ++u) {
            cell c = from[b * coarse->zs + u / 2];

            if (n < W) c = (cell){keep(c.r, n), keep(c.i, n)};
            c = (cell){0.25f * c.r, 0.25f * c.i};
            left[u] = add(left[u], (cell){twice_low(c.r), twice_low(c.i)});
            if (right) right[u] = add(right[u], (cell){twice_high(c.r), twice_high(c.i)});
        }
    }
}

#endif
