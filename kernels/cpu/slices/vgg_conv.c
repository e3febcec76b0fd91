/* See vgg_conv.h. */
#include "kernels/cpu/slices/vgg_conv.h"

#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/slices/winograd.h"
#include "src/base/cut.h"
#include "src/base/pulse.h"

enum {
    TAPS = 9,
    PANEL = MF_TILE_COLUMNS,
    LITTLE = 4, /* points of 2 x 2 pixels are 4 x 4, */
    LARGE = 6,  /* of 4 x 4 pixels 6 x 6 */
    FEW = 4,    /* most channels that points are not worth the trouble for */
    SOME = 8,   /* tiles that are worth the points of a panel's weights */
    WIDEST = MF_CPU_VGG_CONV_WIDEST
};

MF_CPU_FAST static void apply(enum mf_unit unit, const float *restrict c, const float *restrict bias,
                              float *restrict sum, float *restrict y)
{
    if (unit == MF_UNIT_RELU) {
        for (size_t i = 0; i < PANEL; ++i) y[i] = mf_unit(MF_UNIT_RELU, c[i] + bias[i]);
        return;
    }
    for (size_t i = 0; i < PANEL; ++i) {
        y[i] = mf_unit(unit, c[i] + bias[i]);
        if (sum) sum[i] = c[i] + bias[i];
    }
}

size_t mf_cpu_vgg_conv_floats(void)
{
    size_t most = 0;

    for (size_t in = 2 * PANEL; in <= WIDEST; in *= 2)
        for (size_t side = LITTLE; side <= LARGE; side += LARGE - LITTLE)
            most = mf_winograd_floats(side, in) > most ? mf_winograd_floats(side, in) : most;
    return most;
}

/* The panel's channels of pixel p of map i, c [32]. */
static void put(const struct mf_cpu_vgg_conv *k, size_t i, size_t panel, size_t p, const float *c)
{
    const struct mf_cpu_map *m = &k->to[i];
    const size_t rest = m->channels - panel * PANEL, used = rest < PANEL ? rest : PANEL;
    float *to = mf_cpu_map_pixel(m, k->origin, p) + panel * PANEL;

    if (k->bias)
        apply(k->unit, c, k->bias + panel * PANEL, k->sum[i] ? k->sum[i] + (to - m->at) : NULL, to);
    else
        memcpy(to, c, used * sizeof *to);
}

static size_t panels_of(const struct mf_cpu_vgg_conv *k) { return (k->to[0].channels + PANEL - 1) / PANEL; }

/* -- by the definition -- */

/* Some pixels of map i: what their taps see is a row of a matrix each. */
static void convolve_few(const struct mf_cpu_vgg_conv *k, size_t i, size_t first, size_t count)
{
    const struct mf_cpu_map *x = &k->x[i];
    const size_t in = x->channels, across = 3 * in, depth = TAPS * in;
    float seen[MF_TILE_ROWS * TAPS * FEW], c[MF_TILE_ROWS * PANEL];

    for (size_t p = 0; p < count; ++p)
        for (size_t r = 0; r < 3; ++r)
            memcpy(seen + p * depth + r * across, mf_cpu_map_pixel(x, 0, first + p) + r * (x->nv + 2) * in,
                   across * sizeof *seen);
    for (size_t panel = 0; panel < panels_of(k); ++panel) {
        const float *const w = k->w + panel * depth * PANEL;

        k->rows(count, depth, seen, depth, w, 0, c, w);
        for (size_t p = 0; p < count; ++p) put(k, i, panel, first + p, c + p * PANEL);
    }
}

static void convolve_plain(const struct mf_cpu_vgg_conv *k)
{
    for (size_t i = 0; i < k->maps; ++i) {
        const size_t n = k->x[i].nu * k->x[i].nv;

#pragma omp parallel for schedule(static) num_threads(k->threads) if (k->threads > 1)
        for (size_t p = 0; p < n; p += MF_TILE_ROWS) convolve_few(k, i, p, n - p < MF_TILE_ROWS ? n - p : MF_TILE_ROWS);
    }
}

/* -- by points -- */

static size_t tiles_of(const struct mf_cpu_vgg_conv *k, size_t side)
{
    size_t tiles = 0;

    for (size_t i = 0; i < k->maps; ++i) tiles += mf_winograd_tiles(side, k->x[i].nu, k->x[i].nv);
    return tiles;
}

/* Finds the map of a tile, and its number there; the tiles of all maps follow one another. */
static size_t map_of(const struct mf_cpu_vgg_conv *k, size_t side, size_t *tile)
{
    size_t i = 0;

    for (size_t n; (n = mf_winograd_tiles(side, k->x[i].nu, k->x[i].nv)) <= *tile; ++i) *tile -= n;
    return i;
}

/* y [edge][edge][32]: what is there of a tile. */
static void put_tile(const struct mf_cpu_vgg_conv *k, size_t edge, size_t panel, size_t tile, const float *y)
{
    const size_t i = map_of(k, edge + 2, &tile), nu = k->x[i].nu, nv = k->x[i].nv, across = (nv + edge - 1) / edge;
    const size_t u = tile / across * edge, v = tile % across * edge;
    const size_t rows = nu - u < edge ? nu - u : edge, columns = nv - v < edge ? nv - v : edge;

    for (size_t r = 0; r < rows; ++r)
        for (size_t c = 0; c < columns; ++c) put(k, i, panel, (u + r) * nv + v + c, y + (r * edge + c) * PANEL);
}

/* Tiles first .. first + count - 1 and some of the panels. */
static void convolve_tiles(const struct mf_cpu_vgg_conv *k, size_t side, struct mf_span tiles, struct mf_span panels,
                           float *work)
{
    const struct mf_winograd w = {k->rows, side, k->x[0].channels, k->w};
    const size_t end = panels.first + panels.count;

    for (size_t t = 0; t < tiles.count; ++t) {
        size_t tile = tiles.first + t;
        const struct mf_cpu_map *x = &k->x[map_of(k, side, &tile)];

        mf_winograd_points(&w, x->at, x->nu, x->nv, tile, t, work);
    }
    for (size_t j = panels.first; j < end; ++j) {
        mf_pulse_tell("VGG");
        mf_winograd_multiply(&w, j, j + 1 < end, tiles.count, work);
        for (size_t t = 0; t < tiles.count; ++t) {
            float y[MF_WINOGRAD_PIXELS * PANEL];

            mf_winograd_pixels(&w, t, work, y);
            put_tile(k, side - 2, j, tiles.first + t, y);
        }
    }
}

/* Number of chunks of tiles that fit. There are more where threads exceed the panels, with some tiles still. */
static size_t chunks_of(const struct mf_cpu_vgg_conv *k, size_t side, size_t tiles)
{
    const size_t most = mf_winograd_most(side, k->x[0].channels), panels = panels_of(k),
                 fit = (tiles + most - 1) / most;
    const size_t wanted = 1 + ((size_t)k->threads - 1) / panels, some = tiles / SOME > 0 ? tiles / SOME : 1;
    const size_t more = wanted < some ? wanted : some;

    return fit > more ? fit : more;
}

/* Number of parts of panels, so that each thread has one. Each part turns its chunk's pixels to points anew. */
static size_t parts_of(const struct mf_cpu_vgg_conv *k, size_t chunks)
{
    const size_t parts = 1 + ((size_t)k->threads - 1) / (chunks > 0 ? chunks : 1), panels = panels_of(k);

    return parts < panels ? parts : panels;
}

static void convolve_points(const struct mf_cpu_vgg_conv *k, size_t side)
{
    const size_t tiles = tiles_of(k, side), chunks = chunks_of(k, side, tiles), panels = panels_of(k);
    const size_t parts = parts_of(k, chunks);
    size_t taken = 0;

#pragma omp parallel num_threads(k->threads) if (k->threads > 1)
    {
        size_t worker;

#pragma omp atomic capture
        worker = taken++;
#pragma omp for collapse(2) schedule(dynamic, 1)
        for (size_t i = 0; i < chunks; ++i)
            for (size_t j = 0; j < parts; ++j)
                convolve_tiles(k, side, mf_cut(tiles, chunks, i), mf_cut(panels, parts, j),
                               k->work + worker * mf_cpu_vgg_conv_floats());
    }
}

void mf_cpu_vgg_convolve(const struct mf_cpu_vgg_conv *k)
{
    const int little = mf_winograd_cost(LITTLE, tiles_of(k, LITTLE)) < mf_winograd_cost(LARGE, tiles_of(k, LARGE));

    if (k->x[0].channels <= FEW)
        convolve_plain(k);
    else
        convolve_points(k, little ? LITTLE : LARGE);
}
