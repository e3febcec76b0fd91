/* See kernels/flux.h: borders, coarse conductances, energy and fluxes. */
#include <string.h>

#include "kernels/cpu/flux.h"

enum { ROW = 512, LANES = 8 }; /* ROW: an even number */

#define INLINE static inline __attribute__((always_inline))

/* -- borders -- */

/* Only counts say whether a cell beside the own ones conducts; else its faces have no conductance. */
static float masked(const struct mf_flux_grid *g, size_t i, float jump) { return !g->count || g->count[i] ? jump : 0; }

void mf_cpu_flux_wrap(struct mf_queue *q, const struct mf_flux_grid *g, int axis, float jump, float *x)
{
    const size_t s = mf_flux_stride(g, axis), far = (g->n[axis] - 1) * s;

    (void)q;
    for (size_t z = 0; z < (axis == 0 ? 1 : g->n[0]); ++z)
        for (size_t y = 0; y < (axis == 1 ? 1 : g->n[1]); ++y)
            for (size_t k = 0; k < (axis == 2 ? 1 : g->n[2]); ++k) {
                const size_t first = mf_flux_at(g, z, y, k), last = first + far;

                x[last + s] = x[first] + masked(g, first, jump);
                x[first - s] = x[last] - masked(g, last, jump);
            }
}

void mf_cpu_flux_lift(struct mf_queue *q, const struct mf_flux_grid *g, ptrdiff_t z, float jump, float *x)
{
    const size_t plane = mf_flux_plane(g), from = (size_t)(z + 1) * plane;

    (void)q;
    for (size_t i = from; i < from + plane; ++i) x[i] += masked(g, i, jump);
}

/* -- conductances -- */

/* The conductance of the face before the cell at @p i, whose place along the axis is @p p. */
static float face(const struct mf_flux_grid *g, int axis, size_t i, size_t p)
{
    const size_t before = i - mf_flux_stride(g, axis);

    if (!g->count) return g->c[axis][i];
    if (p == 0) return g->count[i] ? g->count[before] : 0;
    if (p == g->n[axis]) return g->count[before] ? g->count[i] : 0;
    return g->count[i] && g->count[before];
}

/* Conductances of the faces before n cells, whose place along the axis is @p p. */
INLINE void faces(const struct mf_flux_grid *g, int axis, size_t at, size_t p, size_t n, float *restrict c)
{
    const uint8_t *here, *before;

    if (!g->count) {
        memcpy(c, g->c[axis] + at, n * sizeof *c);
        return;
    }
    here = g->count + at, before = here - mf_flux_stride(g, axis);
    if (axis != 2 && p == 0)
        for (unsigned k = 0; k < (unsigned)n; ++k) c[k] = (float)(before[k] * (here[k] != 0));
    else if (axis != 2 && p == g->n[axis])
        for (unsigned k = 0; k < (unsigned)n; ++k) c[k] = (float)(here[k] * (before[k] != 0));
    else
        for (unsigned k = 0; k < (unsigned)n; ++k) c[k] = (float)((here[k] != 0) & (before[k] != 0));
    if (axis == 2 && p == 0) c[0] = face(g, axis, at, 0);
}

/* Adds the faces along @p axis before the cells of a fine row to those of its coarse row. */
INLINE void add_faces(const struct mf_flux_grid *g, int axis, size_t z, size_t y, unsigned by, float *restrict out)
{
    const size_t at = mf_flux_at(g, z, y, 0), nx = g->n[2];
    float c[ROW];

    for (size_t k = 0, n; k < nx; k += n, out += (n + by - 1) / by) {
        n = nx - k < ROW ? nx - k : ROW;
        faces(g, axis, at + k, axis == 0 ? z : axis == 1 ? y : k, n, c);
        if (axis == 2 || by == 1) {
            for (size_t i = 0; i * by < n; ++i) out[i] += c[i * by];
            continue;
        }
        for (size_t i = 0; i < n / 2; ++i) out[i] += c[2 * i] + c[2 * i + 1];
        if (n % 2) out[n / 2] += c[n - 1];
    }
    if (axis == 2) *out += face(g, axis, at + nx, nx);
}

MF_CPU_FAST static void coarsen_row(const struct mf_flux_grid *g, int axis, struct mf_flux_step by, size_t z, size_t y,
                                    const struct mf_flux_grid *coarse)
{
    float *row = coarse->c[axis] + mf_flux_at(coarse, z, y, 0);
    const size_t at[2] = {z, y}, places = coarse->n[2] + (axis == 2);
    size_t from[2], to[2];

    for (int a = 0; a < 2; ++a) {
        from[a] = at[a] * by.of[a];
        to[a] = from[a] + by.of[a] < g->n[a] ? from[a] + by.of[a] : g->n[a];
        if (a != axis) continue;
        if (at[a] == coarse->n[a]) from[a] = g->n[a];
        to[a] = from[a] + 1;
    }
    memset(row, 0, places * sizeof *row);
    for (size_t i = from[0]; i < to[0]; ++i)
        for (size_t j = from[1]; j < to[1]; ++j) add_faces(g, axis, i, j, by.of[2], row);
    for (size_t k = 0; k < places; ++k) row[k] /= (float)by.of[axis];
}

void mf_cpu_flux_coarsen(struct mf_queue *q, const struct mf_flux_grid *g, struct mf_flux_step by,
                         const struct mf_flux_grid *coarse)
{
    for (int a = 0; a < 3; ++a) {
        const size_t rows = coarse->n[1] + (a == 1), all = (coarse->n[0] + (a == 0)) * rows;

#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
        for (size_t r = 0; r < all; ++r) coarsen_row(g, a, by, r / rows, r % rows, coarse);
    }
}

MF_CPU_FAST static void finish_row(const struct mf_flux_grid *g, size_t at)
{
    const size_t sy = mf_flux_row(g), sz = mf_flux_plane(g);
    const float *cx = g->c[2] + at, *cy = g->c[1] + at, *cz = g->c[0] + at;

    for (size_t k = 0; k < g->n[2]; ++k) {
        const float sum = (cx[k] + cx[k + 1]) + (cy[k] + cy[k + sy]) + (cz[k] + cz[k + sz]);

        g->w[at + k] = sum > 0 ? 1 / sum : 0;
    }
}

void mf_cpu_flux_finish(struct mf_queue *q, const struct mf_flux_grid *g)
{
    const size_t rows = g->n[0] * g->n[1];

#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
    for (size_t r = 0; r < rows; ++r) finish_row(g, mf_flux_at(g, r / g->n[1], r % g->n[1], 0));
}

/* -- energy and fluxes: once in a solve -- */

INLINE double energy_of(size_t n, const float *c, const float *x, size_t s)
{
    double lane[LANES] = {0}, sum = 0;
    size_t k = 0;

    for (; k + LANES <= n; k += LANES)
        for (size_t l = 0; l < LANES; ++l) {
            const double jump = (double)x[k + l] - (double)x[k + l - s];

            lane[l] += (double)c[k + l] * jump * jump;
        }
    for (size_t l = 0; k + l < n; ++l) {
        const double jump = (double)x[k + l] - (double)x[k + l - s];

        lane[l] += (double)c[k + l] * jump * jump;
    }
    for (size_t l = 0; l < LANES; ++l) sum += lane[l];
    return sum;
}

/* The energy of the faces before the cells of a row. */
MF_CPU_FAST static double energy_row(const struct mf_flux_grid *g, int axis, size_t z, size_t y, const float *x)
{
    const size_t at = mf_flux_at(g, z, y, 0), nx = g->n[2];
    float c[ROW];
    double sum = 0;

    for (size_t k = 0, n; k < nx; k += n) {
        n = nx - k < ROW ? nx - k : ROW;
        faces(g, axis, at + k, axis == 0 ? z : axis == 1 ? y : k, n, c);
        sum += energy_of(n, c, x + at + k, mf_flux_stride(g, axis));
    }
    return sum;
}

/* The energy of the face behind a last cell, which is before the one at @p i. A potential beside a plate half a cell
 * away is stored with its factor, where conductances are counts. */
static double energy_behind(const struct mf_flux_grid *g, int axis, size_t i, const float *x)
{
    const double scale = g->count && g->count[i] ? g->count[i] : 1;
    const double jump = (double)x[i] / scale - (double)x[i - mf_flux_stride(g, axis)];

    return (double)face(g, axis, i, g->n[axis]) * jump * jump;
}

static double energy_plane(const struct mf_flux_grid *g, size_t z, const float *x)
{
    const size_t *n = g->n;
    double sum = 0;

    for (size_t y = 0; y < n[1]; ++y) {
        for (int a = 0; a < 3; ++a) sum += energy_row(g, a, z, y, x);
        if (g->last[2]) sum += energy_behind(g, 2, mf_flux_at(g, z, y, n[2]), x);
    }
    for (size_t k = 0; g->last[1] && k < n[2]; ++k) sum += energy_behind(g, 1, mf_flux_at(g, z, n[1], k), x);
    if (!g->last[0] || z + 1 < n[0]) return sum;
    for (size_t y = 0; y < n[1]; ++y)
        for (size_t k = 0; k < n[2]; ++k) sum += energy_behind(g, 0, mf_flux_at(g, n[0], y, k), x);
    return sum;
}

void mf_cpu_flux_energy(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, double *out)
{
#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
    for (size_t z = 0; z < g->n[0]; ++z) out[z] = energy_plane(g, z, x);
}

MF_CPU_FAST static void through_plane(const struct mf_flux_grid *g, int axis, size_t z, const float *x, double *out)
{
    const size_t s = mf_flux_stride(g, axis), nx = g->n[2];
    float c[ROW];

    for (size_t y = 0; y < g->n[1]; ++y)
        for (size_t k = 0, n; k < nx; k += n) {
            const size_t at = mf_flux_at(g, z, y, k);

            n = nx - k < ROW ? nx - k : ROW;
            faces(g, axis, at, axis == 0 ? z : axis == 1 ? y : k, n, c);
            for (size_t i = 0; i < n; ++i)
                out[axis == 0   ? 0
                    : axis == 1 ? y
                                : k + i] += (double)c[i] * ((double)x[at + i] - (double)x[at + i - s]);
        }
}

void mf_cpu_flux_through(struct mf_queue *q, const struct mf_flux_grid *g, int axis, const float *x, double *out)
{
    const size_t width = axis == 0 ? 1 : g->n[axis];

    memset(out, 0, g->n[0] * width * sizeof *out);
#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
    for (size_t z = 0; z < g->n[0]; ++z) through_plane(g, axis, z, x, out + z * width);
}
