/* See conv.h. */
#include "kernels/cpu/conv.h"

#include <string.h>

#include "kernels/cpu/cpu.h"
#include "kernels/cpu/winograd.h"
#include "src/base/cut.h"

enum {
    TAPS = 9,
    PANEL = MF_TILE_COLUMNS,
    CHUNK = 16 * MF_TILE_ROWS, /* pixels whose sums are worked on at a time */
    PIECES = 3,                /* of work for a thread, at least, so that all end together */
    LEAST_TILES = 16,          /* of a map, fewer gain nothing: the weights of its points come from memory */
    WIDEST = MF_CPU_CONV_WIDEST
};

int mf_cpu_conv_by_points(size_t nu, size_t nv) { return mf_winograd_tiles(nu, nv) >= LEAST_TILES; }

/* Four pixels in a row of the frame, or copies of them that lie like that. */
static const float *group_at(const struct mf_cpu_conv *k, const float *x, size_t p, float *copy)
{
    const size_t nv = k->x.nv, in = k->x.channels, n = k->x.nu * nv, v = p % nv;

    if (v + MF_TILE_GROUP <= nv) return x + (p / nv * (nv + 2) + v) * in;
    for (size_t r = 0; r < MF_TILE_GROUP; ++r) {
        const size_t q = p + r < n ? p + r : n - 1;

        memcpy(copy + r * in, x + (q / nv * (nv + 2) + q % nv) * in, in * sizeof *copy);
    }
    return copy;
}

static void add_taps(const struct mf_cpu_conv *k, size_t panel, size_t first, size_t count, float *c)
{
    const size_t in = k->x.channels;
    float copy[MF_TILE_ROWS * WIDEST];
    const float *a[MF_TILE_GROUPS];

    for (size_t tap = 0; tap < TAPS; ++tap) {
        const float *x = k->x.at + (tap / 3 * (k->x.nv + 2) + tap % 3) * in;
        const float *w = k->w + (panel * TAPS + tap) * in * PANEL;

        for (size_t p = 0; p < count; p += MF_TILE_ROWS) {
            size_t groups = 0;

            for (; groups < MF_TILE_GROUPS && p + groups * MF_TILE_GROUP < count; ++groups)
                a[groups] = group_at(k, x, first + p + groups * MF_TILE_GROUP, copy + groups * MF_TILE_GROUP * WIDEST);
            k->tile(groups, in, a, in, 1, w, PANEL, c + p * PANEL);
        }
    }
}

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

size_t mf_cpu_conv_floats(void)
{
    size_t most = 0;

    for (size_t in = 2 * PANEL; in <= WIDEST; in *= 2)
        most = mf_winograd_floats(in) > most ? mf_winograd_floats(in) : most;
    return most;
}

/* The panel's channels of pixel p, c [32]. */
static void put(const struct mf_cpu_conv *k, size_t panel, size_t p, const float *c)
{
    const size_t rest = k->to.channels - panel * PANEL, used = rest < PANEL ? rest : PANEL;
    float *to = mf_cpu_map_pixel(&k->to, k->origin, p) + panel * PANEL;

    if (k->bias)
        apply(k->unit, c, k->bias + panel * PANEL, k->sum ? k->sum + (to - k->to.at) : NULL, to);
    else
        memcpy(to, c, used * sizeof *to);
}

static void convolve_chunk(const struct mf_cpu_conv *k, size_t panel, size_t first, size_t count)
{
    float c[CHUNK * PANEL];

    memset(c, 0, sizeof c);
    add_taps(k, panel, first, count, c);
    for (size_t p = 0; p < count; ++p) put(k, panel, first + p, c + p * PANEL);
}

static size_t panels_of(const struct mf_cpu_conv *k) { return (k->to.channels + PANEL - 1) / PANEL; }

static void convolve_plain(const struct mf_cpu_conv *k)
{
    const size_t n = k->x.nu * k->x.nv, chunks = (n + CHUNK - 1) / CHUNK, panels = panels_of(k);

#pragma omp parallel for collapse(2) schedule(static) num_threads(k->threads) if (k->threads > 1)
    for (size_t j = 0; j < panels; ++j)
        for (size_t i = 0; i < chunks; ++i)
            convolve_chunk(k, j, i * CHUNK, n - i * CHUNK < CHUNK ? n - i * CHUNK : CHUNK);
}

/* Tiles first .. first + count - 1 and some of the panels. */
static void convolve_tiles(const struct mf_cpu_conv *k, struct mf_span tiles, struct mf_span panels, float *work)
{
    const struct mf_winograd w = {k->tile, k->x.at, k->x.nu, k->x.nv, k->x.channels, k->points};
    const size_t across = (k->x.nv + 1) / MF_WINOGRAD_EDGE;

    mf_winograd_points(&w, tiles.first, tiles.count, work);
    for (size_t j = panels.first; j < panels.first + panels.count; ++j) {
        mf_winograd_multiply(&w, j, tiles.count, work);
        for (size_t t = 0; t < tiles.count; ++t) {
            const size_t u = (tiles.first + t) / across * MF_WINOGRAD_EDGE,
                         v = (tiles.first + t) % across * MF_WINOGRAD_EDGE;
            float y[MF_WINOGRAD_PIXELS * PANEL];

            mf_winograd_pixels(&w, t, work, y);
            for (size_t i = 0; i < MF_WINOGRAD_PIXELS; ++i)
                if (u + i / 2 < k->x.nu && v + i % 2 < k->x.nv)
                    put(k, j, (u + i / 2) * k->x.nv + v + i % 2, y + i * PANEL);
        }
    }
}

/* Of panels, so that threads have enough chunks to share: each part turns its chunk's pixels to points anew. */
static size_t parts_of(const struct mf_cpu_conv *k, size_t chunks, size_t panels)
{
    const size_t parts = ((size_t)k->threads * PIECES + chunks - 1) / chunks;

    if (k->threads < 2) return 1;
    return parts < panels ? parts : panels;
}

static void convolve_points(const struct mf_cpu_conv *k)
{
    const size_t tiles = mf_winograd_tiles(k->x.nu, k->x.nv), most = mf_winograd_most(k->x.channels);
    const size_t chunks = (tiles + most - 1) / most, panels = panels_of(k), parts = parts_of(k, chunks, panels);
    size_t taken = 0;

#pragma omp parallel num_threads(k->threads) if (k->threads > 1)
    {
        size_t worker;

#pragma omp atomic capture
        worker = taken++;
#pragma omp for collapse(2) schedule(dynamic, 1)
        for (size_t i = 0; i < chunks; ++i)
            for (size_t j = 0; j < parts; ++j)
                convolve_tiles(k, mf_cut(tiles, chunks, i), mf_cut(panels, parts, j),
                               k->work + worker * mf_cpu_conv_floats());
    }
}

void mf_cpu_convolve(const struct mf_cpu_conv *k)
{
    if (k->points)
        convolve_points(k);
    else
        convolve_plain(k);
}
