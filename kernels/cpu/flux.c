/* See kernels/flux.h: smoothing, restriction and the operator, row by row. */
#include "kernels/flux.h"

#include <limits.h>
#include <string.h>

#include "kernels/cpu/flux.h"
#include "kernels/form/flux.h"

/* Vectors compute cells of both colours and keep those of one. For the others they read what another thread writes, and
 * write what stood there. So no value depends on it, but the thread sanitizer rightly calls it a race. There all rows
 * are short. */
#ifdef __SANITIZE_THREAD__
enum { SHORT = INT_MAX };
#else
enum { SHORT = 16 }; /* cells of a row */
#endif
enum { ROW = 512 }; /* cells of a row worked on at a time, an even number: their results stand on the stack */

#define INLINE static inline __attribute__((always_inline))

/* Sums over the neighbours of n cells from @p at on: c x, or x where conductances are 0 and 1. */
INLINE void around(const struct mf_flux_grid *g, size_t at, size_t n, const float *x, float *restrict t)
{
    const size_t sy = mf_flux_row(g), sz = mf_flux_plane(g);
    const float *v = x + at, *cx, *cy, *cz;

    if (g->count) {
        for (size_t k = 0; k < n; ++k)
            t[k] = mf_flux_six(v[k - 1], v[k + 1], v[k - sy], v[k + sy], v[k - sz], v[k + sz]);
        return;
    }
    cx = g->c[2] + at, cy = g->c[1] + at, cz = g->c[0] + at;
    for (size_t k = 0; k < n; ++k)
        t[k] = mf_flux_six(cx[k] * v[k - 1], cx[k + 1] * v[k + 1], cy[k] * v[k - sy], cy[k + sy] * v[k + sy],
                           cz[k] * v[k - sz], cz[k + sz] * v[k + sz]);
}

/* A x of the same cells. Differences: a diagonal that is rounded would be a sink. */
INLINE void operate(const struct mf_flux_grid *g, size_t at, size_t n, const float *x, float *restrict t)
{
    const size_t sy = mf_flux_row(g), sz = mf_flux_plane(g);
    const float *v = x + at, *cx, *cy, *cz;

    if (g->count) {
        const uint8_t *d = g->count + at;

        around(g, at, n, x, t);
        for (size_t k = 0; k < n; ++k) t[k] = d[k] ? (float)d[k] * v[k] - t[k] : 0.0f;
        return;
    }
    cx = g->c[2] + at, cy = g->c[1] + at, cz = g->c[0] + at;
    for (size_t k = 0; k < n; ++k)
        t[k] =
            mf_flux_six(cx[k] * (v[k] - v[k - 1]), cx[k + 1] * (v[k] - v[k + 1]), cy[k] * (v[k] - v[k - sy]),
                        cy[k + sy] * (v[k] - v[k + sy]), cz[k] * (v[k] - v[k - sz]), cz[k + sz] * (v[k] - v[k + sz]));
}

/* Do cells with an even place in the row have another colour than this one? */
static int other(const struct mf_flux_grid *g, size_t z, size_t y, int colour)
{
    return (int)((z + y + (size_t)g->odd + (size_t)colour) & 1);
}

INLINE void take_colour(unsigned n, unsigned odd, const float *restrict t, float *restrict x)
{
    for (unsigned k = 0; k < n; ++k) x[k] = ((k ^ odd) & 1) ? x[k] : t[k];
}

/* A cell after another, of the colour alone: vectors gain nothing there. */
static void relax_short(const struct mf_flux_grid *g, size_t at, int odd, const float *b, float *x)
{
    for (size_t i = at + (size_t)odd; i < at + g->n[2]; i += 2) {
        float t;

        around(g, i, 1, x, &t);
        if (g->count)
            x[i] = g->count[i] ? (b[i] + t) / (float)g->count[i] : 0.0f;
        else
            x[i] = (b[i] + t) * g->w[i];
    }
}

MF_CPU_FAST static void relax_row(const struct mf_flux_grid *g, size_t at, int odd, const float *b, float *x)
{
    float t[ROW];

    if (g->n[2] < SHORT) {
        relax_short(g, at, odd, b, x);
        return;
    }
    for (size_t end = at + g->n[2], n; at < end; at += n) {
        n = end - at < ROW ? end - at : ROW;
        around(g, at, n, x, t);
        if (g->count) {
            const uint8_t *d = g->count + at;

            for (size_t k = 0; k < n; ++k) t[k] = d[k] ? (b[at + k] + t[k]) / (float)d[k] : 0.0f;
        } else {
            for (size_t k = 0; k < n; ++k) t[k] = (b[at + k] + t[k]) * g->w[at + k];
        }
        take_colour((unsigned)n, (unsigned)odd, t, x + at);
    }
}

MF_CPU_FAST static void begin_row(const struct mf_flux_grid *g, size_t at, int odd, const float *b, float *restrict x)
{
    for (size_t k = 0; k < g->n[2]; ++k) {
        const float v =
            g->count ? (g->count[at + k] ? b[at + k] / (float)g->count[at + k] : 0.0f) : b[at + k] * g->w[at + k];

        x[at + k] = (((unsigned)k ^ (unsigned)odd) & 1) ? 0.0f : v;
    }
}

static void relax_plane(const struct mf_flux_grid *g, size_t z, int colour, const float *b, float *x)
{
    for (size_t y = 0; y < g->n[1]; ++y) relax_row(g, mf_flux_at(g, z, y, 0), other(g, z, y, colour), b, x);
}

static void begin_plane(const struct mf_flux_grid *g, size_t z, const float *b, float *x)
{
    for (size_t y = 0; y < g->n[1]; ++y) begin_row(g, mf_flux_at(g, z, y, 0), other(g, z, y, 0), b, x);
}

static void relax(struct mf_queue *q, const struct mf_flux_grid *g, int colour, const float *b, float *x)
{
    const size_t rows = g->n[0] * g->n[1];

#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
    for (size_t r = 0; r < rows; ++r) {
        const size_t z = r / g->n[1], y = r % g->n[1];

        relax_row(g, mf_flux_at(g, z, y, 0), other(g, z, y, colour), b, x);
    }
}

static void begin(struct mf_queue *q, const struct mf_flux_grid *g, const float *b, float *x)
{
    const size_t rows = g->n[0] * g->n[1];

#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
    for (size_t r = 0; r < rows; ++r) {
        const size_t z = r / g->n[1], y = r % g->n[1];

        begin_row(g, mf_flux_at(g, z, y, 0), other(g, z, y, 0), b, x);
    }
}

/* One thread passes over memory once: the second colour follows a plane behind the first. */
static void relax_both(struct mf_queue *q, const struct mf_flux_grid *g, int first, const float *b, float *x)
{
    if (mf_cpu_flux_threads(q, g) > 1) {
        relax(q, g, first, b, x);
        relax(q, g, first ^ 1, b, x);
        return;
    }
    for (size_t z = 0; z <= g->n[0]; ++z) {
        if (z < g->n[0]) relax_plane(g, z, first, b, x);
        if (z > 0) relax_plane(g, z - 1, first ^ 1, b, x);
    }
}

/* The residuals of a fine row, added to those of its coarse row. */
MF_CPU_FAST static void restrict_row(const struct mf_flux_grid *g, size_t at, unsigned by, const float *b,
                                     const float *x, float *restrict out)
{
    float t[ROW];

    for (size_t end = at + g->n[2], n; at < end; at += n) {
        n = end - at < ROW ? end - at : ROW;
        operate(g, at, n, x, t);
        for (size_t k = 0; k < n; ++k) t[k] = b[at + k] - t[k];
        if (by == 1) {
            for (size_t k = 0; k < n; ++k) out[k] += t[k];
        } else {
            for (size_t k = 0; k < n / 2; ++k) out[k] += t[2 * k] + t[2 * k + 1];
            if (n % 2) out[n / 2] += t[n - 1];
        }
        out += n / by;
    }
}

static void restrict_coarse_row(const struct mf_flux_grid *g, const struct mf_flux_grid *coarse, size_t zc, size_t yc,
                                struct mf_flux_step by, const float *b, const float *x, float *out)
{
    float *row = out + mf_flux_at(coarse, zc, yc, 0);

    memset(row, 0, coarse->n[2] * sizeof *row);
    for (size_t z = zc * by.of[0]; z < (zc + 1) * by.of[0] && z < g->n[0]; ++z)
        for (size_t y = yc * by.of[1]; y < (yc + 1) * by.of[1] && y < g->n[1]; ++y)
            restrict_row(g, mf_flux_at(g, z, y, 0), by.of[2], b, x, row);
}

static void restrict_to(struct mf_queue *q, const struct mf_flux_grid *g, const struct mf_flux_grid *coarse,
                        struct mf_flux_step by, const float *b, const float *x, float *out)
{
    const size_t rows = coarse->n[0] * coarse->n[1];

#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
    for (size_t r = 0; r < rows; ++r) restrict_coarse_row(g, coarse, r / coarse->n[1], r % coarse->n[1], by, b, x, out);
}

/* A coarse plane, when its last fine plane has both colours. */
static void descend_plane(const struct mf_flux_grid *g, const struct mf_flux_grid *coarse, size_t z,
                          struct mf_flux_step by, const float *b, const float *x, float *out)
{
    if ((z + 1) % by.of[0] && z + 1 < g->n[0]) return;
    for (size_t y = 0; y < coarse->n[1]; ++y) restrict_coarse_row(g, coarse, z / by.of[0], y, by, b, x, out);
}

static void descend(struct mf_queue *q, const struct mf_flux_grid *g, const struct mf_flux_grid *coarse,
                    struct mf_flux_step by, const float *b, float *x, float *out)
{
    if (mf_cpu_flux_threads(q, g) > 1) {
        begin(q, g, b, x);
        relax(q, g, 1, b, x);
        restrict_to(q, g, coarse, by, b, x, out);
        return;
    }
    for (size_t z = 0; z < g->n[0] + 2; ++z) { /* a plane needs the next one with both colours */
        if (z < g->n[0]) begin_plane(g, z, b, x);
        if (z > 0 && z <= g->n[0]) relax_plane(g, z - 1, 1, b, x);
        if (z > 1) descend_plane(g, coarse, z - 2, by, b, x, out);
    }
}

/* Numbers of a coarse row, each as often as it has fine cells. */
INLINE void spread(size_t n, unsigned by, const float *restrict from, float *restrict t)
{
    if (by == 1) {
        memcpy(t, from, n * sizeof *t);
        return;
    }
    for (size_t k = 0; k < n / 2; ++k) t[2 * k] = t[2 * k + 1] = from[k];
    if (n % 2) t[n - 1] = from[n / 2];
}

MF_CPU_FAST static void add_row(const struct mf_flux_grid *g, size_t at, unsigned by, const float *from,
                                float *restrict x)
{
    float t[ROW];

    for (size_t end = at + g->n[2], n; at < end; at += n, from += n / by) {
        n = end - at < ROW ? end - at : ROW;
        spread(n, by, from, t);
        if (g->count) {
            const uint8_t *d = g->count + at;

            for (size_t k = 0; k < n; ++k) x[at + k] += d[k] ? t[k] : 0.0f;
        } else {
            const float *w = g->w + at;

            for (size_t k = 0; k < n; ++k) x[at + k] += w[k] > 0 ? t[k] : 0.0f;
        }
    }
}

static void add(struct mf_queue *q, const struct mf_flux_grid *g, const struct mf_flux_grid *coarse,
                struct mf_flux_step by, const float *from, float *x)
{
    const size_t rows = g->n[0] * g->n[1];

#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
    for (size_t r = 0; r < rows; ++r) {
        const size_t z = r / g->n[1], y = r % g->n[1];

        add_row(g, mf_flux_at(g, z, y, 0), by.of[2], from + mf_flux_at(coarse, z / by.of[0], y / by.of[1], 0), x);
    }
}

MF_CPU_FAST static void apply_row(const struct mf_flux_grid *g, size_t at, const float *x, float *restrict y)
{
    operate(g, at, g->n[2], x, y + at);
}

static void apply(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, float *y, double *out)
{
#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
    for (size_t z = 0; z < g->n[0]; ++z) {
        double sum = 0;

        for (size_t r = 0; r < g->n[1]; ++r) {
            const size_t at = mf_flux_at(g, z, r, 0);

            apply_row(g, at, x, y);
            sum += mf_cpu_dot(g->n[2], x + at, y + at);
        }
        out[z] = sum;
    }
}

static void dot(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, const float *y, double *out)
{
#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
    for (size_t z = 0; z < g->n[0]; ++z) {
        double sum = 0;

        for (size_t r = 0; r < g->n[1]; ++r) {
            const size_t at = mf_flux_at(g, z, r, 0);

            sum += mf_cpu_dot(g->n[2], x + at, y + at);
        }
        out[z] = sum;
    }
}

MF_CPU_FAST static void move_row(size_t n, float a, const float *restrict p, const float *restrict y, float *restrict x,
                                 float *restrict r)
{
    for (size_t k = 0; k < n; ++k) {
        x[k] += a * p[k];
        r[k] -= a * y[k];
    }
}

static void move(struct mf_queue *q, const struct mf_flux_grid *g, float a, const float *p, const float *y, float *x,
                 float *r)
{
    const size_t rows = g->n[0] * g->n[1];

#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
    for (size_t i = 0; i < rows; ++i) {
        const size_t at = mf_flux_at(g, i / g->n[1], i % g->n[1], 0);

        move_row(g->n[2], a, p + at, y + at, x + at, r + at);
    }
}

MF_CPU_FAST static void turn_row(size_t n, float b, const float *restrict z, float *restrict p)
{
    for (size_t k = 0; k < n; ++k) p[k] = z[k] + b * p[k];
}

static void turn(struct mf_queue *q, const struct mf_flux_grid *g, float b, const float *z, float *p)
{
    const size_t rows = g->n[0] * g->n[1];

#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
    for (size_t i = 0; i < rows; ++i) {
        const size_t at = mf_flux_at(g, i / g->n[1], i % g->n[1], 0);

        turn_row(g->n[2], b, z + at, p + at);
    }
}

const struct mf_flux_ops mf_flux_cpu = {
    .relax = relax,
    .relax_both = relax_both,
    .begin = begin,
    .restrict_to = restrict_to,
    .descend = descend,
    .add = add,
    .apply = apply,
    .dot = dot,
    .move = move,
    .turn = turn,
    .wrap = mf_cpu_flux_wrap,
    .lift = mf_cpu_flux_lift,
    .coarsen = mf_cpu_flux_coarsen,
    .finish = mf_cpu_flux_finish,
    .energy = mf_cpu_flux_energy,
    .flux = mf_cpu_flux_through,
};
