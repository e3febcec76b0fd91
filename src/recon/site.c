/* See site.h. */
#include "src/recon/site.h"

#include <stdlib.h>
#include <string.h>

#include "src/base/err.h"

/* A row of labels with @p b wrapped (or absent: 255) labels on each side. */
static void border_row(size_t n, size_t b, int periodic, const uint8_t *row, uint8_t *out)
{
    memcpy(out + b, row, n);
    for (size_t i = 0; i < b; ++i) {
        out[i] = periodic ? row[(n - (b - i) % n) % n] : 255;
        out[b + n + i] = periodic ? row[i % n] : 255;
    }
}

static void border_plane(const struct mf_polish *p, const struct mf_around *a, const uint8_t *plane, uint8_t *out)
{
    size_t ny = p->slab.dims[1], nx = p->slab.dims[2];

    for (size_t y = 0; y < a->ny; ++y) {
        ptrdiff_t from = (ptrdiff_t)y - (ptrdiff_t)a->border, n = (ptrdiff_t)ny;

        if (!p->objective->periodic && (from < 0 || from >= n))
            memset(out + y * a->nx, 255, a->nx);
        else
            border_row(nx, a->border, p->objective->periodic, plane + (size_t)((from % n + n) % n) * nx,
                       out + y * a->nx);
    }
}

static void turn_plane(const struct mf_around *a, const uint8_t *by_x, uint8_t *by_y)
{
    enum { BLOCK = 32 };

    for (size_t y0 = 0; y0 < a->ny; y0 += BLOCK)
        for (size_t x0 = 0; x0 < a->nx; x0 += BLOCK)
            for (size_t x = x0; x < a->nx && x < x0 + BLOCK; ++x)
                for (size_t y = y0; y < a->ny && y < y0 + BLOCK; ++y) by_y[x * a->ny + y] = by_x[y * a->nx + x];
}

/* Planes -border .. count + border of the volume, without borders in y and x. */
static int fetch(const struct mf_polish *p, const struct mf_around *a, uint8_t *planes)
{
    size_t plane = p->slab.dims[1] * p->slab.dims[2], extra = a->planes - p->slab.count;
    size_t count = p->slab.count ? a->planes : 0;

    return mf_slab_fetch(p->comm, &p->slab, p->label, plane, (ptrdiff_t)p->slab.first - (ptrdiff_t)(extra / 2), count,
                         planes);
}

static void fill(const struct mf_polish *p, struct mf_around *a, const uint8_t *planes)
{
    size_t plane = p->slab.dims[1] * p->slab.dims[2], extra = (a->planes - p->slab.count) / 2;

    for (size_t z = 0; p->slab.count && z < a->planes; ++z) {
        ptrdiff_t global = (ptrdiff_t)(p->slab.first + z) - (ptrdiff_t)extra;
        uint8_t *out = a->by_x + z * a->ny * a->nx;

        if (!p->objective->periodic && (global < 0 || global >= (ptrdiff_t)p->slab.dims[0]))
            memset(out, 255, a->ny * a->nx);
        else
            border_plane(p, a, planes + z * plane, out);
        if (a->by_y) turn_plane(a, out, a->by_y + z * a->ny * a->nx);
    }
}

/* Extents with borders. */
static struct mf_around shape_of(const struct mf_polish *p, size_t lag)
{
    struct mf_around a = {.border = lag - 1};

    a.planes = p->slab.count + (p->slab.dims[0] > 1 ? 2 * a.border : 0);
    a.ny = p->slab.dims[1] + 2 * a.border;
    a.nx = p->slab.dims[2] + 2 * a.border;
    return a;
}

static size_t copy_bytes(const struct mf_around *a) { return a->planes * a->ny * a->nx + 64; }

static size_t plane_bytes(const struct mf_polish *p, const struct mf_around *a)
{
    return a->planes * p->slab.dims[1] * p->slab.dims[2];
}

size_t mf_around_bytes(const struct mf_polish *p, size_t lag)
{
    struct mf_around a = shape_of(p, lag);

    return plane_bytes(p, &a) + (p->slab.dims[0] > 1 ? 2 : 1) * copy_bytes(&a);
}

int mf_around_make(const struct mf_polish *p, size_t lag, struct mf_around *a)
{
    struct mf_arena *arena = p->queue->host;
    int volume = p->slab.dims[0] > 1, rc;
    uint8_t *planes;

    *a = shape_of(p, lag);
    planes = mf_arena_take(arena, plane_bytes(p, a), "polish labels");
    a->by_x = mf_arena_take(arena, copy_bytes(a), "polish labels");
    a->by_y = volume ? mf_arena_take(arena, copy_bytes(a), "polish labels") : NULL;
    rc = mf_agree(p->comm, planes && a->by_x && (a->by_y || !volume) ? MF_OK : MF_MEMORY);
    if (rc == MF_OK) rc = fetch(p, a, planes);
    if (rc == MF_OK) fill(p, a, planes);
    mf_arena_give(arena, planes);
    if (rc != MF_OK) mf_around_free(p, a);
    return rc;
}

void mf_around_free(const struct mf_polish *p, struct mf_around *a)
{
    mf_arena_give(p->queue->host, a->by_x);
    mf_arena_give(p->queue->host, a->by_y);
    a->by_x = a->by_y = NULL;
}

/* 32 labels against a phase: a bit each. */
static inline uint32_t compare32(const uint8_t *label, uint8_t phase)
{
    typedef uint8_t v16 __attribute__((vector_size(16), aligned(1), may_alias));
    typedef char c16 __attribute__((vector_size(16)));
    uint32_t bits = 0;

    for (int half = 0; half < 2; ++half) {
        c16 same = (c16)(*(const v16 *)(label + 16 * half) == phase);
#ifdef __SSE2__
        bits |= (uint32_t)__builtin_ia32_pmovmskb128(same) << (16 * half);
#else
        for (int i = 0; i < 16; ++i) bits |= (uint32_t)(same[i] & 1) << (16 * half + i);
#endif
    }
    return bits;
}

void mf_site_window(const struct mf_polish *p, const struct mf_around *a, const struct mf_window_shape *shape,
                    const struct mf_site *site, size_t side, uint8_t phase, uint32_t *window)
{
    size_t deep = p->slab.dims[0] > 1 ? a->border : 0, b = a->border;
    size_t z = site->at[0] - p->slab.first + deep, y = site->at[1] + b, x = site->at[2] + b, step;
    size_t last = shape->words - 1, spare = 32 * shape->words - shape->rows;
    const uint8_t *row; /* first label of the window's first row */

    if (side == MF_Z) {
        row = a->by_x + (z * a->ny + y - b) * a->nx + x - b;
        step = a->nx;
    } else if (side == MF_Y) {
        row = a->by_x + ((z - b) * a->ny + y) * a->nx + x - b;
        step = a->ny * a->nx;
    } else {
        row = a->by_y + ((z - b) * a->nx + x) * a->ny + y - b;
        step = a->ny * a->nx;
    }
    for (size_t k = 0; k < shape->rows; ++k, row += step) {
        for (size_t j = 0; j <= last; ++j) window[k * shape->words + j] = compare32(row + 32 * j, phase);
        window[k * shape->words + last] &= 0xffffffffu >> spare;
    }
    window[b * shape->words + b / 32] &= ~(1u << (b % 32));
}

static int before(const struct mf_site *a, const struct mf_site *b)
{
    return a->energy < b->energy || (a->energy == b->energy && a->order < b->order);
}

static int by_energy(const void *a, const void *b) { return before(a, b) ? -1 : before(b, a); }

/* Change of the number of jumps of one phase's indicator towards two neighbours when the voxel flips. */
static int jumps(uint8_t phase, int was_in, uint8_t left, uint8_t right)
{
    int change = 0;

    if (left != 255) change += (left == phase) == was_in ? 1 : -1;
    if (right != 255) change += (right == phase) == was_in ? 1 : -1;
    return change;
}

/* Jumps that a flip adds in the planes normal to z, y, x. l: the voxel's label in around->by_x. */
static void slice_jumps(const struct mf_around *a, int volume, uint8_t phase, int was_in, const uint8_t *l, int *change)
{
    ptrdiff_t sy = (ptrdiff_t)a->nx, sz = (ptrdiff_t)(a->ny * a->nx);
    int x = jumps(phase, was_in, l[-1], l[1]), y = jumps(phase, was_in, l[-sy], l[sy]);
    int z = volume ? jumps(phase, was_in, l[-sz], l[sz]) : 0;

    change[MF_Z] = y + x;
    change[MF_Y] = z + x;
    change[MF_X] = z + y;
}

/* First-order energy of the move @p s, and without Variation into rest. v: its voxel in the slab. */
static void estimate(const struct mf_polish *p, const struct mf_around *a, const struct mf_rank_by *by,
                     struct mf_site *s, const uint8_t *l, size_t v)
{
    size_t n = mf_slab_voxels(&p->slab);
    int sides = p->slab.dims[0] > 1 ? MF_SIDES : 1, change[MF_SIDES];
    double smooth = 0, variation = 0;

    for (int in = 0; in < 2; ++in) { /* the phase left, the phase entered */
        uint8_t phase = in ? s->to : s->from;
        size_t field = p->fields == 1 ? 0 : phase;

        if (p->fields == 1 && phase != 1) continue;
        slice_jumps(a, sides == MF_SIDES, phase, !in, l, change);
        smooth += (in ? 1 : -1) * (double)by->g[field * n + v];
        for (int d = 0; d < sides; ++d) {
            size_t slice = field * p->slab.dims[d] + s->at[d];

            smooth += by->self[d][slice];
            variation += by->jump[d][slice] * change[d];
        }
    }
    s->rest = (float)smooth;
    s->energy = (float)(smooth + variation);
}

/* True where a neighbour is of phase @p to. */
static int touches(const uint8_t *l, size_t sz, size_t sy, uint8_t to)
{
    if (l[-1] == to || l[1] == to || l[-(ptrdiff_t)sy] == to || l[sy] == to) return 1;
    return sz && (l[-(ptrdiff_t)sz] == to || l[sz] == to);
}

/* Keeps the @p most best of a buffer of up to twice as many. */
static size_t keep_best(struct mf_site *sites, size_t count, size_t most)
{
    qsort(sites, count, sizeof *sites, by_energy);
    return count < most ? count : most;
}

/* Moves of one plane of the slab into a buffer of 2 most sites; *limit: energies above it are not among the best. */
static size_t find_in_plane(const struct mf_polish *p, const struct mf_around *a, const struct mf_rank_by *by,
                            struct mf_site kind, size_t z, size_t most, struct mf_site *sites, size_t count,
                            float *limit)
{
    const size_t *n = p->slab.dims;
    size_t sy = a->nx, sz = n[0] > 1 ? a->ny * a->nx : 0, deep = n[0] > 1 ? a->border : 0;

    for (size_t y = 0; y < n[1]; ++y) {
        const uint8_t *row = a->by_x + ((z + deep) * a->ny + y + a->border) * a->nx + a->border;

        for (size_t x = 0; x < n[2]; ++x) {
            size_t v = (z * n[1] + y) * n[2] + x;
            struct mf_site s = kind;

            if (row[x] != kind.from || !touches(row + x, sz, sy, kind.to)) continue;
            s.at[0] = (uint32_t)(p->slab.first + z);
            s.at[1] = (uint32_t)y;
            s.at[2] = (uint32_t)x;
            s.order = (p->slab.first * n[1] * n[2] + v) * (size_t)p->phases + kind.to;
            estimate(p, a, by, &s, row + x, v);
            if (s.energy > *limit) continue;
            sites[count++] = s;
            if (count < 2 * most) continue;
            count = keep_best(sites, count, most);
            *limit = sites[count - 1].energy;
        }
    }
    return count;
}

/* Every thread keeps the best of its planes; the best of all do not depend on how planes were dealt out. */
size_t mf_sites_find(const struct mf_polish *p, const struct mf_around *a, const struct mf_rank_by *by, uint8_t from,
                     uint8_t to, size_t most, struct mf_site *sites, size_t *count)
{
    size_t threads = (size_t)p->queue->threads, all = 0;
    const struct mf_site kind = {.from = from, .to = to};

    memset(count, 0, threads * sizeof *count);
#pragma omp parallel for num_threads(p->queue->threads)
    for (size_t t = 0; t < threads; ++t) {
        struct mf_span planes = mf_cut(p->slab.count, threads, t);
        float limit = 1e30f;

        for (size_t z = planes.first; z < planes.first + planes.count; ++z)
            count[t] = find_in_plane(p, a, by, kind, z, most, sites + 2 * most * t, count[t], &limit);
        count[t] = keep_best(sites + 2 * most * t, count[t], most);
    }
    for (size_t t = 0; t < threads; ++t) {
        memmove(sites + all, sites + 2 * most * t, count[t] * sizeof *sites);
        all += count[t];
    }
    return keep_best(sites, all, most);
}
