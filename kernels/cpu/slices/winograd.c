/* See winograd.h. */
#include "kernels/cpu/slices/winograd.h"

#include "kernels/cpu/cpu.h"
#include "src/base/cut.h"

enum {
    LINE = 16, /* floats */
    LITTLE = 4,
    LARGE = 6,
    PANEL = MF_TILE_COLUMNS,
    TAPS = 9,
};

#define ALWAYS static inline __attribute__((always_inline))

/* The roots of winograd.h. */
static const float A = 0.70710678f, B = 1.41421356f;

static size_t edge(const struct mf_winograd *k) { return k->side - 2; }

static size_t across(size_t side, size_t n) { return (n + side - 3) / (side - 2); }

size_t mf_winograd_tiles(size_t side, size_t nu, size_t nv) { return across(side, nu) * across(side, nv); }

/* Vectors of products, and the time of as many for the points of weights. */
size_t mf_winograd_cost(size_t side, size_t tiles) { return side * side * tiles + (side == LARGE ? 120 : 40); }

size_t mf_winograd_most(size_t side, size_t in) { return side == LARGE ? 8 + 3072 / (in + 16) : 12 + 6144 / (in + 16); }

/* Floats from a tile, or from a point, to the next. They are a line more, so that not all are in one set of the first
 * cache.
 */
static size_t wide(const struct mf_winograd *k) { return k->in + LINE; }
static size_t apart(const struct mf_winograd *k) { return mf_winograd_most(k->side, k->in) * wide(k) + LINE; }
static size_t apart_made(const struct mf_winograd *k) { return mf_winograd_most(k->side, k->in) * PANEL + LINE; }

/* Channels at a time, and from a point of their weights to the next. */
enum {
    DEPTH_LITTLE = 128,
    DEPTH_LARGE = 64,
    APART_LITTLE = DEPTH_LITTLE * PANEL + LINE,
    APART_LARGE = DEPTH_LARGE * PANEL + LINE
};

static size_t depth_of(size_t side) { return side == LARGE ? DEPTH_LARGE : DEPTH_LITTLE; }
static size_t apart_weights(size_t side) { return side == LARGE ? APART_LARGE : APART_LITTLE; }

/* Where points of weights, and where products are. */
static size_t at_weights(const struct mf_winograd *k) { return k->side * k->side * apart(k); }
static size_t at_made(const struct mf_winograd *k)
{
    return at_weights(k) + k->side * k->side * apart_weights(k->side);
}

size_t mf_winograd_floats(size_t side, size_t in)
{
    const struct mf_winograd k = {.side = side, .in = in};

    return at_made(&k) + side * side * apart_made(&k);
}

/* -- weights -- */

/* G times (a, b, c). Numbers have names and no loops go over them: so the compiler makes vectors of any width. */
struct four {
    float p0, p1, p2, p3;
};

struct six {
    float p0, p1, p2, p3, p4, p5;
};

ALWAYS struct four weights_little(float a, float b, float c)
{
    const float ends = 0.5f * (a + c);

    return (struct four){a, ends + 0.5f * b, ends - 0.5f * b, c};
}

ALWAYS struct six weights_large(float a, float b, float c)
{
    const float s = -2.0f / 3 * a - 1.0f / 3 * c, t = 1.0f / 6 * a + 1.0f / 3 * c;

    return (struct six){a, s - 2.0f / 3 * A * b, s + 2.0f / 3 * A * b, t + B / 6 * b, t - B / 6 * b, c};
}

ALWAYS void put_four(struct four row, float *to, size_t step)
{
    to[0] = row.p0;
    to[step] = row.p1;
    to[2 * step] = row.p2;
    to[3 * step] = row.p3;
}

ALWAYS void put_six(struct six row, float *to, size_t step)
{
    to[0] = row.p0;
    to[step] = row.p1;
    to[2 * step] = row.p2;
    to[3 * step] = row.p3;
    to[4 * step] = row.p4;
    to[5 * step] = row.p5;
}

/* Points of nine taps [n]. */
MF_CPU_FAST static void turn_weights_little(const float *restrict w, size_t plane, size_t n, float *restrict to)
{
    enum { STEP = APART_LITTLE, ROW = LITTLE * STEP };

#pragma omp simd
    for (size_t i = 0; i < n; ++i) {
        const struct four a = weights_little(w[i], w[i + 3 * plane], w[i + 6 * plane]);
        const struct four b = weights_little(w[i + plane], w[i + 4 * plane], w[i + 7 * plane]);
        const struct four c = weights_little(w[i + 2 * plane], w[i + 5 * plane], w[i + 8 * plane]);

        put_four(weights_little(a.p0, b.p0, c.p0), to + i, STEP);
        put_four(weights_little(a.p1, b.p1, c.p1), to + i + ROW, STEP);
        put_four(weights_little(a.p2, b.p2, c.p2), to + i + 2 * ROW, STEP);
        put_four(weights_little(a.p3, b.p3, c.p3), to + i + 3 * ROW, STEP);
    }
}

MF_CPU_FAST static void turn_weights_large(const float *restrict w, size_t plane, size_t n, float *restrict to)
{
    enum { STEP = APART_LARGE, ROW = LARGE * STEP };

#pragma omp simd
    for (size_t i = 0; i < n; ++i) {
        const struct six a = weights_large(w[i], w[i + 3 * plane], w[i + 6 * plane]);
        const struct six b = weights_large(w[i + plane], w[i + 4 * plane], w[i + 7 * plane]);
        const struct six c = weights_large(w[i + 2 * plane], w[i + 5 * plane], w[i + 8 * plane]);

        put_six(weights_large(a.p0, b.p0, c.p0), to + i, STEP);
        put_six(weights_large(a.p1, b.p1, c.p1), to + i + ROW, STEP);
        put_six(weights_large(a.p2, b.p2, c.p2), to + i + 2 * ROW, STEP);
        put_six(weights_large(a.p3, b.p3, c.p3), to + i + 3 * ROW, STEP);
        put_six(weights_large(a.p4, b.p4, c.p4), to + i + 4 * ROW, STEP);
        put_six(weights_large(a.p5, b.p5, c.p5), to + i + 5 * ROW, STEP);
    }
}

/* -- pixels to points -- */

/* Positions of a tile's rows and columns. Positions beyond the frame, which no existing pixel needs, are set to its
 * end. */
struct place {
    size_t u[LARGE], v[LARGE];
};

static struct place place_of(const struct mf_winograd *k, size_t nu, size_t nv, size_t tile)
{
    const size_t n = across(k->side, nv), u = tile / n * edge(k), v = tile % n * edge(k);
    struct place at;

    for (size_t i = 0; i < LARGE; ++i) {
        at.u[i] = (u + i < nu + 2 ? u + i : nu + 1) * (nv + 2) * k->in;
        at.v[i] = (v + i < nv + 2 ? v + i : nv + 1) * k->in;
    }
    return at;
}

/* Rows i and k of a tile, added with this sign, to the points of a row. */
MF_CPU_FAST static void turn_little(const float *restrict i, const float *restrict k, float sign, const size_t *v,
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

static void turn_pixels_little(const float *x, const struct place *at, size_t in, float *to, size_t step)
{
    turn_little(x + at->u[0], x + at->u[2], -1, at->v, in, to, step);
    turn_little(x + at->u[1], x + at->u[2], 1, at->v, in, to + LITTLE * step, step);
    turn_little(x + at->u[2], x + at->u[1], -1, at->v, in, to + 2 * LITTLE * step, step);
    turn_little(x + at->u[1], x + at->u[3], -1, at->v, in, to + 3 * LITTLE * step, step);
}

/* Four rows of which to[row] is r[3] + f[0] r[0] + f[1] r[1] + f[2] r[2], to the points of a row. */
MF_CPU_FAST static void turn_large(const float *const *r, const float *f, const size_t *v, size_t in,
                                   float *restrict to, size_t step)
{
    const float *r0 = r[0], *r1 = r[1], *r2 = r[2], *r3 = r[3], f0 = f[0], f1 = f[1], f2 = f[2];
    const size_t v0 = v[0], v1 = v[1], v2 = v[2], v3 = v[3], v4 = v[4], v5 = v[5];

#pragma omp simd
    for (size_t c = 0; c < in; ++c) {
        const float x0 = r3[c + v0] + f0 * r0[c + v0] + f1 * r1[c + v0] + f2 * r2[c + v0];
        const float x1 = r3[c + v1] + f0 * r0[c + v1] + f1 * r1[c + v1] + f2 * r2[c + v1];
        const float x2 = r3[c + v2] + f0 * r0[c + v2] + f1 * r1[c + v2] + f2 * r2[c + v2];
        const float x3 = r3[c + v3] + f0 * r0[c + v3] + f1 * r1[c + v3] + f2 * r2[c + v3];
        const float x4 = r3[c + v4] + f0 * r0[c + v4] + f1 * r1[c + v4] + f2 * r2[c + v4];
        const float x5 = r3[c + v5] + f0 * r0[c + v5] + f1 * r1[c + v5] + f2 * r2[c + v5];
        const float a = x4 - 2 * x2, d = x3 - 2 * x1, b = x4 - 0.5f * x2, e = x3 - 0.5f * x1;

        to[c] = x0 - 2.5f * x2 + x4;
        to[c + step] = a + A * d;
        to[c + 2 * step] = a - A * d;
        to[c + 3 * step] = b + B * e;
        to[c + 4 * step] = b - B * e;
        to[c + 5 * step] = x1 - 2.5f * x3 + x5;
    }
}

static void turn_pixels_large(const float *x, const struct place *at, size_t in, float *to, size_t step)
{
    static const size_t rows[LARGE][4] = {{0, 2, 2, 4}, {1, 2, 3, 4}, {1, 2, 3, 4},
                                          {1, 2, 3, 4}, {1, 2, 3, 4}, {1, 3, 3, 5}};
    const float factor[LARGE][3] = {{1, -1.25f, -1.25f},   {-2 * A, -2, A},       {2 * A, -2, -A},
                                    {-0.5f * B, -0.5f, B}, {0.5f * B, -0.5f, -B}, {1, -1.25f, -1.25f}};

    for (size_t u = 0; u < LARGE; ++u) {
        const float *const r[4] = {x + at->u[rows[u][0]], x + at->u[rows[u][1]], x + at->u[rows[u][2]],
                                   x + at->u[rows[u][3]]};

        turn_large(r, factor[u], at->v, in, to + u * LARGE * step, step);
    }
}

void mf_winograd_points(const struct mf_winograd *k, const float *x, size_t nu, size_t nv, size_t tile, size_t t,
                        float *memory)
{
    const struct place at = place_of(k, nu, nv, tile);

    if (k->side == LITTLE)
        turn_pixels_little(x, &at, k->in, memory + t * wide(k), apart(k));
    else
        turn_pixels_large(x, &at, k->in, memory + t * wide(k), apart(k));
}

/* -- products -- */

/* Memory to prefetch next: lines of weights, tap by tap. */
struct ahead {
    const float *w; /* NULL: nothing */
    size_t plane, depth, asked;
};

/* The next @p depth lines, a half of a tap's; when all were asked for, some that are here. */
static const float *next(struct ahead *ahead, const float *here)
{
    const size_t i = ahead->asked++;

    if (!ahead->w || i >= 2 * TAPS) return here;
    return ahead->w + i / 2 * ahead->plane + i % 2 * ahead->depth * LINE;
}

/* Multiplies tiles 0 .. count - 1, in parts that are about as large. */
static void multiply(const struct mf_winograd *k, const float *a, size_t count, size_t depth, const float *w, int add,
                     float *c, struct ahead *ahead)
{
    const size_t parts = (count + MF_TILE_ROWS - 1) / MF_TILE_ROWS;

    for (size_t i = 0; i < parts; ++i) {
        const struct mf_span t = mf_cut(count, parts, i);

        k->rows(t.count, depth, a + t.first * wide(k), wide(k), w, add, c + t.first * PANEL, next(ahead, w));
    }
}

void mf_winograd_multiply(const struct mf_winograd *k, size_t panel, int more, size_t count, float *memory)
{
    const size_t side = k->side, plane = k->in * PANEL, most = depth_of(side);
    const float *const w = k->weights + panel * TAPS * plane;
    float *const points = memory + at_weights(k), *const made = memory + at_made(k);

    for (size_t first = 0, depth; first < k->in; first += depth) {
        struct ahead ahead = {NULL, plane, 0, 0};

        depth = k->in - first < most ? k->in - first : most;
        ahead.depth = k->in - first - depth < most ? k->in - first - depth : most;
        if (ahead.depth > 0)
            ahead.w = w + (first + depth) * PANEL;
        else if (more)
            ahead = (struct ahead){w + TAPS * plane, plane, k->in < most ? k->in : most, 0};
        (side == LITTLE ? turn_weights_little : turn_weights_large)(w + first * PANEL, plane, depth * PANEL, points);
        for (size_t p = 0; p < side * side; ++p)
            multiply(k, memory + p * apart(k) + first, count, depth, points + p * apart_weights(side), first > 0,
                     made + p * apart_made(k), &ahead);
    }
}

/* -- points to pixels -- */

/* A^T times m[0], m[step], .. */
ALWAYS struct four get_four(const float *m, size_t step)
{
    return (struct four){m[0], m[step], m[2 * step], m[3 * step]};
}

ALWAYS struct six get_six(const float *m, size_t step)
{
    return (struct six){m[0], m[step], m[2 * step], m[3 * step], m[4 * step], m[5 * step]};
}

ALWAYS struct four pixels_large(struct six m)
{
    const float s = m.p1 + m.p2, d = A * (m.p1 - m.p2), t = m.p3 + m.p4, e = B * (m.p3 - m.p4);

    return (struct four){m.p0 + s + t, d + e, 0.5f * s + 2 * t, 0.5f * d + 2 * e + m.p5};
}

/* Points [side][side], at a distance of step, to the pixels y [side - 2][side - 2][32]. */
MF_CPU_FAST static void turn_back_little(const float *restrict m, size_t step, float *restrict y)
{
#pragma omp simd
    for (size_t c = 0; c < PANEL; ++c) {
        const struct four i = get_four(m + c, step), j = get_four(m + c + LITTLE * step, step);
        const struct four k = get_four(m + c + 2 * LITTLE * step, step), l = get_four(m + c + 3 * LITTLE * step, step);
        const struct four a = {i.p0 + j.p0 + k.p0, i.p1 + j.p1 + k.p1, i.p2 + j.p2 + k.p2, i.p3 + j.p3 + k.p3};
        const struct four b = {j.p0 - k.p0 - l.p0, j.p1 - k.p1 - l.p1, j.p2 - k.p2 - l.p2, j.p3 - k.p3 - l.p3};

        y[c] = a.p0 + a.p1 + a.p2;
        y[c + PANEL] = a.p1 - a.p2 - a.p3;
        y[c + 2 * PANEL] = b.p0 + b.p1 + b.p2;
        y[c + 3 * PANEL] = b.p1 - b.p2 - b.p3;
    }
}

MF_CPU_FAST static void turn_back_large(const float *restrict m, size_t step, float *restrict y)
{
    const size_t row = LARGE * step;

#pragma omp simd
    for (size_t c = 0; c < PANEL; ++c) {
        const struct four i = pixels_large(get_six(m + c, row)), j = pixels_large(get_six(m + c + step, row));
        const struct four k = pixels_large(get_six(m + c + 2 * step, row)),
                          l = pixels_large(get_six(m + c + 3 * step, row));
        const struct four n = pixels_large(get_six(m + c + 4 * step, row)),
                          o = pixels_large(get_six(m + c + 5 * step, row));

        put_four(pixels_large((struct six){i.p0, j.p0, k.p0, l.p0, n.p0, o.p0}), y + c, PANEL);
        put_four(pixels_large((struct six){i.p1, j.p1, k.p1, l.p1, n.p1, o.p1}), y + c + 4 * PANEL, PANEL);
        put_four(pixels_large((struct six){i.p2, j.p2, k.p2, l.p2, n.p2, o.p2}), y + c + 8 * PANEL, PANEL);
        put_four(pixels_large((struct six){i.p3, j.p3, k.p3, l.p3, n.p3, o.p3}), y + c + 12 * PANEL, PANEL);
    }
}

void mf_winograd_pixels(const struct mf_winograd *k, size_t t, const float *memory, float *y)
{
    (k->side == LITTLE ? turn_back_little : turn_back_large)(memory + at_made(k) + t * PANEL, apart_made(k), y);
}
