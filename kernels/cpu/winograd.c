/* See winograd.h. */
#include "kernels/cpu/winograd.h"

#include <string.h>

#include "kernels/cpu/cpu.h"

enum { LANES = 16, SIDE = 4, POINTS = MF_WINOGRAD_POINTS, PANEL = MF_TILE_COLUMNS, ROWS = MF_TILE_ROWS, TAPS = 9 };

typedef float vec __attribute__((vector_size(4 * LANES)));
typedef float vec_any __attribute__((vector_size(4 * LANES), aligned(4), may_alias));

size_t mf_winograd_tiles(size_t nu, size_t nv) { return (nu + 1) / MF_WINOGRAD_EDGE * ((nv + 1) / MF_WINOGRAD_EDGE); }

/* Of many channels fewer, of few not too many: 96 of 64 channels, 60 of 128, 36 of 256, 24 of 512. */
size_t mf_winograd_most(size_t in) { return ROWS * (2 + 384 / in); }

/* Floats from a point to the next: a line more, so that points of a tile are not all in one set of the first cache. */
static size_t apart(const struct mf_winograd *k, size_t channels) { return mf_winograd_most(k->in) * channels + LANES; }

static size_t second(const struct mf_winograd *k) { return POINTS * apart(k, k->in); }

size_t mf_winograd_floats(size_t in)
{
    const struct mf_winograd k = {.in = in};

    return second(&k) + POINTS * apart(&k, PANEL);
}

/* -- weights -- */

/* to[0], to[step], .. = G times w[0], w[from], w[2 from] */
static inline __attribute__((always_inline)) void turn(const vec *w, size_t from, vec *to, size_t step)
{
    const vec ends = w[0] + w[2 * from];

    to[0] = w[0];
    to[step] = 0.5f * (ends + w[from]);
    to[2 * step] = 0.5f * (ends - w[from]);
    to[3 * step] = w[2 * from];
}

MF_CPU_FAST static void turn_weights(const float *w, size_t plane, float *to)
{
    for (size_t i = 0; i < plane; i += LANES) {
        vec tap[TAPS], rows[SIDE * 3], point[POINTS];

#pragma GCC unroll 9
        for (size_t t = 0; t < TAPS; ++t) tap[t] = *(const vec_any *)(w + t * plane + i);
#pragma GCC unroll 3
        for (size_t v = 0; v < 3; ++v) turn(tap + v, 3, rows + v, 3);
#pragma GCC unroll 4
        for (size_t u = 0; u < SIDE; ++u) turn(rows + 3 * u, 1, point + SIDE * u, 1);
#pragma GCC unroll 16
        for (size_t t = 0; t < POINTS; ++t) *(vec_any *)(to + t * plane + i) = point[t];
    }
}

void mf_winograd_weights(size_t panels, size_t in, const float *w, float *to, int threads)
{
    const size_t plane = in * PANEL;

#pragma omp parallel for schedule(static) num_threads(threads) if (threads > 1)
    for (size_t p = 0; p < panels; ++p) turn_weights(w + p * TAPS * plane, plane, to + p * POINTS * plane);
}

/* -- pixels to points -- */

/* Where the rows and columns of tile t stand; those beyond the frame, which no pixel that is there asks for, at its
 * end. */
struct place {
    size_t u[SIDE], v[SIDE];
};

static struct place place_of(const struct mf_winograd *k, size_t t)
{
    const size_t across = (k->nv + 1) / MF_WINOGRAD_EDGE, u = t / across * MF_WINOGRAD_EDGE,
                 v = t % across * MF_WINOGRAD_EDGE;
    struct place at;

    for (size_t i = 0; i < SIDE; ++i) {
        at.u[i] = (u + i < k->nu + 2 ? u + i : k->nu + 1) * (k->nv + 2) * k->in;
        at.v[i] = (v + i < k->nv + 2 ? v + i : k->nv + 1) * k->in;
    }
    return at;
}

/* Rows i and k of a tile, added with this sign, to the four points of a row. Few values at a time: 16 vectors would not
 * stay in the registers of most machines. */
MF_CPU_FAST static void turn_rows(const float *restrict i, const float *restrict k, float sign, const size_t *v,
                                  size_t in, float *restrict to, size_t step)
{
    const float *i0 = i + v[0], *i1 = i + v[1], *i2 = i + v[2], *i3 = i + v[3];
    const float *k0 = k + v[0], *k1 = k + v[1], *k2 = k + v[2], *k3 = k + v[3];

#pragma omp simd
    for (size_t c = 0; c < in; ++c) {
        const float a = i0[c] + sign * k0[c], b = i1[c] + sign * k1[c];
        const float d = i2[c] + sign * k2[c], e = i3[c] + sign * k3[c];

        to[c] = a - d;
        to[c + step] = b + d;
        to[c + 2 * step] = d - b;
        to[c + 3 * step] = b - e;
    }
}

static void turn_pixels(const float *x, const struct place *at, size_t in, float *to, size_t step)
{
    turn_rows(x + at->u[0], x + at->u[2], -1, at->v, in, to, step);
    turn_rows(x + at->u[1], x + at->u[2], 1, at->v, in, to + SIDE * step, step);
    turn_rows(x + at->u[2], x + at->u[1], -1, at->v, in, to + 2 * SIDE * step, step);
    turn_rows(x + at->u[1], x + at->u[3], -1, at->v, in, to + 3 * SIDE * step, step);
}

/* By whole groups of tiles: the last is repeated. */
static size_t whole(size_t count) { return (count + MF_TILE_GROUP - 1) / MF_TILE_GROUP * MF_TILE_GROUP; }

void mf_winograd_points(const struct mf_winograd *k, size_t first, size_t count, float *memory)
{
    for (size_t t = 0; t < whole(count); ++t) {
        const struct place at = place_of(k, first + (t < count ? t : count - 1));

        turn_pixels(k->x, &at, k->in, memory + t * k->in, apart(k, k->in));
    }
}

/* -- products -- */

void mf_winograd_multiply(const struct mf_winograd *k, size_t panel, size_t count, float *memory)
{
    const size_t rows = whole(count), in = k->in;

    for (size_t p = 0; p < POINTS; ++p) {
        const float *a = memory + p * apart(k, in), *w = k->weights + (panel * POINTS + p) * in * PANEL;
        float *c = memory + second(k) + p * apart(k, PANEL);

        memset(c, 0, rows * PANEL * sizeof *c);
        for (size_t t = 0; t < rows; t += ROWS) {
            const float *const x = a + t * in;
            const float *const group[MF_TILE_GROUPS] = {x, x + MF_TILE_GROUP * in, x + 2 * MF_TILE_GROUP * in};
            const size_t left = (rows - t) / MF_TILE_GROUP;

            k->tile(left < MF_TILE_GROUPS ? left : MF_TILE_GROUPS, in, group, in, 1, w, PANEL, c + t * PANEL);
        }
    }
}

/* -- points to pixels -- */

MF_CPU_FAST static void turn_back(const float *m, size_t step, float *y)
{
    for (size_t c = 0; c < PANEL; c += LANES) {
        vec row[MF_WINOGRAD_EDGE][SIDE];

#pragma GCC unroll 4
        for (size_t j = 0; j < SIDE; ++j) {
            const float *p = m + j * step + c;
            const vec b = *(const vec_any *)(p + SIDE * step), d = *(const vec_any *)(p + 2 * SIDE * step);

            row[0][j] = *(const vec_any *)p + b + d;
            row[1][j] = b - d - *(const vec_any *)(p + 3 * SIDE * step);
        }
#pragma GCC unroll 2
        for (size_t i = 0; i < MF_WINOGRAD_EDGE; ++i) {
            *(vec_any *)(y + 2 * i * PANEL + c) = row[i][0] + row[i][1] + row[i][2];
            *(vec_any *)(y + (2 * i + 1) * PANEL + c) = row[i][1] - row[i][2] - row[i][3];
        }
    }
}

void mf_winograd_pixels(const struct mf_winograd *k, size_t t, const float *memory, float *y)
{
    turn_back(memory + second(k) + t * PANEL, apart(k, PANEL), y);
}
