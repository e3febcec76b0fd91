/* Two-point correlation in space on the cpu: see kernels/slices/space.h. FFTW transforms planes in place. Products are
 * computed for columns: a few points of the spectrum through all planes. A column stays in a cache while all lags are
 * computed. */
#include "kernels/slices/space.h"
#include "kernels/cost.h"

#include <fftw3.h>
#include <math.h>
#include <omp.h>
#include <stdlib.h>
#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/fftw_memory.h"
#include "kernels/form/lag.h"
#include "src/base/err.h"
#include "src/base/pulse.h"

enum { TILE = MF_SPACE_ALIGN / 2 }; /* points of a column */

/* No wider: sums of 64 bytes go through memory where registers hold 32. */
typedef double mf_doubles __attribute__((vector_size(32)));
typedef float mf_floats __attribute__((vector_size(32)));

enum { DOUBLES = 4, FLOATS = 8 };

/* TILE points of a spectrum. */
struct points {
    mf_doubles re[TILE / DOUBLES], im[TILE / DOUBLES];
};
struct points_float {
    mf_floats re[TILE / FLOATS], im[TILE / FLOATS];
};

struct mf_space_plan {
    struct mf_space_desc desc;
    struct mf_arena *arena;
    int threads;
    size_t my, mx, row;       /* extents of a transform; floats of a row of it */
    size_t plane, tiles;      /* floats of a spectrum, columns of one */
    fftwf_plan forward, back; /* in place */
    float *lags;              /* [L][plane], of two fields [2L-1] */
    float *beyond;            /* [threads][plane]: the spectrum of a gradient across two fields; NULL: there is one */
    struct points *columns;   /* [threads][column] */
    size_t column;            /* points of the column of one thread */
    double magic;             /* p + magic - magic is p as a multiple of a power of two */
    ptrdiff_t held, booked;
};

/* No sum of products of spectra is above nz (ny nx)^2. */
static double magic_of(const struct mf_space_desc *d)
{
    const double area = (double)d->ny * (double)d->nx;

    return mf_space_magic((double)d->nz * area * area);
}

static int transforms(struct mf_space_plan *p)
{
    int my = (int)p->my, mx = (int)p->mx, rc = MF_OK;
    fftwf_complex *x = (fftwf_complex *)(void *)p->lags;

    mf_fftw_begin();
    p->forward = fftwf_plan_dft_r2c_2d(my, mx, p->lags, x, FFTW_ESTIMATE);
    p->back = fftwf_plan_dft_c2r_2d(my, mx, x, p->lags, FFTW_ESTIMATE);
    p->held = mf_fftw_made();
    if (!p->forward || !p->back)
        return mf_fail(MF_MEMORY, "S2_3D: FFTW has no plan for planes of %zu x %zu voxels", p->desc.ny, p->desc.nx);
    p->booked = p->held + (ptrdiff_t)((size_t)p->threads * mf_fftw_buffers(p->my, p->mx));
    rc = mf_arena_book(p->arena, p->booked, "FFTW plans");
    if (rc != MF_OK) p->booked = 0;
    return rc;
}

static void space_free(struct mf_space_plan *p)
{
    if (!p) return;
    mf_fftw_begin();
    if (p->forward) fftwf_destroy_plan(p->forward);
    if (p->back) fftwf_destroy_plan(p->back);
    mf_fftw_gone(p->held);
    if (p->booked) (void)mf_arena_book(p->arena, -p->booked, "FFTW plans");
    mf_arena_give(p->arena, p->columns);
    mf_arena_give(p->arena, p->beyond);
    mf_arena_give(p->arena, p->lags);
    free(p);
}

static int take(struct mf_space_plan *p)
{
    const size_t lag = p->desc.lag, lags = p->desc.pairs ? 2 * lag - 1 : lag, threads = (size_t)p->threads;

    p->lags = mf_arena_take(p->arena, lags * p->plane * sizeof *p->lags, "S2_3D work");
    if (!p->lags) return MF_MEMORY;
    if (p->desc.pairs) {
        p->beyond = mf_arena_take(p->arena, threads * p->plane * sizeof *p->beyond, "S2_3D work");
        if (!p->beyond) return MF_MEMORY;
    }
    p->columns = mf_arena_take(p->arena, threads * p->column * sizeof *p->columns, "S2_3D work");
    return p->columns ? MF_OK : MF_MEMORY;
}

static int space_plan(struct mf_queue *queue, const struct mf_space_desc *desc, struct mf_space_plan **plan)
{
    struct mf_space_plan *p = calloc(1, sizeof *p);
    int rc;

    if (!p) return mf_fail(MF_MEMORY, "S2_3D: no memory for a plan");
    p->desc = *desc;
    p->arena = queue->arena;
    p->threads = queue->threads;
    p->my = mf_space_extent(desc, desc->ny);
    p->mx = mf_space_extent(desc, desc->nx);
    p->row = mf_space_row(desc);
    p->plane = mf_space_plane(desc);
    p->tiles = p->plane / (2 * TILE);
    p->column = (desc->pairs ? 2 : 1) * desc->planes + desc->lag;
    p->magic = magic_of(desc);
    rc = take(p);
    if (rc == MF_OK) rc = transforms(p);
    if (rc != MF_OK) {
        space_free(p);
        return rc;
    }
    *plan = p;
    return MF_OK;
}

static void space_transform(struct mf_space_plan *p, size_t planes, const float *x, float *spectra)
{
    const size_t ny = p->desc.ny, nx = p->desc.nx, used = p->my * p->row;
    int stopped = 0;

#pragma omp parallel for num_threads(p->threads) if (p->threads > 1)
    for (size_t k = 0; k < planes; ++k) {
        float *to = spectra + k * p->plane;

        if (mf_cpu_breaks("S2_3D", &stopped)) continue;
        for (size_t y = 0; y < ny; ++y) {
            memcpy(to + y * p->row, x + (k * ny + y) * nx, nx * sizeof *to);
            memset(to + y * p->row + nx, 0, (p->row - nx) * sizeof *to);
        }
        memset(to + ny * p->row, 0, (p->plane - ny * p->row) * sizeof *to);
        fftwf_execute_dft_r2c(p->forward, to, (fftwf_complex *)(void *)to);
        memset(to + used, 0, (p->plane - used) * sizeof *to);
    }
}

/* Column @p tile of @p planes spectra. */
static inline void load(const struct mf_space_plan *p, size_t tile, size_t planes, const float *spectra,
                        struct points *column)
{
    for (size_t k = 0; k < planes; ++k) {
        const float *from = spectra + k * p->plane + tile * 2 * TILE;

        for (size_t i = 0; i < TILE; ++i) {
            column[k].re[i / DOUBLES][i % DOUBLES] = from[2 * i];
            column[k].im[i / DOUBLES][i % DOUBLES] = from[2 * i + 1];
        }
    }
}

/* The sums of one column. A product of two floats is exact in double, so contraction changes nothing. */
MF_CPU_FAST static void products_column(const struct mf_space_plan *p, size_t tile, size_t planes, const float *first,
                                        const float *second, struct points *column, double *sums)
{
    const size_t lag = p->desc.lag, all = planes + lag - 1;
    const double m = p->magic;
    struct points *own = first == second ? column : column + all;

    load(p, tile, all, second, column);
    if (first != second) load(p, tile, planes, first, own);
    for (size_t d = 0; d < lag; ++d)
        for (size_t h = 0; h < TILE / DOUBLES; ++h) {
            double *to = sums + d * p->plane + (tile * TILE + h * DOUBLES) * 2;
            mf_doubles re = {0}, im = {0};

            for (size_t k = 0; k < planes; ++k) {
                const struct points *a = &own[k], *b = &column[k + d];

                re += (a->re[h] * b->re[h] + a->im[h] * b->im[h] + m) - m;
                im += (a->re[h] * b->im[h] - a->im[h] * b->re[h] + m) - m;
            }
            for (size_t i = 0; i < DOUBLES; ++i) {
                to[2 * i] = re[i];
                to[2 * i + 1] = im[i];
            }
        }
}

static void space_products(struct mf_space_plan *p, size_t planes, const float *first, const float *second,
                           double *sums)
{
    int stopped = 0;

#pragma omp parallel for num_threads(p->threads) if (p->threads > 1)
    for (size_t t = 0; t < p->tiles; ++t) {
        if (mf_cpu_breaks("S2_3D", &stopped)) continue;
        products_column(p, t, planes, first, second, p->columns + (size_t)omp_get_thread_num() * p->column, sums);
    }
}

/* One over the number of pairs at a lag. */
static double norm_of(const struct mf_space_desc *d, size_t w, long u, long v)
{
    double planes = (double)(d->periodic ? d->nz : d->nz - w);

    return mf_lag_norm(d->periodic, d->ny, d->nx, (size_t)labs(u), (size_t)labs(v)) / planes;
}

/* Where lag (u, v) stands in a plane of rows. */
static size_t place(const struct mf_space_plan *p, long u, long v)
{
    return (u < 0 ? p->my - (size_t)-u : (size_t)u) * p->row + (v < 0 ? p->mx - (size_t)-v : (size_t)v);
}

/* The common part of all points (the spectrum's first number) is kept out of the transform in float. */
static void window_plane(struct mf_space_plan *p, size_t d, const double *sums, double *window)
{
    const long reach = (long)p->desc.lag - 1;
    const double fft = 1 / ((double)p->my * (double)p->mx), mean = sums[0];
    float *x = p->lags + d * p->plane;

    mf_pulse_tell("S2_3D");
    for (size_t i = 0; i < p->plane; ++i) x[i] = i < 2 ? 0 : (float)sums[i];
    fftwf_execute_dft_c2r(p->back, (fftwf_complex *)(void *)x, x);
    for (long u = -reach; u <= reach; ++u)
        for (long v = -reach; v <= reach; ++v)
            *window++ = ((double)x[place(p, u, v)] + mean) * fft * norm_of(&p->desc, d, u, v);
}

static void space_window(struct mf_space_plan *p, const double *sums, double *window)
{
    const size_t width = 2 * p->desc.lag - 1;

#pragma omp parallel for num_threads(p->threads) if (p->threads > 1)
    for (size_t d = 0; d < p->desc.lag; ++d) window_plane(p, d, sums + d * p->plane, window + d * width * width);
}

/* The spectrum of a plane of slopes for planes @p d apart. A voxel occurs @p times times in such a pair. */
static void slope_plane(const struct mf_space_plan *p, size_t d, double times, const double *slope, float *x)
{
    const long reach = (long)p->desc.lag - 1;
    const double fft = times / ((double)p->my * (double)p->mx);

    mf_pulse_tell("S2_3D");
    memset(x, 0, p->plane * sizeof *x);
    for (long u = -reach; u <= reach; ++u)
        for (long v = -reach; v <= reach; ++v) x[place(p, u, v)] = (float)(*slope++ * fft * norm_of(&p->desc, d, u, v));
    fftwf_execute_dft_r2c(p->forward, x, (fftwf_complex *)(void *)x);
}

static inline struct points_float split(const float *from)
{
    struct points_float p;

    for (size_t i = 0; i < TILE; ++i) {
        p.re[i / FLOATS][i % FLOATS] = from[2 * i];
        p.im[i / FLOATS][i % FLOATS] = from[2 * i + 1];
    }
    return p;
}

/* G_k = Re(C_0) F_k + sum over d > 0 of conj(C_d) F_(k+d) + C_d F_(k-d) over F_k, in one column. */
MF_CPU_FAST static void adjoint_column(const struct mf_space_plan *p, size_t tile, size_t planes, float *spectra,
                                       struct points_float *column)
{
    const size_t lag = p->desc.lag, all = planes + 2 * (lag - 1);
    struct points_float *c = column + all;

    mf_pulse_tell("S2_3D");
    for (size_t k = 0; k < all; ++k) column[k] = split(spectra + k * p->plane + tile * 2 * TILE);
    for (size_t d = 0; d < lag; ++d) c[d] = split(p->lags + d * p->plane + tile * 2 * TILE);
    for (size_t k = lag - 1; k < lag - 1 + planes; ++k)
        for (size_t h = 0; h < TILE / FLOATS; ++h) {
            float *to = spectra + k * p->plane + (tile * TILE + h * FLOATS) * 2;
            mf_floats re = c[0].re[h] * column[k].re[h], im = c[0].re[h] * column[k].im[h];

            for (size_t d = 1; d < lag; ++d) {
                const struct points_float *up = &column[k + d], *down = &column[k - d];

                re += c[d].re[h] * (up->re[h] + down->re[h]) + c[d].im[h] * (up->im[h] - down->im[h]);
                im += c[d].re[h] * (up->im[h] + down->im[h]) + c[d].im[h] * (down->re[h] - up->re[h]);
            }
            for (size_t i = 0; i < FLOATS; ++i) {
                to[2 * i] = re[i];
                to[2 * i + 1] = im[i];
            }
        }
}

static void add_plane(const struct mf_space_plan *p, float *x, float *g)
{
    const size_t ny = p->desc.ny, nx = p->desc.nx;

    mf_pulse_tell("S2_3D");
    fftwf_execute_dft_c2r(p->back, (fftwf_complex *)(void *)x, x);
    for (size_t y = 0; y < ny; ++y)
        for (size_t i = 0; i < nx; ++i) g[y * nx + i] += x[y * p->row + i];
}

static void space_adjoint(struct mf_space_plan *p, size_t planes, const double *slope, float *spectra, float *g)
{
    const size_t width = 2 * p->desc.lag - 1, lag = p->desc.lag;

#pragma omp parallel num_threads(p->threads) if (p->threads > 1)
    {
        struct points_float *column =
            (struct points_float *)(void *)(p->columns + (size_t)omp_get_thread_num() * p->column);

#pragma omp for
        for (size_t d = 0; d < lag; ++d) slope_plane(p, d, 2, slope + d * width * width, p->lags + d * p->plane);
#pragma omp for
        for (size_t t = 0; t < p->tiles; ++t) adjoint_column(p, t, planes, spectra, column);
#pragma omp for
        for (size_t k = 0; k < planes; ++k)
            add_plane(p, spectra + (lag - 1 + k) * p->plane, g + k * p->desc.ny * p->desc.nx);
    }
}

/* Sum over planes d of conj(C_d) F_d, the planes that follow @p spectra. A piece of them stays in a cache. */
MF_CPU_FAST static void across_plane(const struct mf_space_plan *p, const float *spectra, float *restrict out)
{
    enum { PIECE = 64 * 2 * TILE };

    mf_pulse_tell("S2_3D");
    for (size_t from = 0; from < p->plane; from += PIECE) {
        const size_t end = from + PIECE < p->plane ? from + PIECE : p->plane;

        memset(out + from, 0, (end - from) * sizeof *out);
        for (size_t d = 0; d < 2 * p->desc.lag - 1; ++d) {
            const float *restrict c = p->lags + d * p->plane, *restrict f = spectra + d * p->plane;

            for (size_t i = from; i < end; i += 2) {
                out[i] += c[i] * f[i] + c[i + 1] * f[i + 1];
                out[i + 1] += c[i] * f[i + 1] - c[i + 1] * f[i];
            }
        }
    }
}

static void space_across(struct mf_space_plan *p, size_t planes, const double *slope, const float *spectra, float *g)
{
    const size_t lag = p->desc.lag, width = 2 * lag - 1;

#pragma omp parallel num_threads(p->threads) if (p->threads > 1)
    {
        float *out = p->beyond + (size_t)omp_get_thread_num() * p->plane;

#pragma omp for
        for (size_t d = 0; d < width; ++d)
            slope_plane(p, d < lag ? lag - 1 - d : d - (lag - 1), 1, slope + d * width * width, p->lags + d * p->plane);
#pragma omp for
        for (size_t k = 0; k < planes; ++k) {
            across_plane(p, spectra + k * p->plane, out);
            add_plane(p, out, g + k * p->desc.ny * p->desc.nx);
        }
    }
}

static size_t half_space(const struct mf_slice_desc *d) { return d->lag * mf_entries_window(d); }
static size_t all_space(const struct mf_slice_desc *d) { return (2 * d->lag - 1) * mf_entries_window(d); }

const struct mf_slice_kind mf_kind_s2_3d = {"s2_3d", "S2 in space", half_space, mf_cost_s2_3d};
const struct mf_slice_kind mf_kind_cross_s2_3d = {"cross_s2_3d", "cross-correlations in space", all_space,
                                                  mf_cost_cross_s2_3d};

const struct mf_space_ops mf_space_cpu = {.plane = mf_space_plane,
                                          .plan = space_plan,
                                          .free = space_free,
                                          .transform = space_transform,
                                          .products = space_products,
                                          .window = space_window,
                                          .adjoint = space_adjoint,
                                          .across = space_across};
