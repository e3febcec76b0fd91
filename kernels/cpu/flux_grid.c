/* See kernels/flux.h: borders, coarse conductances, energy and fluxes. */
#include <string.h>

#include "kernels/cpu/flux.h"
#include "kernels/form/flux.h"

enum { ROW = 512, LANES = MF_FLUX_LANES }; /* ROW: an even number, a multiple of LANES */

#define INLINE static inline __attribute__((always_inline))

/* -- borders -- */

static float masked(const struct mf_flux_grid *g, size_t i, float jump) { return mf_flux_conducts(g, i) ? jump : 0; }

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
    if (axis == 2 && p == 0) c[0] = mf_flux_face(g, axis, at, 0);
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
    if (axis == 2) *out += mf_flux_face(g, axis, at + nx, nx);
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

/* Lane k mod LANES gets cell k of a row. Runs of a row have a multiple of LANES cells, but the last. */
INLINE double fold(double *lane)
{
    for (size_t half = LANES / 2; half; half /= 2)
        for (size_t l = 0; l < half; ++l) lane[l] += lane[l + half];
    return lane[0];
}

INLINE void add_energy(size_t n, const float *c, const float *x, size_t s, double *restrict lane)
{
    size_t k = 0;

    for (; k + LANES <= n; k += LANES)
        for (size_t l = 0; l < LANES; ++l) lane[l] += mf_flux_energy(c[k + l], x[k + l], x[k + l - s]);
    for (size_t l = 0; k + l < n; ++l) lane[l] += mf_flux_energy(c[k + l], x[k + l], x[k + l - s]);
}

/* The energy of the faces before the cells of a row, and of those behind last cells. */
MF_CPU_FAST static double energy_row(const struct mf_flux_grid *g, size_t z, size_t y, const float *x)
{
    const size_t at = mf_flux_at(g, z, y, 0), nx = g->n[2], place[2] = {z, y};
    double lane[LANES] = {0};
    float c[ROW];

    for (int a = 0; a < 3; ++a)
        for (size_t k = 0, n; k < nx; k += n) {
            n = nx - k < ROW ? nx - k : ROW;
            faces(g, a, at + k, a == 2 ? k : place[a], n, c);
            add_energy(n, c, x + at + k, mf_flux_stride(g, a), lane);
        }
    for (int a = 0; a < 2; ++a)
        for (size_t k = 0; k < nx && g->last[a] && place[a] + 1 == g->n[a]; ++k)
            lane[k % LANES] += mf_flux_energy_behind(g, a, at + k + mf_flux_stride(g, a), x);
    if (g->last[2]) lane[0] += mf_flux_energy_behind(g, 2, at + nx, x);
    return fold(lane);
}

void mf_cpu_flux_energy(struct mf_queue *q, const struct mf_flux_grid *g, const float *x, double *out)
{
#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
    for (size_t z = 0; z < g->n[0]; ++z) {
        double sum = 0;

        for (size_t y = 0; y < g->n[1]; ++y) sum += energy_row(g, z, y, x);
        out[z] = sum;
    }
}

/* Fluxes through the faces before n cells. */
INLINE void fluxes(size_t n, const float *c, const float *x, size_t s, double *restrict t)
{
    for (size_t k = 0; k < n; ++k) t[k] = (double)c[k] * ((double)x[k] - (double)x[k - s]);
}

/* @p out: of a plane. */
MF_CPU_FAST static void through_row(const struct mf_flux_grid *g, int axis, size_t z, size_t y, const float *x,
                                    double *out)
{
    const size_t s = mf_flux_stride(g, axis), nx = g->n[2];
    double lane[LANES] = {0}, t[ROW];
    float c[ROW];

    for (size_t k = 0, n; k < nx; k += n) {
        const size_t at = mf_flux_at(g, z, y, k);

        n = nx - k < ROW ? nx - k : ROW;
        faces(g, axis, at, axis == 0 ? z : axis == 1 ? y : k, n, c);
        fluxes(n, c, x + at, s, t);
        for (size_t i = 0; i < n; ++i) *(axis == 2 ? out + k + i : lane + i % LANES) += t[i];
    }
    if (axis < 2) out[axis == 0 ? 0 : y] += fold(lane);
}

void mf_cpu_flux_through(struct mf_queue *q, const struct mf_flux_grid *g, int axis, const float *x, double *out)
{
    const size_t width = axis == 0 ? 1 : g->n[axis];

    memset(out, 0, g->n[0] * width * sizeof *out);
#pragma omp parallel for num_threads(mf_cpu_flux_threads(q, g)) schedule(static)
    for (size_t z = 0; z < g->n[0]; ++z)
        for (size_t y = 0; y < g->n[1]; ++y) through_row(g, axis, z, y, x, out + z * width);
}
